"""The decode stepper: the running example, token by token, with and without a cache."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["DecodeStepper"]


class DecodeStepper(LivingWidget):
    """Show which rows a step computes, which it reads, and what both ways add up to.

    Parameters
    ----------
    step : int
        0 to 4: the prefill of the prompt, then the tokens that follow one by one.
    cached : bool
        Whether the keys and values are cached.
    head : {1, 2}
        Whose rows are shown.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> stepper = DecodeStepper(cached=False)
    >>> stepper.step = 4
    >>> stepper
    DecodeStepper(step=4, cached=False, head=1)
    """

    _widget = "decode_stepper"
    caption = (
        "Step 2 of decoding the running example with a cache. It computes the rows of the new "
        "token and reads those of five. Below are the running totals with and without a cache."
    )
