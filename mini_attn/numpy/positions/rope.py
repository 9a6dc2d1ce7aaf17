"""Rotary position embedding: pairs of numbers rotated by an angle that grows with position."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import RopeFrequencies, RopeScaling
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import check_array, check_floating, check_positions
from mini_attn.numpy.positions.rope_scaling import scale_frequencies
from mini_attn.shapes import (
    DType,
    check_choice,
    check_count,
    check_dtype,
    check_number,
    named_shapes,
)

__all__ = ["apply_rope", "convert_rope_layout", "rope_frequencies", "rope_table"]

Array = NDArray[Any]


_LAYOUTS = ("half", "interleaved")


def _check_even(rotary_dim: int) -> int:
    if check_count("rotary_dim", rotary_dim, least=2) % 2:
        raise ConfigError(f"rotary_dim must be even, as pairs rotate, got {rotary_dim}")
    return rotary_dim


def rope_frequencies(
    rotary_dim: int,
    *,
    theta: float = 10000.0,
    scaling: RopeScaling | None = None,
    seq_len: int | None = None,
) -> RopeFrequencies:
    """Return how fast each pair rotates.

    ``inv_freq[i] = theta ** (-2 i / rotary_dim)``

    Parameters
    ----------
    rotary_dim : int
        Numbers of a head that rotate, two by two.
    theta : float
        Base of the frequencies.
    scaling : RopeScaling or None
        Rule for contexts beyond the trained one; None leaves the frequencies.
    seq_len : int or None
        Tokens of the sequence, for the rules that ask; None means the trained context.

    Returns
    -------
    RopeFrequencies (inv_freq, rope_factor, logit_factor)
        Radians per position (rotary_dim / 2,) in float64; the factor of cosine and sine; the
        factor of the scores. It goes into `rope_table` as it is.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Notes
    -----
    Pair ``i`` is back where it began after ``2 pi / inv_freq[i]`` positions, its wavelength.

    References
    ----------
    su2021roformer, section 3.2.2

    Examples
    --------
    >>> inv_freq, rope_factor, logit_factor = rope_frequencies(4)
    >>> inv_freq
    array([1.  , 0.01])
    """
    pairs = np.arange(0, _check_even(rotary_dim), 2)
    check_number("theta", theta, above=0)
    if seq_len is not None:
        check_count("seq_len", seq_len)
    inv_freq = np.asarray(float(theta) ** (-pairs / rotary_dim))
    if scaling is None:
        return RopeFrequencies(inv_freq)
    return scale_frequencies(inv_freq, scaling, theta=theta, rotary_dim=rotary_dim, seq_len=seq_len)


def rope_table(
    positions: Array,
    inv_freq: Array | RopeFrequencies,
    *,
    rope_factor: float | None = None,
    dtype: DType = "float32",
) -> tuple[Array, Array]:
    """Cosine and sine of every position's angles.

    ``cos[s, i] = rope_factor * cos(positions[s] * inv_freq[i])``

    Parameters
    ----------
    positions : integer array (seq,) or (batch, seq)
        Positions of the tokens; those of padding may be -1.
    inv_freq : array (pairs,) or RopeFrequencies
        Radians per position, in float64, or what `rope_frequencies` gives.
    rope_factor : float or None
        Factor of both; None means that of the frequencies, or 1.
    dtype : {"float32", "float64"} or data type
        Type of the result, or its name.

    Returns
    -------
    tuple of arrays (cos, sin)
        (seq, pairs) or (batch, seq, pairs).

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If the positions are not int32 or int64, the frequencies not float64, or the type another.
    ConfigError
        If ``rope_factor`` is no finite number.

    Notes
    -----
    Angles are computed in float64: in float32 those at position 100,000 are off by 0.008.

    References
    ----------
    su2021roformer, section 3.4.2

    Examples
    --------
    >>> import numpy as np
    >>> cos, sin = rope_table(np.arange(3), rope_frequencies(4))
    >>> cos.shape
    (3, 2)
    """
    check_positions("positions", positions)
    given = inv_freq if isinstance(inv_freq, RopeFrequencies) else RopeFrequencies(inv_freq)
    speeds, usual, _ = given
    named_shapes(inv_freq=(speeds, "pairs"))
    check_array("inv_freq", speeds)
    if speeds.dtype != np.float64:
        raise DTypeError(f"inv_freq must be float64, got {speeds.dtype}: angles would be rounded")
    kind = check_dtype("dtype", dtype, ("float32", "float64"))
    factor = check_number("rope_factor", usual if rope_factor is None else rope_factor)
    return cos_and_sin(positions, speeds, factor, np.dtype(kind))


def cos_and_sin(
    positions: Array, inv_freq: Array, rope_factor: float, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """`rope_table` without checks."""
    angles = positions[..., None] * inv_freq  # (..., seq, pairs)
    cos, sin = rope_factor * np.cos(angles), rope_factor * np.sin(angles)
    return cos.astype(dtype, copy=False), sin.astype(dtype, copy=False)


def apply_rope(x: Array, cos: Array, sin: Array, *, layout: str) -> Array:
    """Rotate each pair of a head by its angle.

    ``(a, b) = (a cos - b sin, a sin + b cos)``

    Parameters
    ----------
    x : array (batch, heads, seq, head_dim)
        Queries or keys.
    cos, sin : array (seq, pairs) or (batch, seq, pairs)
        Of `rope_table`; the leading ``2 * pairs`` numbers of a head rotate, the rest stay.
    layout : {"half", "interleaved"}
        Pairs ``(i, i + pairs)`` (Hugging Face) or ``(2i, 2i + 1)`` (RoFormer, Meta).

    Returns
    -------
    array (batch, heads, seq, head_dim)
        In ``x``'s type.

    Raises
    ------
    ShapeError
        If axes disagree or the head has fewer numbers than rotate.
    DTypeError
        If a type is not floating point or the tables are in half precision.
    ConfigError
        If the layout is unknown.

    Notes
    -----
    The angle is ``+ position * inv_freq``; the scores of two rotated vectors depend on the
    difference of their positions only. Computed in the tables' type, so that half precision
    rounds once, at the end.

    References
    ----------
    su2021roformer, equation 34

    Examples
    --------
    >>> import numpy as np
    >>> cos, sin = rope_table(np.array([0]), rope_frequencies(4))
    >>> x = np.ones((1, 1, 1, 4), np.float32)
    >>> bool((apply_rope(x, cos, sin, layout="half") == x).all())  # position 0 rotates nothing
    True
    """
    _check_tables(x, cos, sin, layout)
    return rotate(cos, sin, layout, x)[0]


def rotate(cos: Array, sin: Array, layout: str, *arrays: Array) -> list[Array]:
    """`apply_rope` to each of some arrays, without checks."""
    pairs = cos.shape[-1]
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]  # (batch, 1, seq, pairs)
    first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    if layout == "half":
        first, second = slice(0, pairs), slice(pairs, 2 * pairs)
    rotated = []
    for x in arrays:
        a, b, out = x[..., first], x[..., second], np.empty_like(x)
        out[..., first], out[..., second] = a * cos - b * sin, a * sin + b * cos
        out[..., 2 * pairs :] = x[..., 2 * pairs :]
        rotated.append(out)
    return rotated


def _check_tables(x: Array, cos: Array, sin: Array, layout: str) -> None:
    """Refuse tables that do not fit."""
    check_choice("layout", layout, _LAYOUTS)
    for name, array in (("x", x), ("cos", cos), ("sin", sin)):
        check_floating(name, array)
    axes = "batch seq pairs" if getattr(cos, "ndim", 0) == 3 else "seq pairs"
    sizes = named_shapes(x=(x, "batch heads seq head_dim"), cos=(cos, axes), sin=(sin, axes))
    if 2 * sizes["pairs"] > sizes["head_dim"]:
        raise ShapeError(
            f"{sizes['pairs']} pairs are {2 * sizes['pairs']} numbers, "
            f"a head has {sizes['head_dim']}"
        )
    if cos.dtype not in (np.float32, np.float64) or cos.dtype != sin.dtype:
        raise DTypeError(f"tables must be float32 or float64, got {cos.dtype} and {sin.dtype}")


def convert_rope_layout(
    weight: Array, n_heads: int, *, source: str, target: str, rotary_dim: int | None = None
) -> Array:
    """Reorder a projection's rows, so that another layout rotates the same pairs.

    ``half[i], half[i + pairs] = interleaved[2 i], interleaved[2 i + 1]``

    Parameters
    ----------
    weight : array (n_heads * head_dim, d_model) or (n_heads * head_dim,)
        Weights or biases of the query or of the key projection, or the gains of a norm over a
        head of theirs (head_dim,).
    n_heads : int
        Heads of that projection: key/value heads for the keys, 1 for the gains.
    source, target : {"half", "interleaved"}
        Layout that the weights were trained with, and the one to give them.
    rotary_dim : int or None
        Leading numbers of a head that rotate; None means all.

    Returns
    -------
    array, shape of ``weight``
        A copy, or ``weight`` itself where the layouts are one.

    Raises
    ------
    ShapeError
        If the rows cannot be cut into heads, or a head has fewer numbers than rotate.
    ConfigError
        If a layout is unknown or ``rotary_dim`` odd.

    Notes
    -----
    Scores do not change when queries and keys are reordered alike. Without the conversion
    the first token is right, as position 0 rotates nothing, and all later ones are not. Weights,
    biases and gains go together: all of them act before the rotation.

    References
    ----------
    su2021roformer, section 3.4.2

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(4.0)
    >>> convert_rope_layout(rows, 1, source="interleaved", target="half")
    array([0., 2., 1., 3.])
    """
    check_floating("weight", weight)
    check_choice("source", source, _LAYOUTS)
    check_choice("target", target, _LAYOUTS)
    rows, rest = weight.shape[0] if weight.ndim else 0, tuple(weight.shape[1:])
    if weight.ndim not in (1, 2) or rows % check_count("n_heads", n_heads) or not rows:
        raise ShapeError(
            f"weight must be ({n_heads} * head_dim, ...), got shape {tuple(weight.shape)}"
        )
    head_dim = rows // n_heads
    turned = _check_even(head_dim if rotary_dim is None else rotary_dim)
    if turned > head_dim:
        raise ShapeError(f"rotary_dim = {turned} exceeds head_dim = {head_dim}")
    if source == target:
        return weight
    heads = weight.reshape(n_heads, head_dim, *rest)
    pairs = (2, turned // 2) if source == "half" else (turned // 2, 2)
    swapped = heads[:, :turned].reshape(n_heads, *pairs, *rest).swapaxes(1, 2)
    swapped = swapped.reshape(n_heads, turned, *rest)
    return np.concatenate([swapped, heads[:, turned:]], axis=1).reshape(weight.shape)
