"""What stands around attention: projections, normalization and the MLP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import (
    Module,
    check_array,
    check_tokens,
    check_whole,
    dtype_of,
)
from mini_attn.shapes import DType, check_choice, check_count, check_flag, check_number

__all__ = ["MLP", "Embedding", "GatedMLP", "Linear", "Norm", "activate", "layer_norm", "rms_norm"]

Array = NDArray[Any]
ACTIVATIONS = ("gelu_tanh", "gelu", "silu", "relu")


def _check_rows(x: Array, **vectors: Any) -> None:
    """Vectors must fit the last axis of x, all in one floating-point dtype."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        raise DTypeError(f"x must be a floating-point NumPy array, got {x!r:.60}")
    for name, vector in vectors.items():
        if vector is None and name == "bias":
            continue
        check_array(name, vector)
        if x.ndim < 1 or vector.shape != x.shape[-1:]:
            raise ShapeError(f"{name} must be (d,) to fit x of shape {x.shape}, got {vector.shape}")
        if vector.dtype != x.dtype:
            raise DTypeError(f"{name} is {vector.dtype}, x is {x.dtype}")


def rms_norm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    """Divide each row by its root mean square.

    ``y = weight * x / sqrt(mean(x ** 2) + eps)``

    Parameters
    ----------
    x : array (..., d)
        Rows to normalize.
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
        If a vector does not fit the last axis of ``x``.
    DTypeError
        If dtypes differ or are not floating point.
    ConfigError
        If ``eps`` is no finite number.

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
    _check_rows(x, weight=weight)
    check_number("eps", eps)
    return normalise_rms(x, weight, eps)


def normalise_rms(x: Array, weight: Array | float, eps: float) -> Array:
    """`rms_norm` without checks."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    mean_square = (wide * wide).mean(axis=-1, keepdims=True)
    return np.asarray((wide / np.sqrt(mean_square + eps) * weight).astype(x.dtype, copy=False))


def layer_norm(x: Array, weight: Array, bias: Array | None = None, *, eps: float = 1e-5) -> Array:
    """Give each row mean 0 and variance 1, then scale and shift.

    ``y = weight * (x - mean(x)) / sqrt(var(x) + eps) + bias``

    Parameters
    ----------
    x : array (..., d)
        Rows to normalize.
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
        If a vector does not fit the last axis of ``x``.
    DTypeError
        If dtypes differ or are not floating point.
    ConfigError
        If ``eps`` is no finite number.

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
    _check_rows(x, weight=weight, bias=bias)
    check_number("eps", eps)
    return _layer_norm(x, weight, bias, eps)


def _layer_norm(x: Array, weight: Array, bias: Array | None, eps: float) -> Array:
    """`layer_norm` without checks."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    y = centred / np.sqrt(variance + eps) * weight
    return np.asarray((y if bias is None else y + bias).astype(x.dtype, copy=False))


def _erf(x: Array) -> Array:
    """The error function; NumPy has none, so Python's own is called for each element."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=x.dtype)


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
    DTypeError
        If ``x`` is not floating point.

    Notes
    -----
    NumPy: the exact ``"gelu"`` is slow, as there is no error function.

    References
    ----------
    hendrycks2016gelu, section 2

    Examples
    --------
    >>> import numpy as np
    >>> activate(np.array([-1.0, 2.0]), "relu")
    array([0., 2.])
    """
    _check_rows(x)
    check_choice("name", name, ACTIVATIONS)
    return _activate(x, name)


