"""What linear attention costs: one layer with a state, asked through the registry."""

from __future__ import annotations

from typing import Any

from mini_attn.config.linear import KINDS
from mini_attn.cost.heads import HeadsCost
from mini_attn.cost.memory import numbers_held
from mini_attn.cost.recurrence import recurrence_flops

__all__ = ["LinearCost"]


class LinearCost(HeadsCost):
    """Costs of one layer that keeps a state; nothing in them depends on the tokens before.

    A lone token runs the recurrent form, several the chunked one. Convolutions, decays and gates
    are elementwise and don't count.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sizes = SimpleNamespace(attention="gated_delta", n_heads=4, n_key_heads=2, head_dim=8,
    ...     v_head_dim=16, conv_kernel=4, d_model=32)
    >>> costs = LinearCost()
    >>> [costs.read(sizes, 1, context, None) for context in (10, 1_000_000)]
    [800, 800]
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
        """FLOPs by part: as of heads, ``write``, and ``solve`` where tokens correct each other.

        ``scores`` are pairs within a chunk, ``weighted sum`` is what a token gathers from its
        chunk and from the state, and ``write`` what goes into the state.
        """
        rows, rule = batch * q_len, KINDS[model.attention]
        parts = recurrence_flops(
            q_len,
            n_heads=model.n_heads,
            key_dim=model.head_dim,
            v_head_dim=model.v_head_dim,
            form="recurrent" if q_len == 1 else "chunked",
            delta_rule=rule.delta,
            per_channel=rule.decay == "channel",
            causal=causal,
            return_state=True,
        )
        into = sum(size * rows_of for size, rows_of in self._into(model))
        values = model.n_heads * model.v_head_dim
        found = {
            "projections": 2 * rows * into,
            "scores": batch * parts["pairs"],
            "weighted sum": batch * (parts["weighted sum"] + parts["read"]),
            "write": batch * parts["write"],
            "output": 2 * rows * values * model.d_model,
        }
        return found | ({"solve": batch * parts["solve"]} if rule.delta and q_len > 1 else {})

    def parameters(self, model: Any) -> int:
        """Weights and biases, convolutions, decays and the norm of the output included."""
        rule, values = KINDS[model.attention], model.n_heads * model.v_head_dim
        weights = sum(size * rows for size, rows in self._into(model)) + values * model.d_model
        if model.biases in ("qkv", "attention", "all"):
            weights += sum(rows for _, rows in self._into(model))
        if model.biases in ("attention", "all"):
            weights += model.d_model
        config = getattr(model, "linear", None)  # of a hybrid; else all is as usual for the kind
        if model.conv_kernel > 1:
            taps = model.conv_kernel + (1 if config and config.conv_bias else 0)
            weights += taps * (2 * self._keys(model) + values)
        if rule.decay == "channel":
            weights += model.n_heads + model.n_heads * model.head_dim
        elif rule.decay == "head":
            weights += 2 * model.n_heads
        weights += model.n_heads if model.attention == "mamba2" else 0
        over = config.norm_over if config else rule.norm_over
        return int(weights + (model.v_head_dim if over == "head" else values))

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take."""
        unit = 2 * self._keys(model) if KINDS[model.attention].delta else 0
        return int(unit + model.n_heads * model.v_head_dim)

    def dims_per_pair(self, model: Any) -> tuple[float, float]:
        """Numbers that a head multiplies in a step: to read its state, and to write it."""
        state = model.head_dim * model.v_head_dim
        return state * (2 if KINDS[model.attention].delta else 1), state

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs whose scores a softmax takes: none."""
        return 0

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's state that a pass reads in this layer: all of them."""
        return numbers_held(model, kv_len)

    def activation_values(
        self, model: Any, *, q_len: int, kv_len: int, batch: int, fused: bool
    ) -> dict[str, int]:
        """Numbers that the products read and write beside weights and state, by part."""
        rows, values = batch * q_len, model.n_heads * model.v_head_dim
        made = sum(out for _, out in self._into(model))
        return {
            "projections": rows * (model.d_model + made),
            "attention": rows * (2 * self._keys(model) + 2 * values),
            "scores": 0,
            "output": rows * (values + model.d_model),
        }

    def _keys(self, model: Any) -> int:
        """Numbers of a token's queries, and of its keys."""
        heads = model.n_key_heads if KINDS[model.attention].shares_keys else model.n_heads
        return int(heads * model.head_dim)

    def _into(self, model: Any) -> list[tuple[int, int]]:
        """Columns and rows of the products into the layer."""
        rule, d_model, rank = KINDS[model.attention], model.d_model, model.head_dim
        keys, values = self._keys(model), model.n_heads * model.v_head_dim
        found = [(d_model, keys), (d_model, keys), (d_model, values)]
        if rule.decay == "channel":  # decays and gates through a narrow product
            found += [(d_model, rank), (rank, values), (d_model, rank), (rank, keys)]
        else:
            found.append((d_model, values))
        if rule.decay == "head":
            found.append((d_model, model.n_heads))
        return found + ([(d_model, model.n_heads)] if rule.delta else [])
