"""Where a token stands: what is added to the token, and what is added to its scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import Module, check_floating, check_positions, check_whole, dtype_of
from mini_attn.numpy.layers.basic import Embedding
from mini_attn.shapes import DType, check_count, check_dtype, check_flag, check_number, named_shapes

__all__ = [
    "LearnedPositions",
    "RelativePositions",
    "alibi_bias",
    "alibi_slopes",
    "relative_position_bucket",
    "sinusoidal_positions",
]

Array = NDArray[Any]


def sinusoidal_positions(
    positions: Array, d_model: int, *, theta: float = 10000.0, dtype: DType = "float32"
) -> Array:
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
    dtype : {"float32", "float64"} or data type
        Type of the result, or its name.

    Returns
    -------
    array (seq, d_model) or (batch, seq, d_model)
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
    >>> import numpy as np
    >>> sinusoidal_positions(np.array([0]), 4)
    array([[0., 1., 0., 1.]], dtype=float32)
    """
    if check_count("d_model", d_model, least=2) % 2:
        raise ConfigError(
            f"d_model must be even, as sines and cosines come in pairs, got {d_model}"
        )
    check_number("theta", theta, above=0)
    check_positions("positions", positions)
    kind = check_dtype("dtype", dtype, ("float32", "float64"))
    return sines_and_cosines(positions, d_model, theta, kind)


def sines_and_cosines(positions: Array, d_model: int, theta: float, dtype: DType) -> Array:
    """`sinusoidal_positions` without checks."""
    angles = positions[..., None] * theta ** (-np.arange(0, d_model, 2) / d_model)
    out = np.empty((*positions.shape, d_model), dtype)
    out[..., 0::2], out[..., 1::2] = np.sin(angles), np.cos(angles)
    return out


def alibi_slopes(n_heads: int) -> Array:
    """Return how fast each head's scores fall with the distance.

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
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    """
    check_count("n_heads", n_heads)
    lower = 2 ** int(math.log2(n_heads))
    exponents = [(h + 1) / lower for h in range(lower)]
    exponents += [(2 * h + 1) / (2 * lower) for h in range(n_heads - lower)]
    return np.asarray(2.0 ** (-8.0 * np.array(exponents)))


