"""The softmax on five numbers: scores become shares that add up to one."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["SoftmaxChoice"]


class SoftmaxChoice(LivingWidget):
    """Five scores, their powers of e, and their weights.

    Parameters
    ----------
    once, upon, a, time, lamp : float
        Scores of five tokens, -5 to 5. The default is how well "time" fits each of them.
    shift : float
        Added to all scores, -5 to 5; it changes no weight.
    temperature : float
        Divides all scores, 0.1 to 4.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> SoftmaxChoice(temperature=0.5).temperature
    0.5
    """

    _widget = "softmax_choice"
    caption = (
        "Five scores, e to the power of each, and the weights: each power divided by the sum of "
        "all. The largest score gets the largest share, and no share is zero."
    )
