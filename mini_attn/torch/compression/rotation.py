"""Hadamard's rotation: every channel goes into all of them, so that none stands out."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.errors import ConfigError
from mini_attn.torch._module import check_floating, wide

__all__ = ["hadamard_rotation"]


def hadamard_rotation(x: Tensor) -> Tensor:
    """Rotate the last axis by Hadamard's matrix.

    ``x @ H,  H = [[H', H'], [H', -H']] / sqrt(2)``, beginning with ``H = [[1]]``

    Parameters
    ----------
    x : tensor (..., width)
        Floating-point numbers; the width is a power of 2.

    Returns
    -------
    tensor (..., width)
        Of the same type, computed in float32 or wider.

    Raises
    ------
    ConfigError
        If there is no axis, or its width is no power of 2.
    DTypeError
        If ``x`` is no floating-point tensor of the backend.

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
    >>> import torch
    >>> hadamard_rotation(torch.tensor([20.0, 0.0, 0.0, 0.0]))
    tensor([10., 10., 10., 10.])
    >>> hadamard_rotation(hadamard_rotation(torch.tensor([1.0, 2.0, 0.0, 4.0])))
    tensor([1., 2., 0., 4.])
    """
    check_floating("x", x)
    width = x.shape[-1] if x.ndim else 0
    if not width or width & (width - 1):
        raise ConfigError(
            f"a Hadamard rotation needs a last axis that is a power of 2, got {tuple(x.shape)}"
        )
    return rotate(x).to(x.dtype)


def rotate(x: Tensor) -> Tensor:
    """`hadamard_rotation` without checks, in float32 or wider."""
    width, half = x.shape[-1], 1
    found = wide(x)
    while half < width:
        pairs = found.reshape(*x.shape[:-1], -1, 2, half)  # (..., pairs, 2, half)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        found = torch.stack([first + second, first - second], dim=-2)
        half *= 2
    return found.reshape(x.shape) * width**-0.5
