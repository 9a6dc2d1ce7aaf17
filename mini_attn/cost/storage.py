"""How a cache is laid out: which slots a layer holds for a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mini_attn.config import Coding, FloatCoding, codings, newest, scale_type
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_flag
from mini_attn.variants import variant

__all__ = ["Contiguous", "Evicting", "Paged", "Quantized", "Ring"]


@dataclass(frozen=True)
class Contiguous:
    """Every layer has one slot a token, also a layer with a window.

    Examples
    --------
    >>> Contiguous().slots(100, 16)
    100
    """

    def slots(self, context: int, window: int | None) -> int:
        """Slots of one sequence in a layer that keeps ``window`` keys; None means all."""
        return context


@dataclass(frozen=True)
class Ring:
    """A layer with a window has no more slots than its window; the others one a token.

    Examples
    --------
    >>> Ring().slots(100, 16), Ring().slots(100, None)
    (16, 100)
    """

    def slots(self, context: int, window: int | None) -> int:
        """Slots of one sequence in a layer that keeps ``window`` keys; None means all."""
        return context if window is None else min(context, window)


@dataclass(frozen=True)
class Evicting:
    """Every layer keeps the keys that a policy chooses, no more than a budget.

    Parameters
    ----------
    budget : int
        Keys of each head that stay.

    Raises
    ------
    ConfigError
        If the budget is below 1.

    Examples
    --------
    >>> Evicting(16).slots(100, None), Evicting(16).slots(10, None)
    (16, 10)
    """

    budget: int

    def __post_init__(self) -> None:
        check_count("budget", self.budget)

    def slots(self, context: int, window: int | None) -> int:
        """Slots of one sequence in a layer that keeps ``window`` keys; None means all."""
        return min(context, self.budget)


@dataclass(frozen=True)
class Paged:
    """Whole blocks: the last one of each sequence may be partly empty; windows free none.

    Parameters
    ----------
    block_size : int
        Slots of a block.
    shared_tokens : int
        Tokens with which all sequences begin; their full blocks are stored once. Each sequence
        has a last token of its own, however many they share.

    Raises
    ------
    ConfigError
        If the block size is below 1, or ``shared_tokens`` below 0.

    Examples
    --------
    >>> Paged(16).slots(100, None)
    112
    >>> Paged(16, shared_tokens=50).shared_slots(100)
    48
    """

    block_size: int = 16
    shared_tokens: int = 0

    def __post_init__(self) -> None:
        check_count("block_size", self.block_size)
        check_count("shared_tokens", self.shared_tokens, least=0)

    def shared_slots(self, context: int) -> int:
        """Slots at the front of every sequence that are stored once for all."""
        return max(0, min(self.shared_tokens, context - 1)) // self.block_size * self.block_size

    def slots(self, context: int, window: int | None) -> int:
        """Slots of one sequence in a layer that keeps ``window`` keys; None means all."""
        return -(-context // self.block_size) * self.block_size


@dataclass(frozen=True)
class Quantized:
    """Codes of few bits with the scales of their groups, and the newest tokens as they came.

    Parameters
    ----------
    bits : {8, 4, 3, 2} or None
        Bits of all codes; the short form of ``k_bits`` and ``v_bits``.
    group_size : int or None
        Tokens that are sealed together; a group is one channel of their keys, or so many
        channels of one token's value. None means 32.
    residual : int or None
        Newest tokens that stay as they came, at the least; None means 32, or 0 with a format.
    allocated : bool
        Whether the whole room of the residual counts, or what of it is filled.
    k_bits, v_bits : {8, 4, 3, 2} or None
        Bits of a key's and of a value's codes; None means ``bits``, or 8.
    key_axis : {"channel", "token"}
        What a group of keys lies in.
    scale_dtype : {"float32", "float16"} or None
        Type of scales and zeros; None means float32, or float64 where the numbers are.
    format : {"fp8", "nvfp4"} or None
        Small floats instead of whole numbers; the scales of a tensor or its heads, which come
        with the weights, are not counted.

    Raises
    ------
    ConfigError
        If an option is out of range, ``bits`` comes with ``k_bits`` or ``v_bits``, or a format
        with options of whole numbers.

    Examples
    --------
    >>> from mini_attn.cost import cache_bytes
    >>> from mini_attn.models import MODELS
    >>> use = {"batch": 1, "context": 8192}
    >>> plain = cache_bytes(MODELS["llama-3-8b"], **use)
    >>> round(plain / cache_bytes(MODELS["llama-3-8b"], **use, storage=Quantized(4)), 2)
    2.65
    >>> plain / cache_bytes(MODELS["llama-3-8b"], **use, storage=Quantized(format="nvfp4"))
    3.5555555555555554
    """

    bits: int | None = None
    group_size: int | None = None
    residual: int | None = None
    allocated: bool = False
    k_bits: int | None = None
    v_bits: int | None = None
    key_axis: str = "channel"
    scale_dtype: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        self._codings(1, 1)
        scale_type(self.scale_dtype, "float32", self.format)
        newest(self.residual, self.format)
        check_flag("allocated", self.allocated)

    def _codings(self, *widths: int) -> tuple[Coding | FloatCoding, Coding | FloatCoding]:
        """Describe how keys and values become codes."""
        options: dict[str, Any] = {"bits": self.bits, "k_bits": self.k_bits, "v_bits": self.v_bits}
        options |= {"group_size": self.group_size, "key_axis": self.key_axis}
        return codings((widths[0], widths[1]), **options, format=self.format)

    def layer_bytes(self, model: Any, context: int, dtype_bytes: float) -> int:
        """Bytes of one sequence in one layer; a window frees none."""
        names = [field.name for field in variant(model.attention).cache]
        if names != ["keys", "values"]:
            found = " and ".join(name.rstrip("s") + "s" for name in names)
            raise ConfigError(f"{model.name} keeps {found}, not the keys and values of groups")
        if dtype_bytes not in (2, 4, 8):
            raise ConfigError(f"dtype_bytes must be 2, 4 or 8 for the residual, got {dtype_bytes}")
        dtype = "float64" if dtype_bytes == 8 else "float32"
        scale_bytes = 1 if self.format else np.dtype(scale_type(self.scale_dtype, dtype)).itemsize
        both = self._codings(model.head_dim, model.v_head_dim)
        group = sum(coding.group_bytes(scale_bytes) for coding in both)
        size, residual = both[0].group_size, newest(self.residual, self.format)
        groups = max(0, context - residual) // size
        kept = context - groups * size
        if self.allocated:
            kept = min(context, max(1, residual + size - 1))
        token = (model.head_dim + model.v_head_dim) * int(dtype_bytes)
        return int(model.n_kv_heads * (groups * group + kept * token))
