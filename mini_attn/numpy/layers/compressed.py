"""Attention to a window of tokens, and to entries that stand for several tokens each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import CachedSpans, Filled, advanced, closed
from mini_attn.caching.validation import check_cache
from mini_attn.config import CompressedConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.numpy._module import Module, check_tokens, dtype_of
from mini_attn.numpy.attention._sinks import draw_sinks
from mini_attn.numpy.attention._visibility import Visibility
from mini_attn.numpy.attention.dot_product import attend_in_full
from mini_attn.numpy.caches.cache_compressed import CompressedCache, span_means
from mini_attn.numpy.layers._heads import merge, split
from mini_attn.numpy.layers._pass import Pass, begin_pass
from mini_attn.numpy.layers.basic import Linear, Norm, normalise_rms
from mini_attn.numpy.layers.indexed import chosen_keys, indexer_scores, top_indices
from mini_attn.numpy.positions._rotary import Rotary
from mini_attn.numpy.positions.rope import cos_and_sin, rotate
from mini_attn.shapes import DType, check_count

__all__ = ["CompressedAttention"]

Array = NDArray[Any]


class Turn:
    """The rotation of the last numbers of heads; of none without a configuration."""

    def __init__(self, rope: RopeConfig | None, width: int) -> None:
        self._rotary = None if rope is None else Rotary(rope, width)
        self._still = 0 if rope is None else width - (rope.rotary_dim or width)

    def __call__(self, x: Array, forward_pass: Pass, *, back: bool = False) -> Array:
        """Rotate (batch, heads, seq, width) to the pass's positions, or back from them."""
        if self._rotary is None:
            return x
        cos, sin = forward_pass.tables(self._rotary, x.dtype)
        return self._last(x, cos, -sin if back else sin)

    def entries(self, x: Array, positions: Array) -> Array:
        """Rotate (m, width), each to a position of its own."""
        if self._rotary is None:
            return x
        assert self._rotary.speed is not None  # the configuration refuses those that grow
        cos, sin = cos_and_sin(positions, *self._rotary.speed, np.promote_types(x.dtype, "f4"))
        return self._last(x[None, None], cos, sin)[0, 0]

    def _last(self, x: Array, cos: Array, sin: Array) -> Array:
        assert self._rotary is not None
        (turned,) = rotate(cos, sin, self._rotary.layout, x[..., self._still :])
        return np.concatenate([x[..., : self._still], turned], axis=-1)


class Compressor(Module):
    """What tokens say to their entries, and what becomes of their means."""

    indexer: EntryIndexer

    def __init__(
        self, config: CompressedConfig, width: int, turn: Turn, *, seed: int, dtype: DType
    ) -> None:
        self._compress, self._turn = config.compress, turn
        self._series = 1 if config.index_topk is None else 2
        kind: dict[str, Any] = {"dtype": dtype}
        self.position_bias = np.zeros((config.compress, self._series * width), dtype_of(dtype))
        self.kv_proj = Linear(config.d_model, self._series * width, seed=seed, **kind)
        self.gate_proj = Linear(config.d_model, self._series * width, seed=seed + 1, **kind)
        self.kv_norm = Norm(width, "rms_norm", eps=config.eps, **kind)

    def _said(self, x: Array, positions: Array) -> tuple[Array, Array]:
        """Values and gates (batch, series, seq, width) of tokens."""
        gates = self.gate_proj._run(x) + self.position_bias[positions % self._compress]
        return split(self.kv_proj._run(x), self._series), split(gates, self._series)

    def _finish(self, means: Array, spans: Array) -> Array:
        """Entries (m, width) of means, at the position of their span's first token."""
        normed = self.kv_norm._run(means.astype(self.kv_norm.weight.dtype, copy=False))
        return self._turn.entries(normed, spans * self._compress)


class Scorer(Module):
    """How much each head of an indexer counts for a token."""

    def __init__(self, config: CompressedConfig, *, seed: int, dtype: DType) -> None:
        heads = config.index_n_heads or 0
        self.weights_proj = Linear(config.d_model, heads, seed=seed, dtype=dtype)


