"""What stands around attention: projections, normalization and the MLP."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import DType, check_choice, check_count, check_flag, check_number
from mini_attn.torch._module import (
    Module,
    check_array,
    check_tokens,
    check_whole,
    dtype_of,
    parameter,
    wide,
)

__all__ = ["MLP", "Embedding", "GatedMLP", "Linear", "Norm", "activate", "layer_norm", "rms_norm"]

ACTIVATIONS = ("gelu_tanh", "gelu", "silu", "relu")


def _check_rows(x: Tensor, **vectors: Any) -> None:
    """Vectors must fit the last axis of x, all in one floating-point dtype."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise DTypeError(f"x must be a floating-point tensor, got {x!r:.60}")
    for name, vector in vectors.items():
        if vector is None and name == "bias":
            continue
        check_array(name, vector)
        if x.ndim < 1 or vector.shape != x.shape[-1:]:
            shapes = f"x of shape {tuple(x.shape)}, got {tuple(vector.shape)}"
            raise ShapeError(f"{name} must be (d,) to fit {shapes}")
        if vector.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
            raise DTypeError(f"{name} is {vector.dtype}, x is {x.dtype}")


def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    """Divide each row by its root mean square.

    ``y = weight * x / sqrt(mean(x ** 2) + eps)``

    Parameters
    ----------
    x : tensor (..., d)
        Rows to normalize.
    weight : tensor (d,)
        Gain of each feature.
    eps : float
        Added to the mean square.

    Returns
    -------
    tensor (..., d)
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
    >>> import torch
    >>> rms_norm(torch.tensor([3.0, 4.0]), torch.ones(2), eps=0.0)
    tensor([0.8485, 1.1314])
    """
    _check_rows(x, weight=weight)
    check_number("eps", eps)
    return normalise_rms(x, weight, eps)


def normalise_rms(x: Tensor, weight: Tensor | float, eps: float) -> Tensor:
    """`rms_norm` without checks."""
    normed = F.rms_norm(wide(x), x.shape[-1:], eps=eps)
    return (normed * weight).to(x.dtype)


def layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Give each row mean 0 and variance 1, then scale and shift.

    ``y = weight * (x - mean(x)) / sqrt(var(x) + eps) + bias``

    Parameters
    ----------
    x : tensor (..., d)
        Rows to normalize.
    weight : tensor (d,)
        Gain of each feature.
    bias : tensor (d,) or None
        Shift of each feature; None shifts nothing.
    eps : float
        Added to the variance.

    Returns
    -------
    tensor (..., d)
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
    >>> import torch
    >>> layer_norm(torch.tensor([1.0, 3.0]), torch.ones(2), eps=0.0)
    tensor([-1.,  1.])
    """
    _check_rows(x, weight=weight, bias=bias)
    check_number("eps", eps)
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def activate(x: Tensor, name: str) -> Tensor:
    """The MLP's non-linearity.

    ``gelu(x) = x * Phi(x);  silu(x) = x / (1 + exp(-x));  relu(x) = max(x, 0)``

    Parameters
    ----------
    x : tensor (...)
        Any shape.
    name : {"gelu_tanh", "gelu", "silu", "relu"}
        ``"gelu_tanh"`` is the approximation that GPT-2 uses.

    Returns
    -------
    tensor (...)
        Same shape and dtype.

    Raises
    ------
    ConfigError
        If the name is unknown.
    DTypeError
        If ``x`` is not floating point.

    Notes
    -----
    PyTorch: one kernel reads and writes each element once.

    References
    ----------
    hendrycks2016gelu, section 2

    Examples
    --------
    >>> import torch
    >>> activate(torch.tensor([-1.0, 2.0]), "relu")
    tensor([0., 2.])
    """
    _check_rows(x)
    check_choice("name", name, ACTIVATIONS)
    if name == "gelu_tanh":
        return F.gelu(x, approximate="tanh")
    if name == "gelu":
        return F.gelu(x)
    return F.silu(x) if name == "silu" else F.relu(x)


def _parts(x: Tensor, weight: Tensor) -> int:
    """Into how many products a product with few rows is cut; 1 leaves it whole."""
    if x.device.type != "cpu" or x.numel() > 16 * weight.shape[1] or weight.numel() < 2**15:
        return 1
    if x.dtype not in (torch.float32, torch.float64) or not weight.is_contiguous():
        return 1
    if torch.compiler.is_compiling():  # a graph cannot ask for threads
        return 1
    threads = torch.get_num_threads()
    return 1 if threads == 1 else _equal_parts(len(weight), threads)


@cache
def _equal_parts(size: int, threads: int) -> int:
    """Into how many equal parts an axis is cut, a few for each thread; 1 where none fit."""
    fit = (n for n in range(4 * threads, 16 * threads + 1) if size % n == 0 and size >= 8 * n)
    return next(fit, 1)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias`` for x (batch, seq, in), on all threads even for a single row.

    On some processors PyTorch's library gives a product of one row to one thread, which cannot
    read as fast as memory gives. Cut along the outer axis it is a batch of products, and those
    are shared out. The rows stand on the left: such a product reads the weights up to twice as
    fast as the same with the rows as columns on the right.
    """
    parts = _parts(x, weight)
    if parts == 1:
        return F.linear(x, weight, bias)
    rows = x.reshape(1, -1, x.shape[2]).expand(parts, -1, -1)
    columns = weight.view(parts, -1, x.shape[2]).transpose(1, 2)
    if bias is None:
        out = torch.bmm(rows, columns)  # (parts, batch * seq, out / parts)
    else:
        out = torch.baddbmm(bias.reshape(parts, 1, -1), rows, columns)
    return out.transpose(0, 1).reshape(*x.shape[:2], len(weight))


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> Linear(3, 2)(torch.zeros(1, 5, 3)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = False,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        check_count("seed", seed, least=0)
        check_count("in_features", in_features)
        check_count("out_features", out_features)
        check_flag("bias", bias)
        bound, rng = in_features**-0.5, torch.Generator().manual_seed(seed)
        drawn = torch.empty(out_features, in_features).uniform_(-bound, bound, generator=rng)
        self.weight = parameter(drawn, dtype, device)
        zeros = torch.zeros(out_features, dtype=dtype_of(dtype), device=device)
        self.bias = nn.Parameter(zeros) if bias else None

    def _shape(self) -> tuple[int, ...]:
        """Return the weight's shape, (out_features, in_features)."""
        return tuple(self.weight.shape)

    def _sizes(self) -> dict[str, Any]:
        out_features, in_features = self._shape()
        given = self.bias is not None
        return {"in_features": in_features, "out_features": out_features, "bias": given}

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, in_features) to (batch, seq, out_features)."""
        check_tokens("x", x, self.weight)
        return linear(x, self.weight, self.bias)


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
    Looking up costs no FLOPs.

    References
    ----------
    vaswani2017attention, section 3.4

    Examples
    --------
    >>> import torch
    >>> Embedding(10, 4)(torch.tensor([[1, 2, 1]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        rows: int,
        d_model: int,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        for name, value, least in (("seed", seed, 0), ("rows", rows, 1), ("d_model", d_model, 1)):
            check_count(name, value, least=least)
        drawn = torch.randn(rows, d_model, generator=torch.Generator().manual_seed(seed))
        self.weight = parameter(0.02 * drawn, dtype, device)

    def _shape(self) -> tuple[int, ...]:
        """Return the table's shape, (rows, d_model)."""
        return tuple(self.weight.shape)

    def _sizes(self) -> dict[str, Any]:
        return dict(zip(("rows", "d_model"), self._shape(), strict=True))

    def forward(self, index: Tensor) -> Tensor:
        """Rows (..., d_model) for an integer tensor (...) within the table."""
        self._check_index(index)
        return self._run(index)

    def _run(self, index: Tensor) -> Tensor:
        return F.embedding(index, self.weight)

    def _check_index(self, index: Tensor) -> None:
        """Refuse what is no row of the table."""
        check_whole("index", index)
        low, high = (int(index.min()), int(index.max())) if index.numel() else (0, 0)
        if low < 0 or high >= len(self.weight):
            raise ConfigError(
                f"an index must lie in 0 … {len(self.weight) - 1}, got {low if low < 0 else high}"
            )


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> Norm(2, "rms_norm")(torch.tensor([[3.0, 3.0]])).detach().round(decimals=3)
    tensor([[1., 1.]])
    """

    def __init__(
        self,
        d_model: int,
        kind: str,
        *,
        eps: float = 1e-5,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        check_count("d_model", d_model)
        check_choice("kind", kind, ("layer_norm", "rms_norm"))
        check_number("eps", eps)
        self.kind, self.eps = kind, eps
        self.weight = nn.Parameter(torch.ones(d_model, dtype=dtype_of(dtype), device=device))
        self.bias = nn.Parameter(torch.zeros_like(self.weight)) if kind == "layer_norm" else None

    def _sizes(self) -> dict[str, Any]:
        return {"d_model": len(self.weight), "kind": self.kind, "eps": self.eps}

    def forward(self, x: Tensor) -> Tensor:
        """Normalize each vector of a tensor (..., d_model)."""
        _check_rows(x, weight=self.weight)
        if self.kind == "rms_norm":
            return normalise_rms(x, self.weight, self.eps)
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> MLP(4, 8, activation="relu")(torch.zeros(1, 3, 4)).shape
    torch.Size([1, 3, 4])
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
        device: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        check_choice("activation", activation, ACTIVATIONS)
        check_count("d_model", d_model)
        check_count("d_ff", d_ff)
        self.activation = activation
        self.up_proj = Linear(d_model, d_ff, seed=seed, **kind)
        self.down_proj = Linear(d_ff, d_model, seed=seed + 1, **kind)

    def _sizes(self) -> dict[str, Any]:
        d_ff, d_model = self.up_proj._shape()
        return {"d_model": d_model, "d_ff": d_ff, "activation": self.activation}

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
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
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> GatedMLP(4, 8)(torch.zeros(1, 3, 4)).shape
    torch.Size([1, 3, 4])
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
        device: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"bias": bias, "dtype": dtype, "device": device}
        check_choice("activation", activation, ACTIVATIONS)
        check_count("d_model", d_model)
        check_count("d_ff", d_ff)
        self.activation = activation
        self.gate_proj = Linear(d_model, d_ff, seed=seed, **kind)
        self.up_proj = Linear(d_model, d_ff, seed=seed + 1, **kind)
        self.down_proj = Linear(d_ff, d_model, seed=seed + 2, **kind)

    def _sizes(self) -> dict[str, Any]:
        d_ff, d_model = self.up_proj._shape()
        return {"d_model": d_model, "d_ff": d_ff, "activation": self.activation}

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape, each by itself."""
        gate = activate(self.gate_proj(x), self.activation)
        return self.down_proj(gate * self.up_proj(x))
