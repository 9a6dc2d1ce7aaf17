"""What entries that stand for several tokens cost: a window, entries, and what makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.cost.heads import HeadsCost
from mini_attn.cost.indexed import indexer_flops
from mini_attn.cost.memory import keys_at_hand
from mini_attn.cost.work import computed_pairs
from mini_attn.shapes import check_count

__all__ = ["CompressedCost", "entry_pairs"]


def entry_pairs(
    q_len: int,
    kv_len: int,
    *,
    window: int,
    compress: int,
    index_topk: int | None = None,
    causal: str = "exact",
) -> dict[str, int]:
    """Pairs of a query and a key of its window, an entry that it reads, and one that it scores.

    ``window = min(t, window);  entries = min(t // compress, index_topk);  scored = t // compress,
    summed over the queries' numbers of tokens t``

    Parameters
    ----------
    q_len, kv_len : int
        Queries, which are the last of the tokens, and tokens.
    window, compress : int
        Last tokens that are read as such, and tokens that an entry stands for.
    index_topk : int or None
        Entries that a query reads at the most; None reads all and scores none.
    causal : {"full", "exact"}
        Whether several queries compute all pairs and hide what they do not read, or only the
        pairs that count are counted. A lone query gathers, and both are the same.

    Returns
    -------
    dict
        ``window``, ``entries`` and ``scored``; nothing is scored where all are read.

    Raises
    ------
    ConfigError
        If a count is below 1, there are more queries than tokens, or ``causal`` is unknown.

    Notes
    -----
    Of a million tokens a query of DeepSeek-V4-Flash reads 128 keys and 512 entries in one kind of
    layer, and 128 keys and 7,812 entries in the other.

    References
    ----------
    deepseek2026v4, section 2.3

    Examples
    --------
    >>> entry_pairs(1, 1_000_000, window=128, compress=4, index_topk=512)
    {'window': 128, 'entries': 512, 'scored': 250000}
    >>> entry_pairs(1, 1_000_000, window=128, compress=128)
    {'window': 128, 'entries': 7812, 'scored': 0}
    """
    near = computed_pairs(q_len, kv_len, causal, check_count("window", window))  # checks the rest
    entries = kv_len // check_count("compress", compress)
    chooses = index_topk is not None and entries > check_count("index_topk", index_topk)
    if causal == "full" and q_len > 1:
        every = q_len * entries
        return {"window": near, "entries": every, "scored": every if chooses else 0}
    complete = np.arange(kv_len - q_len + 1, kv_len + 1) // compress
    read = np.minimum(complete, index_topk) if index_topk is not None else complete
    scored = int(complete.sum()) if chooses else 0
    return {"window": near, "entries": int(read.sum()), "scored": scored}


class CompressedCost(HeadsCost):
    """Costs of one layer whose spans of tokens leave entries; a span of 0 leaves a window alone.

    A lone token gathers the entries that it reads; of several each has its own, and they are
    masked. What tokens said to their entries is read once, when these are made: it counts evenly.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sizes = SimpleNamespace(window=4, compress=2, index_topk=3)
    >>> CompressedCost().pairs(sizes, 1, 100, "full", None)
    7
    """

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a key or entry whose scores the softmax takes."""
        met = self._pairs(model, q_len, kv_len, causal)
        return met["window"] + met["entries"]

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
        """FLOPs by part: as of heads, and ``indexer``, the scores that choose, if any do."""
        met = self._pairs(model, q_len, kv_len, causal)
        each = 2 * batch * model.n_heads * model.head_dim * (met["window"] + met["entries"])
        parts = {
            "projections": 2 * batch * q_len * self._into(model),
            "scores": each,
            "weighted sum": each,
            "output": 2 * batch * q_len * self._out(model),
        }
        if met["scored"]:
            scored = indexer_flops(model.index_n_heads, model.index_head_dim)
            parts["indexer"] = batch * met["scored"] * scored
        return parts

    def parameters(self, model: Any) -> int:
        """Weights, norms, places in a span and sinks."""
        widths = self._made(model)
        places = model.compress * self._series(model) * widths
        norms = model.q_lora_rank + model.head_dim + widths  # those of queries have no weight
        sinks = model.n_heads if model.sinks else 0
        return int(self._into(model) + self._out(model) + places + norms + sinks)

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take; of an entry those of one."""
        entries = self._made(model) // max(1, model.compress)
        return int(model.q_lora_rank + (model.n_heads + 1) * model.head_dim + entries)

    def dims_per_pair(self, model: Any) -> tuple[float, float]:
        """Numbers that a head multiplies for one cached token, its share of an entry."""
        share = model.head_dim / model.compress if model.compress else 0.0
        return share, share

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer; a key is its value."""
        entries = kv_len // model.compress if model.compress else 0
        scored = entries if model.index_topk and entries > model.index_topk else 0
        read = min(entries, model.index_topk) if scored and q_len == 1 else entries
        keys = keys_at_hand(q_len, kv_len, model.window)
        waiting = 2 * q_len * self._series(model) * self._made(model)
        return int((keys + read) * model.head_dim + scored * model.index_head_dim + waiting)

    def activation_values(
        self, model: Any, *, q_len: int, kv_len: int, batch: int, fused: bool
    ) -> dict[str, int]:
        """Numbers that the products read and write beside weights and cache, by part."""
        sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
        parts = super().activation_values(model, **sizes, fused=fused)
        rows = batch * q_len
        asked = rows * model.index_n_heads * (model.index_head_dim + 1)
        scores = batch * model.n_heads * self.pairs(model, q_len, kv_len, "full", None)
        return parts | {
            "projections": parts["projections"] + 2 * rows * model.q_lora_rank + asked,
            "attention": parts["attention"] + asked,
            "scores": 0 if fused else 4 * scores,
            "output": parts["output"] + 2 * rows * model.o_groups * model.o_lora_rank,
        }

    def _pairs(self, model: Any, q_len: int, kv_len: int, causal: str) -> dict[str, int]:
        """`entry_pairs` of a model's sizes; of a window alone there are no entries."""
        if not model.compress:
            near = computed_pairs(q_len, kv_len, causal, model.window)
            return {"window": near, "entries": 0, "scored": 0}
        sizes = {"window": model.window, "compress": model.compress}
        return entry_pairs(
            q_len, kv_len, **sizes, index_topk=model.index_topk or None, causal=causal
        )

    def _made(self, model: Any) -> int:
        """Numbers of an entry, and of an indexer's; 0 where a layer has a window alone."""
        return int(model.head_dim + model.index_head_dim) if model.compress else 0

    def _series(self, model: Any) -> int:
        """Entries to which each token adds."""
        return 2 if model.index_topk else 1

    def _into(self, model: Any) -> int:
        """Weights by which a token becomes queries, a key, values and gates."""
        d_model, rank, heads = model.d_model, model.q_lora_rank, model.n_heads * model.head_dim
        index_heads = model.index_n_heads * model.index_head_dim
        asks = rank or d_model  # numbers that queries are made from
        queries = d_model * rank + asks * (heads + index_heads) + d_model * model.index_n_heads
        said = 2 * self._series(model) * self._made(model)
        return int(queries + d_model * (model.head_dim + said))

    def _out(self, model: Any) -> int:
        """Weights by which heads become a token again."""
        heads, middle = model.n_heads * model.head_dim, model.o_groups * model.o_lora_rank
        if not middle:
            return int(heads * model.d_model)
        return int(heads * model.o_lora_rank + middle * model.d_model)
