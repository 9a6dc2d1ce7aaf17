"""The tile stepper: one matrix product, what it reads again and what it keeps."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["TileStepper"]


class TileStepper(LivingWidget):
    """Queries of one head, computed tile by tile: FLOPs done and numbers moved.

    Parameters
    ----------
    rows : {4, 2, 1}
        Tokens that are computed together, the last ones of the prompt.
    tile : {1, 2, 4}
        Side of the tiles that the fast memory holds.
    step : int
        0 to 32; a step is one multiply-add for each row.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> stepper = TileStepper(tile=4)
    >>> stepper.step = 32
    >>> stepper
    TileStepper(rows=4, tile=4, step=32)
    """

    _widget = "tile_stepper"
    caption = (
        "A product of (4, 8) and (8, 4) with tiles of 2 × 2 in fast memory, not quite half done. "
        "The digit in a cell says how often its number was read. At the end, all tile sizes "
        "have done 256 FLOPs and moved 272, 144 or 80 numbers."
    )
