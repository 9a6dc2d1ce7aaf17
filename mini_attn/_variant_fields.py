"""What an entry of the registry is made of: fields of a cache, reductions, words for sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

__all__ = ["CacheField", "Reduction", "Size"]


@dataclass(frozen=True)
class CacheField:
    """One array of the cache: the numbers it holds per token and layer, or per block of tokens.

    Parameters
    ----------
    name : str
        What is kept.
    factors : tuple of str
        Names of the sizes whose product is the count of numbers.
    per : str
        Name of the size that says how many tokens, complete, leave these numbers once; empty
        where each token does.
    last : str
        Name of the size that says of how many tokens, the last ones, they are kept; empty where
        those of all are.
    series : int
        How often a token leaves them side by side, and of how many times ``last`` tokens.
    less : int
        Of so many tokens fewer than ``last`` says.
    once : bool
        Whether they are kept once, whatever the tokens: a state that they write into.
    wide : bool
        Whether they are float32 at least, whatever the cache's type.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> CacheField("keys", ("n_kv_heads", "head_dim")).numbers(
    ...     SimpleNamespace(n_kv_heads=8, head_dim=128))
    1024
    """

    name: str
    factors: tuple[str, ...]
    per: str = ""
    last: str = ""
    series: int = 1
    less: int = 0
    once: bool = False
    wide: bool = False

    def __str__(self) -> str:
        times = f"{self.series} · " if self.series > 1 else ""
        last = f" of the last {times}{self.last}" if self.last else ""
        last += f" - {self.less}" if self.less else ""
        last += " once" if self.once else ""
        return times + " · ".join(self.factors) + (f" / {self.per}" if self.per else "") + last

    def numbers(self, sizes: Any) -> int:
        """Numbers per token or block and layer, from an object with the named sizes."""
        return self.series * prod(int(getattr(sizes, factor)) for factor in self.factors)

    def tokens(self, sizes: Any) -> int:
        """Tokens that leave these numbers once."""
        return int(getattr(sizes, self.per)) if self.per else 1

    def kept(self, sizes: Any, tokens: int) -> int:
        """Of so many tokens those whose numbers are kept."""
        if self.once:
            return min(tokens, 1)
        if not self.last:
            return tokens
        return min(tokens, self.series * int(getattr(sizes, self.last)) - self.less)

    @property
    def grows(self) -> bool:
        """Return whether each further token, or block of them, adds to what is kept."""
        return not (self.last or self.once)

    def held(self, sizes: Any, tokens: int) -> int:
        """Numbers per layer that so many tokens have left."""
        return self.numbers(sizes) * (self.kept(sizes, tokens) // self.tokens(sizes))

    def written(self, sizes: Any, tokens: int, new: int) -> int:
        """Numbers per layer that the last of so many tokens leave."""
        if not self.grows:
            return self.numbers(sizes) * self.kept(sizes, new)
        return self.held(sizes, tokens) - self.held(sizes, tokens - new)


@dataclass(frozen=True)
class Size:
    """How the calculator asks for a size that some variants alone have, and speaks of it.

    Parameters
    ----------
    name, label : str
        The size, and the words beside its field.
    word, why : str
        The words beside it in the formula, and why it stands there; empty where it does not.
    most : int
        The largest that can be asked for.

    Examples
    --------
    >>> from mini_attn.variants import REGISTRY
    >>> [size.label for size in REGISTRY["mla"].cache_sizes]
    ['Latent rank', 'RoPE key size']
    """

    name: str
    label: str
    word: str = ""
    why: str = ""
    most: int = 1024


@dataclass(frozen=True)
class Reduction:
    """Sizes at which one variant is another.

    Parameters
    ----------
    to : str
        The other variant.
    size : str
        The size that decides.
    equals : str or int
        The value at which they are one: a number, or the name of another size.

    Examples
    --------
    >>> print(Reduction("mha", "n_kv_heads", "n_heads"))
    n_kv_heads = n_heads
    """

    to: str
    size: str
    equals: str | int

    def __str__(self) -> str:
        return f"{self.size} = {self.equals}"
