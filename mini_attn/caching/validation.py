"""What a public call checks of the caches it is given, and how layers from outside meet them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from mini_attn.caching.transaction import Transaction
from mini_attn.errors import ConfigError, ShapeError

__all__ = [
    "check_cache",
    "check_caches",
    "check_is_cache",
    "check_range",
    "joined",
    "need_caches",
]


def check_is_cache(name: str, cache: Any) -> None:
    """Refuse what is no cache at all."""
    if not hasattr(cache, "append") or not hasattr(cache, "next_positions"):
        raise ConfigError(f"{name} must be a cache or None, got {cache!r:.60}")


def check_cache(cache: Any, layer: Any, batch: int, dtype: Any) -> None:
    """Refuse a cache that does not fit a layer of attention."""
    sizes = getattr(layer, "_cache_sizes", None)
    if sizes is None or not hasattr(cache, "_check_fits"):
        return  # from outside: it says for itself what does not fit
    cache._check_fits(batch=batch, dtype=dtype, **sizes)
    kept, window = getattr(cache, "window", None), getattr(layer.config, "window", None)
    if kept is not None and (window is None or kept < window):
        raise ConfigError(f"the cache keeps {kept} keys, the layer sees {window or 'all'}")
    first, seen = getattr(cache, "sink_tokens", 0), getattr(layer.config, "sink_tokens", 0)
    if kept is not None and first < seen:
        raise ConfigError(f"the cache keeps {first} first tokens, the layer sees {seen}")


def check_caches(caches: Sequence[Any] | None, layers: Any, batch: int, dtype: Any) -> list[Any]:
    """Return a cache or None for each keeping layer; refuse those that don't fit or differ."""
    n_layers = len(layers)
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
    for layer, cache in zip(layers, caches, strict=True):
        if cache is not None:
            check_cache(cache, layer.self_attn, batch, dtype)
    return list(caches)


def check_range(positions: Any, new: int, cache: Any, last: int) -> None:
    """Refuse positions of new tokens beyond the last that has an embedding."""
    if positions is None and (cache is None or getattr(cache, "contiguous", False)):
        low = 0 if cache is None else cache.slots  # known without asking a device
        high = low + new - 1
    else:
        positions = cache.next_positions(new) if positions is None else positions
        low, high = int(positions.min()), int(positions.max())
    if low < -1 or high >= last:
        raise ConfigError(f"positions lie in [-1, max_positions = {last}), got {low} … {high}")


def need_caches(caches: Any) -> None:
    """Refuse what must have a cache for each layer and has not: that layer would forget."""
    known = isinstance(caches, Sequence) and not isinstance(caches, str)
    if caches is None or (known and any(cache is None for cache in caches)):
        hint = ": without caches call the model" if caches is None else ""
        raise ConfigError(f"caches must be one for each layer, got {caches!r:.60}{hint}")


def joined(cache: Any, transaction: Transaction) -> Any:
    """A cache as a layer from outside meets it in a pass: what it appends belongs to the pass.

    It is a copy that shares the cache's state and arrays, so that a class of its own keeps its
    own `append`; whatever transaction is asked for, it is the pass's.
    """
    if not hasattr(cache, "_append"):
        return cache  # from outside too, and none of ours beneath: it writes at once
    twin, kind = copy.copy(cache), type(cache)
    twin._within = transaction
    twin._append = lambda k, v, positions, _, *more: kind._append(
        twin, k, v, positions, transaction, *more
    )
    if getattr(cache, "watches", False):
        twin._observe = lambda weights, _: kind._observe(twin, weights, transaction)
    twin._next_positions = lambda new, _: kind._next_positions(twin, new, transaction)
    return twin
