"""The page's record and the notebook's file become one: what changed counts, on either side."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tests import javascript

SOURCES = ("notebook/agree.js",)
SOLVED = {"state": "solved", "points": 2}
TRIED = {"state": "tried", "points": 0, "missing": "by hand"}
DONE = {"state": "done", "points": 0}
RIGHT = {"attempt": "5050", "verdict": "right", "shown": False}
WRONG = {"attempt": "7", "verdict": "wrong", "shown": True}
KEPT = {"here": True, "there": False}  # nothing was forgotten in the notebook
RESET = {"here": True, "there": True}


def record(entry: Any, kind: str = "exercises") -> dict[str, Any]:
    """A record that holds this one entry, or nothing."""
    empty: dict[str, Any] = {"predictions": {}, "exercises": {}}
    return {"kv-cache": {**empty, kind: {"fit": entry}}} if entry else {}


def agree(cases: list[tuple[Any, ...]], kind: str = "exercises") -> list[Any]:
    """What page and notebook hold afterwards, for (page, notebook, agreed on last, forgotten)."""
    given = [[*(record(entry, kind) for entry in case[:3]), case[3]] for case in cases]
    found = javascript.run(
        "return input.map((case_) => living.agree(...case_));", given, sources=SOURCES
    )
    return [both.get("kv-cache", {}).get(kind, {}).get("fit") for both in found]


CASES = [
    ("nothing anywhere", (None, None, None, KEPT), None),
    ("solved on the page", (SOLVED, None, None, KEPT), SOLVED),
    ("solved in the notebook", (None, SOLVED, None, KEPT), SOLVED),
    ("as it was", (SOLVED, SOLVED, SOLVED, KEPT), SOLVED),
    ("solved on the page after a try", (SOLVED, TRIED, TRIED, KEPT), SOLVED),
    ("solved in the notebook after a try", (TRIED, SOLVED, TRIED, KEPT), SOLVED),
    ("never met, one solved", (TRIED, SOLVED, None, KEPT), SOLVED),
    ("both went on, one solved", (SOLVED, DONE, TRIED, KEPT), SOLVED),
    ("forgotten on the page", (None, SOLVED, SOLVED, KEPT), None),
    ("forgotten there and solved again in the notebook", (None, SOLVED, TRIED, KEPT), SOLVED),
    ("reset in the notebook", (SOLVED, None, SOLVED, RESET), None),
    ("solved on the page after that reset", (SOLVED, None, TRIED, RESET), SOLVED),
    ("the file lost it, without a reset", (SOLVED, None, SOLVED, KEPT), SOLVED),
    ("begun anew on the page", (TRIED, SOLVED, SOLVED, KEPT), TRIED),
    ("begun anew in the notebook", (SOLVED, TRIED, SOLVED, KEPT), TRIED),
]


@pytest.mark.parametrize(("words", "given", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_what_both_hold_then(words: str, given: tuple[Any, ...], wanted: Any) -> None:
    assert agree([given]) == [wanted]


def test_predictions_travel_by_the_same_rule() -> None:
    cases = [(RIGHT, WRONG, None, KEPT), (WRONG, RIGHT, WRONG, KEPT), (None, RIGHT, RIGHT, KEPT)]
    assert agree(cases, "predictions") == [RIGHT, RIGHT, None]


def test_it_is_done_after_one_time() -> None:
    """Together once, they are the same, and a second time changes nothing."""
    entries = (None, SOLVED, TRIED, DONE)
    cases = [(*three, KEPT) for three in itertools.product(entries, repeat=3)]
    both = agree(cases)
    assert agree([(entry, entry, entry, KEPT) for entry in both]) == both
    for (here, there, before, _), entry in zip(cases, both, strict=True):
        assert entry in (here, there)
        if SOLVED in (here, there) and before is None:
            assert entry == SOLVED


def test_changes_lead_from_one_to_the_other() -> None:
    rng = random.Random(3)
    choices = (None, SOLVED, TRIED, RIGHT, WRONG)
    pairs = []
    for _ in range(30):
        kind = rng.choice(["predictions", "exercises"])
        fit = choices[1:3] if kind == "exercises" else choices[3:]
        pairs.append([record(rng.choice([None, *fit]), kind) for _ in range(2)])
    found = javascript.run(
        """return input.map(([from, to]) => {
          const { kept, gone, none } = living.changes(from, to);
          const result = structuredClone(from);
          for (const [kind, key] of gone) delete result[key.split("/")[0]][kind][key.split("/")[1]];
          for (const [page, kinds] of Object.entries(kept)) for (const kind of Object.keys(kinds))
            Object.assign(((result[page] ??= {})[kind] ??= {}), kinds[kind]);
          return [result, none];
        });""",
        pairs,
        sources=SOURCES,
    )

    def entries(one: dict[str, Any]) -> list[Any]:
        return [list(kind.items()) for kinds in one.values() for kind in kinds.values() if kind]

    for (before, after), (result, none) in zip(pairs, found, strict=True):
        assert entries(result) == entries(after)
        assert none == (entries(before) == entries(after))
