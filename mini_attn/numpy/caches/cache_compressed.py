"""A cache of a window of tokens, and of entries that stand for several tokens each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Closed, Filled, Spans, Transaction
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.shapes import DType, check_count

__all__ = ["CompressedCache"]

Array = NDArray[Any]


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
    >>> import numpy as np
    >>> cache = CompressedCache(1, 4, capacity=8, window=3, compress=2, dtype="float64")
    >>> rows = np.ones((1, 1, 5, 4))
    >>> [array.shape for array in cache.append(rows, rows, rows)]
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
    ) -> None:
        self.window = check_count("window", window)
        self.compress = check_count("compress", compress)
        if index_head_dim is not None:
            check_count("index_head_dim", index_head_dim)
        self.index_head_dim = index_head_dim
        super().__init__(batch, 1, head_dim, capacity, dtype=dtype)

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
        self._begin(Filled(0, tuple(np.zeros(shape, kind) for shape in self._shapes())))
        self._dtype = kind

    def append(  # type: ignore[override]  # tokens say more than a key and a value
        self,
        k: Array,
        values: Array,
        gates: Array,
        index_values: Array | None = None,
        index_gates: Array | None = None,
        *,
        positions: Array | None = None,
        finish: Callable[[int, Array, Array], Array] | None = None,
    ) -> tuple[Array, ...]:
        """Write new tokens over the oldest, and the entries of the spans that they complete.

        ``entry = sum over tokens of softmax(gates) * values``

        Parameters
        ----------
        k : array (batch, 1, q_len, head_dim)
            Keys of the new tokens.
        values, gates : array (batch, series, q_len, head_dim)
            What they add to their entries, and their logits among those tokens, of each number.
        index_values, index_gates : array (batch, 2, q_len, index_head_dim) or None
            The same for an indexer's entries.
        positions : integer array (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.
        finish : callable or None
            What becomes of means: ``finish(part, means, spans)`` of those of an entry (part 0) or
            of an indexer's (part 1), (m, width), and their spans (m,), gives them as they are
            kept. None leaves them.

        Returns
        -------
        tuple of arrays
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
        >>> import numpy as np
        >>> cache = CompressedCache(1, 2, capacity=4, window=2, compress=2, dtype="float64")
        >>> rows = np.ones((1, 1, 3, 2))
        >>> cache.append(rows, rows, rows)[1].shape
        (1, 1, 1, 2)
        """
        said = (values, gates, index_values, index_gates)
        self._check_said(k, dict(zip(self._said, said, strict=True)), finish, np.ndarray)
        transaction = Transaction()
        self._append(k, values, positions, transaction, *said[1:], finish)
        held = self._cached(self._state_in(transaction))
        transaction.commit()
        return held

    def _joined(self, arrays: Sequence[Array]) -> Array:
        return np.concatenate(arrays, axis=2)

    def _view(self, array: Array) -> Array:
        array.flags.writeable = False
        return array

    def _means(self, values: Array, gates: Array, ends: Closed) -> Array:
        return span_means(values, gates, ends)


def span_means(values: Array, gates: Array, ends: Closed) -> Array:
    """Gated means (m, width) of spans whose tokens lie at ``ends.numbers``.

    Values and gates are (batch, series, seq, width); of a span that is not there nothing counts.
    """
    series = np.arange(ends.there.shape[1])[:, None]
    numbers = np.where(ends.there[..., None], ends.numbers, 0)
    at = ends.rows[:, None, None], series, numbers  # (m, series, compress)
    wide = np.promote_types(values.dtype, np.float32)
    gates = np.where(ends.there[..., None, None], gates[at].astype(wide, copy=False), -np.inf)
    shares = np.exp(gates - gates.max(axis=(1, 2), keepdims=True))  # (m, series, compress, width)
    shares /= shares.sum(axis=(1, 2), keepdims=True)
    return np.asarray((shares * values[at]).sum(axis=(1, 2)))
