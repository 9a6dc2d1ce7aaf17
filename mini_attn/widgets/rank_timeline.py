"""Several devices on a time line: who computes, who sends, who waits."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["RankTimeline"]


class RankTimeline(LivingWidget):
    """One layer's causal attention of Llama-3-8B's shape on several devices, step by step.

    A round of a ring lasts until its slowest rank is done and the next keys have come. Products run
    at the peak rate of an H100, and a message takes 10 µs to start.

    Parameters
    ----------
    scheme : {"contiguous", "zigzag", "ulysses", "tensor"}
        How the work is split: tokens in a ring, in order or mirrored; tokens, and heads while they
        attend; heads.
    ranks : {2, 4, 8}
        Devices.
    tokens : {8192, 32768, 131072}
        Tokens of the prompt.
    link : {5, 50, 450}
        GB/s at which a device sends.
    step : int
        The step that is shown, 0 to 7: a round of the ring, or one of three steps elsewhere. Above
        the last, it's the last.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> line = RankTimeline(scheme="zigzag")
    >>> line.ranks = 8
    >>> line
    RankTimeline(scheme='zigzag', ranks=8, tokens=32768, link=450, step=1)
    """

    _widget = "rank_timeline"
    caption = (
        "Attention over a long prompt on four devices, each with a quarter of it in the order of "
        "the text. In the second round, the first device has nothing to compute, because all the "
        "keys that have come to it are in its future."
    )
