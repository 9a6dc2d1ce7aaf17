"""The ring: a cache of the last tokens, and what a window hides."""

from __future__ import annotations

import traitlets

from mini_attn.widgets.base import Checked, LivingWidget

__all__ = ["RingCache"]


class RingCache(LivingWidget):
    """Which slot a token takes, whom it overwrites, and what the newest token still sees.

    Parameters
    ----------
    step : int
        Tokens that have come, of the eight of the running example.
    window : int
        Keys that a query sees, its own included; slots of the ring.
    head : {1, 2}
        Whose weights are shown.

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

    _widget = traitlets.Unicode("ring_cache").tag(sync=True)
    caption = (
        "Seven tokens of the running example in a ring of four slots. Token 6 lies in slot 2, over "
        "token 2; what the second head would look at without the window is overwritten."
    )
    step = Checked("ring_cache", "step")
    window = Checked("ring_cache", "window")
    head = Checked("ring_cache", "head")
