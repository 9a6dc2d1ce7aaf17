"""Where a token stands: what is added to the token, and what is added to its scores."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import DType, check_count, check_dtype, check_flag, check_number, named_shapes
from mini_attn.torch._module import (
    Module,
    check_floating,
    check_positions,
    check_whole,
    exact_device,
    parameter,
    wide,
)
from mini_attn.torch.layers.basic import Embedding

__all__ = [
    "LearnedPositions",
    "RelativePositions",
    "alibi_bias",
    "alibi_slopes",
    "relative_position_bucket",
    "sinusoidal_positions",
]


def sinusoidal_positions(
    positions: Tensor, d_model: int, *, theta: float = 10000.0, dtype: DType = "float32"
) -> Tensor:
    """Sines and cosines of each position, a pair for every wavelength.

    ``out[s, 2 i], out[s, 2 i + 1] = sin(a), cos(a);  a = positions[s] / theta ** (2 i / d_model)``

    Parameters
    ----------
    positions : integer tensor (seq,) or (batch, seq)
        Positions of the tokens.
    d_model : int
        Numbers per token; even.
    theta : float
        Base of the wavelengths, which run from ``2 pi`` towards ``2 pi theta``.
    dtype : {"float32", "float64"} or data type
        Type of the result, or its name.

    Returns
    -------
    tensor (seq, d_model) or (batch, seq, d_model)
        To be added to the token embeddings.

    Raises
    ------
    ShapeError
        If the positions have another number of axes.
    DTypeError
        If the positions are not int32 or int64, or the type is another.
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
    check_number("theta", theta, above=0)
    check_positions("positions", positions)
    kind = check_dtype("dtype", dtype, ("float32", "float64"))
    return sines_and_cosines(positions, d_model, theta, getattr(torch, kind))


def sinusoids(positions: Tensor, d_model: int, kind: torch.dtype) -> Tensor:
    """Sinusoidal encodings in a model's type, rounded to it once."""
    wide = torch.promote_types(kind, torch.float32)
    return sines_and_cosines(positions, d_model, 10000.0, wide).to(kind)


def sines_and_cosines(positions: Tensor, d_model: int, theta: float, dtype: torch.dtype) -> Tensor:
    """`sinusoidal_positions` without checks."""
    exact = exact_device(positions.device)
    pairs = torch.arange(0, d_model, 2, dtype=torch.float64, device=exact)
    angles = positions.to(exact)[..., None] * theta ** (-pairs / d_model)
    out = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return out.to(dtype).to(positions.device)


