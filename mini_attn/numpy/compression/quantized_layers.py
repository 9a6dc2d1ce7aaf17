"""Layers whose matrices are codes of few bits, and a model made of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from numpy.typing import NDArray

from mini_attn.config import WeightFormat, weight_format
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError
from mini_attn.numpy._module import Module, check_floating
from mini_attn.numpy.compression.weight_formats import decode, encode_weight
from mini_attn.numpy.layers.basic import Embedding, Linear
from mini_attn.shapes import check_flag

__all__ = ["QuantizedEmbedding", "QuantizedLinear", "quantize_weights", "stored_bytes"]

Array = NDArray[Any]


class Codes(Module):
    """Codes and scales of a matrix, which `weight` makes anew whenever it is asked for."""

    codes: Array

    def _keep(self, weight: Array, format: str | WeightFormat) -> None:
        self.format = weight_format(format)
        for name, array in encode_weight(weight, self.format).items():
            setattr(self, name, array)
        self._columns, self._dtype = weight.shape[1], weight.dtype

    def _shape(self) -> tuple[int, ...]:
        """Return the shape of the matrix that the codes stand for."""
        return len(self.codes), self._columns

    def _sizes(self) -> dict[str, Any]:
        return {**super()._sizes(), "numbers": self.format.numbers, "dtype": self._dtype}

    @property
    def weight(self) -> Array:
        """The matrix that the codes stand for."""
        names = self.format.shapes(1, self._columns)
        stored = {name: getattr(self, name) for name in names}
        return decode(stored, self.format, self._columns, self._dtype)


class QuantizedLinear(Codes, Linear):  # type: ignore[override]  # weight: read, never set
    """A matrix product whose matrix is kept in few bits.

    ``y = x @ decode_weight(encode_weight(weight, format)).T + bias``

    Parameters
    ----------
    weight : array (out_features, in_features)
        The matrix to round.
    format : str or WeightFormat
        As in `encode_weight`.
    bias : array (out_features,) or None
        Kept as it comes.

    Raises
    ------
    ShapeError
        If the weight has not two axes, or the bias does not fit it.
    DTypeError
        If an array is no floating-point array of the backend.
    ConfigError
        If the format is unknown, or a weight is not finite.

    Notes
    -----
    ``weight`` reads as the matrix that the codes stand for, made anew at each use: what is kept
    is ``codes``, ``scales`` and, where the format has them, ``zeros`` and ``matrix_scale``. It
    saves bytes and no time; kernels that read the codes themselves save both.

    References
    ----------
    dettmers2022int8, section 2

    Examples
    --------
    >>> import numpy as np
    >>> layer = QuantizedLinear(np.array([[1.0, -0.5]], np.float32), "int8")
    >>> layer(np.ones((1, 1, 2), np.float32)).round(3), stored_bytes(layer)
    (array([[[0.496]]], dtype=float32), 6)
    """

    def __init__(
        self, weight: Array, format: str | WeightFormat, *, bias: Array | None = None
    ) -> None:
        self._keep(weight, format)
        if bias is not None:
            check_floating("bias", bias)
            if bias.shape != weight.shape[:1]:
                raise ShapeError(f"bias must be {weight.shape[:1]}, got shape {bias.shape}")
        self.bias = bias


class QuantizedEmbedding(Codes, Embedding):  # type: ignore[override]
    """A table of vectors that is kept in few bits.

    ``out[b, i] = decode_weight(encode_weight(weight, format))[index[b, i]]``

    Parameters
    ----------
    weight : array (rows, d_model)
        The table to round.
    format : str or WeightFormat
        As in `encode_weight`.

    Raises
    ------
    ShapeError
        If the weight has not two axes.
    DTypeError
        If it is no floating-point array of the backend.
    ConfigError
        If the format is unknown, or a weight is not finite.

    Notes
    -----
    Where the embeddings are tied, this is also the matrix that makes the logits.

    References
    ----------
    dettmers2022int8, section 2

    Examples
    --------
    >>> import numpy as np
    >>> table = QuantizedEmbedding(np.array([[1.0, -6.0], [0.5, 2.9]]), "mxfp4")
    >>> table(np.array([[1]]))
    array([[[0.5, 3. ]]])
    """

    def __init__(self, weight: Array, format: str | WeightFormat) -> None:
        self._keep(weight, format)


def quantize_weights(
    model: Any,
    format: str | WeightFormat,
    *,
    group_size: int | str | None = None,
    embeddings: bool = False,
) -> Any:
    """A copy of a model whose matrices are kept in few bits.

    ``layer = QuantizedLinear(layer.weight, format, bias=layer.bias)``

    Parameters
    ----------
    model : Decoder, or another module of the backend
        What is copied; it stays as it is.
    format : str or WeightFormat
        As in `encode_weight`.
    group_size : int, {"row", "matrix"} or None
        Weights that share a scale; None means what the format says.
    embeddings : bool
        Whether tables of tokens and positions are rounded too; tied ones also make the logits.

    Returns
    -------
    same as ``model``
        It runs as ever, with every cache; `stored_bytes` says what it takes.

    Raises
    ------
    ConfigError
        If there is no matrix to round, one is rounded already, the format is unknown, or a
        weight is not finite. The message names the matrix.
    DTypeError
        If ``model`` is no module of the backend.

    Notes
    -----
    Norms, biases and sinks stay as they are: next to the matrices they are small. A state dict
    of it holds codes and scales; another model that was rounded alike takes them.

    References
    ----------
    dettmers2022int8, section 2
    openai2025gptoss, section 2.1

    Examples
    --------
    >>> from mini_attn.numpy import GatedMLP
    >>> mlp = GatedMLP(64, 128)
    >>> stored_bytes(mlp), stored_bytes(quantize_weights(mlp, "mxfp4"))
    (98304, 13056)
    """
    form = weight_format(format, group_size=group_size)
    check_flag("embeddings", embeddings)

    def rounded(name: str, layer: Linear | Embedding) -> Module:
        if isinstance(layer, Codes):
            raise ConfigError(f"{name} is rounded already: begin with the weights as they were")
        if isinstance(layer, Linear):
            return QuantizedLinear(layer.weight, form, bias=layer.bias)
        return QuantizedEmbedding(layer.weight, form) if embeddings else layer

    return with_each(model, rounded)


def with_each(model: Any, make: Callable[[str, Any], Module]) -> Any:
    """A copy in which every matrix product and table is replaced by what is made of it."""
    if not isinstance(model, Module):
        raise DTypeError(f"model must be a NumPy module of this package, got {type(model)}")
    found = 0

    def walked(name: str, value: Any) -> Any:
        nonlocal found
        if isinstance(value, Linear | Embedding):
            found += isinstance(value, Linear)
            try:
                return make(name, value)
            except MiniAttnError as fault:
                raise type(fault)(f"{name or 'model'}: {fault}") from None
        dotted = f"{name}." if name else ""
        if isinstance(value, list):
            return [walked(f"{dotted}{i}", item) for i, item in enumerate(value)]
        if isinstance(value, Module):
            for key, item in vars(value).items():
                if isinstance(item, Module | list):
                    setattr(value, key, walked(dotted + key, item))
        return value

    made = walked("", deepcopy(model))
    if not found:
        raise ConfigError(f"a {type(model).__name__} has no matrix product")
    return made


def stored_bytes(model: Any) -> int:
    """Bytes of all that a model keeps.

    ``stored_bytes = sum of the bytes of each array of state_dict()``

    Parameters
    ----------
    model : Decoder, or another module of the backend
        What is measured.

    Returns
    -------
    int
        Bytes of matrices, or of their codes and scales, and of what else is kept beside them.

    Raises
    ------
    DTypeError
        If ``model`` is no module of the backend.

    Notes
    -----
    A matrix of few bits takes what `WeightFormat.stored_bytes` says.

    References
    ----------
    dettmers2022int8, section 2

    Examples
    --------
    >>> stored_bytes(Linear(3, 2, bias=True))
    32
    """
    if not isinstance(model, Module):
        raise DTypeError(f"model must be a NumPy module of this package, got {type(model)}")
    return sum(array.nbytes for array in model.state_dict().values())
