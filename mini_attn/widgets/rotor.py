"""The rotor: a query and a key, turned to their positions plane by plane."""

from __future__ import annotations

import traitlets

from mini_attn.widgets.base import Checked, LivingWidget

__all__ = ["Rotor"]


class Rotor(LivingWidget):
    """What turns, and what stays when both tokens move.

    Parameters
    ----------
    position : int
        Where the key stands; the query follows, so that this moves both.
    distance : int
        How many places after the key the query stands.
    layout : {"interleaved", "half"}
        Which two numbers of a head turn together.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> rotor = Rotor(distance=0)
    >>> rotor.layout = "half"
    >>> rotor
    Rotor(position=6, distance=0, layout='half')
    """

    _widget = traitlets.Unicode("rotor").tag(sync=True)
    caption = (
        "A query at position 9 and a key at position 6, in the four planes of a head of eight "
        "numbers. Both are turned to their positions; the sum of the products depends on the "
        "distance alone, and the curve shows how."
    )
    position = Checked("rotor", "position")
    distance = Checked("rotor", "distance")
    layout = Checked("rotor", "layout")
