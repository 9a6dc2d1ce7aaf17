"""The rotor: a query and a key, rotated to their positions plane by plane."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["Rotor"]


class Rotor(LivingWidget):
    """What rotates, and what stays when both tokens move.

    Parameters
    ----------
    position : int
        Position of the key, 0 to 32; the query follows, so that this moves both.
    distance : int
        How many positions after the key the query stands, 0 to 24.
    layout : {"interleaved", "half"}
        Which two numbers of a head are rotated together.

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

    _widget = "rotor"
    caption = (
        "A query at position 9 and a key at position 6, in the four planes of a head of eight "
        "numbers. Both are rotated to their positions; the sum of the products depends on the "
        "distance alone, and the curve shows how."
    )
