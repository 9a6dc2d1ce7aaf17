"""How a cache is laid out: which slots a layer holds for a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.variants import variant

__all__ = ["Contiguous", "Paged", "Quantized", "Ring"]


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
class Paged:
    """Whole blocks: the last one of each sequence may be partly empty; windows free none.

    Parameters
    ----------
    block_size : int
        Slots of a block.

    Raises
    ------
    ConfigError
        If the block size is below 1.

    Examples
    --------
    >>> Paged(16).slots(100, None)
    112
    """

    block_size: int = 16

    def __post_init__(self) -> None:
        check_count("block_size", self.block_size)

    def slots(self, context: int, window: int | None) -> int:
        """Slots of one sequence in a layer that keeps ``window`` keys; None means all."""
        return -(-context // self.block_size) * self.block_size


@dataclass(frozen=True)
class Quantized:
    """Codes of few bits with a scale and a zero for each group, and the newest tokens as they came.

    Parameters
    ----------
    bits : {8, 4}
        Bits of a code.
    group_size : int
        Tokens that are sealed together; a group is one channel of their keys, or so many
        channels of one token's value.
    residual : int
        Newest tokens that stay as they came, at the least.
    allocated : bool
        Whether the whole room of the residual counts, or what of it is filled.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> from mini_attn.cost import cache_bytes
    >>> from mini_attn.models import MODELS
    >>> use = {"batch": 1, "context": 8192}
    >>> plain = cache_bytes(MODELS["llama-3-8b"], **use)
    >>> round(plain / cache_bytes(MODELS["llama-3-8b"], **use, storage=Quantized(4)), 2)
    2.65
    """

    bits: int = 8
    group_size: int = 32
    residual: int = 32
    allocated: bool = False

    def __post_init__(self) -> None:
        check_count("group_size", self.group_size)
        check_count("residual", self.residual, least=0)
        if self.bits not in (8, 4) or self.group_size * self.bits % 8:
            raise ConfigError(
                f"bits must be 8, or 4 with an even group_size, got {self.bits} and "
                f"{self.group_size}"
            )

    def layer_bytes(self, model: Any, context: int, dtype_bytes: float) -> int:
        """Bytes of one sequence in one layer; a window frees none.

        Scales and zeros are float32, or float64 if the numbers that come in are.
        """
        names = [field.name for field in variant(model.attention).cache]
        if names != ["keys", "values"]:
            found = " and ".join(name.rstrip("s") + "s" for name in names)
            raise ConfigError(f"{model.name} keeps {found}, not the keys and values of groups")
        if dtype_bytes not in (2, 4, 8):
            raise ConfigError(f"dtype_bytes must be 2, 4 or 8 for the residual, got {dtype_bytes}")
        size, width = self.group_size, model.head_dim + model.v_head_dim
        groups = max(0, context - self.residual) // size
        scales = model.head_dim + size * -(-model.v_head_dim // size)
        group = size * self.bits // 8 * width + 2 * max(4, int(dtype_bytes)) * scales
        kept = context - groups * size
        if self.allocated:
            kept = min(context, max(1, self.residual + size - 1))
        return int(model.n_kv_heads * (groups * group + kept * width * int(dtype_bytes)))
