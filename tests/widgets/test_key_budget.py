"""The keys that may stay, in the widget and in the package's cache, at every step."""

from __future__ import annotations

import json
import re
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


@pytest.mark.parametrize("step", [30, LENGTH])
def test_a_readers_keys_are_weighed_and_compared_as_the_rules_are(step: int) -> None:
    """What is typed may be wrong: of too many the last count, and no key of a later word."""
    kept = ".".join(map(str, [*range(20), 10, 55, 99, "x", ""]))
    state = {"policy": "yours", "budget": 16, "head": 1, "step": step, "kept": kept}
    rules = [{**state, "policy": policy} for policy in POLICIES]
    shown, *others = run("return input.map(living.registry.key_budget.compute);", [state, *rules])
    read = [*range(4, 20), step - 1]
    assert shown["places"] == read
    full = weights_of(DATA["heads"][0][2])[step - 1]
    given = [shown["rows"][place]["weight"] for place in read]
    np.testing.assert_allclose(given, full[read] / full[read].sum(), atol=1e-12)
    for (_, _, codes), head in zip(DATA["heads"], shown["heads"], strict=True):
        full = weights_of(codes)[step - 1]
        assert head["lost"] == pytest.approx(1 - full[read].sum() / full.sum(), abs=1e-12)
    seen = [policy for policy in POLICIES if policy != "observed" or step > PROMPT]
    lost = {one["policy"]: [head["lost"] for head in one["heads"]] for one in others}
    assert shown["others"] == [[policy, lost[policy]] for policy in seen]
    assert (shown["now"], shown["said"]) == (None, None), "nobody measured this choice"


def test_a_word_that_is_tapped_stays_or_goes() -> None:
    """A choice begins with what the rule has kept; the first chosen makes room."""
    body = """
      const { compute, choose } = living.registry.key_budget;
      let state = { policy: "recent", budget: 16, head: 1, step: 30, kept: "" };
      return input.map((id) => {
        const next = choose(compute(state), state, id);
        state = next ?? state;
        return next && [next.policy, next.kept.split(".").map(Number)];
      });"""
    recent = list(range(13, 29))
    found = run(body, ["word-29", "word-40", "head-1", "word-10", "word-20", "word-2", "word-3"])
    assert found[:3] == [None] * 3, "not its own, not a later one"
    with_name = [*recent[1:], 10]
    without = [n for n in with_name if n != 20]
    assert found[3:] == [
        ["yours", with_name], ["yours", without], ["yours", [*without, 2]],
        ["yours", [*without[1:], 2, 3]],
    ]  # fmt: skip


def test_keys_fly_out_of_their_words_into_the_room_and_back() -> None:
    body = """
      const { compute, draw } = living.registry.key_budget;
      return input.map((step) => draw(compute({
        policy: "recent", budget: 16, head: 1, step, kept: "" }), { live: true }));"""
    pattern = r'data-part="([^"]+)"(?: data-from="([^"]+)")?(?: data-takes="([^"]+)")?'
    before, after = (
        {key: ways for key, *ways in re.findall(pattern, markup)} for markup in run(body, [30, 31])
    )
    assert {*after} - {*before} == {"key-30"}
    assert {*before} - {*after} == {"key-13"}
    assert after["key-30"][0] == "word-30"
    assert after["word-13"][1] == "key-13"
    assert len(after) <= 240
