"""The tile stepper against the package: products, traffic and words, in all states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mini_attn import cost, example
from mini_attn.widgets import TileStepper
from tests.javascript import run

BODY = "return input.map(living.registry.tile_stepper.compute);"
K, N = example.D_MODEL, example.HEAD_DIM
LAST = 32


def left(rows: int) -> np.ndarray:
    """The last rows of the prompt."""
    return np.array(example.EMBEDDINGS[example.PROMPT_LEN - rows : example.PROMPT_LEN])


@pytest.fixture(scope="module")
def results() -> list[dict]:
    """Every state."""
    states = [
        {"rows": rows, "tile": tile, "step": step}
        for rows, tile, step in product((4, 2, 1), (1, 2, 4), range(LAST + 1))
    ]
    return run(BODY, states)


def test_the_finished_product_is_numpys(results: list[dict]) -> None:
    right = np.array(example.WEIGHTS["q"])[:, :N]
    for one in results:
        if one["step"] == LAST:
            q = [[entry["value"] for entry in row] for row in one["c"]]
            np.testing.assert_allclose(q, left(one["rows"]) @ right, atol=1e-12)
            assert all(entry["finished"] for row in one["c"] for entry in row)


def test_traffic_and_flops_are_the_packages(results: list[dict]) -> None:
    for one in results:
        sizes = (one["rows"], K, N)
        read_a, read_b, written = cost.product_traffic(*sizes, tile=one["tile"])
        all_moved = one["all"]
        assert (all_moved["left"], all_moved["right"], all_moved["written"]) == (
            read_a, read_b, written,
        )  # fmt: skip
        assert one["all_flops"] == cost.product_flops(*sizes)
        assert one["flops"] * LAST == one["step"] * one["all_flops"]
        assert one["curves"][str(one["tile"])][one["step"]] == one["moved"]["numbers"]


def test_counts_in_the_cells_add_up(results: list[dict]) -> None:
    """The digits that are shown are the reads that are counted."""
    for one in results:
        for name, total in (("a", "left"), ("b", "right")):
            tile_reads = sum(entry["reads"] for row in one[name] for entry in row)
            assert tile_reads == one["moved"][total]
        terms = sum(len(entry["terms"]) for row in one["c"] for entry in row)
        assert 2 * terms == one["flops"]
        held = sum(entry["held"] for name in "abc" for row in one[name] for entry in row)
        assert held <= 3 * one["tile"] ** 2
        assert (held > 0) == (one["step"] > 0)


def test_one_row_reads_the_right_matrix_once_whatever_the_tile(results: list[dict]) -> None:
    for one in results:
        if one["rows"] == 1:
            assert one["all"]["right"] == K * N


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.tile_stepper;
      const result = compute(input);
      return [describe(result), explain(result, "c-1-0").text, explain(result, "b-0-0").text,
              explain(result, "line-4").text, table(result).rows.flat().join(" ")];"""
    sentence, entry, operand, line, cells = run(body, TileStepper(step=32).state)
    assert "256 FLOPs, 144 numbers moved, 0.44 FLOP per byte" in sentence
    q = left(4)[1] @ np.array(example.WEIGHTS["q"])[:, 0]
    assert f"= {q:.2f}. Finished: 8 multiply-adds" in entry
    assert "4 entries of the product need it; read twice" in operand
    assert "256 FLOPs / (80 numbers · 4 bytes) = 0.80" in line
    for number in ("272", "144", "80", "1,088", "0.24", "0.44", "0.80"):
        assert number in cells.split()


def test_caption_tells_the_ends() -> None:
    ends = [sum(cost.product_traffic(4, K, N, tile=tile)) for tile in (1, 2, 4)]
    assert f"{ends[0]}, {ends[1]} or {ends[2]} numbers" in TileStepper.caption
    assert f"{cost.product_flops(4, K, N)} FLOPs" in TileStepper.caption
