"""What must be equal: the lattice of attention's forms, executed, with the largest difference.

Each function takes a backend, ``mini_attn.numpy`` or ``mini_attn.torch``, and the name of a data
type, and computes the same thing in two ways. The tests bound what comes out; the book shows it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from mini_attn.config import AttentionConfig, LatentConfig, RopeConfig

__all__ = ["DTYPES", "EQUIVALENCES", "largest_error"]

DTYPES = {
    "numpy": ("float64", "float32", "float16"),
    "torch": ("float64", "float32", "bfloat16", "float16"),
}

BATCH, SEQ, D_MODEL = 2, 13, 16
ROPE = RopeConfig("half")
Pair = tuple[Any, Any]


class _Case:
    """Random inputs and layers of one backend and one data type."""

    def __init__(self, backend: Any, dtype: str) -> None:
        self.lib, self.dtype = backend, dtype
        self.np = importlib.import_module("numpy")
        self.rng = self.np.random.default_rng(7)
        self.name = backend.__name__.rpartition(".")[2]

    def array(self, values: Any) -> Any:
        """Floating-point numbers in the case's type."""
        if self.name == "numpy":
            return values.astype(self.dtype)
        torch = importlib.import_module("torch")
        return torch.from_numpy(values).to(getattr(torch, self.dtype))

    def normal(self, *shape: int) -> Any:
        """Random numbers of size 1."""
        return self.array(self.rng.standard_normal(shape))

    def concatenate(self, parts: list[Any], axis: int) -> Any:
        """Parts put together."""
        if self.name == "numpy":
            return self.np.concatenate(parts, axis=axis)
        return importlib.import_module("torch").cat(parts, dim=axis)

    def layer(self, kind: str, config: Any) -> Any:
        """A layer whose outputs have size 1, the same for equal shapes."""
        layer = getattr(self.lib, kind)(config, dtype=self.dtype)
        rng = self.np.random.default_rng(5)
        layer.load_state_dict(
            {
                name: self.array(rng.standard_normal(tuple(w.shape)) * w.shape[-1] ** -0.5)
                for name, w in layer.state_dict().items()
            }
        )
        return layer

    def tokens(self) -> Any:
        """Input of a layer."""
        return self.normal(BATCH, SEQ, D_MODEL)

    def heads(self, n_heads: int = 4, n_kv_heads: int = 4) -> tuple[Any, Any, Any]:
        """Queries, keys and values."""
        kv = (BATCH, n_kv_heads, SEQ, 8)
        return self.normal(BATCH, n_heads, SEQ, 8), self.normal(*kv), self.normal(*kv)

    def chunked(self, layer: Any, x: Any, cache: Any, sizes: tuple[int, ...]) -> Any:
        """The layer's output, some tokens at a time."""
        parts, start = [], 0
        for size in sizes:
            parts.append(layer(x[:, start : start + size], cache=cache))
            start += size
        return self.concatenate(parts, 1)


def _grouped(n_kv_heads: int = 2, **options: Any) -> AttentionConfig:
    return AttentionConfig(D_MODEL, 4, 8, n_kv_heads=n_kv_heads, rope=ROPE, **options)


def _loop(case: _Case) -> Iterator[Pair]:
    q, k, v = case.heads()
    attend = case.lib.scaled_dot_product_attention
    one_by_one = [
        attend(*(a[:, h : h + 1] for a in (q, k, v)), causal=True) for h in range(q.shape[1])
    ]
    yield case.concatenate(one_by_one, 1), attend(q, k, v, causal=True)


def _grouped_ends(case: _Case) -> Iterator[Pair]:
    x = case.tokens()
    for kind, n_kv_heads in (("MultiHeadAttention", 4), ("MultiQueryAttention", 1)):
        config = _grouped(n_kv_heads)
        yield case.layer("GroupedQueryAttention", config)(x), case.layer(kind, config)(x)


def _latent_forms(case: _Case) -> Iterator[Pair]:
    rope = RopeConfig("interleaved")
    for q_lora_rank in (None, 6):
        config = LatentConfig(D_MODEL, 4, 8, 6, 4, 6, rope=rope, q_lora_rank=q_lora_rank)
        layer, x = case.layer("MultiHeadLatentAttention", config), case.tokens()
        yield layer(x, form="absorbed"), layer(x, form="expanded")


