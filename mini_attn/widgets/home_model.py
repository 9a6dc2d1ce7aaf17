"""The book's first picture: a trained model whose heads can be switched off."""

from __future__ import annotations

from mini_attn.widgets.trained import TrainedWidget

__all__ = ["HomeModel"]


class HomeModel(TrainedWidget):
    """Who has the ball, as a trained decoder says with some of its heads off.

    Parameters
    ----------
    l0h0, l0h1, l0h2, l0h3, l1h0, l1h1, l1h2, l1h3 : bool
        Whether each head is on.

    Raises
    ------
    WidgetStateError
        If a value is no bool or a name unknown; the state stays.

    Examples
    --------
    >>> HomeModel(l0h1=False).state["l0h1"]
    False
    """

    _widget = "home_model"
    caption = (
        "A story inside a trained model. Arcs show what one of its heads reads from “now”, and the "
        "bars what the model says next: “tom”, who has the ball. Below are the attention patterns "
        "of its eight heads over the last sentence, each with a switch."
    )
