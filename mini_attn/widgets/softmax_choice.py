"""The softmax on five numbers: scores become weights that sum to one."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["SoftmaxChoice"]


class SoftmaxChoice(LivingWidget):
    """Five scores, their exponentials, and their weights.

    Parameters
    ----------
    once, upon, a, time, lamp : float
        Scores of five tokens, -5 to 5. The default is how well "time" matches each of them.
    shift : float
        Added to all scores, -5 to 5, which does not change the weights.
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
        "Five scores, their exponentials, and the weights: each exponential divided by the sum of "
        "all. The largest score gets the largest weight, and no weight is zero."
    )
