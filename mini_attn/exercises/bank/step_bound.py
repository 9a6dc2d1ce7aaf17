"""Write the roofline's bound for many steps at once."""

from __future__ import annotations

from functools import partial

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Compute the column *step* and what binds it, as if each step were a single operation. `flops` and
`n_bytes` are arrays of the same shape with what each step does and moves; the rates are numbers.
Return `(seconds, memory_bound)`: the roofline's bound, and a boolean array that is true where
reading takes at least as long as computing.
"""
STARTER = '''
def step_bound(flops, n_bytes, flops_per_second, bytes_per_second):
    """The least seconds of each step, and whether memory binds it."""
    raise NotImplementedError
'''


def _case(flops: np.ndarray, n_bytes: np.ndarray, rate: float, bandwidth: float) -> Inputs:
    return {"flops": flops, "n_bytes": n_bytes, "flops_per_second": rate,
            "bytes_per_second": bandwidth}  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one step on each side of the ridge. The property: the batch cancels nothing."""
    drawn = []
    for _ in range(4):
        flops, n_bytes = 10 ** rng.uniform(6, 13, 6), 10 ** rng.uniform(6, 11, 6)
        drawn.append(_case(flops, n_bytes, 10 ** rng.uniform(10, 15), 10 ** rng.uniform(9, 13)))
    each = 2.0 ** int(rng.integers(30, 36))  # bytes of a step on the ridge
    return {
        "by hand": [_case(np.array([100.0, 4000.0]), np.array([50.0, 100.0]), 1000.0, 100.0)],
        "random": drawn,
        "property": [_case(np.array([[1e9, 1e12], [3e12, 2e6]]) * rng.uniform(0.9, 1.1, (2, 2)),
                           np.full((2, 2), 1e9), 1e12, 1e10)],
        # On the ridge itself, in powers of 2: it has to be hit in float32 too.
        "edges": [_case(np.array([2.0**7 * each]), np.array([each]), 2.0**46, 2.0**39),
                  _case(np.array([0.0, 5e9]), np.array([4e9, 0.0]), 1e12, 1e11),
                  # A little to either side of the ridge.
                  _case(np.array([0.9e12, 1.1e12]), np.array([1e10, 1e10]), 1e14, 1e12)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Seconds, and what binds."""
    shape = inputs["flops"].shape
    return {"seconds": (shape, "f"), "memory_bound": (shape, "b")}


_close = partial(close, relative=True)


def _seconds(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Of the arithmetic, and of the reading."""
    computing = inputs["flops"] / inputs["flops_per_second"]
    return computing, inputs["n_bytes"] / inputs["bytes_per_second"]


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The longer of the two, and which it is."""
    computing, reading = _seconds(inputs)
    return {"seconds": np.maximum(computing, reading), "memory_bound": reading >= computing}


def slips(inputs: Inputs) -> Slips:
    """What the seconds or the verdicts would be with one idea missing."""
    computing, reading = _seconds(inputs)
    swapped = np.maximum(inputs["flops"] / inputs["bytes_per_second"],
                         inputs["n_bytes"] / inputs["flops_per_second"])  # fmt: skip
    return [
        ({"seconds": computing + reading}, "The two are added. At best reading and computing "
         "overlap, and the bound is the longer of the two."),
        ({"seconds": np.minimum(computing, reading)}, "That is the shorter of the two. A step is "
         "over when both are done."),
        ({"seconds": computing}, "Only the arithmetic is counted: reading takes time as well."),
        ({"seconds": reading}, "Only the reading is counted: arithmetic takes time as well."),
        ({"seconds": np.maximum(inputs["flops"] * inputs["flops_per_second"],
                                inputs["n_bytes"] * inputs["bytes_per_second"])},
         "Counts are multiplied by rates. Seconds are a count divided by its rate."),
        ({"seconds": swapped}, "The rates are swapped: bytes go with bytes per second."),
        ({"seconds": np.full(reading.shape, max(computing.max(), reading.max()))},
         "All steps get the seconds of the longest one. Each has a bound of its own: compare "
         "the two times step by step."),
        *(({"memory_bound": np.full(reading.shape, one)},
           "One verdict is given for all steps. Each has its own: compare step by step.")
          for one in (reading.sum() >= computing.sum(), reading.max() >= computing.max(),
                      (reading >= computing).all(), (reading >= computing).any(), True)),
        ({"memory_bound": reading > computing},
         "On the ridge both take equally long; call that memory-bound, too."),
        ({"memory_bound": inputs["flops"] * inputs["flops_per_second"]
          <= inputs["n_bytes"] * inputs["bytes_per_second"]},
         "Counts are multiplied by rates. Compare the seconds, which are a count divided by its "
         "rate."),
        ({"memory_bound": reading < computing},
         "The verdict is turned round: memory-bound means that reading takes longer."),
        ({"memory_bound": reading <= computing},
         "The verdict is turned round: memory-bound means that reading takes longer."),
        *(({"memory_bound": few},
           "FLOPs and bytes are compared as they are. What binds depends on the device: compare "
           "the seconds, or the intensity with the ridge.")
          for few in (inputs["flops"] < inputs["n_bytes"], inputs["flops"] <= inputs["n_bytes"])),
    ]  # fmt: skip


SHOULD_BE = {
    "seconds": "Seconds are a quantity divided by its rate; the bound is the longer of two such.",
    "memory_bound": "It is True exactly where the reading takes at least as long.",
}


EXERCISE = Exercise(
    id="step_bound",
    page="choosing",
    title="Which wall?",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=8,
    difficulty=1,
    assessed=True,
    section="Side by side",
    text=TEXT,
    standalone=(
        "Compute the column *step*",
        "Compute the least time of a decode step",
    ),
    starter=STARTER,
    hints=(
        "A step needs both: all its bytes read and all its FLOPs done. They can overlap.",
        "Divide each by its rate. The seconds are the larger of the two, number by number; "
        "memory-bound is where the reading is at least as long.",
    ),
    common_errors=(
        "Adding the two times: that is a bound from above, not from below.",
        "Comparing FLOPs with bytes directly.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
    same=_close,
)
