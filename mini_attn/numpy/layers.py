"""What stands around attention: linear maps, normalisation, the MLP, and weights by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy.cache import DTYPES
from mini_attn.shapes import check_count, named_shapes
from mini_attn.weights import check_state

__all__ = ["GatedMLP", "PlainMLP", "layer_norm", "rms_norm"]

Array = NDArray[Any]


class Weighted:
    """A layer with weights of its own and layers inside, all under one flat set of names."""

    def __init__(self, dtype: str) -> None:
        if dtype not in DTYPES:
            raise DTypeError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
        self.dtype = np.dtype(dtype)
        self.weights: dict[str, Array] = {}
        self.inside: dict[str, Weighted] = {}

    def state_dict(self) -> dict[str, Array]:
        """All weights under their names; the layer's own arrays, not copies."""
        state = dict(self.weights)
        for prefix, layer in self.inside.items():
            state.update({f"{prefix}.{name}": w for name, w in layer.state_dict().items()})
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copy weights in, converted to the layer's dtype; on an error nothing is changed."""
        own = self.state_dict()
        check_state(own, state_dict)
        arrays = {name: np.asarray(weight) for name, weight in state_dict.items()}
        for name, weight in own.items():
            weight[...] = arrays[name]

    def add_linear(
        self, name: str, size_in: int, size_out: int, bias: bool, rng: np.random.Generator
    ) -> None:
        """Weights of a linear map: (out, in) with variance 1/in, and a bias of zeros."""
        weight = rng.standard_normal((size_out, size_in)) * size_in**-0.5
        self.weights[f"{name}.weight"] = weight.astype(self.dtype)
        if bias:
            self.weights[f"{name}.bias"] = np.zeros(size_out, self.dtype)

    def linear(self, name: str, x: Array) -> Array:
        """``x @ weight.T + bias`` with the weights of that name."""
        out = x @ self.weights[f"{name}.weight"].T
        if f"{name}.bias" in self.weights:
            out += self.weights[f"{name}.bias"]
        return np.asarray(out)

    def check_input(self, x: Array, size: int, name: str = "x") -> None:
        """Refuse an input (batch, seq, size) of another shape or dtype."""
        given = named_shapes(**{name: (x, "batch seq d_model")})["d_model"]
        if given != size:
            raise ShapeError(f"{name} must have d_model = {size}, got shape {x.shape}")
        if x.dtype != self.dtype:
            raise DTypeError(f"{name} is {x.dtype}, the weights are {self.dtype}")


def rms_norm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    """Divide by the root of the mean square, then scale.

    ``out = x / sqrt(mean(x**2) + eps) * weight``

    Parameters
    ----------
    x : array (..., d_model)
        Vectors, normalised each by itself.
    weight : array (d_model,)
        Factor of each component.
    eps : float
        Added to the mean square.

    Returns
    -------
    array (..., d_model)
        In the dtype of ``x``.

    Raises
    ------
    ShapeError
        If the weight does not fit the last axis.
    DTypeError
        If dtypes differ or are not floating point.

    Notes
    -----
    The mean is taken in float32 or wider.

    References
    ----------
    zhang2019rmsnorm, equation 4

    Examples
    --------
    >>> import numpy as np
    >>> rms_norm(np.array([3.0, -3.0]), np.ones(2), eps=0.0)
    array([ 1., -1.])
    """
    _check_norm(x, weight=weight)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    mean_square = (wide * wide).mean(axis=-1, keepdims=True)
    return np.asarray((wide / np.sqrt(mean_square + eps) * weight).astype(x.dtype, copy=False))


def layer_norm(x: Array, weight: Array, bias: Array, *, eps: float = 1e-5) -> Array:
    """Subtract the mean, divide by the standard deviation, then scale and shift.

    ``out = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias``

    Parameters
    ----------
    x : array (..., d_model)
        Vectors, normalised each by itself.
    weight : array (d_model,)
        Factor of each component.
    bias : array (d_model,)
        Added to each component.
    eps : float
        Added to the variance.

    Returns
    -------
    array (..., d_model)
        In the dtype of ``x``.

    Raises
    ------
    ShapeError
        If the weight or the bias does not fit the last axis.
    DTypeError
        If dtypes differ or are not floating point.

    Notes
    -----
    The variance divides by ``d_model``; statistics are float32 or wider.

    References
    ----------
    ba2016layernorm, equation 4

    Examples
    --------
    >>> import numpy as np
    >>> layer_norm(np.array([1.0, 3.0]), np.ones(2), np.zeros(2), eps=0.0)
    array([-1.,  1.])
    """
    _check_norm(x, weight=weight, bias=bias)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    out = centred / np.sqrt(variance + eps) * weight + bias
    return np.asarray(out.astype(x.dtype, copy=False))


def _check_norm(x: Array, **vectors: Array) -> None:
    """The vectors must fit the last axis of x, all in one floating-point dtype."""
    if getattr(x, "dtype", np.dtype(int)).kind != "f":
        raise DTypeError(f"x must be a floating-point array, got {x!r:.60}")
    for name, vector in vectors.items():
        if x.ndim < 1 or getattr(vector, "shape", None) != x.shape[-1:]:
            raise ShapeError(
                f"{name} must be (d_model,) = {x.shape[-1:]}, got {getattr(vector, 'shape', vector)}"
            )
        if vector.dtype != x.dtype:
            raise DTypeError(f"{name} is {vector.dtype}, x is {x.dtype}")


