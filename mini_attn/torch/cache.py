"""The key/value cache: allocated once, written in place."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch._module import check_whole, dtype_of

__all__ = ["KVCache"]


class KVCache:
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
    dtype : str
        Name of the data type.

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
    and values, not the integers that hold the positions. A cache carries no gradients.

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
        dtype: str = "float32",
        device: Any = None,
    ) -> None:
        kind = dtype_of(dtype)
        self.batch = check_count("batch", batch)
        self.n_kv_heads = check_count("n_kv_heads", n_kv_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.capacity = check_count("capacity", capacity)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        self.slots = 0  # a host integer: no step waits for the device to learn it
        self.contiguous = True
        self._padded = False
        with torch.inference_mode(False):  # a cache outlives the mode it is made in
            # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
            rows = (batch, n_kv_heads, capacity)
            self._k = torch.zeros((*rows, self.head_dim), dtype=kind, device=device)
            self._v = torch.zeros((*rows, self.v_head_dim), dtype=kind, device=device)
            self._count = torch.arange(capacity, device=device)
            # Free slots hold the position that they get if nothing else is said, so that a
            # plain append has no positions to write.
            self._positions = self._count.repeat(batch, 1)

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones.

        ``k_all = concatenate(k_past, k)``

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
        start, new = self.slots, self._check(k, v)
        if positions is not None or not self.contiguous:
            new_positions = self._new_positions(positions, new)
            expected = self._count[start : start + new]
            self.contiguous = self.contiguous and bool((new_positions == expected).all())
            if positions is not None:
                self._padded = self._padded or bool((new_positions < 0).any())
            self._positions[:, start : start + new] = new_positions
        # Everything has been checked: from here on nothing can fail half-way.
        # A cache carries no gradients; in decoding there are none to cut off.
        self._k.narrow(2, start, new).copy_(k.detach() if k.requires_grad else k)
        self._v.narrow(2, start, new).copy_(v.detach() if v.requires_grad else v)
        self.slots = start + new
        return self.view()

    def _check(self, k: Tensor, v: Tensor) -> int:
        """Number of new tokens, after every check that could refuse them."""
        for name, given, held in (("k", k, self._k), ("v", v, self._v)):
            shape = getattr(given, "shape", None)
            if shape is None or len(shape) != 4:
                named_shapes(**{name: (given, "batch n_kv_heads q_len head_dim")})
            expected = (self.batch, self.n_kv_heads, k.shape[2], held.shape[3])
            if shape != expected:
                raise ShapeError(
                    f"{name} must be (batch, n_kv_heads, q_len, dim) = {expected}, "
                    f"got {tuple(given.shape)}"
                )
            if given.dtype != held.dtype:
                raise DTypeError(f"the cache holds {held.dtype}, {name} is {given.dtype}")
        if k.shape[2] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")
        self._check_room(k.shape[2])
        return int(k.shape[2])

    def _check_room(self, new: int) -> None:
        if self.slots + new > self.capacity:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {self.slots} of {self.capacity} slots are "
                "used; make the capacity prompt + new tokens"
            )

    def _new_positions(self, positions: Tensor | None, new: int) -> Tensor:
        """Checked positions (batch, new) of the tokens to come."""
        after = self._row_ends()
        if positions is None:
            return after + 1 + torch.arange(new, device=after.device)
        check_whole("positions", positions)
        if positions.shape not in ((new,), (self.batch, new)):
            raise ShapeError(
                f"positions must be ({new},) or ({self.batch}, {new}), got {tuple(positions.shape)}"
            )
        rows = positions.expand(self.batch, new).long()
        # A real position must exceed all before it in its row; padding is not compared.
        before = torch.cat([after, rows], dim=1).cummax(dim=1).values[:, :-1]
        if bool((rows < -1).any()) or bool(((rows >= 0) & (rows <= before)).any()):
            raise ConfigError(
                "positions must be -1 (padding) or grow within a row, "
                f"got {rows.tolist()!s:.80} after {after.flatten().tolist()!s:.40}"
            )
        return rows

    def _row_ends(self) -> Tensor:
        """Last position of each row (batch, 1), -1 where it has none."""
        if not self._filled:
            return self._count.new_full((self.batch, 1), -1)
        return self._positions[:, : self._filled].amax(dim=1, keepdim=True)

    def view(self) -> tuple[Tensor, Tensor, Tensor]:
        """Everything held, read-only and without a copy.

        ``k_all, v_all, kv_positions``

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            As `append` returns them.

        Notes
        -----
        Later appends write behind the view. After `crop` or `reorder` a view taken before
        shows what has been written since; `fork` keeps a state. PyTorch cannot forbid writing.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).view()[0].shape
        torch.Size([1, 1, 0, 2])
        """
        slots = self._filled
        return (
            self._k.narrow(2, 0, slots),
            self._v.narrow(2, 0, slots),
            self._positions.narrow(1, 0, slots),
        )

    def next_positions(self, new: int) -> Tensor:
        """Positions that the next tokens get if none are given.

        ``positions = last position of the row + 1, + 2, …``

        Parameters
        ----------
        new : int
            Number of tokens to come.

        Returns
        -------
        integer array (new,) or (batch, new)
            One row where all rows of the batch are alike.

        Raises
        ------
        CacheOverflowError
            If so many do not fit.
        ConfigError
            If ``new`` is below 1.

        Notes
        -----
        Keys are turned to their positions before they are cached: a layer asks first.

        References
        ----------
        su2021roformer, section 3.4.2

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).next_positions(2)
        tensor([0, 1])
        """
        check_count("new", new)
        self._check_room(new)
        if self.contiguous:
            return self._count[self.slots : self.slots + new]
        return self._new_positions(None, new)

    @property
    def last_sees_all(self) -> bool:
        """Whether no slot is padding, so that a lone newest token may attend to every key."""
        return not self._padded

    @property
    def _filled(self) -> int:
        """Slots that hold something."""
        return self.slots

    @property
    def length(self) -> Tensor:
        """Tokens held, (batch,); padding is not counted."""
        return (self._positions[:, : self._filled] >= 0).sum(dim=1)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all slots."""
        return self._k.nbytes + self._v.nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled."""
        return self.allocated_bytes // self._k.shape[2] * self._filled

    def crop(self, n: int) -> None:
        """Forget all but the first slots.

        ``slots = n``

        Parameters
        ----------
        n : int
            Slots to keep, padded ones counted.

        Raises
        ------
        CacheStateError
            If fewer than ``n`` slots are filled.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Nothing is moved. Used to take back rejected tokens.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import torch
        >>> cache, rows = KVCache(1, 1, 2, capacity=4), torch.ones(1, 1, 3, 2)
        >>> _ = cache.append(rows, rows)
        >>> cache.crop(1)
        >>> cache.length
        tensor([1])
        """
        n = check_count("n", n, least=0)
        if n > self.slots:
            raise CacheStateError(f"cannot keep {n} slots: only {self.slots} are filled")
        self.slots = n
        if not self.contiguous:
            self._look()
            self._positions[:, n:] = self._count[n:]

    def _look(self) -> None:
        """Whether there are padding and gaps among the filled slots: there may be fewer now."""
        rows = self._positions[:, : self.slots]
        self.contiguous = self.contiguous or bool((rows == self._count[: self.slots]).all())
        self._padded = self._padded and bool((rows < 0).any())

    def fork(self) -> KVCache:
        """A copy that shares nothing.

        ``copy = cache``

        Returns
        -------
        KVCache
            Same contents and capacity; appends to one do not show in the other.

        Notes
        -----
        Copies every allocated slot.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).fork().capacity
        4
        """
        return copy.deepcopy(self)

    def reorder(self, index: Tensor) -> None:
        """Let each row continue another row, as beam search needs.

        ``k_all[i] = k_all[index[i]]``

        Parameters
        ----------
        index : integer array (batch,)
            For each row the row it continues; rows may be repeated or dropped.

        Raises
        ------
        ShapeError
            If there is not one index for each row.
        DTypeError
            If the index holds no integers.
        ConfigError
            If an index is not a row.

        Notes
        -----
        Copies the filled slots, so that repeated rows do not share memory.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import torch
        >>> cache = KVCache(2, 1, 2, capacity=4)
        >>> cache.reorder(torch.tensor([1, 1]))
        """
        check_whole("index", index, narrow=True)
        if index.shape != (self.batch,):
            raise ShapeError(f"index must be (batch,) = ({self.batch},), got {tuple(index.shape)}")
        if bool((index < 0).any()) or bool((index >= self.batch).any()):
            raise ConfigError(f"index must lie in 0 … {self.batch - 1}, got {index.tolist()!s:.80}")
        self._take(index.long())  # narrower integers are no index in PyTorch
        self._look()

    def _take(self, index: Tensor) -> None:
        """Let each row continue another, after every check that could refuse it."""
        # Indexing with a tensor copies before it writes, so repeated rows do not alias.
        for held in (self._k, self._v):
            held[:, :, : self._filled] = held[index, :, : self._filled]
        self._positions[:, : self._filled] = self._positions[index, : self._filled]
