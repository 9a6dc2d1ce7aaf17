"""Small decoders of every kind that there is: what the tests under several ranks compute."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from mini_attn.config import (
    AttentionConfig,
    CompressedConfig,
    DecoderConfig,
    ExpertConfig,
    IndexedConfig,
    LatentConfig,
    NativeSparseConfig,
    QueryGrowth,
    RopeConfig,
)
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS

D_MODEL, HEADS, WIDTH = 12, 4, 6
OWN = {"vocab_size": 29, "d_ff": 8, "max_positions": 24}
SIZES = {
    "d_model": D_MODEL, "n_heads": HEADS, "head_dim": WIDTH, "v_head_dim": WIDTH, "window": 4,
    "kv_lora_rank": 5, "q_lora_rank": 6, "qk_nope_head_dim": 3, "qk_rope_head_dim": 4,
}  # fmt: skip


def _rope(rope: RopeConfig | None) -> RopeConfig | None:
    """The same rule for short heads."""
    if rope is None:
        return None
    scaling = rope.scaling
    if hasattr(scaling, "original_max_positions"):
        scaling = replace(scaling, original_max_positions=4)  # type: ignore[type-var]
    turned, pairs = rope.rotary_dim and 4, rope.rotated_pairs and 1
    return replace(rope, rotary_dim=turned, rotated_pairs=pairs, scaling=scaling, theta=50.0)


def _attention(attention: Any) -> Any:
    """The same options with small sizes."""
    given = {field.name: getattr(attention, field.name) for field in fields(attention)}
    small = {name: SIZES[name] for name in SIZES.keys() & given.keys() if given[name] is not None}
    if given.get("n_kv_heads") not in (None, 1, given["n_heads"]):
        small["n_kv_heads"] = 2
    elif "n_kv_heads" in given:
        small["n_kv_heads"] = HEADS if given["n_kv_heads"] == given["n_heads"] else 1
    if given.get("query_growth") is not None:
        small["query_growth"] = replace(given["query_growth"], every=3)
    return replace(attention, **small, rope=_rope(attention.rope))


def small(config: DecoderConfig) -> DecoderConfig:
    """A decoder with one layer of each kind of another, and small sizes."""
    kinds: dict[Any, int] = {}
    kept: list[int] = []
    for i, source in enumerate(config.sources):
        kind = config.attentions[i], config.layer_experts[i] is None, source == i
        if kind not in kinds:
            kinds[kind] = len(kept)
            kept.append(i)
    sources = tuple(
        kinds[config.attentions[source], config.layer_experts[source] is None, True]
        for source in (config.sources[i] for i in kept)
    )
    experts = [config.layer_experts[i] for i in kept]
    return replace(
        config,
        **OWN,
        n_layers=len(kept),
        attention=tuple(_attention(config.attentions[i]) for i in kept),
        experts=tuple(e and replace(e, n_experts=8, experts_per_token=2, d_ff=4) for e in experts),
        kv_sources=sources,
        per_layer_dim=config.per_layer_dim and 4,
    )


def _listed() -> dict[str, DecoderConfig]:
    """One small decoder for each kind among the listed models, by its first model's name."""
    found: dict[str, DecoderConfig] = {}
    for name, model in MODELS.items():
        if model.linear is not None:
            continue  # a state is refused
        try:
            config = small(model.decoder())
        except ConfigError as error:  # layers that no decoder here has; perhaps not the first
            if "n_layers=" not in str(error):
                continue
            config = small(model.decoder(n_layers=1))
        if config not in found.values():
            found[name] = config
    return found


def _of(*attentions: Any, **options: Any) -> DecoderConfig:
    """A decoder of such layers."""
    plain = {"mlp": "gated", "norm": "rms_norm", "positions": "none", "mlp_bias": True}
    return DecoderConfig(
        n_layers=len(attentions), attention=attentions, **{**OWN, **plain, **options}
    )


_HEADS: dict[str, Any] = {"d_model": D_MODEL, "n_heads": HEADS, "head_dim": WIDTH}
_TURNED = {**_HEADS, "n_kv_heads": 2, "rope": RopeConfig("half", theta=50.0)}
_SPANS = {"window": 3, "compress": 2, "sinks": True, "q_lora_rank": 5, **_HEADS}
_INDEX = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 3}
_BLOCKS = {"block_size": 2, "n_blocks": 2, "window": 3}
_WIDE = {"qk_norm": True, "qk_norm_over": "width"}
OTHERS = {
    "distance and first tokens": _of(
        AttentionConfig(**_HEADS, n_kv_heads=2, alibi=True, window=3, sink_tokens=2, bias=True),
        AttentionConfig(**_HEADS, alibi=True, softcap=2.0, v_head_dim=5),
        mlp="plain",
    ),
    "one norm over copied heads": _of(
        AttentionConfig(**_TURNED, **_WIDE),
        AttentionConfig(**{**_TURNED, "n_kv_heads": 1}, **_WIDE),
    ),
    "chunks": _of(
        AttentionConfig(**_TURNED, window=3, chunked=True),
        AttentionConfig(**{**_TURNED, "rope": None}, query_growth=QueryGrowth(0.1, 3)),
    ),
    "layers that read others": _of(
        AttentionConfig(**_TURNED, window=3, qk_norm=True, sinks=True),
        AttentionConfig(**_TURNED, v_head_dim=5),
        AttentionConfig(**_TURNED, window=2, **_WIDE),
        AttentionConfig(**_TURNED, v_head_dim=5, bias=True),
        kv_sources=(0, 1, 0, 1),
    ),
    "latents": _of(
        LatentConfig(
            D_MODEL, HEADS, 5, 3, 4, 6, RopeConfig("interleaved"), q_lora_rank=6, bias=True,
            sinks=True,
        ),
        AttentionConfig(**_TURNED),
        tie_embeddings=False,
    ),
    "experts by sigmoid": _of(
        AttentionConfig(**_TURNED), AttentionConfig(**_TURNED),
        experts=(
            None,
            ExpertConfig(4, 2, 3, routing="sigmoid_normalised", router_bias=True, bias=True),
        ),
    ),
    "an indexer": _of(
        IndexedConfig(**_TURNED, **_INDEX), IndexedConfig(**_TURNED, **_INDEX, sinks=True)
    ),
    "compressed spans": _of(
        CompressedConfig(**_SPANS, rope=RopeConfig("interleaved", rotary_dim=4)),
        CompressedConfig(**_SPANS, **_INDEX, o_groups=4, o_lora_rank=3),
    ),
    "sinusoidal": _of(AttentionConfig(**_HEADS), positions="sinusoidal", embed_scale=3.0),
}  # fmt: skip
# All query heads of a group choose together, so there are as many groups as ranks.
TWO_ALONE = {"blocks": _of(NativeSparseConfig(**_TURNED, **_BLOCKS))}
FOUR_ALONE = {"blocks": _of(NativeSparseConfig(**{**_TURNED, "n_kv_heads": 4}, **_BLOCKS))}
LISTED = _listed()
FAMILIES = {2: {**OTHERS, **TWO_ALONE, **LISTED}, 4: {**OTHERS, **FOUR_ALONE, **LISTED}}
