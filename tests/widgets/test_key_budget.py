"""The keys that may stay, in the widget and in the package's cache, at every step."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.notebook import stored
from mini_attn.stories import START, encode
from mini_attn.stories.inside import attention_maps
from mini_attn.widgets import KeyBudget
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.data import FOLDER
from mini_attn.widgets.inside_data import wide
from mini_attn.widgets.key_budget_data import (
    HEADS,
    KEY,
    MEASURES,
    PROMPT,
    STORY,
    ZERO,
    key_budget,
    policy_of,
)
from tests.javascript import run

SCHEMA = load_schema("key_budget")
DATA = json.loads((FOLDER / "key_budget.json").read_text(encoding="utf-8"))
WORDS = f"{START} {STORY}".split()
LENGTH = len(WORDS)
POLICIES = ["recent", "first", "heavy", "observed"]
BUDGETS = range(SCHEMA["budget"]["min"], SCHEMA["budget"]["max"] + 1, 4)  # and between the stops
CASES = list(product(POLICIES, BUDGETS, (1, 2)))


def weights_of(codes: list[str]) -> np.ndarray:
    """Weights (LENGTH, LENGTH) of a head as the widget has them, 0 for later keys."""
    weights = np.zeros((LENGTH, LENGTH))
    for i, line in enumerate(codes):
        weights[i, : i + 1] = np.exp([(ord(ZERO) - ord(code)) / DATA["scale"] for code in line])
    return weights


def read_by_cache(weights: np.ndarray, policy: str, budget: int) -> list[tuple[list[int], Any]]:
    """At each step the keys that a real cache lets the newest word read, and its weights."""
    cache = ma.EvictingCache(1, 1, 2, budget=budget, policy=policy_of(policy, budget))
    first = PROMPT if policy == "observed" else 1
    found: list[tuple[list[int], Any]] = []
    for part in np.split(np.arange(LENGTH), range(first, LENGTH)):
        rows = np.zeros((1, 1, part.size, 2), np.float32)
        places = cache.append(rows, rows)[2][0, 0]
        given = weights[part][:, places]
        given = given / given.sum(axis=1, keepdims=True)
        if cache.watches:
            cache.observe(given[None, None])
        for row, newest in zip(given, part, strict=True):
            seen = places <= newest
            found.append((places[seen].tolist(), row[seen]))
    return found


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, int, int], list[dict[str, Any]]]:
    """What JavaScript computes at every step of every case."""
    states = [
        {"policy": policy, "budget": budget, "head": head, "step": step}
        for policy, budget, head in CASES
        for step in range(1, LENGTH + 1)
    ]
    found = run("return input.map(living.registry.key_budget.compute);", states)
    return {case: found[i * LENGTH : (i + 1) * LENGTH] for i, case in enumerate(CASES)}


def test_the_keys_that_are_left_are_those_of_the_cache(results: Any) -> None:
    for (policy, budget, head), steps in results.items():
        weights = weights_of(DATA["heads"][head - 1][2])
        read = read_by_cache(weights, policy, budget)
        for step, ((places, given), shown) in enumerate(zip(read, steps, strict=True), 1):
            case = policy, budget, head, step
            assert shown["places"] == places, case
            rows = shown["rows"][:step]
            kinds = [row["kind"] for row in rows]
            there = [place in places for place in range(step)]
            assert [kind in ("held", "new") for kind in kinds] == there, case
            assert kinds.index("new") == step - 1
            held = [row["weight"] for row, kept in zip(rows, there, strict=True) if kept]
            np.testing.assert_allclose(held, given, atol=1e-12)
            full = weights[step - 1, :step] / weights[step - 1].sum()
            np.testing.assert_allclose([row["full"] for row in rows], full, atol=1e-12)
            assert shown["heads"][head - 1]["lost"] == pytest.approx(
                full[~np.array(there)].sum(), abs=1e-12
            )


def test_all_keys_are_left_where_nothing_is_forgotten() -> None:
    states = [{"policy": "all", "budget": 8, "head": 1, "step": n + 1} for n in range(LENGTH)]
    for n, shown in enumerate(run("return input.map(living.registry.key_budget.compute);", states)):
        assert shown["places"] == list(range(n + 1))
        assert [head["lost"] for head in shown["heads"]] == [0, 0]


def test_the_codes_are_the_trained_heads() -> None:
    """Rounding moves no weight by more than a few hundredths, and hardly any key."""
    maps = attention_maps(wide("mha"), encode(f"{START} {STORY}")[None])[:, 0]
    same = total = 0
    for (layer, head), (layer_shown, head_shown, codes) in zip(HEADS, DATA["heads"], strict=True):
        assert (layer_shown, head_shown) == (layer + 1, head + 1)
        rounded = weights_of(codes)
        rounded /= rounded.sum(axis=1, keepdims=True)
        assert np.abs(rounded - maps[layer, head]).max() < 0.03
        for policy, budget in product(("heavy", "observed"), (8, 16, 24, 32)):
            ours = read_by_cache(rounded, policy, budget)
            true = read_by_cache(maps[layer, head], policy, budget)
            same += sum(len(set(a[0]) & set(b[0])) for a, b in zip(ours, true, strict=True))
            total += sum(len(b[0]) for b in true)
    assert same / total > 0.98


def test_the_data_are_those_of_the_package() -> None:
    assert json.loads(json.dumps(key_budget())) == DATA
    assert len(WORDS) == SCHEMA["step"]["max"]
    assert DATA["words"] == [*WORDS, "lily"]
    assert json.loads(KeyBudget()._html().split("data-story>")[1].split("</script>")[0]) == DATA


def test_what_a_model_says_when_the_name_is_gone() -> None:
    """The story's point: a fluent answer that is wrong, and the right one from as many keys."""
    said = DATA["said"]
    assert said["all"]["0"][0] == said["heavy"]["16"][0] == "lily"
    assert said["recent"]["32"][0] == said["first"]["32"][0] == "ben"
    state = {"policy": "recent", "budget": 16, "head": 1, "step": LENGTH}
    [wrong, right] = run(
        "return input.map((s) => living.registry.key_budget.describe("
        "living.registry.key_budget.compute(s)));",
        [state, {**state, "policy": "heavy"}],
    )
    assert "the model says “ben” (48%)" in wrong
    assert "the model says “lily” (99%)" in right


def test_the_default_shows_no_answer() -> None:
    """Neither what the model says at the end, nor another policy than one."""
    default = {key: entry["default"] for key, entry in SCHEMA.items()}
    [shown] = run("return input.map(living.registry.key_budget.compute);", [default])
    assert shown["said"] is None
    assert shown["gone"] > 0
    assert shown["rows"][10]["kind"] == "gone"
    assert shown["rows"][10]["full"] > 0.9


def test_measured_numbers_are_the_stored_ones() -> None:
    points = {
        (point["reading"], point["policy"], point["budget"]): [point[key] for key in MEASURES]
        for point in stored(KEY)["points"]
        if point["member"] == "mha"
    }
    states = [
        {"policy": policy, "budget": budget, "head": 1, "step": 56}
        for policy in [*POLICIES, "all"]
        for budget in BUDGETS
    ]
    for state, shown in zip(
        states, run("return input.map(living.registry.key_budget.compute);", states), strict=True
    ):
        reading = "prompt" if state["policy"] == "observed" else "stream"
        budget = None if state["policy"] == "all" else state["budget"]
        stop = budget is None or budget % SCHEMA["budget"]["step"] == 0
        wanted = points.get((reading, state["policy"], budget)) if stop else None
        assert shown["all"] == points[reading, "all", None]
        assert shown["now"] == wanted  # or it was not measured