def alibi_slopes(n_heads: int) -> Tensor:
    """Return how fast each head's scores fall with the distance.

    ``slopes[h] = 2 ** (-8 (h + 1) / n_heads)``

    Parameters
    ----------
    n_heads : int
        Number of heads.

    Returns
    -------
    tensor (n_heads,)
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
    slopes : tensor (n_heads,)
        One per head.
    q_positions : integer tensor (q_len,) or (batch, q_len)
        Positions of the queries.
    kv_positions : integer tensor (kv_len,) or (batch, kv_len)
        Positions of the keys; -1 is an empty slot, which the mask hides.

    Returns
    -------
    tensor (n_heads, q_len, kv_len), or (batch, n_heads, q_len, kv_len) if a position has a batch
        To be added to the scores, in the slopes' type.

    Raises
    ------
    ShapeError
        If an axis is wrong or batches differ.
    DTypeError
        If positions are not int32 or int64, or the slopes not floating point.

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
    named_shapes(Tensor, slopes=(slopes, "n_heads"))
    check_floating("slopes", slopes)
    for name, positions in (("q_positions", q_positions), ("kv_positions", kv_positions)):
        check_positions(name, positions)
    if q_positions.ndim == kv_positions.ndim == 2 and len(q_positions) != len(kv_positions):
        raise ShapeError(
            f"q_positions has batch = {len(q_positions)}, kv_positions batch = {len(kv_positions)}"
        )
    return fall_with_distance(slopes, q_positions, kv_positions)


def fall_with_distance(slopes: Tensor, q_positions: Tensor, kv_positions: Tensor) -> Tensor:
    """`alibi_bias` without checks; each key/value head may hold keys of its own."""
    if kv_positions.ndim == 3:
        group = len(slopes) // kv_positions.shape[1]
        keys = kv_positions.repeat_interleave(group, dim=1)[:, :, None]
        behind = q_positions.reshape(-1, 1, q_positions.shape[-1], 1) - keys
        return -slopes[:, None, None] * behind.clamp(min=0)
    behind = (q_positions[..., :, None] - kv_positions[..., None, :]).clamp(min=0)
    return -slopes[:, None, None] * behind[..., None, :, :]


def relative_position_bucket(
    relative_position: Tensor,
    *,
    bidirectional: bool,
    num_buckets: int = 32,
    max_distance: int = 128,
) -> Tensor:
    """T5's bucket of a distance: near ones apart, far ones together.

    ``bucket = d if d < exact else exact + exact * log(d / exact) / log(max_distance / exact)``

    Parameters
    ----------
    relative_position : integer tensor, any shape
        ``kv_position - q_position``; a causal query sees those at 0 and below.
    bidirectional : bool
        Whether keys ahead of the query have buckets of their own, half of all; otherwise they
        share the bucket of distance 0.
    num_buckets : int
        Buckets in all; even.
    max_distance : int
        Distance from which on all share the last bucket.

    Returns
    -------
    integer tensor, shape of ``relative_position``
        Buckets, 0 to ``num_buckets - 1``: rows of a table of biases, one column a head.

    Raises
    ------
    DTypeError
        If the distances are not int32 or int64.
    ConfigError
        If there are too few buckets or distances for both halves of the rule.

    Notes
    -----
    ``exact``, half of the buckets of a direction, is how many distances have one to
    themselves. The logarithm is taken in float32, as the published weights were trained
    with: in float64 some distances at an edge would fall into the next bucket.

    References
    ----------
    raffel2020t5, section 2.1

    Examples
    --------
    >>> import torch
    >>> relative_position_bucket(torch.tensor([0, -1, -15, -16, -127, -500]), bidirectional=False)
    tensor([ 0,  1, 15, 16, 31, 31])
    """
    check_whole("relative_position", relative_position)
    check_flag("bidirectional", bidirectional)
    if check_count("num_buckets", num_buckets, least=4) % 2:
        raise ConfigError(f"num_buckets must be even, got {num_buckets}")
    ways = num_buckets // 2 if bidirectional else num_buckets
    exact = ways // 2
    if check_count("max_distance", max_distance) <= exact:
        raise ConfigError(f"max_distance must exceed {exact}, the distances that count exactly")
    distance = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    far = torch.log(distance.clamp(min=1).float() / exact)
    steps = far / math.log(max_distance / exact) * (ways - exact)
    far_bucket = (exact + steps.long()).clamp(max=ways - 1)
    bucket = torch.where(distance < exact, distance, far_bucket)
    return bucket + ways * (relative_position > 0) if bidirectional else bucket


class LearnedPositions(Embedding):
    """A trained vector for each position.

    ``out[s] = weight[positions[s]]``

    Parameters
    ----------
    rows, d_model : int
        Number of positions that have a vector, and its size.
    seed : int
        Seeds the weights, drawn with standard deviation 0.02: two tables of the same sizes and
        seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1 or the seed is negative.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Beyond the last row there is nothing: such a model cannot read a longer text.

    References
    ----------
    radford2019gpt2, section 2.3

    Examples
    --------
    >>> import torch
    >>> LearnedPositions(8, 4)(torch.arange(3)).shape
    torch.Size([3, 4])
    """

    def forward(self, index: Tensor) -> Tensor:
        """Vectors (..., d_model) of positions (...); padding, -1, takes that of position 0."""
        check_whole("index", index)
        return super().forward(index.clamp(min=0))


class RelativePositions(Module):
    """Trained vectors for the distance between a query and a key, added to keys and values.

    ``scores[i, j] = scale * q[i] @ (k[j] + keys[clip(j - i)]);
    out[i] = sum over j of weights[i, j] * (v[j] + values[clip(j - i)])``

    Parameters
    ----------
    head_dim, max_distance : int
        Size of a vector; distances beyond the second share the last vector of their side.
    v_head_dim : int or None
        Size of a value's vector; None means ``head_dim``.
    seed : int
        Seeds the weights, drawn with standard deviation 0.02: two tables of the same sizes and
        seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If a size is below 1 or the seed is negative.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: ``keys`` and ``values`` (2 * max_distance + 1, size), shared by all heads. The
    sums over distances are made once per distance and not once per pair, so that no
    (q_len, kv_len, head_dim) array exists.

    References
    ----------
    shaw2018relative, section 3

    Examples
    --------
    >>> import torch
    >>> relative, q = RelativePositions(4, max_distance=2), torch.ones(1, 2, 3, 4)
    >>> relative.score_bias(q, torch.arange(3), torch.arange(3)).shape
    torch.Size([1, 2, 3, 3])
    """

    def __init__(
        self,
        head_dim: int,
        max_distance: int,
        *,
        v_head_dim: int | None = None,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        check_count("seed", seed, least=0)
        rows = 2 * check_count("max_distance", max_distance) + 1
        source = torch.Generator().manual_seed(seed)
        check_count("head_dim", head_dim)
        v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        keys, values = (
            0.02 * torch.randn(rows, width, generator=source) for width in (head_dim, v_head_dim)
        )
        self.keys, self.values = parameter(keys, dtype, device), parameter(values, dtype, device)

    def _sizes(self) -> dict[str, Any]:
        rows, head_dim = self.keys.shape
        v_head_dim = self.values.shape[1]
        return {"head_dim": head_dim, "max_distance": rows // 2, "v_head_dim": v_head_dim}

    def score_bias(
        self, q: Tensor, q_positions: Tensor, kv_positions: Tensor, *, scale: float | None = None
    ) -> Tensor:
        """Return what the distances add to the scores.

        ``bias[i, j] = scale * q[i] @ keys[clip(kv_positions[j] - q_positions[i])]``

        Parameters
        ----------
        q : tensor (batch, n_heads, q_len, head_dim)
            Queries, in the type of ``keys``.
        q_positions, kv_positions : integer tensor (seq,) or (batch, seq)
            Positions; keys at -1 get the bias of their distance, which the mask hides.
        scale : float or None
            Factor of the scores; None means ``head_dim ** -0.5``.

        Returns
        -------
        tensor (batch, n_heads, q_len, kv_len)
            The ``bias`` of `scaled_dot_product_attention`.

        Raises
        ------
        ShapeError
            If axes or batches disagree.
        DTypeError
            If positions are not int32 or int64, or the queries of another type than ``keys``.
        ConfigError
            If the scale is no finite number.
        """
        sizes = named_shapes(
            Tensor, q=(q, "batch n_heads q_len head_dim"), keys=(self.keys, "n head_dim")
        )
        if q.dtype != self.keys.dtype and not torch.is_autocast_enabled(q.device.type):
            raise DTypeError(f"q is {q.dtype}, the vectors are {self.keys.dtype}")
        index = self._distances(q_positions, kv_positions, sizes)
        factor = score_factor(scale, None, sizes["head_dim"])
        each = (q * factor) @ self.keys.T  # (batch, n_heads, q_len, distances)
        return each.gather(3, index.expand(*each.shape[:3], -1))

    def value_sum(self, weights: Tensor, q_positions: Tensor, kv_positions: Tensor) -> Tensor:
        """Return what the distances add to the output.

        ``out[i] = sum over j of weights[i, j] * values[clip(kv_positions[j] - q_positions[i])]``

        Parameters
        ----------
        weights : tensor (batch, n_heads, q_len, kv_len)
            Attention weights.
        q_positions, kv_positions : integer tensor (seq,) or (batch, seq)
            Positions.

        Returns
        -------
        tensor (batch, n_heads, q_len, v_head_dim)
            To be added to the heads' outputs, in the type of ``values``.

        Raises
        ------
        ShapeError
            If axes or batches disagree.
        DTypeError
            If positions are not int32 or int64, or the weights no floating point numbers.
        """
        sizes = named_shapes(Tensor, weights=(weights, "batch n_heads q_len kv_len"))
        if not weights.is_floating_point():
            raise DTypeError(f"weights must be floating point, got {weights.dtype}")
        index = self._distances(q_positions, kv_positions, sizes)
        if index.shape[-1] != sizes["kv_len"]:
            raise ShapeError(f"weights have kv_len = {sizes['kv_len']}, got {index.shape[-1]} keys")
        each = wide(weights)  # thousands of far keys share a row: no sum in half precision
        sums = each.new_zeros(*weights.shape[:3], len(self.values))
        sums = sums.scatter_add(3, index.expand(weights.shape), each)
        return sums.to(self.values.dtype) @ self.values

    def _distances(
        self, q_positions: Tensor, kv_positions: Tensor, sizes: dict[str, int]
    ) -> Tensor:
        """Row of the tables for each query and key, (1 or batch, 1, q_len, kv_len)."""
        for name, positions in (("q_positions", q_positions), ("kv_positions", kv_positions)):
            check_positions(name, positions)
            if positions.ndim == 2 and len(positions) not in (1, sizes["batch"]):
                raise ShapeError(f"{name} has batch = {len(positions)}, not {sizes['batch']}")
        if q_positions.shape[-1] != sizes["q_len"]:
            raise ShapeError(
                f"there are {sizes['q_len']} queries, got {q_positions.shape[-1]} positions"
            )
        most = len(self.keys) // 2
        behind = kv_positions[..., None, :] - q_positions[..., :, None]
        index = behind.clamp(-most, most) + most
        return index[:, None] if index.ndim == 3 else index[None, None]
