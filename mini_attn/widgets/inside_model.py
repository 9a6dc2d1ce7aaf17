"""A text inside a trained decoder: what comes next, and where each head looks."""

from __future__ import annotations

from typing import Any

import traitlets

from mini_attn.errors import ConfigError, WidgetStateError
from mini_attn.stories.members import LONGEST
from mini_attn.stories.vocabulary import START, WORDS, encode
from mini_attn.widgets.trained import TrainedWidget

__all__ = ["InsideModel"]


def _check(text: str) -> None:
    """Refuse a text that the decoder cannot read; its last word may only be begun."""
    *words, last = text.lower().replace(".", " . ").split() or [START]
    begun = not text[-1:].isspace() and any(word.startswith(last) for word in WORDS)
    words = words if begun and last not in WORDS else [*words, last]
    try:
        ids = encode(" ".join(words if words[:1] == [START] else [START, *words]))
    except ConfigError as error:
        raise WidgetStateError(str(error)) from error
    if ids.size > LONGEST:
        raise WidgetStateError(
            f"text has {ids.size - 1} words; with {START} the decoder has room for {LONGEST - 1}"
        )


class InsideModel(TrainedWidget):
    """The true next word beside a trained decoder's, each head as a map, each to be switched off.

    Parameters
    ----------
    member : str
        Which decoder of the family.
    text : str
        Words of the stories with spaces between them, at most 1600 characters.
    at : int
        Position of the chosen word, 0 to 255: 0 is ``<s>``; beyond the text, its last word.
    head : {"L0H0", "L0H1", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"}
        The head that is shown large, and in the text.
    l0h0, l0h1, l0h2, l0h3, l1h0, l1h1, l1h2, l1h3 : bool
        Whether each head is on.
    temperature : float
        Divides the logits that the next word is drawn from, 0.1 to 2.
    top_p : float
        Draw from the likeliest words until they have this probability, 0.05 to 1.
    seed : int
        Seeds the draws, 1 to 99.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown, the text has a word that stories do not
        have, or more words than a row; the state stays.

    Notes
    -----
    The decoder's weights go to the notebook when the picture is shown, and those of another
    member when it is chosen.

    Examples
    --------
    >>> inside = InsideModel(text="lily had a")
    >>> inside.l0h1 = False
    >>> inside.state["text"], inside.state["l0h1"]
    ('lily had a', False)
    """

    _widget = "inside_model"
    caption = (
        "A story inside a trained decoder. Lily gave the ball to Tom, so “now” is followed by "
        "“tom”, and the decoder agrees with the language. Words are shaded by their weight from "
        "“now” in head L1H3. The tick on the orange bar is what the true probabilities cost. The "
        "squares are the attention patterns of eight heads, with “now” as the red line."
    )

    @traitlets.validate("text")
    def _text(self, proposal: dict[str, Any]) -> Any:
        _check(proposal["value"])
        return proposal["value"]
