"""What stands around attention: projections, normalisation and the MLP."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy._module import Module
from mini_attn.numpy.dtypes import dtype_of
from mini_attn.shapes import check_count

__all__ = ["MLP", "GatedMLP", "Linear", "Norm", "activate", "layer_norm", "rms_norm"]

Array = NDArray[Any]


def _check_last(x: Array, weight: Array) -> None:
    if x.shape[-1] != weight.shape[-1]:
        raise ShapeError(f"x ends in {x.shape[-1]} features, the weight has {weight.shape[-1]}")


def rms_norm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    """Divide each row by its root mean square.

    ``y = weight * x / sqrt(mean(x ** 2) + eps)``

    Parameters
    ----------
    x : array (..., d)
        Rows to normalise.
    weight : array (d,)
        Gain of each feature.
    eps : float
        Added to the mean square.

    Returns
    -------
    array (..., d)
        In the dtype of ``x``.

    Raises
    ------
    ShapeError
        If ``x`` and ``weight`` disagree on ``d``.

    Notes
    -----
    The mean is taken in float32 or wider.

    References
    ----------
    zhang2019rmsnorm, equation 4

    Examples
    --------
    >>> import numpy as np
    >>> rms_norm(np.array([3.0, 4.0]), np.ones(2), eps=0.0).round(3)
    array([0.849, 1.131])
    """
    _check_last(x, weight)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    mean_square = (wide * wide).mean(axis=-1, keepdims=True)
    return (wide / np.sqrt(mean_square + eps) * weight).astype(x.dtype, copy=False)


def layer_norm(x: Array, weight: Array, bias: Array | None = None, *, eps: float = 1e-5) -> Array:
    """Give each row mean 0 and variance 1, then scale and shift.

    ``y = weight * (x - mean(x)) / sqrt(var(x) + eps) + bias``

    Parameters
    ----------
    x : array (..., d)
        Rows to normalise.
    weight : array (d,)
        Gain of each feature.
    bias : array (d,) or None
        Shift of each feature; None shifts nothing.
    eps : float
        Added to the variance.

    Returns
    -------
    array (..., d)
        In the dtype of ``x``.

    Raises
    ------
    ShapeError
        If ``x`` and ``weight`` disagree on ``d``.

    Notes
    -----
    The variance divides by ``d``. Statistics are float32 or wider.

    References
    ----------
    ba2016layernorm, equation 4

    Examples
    --------
    >>> import numpy as np
    >>> layer_norm(np.array([1.0, 3.0]), np.ones(2), eps=0.0)
    array([-1.,  1.])
    """
    _check_last(x, weight)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    y = centred / np.sqrt(variance + eps) * weight
    return (y if bias is None else y + bias).astype(x.dtype, copy=False)


def _erf(x: Array) -> Array:
    """The error function; NumPy has none, Python's own is exact to the last bits."""
    from math import erf

    return np.asarray(np.vectorize(erf, otypes=[float])(x), dtype=x.dtype)


def activate(x: Array, name: str) -> Array:
    """The MLP's non-linearity.

    ``gelu(x) = x * Phi(x);  silu(x) = x / (1 + exp(-x));  relu(x) = max(x, 0)``

    Parameters
    ----------
    x : array (...)
        Any shape.
    name : {"gelu_tanh", "gelu", "silu", "relu"}
        ``"gelu_tanh"`` is the approximation that GPT-2 uses.

    Returns
    -------
    array (...)
        Same shape and dtype.

    Raises
    ------
    ConfigError
        If the name is unknown.

    Notes
    -----
    The exact ``"gelu"`` is slow in NumPy, which has no error function.

    References
    ----------
    hendrycks2016gelu, section 2

    Examples
    --------
    >>> import numpy as np
    >>> activate(np.array([-1.0, 2.0]), "relu")
    array([0., 2.])
    """
    if name == "gelu_tanh":
        return x * 0.5 * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    if name == "gelu":
        return x * 0.5 * (1 + _erf(x * 0.7071067811865476))
    if name == "silu":
        return x * 0.5 * (1 + np.tanh(0.5 * x))  # x * sigmoid(x), without an overflow
    if name == "relu":
        return np.maximum(x, 0)
    raise ConfigError(f"activation must be gelu_tanh, gelu, silu or relu, got {name!r}")


