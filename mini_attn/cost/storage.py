"""How a cache is laid out: which slots a layer holds for a context."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.shapes import check_count

__all__ = ["Contiguous", "Paged", "Ring"]


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
