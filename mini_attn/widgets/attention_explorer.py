"""The attention explorer: one head on the running example, cell by cell."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["AttentionExplorer"]


class AttentionExplorer(LivingWidget):
    """Queries, keys, scores, weights, values and outputs of one head.

    Parameters
    ----------
    head : {"content", "before"}
        Whether the weights were chosen to find related words or the word before.
    tokens : {4, 8}
        How many tokens of the text.
    show : {"dots", "scores", "weights"}
        What the cells show: q · k, the scaled scores, or the weights.
    mask : {"none", "after", "renormalised", "before"}
        How later keys are hidden: not at all; their weight is set to 0; the same, and the rest
        is divided by its sum; their score is set to minus infinity.
    divisor : {"one", "head_dim", "d_model"}
        Divide q · k by 1, by the root of head_dim, or by the root of d_model.
    q0, q1, q2, q3 : float
        What is added to each entry of the last token's query, -2 to 2.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> explorer = AttentionExplorer(mask="before")
    >>> explorer.show = "scores"
    >>> explorer.state["mask"], explorer.state["show"]
    ('before', 'scores')
    """

    _widget = "attention_explorer"
    caption = (
        "One head on the running example, with nothing hidden: queries on the left, keys above, "
        "the weight of each pair in its cell, values below, outputs on the right. “Once” gives "
        "weight to “time”, which comes later."
    )
