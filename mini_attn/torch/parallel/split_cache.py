"""A cache whose positions are split over ranks: each keeps every P-th token, results merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mini_attn.caching import Cached, Filled, Transaction
from mini_attn.errors import CacheStateError, ConfigError
from mini_attn.shapes import check_count
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.caches.cache_latent import LatentCache
from mini_attn.torch.caches.cache_ring import SlidingWindowCache
from mini_attn.torch.parallel.ranks import Ranks

__all__ = ["SplitCache", "split_caches"]


class SplitCache(KVCache):
    """A rank's share of a layer's cache, which layers and decoders use as they use the whole.

    ``rank s % P keeps slot s;  out = sum_r softmax_r(lse_r) out_r``

    Parameters
    ----------
    cache : KVCache or LatentCache
        An empty one for this rank's share; all ranks together hold P times its capacity.
    ranks : Ranks
        Who takes part.

    Raises
    ------
    ConfigError
        If the cache is of another kind.
    CacheStateError
        If it isn't empty.

    Notes
    -----
    Every rank runs the same tokens through the same layers. Each looks for its queries among its
    own keys, and sends ``(P - 1) * batch * n_heads * q_len * (v_head_dim + 1)`` values in each
    layer: what it has found, and its log-sum-exp. The ranks' shares never differ by more than one
    token. `append` and `view` give this rank's share; `length`, `slots` and `crop` mean the
    whole. If a step fails on any rank before its last collective, no rank's cache has changed.

    References
    ----------
    dao2022flashattention, section 3.1
    deepseek2024v2, section 2.1.2

    Examples
    --------
    >>> from mini_attn.torch.parallel.ranks import Ranks
    >>> ranks = Ranks(group=None, rank=1, size=2, device=torch.device("cpu"))
    >>> cache = SplitCache(KVCache(1, 1, 4, capacity=8), ranks)
    >>> k, v, kv_positions = cache.append(torch.ones(1, 1, 5, 4), torch.ones(1, 1, 5, 4))
    >>> cache.slots, kv_positions
    (5, tensor([[1, 3]]))
    """

    def __init__(self, cache: KVCache, ranks: Ranks) -> None:
        if type(cache) not in (KVCache, LatentCache):
            raise ConfigError(
                "a split cache is made of a KVCache or a LatentCache, whose slots all ranks can "
                f"count, got {type(cache).__name__}"
            )
        if not isinstance(ranks, Ranks):
            raise ConfigError(f"ranks must be a Ranks, got {ranks!r:.60}: see Ranks.start")
        if cache.slots:
            raise CacheStateError(
                f"a split cache begins empty, here {cache.slots} slots are filled: nobody would "
                "know which ones of the whole"
            )
        self.own, self.ranks = cache, ranks
        self.batch, self.capacity = cache.batch, ranks.size * int(cache.capacity or 0)
        self._dtype, self._device = cache._dtype, cache._device
        self._shares_memory = cache._shares_memory
        self._count = torch.arange(self.capacity, device=self._device)
        self._usual = self._count.expand(self.batch, self.capacity)
        self._begin(Filled(0, ()))  # of the whole: integers alone

    def __getattr__(self, name: str) -> Any:
        """Sizes of the cache that holds the share."""
        if name.startswith("_") or "own" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.own, name)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all slots of this rank."""
        return self.own.allocated_bytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of this rank's slots that are filled."""
        return self.own.used_bytes

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write this rank's share of new tokens behind the old ones.

        ``k_all = concatenate(k_past, k[own])``

        Parameters
        ----------
        k, v : tensor
            Of all new tokens, as the cache that holds the share takes them.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors (k_all, v_all, kv_positions)
            Views of all tokens that this rank holds.

        Raises
        ------
        CacheOverflowError
            If the new tokens do not fit; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        Nothing is sent: every rank gets the same tokens.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> from mini_attn.torch.parallel.ranks import Ranks
        >>> ranks = Ranks(group=None, rank=0, size=2, device=torch.device("cpu"))
        >>> cache, row = SplitCache(KVCache(1, 1, 2, capacity=2), ranks), torch.ones(1, 1, 1, 2)
        >>> cache.append(row, row)[0].shape
        torch.Size([1, 1, 1, 2])
        """
        if isinstance(self.own, LatentCache) and k.ndim == v.ndim == 3:
            k, v = k[:, None], v[:, None]
        self.own._check(k, v)
        transaction = Transaction()
        held = self._append(k, v, positions, transaction)
        transaction.commit()
        return held[:3]

    def _append(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        after = self._advance(state, positions, k.shape[2], transaction)
        self._stage(after, transaction)
        first = (self.ranks.rank - state.slots) % self.ranks.size  # own one of the new tokens
        mine = slice(first, None, self.ranks.size)
        new = np.arange(state.slots, after.slots)
        rows = np.tile(new, (self.batch, 1)) if after.counted else after.rows[:, new]
        if first < len(new):
            at = torch.from_numpy(rows[:, mine].copy())  # on the host, where they're checked
            self.own._append(k[:, :, mine], v[:, :, mine], at, transaction)
        return self._share(self.own._state_in(transaction))

    def _share(self, state: Filled) -> Cached:
        """Give what this rank holds; positions never just count: queries are of the whole."""
        return self.own._cached(state)._replace(counted=False)

    def _cached(self, state: Filled) -> Cached:
        """Give what this rank holds, asked from within a step or outside."""
        within, own = self._within, self.own
        return self._share(own._state if within is None else own._state_in(within))

    def _crop(self, state: Filled, n: int) -> None:
        own, rank, size = self.own, self.ranks.rank, self.ranks.size
        transaction, before = Transaction(), own._state
        own._stage(own._shortened(before, len(range(rank, n, size))), transaction)
        self._stage(self._shortened(state, n), transaction)
        transaction.commit()

    def fork(self) -> Any:
        """Copy it, so that the copy shares nothing that either will write to.

        ``copy = cache``
        """
        twin = super().fork()
        twin.own = self.own.fork()
        return twin

    def _reorder(self, index: Any) -> None:
        self.own._reorder(index)
        super()._reorder(index)

    def _check_fits(self, *, batch: int, dtype: Any, **sizes: int) -> None:
        self.own._check_fits(batch=batch, dtype=dtype, **sizes)

    def _clear_free(self) -> None:
        self.own._clear_free()

    def __repr__(self) -> str:
        return f"SplitCache({self.own!r}, rank={self.ranks.rank}, size={self.ranks.size})"


def split_caches(model: Any, ranks: Ranks, batch: int, capacity: int) -> list[Any]:
    """Return empty caches for a decoder whose long caches are split over ranks.

    ``caches = [SplitCache(cache, ranks) or a whole ring for each layer that keeps keys]``

    Parameters
    ----------
    model : Decoder
        The same model, whole, on every rank.
    ranks : Ranks
        Who takes part.
    batch, capacity : int
        Sequences, and slots of each on all ranks together.

    Returns
    -------
    list of caches
        For `prefill`, `decode_step` and `generate`, which every rank calls alike. A layer with
        a window keeps its ring whole on every rank: it's short.

    Raises
    ------
    ConfigError
        If a number is below 1, or a layer's cache is of a kind that can't be split.

    Notes
    -----
    A rank allocates ``1 / P`` of what one process would, rounded up to whole slots. That holds
    for latents too, of which splitting heads leaves every rank the whole.

    References
    ----------
    deepseek2024v2, section 2.1.2

    Examples
    --------
    >>> import mini_attn.torch as mt
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch.parallel.ranks import Ranks
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = mt.Decoder(DecoderConfig(5, 2, attention, d_ff=8, max_positions=16))
    >>> ranks = Ranks(group=None, rank=0, size=2, device=torch.device("cpu"))
    >>> [cache.allocated_bytes for cache in split_caches(model, ranks, 1, 16)]
    [512, 512]
    """
    check_count("batch", batch)
    share = -(-check_count("capacity", capacity) // ranks.size)
    caches: list[Any] = []
    for layer in model._keeping:
        cache = layer.self_attn.new_cache(batch, share)
        if type(cache) is SlidingWindowCache:
            caches.append(layer.self_attn.new_cache(batch, capacity))
        else:
            caches.append(SplitCache(cache, ranks))
    return caches
