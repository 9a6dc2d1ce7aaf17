"""What exercises with pencil and paper share: one number."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Inputs

__all__ = ["cases", "expected"]


def cases(rng: np.random.Generator) -> Cases:
    """A pencil exercise has one answer.

    Parameters
    ----------
    rng : numpy.random.Generator
        Not used: nothing is drawn.

    Returns
    -------
    dict of lists of dict
        One case without inputs.
    """
    return {"by hand": [{}]}


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One number.

    Parameters
    ----------
    inputs : dict
        Empty.

    Returns
    -------
    dict of (shape, dtype kind)
        The answer, a floating-point number.
    """
    return {"answer": ((), "f")}