class Linear(Module):
    """A matrix product with an optional bias.

    ``y = x @ weight.T + bias``

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the rows that go in and come out.
    bias : bool
        Whether there is a bias.
    seed : int
        Seeds the weights, drawn uniformly within ``in_features ** -0.5``.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``2 * rows * in_features * out_features`` FLOPs. The weight has shape
    (out_features, in_features).

    References
    ----------
    none

    Examples
    --------
    >>> import numpy as np
    >>> Linear(3, 2, dtype="float64")(np.zeros((5, 3))).shape
    (5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        seed: int = 0,
        dtype: str = "float32",
    ) -> None:
        check_count("in_features", in_features)
        check_count("out_features", out_features)
        rng, bound = np.random.default_rng(seed), in_features**-0.5
        drawn = rng.uniform(-bound, bound, (out_features, in_features))
        self.weight = drawn.astype(dtype_of(dtype))
        self.bias = np.zeros(out_features, dtype=dtype_of(dtype)) if bias else None

    def __call__(self, x: Array) -> Array:
        """Rows (..., in_features) to rows (..., out_features)."""
        _check_last(x, self.weight)
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Norm(Module):
    """A normalisation with its weights.

    ``y = layer_norm(x) or rms_norm(x)``

    Parameters
    ----------
    d_model : int
        Features of a row.
    kind : {"layer_norm", "rms_norm"}
        Which normalisation; the layer norm has a bias.
    eps : float
        Added to the variance.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If a size is below 1 or the kind is unknown.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Starts as the plain normalisation: weight 1, bias 0.

    References
    ----------
    ba2016layernorm, equation 4
    zhang2019rmsnorm, equation 4

    Examples
    --------
    >>> import numpy as np
    >>> Norm(2, "rms_norm", dtype="float64")(np.array([[3.0, 3.0]])).round(3)
    array([[1., 1.]])
    """

    def __init__(
        self, d_model: int, kind: str, *, eps: float = 1e-5, dtype: str = "float32"
    ) -> None:
        check_count("d_model", d_model)
        if kind not in ("layer_norm", "rms_norm"):
            raise ConfigError(f"kind must be layer_norm or rms_norm, got {kind!r}")
        self.kind, self.eps = kind, eps
        self.weight = np.ones(d_model, dtype=dtype_of(dtype))
        self.bias = np.zeros_like(self.weight) if kind == "layer_norm" else None

    def __call__(self, x: Array) -> Array:
        """Normalise rows (..., d_model)."""
        if self.kind == "rms_norm":
            return rms_norm(x, self.weight, eps=self.eps)
        return layer_norm(x, self.weight, self.bias, eps=self.eps)


class MLP(Module):
    """The plain feed-forward layer.

    ``y = activate(x @ up.T) @ down.T``

    Parameters
    ----------
    d_model, d_ff : int
        Width outside and inside.
    activation : str
        As in `activate`.
    bias : bool
        Whether both products have a bias.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``4 * rows * d_model * d_ff`` FLOPs.

    References
    ----------
    vaswani2017attention, equation 2

    Examples
    --------
    >>> import numpy as np
    >>> MLP(4, 8, activation="relu", dtype="float64")(np.zeros((3, 4))).shape
    (3, 4)
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "gelu_tanh",
        bias: bool = True,
        seed: int = 0,
        dtype: str = "float32",
    ) -> None:
        self.activation = activation
        self.up_proj = Linear(d_model, d_ff, bias=bias, seed=seed, dtype=dtype)
        self.down_proj = Linear(d_ff, d_model, bias=bias, seed=seed + 1, dtype=dtype)

    def __call__(self, x: Array) -> Array:
        """Rows (..., d_model) to rows (..., d_model)."""
        return self.down_proj(activate(self.up_proj(x), self.activation))


class GatedMLP(Module):
    """The feed-forward layer with a gate.

    ``y = (activate(x @ gate.T) * (x @ up.T)) @ down.T``

    Parameters
    ----------
    d_model, d_ff : int
        Width outside and inside.
    activation : str
        As in `activate`, of the gate.
    bias : bool
        Whether the products have a bias.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``6 * rows * d_model * d_ff`` FLOPs.

    References
    ----------
    shazeer2020glu, equation 6

    Examples
    --------
    >>> import numpy as np
    >>> GatedMLP(4, 8, dtype="float64")(np.zeros((3, 4))).shape
    (3, 4)
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "silu",
        bias: bool = False,
        seed: int = 0,
        dtype: str = "float32",
    ) -> None:
        self.activation = activation
        self.gate_proj = Linear(d_model, d_ff, bias=bias, seed=seed, dtype=dtype)
        self.up_proj = Linear(d_model, d_ff, bias=bias, seed=seed + 1, dtype=dtype)
        self.down_proj = Linear(d_ff, d_model, bias=bias, seed=seed + 2, dtype=dtype)

    def __call__(self, x: Array) -> Array:
        """Rows (..., d_model) to rows (..., d_model)."""
        return self.down_proj(activate(self.gate_proj(x), self.activation) * self.up_proj(x))
