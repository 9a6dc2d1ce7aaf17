"""The cost explorer: FLOPs and bytes of one layer, part by part, against the tokens."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["CostExplorer"]


class CostExplorer(LivingWidget):
    """FLOPs and bytes of each part of a layer, and where the quadratic part becomes the larger one.

    Parameters
    ----------
    seq : int
        Tokens, 16 to 1,048,576.
    d_model : {192, 384, 768, 1536, 3072, 6144}
        Width; heads have dimension 64, with one key/value head for each query head.
    mlp : {"none", "plain", "gated", "narrow"}
        None, width 4 d, gated with width 4 d, gated with width 8 d / 3.
    pairs : {"full", "exact"}
        All pairs of tokens, or those that a causal mask leaves visible.
    kernel : {"written", "fused"}
        Whether all scores are in memory at once, or a tile of 64 by 64 in each head.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> CostExplorer(seq=8192, pairs="exact")
    CostExplorer(seq=8192, d_model=768, mlp='plain', pairs='exact', kernel='written')
    """

    _widget = "cost_explorer"
    caption = (
        "One layer of width 768 on 1,024 tokens, with an MLP of width 4d: the scores and the "
        "weighted sum are 18.2% of the FLOPs; they reach one half at 4,608 tokens. Materialized, "
        "the scores take more bytes than all rows beyond 320 tokens."
    )
