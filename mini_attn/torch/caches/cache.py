"""The key/value cache: allocated once, written in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mini_attn.caching import Cached, Filled, Slots, Transaction
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import DType, check_count, named_shapes
from mini_attn.torch._module import check_whole, dtype_of

__all__ = ["KVCache"]

Integers = NDArray[np.int64]


class KVCache(Slots):
    """Keys and values of the tokens so far, of one layer.

    ``allocated_bytes = batch * n_kv_heads * capacity * (head_dim + v_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence; they are allocated at once and never moved.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    An append writes the new tokens only, so its cost does not grow with the length. Rows of
    a batch share their slots; padded slots have position -1. ``allocated_bytes`` counts keys
    and values, not the integers that hold the positions.

    PyTorch: a cache carries no gradients.

    References
    ----------
    pope2022scaling, section 3.3

    Examples
    --------
    >>> import torch
    >>> cache = KVCache(1, 2, 4, capacity=8)
    >>> k, v, kv_positions = cache.append(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
    >>> k.shape, kv_positions
    (torch.Size([1, 2, 3, 4]), tensor([[0, 1, 2]]))
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        kind = dtype_of(dtype)
        self.batch = check_count("batch", batch)
        self.n_kv_heads = check_count("n_kv_heads", n_kv_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.capacity = check_count("capacity", capacity)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        self._lay_out(capacity, kind, device)

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        """Tensors for so many slots, and the state of an empty cache."""
        shape = (self.batch, self.n_kv_heads, slots)
        with torch.inference_mode(False):  # a cache outlives the mode it is made in
            # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
            k, v = (
                torch.zeros((*shape, width), dtype=kind, device=device)
                for width in (self.head_dim, self.v_head_dim)
            )
            self._count = torch.arange(slots, device=device)
        self._dtype, self._device = kind, k.device
        self._shares_memory = k.device.type == "cpu"
        self._usual = self._count.expand(self.batch, slots)
        self._written = 0  # slots that have ever been written to, by undone steps too
        self._begin(Filled(0, (k, v)))

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones.

        ``k_all = concatenate(k_past, k)``

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
            Views of all tokens so far: (batch, n_kv_heads, kv_len, head_dim), the same with
            v_head_dim, and their positions (batch, kv_len).

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
        ``2 * batch * n_kv_heads * q_len * head_dim`` elements are written, none is moved.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> import torch
        >>> cache, row = KVCache(1, 1, 2, capacity=2), torch.ones(1, 1, 1, 2)
        >>> cache.append(row, row)[0].shape
        torch.Size([1, 1, 1, 2])
        """
        self._check(k, v)
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
        self._written = max(self._written, after.slots)
        if k.requires_grad or v.requires_grad:
            k, v = k.detach(), v.detach()  # a cache carries no gradients
        keys, values = after.arrays
        new = slice(state.slots, after.slots)
        keys[:, :, new], values[:, :, new] = k, v  # into free slots
        return self._cached(after)

    def _cached(self, state: Filled) -> Cached:
        """Views of the filled slots."""
        keys, values = state.arrays
        k, v = keys[:, :, : state.slots], values[:, :, : state.slots]
        return Cached(k, v, *self._order(state))

    def _order(self, state: Filled) -> tuple[Tensor, bool, bool]:
        """Positions, whether they just count, and whether a lone newest token sees them all."""
        rows = self._usual if state.counted else state.mirror
        return rows.narrow(1, 0, state.slots), state.counted, not state.padded

    def _clear_free(self) -> None:
        """Zero what crops and undone steps have left in free slots.

        A step over all slots multiplies them by weights of 0, and 0 times NaN is NaN.
        """
        state = self._state
        if self._written > state.slots:
            for array in state.arrays:
                array[:, :, state.slots : self._written].zero_()
            self._written = state.slots

    def _all_positions(self, slots: int, transaction: Transaction) -> Tensor:
        """Positions of so many slots, free ones too, none of which a causal query sees."""
        state = self._state_in(transaction)
        positions = self._usual[:, :slots].clone()  # those of free slots are still to come
        if not state.counted:  # after a gap they might have been passed
            positions.fill_(-1)
            filled = min(slots, state.slots)
            positions[:, :filled] = state.mirror[:, :filled]
        return positions

    def _check(self, k: Tensor, v: Tensor) -> None:
        """Refuse what is not this cache's shape and type."""
        for name, given, width in (("k", k, self.head_dim), ("v", v, self.v_head_dim)):
            if not isinstance(given, Tensor) or given.ndim != 4:
                named_shapes(**{name: (given, "batch n_kv_heads q_len head_dim")})
                raise DTypeError(f"{name} must be a tensor, got {type(given).__name__}")
            expected = (self.batch, self.n_kv_heads, k.shape[2], width)
            if given.shape != expected:
                raise ShapeError(
                    f"{name} must be (batch, n_kv_heads, q_len, dim) = {expected}, "
                    f"got {tuple(given.shape)}"
                )
            if given.dtype != self._dtype:
                raise DTypeError(f"the cache holds {self._dtype}, {name} is {given.dtype}")
        if k.shape[2] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")

    def _integers(self, name: str, array: Any, *, narrow: bool = False) -> Integers:
        check_whole(name, array, narrow=narrow)
        return array.detach().cpu().numpy()

    def _array(self, integers: Integers) -> Tensor:
        with torch.inference_mode(False):
            return torch.as_tensor(integers, device=self._device)

    def _arange(self, start: int, stop: int) -> Tensor:
        return self._count[start:stop]

    def _update_mirror(self, mirror: Tensor, rows: Integers, at: slice) -> None:
        if not self._shares_memory:
            mirror[:, at] = self._array(rows[:, at])

    def _rows_of(self, array: Any, index: Integers) -> Any:
        if isinstance(array, Tensor):
            with torch.inference_mode(False):
                return array[torch.as_tensor(index, device=array.device)]
        return array[index]
