"""One forward pass: what its layers share is made once and handed down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Transaction
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy._module import check_positions
from mini_attn.numpy._rotary import Rotary
from mini_attn.numpy._visibility import Visibility, fit_mask

Array = NDArray[Any]
Tables = tuple[Array, Array]
_NOTHING_TO_DO = Transaction()  # of a pass without caches


class Pass:
    """The positions of the new tokens, and what follows from them for every layer alike.

    A public call makes one after its checks and commits its transaction at the end: until then
    no cache has changed, whatever happens.
    """

    def __init__(
        self,
        q_len: int,
        cache: Any,
        transaction: Transaction,
        given: Array | None,
        *,
        causal: bool = True,
        mask: Array | None = None,
    ) -> None:
        self.given, self.transaction = given, transaction
        self.causal, self.mask = causal, mask
        if given is not None:
            self.positions = given  # (q_len,) or (batch, q_len)
        elif cache is None:
            self.positions = np.arange(q_len)
        else:  # the first layer's cache speaks for all: they are filled alike
            self.positions = cache.upcoming(q_len, transaction)
        self._tables: dict[Any, Tables] = {}
        self._visibilities: list[tuple[Any, Array | None, Visibility]] = []

    def tables(self, rotary: Rotary, dtype: np.dtype[Any]) -> Tables:
        """Cosines and sines at the new positions, once for all layers with the same rule."""
        rule = (rotary.rule, dtype)
        if rule not in self._tables:
            self._tables[rule] = rotary.tables(self.positions, dtype)
        return self._tables[rule]

    def visibility(self, q: Array, k: Array, cached: Any, cache: Any, window: Any) -> Visibility:
        """Who sees whom, once for all layers for which it is the same.

        ``cached`` is what the cache has staged; without a cache the new tokens stand for both.
        """
        q_len, kv_len, kv_positions = q.shape[2], k.shape[2], self.given
        causal = self.causal
        if cached is not None:
            kv_positions = None if cached.counted else cached.positions
            lone = causal and q_len == 1 and cached.every
            if lone and window in (None, getattr(cache, "window", None)):
                kv_positions = window = None  # the newest token sees every key it is given
                causal = False
        rule = (kv_len, causal, window)
        full = {"batch": q.shape[0], "n_heads": q.shape[1], "q_len": q_len, "kv_len": kv_len}
        for known, at, visibility in self._visibilities:
            if known == rule and _alike(at, kv_positions):
                return visibility
        visibility = Visibility(
            q_len,
            kv_len,
            causal=causal,
            window=window,
            q_positions=None if kv_positions is None else self.positions,
            kv_positions=kv_positions,
            mask=None if self.mask is None else fit_mask(self.mask, full),
        )
        self._visibilities.append((rule, kv_positions, visibility))
        return visibility


def _alike(a: Array | None, b: Array | None) -> bool:
    """Whether two layers' keys lie at the same positions."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def begin_pass(
    x: Array,
    cache: Any,
    positions: Array | None,
    layer: Any,
    *,
    causal: bool = True,
    mask: Array | None = None,
) -> Pass:
    """The pass of a layer's public call, after the checks that all layers share."""
    if positions is not None:
        check_new_positions(positions, x.shape[:2])
    transaction = _NOTHING_TO_DO
    if cache is not None:
        check_is_cache("cache", cache)
        check_cache(cache, layer, len(x), x.dtype)
        if not x.shape[1]:
            raise ShapeError(f"a cache takes at least one token, got x of shape {x.shape}")
        transaction = Transaction()
    return Pass(x.shape[1], cache, transaction, positions, causal=causal, mask=mask)


def check_is_cache(name: str, cache: Any) -> None:
    """Refuse what is no cache at all."""
    if not hasattr(cache, "append"):
        raise ConfigError(f"{name} must be a cache of mini_attn.numpy or None, got {cache!r:.60}")


def check_cache(cache: Any, layer: Any, batch: int, dtype: np.dtype[Any]) -> None:
    """Refuse a cache that does not fit a layer of attention."""
    sizes = getattr(layer, "_cache_sizes", None)
    if sizes is None or not hasattr(cache, "check_fits"):
        return  # from outside: it says for itself what does not fit
    cache.check_fits(batch=batch, dtype=dtype, **sizes)
    kept, window = getattr(cache, "window", None), getattr(layer.config, "window", None)
    if kept is not None and (window is None or kept < window):
        raise ConfigError(f"the cache keeps {kept} keys, the layer sees {window or 'all'}")


def check_new_positions(positions: Array, shape: tuple[int, ...]) -> None:
    """Refuse positions that do not fit tokens (batch, seq)."""
    check_positions("positions", positions)
    if positions.shape not in (shape, shape[1:]):
        raise ShapeError(
            f"positions must be (seq,) = {shape[1:]} or (batch, seq) = {shape}, "
            f"got shape {positions.shape}"
        )


def _has_bare_form(kind: type[Any]) -> bool:
    """Whether a class's public call is this package's: then its bare form does the same."""
    for base in kind.__mro__:
        if "_run" in vars(base) or "__call__" in vars(base):
            return "_run" in vars(base)
    return False


def run_layer(layer: Any, x: Array, steps: Pass, cache: Any) -> Array:
    """A layer within a pass: its bare form, or the public call of a class from outside."""
    if _has_bare_form(type(layer)):
        out: Array = layer._run(x, steps, cache)
    else:
        inside = Joined(cache, steps.transaction) if hasattr(cache, "stage") else cache
        out = layer(x, cache=inside, positions=steps.given)
    return out


class Joined:
    """A cache as a layer from outside meets it: what is appended belongs to the pass."""

    def __init__(self, cache: Any, transaction: Transaction) -> None:
        self._cache, self._transaction = cache, transaction

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def upcoming(self, new: int, _: Transaction) -> Array:
        """Positions of the next tokens, as the pass sees them."""
        positions: Array = self._cache.upcoming(new, self._transaction)
        return positions

    def next_positions(self, new: int) -> Array:
        """Positions of the next tokens, as the pass sees them."""
        return self.upcoming(new, self._transaction)

    def stage(self, k: Array, v: Array, positions: Array | None, _: Transaction) -> Any:
        """Append within the pass, whoever asks."""
        return self._cache.stage(k, v, positions, self._transaction)

    def append(
        self, k: Array, v: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """The same as `stage`, for those who know the public protocol only."""
        staged = self.stage(k, v, positions, self._transaction)
        return staged.k, staged.v, staged.positions
