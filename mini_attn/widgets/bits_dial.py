"""The dial of bits: keys and values of a trained head in ever fewer bits."""

from __future__ import annotations

import json

from mini_attn.widgets.base import HERE, LivingWidget, carried

__all__ = ["BitsDial"]


class BitsDial(LivingWidget):
    """What rounding keys and values to few bits does to a head, to a query and to the loss.

    Parameters
    ----------
    k_bits, v_bits : {16, 8, 4, 3, 2}
        Bits of the keys and of the values; 16 is bfloat16.
    key_axis : {"channel", "token"}
        What the scales of the keys stand for; those of the values stand for tokens.
    outlier : int
        1 to 30: one channel of the keys times this, the queries' same channel divided by it.
    show : {"keys", "values"}
        Whose maps and ladder are drawn.
    channel : int
        0 to 15: whose ladder is drawn.

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
        "Keys of one head of the trained model on 32 tokens, before and after 3 bits, with one "
        "scale for every 16 tokens of a channel; the ladder of one channel; and the weights of one "
        "query before and after."
    )

    def _data(self) -> str:
        data = (HERE / "js/data/bits_dial.json").read_text(encoding="utf-8")
        return carried(json.loads(data), " data-head")
