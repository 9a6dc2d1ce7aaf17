"""The book's first picture: four words look at each other."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["FirstLook"]


class FirstLook(LivingWidget):
    """Attention among four words, in three beats a word: compare, make shares, take.

    Parameters
    ----------
    moment : int
        Which of the twelve moments is shown, 0 to 11: three for each word, in order.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> FirstLook(moment=3).moment
    3
    """

    _widget = "first_look"
    caption = (
        "Four words, “Once upon a time”, as rows and columns. A cell says how much the word of its "
        "row takes from the word of its column; beside each row the shares are one bar."
    )
