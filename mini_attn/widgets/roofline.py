"""The roofline: where prefill and decode land on a device."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["Roofline"]


class Roofline(LivingWidget):
    """Show a pass under a device's roof: weight matmuls, attention, LM head, and their sum.

    Parameters
    ----------
    phase : {"decode", "prefill"}
        One new token per sequence, or all of them at once.
    batch, context : int
        Sequences, 1 to 1,024, and tokens in each, 128 to 1,048,576.
    model : {"llama-2-7b", "llama-3-8b", "starcoder-15b", "llama-3-70b", "olmo-hybrid-7b"}
        Published model; the last keeps a state in three of four layers.
    stored : {"bfloat16", "weights", "cache", "both", "scores"}
        What differs from bfloat16 with attention in tiles: weights in 4.5 bits, the cache in 5,
        both, or scores and weights that are materialized. Matmuls run in bfloat16.
    device : {"a100", "h100", "h200", "b200", "tpu-v5e"}
        Whose memory and rates count.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> roof = Roofline(batch=1)
    >>> roof.phase = "prefill"
    >>> roof.phase, roof.batch, roof.context
    ('prefill', 1, 8192)
    """

    _widget = "roofline"
    caption = (
        "A decode step of Llama-3-8B for 16 sequences on an H100. All parts are far below the "
        "ridge point, so the step takes as long as its reading, and the arithmetic mostly waits."
    )
