"""A short convolution over the last few tokens, channel by channel, and its state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import silu

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_choice, check_flag, named_shapes
from mini_attn.torch._module import check_array, check_floating, wide

__all__ = ["short_convolution"]


def short_convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    state: Tensor | None = None,
    keep: Tensor | None = None,
    activation: str | None = None,
    return_state: bool = False,
) -> Any:
    """Each channel's weighted sum of its last few tokens.

    ``out_t = activation(sum_i weight[:, i] * x_{t - width + 1 + i} + bias)``

    Parameters
    ----------
    x : tensor (batch, seq, channels)
        Tokens.
    weight : tensor (channels, width)
        Weights of each channel; the last one is for the token itself.
    bias : tensor (channels,) or None
        Added to the sum; None adds nothing.
    state : tensor (batch, width - 1, channels) or None
        The tokens before the first one; None is zeros.
    keep : boolean tensor (batch, seq) or None
        False for a padded token: the others don't see it, and it gets zeros.
    activation : {"silu"} or None
        What is applied to the sum; None leaves it.
    return_state : bool
        Whether to return the last ``width - 1`` tokens as well.

    Returns
    -------
    tensor (batch, seq, channels), or a tuple (out, state)
        In the type of ``x``; the state (batch, width - 1, channels) too.

    Raises
    ------
    ShapeError
        If axes disagree, or the width is 0.
    DTypeError
        If a tensor is not floating point, or ``keep`` is not boolean.
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
    >>> import torch
    >>> x = torch.tensor([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    >>> out, state = short_convolution(x, torch.tensor([[10.0, 1.0]]), return_state=True)
    >>> out.flatten(), state.flatten()
    (tensor([ 1., 12., 23.]), tensor([3.]))
    """
    check_flag("return_state", return_state)
    if activation is not None:
        check_choice("activation", activation, ("silu",))
    _check(x, weight, bias, state, keep)
    batch, seq, channels = x.shape
    width = weight.shape[1]
    if state is None:
        state = x.new_zeros(batch, width - 1, channels)
    order, lengths = torch.arange(seq, device=x.device)[None], None
    if keep is not None:  # the padded tokens go to the end, and nobody sees them
        order, lengths = (~keep).int().argsort(dim=1, stable=True), keep.sum(dim=1)
    order = order.expand(batch, seq)[..., None].expand(batch, seq, channels)
    tokens = torch.cat([state.to(x.dtype), x.gather(1, order)], dim=1)
    moved = _convolve(tokens, weight, bias, activation)
    out = torch.zeros_like(moved).scatter(1, order, moved)
    if keep is not None:
        out = torch.where(keep[..., None], out, 0)
    out = out.to(x.dtype)
    if not return_state:
        return out
    last = torch.arange(width - 1, device=x.device)[None]
    last = last + (seq if lengths is None else lengths[:, None])
    return out, tokens.gather(1, last.expand(batch, -1)[..., None].expand(-1, -1, channels))


def _convolve(
    tokens: Tensor, weight: Tensor, bias: Tensor | None, activation: str | None
) -> Tensor:
    """Sums over each window of tokens (batch, seq + width - 1, channels), without checks."""
    tokens, weight = wide(tokens), wide(weight)
    width = weight.shape[1]
    seq = tokens.shape[1] - width + 1
    out = torch.zeros_like(tokens[:, :seq])
    for i in range(width):
        out = out + weight[:, i] * tokens[:, i : i + seq]
    if bias is not None:
        out = out + wide(bias)
    return out if activation is None else silu(out)


def _check(
    x: Tensor, weight: Tensor, bias: Tensor | None, state: Tensor | None, keep: Tensor | None
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
        if keep.dtype != torch.bool:
            raise DTypeError(f"keep must be boolean (False = padded), got {keep.dtype}")
