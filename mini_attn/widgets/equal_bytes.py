"""Equal bytes: what the trained family loses with each byte of cache that it saves."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["EqualBytes"]


class EqualBytes(LivingWidget):
    """Loss above the entropy, copying and recall against the bytes of the cache, as measured.

    Parameters
    ----------
    measure : {"excess", "copying", "near", "far"}
        Loss above the entropy of the language, loss in copying, or recall of who has what, less
        than 64 words later or after more.
    group : {"caches", "windows", "positions"}
        Which members are shown next to the reader's variant.
    size : {"2x64", "3x96"}
        Layers and width of the members. The shipped ones have two layers of width 64.
    member : str
        Member of the family whose variant is chosen.
    k_bits, v_bits : {32, 16, 8, 4, 3, 2}
        Bits of its keys and of its values.
    key_axis : {"channel", "token"}
        Which values of its keys share a scale.
    window : {0, 32, 64, 128}
        Last tokens that it keeps at inference; 0 keeps all.
    sink_tokens : {0, 1, 4}
        First tokens that a window keeps as well.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> EqualBytes(measure="far", k_bits=4, v_bits=2).state["v_bits"]
    2
    """

    _widget = "equal_bytes"
    caption = (
        "Loss of the small trained models on held-out stories against the bytes of their cache: "
        "keys and values in float32, in bfloat16 and in 8 to 2 bits."
    )