class EntryIndexer(Compressor):
    """A compressor of smaller entries, and the queries that are compared with them."""

    def __init__(self, config: CompressedConfig, *, seed: int, dtype: DType) -> None:
        width, self._n_heads = config.index_head_dim or 0, config.index_n_heads or 0
        turn = Turn(config.index_rope, width)
        super().__init__(config, width, turn, seed=seed, dtype=dtype)
        asks = config.q_lora_rank or config.d_model
        self.q_b_proj = Linear(asks, self._n_heads * width, seed=seed + 2, dtype=dtype)
        self.scorer = Scorer(config, seed=seed + 3, dtype=dtype)

    def _asked(self, x: Array, asks: Array, forward_pass: Pass) -> tuple[Array, Array]:
        """Queries (batch, index_n_heads, seq, width) and what each head counts for a token."""
        q = self._turn(split(self.q_b_proj._run(asks), self._n_heads), forward_pass)
        return q, self.scorer.weights_proj._run(x)

    def _scores(self, asked: tuple[Array, Array], entries: Array) -> Array:
        """Score entries (batch, 1, entries, width) for tokens: (batch, q_len, entries)."""
        return indexer_scores(asked[0], entries[:, 0], asked[1])


class CompressedAttention(Module):
    """Attention to the last tokens, and to one entry for each complete span of tokens.

    ``out = turn_back(attention(q, [keys, entries], [keys, entries])) @ o_proj``

    Parameters
    ----------
    config : CompressedConfig
        Sizes and options.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: ``q_proj``, or ``q_a_proj``, ``q_a_norm`` and ``q_b_proj`` where queries come from a
    latent; ``kv_proj`` and ``kv_norm``, the key of a token, which is its own value; ``o_proj``, or
    ``o_a_proj`` of each group of heads and ``o_b_proj``; of ``compressor`` ``kv_proj``,
    ``gate_proj``, ``position_bias`` and ``kv_norm``, and the same of ``compressor.indexer`` with
    ``q_b_proj`` and ``scorer.weights_proj``; names as in Hugging Face's DeepSeek-V4. With ``sinks``
    also ``sinks`` (n_heads,), drawn with standard deviation 1. Queries are normalized by head,
    without a weight. Always causal.

    An entry is a gated mean of its span's tokens: for each number of it, a token says a value and
    a logit, to which its place in the span adds ``position_bias``. It is normalized, and rotated to
    the position of its first token. A query sees it once its last token isn't after the query. With
    an indexer a token says twice as much, for the entry of its own span and for the next one, and
    each query reads the ``index_topk`` entries that score highest, of equal ones the earlier.

    A key turns with its token, and so does the value that it is. What attention gives is turned
    back by the query's position: a value then counts by its distance.

    Spans are counted in a row's own tokens, whose positions have to be 0, 1, 2, … behind padding.
    The choice has no gradient.

    References
    ----------
    deepseek2026v4, section 2.3

    Examples
    --------
    >>> import numpy as np
    >>> config = CompressedConfig(d_model=8, n_heads=2, head_dim=4, window=3, compress=2)
    >>> CompressedAttention(config)(np.ones((1, 5, 8), np.float32)).shape
    (1, 5, 8)
    """

    def __init__(
        self, config: CompressedConfig, *, seed: int = 0, dtype: DType = "float32"
    ) -> None:
        if not isinstance(config, CompressedConfig):
            raise ConfigError(f"config must be a CompressedConfig, got {config!r:.60}")
        check_count("seed", seed, least=0)
        self.config = config
        d_model, width, heads = config.d_model, config.head_dim, config.n_heads * config.head_dim
        kind: dict[str, Any] = {"dtype": dtype}
        self.sinks = draw_sinks(config.n_heads, seed + 5, dtype) if config.sinks else None
        if config.q_lora_rank is None:
            self.q_proj = Linear(d_model, heads, seed=seed, **kind)
        else:
            self.q_a_proj = Linear(d_model, config.q_lora_rank, seed=seed + 4, **kind)
            self.q_a_norm = Norm(config.q_lora_rank, "rms_norm", eps=config.eps, **kind)
            self.q_b_proj = Linear(config.q_lora_rank, heads, seed=seed, **kind)
        self.kv_proj = Linear(d_model, width, seed=seed + 1, **kind)
        self.kv_norm = Norm(width, "rms_norm", eps=config.eps, **kind)
        if config.o_groups is None or config.o_lora_rank is None:
            self.o_proj = Linear(heads, d_model, seed=seed + 3, **kind)
        else:
            middle = config.o_groups * config.o_lora_rank
            self.o_a_proj = Linear(heads // config.o_groups, middle, seed=seed + 3, **kind)
            self.o_b_proj = Linear(middle, d_model, seed=seed + 6, **kind)
        self._turn, self._scale = Turn(config.rope, width), width**-0.5
        self.compressor = Compressor(config, width, self._turn, seed=seed + 7, **kind)
        if config.index_topk is not None:
            self.compressor.indexer = EntryIndexer(config, seed=seed + 9, **kind)
        sizes = ("window", "compress", "index_head_dim", "n_kv_heads", "head_dim", "v_head_dim")
        self._cache_sizes = {name: getattr(config, name) for name in sizes}

    def new_cache(self, batch: int, capacity: int) -> CompressedCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * (min(window, capacity) * head_dim + (capacity // compress + 2 *
        series * min(series * compress, capacity)) * (head_dim + index_head_dim)) * dtype_bytes``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and tokens of each.

        Returns
        -------
        CompressedCache
            In the dtype of the weights.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        sizes = ("head_dim", "window", "compress", "index_head_dim")
        kind: dict[str, Any] = {name: getattr(self.config, name) for name in sizes}
        return CompressedCache(
            batch, capacity=capacity, dtype=self.kv_proj.weight.dtype.name, **kind
        )

    def __call__(
        self,
        x: Array,
        *,
        cache: CompressedCache | None = None,
        positions: Array | None = None,
    ) -> Array:
        """Let each token gather from the last ones, and from entries of those before.

        ``out = turn_back(attention(q, [keys, entries], [keys, entries])) @ o_proj``

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens.
        cache : CompressedCache or None
            Keys and entries of the past, to which those of ``x`` are appended.
        positions : integer array (q_len,) or (batch, q_len), or None
            Positions of ``x``, -1 for padding; None continues the cache, or counts from 0.

        Returns
        -------
        array (batch, q_len, d_model)
            Gathered tokens; a padded token gets zeros.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        ConfigError
            If a row's positions don't count 0, 1, 2, … behind its padding.
        CacheOverflowError
            If the cache is full. After any error the cache is as it was.
        """
        check_tokens("x", x, self.kv_proj.weight)
        forward_pass = begin_pass(x, cache, positions)
        if cache is not None:
            check_cache(cache, self, len(x), x.dtype)
        out = self._run(x, forward_pass, cache)
        if cache is not None:
            forward_pass.transaction.commit()
        return out

    _checked_call = __call__

    @property
    def _parts(self) -> list[Compressor]:
        """What makes entries: the layer's own, and those of its indexer."""
        indexed = self.config.index_topk is not None
        return [self.compressor, *([self.compressor.indexer] if indexed else [])]

    def _run(self, x: Array, forward_pass: Pass, cache: Any) -> Array:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        asks, q = self._queries(x, forward_pass)
        k = self._turn(self.kv_norm._run(self.kv_proj._run(x))[:, None], forward_pass)
        found = self._entries(x, k, forward_pass, cache)
        entries, seen = found.entries[0], self._seen(q.shape[2], found, forward_pass)
        if self.config.index_topk is not None:
            asked = self.compressor.indexer._asked(x, asks, forward_pass)
            if entries.shape[2] > self.config.index_topk:
                scores = self.compressor.indexer._scores(asked, found.entries[1])
                entries, seen = self._chosen(entries, seen, scores)
        near = forward_pass.visibility(q, found.k, found, cache, self.config.window).whole()
        both = np.concatenate([found.k, entries], axis=2)
        visibility = Visibility(
            q.shape[2], both.shape[2], mask=_beside(near, seen, found.k, entries)
        )
        out = attend_in_full(q, both, both, visibility, self._scale, sinks=self.sinks).out
        return self._merged(self._turn(out, forward_pass, back=True))

    def _queries(self, x: Array, forward_pass: Pass) -> tuple[Array, Array]:
        """Make what queries are made from, and the queries (batch, n_heads, q_len, head_dim)."""
        asks = x
        if self.config.q_lora_rank is None:
            q = self.q_proj._run(x)
        else:
            asks = self.q_a_norm._run(self.q_a_proj._run(x))
            q = self.q_b_proj._run(asks)
        q = normalise_rms(split(q, self.config.n_heads), np.ones((), x.dtype), self.config.eps)
        return asks, self._turn(q, forward_pass)

    def _entries(self, x: Array, k: Array, forward_pass: Pass, cache: Any) -> CachedSpans:
        """Keys and entries that the tokens may read, from a cache or from themselves alone."""
        said = [part._said(x, forward_pass.positions) for part in self._parts]
        if cache is not None:
            (values, gates), *more = said
            index = more[0] if more else (None, None)
            own = values, forward_pass.given, forward_pass.transaction, gates
            cached: CachedSpans = cache._append(k, *own, *index, self._finish)
            return cached
        batch, seq, compress = len(x), x.shape[1], self.config.compress
        start = Filled(0, ())
        state = advanced(start, forward_pass.given, batch, seq)
        ends = closed(start, state, batch, compress, len(self._parts))
        entries = []
        for part, (values, gates) in enumerate(said):
            means = span_means(values, gates, ends)
            made = np.zeros((batch, 1, seq // compress, means.shape[1]), x.dtype)
            made[ends.rows, :, ends.spans] = self._finish(part, means, ends.spans)[:, None]
            entries.append(made)
        return CachedSpans(k, tuple(entries), forward_pass.positions, state.counted, state.counted)

    def _finish(self, part: int, means: Array, spans: Array) -> Array:
        """Entries of means, as they are kept."""
        return self._parts[part]._finish(means, spans)

    def _seen(self, q_len: int, found: CachedSpans, forward_pass: Pass) -> Array | None:
        """Return which entries are complete for whom, as a mask; None if all are."""
        if q_len == 1 and found.last_sees_all:
            return None
        complete = (np.atleast_2d(forward_pass.positions) + 1) // self.config.compress
        return complete[:, None, :, None] > np.arange(found.entries[0].shape[2])

    def _chosen(
        self, entries: Array, seen: Array | None, scores: Array
    ) -> tuple[Array, Array | None]:
        """Entries to read, and who of the queries reads which: a lone one gathers its own."""
        topk = self.config.index_topk or 0
        if seen is not None:
            scores = np.where(seen[:, 0], scores, -np.inf)
        if scores.shape[1] > 1:
            chosen = chosen_keys(scores, topk)[:, None]
            return entries, chosen if seen is None else seen & chosen
        places = top_indices(scores[:, 0], topk)[:, None]  # (batch, 1, index_topk)
        if seen is not None:
            full = np.broadcast_to(seen, (len(scores), *seen.shape[1:]))
            seen = np.take_along_axis(full, places[:, :, None], axis=3)
        return np.take_along_axis(entries, places[..., None], axis=2), seen

    def _merged(self, out: Array) -> Array:
        """The heads (batch, n_heads, q_len, head_dim) projected back."""
        groups = self.config.o_groups
        if groups is None:
            return self.o_proj._run(merge(out))
        batch, _, q_len, _ = out.shape
        parts = merge(out).reshape(batch, q_len, groups, -1).swapaxes(1, 2)
        weight = self.o_a_proj.weight.reshape(groups, -1, parts.shape[3])
        return self.o_b_proj._run(merge(parts @ weight.swapaxes(1, 2)))


def _beside(near: Array | None, seen: Array | None, k: Array, entries: Array) -> Array | None:
    """One mask of keys and entries; None where all are seen."""
    if near is None and seen is None:
        return None
    known = [mask for mask in (near, seen) if mask is not None]
    rows = max(len(mask) for mask in known), 1, known[0].shape[2]
    masks = [
        np.broadcast_to(np.True_ if mask is None else mask, (*rows, array.shape[2]))
        for mask, array in ((near, k), (seen, entries))
    ]
    return np.concatenate(masks, axis=3)
