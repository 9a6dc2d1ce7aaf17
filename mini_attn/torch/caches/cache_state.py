"""A state instead of a cache: one matrix per head, and the last inputs of a short convolution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mini_attn.caching import Filled, States, Transaction
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import DType, check_count
from mini_attn.torch._module import check_array, check_whole, dtype_of

__all__ = ["StateCache"]

Integers = NDArray[np.int64]


class Held(NamedTuple):
    """What a layer reads before its tokens; None before the first."""

    state: Tensor | None  # (batch, n_heads, head_dim, v_head_dim)
    tail: Tensor | None  # (batch, conv_kernel - 1, channels)


class StateCache(States):
    """What linear attention keeps of all tokens so far, of one layer: its bytes never grow.

    ``allocated_bytes = batch * (n_heads * head_dim * v_head_dim * max(dtype_bytes, 4) +
    (conv_kernel - 1) * (2 * n_key_heads * head_dim + n_heads * v_head_dim) * dtype_bytes)``

    Parameters
    ----------
    batch, n_heads, head_dim : int
        Sequences, matrices of each, size of a key.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    n_key_heads : int or None
        Heads that queries and keys have; None means ``n_heads``.
    conv_kernel : int
        Tokens that a short convolution looks at, the token itself included; 1 is none.
    capacity : int or None
        Tokens that may come; None counts them only, as a state has room for any number.
    dtype : str or data type
        Data type or its name, as ``"float32"``; the matrices are float32 at least.
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
    A step gives another state and leaves the one before alone, so that an interrupted step has
    done nothing. No token can be taken back by itself: `crop` empties the cache or is refused,
    and `snapshot` and `restore` do what it can't. A padded token changes nothing.

    References
    ----------
    katharopoulos2020linear, section 3.3

    Examples
    --------
    >>> import torch
    >>> cache = StateCache(1, 2, 4)
    >>> cache.append(torch.ones(1, 2, 4, 4), new=1000)[0].shape
    torch.Size([1, 2, 4, 4])
    >>> cache.length, cache.used_bytes
    (tensor([1000]), 128)
    """

    _shown = ("batch", "n_heads", "head_dim", "v_head_dim", "conv_kernel")

    def __init__(
        self,
        batch: int,
        n_heads: int,
        head_dim: int,
        *,
        v_head_dim: int | None = None,
        n_key_heads: int | None = None,
        conv_kernel: int = 1,
        capacity: int | None = None,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        self._device = torch.get_default_device() if device is None else torch.device(device)
        self._dtype = dtype_of(dtype)
        self.batch = check_count("batch", batch)
        self.n_heads = check_count("n_heads", n_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        own = n_heads if n_key_heads is None else check_count("n_key_heads", n_key_heads)
        self.n_key_heads = own
        self.conv_kernel = check_count("conv_kernel", conv_kernel)
        self.capacity = None if capacity is None else check_count("capacity", capacity)
        self._widths = (own * head_dim, own * head_dim, n_heads * self.v_head_dim)
        matrices = (batch, n_heads, head_dim, self.v_head_dim)
        tail = (batch, conv_kernel - 1, sum(self._widths))
        self._counted_sizes = (*matrices, *tail[1:])
        wide = torch.promote_types(self._dtype, torch.float32)
        with torch.inference_mode(False):
            kinds = ((matrices, wide), (tail, self._dtype))
            empty = (torch.zeros(at, dtype=kind, device=self._device) for at, kind in kinds)
            self._empty = tuple(empty)
        self._begin(Filled(0, self._empty))

    def append(
        self,
        state: Tensor,
        tail: Tensor | None = None,
        *,
        new: int = 1,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Hold what the state has become by some tokens.

        ``state = exp(log_decay) * state + k v.T``, which the layer has computed

        Parameters
        ----------
        state : tensor (batch, n_heads, head_dim, v_head_dim)
            The state after them, float32 or wider.
        tail : tensor (batch, conv_kernel - 1, channels) or None
            The last inputs of the short convolution, queries, keys and values side by side;
            None where there is none.
        new : int
            How many tokens they were.
        positions : integer tensor (new,) or (batch, new), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors
            As `view` returns them.

        Raises
        ------
        CacheOverflowError
            If there is a capacity, and the new tokens exceed it; nothing is changed.
        ShapeError
            If a shape is wrong; nothing is changed.
        DTypeError
            If a dtype is not the cache's; nothing is changed.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is changed.

        Notes
        -----
        Nothing is copied: the arrays become the state, and must not be written to any more.

        References
        ----------
        katharopoulos2020linear, section 3.3

        Examples
        --------
        >>> import torch
        >>> cache = StateCache(1, 1, 2)
        >>> [tuple(array.shape) for array in cache.append(torch.ones(1, 1, 2, 2))]
        [(1, 1, 2, 2), (1, 1)]
        """
        check_count("new", new)
        given: tuple[Any, Any] = (
            state,
            self._empty[1] if tail is None and self.conv_kernel == 1 else tail,
        )
        self._check(given)
        transaction = Transaction()
        held = self._append(*given, positions, transaction, new)
        transaction.commit()
        return held

    def view(self) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Everything held, read-only and without a copy.

        ``state, q_tail, k_tail, v_tail, last position``

        Returns
        -------
        tuple of tensors
            The state (batch, n_heads, head_dim, v_head_dim); with a short convolution what it
            keeps of queries, keys and values (batch, conv_kernel - 1, …), less of the first
            tokens; and each row's last position (batch, 1), -1 before the first token.

        Notes
        -----
        A later step leaves a view as it is.

        References
        ----------
        katharopoulos2020linear, section 3.3

        Examples
        --------
        >>> [tuple(array.shape) for array in StateCache(1, 2, 4, conv_kernel=4).view()]
        [(1, 2, 4, 4), (1, 0, 8), (1, 0, 8), (1, 0, 8), (1, 1)]
        """
        return self._cached(self._state)

    def _cached(self, state: Filled) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Return what a state shows."""
        ends = state.ends
        last = np.full((self.batch, 1), state.slots - 1) if ends is None else ends.copy()
        matrices, tail = state.arrays
        tail = tail[:, self._first_used(state) :]
        tails = tail.split(self._widths, dim=2) if self.conv_kernel > 1 else ()
        return matrices, *tails, self._array(last)

    def _held(self, transaction: Transaction) -> Held:
        """Return what a step reads; nothing before the first token."""
        state = self._state_in(transaction)
        return Held(*state.arrays) if state.slots else Held(None, None)

    def _append(
        self,
        state: Tensor,
        tail: Tensor,
        positions: Tensor | None,
        transaction: Transaction,
        new: int,
    ) -> tuple[Tensor, ...]:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        after = self._advance(self._state_in(transaction), positions, new, transaction)
        kept = tuple(array.detach() for array in (state, tail))  # a cache carries no gradients
        after = replace(after, arrays=kept)
        self._stage(after, transaction)
        return self._cached(after)

    def _check(self, given: tuple[Any, Any]) -> None:
        """Refuse what is not this cache's shape and type."""
        for name, array, own in zip(("state", "tail"), given, self._empty, strict=True):
            check_array(name, array)
            if array.shape != own.shape:
                raise ShapeError(f"{name} must be {tuple(own.shape)}, got {tuple(array.shape)}")
            if array.dtype != own.dtype:
                raise DTypeError(f"the cache holds {name} in {own.dtype}, got {array.dtype}")

    def _integers(self, name: str, array: Any, *, narrow: bool = False) -> Integers:
        check_whole(name, array, narrow=narrow)
        return array.detach().cpu().numpy()

    def _array(self, integers: Integers) -> Tensor:
        with torch.inference_mode(False):
            return torch.as_tensor(integers, device=self._device)

    def _arange(self, start: int, stop: int) -> Tensor:
        return torch.arange(start, stop, device=self._device)

    def _rows_of(self, array: Any, index: Integers) -> Any:
        if isinstance(array, Tensor):
            with torch.inference_mode(False):
                return array[torch.as_tensor(index, device=array.device)]
        return array[index]
