"""The variant's configuration and its one registry entry; loaded as a plugin it registers it."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.config import AttentionConfig
from mini_attn.variants import REGISTRY, Variant


@dataclass(frozen=True)
class GatedConfig(AttentionConfig):
    """Grouped-query attention with a gate."""

    @property
    def variant(self) -> str:
        return "gated"


GATED = Variant(
    name="gated",
    title="Gated attention",
    stem="tests.toy.gated_{backend}",
    class_name="GatedAttention",
    config_class="tests.toy.entry.GatedConfig",
    sizes=REGISTRY["gqa"].sizes,
    cache=REGISTRY["gqa"].cache,
    length_rule="all",
    reduces_to=(),
    references=("ainslie2023gqa",),
    page="kv-cache#what-the-cache-costs",
)


def pytest_configure() -> None:
    """As a plugin: the suite meets the variant in the registry like any other."""
    REGISTRY[GATED.name] = GATED
