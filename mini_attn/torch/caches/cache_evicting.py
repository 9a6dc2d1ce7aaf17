"""A cache that has room for some keys, and forgets the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Cached, Evicting, Filled, Kept, Transaction
from mini_attn.config import KeepHeavyHitters, KeepObserved, check_policy
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import DType, check_heads, named_shapes
from mini_attn.torch._module import check_floating
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.caches.kept_keys import per_group, pool_weights, rank

__all__ = ["EvictingCache"]


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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

    PyTorch: a cache carries no gradients. With a policy that watches, a step computes all
    weights, which no fused kernel keeps.

    References
    ----------
    zhang2023h2o, section 4
    li2024snapkv, section 4

    Examples
    --------
    >>> import torch
    >>> from mini_attn.config import KeepRecent
    >>> cache = EvictingCache(1, 1, 4, budget=3, policy=KeepRecent(sink_tokens=1))
    >>> rows = torch.ones(1, 1, 6, 4)
    >>> cache.append(rows, rows)[2], cache.view()[2]
    (tensor([[[0, 1, 2, 3, 4, 5]]]), tensor([[[0, 4, 5]]]))
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
        device: Any = None,
    ) -> None:
        self.policy, self.budget = check_policy(policy, budget), budget
        kind: dict[str, Any] = {"v_head_dim": v_head_dim, "dtype": dtype, "device": device}
        super().__init__(batch, n_kv_heads, head_dim, budget, **kind)
        self.capacity = None  # of the text's length there is no bound

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        super()._lay_out(0, kind, device)
        self._begin(self._empty())

    def _empty(self) -> Kept:
        shape = (self.batch, self.n_kv_heads, 0)
        with torch.inference_mode(False):  # a cache outlives the mode it is made in
            arrays = tuple(
                torch.zeros((*shape, width), dtype=self._dtype, device=self._device)
                for width in (self.head_dim, self.v_head_dim)
            )
            places = torch.zeros(shape, dtype=torch.int64, device=self._device)
        return Kept(0, arrays, places=places)

    def _arange(self, start: int, stop: int) -> Tensor:
        return torch.arange(start, stop, device=self._device)

    @property
    def watches(self) -> bool:
        """Return whether the policy needs the weights of each step."""
        return bool(self.policy.watches)

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Put new tokens behind those held; a policy that does not watch evicts at once.

        ``k_all = concatenate(k_held, k)``

        Parameters
        ----------
        k : tensor (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : tensor (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors (k_all, v_all, kv_positions)
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
        >>> import torch
        >>> from mini_attn.config import KeepRecent
        >>> row = torch.ones(1, 1, 2, 2)
        >>> cache = EvictingCache(1, 1, 2, budget=1, policy=KeepRecent())
        >>> cache.append(row, row)[0].shape, cache.view()[0].shape, cache.next_positions(1)
        (torch.Size([1, 1, 2, 2]), torch.Size([1, 1, 1, 2]), tensor([2]))
        """
        return super().append(k, v, positions=positions)

    def _append(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state: Any = self._state_in(transaction)
        after, fresh = self._state_after(state, positions, k.shape[2])
        with torch.inference_mode(False):
            heads = self._array(fresh.copy())[:, None].expand(-1, self.n_kv_heads, -1)
            whole = replace(
                after,
                arrays=tuple(
                    torch.cat([old, new.detach().clone()], dim=2)
                    for old, new in zip(state.arrays, (k, v), strict=True)
                ),
                places=torch.cat([state.places, heads], dim=2),
                waiting=k.shape[2] if self.watches else 0,
            )
            scored = None if self.watches else whole.places.double()
            self._stage(self._cut(whole, scored), transaction)
        return self._cached(whole)

    def observe(self, weights: Tensor) -> None:
        """Tell the weights of the latest step; then evict what the policy does not keep.

        ``held = the budget's largest of what each key has got``

        Parameters
        ----------
        weights : tensor (batch, n_heads, q_len, kv_len)
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
        >>> import torch
        >>> from mini_attn.config import KeepHeavyHitters
        >>> cache = EvictingCache(1, 1, 2, budget=2, policy=KeepHeavyHitters(recent=1))
        >>> rows = torch.ones(1, 1, 3, 2)
        >>> _ = cache.append(rows, rows)
        >>> cache.observe(torch.tensor([[[[0.1, 0.7, 0.2]] * 3]]))
        >>> cache.view()[2]
        tensor([[[1, 2]]])
        """
        state = self._waiting_in(Transaction())
        check_floating("weights", weights)
        sizes = named_shapes(weights=(weights, "batch n_heads q_len kv_len"))
        check_heads(sizes["n_heads"], self.n_kv_heads)
        expected = (self.batch, sizes["n_heads"], state.waiting, self._held(state))
        if tuple(weights.shape) != expected:
            raise ShapeError(
                f"weights must be (batch, n_heads, q_len, kv_len) = {expected}, "
                f"got {tuple(weights.shape)}"
            )
        if ((weights < 0) | weights.isinf()).any():  # NaN is found where the groups are added up
            raise ConfigError("weights must be finite and not below 0")
        transaction = Transaction()
        self._observe(weights.detach(), transaction)
        transaction.commit()

    def _observe(self, weights: Tensor, transaction: Transaction) -> None:
        """`observe` as a part of a step, without checks."""
        state = self._waiting_in(transaction)
        scored = _SCORES[type(self.policy)]
        with torch.inference_mode(False):
            scores, totals = scored(self, state, per_group(weights.clone(), self.n_kv_heads))
            after = replace(state, waiting=0, totals=totals)
            self._stage(self._cut(after, scores), transaction)

    def _gathered(self, state: Kept, weights: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Sum what each key has got from all queries so far; it is kept for the next step."""
        totals = weights.sum(dim=2)
        if state.totals is not None:
            totals[..., : state.totals.shape[2]] += state.totals
        return totals, totals

    def _observed(self, state: Kept, weights: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Pool what the last queries of the prompt give to the keys before them."""
        if state.slots > state.waiting:  # the prompt is behind
            return None, None
        observe = self.policy.observe
        looks = weights[:, :, -observe:].sum(dim=2)
        before = pool_weights(looks[..., :-observe], self.policy.kernel, self.policy.pooling)
        return torch.cat([before, looks[..., -observe:]], dim=2), None

    def _cut(self, state: Kept, scores: Tensor | None) -> Kept:
        """The state with the keys that stay; with all of them where there are no scores yet."""
        if scores is None or self._held(state) <= self.budget:
            return state
        rule = self.budget, self.policy.recent, self.policy.sink_tokens
        slots = rank(scores, state.places, *rule)
        arrays = tuple(
            a.gather(2, slots[..., None].expand(-1, -1, -1, a.shape[3])) for a in state.arrays
        )
        totals = None if state.totals is None else state.totals.gather(2, slots)
        return replace(state, arrays=arrays, places=state.places.gather(2, slots), totals=totals)

    def _cached(self, state: Filled) -> Cached:
        """Return what a state holds; its arrays are never written to."""
        assert isinstance(state, Kept)
        counted = state.counted and self._held(state) == state.slots
        k, v = state.arrays
        return Cached(k, v, state.places, counted=counted, last_sees_all=not state.padded)


_SCORES = {
    KeepHeavyHitters: EvictingCache._gathered,
    KeepObserved: EvictingCache._observed,
}
