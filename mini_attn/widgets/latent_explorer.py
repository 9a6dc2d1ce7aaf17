"""The latent explorer: the running example with latent attention, in both forms."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["LatentExplorer"]


class LatentExplorer(LivingWidget):
    """The cache of each token, what a head makes from it, and the order that makes nothing.

    Parameters
    ----------
    form : {"expanded", "absorbed"}
        Whether keys and values are made from the latents, or the query is projected to them.
    head : {1, 2, 3, 4}
        Whose query, keys and values are shown.
    token : int
        1 to 6: the token that has just arrived, and is the query.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> explorer = LatentExplorer(form="absorbed")
    >>> explorer.token = 6
    >>> explorer
    LatentExplorer(form='absorbed', head=4, token=6)
    """

    _widget = "latent_explorer"
    caption = (
        "Latent attention in its expanded form. The cache holds a latent and a rotated key for "
        "each of four tokens, 24 values for all four heads. From them, the heads make "
        "their keys and values in this step, 128 values in all."
    )
