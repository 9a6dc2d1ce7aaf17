"""Longer contexts: what each scaling method does to every plane of a rotary embedding."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["RopeScaling"]


class RopeScaling(LivingWidget):
    """Wavelengths of 64 planes and the training context, under seven scaling methods.

    Parameters
    ----------
    rule : {"none", "interpolation", "ntk", "dynamic", "yarn_code", "yarn_paper", "llama3"}
        What is done to the frequencies.
    factor : int
        Longer context over training context, 1 to 64; under dynamic NTK the slope of the growth.
    tokens : int
        Length of the sequence, 1,024 to 524,288, for dynamic NTK only.
    trained : {2048, 4096, 8192}
        Training context, in tokens.
    theta : {10000, 500000}
        Base of the frequencies.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> RopeScaling(rule="ntk").factor
    8
    """

    _widget = "rope_scaling"
    caption = (
        "Wavelength of each plane of a 128-dimensional head, trained with 8,192 tokens and used "
        "at 65,536 with YaRN. Hollow triangles are planes that would meet new angles otherwise."
    )
