"""The points of equal bytes: they are the stored ones, each can be asked for, and no others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mini_attn.notebook import stored
from mini_attn.stories.members import MEMBERS
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.equal_bytes_data import KEY, MEASURES, SIZES, equal_bytes, size_of
from tests.javascript import run

SCHEMA = load_schema("equal_bytes")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
WANTED = ("member", "k_bits", "v_bits", "key_axis", "window", "sink_tokens")
POINTS = stored(KEY)["points"]
CACHES = {name: one for name, one in MEMBERS.items() if one.state is None}  # a state has no bits


def state_of(point: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The state that asks for a stored point."""
    asked = {key: point[key] or 0 if key == "window" else point[key] for key in WANTED}
    return {**DEFAULT, "size": size_of(point), **asked, **more}


def shown(measure: str, point: dict[str, Any]) -> set[str]:
    """A mean as it is written; half-way between two digits both are right."""
    mean = point[measure][0]
    around = (mean * (1 - 1e-9), mean * (1 + 1e-9))
    if measure in ("excess", "copying"):
        return {f"{near:.3f}" for near in around}
    return {f"{100 * near:.1f}%" for near in around}


def computed(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What JavaScript makes of each state, in numbers and in words."""
    body = """
      const { compute, describe, explain, table } = living.registry.equal_bytes;
      return input.map((state) => {
        const result = compute(state);
        const said = result.yours ? explain(result, result.yours.id).text : null;
        return { ...result, sentence: describe(result), said, table: table(result) };
      });"""
    found: list[dict[str, Any]] = run(body, states)
    return found


def test_every_stored_point_can_be_asked_for() -> None:
    states = [state_of(point, measure=m) for point in POINTS for m in MEASURES]
    for (point, measure), got in zip(
        itertools.product(POINTS, MEASURES), computed(states), strict=True
    ):
        yours = got["yours"]
        assert yours["bytes"] == point["bytes_per_token"]
        assert yours["seeds"] == point["seeds"]
        assert yours[measure] == point[measure]
        texts = [got["sentence"], got["said"], str(got["table"]["rows"])]
        assert all(any(word in text for word in shown(measure, point)) for text in texts)


def test_the_best_of_as_few_bytes_is_named() -> None:
    states = [state_of(point, measure=m) for point in POINTS for m in ("excess", "far")]
    for got in computed(states):
        yours, key = got["yours"], got["measure"]
        sign = 1 if key == "excess" else -1
        rivals = [
            p for p in got["points"] if p["bytes"] <= yours["bytes"] and p["id"] != yours["id"]
        ]
        best = min((sign * p[key][0] for p in rivals), default=None)
        if best is None:
            assert "Nothing else shown takes so few" in got["sentence"]
            continue
        said = got["sentence"].split("the best is ")[1]
        assert any(word in said for word in shown(key, {key: [sign * best, None]}))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"k_bits": 16, "v_bits": 4}, "both floats of one type, or both rounded"),
        ({"k_bits": 4, "v_bits": 4, "window": 32}, "so it has no window"),
        ({"k_bits": 32, "v_bits": 32, "window": 32}, "windows at inference were tried"),
        ({"k_bits": 8, "v_bits": 8, "key_axis": "token"}, "keys by token were tried"),
        ({"k_bits": 8, "v_bits": 2}, "these two widths"),
    ],
)
def test_what_was_not_measured_says_why(state: dict[str, Any], reason: str) -> None:
    (got,) = computed([DEFAULT | state])
    assert got["yours"] is None
    assert "not measured, because" in got["sentence"]
    assert reason in got["sentence"]


def test_lines_join_what_differs_in_one_thing() -> None:
    """Windows without first tokens, or whole caches in ever fewer bits of both halves."""
    windows, caches = computed([DEFAULT | {"group": group} for group in ("windows", "caches")])
    for state in (windows, caches):
        for line in state["lines"]:
            assert all(not p["sink_tokens"] for p in line["line"])
            assert [p["bytes"] for p in line["line"]] == sorted({p["bytes"] for p in line["line"]})
    assert all(p["k_bits"] == 16 for line in windows["lines"] for p in line["line"])
    assert all(not p["window"] for line in caches["lines"] for p in line["line"])
    assert any(p["sink_tokens"] for line in windows["lines"] for p in line["beside"])


def test_what_does_not_count_is_not_asked() -> None:
    """First tokens without a window, and the axis of what has no scales."""
    plain = DEFAULT | {"k_bits": 16, "v_bits": 16}
    first, second = computed([plain | {"key_axis": "token", "sink_tokens": 4}, plain])
    assert first["yours"] == second["yours"] is not None


def test_keys_and_values_change_together_between_numbers_and_codes() -> None:
    changes = [("k_bits", 16, [16, 16]), ("v_bits", 4, [2, 4]), ("v_bits", 32, [32, 32])]
    body = """
      const { update } = living.registry.equal_bytes;
      return input.changes.map(([key, value]) => update(input.state, key, value));"""
    got = run(body, {"state": DEFAULT, "changes": [change[:2] for change in changes]})
    assert [[state["k_bits"], state["v_bits"]] for state in got] == [bits for *_, bits in changes]
    back = run("return living.registry.equal_bytes.update(input, 'v_bits', 4);", got[0])
    assert (back["k_bits"], back["v_bits"]) == (4, 4)


def test_sizes_do_not_mix() -> None:
    both = [DEFAULT | {"size": size, "group": "windows"} for size in SIZES]
    for state, got in zip(both, computed(both), strict=True):
        assert {point["size"] for point in got["points"]} == {state["size"]}
        assert ("three layers" in got["sentence"]) == (state["size"] == "3x96")


def test_a_member_is_shown_with_those_it_differs_from_in_one_thing() -> None:
    kinds = SCHEMA["group"]["values"]
    assert {member.kind for member in CACHES.values()} == set(kinds)
    for kind, got in zip(
        kinds, computed([DEFAULT | {"group": kind} for kind in kinds]), strict=True
    ):
        own = [name for name, member in CACHES.items() if member.kind == kind or name == "mha"]
        assert [line["member"] for line in got["lines"]] == own


def test_the_data_holds_the_stored_points() -> None:
    """A new member needs its name in the schemas of the two pictures that let one choose it."""
    made = equal_bytes()
    assert sum(len(rows) for rows in made["points"].values()) == len(POINTS) > 0
    assert SCHEMA["member"]["values"] == list(CACHES)
    runnable = [name for name, member in MEMBERS.items() if member.on_pages]
    assert load_schema("inside_model")["member"]["values"] == runnable
    assert [member[0] for member in made["members"]] == list(CACHES)
    assert set(made["points"]) == set(SCHEMA["size"]["values"])


def test_a_tap_on_a_point_asks_for_it_and_the_ring_goes_there() -> None:
    """Every point that is shown; points keep their keys when another measure is chosen."""
    body = """
      const { choose, compute, draw } = living.registry.equal_bytes;
      const keyed = /data-part="([^"]+)"/g;
      const keys = (measure) => [
        ...draw(compute({ ...input, measure }), { live: true }).matchAll(keyed),
      ].map(([, key]) => key);
      const { points, ...result } = compute(input);
      const yours = ({ id }) => compute(choose({ points }, input, id)).yours.id;
      return {
        asked: points.map((point) => [point.id, yours(point)]),
        keys: ["excess", "copying"].map(keys),
      };"""
    for group in SCHEMA["group"]["values"]:
        got = run(body, {**DEFAULT, "group": group})
        assert len(got["asked"]) > 8
        assert all(tapped == yours for tapped, yours in got["asked"])
        assert got["keys"][0] == got["keys"][1]
        assert len(set(got["keys"][0])) == len(got["keys"][0]) == len(got["asked"]) + 1
