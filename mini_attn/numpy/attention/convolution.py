"""A short convolution over the last few tokens, channel by channel, and its state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._module import check_array, check_floating
from mini_attn.shapes import check_choice, check_flag, named_shapes

__all__ = ["short_convolution"]

Array = NDArray[Any]


def short_convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    state: Array | None = None,
    keep: Array | None = None,
    activation: str | None = None,
    return_state: bool = False,
) -> Any:
    """Each channel's weighted sum of its last few tokens.

    ``out_t = activation(sum_i weight[:, i] * x_{t - width + 1 + i} + bias)``

    Parameters
    ----------
    x : array (batch, seq, channels)
        Tokens.
    weight : array (channels, width)
        Weights of each channel; the last one is for the token itself.
    bias : array (channels,) or None
        Added to the sum; None adds nothing.
    state : array (batch, width - 1, channels) or None
        The tokens before the first one; None is zeros.
    keep : boolean array (batch, seq) or None
        False for a padded token: the others don't see it, and it gets zeros.
    activation : {"silu"} or None
        What is applied to the sum; None leaves it.
    return_state : bool
        Whether to return the last ``width - 1`` tokens as well.

    Returns
    -------
    array (batch, seq, channels), or a tuple (out, state)
        In the type of ``x``; the state (batch, width - 1, channels) too.

    Raises
    ------
    ShapeError
        If axes disagree, or the width is 0.
    DTypeError
        If an array is not floating point, or ``keep`` is not boolean.
    ConfigError
        If the activation is another.

    Notes
    -----
    ``2 * batch * seq * channels * width`` FLOPs. The state is a ring of few tokens, whose bytes
    don't grow. Sums are float32 or wider.

    References
    ----------
    gu2023mamba, section 3.4

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    >>> out, state = short_convolution(x, np.array([[10.0, 1.0]]), return_state=True)
    >>> out.ravel(), state.ravel()
    (array([ 1., 12., 23.]), array([3.]))
    """
    check_flag("return_state", return_state)
    if activation is not None:
        check_choice("activation", activation, ("silu",))
    _check(x, weight, bias, state, keep)
    batch, seq, channels = x.shape
    width = weight.shape[1]
    if state is None:
        state = np.zeros((batch, width - 1, channels), x.dtype)
    order, lengths = np.arange(seq)[None], np.full(batch, seq)
    if keep is not None:  # the padded tokens go to the end, and nobody sees them
        order, lengths = np.argsort(~keep, axis=1, kind="stable"), keep.sum(axis=1)
    order = np.broadcast_to(order, (batch, seq))[..., None]
    tokens = np.take_along_axis(x, order, axis=1)
    tokens = np.concatenate([state.astype(x.dtype), tokens], axis=1)
    moved = _convolve(tokens, weight, bias, activation)
    out = np.empty_like(moved)
    np.put_along_axis(out, order, moved, axis=1)
    if keep is not None:
        out = np.where(keep[..., None], out, 0)
    out = out.astype(x.dtype, copy=False)
    if not return_state:
        return out
    last = (lengths[:, None] + np.arange(width - 1))[..., None]
    return out, np.take_along_axis(tokens, last, axis=1)


def _convolve(tokens: Array, weight: Array, bias: Array | None, activation: str | None) -> Array:
    """Sums over each window of tokens (batch, seq + width - 1, channels), without checks."""
    wide = np.promote_types(tokens.dtype, np.float32)
    width = weight.shape[1]
    seq = tokens.shape[1] - width + 1
    parts = (weight[:, i].astype(wide) * tokens[:, i : i + seq] for i in range(width))
    out = np.zeros((len(tokens), seq, tokens.shape[2]), wide)
    for part in parts:
        out += part
    if bias is not None:
        out += bias.astype(wide)
    return out if activation is None else _silu(out)


def _silu(x: Array) -> Array:
    """``x * sigmoid(x)``, whose exponential never overflows."""
    small = np.exp(-np.abs(x))
    return x * np.where(x >= 0, 1, small) / (1 + small)


def _check(
    x: Array, weight: Array, bias: Array | None, state: Array | None, keep: Array | None
) -> None:
    """Refuse what does not fit."""
    given = {"x": (x, "batch seq channels"), "weight": (weight, "channels width")}
    if bias is not None:
        given["bias"] = (bias, "channels")
    if state is not None:
        given["state"] = (state, "batch held channels")
    sizes = named_shapes(**given)
    for name, (array, _) in given.items():
        check_floating(name, array)
    if sizes["width"] < 1:
        raise ShapeError(f"width must be at least 1, got weight of shape {tuple(weight.shape)}")
    if state is not None and sizes["held"] != sizes["width"] - 1:
        raise ShapeError(
            f"a width of {sizes['width']} needs a state of {sizes['width'] - 1} tokens, "
            f"got {sizes['held']}"
        )
    if keep is not None:
        check_array("keep", keep)
        named_shapes(x=(x, "batch seq channels"), keep=(keep, "batch seq"))
        if keep.dtype != np.bool_:
            raise DTypeError(f"keep must be boolean (False = padded), got {keep.dtype}")