def _activate(x: Array, name: str) -> Array:
    """`activate` without checks."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x  # 1 + tanh cancels in half
    if name == "gelu_tanh":
        # x * x * x, not x**3: a power of floats is many times slower.
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
        y = 0.5 * wide * (1 + np.tanh(inner))
    elif name == "gelu":
        y = 0.5 * wide * (1 + _erf(wide / math.sqrt(2)))
    elif name == "silu":
        y = 0.5 * wide * (1 + np.tanh(0.5 * wide))  # x * sigmoid(x), no overflow
    else:
        y = np.maximum(wide, 0)
    return np.asarray(y.astype(x.dtype, copy=False))


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
        Seeds the weights, drawn uniformly within ``in_features ** -0.5``: two layers of the same
        sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, the seed is negative or ``bias`` no bool.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``2 * batch * seq * in_features * out_features`` FLOPs. The weight has shape
    (out_features, in_features).

    References
    ----------
    vaswani2017attention, section 3.3

    Examples
    --------
    >>> import numpy as np
    >>> Linear(3, 2, dtype="float64")(np.zeros((1, 5, 3))).shape
    (1, 5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        seed: int = 0,
        dtype: DType = "float32",
    ) -> None:
        check_count("seed", seed, least=0)
        check_count("in_features", in_features)
        check_count("out_features", out_features)
        check_flag("bias", bias)
        rng, bound = np.random.default_rng(seed), in_features**-0.5
        drawn = rng.uniform(-bound, bound, (out_features, in_features))
        self.weight = drawn.astype(dtype_of(dtype))
        self.bias = np.zeros(out_features, dtype=dtype_of(dtype)) if bias else None

    def _shape(self) -> tuple[int, ...]:
        """Return the weight's shape, (out_features, in_features)."""
        return tuple(self.weight.shape)

    def _sizes(self) -> dict[str, Any]:
        out_features, in_features = self._shape()
        given = self.bias is not None
        return {"in_features": in_features, "out_features": out_features, "bias": given}

    def __call__(self, x: Array) -> Array:
        """Map tokens (batch, seq, in_features) to (batch, seq, out_features)."""
        check_tokens("x", x, self.weight)
        return self._run(x)

    def _run(self, x: Array) -> Array:
        y = x @ self.weight.T
        return np.asarray(y if self.bias is None else y + self.bias)


class Embedding(Module):
    """A table with one row for each token or position.

    ``out[b, i] = weight[index[b, i]]``

    Parameters
    ----------
    rows, d_model : int
        Number of rows, and their size.
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
    Looking up costs no FLOPs.

    References
    ----------
    vaswani2017attention, section 3.4

    Examples
    --------
    >>> import numpy as np
    >>> Embedding(10, 4)(np.array([[1, 2, 1]])).shape
    (1, 3, 4)
    """

    def __init__(self, rows: int, d_model: int, *, seed: int = 0, dtype: DType = "float32") -> None:
        for name, value, least in (("seed", seed, 0), ("rows", rows, 1), ("d_model", d_model, 1)):
            check_count(name, value, least=least)
        drawn = np.random.default_rng(seed).standard_normal((rows, d_model))
        self.weight = (0.02 * drawn).astype(dtype_of(dtype))

    def _shape(self) -> tuple[int, ...]:
        """Return the table's shape, (rows, d_model)."""
        return tuple(self.weight.shape)

    def _sizes(self) -> dict[str, Any]:
        return dict(zip(("rows", "d_model"), self._shape(), strict=True))

    def __call__(self, index: Array) -> Array:
        """Rows (..., d_model) for an integer array (...) within the table."""
        self._check_index(index)
        return self._run(index)

    def _check_index(self, index: Array) -> None:
        """Refuse what is no row of the table."""
        check_whole("index", index)
        low, high = int(index.min(initial=0)), int(index.max(initial=0))
        if low < 0 or high >= len(self.weight):
            raise ConfigError(
                f"an index must lie in 0 … {len(self.weight) - 1}, got {low if low < 0 else high}"
            )

    def _run(self, index: Array) -> Array:
        return np.asarray(self.weight[index])


