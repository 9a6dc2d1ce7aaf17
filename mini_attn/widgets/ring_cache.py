"""The ring: a cache of the last tokens, and the mask of a window."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["RingCache"]


class RingCache(LivingWidget):
    """Which slot a token takes, what it overwrites, and which keys are visible to the newest token.

    Parameters
    ----------
    step : int
        Tokens of the running example that have come, 1 to 8.
    window : int
        Keys that are visible to a query, its own included, and slots of the ring, 1 to 6.
    head : {1, 2}
        The head whose weights are shown.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> ring = RingCache(window=3)
    >>> ring.step = 8
    >>> ring
    RingCache(step=8, window=3, head=2)
    """

    _widget = "ring_cache"
    caption = (
        "Seven tokens of the running example in a ring of four slots. Token 6 is in slot 2, where "
        "token 2 was, so what head 2 would attend to without the window is overwritten."
    )
