"""The phase film: twelve moments of one training, and what each head looks at in them."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["PhaseFilm"]


class PhaseFilm(LivingWidget):
    """Losses of stories and of copying over the training, and the heads at the chosen moment.

    Parameters
    ----------
    frame : int
        Which of the twelve moments is shown, 0 to 11.
    mark : {"none", "before", "copies"}
        What is outlined in the maps: nothing, the word before, or what followed a copy.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> film = PhaseFilm()
    >>> film.frame = 11
    >>> film
    PhaseFilm(frame=11, mark='none')
    """

    _widget = "phase_film"
    caption = (
        "A small model before it has learned to copy. No head looks at the word before, no head "
        "looks just after an earlier copy of its word, and the loss of copying is still near that "
        "of a uniform guess."
    )
