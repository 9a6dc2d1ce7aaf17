"""What latent attention to indexed tokens costs: a choice among all tokens, latents of a few."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.indexed import indexer_flops
from mini_attn.cost.latent import LatentCost, latent_flops
from mini_attn.cost.work import computed_pairs

__all__ = ["IndexedLatentCost"]


class IndexedLatentCost(LatentCost):
    """Costs of one layer whose tokens read the latents that an indexer chooses.

    A lone token gathers its latents; of several each has its own, and they are masked. Where there
    are no more tokens than are chosen, the indexer's scores are left out.

    References
    ----------
    deepseek2025v32, section 2.1

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> IndexedLatentCost().read(MODELS["deepseek-v3.2"], 1, 100_000, None) == (
    ...     2048 * 576 + 100_000 * 128)
    True
    """

    def flops(self, model: Any, *, window: int | None = None, **sizes: Any) -> dict[str, int]:
        """FLOPs by part: as of latents, and ``indexer``, the scores that choose."""
        q_len, kv_len = sizes["q_len"], sizes["kv_len"]
        batch, causal = sizes.get("batch", 1), sizes.get("causal", "full")
        at_hand = min(kv_len, model.index_topk) if q_len == 1 else kv_len
        parts = latent_flops(model, **sizes | {"kv_len": at_hand})
        every = computed_pairs(q_len, at_hand, causal, None)
        met = self.pairs(model, q_len, kv_len, causal, window)
        for part in ("scores", "weighted sum"):
            parts[part] = parts[part] // every * met
        choosing = kv_len > model.index_topk
        scored = computed_pairs(q_len, kv_len, causal, None) if choosing else 0
        each = indexer_flops(model.index_n_heads, model.index_head_dim)
        parts["projections"] += 2 * batch * q_len * self._index_weights(model)
        return parts | {"indexer": batch * scored * each}

    def parameters(self, model: Any) -> int:
        """Weights and norms, those of the indexer and the bias of its key's norm included."""
        own = self._index_weights(model) + model.index_head_dim
        return super().parameters(model) + int(own)

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take."""
        return super().normed(model) + int(model.index_head_dim)

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a token whose scores the softmax takes."""
        few = model.index_topk if q_len == 1 or causal == "exact" else None
        return computed_pairs(q_len, kv_len, causal, few)

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer."""
        latent = model.kv_lora_rank + model.qk_rope_head_dim
        if kv_len <= model.index_topk:  # there is nothing to choose
            return int(kv_len * latent)
        few = model.index_topk if q_len == 1 else kv_len
        return int(few * latent + kv_len * model.index_head_dim)

    def _index_weights(self, model: Any) -> int:
        """Weights of the indexer: queries from their latent, a key, and what each head counts."""
        heads, size = model.index_n_heads, model.index_head_dim
        asks = model.q_lora_rank or model.d_model
        return int(asks * heads * size + model.d_model * (heads + size))
