"""Where a token stands: sinusoids that are added to it, and a bias that is added to scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_count, check_positive, named_shapes
from mini_attn.torch._module import check_whole

__all__ = ["alibi_bias", "alibi_slopes", "sinusoidal_positions"]


def sinusoidal_positions(
    positions: Tensor, d_model: int, *, theta: float = 10000.0, dtype: str = "float32"
) -> Tensor:
    """Sines and cosines of each position, a pair for every wavelength.

    ``out[s, 2 i], out[s, 2 i + 1] = sin(a), cos(a);  a = positions[s] / theta ** (2 i / d_model)``

    Parameters
    ----------
    positions : integer array (seq,) or (batch, seq)
        Positions of the tokens.
    d_model : int
        Numbers per token; even.
    theta : float
        Base of the wavelengths, which run from ``2 pi`` towards ``2 pi theta``.
    dtype : {"float32", "float64"}
        Name of the result's type.

    Returns
    -------
    array (seq, d_model) or (batch, seq, d_model)
        To be added to the token embeddings.

    Raises
    ------
    ShapeError
        If the positions have another number of axes.
    DTypeError
        If the positions are no integers, or the type is another.
    ConfigError
        If ``d_model`` is odd or below 2, or ``theta`` not above 0.

    Notes
    -----
    A shift of all positions turns each pair by a fixed angle, so that the encoding of
    ``s + k`` is a linear map of that of ``s``. Angles are computed in float64.

    References
    ----------
    vaswani2017attention, section 3.5

    Examples
    --------
    >>> import torch
    >>> sinusoidal_positions(torch.tensor([0]), 4)
    tensor([[0., 1., 0., 1.]])
    """
    if check_count("d_model", d_model, least=2) % 2:
        raise ConfigError(
            f"d_model must be even, as sines and cosines come in pairs, got {d_model}"
        )
    check_positive("theta", theta)
    _check_positions("positions", positions)
    if dtype not in ("float32", "float64"):
        raise DTypeError(f"positions come in float32 or float64, got {dtype!r}")
    exact = "cpu" if positions.device.type == "mps" else positions.device  # it has no float64
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64, device=exact)
    angles = positions.to(exact)[..., None] * theta ** (-pairs / d_model)
    out = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return out.to(torch.float64 if dtype == "float64" else torch.float32).to(positions.device)


def _check_positions(name: str, positions: Tensor) -> None:
    check_whole(name, positions)
    if positions.ndim not in (1, 2):
        raise ShapeError(f"{name} must be (seq,) or (batch, seq), got {tuple(positions.shape)}")


def alibi_slopes(n_heads: int) -> Tensor:
    """How fast each head's scores fall with the distance.

    ``slopes[h] = 2 ** (-8 (h + 1) / n_heads)``

    Parameters
    ----------
    n_heads : int
        Number of heads.

    Returns
    -------
    array (n_heads,)
        Slopes in float64.

    Raises
    ------
    ConfigError
        If there is no head.

    Notes
    -----
    For a number of heads that is no power of two: the slopes of the next lower power, then
    every other slope of the next higher one. They are not sorted: published weights expect
    this order.

    References
    ----------
    press2022alibi, section 3

    Examples
    --------
    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039], dtype=torch.float64)
    """
    check_count("n_heads", n_heads)
    lower = 2 ** int(math.log2(n_heads))
    exponents = [(h + 1) / lower for h in range(lower)]
    exponents += [(2 * h + 1) / (2 * lower) for h in range(n_heads - lower)]
    return torch.exp2(-8.0 * torch.tensor(exponents, dtype=torch.float64))


def alibi_bias(slopes: Tensor, q_positions: Tensor, kv_positions: Tensor) -> Tensor:
    """The bias of every query and key, by how far the key lies behind.

    ``bias[h, q, k] = -slopes[h] * max(q_positions[q] - kv_positions[k], 0)``

    Parameters
    ----------
    slopes : array (n_heads,)
        One per head.
    q_positions : integer array (q_len,) or (batch, q_len)
        Positions of the queries.
    kv_positions : integer array (kv_len,) or (batch, kv_len)
        Positions of the keys; -1 is an empty slot, which the mask hides.

    Returns
    -------
    array (n_heads, q_len, kv_len), or (batch, n_heads, q_len, kv_len) if a position has a batch
        To be added to the scores, in the slopes' type.

    Raises
    ------
    ShapeError
        If an axis is wrong or batches differ.
    DTypeError
        If positions are no integers.

    Notes
    -----
    Made from positions and not from lengths, it holds for a lone query behind a cache. A key
    ahead of the query gets no bias; causal attention does not see it.

    References
    ----------
    press2022alibi, section 3

    Examples
    --------
    >>> import torch
    >>> alibi_bias(torch.tensor([0.5]), torch.tensor([2]), torch.arange(3))
    tensor([[[-1.0000, -0.5000, -0.0000]]])
    """
    named_shapes(slopes=(slopes, "n_heads"))
    for name, positions in (("q_positions", q_positions), ("kv_positions", kv_positions)):
        _check_positions(name, positions)
    if q_positions.ndim == kv_positions.ndim == 2 and len(q_positions) != len(kv_positions):
        raise ShapeError(
            f"q_positions has batch = {len(q_positions)}, kv_positions batch = {len(kv_positions)}"
        )
    behind = (q_positions[..., :, None] - kv_positions[..., None, :]).clamp(min=0)
    return -slopes[:, None, None] * behind[..., None, :, :]
