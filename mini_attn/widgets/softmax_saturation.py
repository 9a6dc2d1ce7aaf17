"""The picture of saturation: what head_dim does to a row of weights without a scale."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["SoftmaxSaturation"]


class SoftmaxSaturation(LivingWidget):
    """Scores and weights of one query with eight keys whose entries are tossed coins.

    Parameters
    ----------
    head_dim : int
        Entries of the query and of each key, 1 to 1,024.
    divisor : {"one", "head_dim", "d_model"}
        Divide q · k by 1, by the root of head_dim, or by the root of d_model = 12 head_dim.
    draw : int
        Which coins, 1 to 20.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> SoftmaxSaturation(divisor="head_dim")
    SoftmaxSaturation(head_dim=64, divisor='head_dim', draw=1)
    """

    _widget = "softmax_saturation"
    caption = (
        "One query and eight keys with 64 entries of +1 or −1, not scaled: one key has all the "
        "weight. Below, the largest weight and the sum of w (1 − w) against head_dim, for three "
        "scales."
    )
