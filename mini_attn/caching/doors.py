"""What a public call checks of the caches it is given, and how layers from outside meet them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mini_attn.caching.transaction import Transaction
from mini_attn.errors import ConfigError, ShapeError

__all__ = ["Joined", "check_cache", "check_caches", "check_is_cache"]


def check_is_cache(name: str, cache: Any) -> None:
    """Refuse what is no cache at all."""
    if not hasattr(cache, "append") or not hasattr(cache, "next_positions"):
        raise ConfigError(f"{name} must be a cache or None, got {cache!r:.60}")


def check_cache(cache: Any, layer: Any, batch: int, dtype: Any) -> None:
    """Refuse a cache that does not fit a layer of attention."""
    sizes = getattr(layer, "_cache_sizes", None)
    if sizes is None or not hasattr(cache, "check_fits"):
        return  # from outside: it says for itself what does not fit
    cache.check_fits(batch=batch, dtype=dtype, **sizes)
    kept, window = getattr(cache, "window", None), getattr(layer.config, "window", None)
    if kept is not None and (window is None or kept < window):
        raise ConfigError(f"the cache keeps {kept} keys, the layer sees {window or 'all'}")


def check_caches(caches: Sequence[Any] | None, n_layers: int, batch: int) -> list[Any]:
    """One cache or None for each layer; refuses caches that are not filled alike."""
    if caches is None:
        return [None] * n_layers
    if not isinstance(caches, Sequence) or isinstance(caches, str):
        raise ConfigError(f"caches must be a list of caches or None, got {caches!r:.60}")
    if len(caches) != n_layers:
        raise ConfigError(f"{n_layers} layers need as many caches, got {len(caches)}")
    met: dict[int, int] = {}
    for i, cache in enumerate(caches):
        if cache is None:
            continue
        if not hasattr(cache, "next_positions"):
            check_is_cache(f"caches[{i}]", cache)
        if id(cache) in met:
            raise ConfigError(
                f"caches[{i}] is that of an earlier layer, caches[{met[id(cache)]}]: "
                "each layer needs its own"
            )
        met[id(cache)] = i
        if cache.batch != batch:
            raise ShapeError(f"tokens have batch = {batch}, caches {cache.batch} (in caches[{i}])")
        first = next(iter(met.values()))
        if cache.slots != caches[first].slots:
            raise ConfigError(
                f"caches must be filled alike, got {caches[first].slots} slots in "
                f"caches[{first}] and {cache.slots} in caches[{i}]"
            )
    return list(caches)


class Joined:
    """A cache as a layer from outside meets it: what is appended belongs to the pass."""

    def __init__(self, cache: Any, transaction: Transaction) -> None:
        self._cache, self._transaction = cache, transaction

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def upcoming(self, new: int, _: Transaction) -> Any:
        """Positions of the next tokens, as the pass sees them."""
        return self._cache.upcoming(new, self._transaction)

    def next_positions(self, new: int) -> Any:
        """Positions of the next tokens, as the pass sees them."""
        return self._cache.upcoming(new, self._transaction)

    def stage(self, k: Any, v: Any, positions: Any, _: Transaction) -> Any:
        """Append within the pass, whoever asks."""
        return self._cache.stage(k, v, positions, self._transaction)

    def append(self, k: Any, v: Any, *, positions: Any = None) -> tuple[Any, Any, Any]:
        """The same as `stage`, for those who know the public protocol only."""
        staged = self._cache.stage(k, v, positions, self._transaction)
        return staged.k, staged.v, staged.positions
