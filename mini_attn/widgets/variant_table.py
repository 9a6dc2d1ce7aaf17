"""The variant table: every kind of attention at the shape of one model, side by side."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["VariantTable"]


class VariantTable(LivingWidget):
    """What each variant keeps, computes and reads in a cached step, and how many sequences fit.

    Parameters
    ----------
    context : int
        Tokens of each sequence, 16 to 1,048,576.
    batch : int
        Sequences, 1 to 1,024.
    device : {"a100", "h100", "h200", "b200"}
        Whose memory and rates count.
    measure : {"cache", "flops", "step", "fit"}
        Whose curves are drawn.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> table = VariantTable(batch=1)
    >>> table.context = 131_072
    >>> table
    VariantTable(context=131072, batch=1, device='h100', measure='cache')
    """

    _widget = "variant_table"
    caption = (
        "Seven kinds of attention at the shape of Llama-3-8B, 16 sequences of 8,192 tokens on one "
        "H100: which is best by cache, attention FLOPs, the bound of a decode step, and the "
        "sequences that fit. Below: the cache up to this context. A row whose cache doesn't fit is "
        "crossed and can't be the best."
    )
