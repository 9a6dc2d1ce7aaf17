"""The dial of bits: keys and values of a trained head in fewer and fewer bits."""

from __future__ import annotations

import json

from mini_attn.widgets.base import HERE, LivingWidget, carried

__all__ = ["BitsDial"]


class BitsDial(LivingWidget):
    """How rounding keys and values to few bits changes a head, a query and the loss.

    Parameters
    ----------
    k_bits, v_bits : {16, 8, 4, 3, 2}
        Bits of the keys and of the values; 16 is bfloat16.
    key_axis : {"channel", "token"}
        Whether the keys have a scale per channel or per token; values have one per token.
    outlier : int
        1 to 30: multiplies one channel of the keys and divides the same channel of the queries.
    show : {"keys", "values"}
        Which of the two the picture shows.
    channel : int
        0 to 15: the channel whose ladder is drawn.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> dial = BitsDial(k_bits=4, key_axis="token")
    >>> dial.outlier = 20
    >>> dial.state["k_bits"], dial.state["outlier"]
    (4, 20)
    """

    _widget = "bits_dial"
    caption = (
        "Keys of one head of the trained model on 32 tokens. Top: the largest of each channel. "
        "Middle: one channel on its ladder of codes, before and after rounding to 3 bits, with "
        "one scale for every 16 tokens. Bottom: the weights of one query before and after."
    )

    def _data(self) -> str:
        data = (HERE / "js/data/bits_dial.json").read_text(encoding="utf-8")
        return carried(json.loads(data), " data-head")
