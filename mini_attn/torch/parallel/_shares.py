"""What a rank holds of a decoder: the sizes of its share, and which rows and columns it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from mini_attn.config import (
    AttentionConfig,
    CompressedConfig,
    DecoderConfig,
    ExpertConfig,
    IndexedConfig,
    LatentConfig,
    NativeSparseConfig,
)
from mini_attn.errors import ConfigError
from mini_attn.torch.parallel._split import span

VOCABULARY = ("embed_tokens.weight", "lm_head.weight", "per_layer_inputs.embed_tokens.weight")
_GROUPED = (AttentionConfig, IndexedConfig, NativeSparseConfig)


def share_config(config: DecoderConfig, rank: int, size: int) -> DecoderConfig:
    """Return the configuration of the rank's share; refuse what can't be split, by name."""
    rows = len(span(config.vocab_size, rank, size))
    if config.vocab_size < size:
        raise ConfigError(f"vocab_size = {config.vocab_size} leaves some of {size} ranks no row")
    if config.mlp == "none":
        raise ConfigError("tensor parallel doesn't know how to split layers without an MLP")
    attentions: list[Any] = []
    experts: list[ExpertConfig | None] = []
    for i, attention in enumerate(config.attentions):
        attentions.append(_share_attention(f"layer {i}: ", attention, size))
    for i, (width, mixture) in enumerate(zip(config.layer_d_ff, config.layer_experts, strict=True)):
        if mixture is None:
            _divide(f"layer {i}: d_ff", width, size)
            experts.append(None)
            continue
        if mixture.shared_d_ff:
            raise ConfigError(
                f"layer {i}: tensor parallel can't split an expert that all tokens take"
            )
        own = _divide(f"layer {i}: n_experts", mixture.n_experts, size)
        taken = min(mixture.experts_per_token, own)
        experts.append(replace(mixture, n_experts=own, experts_per_token=taken))
    # A layer of experts doesn't read its d_ff, which need not divide.
    widths = tuple(max(width // size, 1) for width in config.layer_d_ff)
    return replace(
        config,
        vocab_size=rows,
        attention=tuple(attentions),
        d_ff=widths,
        experts=tuple(experts),
    )


def _share_attention(where: str, attention: Any, size: int) -> Any:
    """Return a layer's configuration with a rank's number of heads."""
    if type(attention) not in (*_GROUPED, LatentConfig, CompressedConfig):
        raise ConfigError(f"{where}tensor parallel doesn't know how to split {attention!r:.60}")
    shared: dict[str, Any] = {"n_heads": _divide(f"{where}n_heads", attention.n_heads, size)}
    if isinstance(attention, CompressedConfig) and attention.o_groups is not None:
        shared["o_groups"] = _divide(f"{where}o_groups", attention.o_groups, size)
    if isinstance(attention, AttentionConfig):
        n_kv_heads = attention.n_kv_heads
        if n_kv_heads % size and size % n_kv_heads:
            raise ConfigError(
                f"{where}{n_kv_heads} key/value heads can be neither split over {size} ranks nor "
                "copied evenly: one number must be a multiple of the other"
            )
        if n_kv_heads < size and isinstance(attention, NativeSparseConfig):
            raise ConfigError(
                f"{where}in native sparse attention all query heads of a group choose blocks "
                f"together, so {n_kv_heads} key/value heads can't be copied to {size} ranks"
            )
        shared["n_kv_heads"] = max(n_kv_heads // size, 1)
    return replace(attention, **shared)


def _divide(name: str, whole: int, size: int) -> int:
    """Return a rank's part of a size that must divide."""
    if whole % size:
        raise ConfigError(f"{name} = {whole} can't be split evenly over {size} ranks")
    return whole // size


def part(name: str, whole: Any, own: tuple[int, ...], rank: int, size: int) -> Any:
    """Return the rank's part of a weight, a view; all of it where the share is as large."""
    for axis, (all_of_it, some) in enumerate(zip(whole.shape, own, strict=True)):
        if name in VOCABULARY and axis == 0:
            rows = span(all_of_it, rank, size)
            return whole[rows.start : rows.stop]
        if all_of_it != some:
            first = first_of(all_of_it, some, rank, size)
            return whole[(slice(None),) * axis + (slice(first, first + some),)]
    return whole


def first_of(whole: int, own: int, rank: int, size: int) -> int:
    """Return where a rank's part begins; ranks hold copies where there are more than parts."""
    return rank * whole // size // own * own


def check_names(whole: Mapping[str, Any], share: Mapping[str, Tensor]) -> None:
    """Refuse weights that aren't those of a plain decoder."""
    other = sorted(set(whole) ^ set(share))
    if other:
        raise ConfigError(
            f"tensor parallel splits plain weights, and {other[0]} (one of {len(other)}) is none "
            "of theirs: quantized weights must be dequantized first"
        )
