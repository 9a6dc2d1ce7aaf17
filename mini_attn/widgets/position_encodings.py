"""Position encodings side by side: what each adds to the scores of a text that is moved."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["PositionEncodings"]


class PositionEncodings(LivingWidget):
    """Six encodings of one text, and what changes when the text moves.

    Parameters
    ----------
    start : int
        Position of the text's first token, 0 to 8.
    show : {"added", "weights"}
        What the encoding adds to the scores, or the weights that follow from it.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> encodings = PositionEncodings(start=0)
    >>> encodings.show = "weights"
    >>> encodings
    PositionEncodings(start=0, show='weights')
    """

    _widget = "position_encodings"
    caption = (
        "Eight tokens at positions 3 to 10: what six encodings add to the score of each query "
        "(row) and key (column). Integers and learned vectors add different numbers than "
        "at positions 0 to 7, and the other four add the same ones."
    )
