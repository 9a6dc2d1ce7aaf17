"""Find the bug: a comparison of two results that lets NaN pass."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs

TEXT = """
This function is the heart of a test of equivalences, and the test has never failed. Find out why,
and repair it. `first` and `second` are arrays, `eps` is the precision of the type they were
computed in. It should be true exactly if the shapes are equal, all numbers are finite, and the
largest difference is at most `8 * eps` times the largest absolute number of `second`, or times 1
if that is larger. Return a NumPy truth value (`np.bool_`).
"""
STARTER = '''
def same_result(first, second, eps):
    """Whether two results are equal up to rounding."""
    return np.bool_(not (np.abs(first - second) > 8 * eps).any())
'''

FACTOR = 8


def _pair(first: np.ndarray, second: np.ndarray, eps: float) -> Inputs:
    return {"first": first, "second": second, "eps": eps}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a difference beyond the bound. The property: nothing that is no number passes."""
    base = np.array([[1.0, -2.0], [0.5, 4.0]])
    tiny, huge = base * 1e-6, base * 1e6
    hole = np.where(base > 3, np.nan, base)
    full = np.where(base > 3, np.inf, base)
    drawn = []
    for size in (1e-9, 1e-3, 1.0, 30.0):
        x = rng.standard_normal((3, 4))
        drawn.append(_pair(x + size * 1e-3 * rng.standard_normal((3, 4)), x, 1e-3))
    return {
        "by hand": [_pair(base + 0.1, base, 1e-3), _pair(base.copy(), base, 1e-3),
                    _pair(base - 0.1, base, 1e-3)],
        "random": drawn,
        "property": [_pair(hole, base, 1e-3), _pair(base, hole, 1e-3), _pair(hole, hole, 1e-3),
                     _pair(full, base, 1e-3), _pair(full, full, 1e-3)],
        "edges": [_pair(huge * (1 + 1e-3), huge, 1e-3), _pair(huge * 1.1, huge, 1e-3),
                  _pair(tiny + 1e-3, tiny, 1e-3), _pair(tiny + 0.1, tiny, 1e-3),
                  _pair(base[:1], base[[0, 0]], 1e-3), _pair(base[0], base[:1], 1e-3)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value."""
    return {"same": ((), "b")}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that the verdict lacks."""
    first, second, eps = inputs["first"], inputs["second"], inputs["eps"]
    finite = bool(np.isfinite(first).all() and np.isfinite(second).all())
    size = max(1.0, float(np.abs(second).max())) if finite else 1.0
    alike = first.shape == second.shape
    worst = float(np.abs(first - second).max()) if finite else np.inf
    right = alike and finite and worst <= FACTOR * eps * size
    got = bool(outputs["same"])
    if got == right:
        return None
    if not alike:
        return (
            f"Shapes {first.shape} and {second.shape} are not the same: broadcasting compared one "
            "row with several and hid it."
        )
    if not finite:
        return (
            "A result with NaN or infinity passed. Every comparison with NaN is False, so that "
            '"nothing is larger than the bound" holds: ask whether all are finite.'
        )
    if got and (first < second).all():
        return "A difference below zero passed: take its absolute value."
    if size > 1:
        return (
            f"The numbers are as large as {size:,.3g}, and rounding grows with them: the bound is "
            f"{FACTOR} · eps times the largest number of `second`."
        )
    if not got and worst > FACTOR * eps * float(np.abs(second).max()):
        return (
            "Where all numbers are small the bound does not shrink with them: it is at least "
            f"{FACTOR} · eps, as inputs of size 1 were rounded on the way."
        )
    return f"The largest difference is {worst:.3g}, the bound {FACTOR * eps * size:.3g}."


EXERCISE = Exercise(
    id="same_result",
    page="choosing",
    title="The test that nothing could fail",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    assessed=True,
    section="Equal by different routes",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Try it on a result that is all NaN, on one of another shape, and on one a thousand times "
        "as large.",
        "First the shapes, then np.isfinite of both, then the largest absolute difference against "
        "8 · eps times the larger of 1 and the largest number of `second`.",
    ),
    common_errors=(
        "Asking whether something is too large: with NaN nothing is.",
        "A fixed bound, which large results fail by mere rounding.",
        "Letting shapes broadcast.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