def _gelu_tanh(x: Array) -> Array:
    # x * x * x, not x**3: a power of floats is many times slower.
    return np.asarray(
        0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    )


def _gelu(x: Array) -> Array:
    erf = np.frompyfunc(math.erf, 1, 1)(x / math.sqrt(2)).astype(x.dtype)
    return np.asarray(0.5 * x * (1 + erf))


def _silu(x: Array) -> Array:
    # exp(-|x|) never overflows; both branches of the sigmoid are written with it.
    small = np.exp(-np.abs(x))
    return np.asarray(x * np.where(x >= 0, 1, small) / (1 + small))


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu_tanh": _gelu_tanh,
    "gelu": _gelu,
    "silu": _silu,
    "relu": _relu,
}


class PlainMLP(Weighted):
    """Two linear maps with a non-linearity between.

    ``out = down_proj(activation(up_proj(x)))``

    Parameters
    ----------
    d_model, d_ff : int
        Width of the input and output, and of the layer between.
    activation : {"gelu_tanh", "gelu", "silu", "relu"}
        The non-linearity.
    bias : bool
        Whether both maps have a bias.
    seed : int
        Of the random weights.
    dtype : str
        Name of the element type.

    Raises
    ------
    ConfigError
        If a size is below 1 or the activation is unknown.
    DTypeError
        If the dtype is unknown.

    Notes
    -----
    ``4 * d_model * d_ff`` FLOPs a token. Weights: ``up_proj``, ``down_proj``.

    References
    ----------
    vaswani2017attention, equation 2

    Examples
    --------
    >>> import numpy as np
    >>> PlainMLP(8, 32)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
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
        super().__init__(dtype)
        if activation not in ACTIVATIONS:
            raise ConfigError(
                f"activation must be one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        self.d_model, self.d_ff = check_count("d_model", d_model), check_count("d_ff", d_ff)
        self.activate = ACTIVATIONS[activation]
        rng = np.random.default_rng(check_count("seed", seed, least=0))
        self.add_linear("up_proj", d_model, d_ff, bias, rng)
        self.add_linear("down_proj", d_ff, d_model, bias, rng)

    def __call__(self, x: Array) -> Array:
        """Transform each token by itself.

        ``out = down_proj(activation(up_proj(x)))``

        Parameters
        ----------
        x : array (batch, seq, d_model)
            Tokens.

        Returns
        -------
        array (batch, seq, d_model)
            Transformed tokens.

        Raises
        ------
        ShapeError
            If the shape is wrong.
        DTypeError
            If the dtype is not the weights'.
        """
        self.check_input(x, self.d_model)
        return self.linear("down_proj", self.activate(self.linear("up_proj", x)))


class GatedMLP(Weighted):
    """A linear map, gated by another, and a map back.

    ``out = down_proj(activation(gate_proj(x)) * up_proj(x))``

    Parameters
    ----------
    d_model, d_ff : int
        Width of the input and output, and of the layer between.
    activation : {"gelu_tanh", "gelu", "silu", "relu"}
        The non-linearity of the gate.
    bias : bool
        Whether the maps have a bias.
    seed : int
        Of the random weights.
    dtype : str
        Name of the element type.

    Raises
    ------
    ConfigError
        If a size is below 1 or the activation is unknown.
    DTypeError
        If the dtype is unknown.

    Notes
    -----
    ``6 * d_model * d_ff`` FLOPs a token. Weights: ``gate_proj``, ``up_proj``, ``down_proj``.

    References
    ----------
    shazeer2020glu, equation 6

    Examples
    --------
    >>> import numpy as np
    >>> GatedMLP(8, 32)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
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
        super().__init__(dtype)
        if activation not in ACTIVATIONS:
            raise ConfigError(
                f"activation must be one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        self.d_model, self.d_ff = check_count("d_model", d_model), check_count("d_ff", d_ff)
        self.activate = ACTIVATIONS[activation]
        rng = np.random.default_rng(check_count("seed", seed, least=0))
        self.add_linear("gate_proj", d_model, d_ff, bias, rng)
        self.add_linear("up_proj", d_model, d_ff, bias, rng)
        self.add_linear("down_proj", d_ff, d_model, bias, rng)

    def __call__(self, x: Array) -> Array:
        """Transform each token by itself.

        ``out = down_proj(activation(gate_proj(x)) * up_proj(x))``

        Parameters
        ----------
        x : array (batch, seq, d_model)
            Tokens.

        Returns
        -------
        array (batch, seq, d_model)
            Transformed tokens.

        Raises
        ------
        ShapeError
            If the shape is wrong.
        DTypeError
            If the dtype is not the weights'.
        """
        self.check_input(x, self.d_model)
        gate = self.activate(self.linear("gate_proj", x))
        return self.linear("down_proj", gate * self.linear("up_proj", x))
