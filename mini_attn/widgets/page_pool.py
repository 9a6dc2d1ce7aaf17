"""The pool: one memory for many requests, reserved, in pages, or in shared pages."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["PagePool"]


class PagePool(LivingWidget):
    """Which request holds which slots of a pool, which ones wait, and how full the pool is.

    Parameters
    ----------
    scheme : {"contiguous", "pages", "shared"}
        A reservation of the longest length per request, blocks, or blocks shared by requests with
        the same beginning.
    step : int
        Steps done so far, 1 to 14.
    block_size : {1, 2, 4, 8, 16}
        Slots per block; a reservation always has 48.
    request : {"A", "B", "C", "D", "E", "F", "G", "H"}
        The request whose block table is shown.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> pool = PagePool(scheme="shared")
    >>> pool.step = 3
    >>> pool
    PagePool(scheme='shared', step=3, block_size=4, request='B')
    """

    _widget = "page_pool"
    caption = (
        "Step 7 with 48 of 96 slots reserved for each request. Two requests run and five wait. All "
        "of the memory is taken, but only 28 slots hold a token."
    )
