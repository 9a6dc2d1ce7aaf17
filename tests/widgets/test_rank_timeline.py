"""The time line against the package's counts, and how it's handled."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("rank_timeline")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
LLAMA, RATE = MODELS["llama-3-8b"], cost.DEVICES["h100"].flops_per_second["bfloat16"]
PAIR = 4 * LLAMA.n_heads * LLAMA.head_dim / RATE  # seconds
STATES: list[dict[str, Any]] = [
    {"scheme": scheme, "ranks": ranks, "tokens": tokens, "link": link, "step": step}
    for scheme, ranks, tokens, link, step in itertools.product(
        SCHEMA["scheme"]["values"], SCHEMA["ranks"]["values"], SCHEMA["tokens"]["values"],
        SCHEMA["link"]["values"], (0, 1, 7),
    )
]  # fmt: skip
ORDERS = ("contiguous", "zigzag")


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.rank_timeline.compute);", STATES)


def test_values_and_bytes_are_the_packages(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        for one in result["all"]:
            scheme = "ring" if one["scheme"] in ORDERS else one["scheme"]
            told = cost.communication(LLAMA, ranks=state["ranks"], scheme=scheme)
            assert one["values"] == pytest.approx(told.values(), rel=1e-12)
            assert one["bytes"] == pytest.approx(told.bytes(state["tokens"]), rel=1e-12)


def test_rounds_are_the_packages(results: list[dict[str, Any]]) -> None:
    """Pairs of each rank, a round as long as its slowest rank and its message, and who waits."""
    for state, result in zip(STATES, results, strict=True):
        if state["scheme"] not in ORDERS:
            continue
        ranks, tokens = state["ranks"], state["tokens"]
        pairs = cost.ring_pairs(tokens, ranks=ranks, order=state["scheme"])
        link = cost.Link(1e-5, 1e9 * state["link"])
        told = cost.communication(LLAMA, ranks=ranks, scheme="ring")
        sent = told.seconds(link, tokens=tokens) / (ranks - 1)
        assert [phase["pairs"] for phase in result["phases"]] == pairs
        rounds = [max(max(row) * PAIR, sent * (turn < ranks - 1)) for turn, row in enumerate(pairs)]
        assert result["seconds"] == pytest.approx(sum(rounds))
        busy = sum(map(sum, pairs)) * PAIR
        assert result["idle"] == pytest.approx(1 - busy / (ranks * sum(rounds)), abs=1e-9)
        if state["link"] == 450 and tokens == 131_072:  # messages hide
            idle = cost.idle_share(state["scheme"], ranks=ranks, tokens=tokens)
            assert result["idle"] == pytest.approx(idle, abs=1e-9)


def test_collectives_take_what_the_model_says(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        if state["scheme"] in ORDERS:
            continue
        ranks, tokens = state["ranks"], state["tokens"]
        told = cost.communication(LLAMA, ranks=ranks, scheme=state["scheme"])
        sent = told.seconds(cost.Link(1e-5, 1e9 * state["link"]), tokens=tokens)
        computed = tokens * (tokens + 1) // 2 / ranks * PAIR
        assert result["seconds"] == pytest.approx(sent + computed)


def test_the_square_has_each_visible_block_once(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        chunks = 2 * state["ranks"]
        seen = [(cell["q"], cell["k"]) for cell in result["cells"]]
        assert len(seen) == len(set(seen)) == chunks * (chunks + 1) // 2
        assert result["step"] < len(result["phases"])
        if state["scheme"] in ORDERS:
            phase = result["phases"][result["step"]]
            now = [cell["rank"] for cell in result["cells"] if cell["when"] == "now"]
            assert {rank for rank, pairs in enumerate(phase["pairs"]) if pairs} == set(now)


def test_the_default_shows_who_waits() -> None:
    """The picture opens in the order of the text, where the first rank has nothing to do."""
    [result] = run("return input.map(living.registry.rank_timeline.compute);", [DEFAULT])
    assert (DEFAULT["scheme"], result["phases"][1]["pairs"][0]) == ("contiguous", 0)
    body = """
      const { compute, describe, explain } = living.registry.rank_timeline;
      const result = compute(input);
      return [describe(result), explain(result, "part-1-0").text,
        explain(result, "bar-zigzag").text, explain(result, "square").text];"""
    sentence, part, bar, square = run(body, DEFAULT)
    assert "rank 0 has nothing to do" in sentence
    assert "43% of the devices' time is waiting" in sentence
    assert "come later in the text" in part
    assert bar.startswith("ring, zigzag: ")
    assert "1,536 values" in bar
    assert "8 chunks" in square


def test_the_moment_is_dragged_along_the_time() -> None:
    body = """
      const { compute, drag, choose, draw } = living.registry.rank_timeline;
      const result = compute(input);
      const at = (width) => drag(result, "now", { width, state: input });
      const steps = (width) => [0, 0.6, 1].map((x) => at(width)({ to: [x * width - 3, 9] }).step);
      return [[654, 346].map(steps), drag(result, "part-0-0", { width: 654, state: input }),
        choose(null, input, "bar-ulysses").scheme, choose(null, input, "part-3-1").step,
        choose(null, input, "square"), draw(result, { live: true })];"""
    (wide, narrow), held, scheme, step, none, markup = run(body, DEFAULT)
    assert wide == [0, 1, 3]
    assert (narrow[0], narrow[2]) == (0, 3)
    assert (held, scheme, step, none) == (None, "ulysses", 3, None)
    assert 'data-grip="step" tabindex="0" role="slider" aria-label="Step"' in markup
