"""What native sparse attention costs: means of all blocks, a few blocks whole, and a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.cost.heads import HeadsCost
from mini_attn.cost.work import computed_pairs, visible_pairs
from mini_attn.shapes import check_count

__all__ = ["NativeSparseCost", "branch_pairs"]


def branch_pairs(
    q_len: int,
    kv_len: int,
    *,
    block_size: int,
    n_blocks: int,
    window: int,
    causal: str = "exact",
) -> dict[str, int]:
    """Pairs of a query and a key, or a block's mean, that the three branches take.

    ``compressed = t // block_size;  selected = min(t, (n_blocks - 1) * block_size + own);
    window = min(t, window), summed over the queries' numbers of tokens t``

    Parameters
    ----------
    q_len, kv_len : int
        Queries, which are the last of the keys, and keys.
    block_size, n_blocks : int
        Tokens of a block, and blocks that a query reads whole; of its own, which is one of them,
        the ``own = (t - 1) % block_size + 1`` tokens up to itself.
    window : int
        Newest keys that are read as well.
    causal : {"full", "exact"}
        Whether several queries compute all pairs and hide what they do not read, or only the
        pairs that count are counted. A lone query gathers, and both are the same.

    Returns
    -------
    dict
        ``compressed``, ``selected`` and ``window``.

    Raises
    ------
    ConfigError
        If a count is below 1, there are more queries than keys, or ``causal`` is unknown.

    Notes
    -----
    The means grow with the context, at one for each block; the rest does not. `block_reads`
    counts the whole of the query's own block.

    References
    ----------
    yuan2025nsa, section 3.3

    Examples
    --------
    >>> branch_pairs(1, 65_536, block_size=64, n_blocks=16, window=512)
    {'compressed': 1024, 'selected': 1024, 'window': 512}
    """
    for name, size in (("block_size", block_size), ("n_blocks", n_blocks), ("window", window)):
        check_count(name, size)
    square = computed_pairs(q_len, kv_len, causal, None)  # checks lengths and rule
    if causal == "full" and q_len > 1:
        return {"compressed": q_len * (kv_len // block_size), "selected": square, "window": square}
    tokens = np.arange(kv_len - q_len + 1, kv_len + 1)  # that each query may look back on
    own = (tokens - 1) % block_size + 1
    return {
        "compressed": int((tokens // block_size).sum()),
        "selected": int(np.minimum(tokens, (n_blocks - 1) * block_size + own).sum()),
        "window": visible_pairs(q_len, kv_len, window=window),
    }


class NativeSparseCost(HeadsCost):
    """Costs of one layer of native sparse attention.

    A lone token gathers what it reads; of several each has its own, and the rest is masked.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sizes = SimpleNamespace(block_size=8, n_blocks=2, window=4)
    >>> NativeSparseCost().pairs(sizes, 1, 80, "full", None)
    30
    """

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a key or mean whose scores a softmax takes, in all branches."""
        return sum(self._pairs(model, q_len, kv_len, causal).values())

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
        """FLOPs by part: as of heads, ``compressed``, the branch of the means, and ``gates``."""
        parts = super().flops(model, q_len=q_len, kv_len=kv_len, batch=batch)
        pairs = self._pairs(model, q_len, kv_len, causal)
        each, read = 2 * batch * model.n_heads, pairs["selected"] + pairs["window"]
        return {
            "projections": parts["projections"],
            "gates": 2 * batch * q_len * model.d_model * 3 * model.n_heads,
            "compressed": each * (model.head_dim + model.v_head_dim) * pairs["compressed"],
            "scores": each * model.head_dim * read,
            "weighted sum": each * model.v_head_dim * read,
            "output": parts["output"],
        }

    def parameters(self, model: Any) -> int:
        """Weights and biases, those of the gates included."""
        return super().parameters(model) + int(3 * model.n_heads * model.d_model)

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer.

        A lone token reads a key once for each branch that takes it, and a mean as a key.
        """
        if q_len == 1:
            rows = self.pairs(model, 1, kv_len, "exact", None)
        else:
            rows = kv_len + kv_len // model.block_size
        return int(rows * model.n_kv_heads * (model.head_dim + model.v_head_dim))

    def activation_values(
        self, model: Any, *, q_len: int, kv_len: int, batch: int, fused: bool
    ) -> dict[str, int]:
        """Numbers that the products read and write beside weights and cache, by part."""
        sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
        parts = super().activation_values(model, **sizes, fused=fused)
        gates = 3 * batch * q_len * model.n_heads
        scores = batch * model.n_heads * self.pairs(model, q_len, kv_len, "full", None)
        return parts | {
            "projections": parts["projections"] + gates,
            "attention": 3 * parts["attention"] + gates,  # each branch asks and answers
            "scores": 0 if fused else 4 * scores,
        }

    def _pairs(self, model: Any, q_len: int, kv_len: int, causal: str) -> dict[str, int]:
        """`branch_pairs` of a model's sizes."""
        names = ("block_size", "n_blocks", "window")
        return branch_pairs(q_len, kv_len, causal=causal, **{n: getattr(model, n) for n in names})
