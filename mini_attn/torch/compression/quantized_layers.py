"""Layers whose matrices are codes of few bits, and a model made of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from mini_attn.config import WeightFormat, weight_format
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError
from mini_attn.shapes import check_flag
from mini_attn.torch._module import Module, check_floating
from mini_attn.torch.compression.weight_formats import decode, encode_weight
from mini_attn.torch.layers.basic import Embedding, Linear

__all__ = ["QuantizedEmbedding", "QuantizedLinear", "quantize_weights", "stored_bytes"]


class Codes(Module):
    """Codes and scales of a matrix, which `weight` makes anew whenever it is asked for."""

    format: WeightFormat
    codes: Tensor
    _columns: int
    _dtype: torch.dtype

    def _keep(self, weight: Tensor, format: str | WeightFormat) -> None:
        Module.__init__(self)
        self.format = weight_format(format)
        for name, tensor in encode_weight(weight, self.format).items():
            self.register_buffer(name, tensor)
        self._columns, self._dtype = weight.shape[1], weight.dtype

    def _shape(self) -> tuple[int, ...]:
        """Return the shape of the matrix that the codes stand for."""
        return len(self.codes), self._columns

    def _sizes(self) -> dict[str, Any]:
        return {**super()._sizes(), "numbers": self.format.numbers, "dtype": self._dtype}

    @property
    def weight(self) -> Tensor:
        """The matrix that the codes stand for."""
        names = self.format.shapes(1, self._columns)
        stored = {name: self._buffers[name] for name in names}
        return decode(stored, self.format, self._columns, self._dtype)  # type: ignore[arg-type]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """To another device go the scales as well; another data type is that of what comes out."""
        kept = dict(self._buffers)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        device = self.get_buffer("codes").device
        for name, tensor in kept.items():
            self._buffers[name] = None if tensor is None else tensor.to(device)
        self._dtype = fn(torch.empty(0, dtype=self._dtype, device=device)).dtype
        return self


class QuantizedLinear(Codes, Linear):  # type: ignore[misc]  # weight: read, never set
    """A matrix product whose matrix is kept in few bits.

    ``y = x @ decode_weight(encode_weight(weight, format)).T + bias``

    Parameters
    ----------
    weight : tensor (out_features, in_features)
        The matrix to round.
    format : str or WeightFormat
        As in `encode_weight`.
    bias : tensor (out_features,) or None
        Kept as it comes.

    Raises
    ------
    ShapeError
        If the weight has not two axes, or the bias does not fit it.
    DTypeError
        If a tensor is no floating-point tensor of the backend.
    ConfigError
        If the format is unknown, or a weight is not finite.

    Notes
    -----
    ``weight`` reads as the matrix that the codes stand for, made anew at each use: what is kept
    is ``codes``, ``scales`` and, where the format has them, ``zeros`` and ``matrix_scale``. It
    saves bytes and no time; kernels that read the codes themselves save both.

    PyTorch: the codes do not train; gradients go through to ``x`` and ``bias``. ``to(dtype)``
    sets what the matrix is made in, and leaves the scales as they are.

    References
    ----------
    dettmers2022int8, section 2

    Examples
    --------
    >>> import torch
    >>> layer = QuantizedLinear(torch.tensor([[1.0, -0.5]]), "int8")
    >>> layer(torch.ones(1, 1, 2)).round(decimals=3), stored_bytes(layer)
    (tensor([[[0.4960]]]), 6)
    """

    def __init__(
        self, weight: Tensor, format: str | WeightFormat, *, bias: Tensor | None = None
    ) -> None:
        self._keep(weight, format)
        if bias is not None:
            check_floating("bias", bias)
            if bias.shape != weight.shape[:1]:
                fits, got = tuple(weight.shape[:1]), tuple(bias.shape)
                raise ShapeError(f"bias must be {fits}, got shape {got}")
            bias = bias if isinstance(bias, nn.Parameter) else nn.Parameter(bias)
        self.bias = bias


class QuantizedEmbedding(Codes, Embedding):  # type: ignore[misc]
    """A table of vectors that is kept in few bits.

    ``out[b, i] = decode_weight(encode_weight(weight, format))[index[b, i]]``

    Parameters
    ----------
    weight : tensor (rows, d_model)
        The table to round.
    format : str or WeightFormat
        As in `encode_weight`.

    Raises
    ------
    ShapeError
        If the weight has not two axes.
    DTypeError
        If it is no floating-point tensor of the backend.
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
    >>> import torch
    >>> table = QuantizedEmbedding(torch.tensor([[1.0, -6.0], [0.5, 2.9]]), "mxfp4")
    >>> table(torch.tensor([[1]]))
    tensor([[[0.5000, 3.0000]]])
    """

    def __init__(self, weight: Tensor, format: str | WeightFormat) -> None:
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
    >>> from mini_attn.torch import GatedMLP
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
        raise DTypeError(f"model must be a PyTorch module of this package, got {type(model)}")
    model = deepcopy(model)
    layers = {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, Linear | Embedding)
    }
    if not any(isinstance(layer, Linear) for layer in layers.values()):
        raise ConfigError(f"a {type(model).__name__} has no matrix product")
    for name, layer in layers.items():
        try:
            made = make(name, layer)
        except MiniAttnError as fault:
            raise type(fault)(f"{name or 'model'}: {fault}") from None
        if not name:
            return made.train(model.training)
        place, _, last = name.rpartition(".")
        setattr(model.get_submodule(place), last, made.train(model.training))
    return model


def stored_bytes(model: Any) -> int:
    """Bytes of all that a model keeps.

    ``stored_bytes = sum of the bytes of each tensor of state_dict()``

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
        raise DTypeError(f"model must be a PyTorch module of this package, got {type(model)}")
    return sum(tensor.nbytes for tensor in model.state_dict().values())
