"""A text's tokens as merges are learned, and how one word of it gets there."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["MergeSteps"]


class MergeSteps(LivingWidget):
    """Your text in tokens, with merges learned from a sample of this book's own prose.

    The pieces that no merge crosses are those of GPT-2's pattern.

    Parameters
    ----------
    text : str
        The text, at most 160 characters.
    merges : int
        How many of the learned merges there are, 0 to 256.
    piece : int
        The piece of the text that is shown merge by merge, 0 to 159. Above the last, it's the last.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> steps = MergeSteps(text="a token", piece=1)
    >>> steps.merges = 28
    >>> steps
    MergeSteps(text='a token', merges=28, piece=1)
    """

    _widget = "merge_steps"
    caption = (
        "A text in tokens after 107 merges that were learned from a sample of this book. "
        "“ attention” with its space has just become one token. Without the space, “attention” "
        "is still two."
    )
