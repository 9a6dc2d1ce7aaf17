"""What pictures compute that are taken by hand or move: the nearest, the next, the way."""

from __future__ import annotations

import pytest

from tests.javascript import run


def test_the_nearest_part_of_a_field_is_meant() -> None:
    """Where one part ends the next begins; what is hit itself is meant itself."""
    body = """
      const box = (left, top) => ({ left, top, right: left + 10, bottom: top + 10 });
      const parts = [[0, 0], [12, 0], [0, 12]].map(([left, top], id) =>
        ({ id, getBoundingClientRect: () => box(left, top) }));
      const field = { querySelectorAll: () => parts };
      const inside = (found) => (wanted) => wanted === ".living-field" ? field : found;
      const ground = { matches: () => false, closest: inside(null) };
      const own = { id: "own", matches: () => true };
      own.closest = inside(own);
      const found = input.map(([clientX, clientY]) =>
        living.meant({ target: ground, clientX, clientY }).id);
      return [...found, living.meant({ target: own, clientX: 0, clientY: 0 }).id,
        living.meant({ target: { closest: () => null } })];"""
    points = [[3, 3], [10.4, 5], [11.6, 5], [100, 3], [2, 500], [12, 14]]
    assert run(body, points, sources=["core/drag.js"]) == [0, 0, 1, 1, 2, 2, "own", None]


def test_keys_take_a_value_along_the_stops_of_its_control() -> None:
    body = """
      const entry = { min: 1, max: 1000, step: 5 };
      return input.map(([kind, value, key]) => living.pressed({ kind }, entry, value, key));"""
    wanted = {
        ("log", 100, "ArrowRight"): 128, ("log", 100, "ArrowLeft"): 96, ("log", 1, "ArrowLeft"): 1,
        ("log", 1000, "ArrowRight"): 1000, ("range", 100, "ArrowRight"): 105,
        ("range", 3, "ArrowLeft"): 1, ("log", 9, "End"): 1000, ("log", 9, "Enter"): None,
    }  # fmt: skip
    assert run(body, list(wanted), sources=["core/controls.js"]) == list(wanted.values())


def test_a_line_is_at_the_nearest_of_its_steps() -> None:
    body = """
      const way = [[10, 0, 1], [40, 0, 1], [160, 0, 1]];
      return [-5, 24, 26, 99, 101, 500].map((x) => living.stepAt(way, x));"""
    got = run(body, sources=["living_plot/picture.js"])
    assert got == [0, 0, 1, 1, 2, 2]


def test_a_number_runs_in_proportion() -> None:
    body = "return input.map(([from, to, t]) => living.between(from, to, t));"
    wanted = {(1, 100, 0.5): 10, (1, 100, 0): 1, (0, 10, 0.5): 5, (-4, 4, 0.25): -2}
    got = run(body, list(wanted), sources=["core/counting.js"])
    assert got == pytest.approx(list(wanted.values()))


def test_a_part_is_brought_onto_another() -> None:
    """A frame takes the other's size too; what has none comes from middle to middle."""
    body = """
      const [from, to] = [[10, 20, 40, 10], [30, 5, 20, 20]];
      return [living.onto(from, to, true), living.onto(from, to, false)];"""
    assert run(body, sources=["core/motion.js"]) == [
        "translate(20px, -15px) scale(0.5, 2)", "translate(10px, -10px)",
    ]  # fmt: skip


def test_a_keyed_part_says_where_it_comes_from_and_a_printed_picture_does_not() -> None:
    body = """
      const ways = { from: "a", takes: ["b", "c"], turn: [30, 5, 6] };
      return [true, false].map((live) => living.keyed({ live }, "k", "<rect/>", ways));"""
    assert run(body, sources=["core/motion.js"]) == [
        '<g class="living-keyed" data-part="k" data-from="a" data-takes="b c" '
        'data-turn="30 5 6"><rect/></g>',
        "<rect/>",
    ]


def test_words_stand_where_they_cover_the_fewest_others() -> None:
    body = """
      const room = { left: 0, right: 600, top: 0, bottom: 400 };
      const words = [{ left: 170, right: 220, top: 110, bottom: 130 }];
      const boxed = ([left, top, right, bottom]) => ({ left, top, right, bottom });
      return input.map(([part, near]) =>
        living.besidePart(boxed(part), room, [200, 60], near ? words : [], 500));"""
    parts = {
        ((100, 100, 150, 140), False): (160, 90), ((500, 100, 550, 140), False): (290, 90),
        ((100, 100, 150, 140), True): (25, 150), ((150, 440, 450, 460), False): (200, 370),
        ((0, 10, 600, 20), False): (200, 30),
    }  # fmt: skip
    got = run(body, list(parts), sources=["core/callout.js"])
    assert [(place["left"], place["top"]) for place in got] == list(parts.values())


def test_a_picture_comes_unless_it_and_its_sentence_are_in_sight() -> None:
    body = """
      globalThis.innerHeight = 800;
      const at = ([top, bottom]) => ({ getBoundingClientRect: () => ({ top, bottom }) });
      return input.map(([picture, said]) => living.seen({ querySelector: (part) =>
        at(part === ".living-say" ? said : picture) }));"""
    places = {
        ((0, 400), (410, 450)): True, ((0, 400), (770, 820)): False,
        ((-10, 400), (410, 450)): False, ((300, 760), (765, 800)): True,
    }  # fmt: skip
    assert run(body, list(places), sources=["core/dock.js"]) == list(places.values())


def test_a_picture_stands_beside_the_text_where_it_has_room() -> None:
    body = "return input.map(([end, width]) => living.beside(end, width));"
    asked = [[984, 1300], [985, 1300], [900, 1300], [1000, 1920], [374, 390]]
    assert run(body, asked, sources=["core/dock.js"]) == [
        {"left": 992, "width": 300}, None, {"left": 908, "width": 384},
        {"left": 1008, "width": 460}, None,
    ]  # fmt: skip
