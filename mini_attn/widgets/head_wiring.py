"""The head wiring: who reads whom when query heads share key/value heads."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["HeadWiring"]


class HeadWiring(LivingWidget):
    """Four query heads on four, two or one key/value heads, their weights and the cost.

    Parameters
    ----------
    n_kv_heads : {4, 2, 1}
        Key/value heads; fewer than four are means of the four.
    order : {"neighbours", "dealt"}
        Whether neighbors share a head, or heads are assigned in turn, which is a bug.
    token : int
        Position of the query token, 0 to 7.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> wiring = HeadWiring(n_kv_heads=1)
    >>> wiring.token = 3
    >>> wiring
    HeadWiring(n_kv_heads=1, order='neighbours', token=3)
    """

    _widget = "head_wiring"
    caption = (
        "Four query heads share two key/value heads, one per pair of neighbors. The weights of "
        "“key” are the same as with four key/value heads, and the cache keeps half as much."
    )
