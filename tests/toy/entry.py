"""The variant's configuration, its costs and its one entry, which it registers as a plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mini_attn.config import AttentionConfig
from mini_attn.cost import HeadsCost
from mini_attn.variants import REGISTRY, CacheField, Variant


@dataclass(frozen=True)
class GatedConfig:
    """Grouped-query attention with a gate for each token and key/value head."""

    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int
    window: int | None = None
    scale: float | None = None

    @property
    def variant(self) -> str:
        return "gated"

    def ungated(self) -> AttentionConfig:
        """The attention whose keys are gated."""
        return AttentionConfig(**vars(self))


class GatedCost(HeadsCost):
    """One more projection, which makes a number for each key/value head."""

    def flops(self, model: Any, **sizes: Any) -> dict[str, int]:
        parts = super().flops(model, **sizes)
        rows = sizes["batch"] * sizes["q_len"]
        parts["projections"] += 2 * rows * model.d_model * model.n_kv_heads
        return parts

    def parameters(self, model: Any) -> int:
        return super().parameters(model) + model.d_model * model.n_kv_heads


GATED = Variant(
    name="gated",
    title="Gated attention",
    stem="tests.toy.gated_{backend}",
    class_name="GatedAttention",
    config_class="tests.toy.entry.GatedConfig",
    sizes=REGISTRY["gqa"].sizes,
    cache=(*REGISTRY["gqa"].cache, CacheField("gates", ("n_kv_heads",))),
    length_rule="all",
    reduces_to=(),
    references=("ainslie2023gqa",),
    page="kv-cache#what-the-cache-costs",
    cache_class="tests.toy.gated_{backend}.GatedCache",
    cost="tests.toy.entry.GatedCost",
    short="Gated, {n_kv_heads} KV",
)


def pytest_configure() -> None:
    """As a plugin: the suite meets the variant in the registry like any other."""
    REGISTRY[GATED.name] = GATED
