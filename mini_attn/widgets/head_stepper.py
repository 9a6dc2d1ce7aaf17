"""The head stepper: one token's attention with two heads or one, from queries to output."""

from __future__ import annotations

import traitlets

from mini_attn.widgets.base import Checked, LivingWidget

__all__ = ["HeadStepper"]


class HeadStepper(LivingWidget):
    """What each head looks at, what it hands on, and how the heads are put together.

    Parameters
    ----------
    step : int
        How far the computation is shown: 0 queries, keys and values, 1 scores, 2 weights,
        3 averages, 4 the output.
    token : int
        Place of the token that looks, 0 to 7.
    n_heads : {2, 1}
        Whether the same matrices are read as two heads of 4 or as one of 8.
    join : {"concatenate", "add"}
        Whether the output is shown as one product or as a sum over the heads.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> stepper = HeadStepper(n_heads=1)
    >>> stepper.token = 3
    >>> stepper
    HeadStepper(step=4, token=3, n_heads=1, join='concatenate')
    """

    _widget = traitlets.Unicode("head_stepper").tag(sync=True)
    caption = (
        "The second “a” of the running example looks back with two heads. Head 1 puts its weight "
        "on the token before, head 2 on both “a”; their averages are joined to one output row."
    )
    step = Checked("head_stepper", "step")
    token = Checked("head_stepper", "token")
    n_heads = Checked("head_stepper", "n_heads")
    join = Checked("head_stepper", "join")
