"""Ways of keeping a cache, and a decoder that reads its context from such a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import mini_attn.torch as mt
from mini_attn.caching import Cached, Transaction
from mini_attn.config import (
    AttentionConfig,
    CompressedConfig,
    DecoderConfig,
    LatentConfig,
    codings,
)
from mini_attn.cost import Quantized, cache_bytes
from mini_attn.errors import ConfigError
from mini_attn.models import ModelConfig
from mini_attn.variants import variant

__all__ = ["Keeping", "Reading", "bytes_per_token", "sizes_of"]

# Tokens of a group and numbers of a group. Heads are 16 wide: so keys by channel, keys by token
# and values have a scale for as many numbers each, and none is dearer than the others.
GROUP = 16
CODES: dict[str, Any] = {"group_size": GROUP, "residual": 0, "scale_dtype": "float16"}
NUMBERS = {32: "float32", 16: "bfloat16"}


@dataclass(frozen=True)
class Keeping:
    """Bits of keys and of values, where the keys' groups lie, and which tokens stay.

    32 and 16 bits are float32 and bfloat16; fewer are codes with a float16 scale and zero for
    16 numbers. A window is one at inference: the weights know nothing of it.
    """

    k_bits: int = 16
    v_bits: int = 16
    key_axis: str = "channel"
    window: int | None = None
    sink_tokens: int = 0

    def __post_init__(self) -> None:
        numbers = {self.k_bits, self.v_bits} & NUMBERS.keys()
        if numbers and self.k_bits != self.v_bits:
            raise ConfigError(f"{self.k_bits} and {self.v_bits} bits: numbers have no codes beside")
        if self.coded and self.window is not None:
            raise ConfigError(f"codes of {self.k_bits} bits keep all tokens, not {self.window}")

    @property
    def coded(self) -> bool:
        """Return whether keys and values are stored as codes."""
        return self.k_bits not in NUMBERS

    def options(self) -> dict[str, Any]:
        """Return the arguments of `QuantizedKVCache`."""
        bits = {"k_bits": self.k_bits, "v_bits": self.v_bits}
        return {**bits, "key_axis": self.key_axis, **CODES}

    def of(self, config: DecoderConfig) -> DecoderConfig:
        """The configuration with the window, where there is one."""
        if self.window is None:
            return config
        one: Any = _attention(config)
        kept = replace(one, window=self.window, sink_tokens=self.sink_tokens)
        return replace(config, attention=kept)


def _attention(config: DecoderConfig) -> AttentionConfig | CompressedConfig | LatentConfig:
    """The attention that all layers have."""
    return config.attentions[0]


class _Narrow:
    """Round to bfloat16 whatever a cache is given; the sums stay in float32."""

    def _append(self, k: Tensor, v: Tensor, *rest: Any) -> Cached:
        k, v = (given.bfloat16().to(given.dtype) for given in (k, v))
        return super()._append(k, v, *rest)  # type: ignore[misc]


class _NarrowCache(_Narrow, mt.KVCache):
    """Keys and values in bfloat16."""


class _NarrowRing(_Narrow, mt.SlidingWindowCache):
    """A window of them."""


class _NarrowLatents(_Narrow, mt.LatentCache):
    """Latents and rotated keys in bfloat16."""


class _CodedLatents(mt.QuantizedKVCache):
    """Latents as the keys of one head, their rotated keys as its values, in codes."""

    def __init__(self, batch: int, rank: int, rotated: int, capacity: int, **options: Any) -> None:
        super().__init__(batch, 1, rank, capacity, v_head_dim=rotated, **options)
        self.kv_lora_rank, self.qk_rope_head_dim = rank, rotated

    def _append(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        k_all, v_all, *order = super()._append(k, v, positions, transaction)
        return Cached(k_all[:, 0], v_all[:, 0], *order)


def caches(config: DecoderConfig, keeping: Keeping, batch: int, capacity: int) -> list[Any]:
    """An empty cache for each layer."""
    one, keepers = _attention(config), config.keeping_layers
    if isinstance(one, CompressedConfig):
        if keeping != Keeping(32, 32):
            raise ConfigError(f"entries of several tokens are kept in float32, got {keeping}")
        return [mt.CompressedAttention(one).new_cache(batch, capacity) for _ in keepers]
    if isinstance(one, LatentConfig):
        sizes: tuple[int, ...] = (one.kv_lora_rank, one.qk_rope_head_dim)
        kinds: Sequence[Any] = (mt.LatentCache, _NarrowLatents, _CodedLatents)
        options: dict[str, Any] = {}
    else:
        sizes, options = (one.n_kv_heads, one.head_dim), {}
        kinds = (mt.KVCache, _NarrowCache, mt.QuantizedKVCache)
        if one.window is not None:
            options = {"window": one.window, "sink_tokens": one.sink_tokens}
            kinds = (mt.SlidingWindowCache, _NarrowRing)
    if keeping.coded:
        kind, options = kinds[2], keeping.options()
    else:
        kind = kinds[keeping.k_bits == 16]
    return [kind(batch, *sizes, capacity, **options) for _ in keepers]


class Reading:
    """A decoder that meets its rows chunk by chunk, and reads what was before from the cache.

    A chunk is as long as a group: each token sees what it would see if it came alone, the
    tokens of its own group as they came and those of the groups before from their codes.
    """

    def __init__(self, model: mt.Decoder, keeping: Keeping) -> None:
        self.keeping, self.model = keeping, model
        config = keeping.of(model.config)
        if config != model.config:
            self.model = mt.Decoder(config)
            self.model.load_state_dict(model.state_dict())

    def caches(self, batch: int, capacity: int) -> list[Any]:
        """An empty cache for each layer."""
        return caches(self.model.config, self.keeping, batch, capacity)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, vocab) of given rows."""
        batch, length = tokens.shape
        held = self.caches(batch, length)
        parts = torch.split(tokens, GROUP, dim=1)
        return torch.cat([self.model(part, caches=held) for part in parts], dim=1)


def bytes_per_token(config: DecoderConfig, keeping: Keeping, *, context: int = 256) -> float:
    """Bytes of a cache that holds so many tokens, over all layers, for each of them."""
    config = keeping.of(config)
    one = _attention(config)
    if isinstance(one, LatentConfig) and keeping.coded:
        both = codings(
            (one.kv_lora_rank, one.qk_rope_head_dim),
            bits=None, k_bits=keeping.k_bits, v_bits=keeping.v_bits,
            group_size=GROUP, key_axis=keeping.key_axis,
        )  # fmt: skip
        return config.n_layers * sum(coding.group_bytes(2) for coding in both) / GROUP
    how: dict[str, Any] = {"dtype_bytes": 4}
    if keeping.coded:
        how["storage"] = Quantized(**keeping.options())
    else:
        how["dtype_bytes"] = keeping.k_bits // 8
    return cache_bytes(sizes_of(config), batch=1, context=context, **how) / context


def sizes_of(config: DecoderConfig) -> ModelConfig:
    """Return a member's sizes for the cost formulas."""
    one = _attention(config)
    entry = variant(one.variant)
    known = {name: getattr(one, name, None) for name in ("n_heads", "head_dim", *entry.sizes)}
    sizes = {name: size for name, size in (known | entry.fix(known)).items() if size is not None}
    return ModelConfig(
        "member", "Member of the family", "mini_attn.stories", one.variant,
        n_layers=config.n_layers, d_model=config.d_model, d_ff=config.d_ff,
        vocab_size=config.vocab_size, max_context=config.max_positions,
        n_kv_shared_layers=config.n_layers - len(config.keeping_layers), **sizes,
    )  # fmt: skip
