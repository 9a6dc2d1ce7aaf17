"""The head stepper: one token's attention with two heads or one, from queries to output."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["HeadStepper"]


class HeadStepper(LivingWidget):
    """What each head attends to, what it passes on, and how the heads are combined.

    Parameters
    ----------
    step : int
        How far the computation is shown, 0 to 4: queries, keys and values; scores; weights;
        averages; the output.
    token : {0, 1, 2, 3, 4, 5, 6, 7}
        Position of the token that asks.
    n_heads : {2, 1}
        Whether the same matrices are read as two heads of 4 or as one of 8.
    join : {"concatenate", "add"}
        Whether the output is shown as one product or as a sum over the heads.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> stepper = HeadStepper(n_heads=1)
    >>> stepper.token = 3
    >>> stepper
    HeadStepper(step=0, token=3, n_heads=1, join='concatenate')
    """

    _widget = "head_stepper"
    caption = (
        "The second “a” of the running example looks back with two heads. Head 1 puts its weight "
        "on the token before, head 2 on both “a”. Their averages are joined into one output row."
    )