def _cached(case: _Case) -> Iterator[Pair]:
    x = case.tokens()
    latent = LatentConfig(D_MODEL, 4, 8, 6, 4, 6, rope=RopeConfig("interleaved"))
    layers = [
        case.layer("GroupedQueryAttention", _grouped()),
        case.layer("GroupedQueryAttention", AttentionConfig(D_MODEL, 4, 8, alibi=True)),
        case.layer("SlidingWindowAttention", _grouped(window=5)),
        case.layer("MultiHeadLatentAttention", latent),
    ]
    for layer in layers:
        for sizes in ((1,) * SEQ, (5, 1, 7), (2, 3, 8)):
            yield case.chunked(layer, x, layer.new_cache(BATCH, SEQ), sizes), layer(x)


def _online(case: _Case) -> Iterator[Pair]:
    q, k, v = case.heads(4, 2)
    plain = case.lib.scaled_dot_product_attention(q, k, v, causal=True)
    for block in (1, 2, 3, 5, 8, 13, 64):
        tiled, _ = case.lib.online_attention(q, k, v, causal=True, block_q=block, block_k=block)
        yield tiled, plain


def _merged(case: _Case) -> Iterator[Pair]:
    q, k, v = case.heads(4, 2)
    attend = case.lib.scaled_dot_product_attention
    for cut in (1, 6, 12):
        first, second = (
            attend(q, k[:, :, part], v[:, :, part], return_lse=True)
            for part in (slice(0, cut), slice(cut, None))
        )
        yield case.lib.merge_attention(*first, *second)[0], attend(q, k, v)


def _wide_window(case: _Case) -> Iterator[Pair]:
    x, full = case.tokens(), case.layer("GroupedQueryAttention", _grouped())
    for window in (SEQ, SEQ + 9):
        yield case.layer("SlidingWindowAttention", _grouped(window=window))(x), full(x)


def _other_caches(case: _Case) -> Iterator[Pair]:
    """Pages, a fork, a cropped cache and a window in a plain cache, against the plain one."""
    layer, x = case.layer("GroupedQueryAttention", _grouped()), case.tokens()
    plain = case.chunked(layer, x, layer.new_cache(BATCH, SEQ), (6, 1, 6))
    pool = case.lib.BlockPool(16, 2, 8, block_size=3, dtype=case.dtype)
    yield case.chunked(layer, x, case.lib.PagedKVCache(pool, BATCH), (6, 1, 6)), plain
    cache = layer.new_cache(BATCH, SEQ)
    head = layer(x[:, :6], cache=cache)
    fork = cache.fork()
    layer(case.tokens()[:, :4], cache=cache)
    yield case.concatenate([head, case.chunked(layer, x[:, 6:], fork, (1, 6))], 1), plain
    cache.crop(6)
    yield case.concatenate([head, case.chunked(layer, x[:, 6:], cache, (1, 6))], 1), plain
    windowed = case.layer("SlidingWindowAttention", _grouped(window=4))
    kept = case.lib.KVCache(BATCH, 2, 8, SEQ, dtype=case.dtype)
    ring = windowed.new_cache(BATCH, SEQ)
    yield tuple(case.chunked(windowed, x, cache, (6, 1, 6)) for cache in (ring, kept))


EQUIVALENCES: dict[str, Callable[[Any], Iterator[Pair]]] = {
    "heads one by one = all together": _loop,
    "GQA at its ends = MHA, MQA": _grouped_ends,
    "MLA absorbed = expanded": _latent_forms,
    "cached, any chunks = full pass": _cached,
    "tiled, any block = plain": _online,
    "parts merged = whole": _merged,
    "window of all tokens = no window": _wide_window,
    "pages, fork, crop, ring = plain cache": _other_caches,
}


def largest_error(name: str, backend: Any, dtype: str) -> float:
    """The largest difference between two ways to compute the same.

    ``max |first - second|``, outputs being of size 1

    Parameters
    ----------
    name : str
        A key of ``EQUIVALENCES``.
    backend : module
        ``mini_attn.numpy`` or ``mini_attn.torch``.
    dtype : str
        One of the backend's ``DTYPES``.

    Returns
    -------
    float
        Over all cases of the equivalence; 0 where they agree to the last bit.

    Raises
    ------
    KeyError
        If there is no such equivalence.
    DTypeError
        If the backend has no such type.

    Examples
    --------
    >>> import mini_attn.numpy as ma
    >>> largest_error("tiled, any block = plain", ma, "float64") < 1e-14
    True
    """
    largest = 0.0
    for first, second in EQUIVALENCES[name](_Case(backend, dtype)):
        largest = max(largest, float(abs(_wide(first) - _wide(second)).max()))
    return largest


def _wide(array: Any) -> Any:
    """In double precision and without gradients."""
    return array.astype("float64") if hasattr(array, "astype") else array.detach().double()
