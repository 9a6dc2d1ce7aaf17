"""What attention with keys and values of heads costs: one layer, asked through the registry."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.memory import keys_at_hand, numbers_held
from mini_attn.cost.work import attention_flops, computed_pairs

__all__ = ["HeadsCost"]


class HeadsCost:
    """Costs of one layer whose cache holds keys and values of heads.

    An entry of the registry names this class, or one with the same methods; a variant that
    differs in one of them inherits the others. Everywhere ``model`` has the sizes by name.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> from mini_attn.variants import variant
    >>> variant("gqa").costs().parameters(MODELS["llama-3-8b"])
    41943040
    """

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
        """FLOPs by part: ``projections``, ``scores``, ``weighted sum`` and ``output``."""
        rows, d_model = batch * q_len, model.d_model
        heads = {key: getattr(model, key) for key in ("n_heads", "head_dim", "v_head_dim")}
        pairs = attention_flops(q_len, kv_len, **heads, causal=causal, window=window)
        return {
            "projections": 2 * rows * d_model * self._projected(model),
            **{part: batch * flops for part, flops in pairs.items()},
            "output": 2 * rows * model.n_heads * model.v_head_dim * d_model,
        }

    def parameters(self, model: Any) -> int:
        """Weights and biases, norms of queries and keys and sinks included."""
        d_model, rows = model.d_model, self._projected(model)
        out = model.n_heads * model.v_head_dim * d_model
        biases = rows * (model.biases in ("qkv", "attention", "all"))
        biases += d_model * (model.biases in ("attention", "all"))
        normed = 1 if model.reads_kv else 2
        norms = {"none": 0, "head": normed * model.head_dim, "width": self._queries_and_keys(model)}
        sinks = model.n_heads if model.sinks else 0
        return int(d_model * rows + out + biases + norms[model.qk_norm] + sinks)

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take."""
        normed = 0 if model.qk_norm == "none" else self._queries_and_keys(model)
        values = 0 if model.reads_kv or not model.v_norm else model.n_kv_heads * model.v_head_dim
        return int(normed + values)

    def dims_per_pair(self, model: Any) -> tuple[float, float]:
        """Numbers that a head multiplies for one cached token: for its score, and to sum up."""
        return model.head_dim, model.v_head_dim

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a key whose scores the softmax takes."""
        return computed_pairs(q_len, kv_len, causal, window)

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer."""
        return numbers_held(model, keys_at_hand(q_len, kv_len, window))

    def activation_values(
        self, model: Any, *, q_len: int, kv_len: int, batch: int, fused: bool
    ) -> dict[str, int]:
        """Numbers that the products read and write beside weights and cache, by part."""
        rows, d_model = batch * q_len, model.d_model
        queries, outputs = model.n_heads * model.head_dim, model.n_heads * model.v_head_dim
        return {
            "projections": rows * (d_model + queries + self._gates(model)),
            "attention": rows * (queries + outputs),
            "scores": 0 if fused else 4 * batch * model.n_heads * q_len * kv_len,
            "output": rows * (outputs + d_model),
        }

    def _queries_and_keys(self, model: Any) -> int:
        """Numbers of a token's queries and of the keys that the layer makes."""
        keys = 0 if model.reads_kv else model.n_kv_heads
        return int((model.n_heads + keys) * model.head_dim)

    def _projected(self, model: Any) -> int:
        """Numbers that a token is projected to: queries, keys and values that it makes, gates."""
        values = 0 if model.reads_kv or model.k_eq_v else model.n_kv_heads * model.v_head_dim
        return self._queries_and_keys(model) + int(values) + self._gates(model)

    def _gates(self, model: Any) -> int:
        """Numbers of a token that multiply what its heads gather."""
        return int(model.n_heads * model.v_head_dim) if model.out_gate else 0
