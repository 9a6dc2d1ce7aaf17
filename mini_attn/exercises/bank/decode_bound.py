"""Write the least time of a decode step for several batch sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mini_attn import cost
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import TWO, with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.models import MODELS

TEXT = """
Write equation {eq}`eq-roofline-step` for several batch sizes at once, with two operations: the
weight matmuls and attention. `batch` is an array of batch sizes, and each sequence has `context`
cached tokens. A step reads `weight_bytes` once. One cached token of one sequence takes
`cache_bytes`. One row through the weights takes `row_flops`, and one pair of a query and a cached
token takes `pair_flops`. Return an array with the shape of `batch`: the least seconds of a decode
step.
"""
STARTER = '''
def decode_bound(
    batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
    bytes_per_second, flops_per_second,
):
    """Least time of a decode step for each batch size."""
    raise NotImplementedError
'''

NAMES = ("weight_bytes", "cache_bytes", "row_flops", "pair_flops",
         "bytes_per_second", "flops_per_second")  # fmt: skip
_close = partial(close, relative=True)


def _case(batch: list[int], context: int, *values: float) -> Inputs:
    named = dict(zip(NAMES, map(float, values), strict=True))
    return {"batch": np.array(batch, dtype=float), "context": context, **named}


def _published(name: str, device_name: str, batch: list[int], context: int) -> Inputs:
    model, device = MODELS[name], cost.DEVICES[device_name]
    work = cost.matmul_flops(model, q_len=1, kv_len=1)
    pair = work["scores"] + work["weighted sum"]
    return _case(
        batch, context, cost.step_bytes(model, kv_len=1)["weights"],
        cost.cache_bytes_per_token(model), sum(work.values()) - pair, pair,
        device.bytes_per_second, device.flops_per_second["bfloat16"],
    )  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: attention waits in one case and computes in the other, weights do both in each."""
    drawn = []
    for _ in range(4):
        batch = sorted(int(n) for n in rng.integers(1, 300, 5))
        low, high = rng.integers(20, 200, 4), rng.integers(2, 9, 2)
        drawn.append(_case(batch, int(rng.integers(5, 60)), *low, *high))
    return {
        "by hand": [
            _case([1, 2, 10, 100], 5, 1000, 8, 300, 4, 10, 20),
            _case([1, 2, 10, 100], 5, 1000, 2, 300, 40, 10, 20),
        ],
        "random": drawn,
        "property": [
            _published("llama-3-8b", "h100", [1, 16, 256, 4096], 1),
            _published("starcoder-15b", "h100", [1, 64, 512, 2048], 2048),
        ],
        "edges": [_case([1], 1, 1, 1, 1, 1, 1, 1), _case([7], 3, 8, 1, 1, 1, 2, 1000)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One time for each batch."""
    return {"seconds": (inputs["batch"].shape, "f")}


def _sides(inputs: Inputs) -> dict[str, np.ndarray]:
    """Times of the pieces: reading weights, reading caches, rows, pairs."""
    batch, context = inputs["batch"], inputs["context"]
    rate, peak = inputs["bytes_per_second"], inputs["flops_per_second"]
    return {
        "weights": inputs["weight_bytes"] / rate + 0 * batch,
        "cache": inputs["cache_bytes"] * context * batch / rate,
        "rows": inputs["row_flops"] * batch / peak,
        "pairs": inputs["pair_flops"] * context * batch / peak,
    }


def _seconds(
    inputs: Inputs, *, join: Callable[..., np.ndarray] = np.maximum,
    end: Callable[..., np.ndarray] = np.add, **times: Any,
) -> np.ndarray:  # fmt: skip
    """The step with its pieces multiplied by something, and its sides joined in some way."""
    t = {name: piece * times.get(name, 1) for name, piece in _sides(inputs).items()}
    return np.asarray(end(join(t["weights"], t["rows"]), join(t["cache"], t["pairs"])))


def _parts(batch: np.ndarray, context: int) -> list[tuple[dict[str, Any], str]]:
    return [
        ({"join": np.add},
         "You added an operation's reading and arithmetic. They overlap, so the longer counts."),
        ({"join": np.minimum},
         "You took the shorter of the two. An operation is done when both are."),
        ({"end": np.maximum},
         "You counted only the longer operation. They follow one another, so add their times."),
        ({"cache": 1 / batch},
         "You read one cache for the whole batch. Each sequence has its own."),
        ({"weights": batch},
         "You read the weights once for every sequence. One read serves the whole batch."),
        ({"cache": 1 / context}, "You read one cached token. A step reads all of the context."),
        ({"pairs": 1 / context}, "Your query meets one token. It meets all of the context."),
        ({"cache": 0}, "You don't read the caches. They're part of the bytes of every step."),
        ({"pairs": 0}, "You've left the pairs of query and key out of the arithmetic."),
        ({"rows": context, "pairs": context},
         "That's the arithmetic of a prompt. In a decode step, a sequence has one row, which meets "
         "the context once."),
        ({"rows": 2, "pairs": 2},
         "You've counted the arithmetic twice. You're given FLOPs already."),
        ({"pairs": 1 / batch}, "You counted one sequence's pairs. Each has its own."),
        ({"rows": 1 / batch}, "You counted one sequence's row. Each has its own."),
        ({"rows": 1 / batch, "pairs": 1 / batch},
         "You counted the arithmetic of a single sequence. Count all sequences of the batch."),
        ({"cache": 0, "pairs": 0},
         "You've left out attention. It comes after the weight matmuls and takes time too."),
        ({"weights": 0, "rows": 0},
         "You've left out the weight matmuls and counted only attention."),
    ]  # fmt: skip


def _one_side(reading: np.ndarray, computing: np.ndarray) -> np.ndarray:
    """The side that is longer at its longest, for all batch sizes."""
    return reading if reading.max() > computing.max() else computing


def slips(inputs: Inputs) -> Slips:
    """Return what the times would be with one idea missing, or two."""
    batch, t = inputs["batch"], _sides(inputs)
    reading, computing = t["weights"] + t["cache"], t["rows"] + t["pairs"]
    totals = np.maximum(reading, computing)
    one_side = "You took the same side for all batch sizes. Each batch size has its own longer "
    one_side += "side, so compare entry by entry."
    return [
        (reading, "You counted only the reading, or the arithmetic of a single sequence. With many "
         "sequences, the arithmetic of all can take longer."),
        (computing, "You counted only the arithmetic. With few sequences, reading takes longer."),
        (totals, "You added up the bytes and the FLOPs of both operations first and took the "
         "longer total. But while attention reads its caches, nothing multiplies weights. "
         "Take the longer time of each operation, then add."),
        *with_pairs(partial(_seconds, inputs), _parts(batch, inputs["context"])),
        (_seconds(inputs) / batch,
         "That's the time per token. Return the time of the step."),
        (totals / batch,
         f"{TWO} That's the time per token, but we ask for the step. And: you compared totals, "
         "although each operation has its own longer time."),
        (_one_side(t["weights"], t["rows"]) + _one_side(t["cache"], t["pairs"]), one_side),
        (_one_side(reading, computing), one_side),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The longer of reading and arithmetic, of each operation."""
    return _seconds(inputs)


EXERCISE = Exercise(
    id="decode_bound",
    page="decoding-roofline",
    title="The least time of a step",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="The step-time bound",
    text=TEXT,
    letters="$n$ is `context`, $\\beta$ is `bytes_per_second`, and $\\pi$ is `flops_per_second`.",
    starter=STARTER,
    hints=(
        "Two clocks run at once for each operation, one for the bytes and one for the FLOPs. It "
        "ends when both have stopped. Then the other operation begins.",
        "The weight matmuls read the weights once and have one row per sequence. Attention has, "
        "for each sequence, a cache of `context` tokens and as many pairs. Divide bytes and FLOPs "
        "by their rates, take the maximum for each operation, and add the two.",
    ),
    common_errors=(
        "Adding up all bytes and all FLOPs and comparing the totals.",
        "Adding the two times of an operation.",
        "Letting the batch share the cache the way it shares the weights.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