class Norm(Module):
    """A normalization with its weights.

    ``y = layer_norm(x) or rms_norm(x)``

    Parameters
    ----------
    d_model : int
        Features of a row.
    kind : {"layer_norm", "rms_norm"}
        Which normalization; the layer norm has a bias.
    eps : float
        Added to the variance.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, the kind is unknown or ``eps`` no finite number.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Starts as the plain normalization: weight 1, bias 0.

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
        self, d_model: int, kind: str, *, eps: float = 1e-5, dtype: DType = "float32"
    ) -> None:
        check_count("d_model", d_model)
        check_choice("kind", kind, ("layer_norm", "rms_norm"))
        check_number("eps", eps)
        self.kind, self.eps = kind, eps
        self.weight = np.ones(d_model, dtype=dtype_of(dtype))
        self.bias = np.zeros_like(self.weight) if kind == "layer_norm" else None

    def _sizes(self) -> dict[str, Any]:
        return {"d_model": len(self.weight), "kind": self.kind, "eps": self.eps}

    def __call__(self, x: Array) -> Array:
        """Normalize each vector of an array (..., d_model)."""
        _check_rows(x, weight=self.weight)
        return self._run(x)

    def _run(self, x: Array) -> Array:
        if self.kind == "rms_norm":
            return normalise_rms(x, self.weight, self.eps)
        return _layer_norm(x, self.weight, self.bias, self.eps)


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
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, the activation is unknown or ``bias`` no bool.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``4 * batch * seq * d_model * d_ff`` FLOPs.

    References
    ----------
    vaswani2017attention, equation 2

    Examples
    --------
    >>> import numpy as np
    >>> MLP(4, 8, activation="relu", dtype="float64")(np.zeros((1, 3, 4))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "gelu_tanh",
        bias: bool = True,
        seed: int = 0,
        dtype: DType = "float32",
    ) -> None:
        check_choice("activation", activation, ACTIVATIONS)
        check_count("d_model", d_model)
        check_count("d_ff", d_ff)
        self.activation = activation
        self.up_proj = Linear(d_model, d_ff, bias=bias, seed=seed, dtype=dtype)
        self.down_proj = Linear(d_ff, d_model, bias=bias, seed=seed + 1, dtype=dtype)

    def _sizes(self) -> dict[str, Any]:
        d_ff, d_model = self.up_proj._shape()
        return {"d_model": d_model, "d_ff": d_ff, "activation": self.activation}

    def __call__(self, x: Array) -> Array:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
        check_tokens("x", x, self.up_proj.weight)
        return self._run(x)

    def _run(self, x: Array) -> Array:
        return self.down_proj._run(_activate(self.up_proj._run(x), self.activation))


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
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, the activation is unknown or ``bias`` no bool.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``6 * batch * seq * d_model * d_ff`` FLOPs.

    References
    ----------
    shazeer2020glu, equation 6

    Examples
    --------
    >>> import numpy as np
    >>> GatedMLP(4, 8, dtype="float64")(np.zeros((1, 3, 4))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str = "silu",
        bias: bool = False,
        seed: int = 0,
        dtype: DType = "float32",
    ) -> None:
        check_choice("activation", activation, ACTIVATIONS)
        check_count("d_model", d_model)
        check_count("d_ff", d_ff)
        self.activation = activation
        self.gate_proj = Linear(d_model, d_ff, bias=bias, seed=seed, dtype=dtype)
        self.up_proj = Linear(d_model, d_ff, bias=bias, seed=seed + 1, dtype=dtype)
        self.down_proj = Linear(d_ff, d_model, bias=bias, seed=seed + 2, dtype=dtype)

    def _sizes(self) -> dict[str, Any]:
        d_ff, d_model = self.up_proj._shape()
        return {"d_model": d_model, "d_ff": d_ff, "activation": self.activation}

    def __call__(self, x: Array) -> Array:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
        check_tokens("x", x, self.up_proj.weight)
        return self._run(x)

    def _run(self, x: Array) -> Array:
        gate = _activate(self.gate_proj._run(x), self.activation)
        return self.down_proj._run(gate * self.up_proj._run(x))
