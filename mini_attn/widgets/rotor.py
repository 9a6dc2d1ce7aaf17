"""The rotor: a query and a key, rotated to their positions plane by plane."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["Rotor"]


class Rotor(LivingWidget):
    """What rotates, and what doesn't change when both tokens move.

    Parameters
    ----------
    position : int
        Position of the key, 0 to 32; the query follows, so that this moves both.
    distance : int
        How many positions the query comes after the key, 0 to 24.
    layout : {"interleaved", "half"}
        Which two dimensions of a head are rotated together.
    vectors : {"chosen", "equal", "independent"}
        Query and key: two vectors chosen by hand, the same vector twice, or two unrelated ones.
    base : {100, 10000, 500000}
        Base of the frequencies.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> rotor = Rotor(distance=0)
    >>> rotor.layout = "half"
    >>> rotor
    Rotor(position=6, distance=0, layout='half', vectors='chosen', base=10000)
    """

    _widget = "rotor"
    caption = (
        "A query at position 9 and a key at position 6, in the four planes of a head of "
        "dimension 8. Both are rotated to their positions. The sum of the products depends only "
        "on the distance, and the curve shows how."
    )