def alibi_bias(slopes: Array, q_positions: Array, kv_positions: Array) -> Array:
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
    >>> import numpy as np
    >>> alibi_bias(np.array([0.5]), np.array([2]), np.arange(3))
    array([[[-1. , -0.5, -0. ]]])
    """
    named_shapes(np.ndarray, slopes=(slopes, "n_heads"))
    check_floating("slopes", slopes)
    for name, positions in (("q_positions", q_positions), ("kv_positions", kv_positions)):
        check_positions(name, positions)
    if q_positions.ndim == kv_positions.ndim == 2 and len(q_positions) != len(kv_positions):
        raise ShapeError(
            f"q_positions has batch = {len(q_positions)}, kv_positions batch = {len(kv_positions)}"
        )
    return fall_with_distance(slopes, q_positions, kv_positions)


def fall_with_distance(slopes: Array, q_positions: Array, kv_positions: Array) -> Array:
    """`alibi_bias` without checks; each key/value head may hold keys of its own."""
    if kv_positions.ndim == 3:
        keys = np.repeat(kv_positions, len(slopes) // kv_positions.shape[1], axis=1)
        behind = np.atleast_2d(q_positions)[:, None, :, None] - keys[:, :, None]
        return np.asarray(-slopes[:, None, None] * np.maximum(behind, 0))
    behind = np.maximum(q_positions[..., :, None] - kv_positions[..., None, :], 0)
    return -slopes[:, None, None] * behind[..., None, :, :]


def relative_position_bucket(
    relative_position: Array,
    *,
    bidirectional: bool,
    num_buckets: int = 32,
    max_distance: int = 128,
) -> Array:
    """T5's bucket of a distance: near ones apart, far ones together.

    ``bucket = d if d < exact else exact + exact * log(d / exact) / log(max_distance / exact)``

    Parameters
    ----------
    relative_position : integer array, any shape
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
    integer array, shape of ``relative_position``
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
    >>> import numpy as np
    >>> relative_position_bucket(np.array([0, -1, -15, -16, -127, -500]), bidirectional=False)
    array([ 0,  1, 15, 16, 31, 31])
    """
    check_whole("relative_position", relative_position)
    check_flag("bidirectional", bidirectional)
    if check_count("num_buckets", num_buckets, least=4) % 2:
        raise ConfigError(f"num_buckets must be even, got {num_buckets}")
    ways = num_buckets // 2 if bidirectional else num_buckets
    exact = ways // 2
    if check_count("max_distance", max_distance) <= exact:
        raise ConfigError(f"max_distance must exceed {exact}, the distances that count exactly")
    distance = np.abs(relative_position) if bidirectional else np.maximum(-relative_position, 0)
    far = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
    steps = far / np.float32(math.log(max_distance / exact)) * np.float32(ways - exact)
    far_bucket = np.minimum(exact + steps.astype(np.int64), ways - 1)
    bucket = np.where(distance < exact, distance, far_bucket)
    return np.asarray(bucket + ways * (relative_position > 0) if bidirectional else bucket)


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
    >>> import numpy as np
    >>> LearnedPositions(8, 4)(np.arange(3)).shape
    (3, 4)
    """

    def __call__(self, index: Array) -> Array:
        """Vectors (..., d_model) of positions (...); padding, -1, takes that of position 0."""
        check_whole("index", index)
        return super().__call__(np.maximum(index, 0))

    def _run(self, index: Array) -> Array:
        return super()._run(np.maximum(index, 0))


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
    >>> import numpy as np
    >>> relative, q = RelativePositions(4, max_distance=2), np.ones((1, 2, 3, 4), np.float32)
    >>> relative.score_bias(q, np.arange(3), np.arange(3)).shape
    (1, 2, 3, 3)
    """

    def __init__(
        self,
        head_dim: int,
        max_distance: int,
        *,
        v_head_dim: int | None = None,
        seed: int = 0,
        dtype: DType = "float32",
    ) -> None:
        check_count("seed", seed, least=0)
        rows, rng = 2 * check_count("max_distance", max_distance) + 1, np.random.default_rng(seed)
        check_count("head_dim", head_dim)
        v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        drawn = (0.02 * rng.standard_normal((rows, width)) for width in (head_dim, v_head_dim))
        self.keys, self.values = (table.astype(dtype_of(dtype)) for table in drawn)

    def _sizes(self) -> dict[str, Any]:
        rows, head_dim = self.keys.shape
        v_head_dim = self.values.shape[1]
        return {"head_dim": head_dim, "max_distance": rows // 2, "v_head_dim": v_head_dim}

    def score_bias(
        self, q: Array, q_positions: Array, kv_positions: Array, *, scale: float | None = None
    ) -> Array:
        """Return what the distances add to the scores.

        ``bias[i, j] = scale * q[i] @ keys[clip(kv_positions[j] - q_positions[i])]``

        Parameters
        ----------
        q : array (batch, n_heads, q_len, head_dim)
            Queries, in the type of ``keys``.
        q_positions, kv_positions : integer array (seq,) or (batch, seq)
            Positions; keys at -1 get the bias of their distance, which the mask hides.
        scale : float or None
            Factor of the scores; None means ``head_dim ** -0.5``.

        Returns
        -------
        array (batch, n_heads, q_len, kv_len)
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
            np.ndarray, q=(q, "batch n_heads q_len head_dim"), keys=(self.keys, "n head_dim")
        )
        if q.dtype != self.keys.dtype:
            raise DTypeError(f"q is {q.dtype}, the vectors are {self.keys.dtype}")
        index = self._distances(q_positions, kv_positions, sizes)
        factor = score_factor(scale, None, sizes["head_dim"])
        each = (q * factor) @ self.keys.T  # (batch, n_heads, q_len, distances)
        return np.take_along_axis(
            each, np.broadcast_to(index, (*each.shape[:1], 1, *index.shape[2:])), axis=3
        )

    def value_sum(self, weights: Array, q_positions: Array, kv_positions: Array) -> Array:
        """Return what the distances add to the output.

        ``out[i] = sum over j of weights[i, j] * values[clip(kv_positions[j] - q_positions[i])]``

        Parameters
        ----------
        weights : array (batch, n_heads, q_len, kv_len)
            Attention weights.
        q_positions, kv_positions : integer array (seq,) or (batch, seq)
            Positions.

        Returns
        -------
        array (batch, n_heads, q_len, v_head_dim)
            To be added to the heads' outputs, in the type of ``values``.

        Raises
        ------
        ShapeError
            If axes or batches disagree.
        DTypeError
            If positions are not int32 or int64, or the weights no floating point numbers.
        """
        sizes = named_shapes(np.ndarray, weights=(weights, "batch n_heads q_len kv_len"))
        if weights.dtype.kind != "f":
            raise DTypeError(f"weights must be floating point, got {weights.dtype}")
        index = self._distances(q_positions, kv_positions, sizes)
        if index.shape[-1] != sizes["kv_len"]:
            raise ShapeError(f"weights have kv_len = {sizes['kv_len']}, got {index.shape[-1]} keys")
        sums = np.zeros((*weights.shape[:3], len(self.values)), self.values.dtype)
        wide = weights.astype(np.promote_types(weights.dtype, np.float32), copy=False)
        for row in range(len(self.values)):  # thousands of far keys share a row: no sum in half
            sums[..., row] = np.where(index == row, wide, 0).sum(axis=3)
        return np.asarray(sums @ self.values)

    def _distances(self, q_positions: Array, kv_positions: Array, sizes: dict[str, int]) -> Array:
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
        index = np.clip(behind, -most, most) + most
        return index[:, None] if index.ndim == 3 else index[None, None]
