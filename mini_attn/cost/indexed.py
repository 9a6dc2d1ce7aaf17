"""What attention to chosen keys costs: the choice looks at all keys, the products at a few."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.heads import HeadsCost
from mini_attn.cost.work import attention_flops, computed_pairs
from mini_attn.shapes import check_count

__all__ = ["IndexedCost", "block_reads", "indexer_flops"]


def indexer_flops(index_n_heads: int, index_head_dim: int, *, pairs: int = 1) -> int:
    """FLOPs of the scores by which an indexer chooses.

    ``2 * pairs * index_n_heads * (index_head_dim + 1)``

    Parameters
    ----------
    index_n_heads, index_head_dim : int
        Heads of the indexer, size of their queries and of the key that they share.
    pairs : int
        Pairs of a token and a key that are scored.

    Returns
    -------
    int
        FLOPs of the products and of the weighted sum over heads.

    Raises
    ------
    ConfigError
        If a count is below 1.

    Notes
    -----
    Every token is compared with every key before it: the choice stays quadratic, at a price of
    its own.

    References
    ----------
    deepseek2025v32, equation 1

    Examples
    --------
    >>> indexer_flops(64, 128)
    16512
    """
    check_count("pairs", pairs)
    each = check_count("index_head_dim", index_head_dim) + 1
    return 2 * pairs * check_count("index_n_heads", index_n_heads) * each


def block_reads(
    context: int, *, span: int, stride: int, block_size: int, n_blocks: int, window: int
) -> int:
    """Keys that one query reads where it chooses blocks by keys that stand for spans of tokens.

    ``(context - span) // stride + 1 + n_blocks * block_size + window``

    Parameters
    ----------
    context : int
        Tokens so far.
    span, stride : int
        Tokens that one compressed key stands for, and tokens between the beginnings of two.
    block_size, n_blocks : int
        Tokens of a block that is chosen, and how many are.
    window : int
        Newest keys that are read as well.

    Returns
    -------
    int
        Compressed keys, chosen ones and those of the window; of none more than there are.

    Raises
    ------
    ConfigError
        If a count is below 1.

    Notes
    -----
    The compressed keys still grow with the context, at one for each stride.

    References
    ----------
    yuan2025nsa, section 3.3

    Examples
    --------
    >>> block_reads(65_536, span=32, stride=16, block_size=64, n_blocks=16, window=512)
    5631
    """
    sizes = {"context": context, "span": span, "stride": stride, "block_size": block_size}
    for name, size in (sizes | {"n_blocks": n_blocks, "window": window}).items():
        check_count(name, size)
    compressed = (context - span) // stride + 1 if context >= span else 0
    return compressed + min(n_blocks * block_size, context) + min(window, context)


class IndexedCost(HeadsCost):
    """Costs of one layer whose tokens read the keys that an indexer chooses.

    A lone token gathers its keys; of several each has its own, and they are masked. Where there
    are no more keys than are chosen, the indexer's scores are left out.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sizes = SimpleNamespace(index_n_heads=2, index_head_dim=4, index_topk=8)
    >>> IndexedCost().pairs(sizes, 1, 100, "full", None)
    8
    """

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a key whose scores the softmax takes."""
        few = model.index_topk if q_len == 1 or causal == "exact" else window
        return computed_pairs(q_len, kv_len, causal, few)

    def flops(
        self,
        model: Any,
        *,
        q_len: int,
        kv_len: int,
        batch: int = 1,
        causal: str = "full",
        form: str | None = None,
        window: int | None = None,
    ) -> dict[str, int]:
        """FLOPs by part: as of heads, and ``indexer``, the scores that choose."""
        sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "causal": causal}
        few = model.index_topk if q_len == 1 or causal == "exact" else None
        heads = {key: getattr(model, key) for key in ("n_heads", "head_dim", "v_head_dim")}
        met = attention_flops(**sizes, **heads, window=few)
        scored = computed_pairs(**sizes, window=None) if kv_len > model.index_topk else 0
        each = indexer_flops(model.index_n_heads, model.index_head_dim)
        parts = super().flops(model, **sizes, batch=batch)
        parts["projections"] += 2 * batch * q_len * model.d_model * self._index_width(model)
        return (
            parts | {key: batch * n for key, n in met.items()} | {"indexer": batch * scored * each}
        )

    def parameters(self, model: Any) -> int:
        """Weights and biases, those of the indexer and of its key's norm included."""
        own = model.d_model * self._index_width(model) + 2 * model.index_head_dim
        return super().parameters(model) + int(own)

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take."""
        return super().normed(model) + int(model.index_head_dim)

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer."""
        heads = model.n_kv_heads * (model.head_dim + model.v_head_dim)
        if kv_len <= model.index_topk:  # there is nothing to choose
            return int(kv_len * heads)
        few = model.index_topk if q_len == 1 else kv_len
        return int(few * heads + kv_len * model.index_head_dim)

    def activation_values(
        self, model: Any, *, q_len: int, kv_len: int, batch: int, fused: bool
    ) -> dict[str, int]:
        """Numbers that the products read and write beside weights and cache, by part."""
        sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
        parts = super().activation_values(model, **sizes, fused=fused)
        asked = batch * q_len * model.index_n_heads * (model.index_head_dim + 1)
        parts["projections"] += asked
        return parts | {"attention": parts["attention"] + asked}

    def _index_width(self, model: Any) -> int:
        """Numbers that a token is projected to for the indexer: queries, a key, head weights."""
        return int(model.index_n_heads * (model.index_head_dim + 1) + model.index_head_dim)
