"""Hadamard's rotation: every channel goes into all of them, so that none stands out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError
from mini_attn.numpy._module import check_floating

__all__ = ["hadamard_rotation"]

Array = NDArray[Any]


def hadamard_rotation(x: Array) -> Array:
    """Rotate the last axis by Hadamard's matrix.

    ``x @ H,  H = [[H', H'], [H', -H']] / sqrt(2)``, beginning with ``H = [[1]]``

    Parameters
    ----------
    x : array (..., width)
        Floating-point numbers; the width is a power of 2.

    Returns
    -------
    array (..., width)
        Of the same type, computed in float32 or wider.

    Raises
    ------
    ConfigError
        If there is no axis, or its width is no power of 2.
    DTypeError
        If ``x`` is no floating-point array of the backend.

    Notes
    -----
    The matrix is symmetric and orthonormal, so a second rotation takes the first one back, and
    products of two rotated vectors are those of the vectors: queries and keys that are both
    rotated have the same scores. ``log2(width)`` rounds of sums and differences do it.

    References
    ----------
    ashkboos2024quarot, section 3

    Examples
    --------
    >>> import numpy as np
    >>> hadamard_rotation(np.array([20.0, 0.0, 0.0, 0.0]))
    array([10., 10., 10., 10.])
    >>> hadamard_rotation(hadamard_rotation(np.array([1.0, 2.0, 0.0, 4.0])))
    array([1., 2., 0., 4.])
    """
    check_floating("x", x)
    width = x.shape[-1] if x.ndim else 0
    if not width or width & (width - 1):
        raise ConfigError(
            f"a Hadamard rotation needs a last axis that is a power of 2, got {x.shape}"
        )
    return rotate(x).astype(x.dtype, copy=False)


def rotate(x: Array) -> Array:
    """`hadamard_rotation` without checks, in float32 or wider."""
    width, half = x.shape[-1], 1
    found = x.astype(np.promote_types(x.dtype, np.float32), copy=False)
    while half < width:
        pairs = found.reshape(*x.shape[:-1], -1, 2, half)  # (..., pairs, 2, half)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        found = np.stack([first + second, first - second], axis=-2)
        half *= 2
    return found.reshape(x.shape) * found.dtype.type(width**-0.5)
