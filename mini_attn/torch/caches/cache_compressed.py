"""A cache of a window of tokens, and of entries that stand for several tokens each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Closed, Filled, Spans, Transaction
from mini_attn.shapes import DType, check_count
from mini_attn.torch._module import wide
from mini_attn.torch.caches.cache import KVCache

__all__ = ["CompressedCache"]


class CompressedCache(Spans, KVCache):  # type: ignore[misc]  # tokens say more
    """Keys of the last tokens, an entry for each complete span, and tokens that wait for theirs.

    ``allocated_bytes = batch * (min(window, capacity) * head_dim + (capacity // compress + 2 *
    series * min(series * compress, capacity)) * (head_dim + index_head_dim)) * dtype_bytes``

    Parameters
    ----------
    batch, head_dim : int
        Sequences, size of a key, which is its own value and one for all heads.
    capacity : int
        Tokens that each sequence may have in all, padding included.
    window : int
        Keys of tokens that a query sees, its own included.
    compress : int
        Tokens of a span; a row's tokens are counted without its padding.
    index_head_dim : int or None
        Size of the entries by which an indexer chooses, if there are any. Then ``series`` is 2:
        an entry is of its span and of the span before, and a token waits for two entries. Else
        it is 1.
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
    An entry is written once, by the step that brings its span's last token, and stays. How many
    count follows from a row's tokens. Keys and waiting tokens lie in two rings; what a step
    overwrote there is kept beside them until the next, so that it can be taken back. An earlier
    state can't be had again: a span's tokens are gone once its entry is there. The mean is taken
    in float32 or wider. Positions of a row count 0, 1, 2, … behind its padding.

    References
    ----------
    deepseek2026v4, section 2.3

    Examples
    --------
    >>> import torch
    >>> cache = CompressedCache(1, 4, capacity=8, window=3, compress=2)
    >>> rows = torch.ones(1, 1, 5, 4)
    >>> [tuple(tensor.shape) for tensor in cache.append(rows, rows, rows)]
    [(1, 1, 3, 4), (1, 1, 2, 4), (1, 1, 2, 4), (1, 1, 2, 4), (1, 5)]
    """

    def __init__(
        self,
        batch: int,
        head_dim: int,
        capacity: int,
        *,
        window: int,
        compress: int,
        index_head_dim: int | None = None,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        self.window = check_count("window", window)
        self.compress = check_count("compress", compress)
        if index_head_dim is not None:
            check_count("index_head_dim", index_head_dim)
        self.index_head_dim = index_head_dim
        super().__init__(batch, 1, head_dim, capacity, dtype=dtype, device=device)

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        with torch.inference_mode(False):  # a cache outlives the mode it is made in
            # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
            arrays = [torch.zeros(shape, dtype=kind, device=device) for shape in self._shapes()]
        self._dtype, self._device = kind, arrays[0].device
        self._shares_memory = self._device.type == "cpu"
        self._begin(Filled(0, tuple(arrays)))

    def append(  # type: ignore[override]  # tokens say more than a key and a value
        self,
        k: Tensor,
        values: Tensor,
        gates: Tensor,
        index_values: Tensor | None = None,
        index_gates: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        finish: Callable[[int, Tensor, Any], Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """Write new tokens over the oldest, and the entries of the spans that they complete.

        ``entry = sum over tokens of softmax(gates) * values``

        Parameters
        ----------
        k : tensor (batch, 1, q_len, head_dim)
            Keys of the new tokens.
        values, gates : tensor (batch, series, q_len, head_dim)
            What they add to their entries, and their logits among those tokens, of each number.
        index_values, index_gates : tensor (batch, 2, q_len, index_head_dim) or None
            The same for an indexer's entries.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.
        finish : callable or None
            What becomes of means: ``finish(part, means, spans)`` of those of an entry (part 0) or
            of an indexer's (part 1), (m, width), and their spans (m,), gives them as they are
            kept. None leaves them.

        Returns
        -------
        tuple of tensors
            As ``view`` gives them.

        Raises
        ------
        CacheOverflowError
            If the new tokens exceed the capacity; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If positions don't count on from the row's last, or padding comes after a token;
            nothing is written.

        Notes
        -----
        A step reads the tokens of the spans that it completes, and no others.

        References
        ----------
        deepseek2026v4, section 2.3

        Examples
        --------
        >>> import torch
        >>> cache = CompressedCache(1, 2, capacity=4, window=2, compress=2)
        >>> rows = torch.ones(1, 1, 3, 2)
        >>> cache.append(rows, rows, rows)[1].shape
        torch.Size([1, 1, 1, 2])
        """
        said = (values, gates, index_values, index_gates)
        self._check_said(k, dict(zip(self._said, said, strict=True)), finish, Tensor)
        transaction = Transaction()
        self._append(k, values, positions, transaction, *said[1:], finish)
        held = self._cached(self._state_in(transaction))
        transaction.commit()
        return held

    def _arange(self, start: int, stop: int) -> Tensor:
        return torch.arange(start, stop, device=self._device)

    def _kept(self, array: Tensor) -> Tensor:
        return array.detach()  # a cache carries no gradients

    def _joined(self, arrays: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(arrays), dim=2)

    def _means(self, values: Tensor, gates: Tensor, ends: Closed) -> Tensor:
        return span_means(values, gates, ends)


def span_means(values: Tensor, gates: Tensor, ends: Closed) -> Tensor:
    """Gated means (m, width) of spans whose tokens lie at ``ends.numbers``.

    Values and gates are (batch, series, seq, width); of a span that is not there nothing counts.
    """
    rows, numbers, there = (
        torch.as_tensor(array, device=values.device)
        for array in (ends.rows, ends.numbers, ends.there)
    )
    series = torch.arange(there.shape[1], device=values.device)[:, None]
    numbers = numbers.masked_fill(~there[..., None], 0)
    at = rows[:, None, None], series, numbers  # (m, series, compress)
    logits = wide(gates[at]).masked_fill(~there[..., None, None], -torch.inf)
    shares = logits.flatten(1, 2).softmax(dim=1)  # (m, series * compress, width)
    return (shares * values[at].flatten(1, 2)).sum(dim=1)
