"""Pairs of keys and values, written into one matrix and read back."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["StateMatrix"]


class StateMatrix(LivingWidget):
    """What a matrix returns of the pairs that were written into it, next to a cache of them.

    Values have length 1. The first `size` keys are at right angles to each other, and so are the
    next ones. The cache attends with a scale of 20.

    Parameters
    ----------
    rule : {"sum", "decay", "delta", "gated", "cache"}
        How a pair is written: added; added after the state was multiplied by the decay; put in the
        place of what its key finds; both; or kept as it is.
    pairs : int
        Pairs that are written, 1 to 32.
    size : {4, 8, 16}
        Dimension of keys and values.
    decay : float
        What is left of the state after a step, 0.5 to 1. Other rules don't read it.
    again : bool
        Whether the first key is written once more at the end, with another value.
    pair : int
        The pair that is read, 1 to 32. Above the last, it's the last.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> matrix = StateMatrix(rule="delta", again=True)
    >>> matrix.pairs = 12
    >>> matrix
    StateMatrix(rule='delta', pairs=12, size=8, decay=0.9, again=True, pair=1)
    """

    _widget = "state_matrix"
    caption = (
        "Six pairs added up in one matrix of 8 times 8 numbers. Their keys are at right angles to "
        "each other, so each key reads its own value back without an error."
    )
