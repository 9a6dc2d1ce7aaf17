"""A cache that has room for some keys, and forgets the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Cached, Evicting, Filled, Kept, Transaction
from mini_attn.config import KeepHeavyHitters, KeepObserved, check_policy
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy._module import check_floating
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.numpy.caches.kept_keys import per_group, pool_weights, rank
from mini_attn.shapes import DType, check_heads, named_shapes

__all__ = ["EvictingCache"]

Array = NDArray[Any]


class EvictingCache(Evicting, KVCache):
    """Keys and values of some of the tokens so far, of one layer: a policy says whose.

    ``held = min(tokens, budget)``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    budget : int
        Keys of each head that stay after a step; during a step its new tokens come on top.
    policy : KeepRecent, KeepHeavyHitters or KeepObserved
        Which keys stay.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, or the budget smaller than what the policy keeps in any case.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``allocated_bytes = batch * n_kv_heads * min(tokens, budget) * (head_dim + v_head_dim) *
    dtype_bytes``; the arrays of the step before are kept until the next, so that it can be
    taken back. Each head keeps keys of its own, whose positions (batch, n_kv_heads, held) say
    which. Keys stay rotated to the positions that they had, and the next position counts the
    tokens seen, not the rows held. `KeepObserved` evicts after the first step alone, which has
    to be the whole prompt, and then grows with the text.

    With a policy that watches, a step has two parts: `append`, then `observe` with the weights.
    The layers of heads do both. A step makes new arrays, so it costs a copy of what is held.

    References
    ----------
    zhang2023h2o, section 4
    li2024snapkv, section 4

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import KeepRecent
    >>> cache = EvictingCache(1, 1, 4, budget=3, policy=KeepRecent(sink_tokens=1))
    >>> rows = np.ones((1, 1, 6, 4), np.float32)
    >>> cache.append(rows, rows)[2], cache.view()[2]
    (array([[[0, 1, 2, 3, 4, 5]]]), array([[[0, 4, 5]]]))
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        *,
        budget: int,
        policy: Any,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
    ) -> None:
        self.policy, self.budget = check_policy(policy, budget), budget
        super().__init__(batch, n_kv_heads, head_dim, budget, v_head_dim=v_head_dim, dtype=dtype)
        self.capacity = None  # of the text's length there is no bound

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        super()._lay_out(0, kind)
        self._begin(self._empty())

    def _empty(self) -> Kept:
        shape = (self.batch, self.n_kv_heads, 0)
        widths = (self.head_dim, self.v_head_dim)
        arrays = tuple(np.zeros((*shape, width), self._dtype) for width in widths)
        return Kept(0, arrays, places=np.zeros(shape, np.int64))

    @property
    def watches(self) -> bool:
        """Return whether the policy needs the weights of each step."""
        return bool(self.policy.watches)

    def append(
        self, k: Array, v: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Put new tokens behind those held; a policy that does not watch evicts at once.

        ``k_all = concatenate(k_held, k)``

        Parameters
        ----------
        k : array (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : array (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer array (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            All that the new tokens may attend to: (batch, n_kv_heads, kv_len, head_dim), the
            same with v_head_dim, and their positions (batch, n_kv_heads, kv_len).

        Raises
        ------
        CacheStateError
            If the weights of the step before have not been told; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        The new tokens see what is held and themselves; what is evicted is not seen again.

        References
        ----------
        zhang2023h2o, algorithm 1

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.config import KeepRecent
        >>> row = np.ones((1, 1, 2, 2), np.float32)
        >>> cache = EvictingCache(1, 1, 2, budget=1, policy=KeepRecent())
        >>> cache.append(row, row)[0].shape, cache.view()[0].shape, cache.next_positions(1)
        ((1, 1, 2, 2), (1, 1, 1, 2), array([2]))
        """
        return super().append(k, v, positions=positions)

    def _append(
        self, k: Array, v: Array, positions: Array | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state: Any = self._state_in(transaction)
        after, fresh = self._state_after(state, positions, k.shape[2])
        heads = np.broadcast_to(fresh[:, None], (self.batch, self.n_kv_heads, k.shape[2]))
        whole = replace(
            after,
            arrays=tuple(
                np.concatenate([old, new], axis=2)
                for old, new in zip(state.arrays, (k, v), strict=True)
            ),
            places=np.concatenate([state.places, heads], axis=2),
            waiting=k.shape[2] if self.watches else 0,
        )
        scored = None if self.watches else whole.places.astype(np.float64)
        self._stage(self._cut(whole, scored), transaction)
        return self._cached(whole)

    def observe(self, weights: Array) -> None:
        """Tell the weights of the latest step; then evict what the policy does not keep.

        ``held = the budget's largest of what each key has got``

        Parameters
        ----------
        weights : array (batch, n_heads, q_len, kv_len)
            Weights of the new tokens over all keys that `append` returned.

        Raises
        ------
        CacheStateError
            If no tokens wait for their weights.
        ShapeError
            If the axes do not fit what `append` returned.
        DTypeError
            If the weights are not floating point.
        ConfigError
            If the heads do not divide, or a weight is NaN, infinite or below 0. After any error
            nothing has changed.

        Notes
        -----
        Weights of heads that share a key/value head add up.

        References
        ----------
        zhang2023h2o, section 4
        li2024snapkv, section 4

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.config import KeepHeavyHitters
        >>> cache = EvictingCache(1, 1, 2, budget=2, policy=KeepHeavyHitters(recent=1))
        >>> rows = np.ones((1, 1, 3, 2), np.float32)
        >>> _ = cache.append(rows, rows)
        >>> cache.observe(np.array([[[[0.1, 0.7, 0.2]] * 3]]))
        >>> cache.view()[2]
        array([[[1, 2]]])
        """
        state = self._waiting_in(Transaction())
        check_floating("weights", weights)
        sizes = named_shapes(weights=(weights, "batch n_heads q_len kv_len"))
        check_heads(sizes["n_heads"], self.n_kv_heads)
        expected = (self.batch, sizes["n_heads"], state.waiting, self._held(state))
        if weights.shape != expected:
            raise ShapeError(
                f"weights must be (batch, n_heads, q_len, kv_len) = {expected}, got {weights.shape}"
            )
        if ((weights < 0) | np.isinf(weights)).any():  # NaN is found where the groups are added up
            raise ConfigError("weights must be finite and not below 0")
        transaction = Transaction()
        self._observe(weights, transaction)
        transaction.commit()

    def _observe(self, weights: Array, transaction: Transaction) -> None:
        """`observe` as a part of a step, without checks."""
        state = self._waiting_in(transaction)
        scored = _SCORES[type(self.policy)]
        scores, totals = scored(self, state, per_group(weights, self.n_kv_heads))
        after = replace(state, waiting=0, totals=totals)
        self._stage(self._cut(after, scores), transaction)

    def _gathered(self, state: Kept, weights: Array) -> tuple[Array | None, Array | None]:
        """Sum what each key has got from all queries so far; it is kept for the next step."""
        totals = weights.sum(axis=2)
        if state.totals is not None:
            totals[..., : state.totals.shape[2]] += state.totals
        return totals, totals

    def _observed(self, state: Kept, weights: Array) -> tuple[Array | None, Array | None]:
        """Pool what the last queries of the prompt give to the keys before them."""
        if state.slots > state.waiting:  # the prompt is behind
            return None, None
        observe = self.policy.observe
        looks = weights[:, :, -observe:].sum(axis=2)
        before = pool_weights(looks[..., :-observe], self.policy.kernel, self.policy.pooling)
        return np.concatenate([before, looks[..., -observe:]], axis=2), None

    def _cut(self, state: Kept, scores: Array | None) -> Kept:
        """The state with the keys that stay; with all of them where there are no scores yet."""
        if scores is None or self._held(state) <= self.budget:
            return state
        rule = self.budget, self.policy.recent, self.policy.sink_tokens
        slots = rank(scores, state.places, *rule)
        arrays = tuple(np.take_along_axis(a, slots[..., None], axis=2) for a in state.arrays)
        totals = None if state.totals is None else np.take_along_axis(state.totals, slots, axis=2)
        places = np.take_along_axis(state.places, slots, axis=2)
        return replace(state, arrays=arrays, places=places, totals=totals)

    def _cached(self, state: Filled) -> Cached:
        """Return what a state holds; its arrays are never written to."""
        assert isinstance(state, Kept)
        for view in (*state.arrays, state.places):
            view.flags.writeable = False
        counted = state.counted and self._held(state) == state.slots
        k, v = state.arrays
        return Cached(k, v, state.places, counted=counted, last_sees_all=not state.padded)


_SCORES = {
    KeepHeavyHitters: EvictingCache._gathered,
    KeepObserved: EvictingCache._observed,
}
