"""The family: which decoders are trained, and what each differs in from the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mini_attn.config import (
    AttentionConfig,
    CompressedConfig,
    DecoderConfig,
    LatentConfig,
    LinearAttentionConfig,
    RopeConfig,
)
from mini_attn.errors import ConfigError

__all__ = ["LONGEST", "MEMBERS", "Member"]

HEAD_DIM = 16
STATE_DIM = 32  # of a head that keeps a state, for keys and for values
LONGEST = 256  # positions that a learned table holds, and tokens of a training row


@dataclass(frozen=True)
class Member:
    """A decoder of the family, at any width: the options in which it differs."""

    title: str
    short: str  # its name beside a line in a figure
    rope: bool = True
    positions: str = "none"
    latent: int | None = None  # the rank
    shares: bool = False  # the last layer reads what the one before it keeps
    compress: int | None = None  # tokens of an entry, beside a window of 16
    topk: int | None = None  # entries that an indexer chooses for each query; None reads all
    state: str | None = None  # the kind of layers that keep a state instead of keys and values
    conv_kernel: int | None = None  # of their short convolution; 1 leaves it out, None is usual
    attends: int | None = None  # beside them, each layer of this number and the last have attention
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def on_pages(self) -> bool:
        """Return whether a page's decoder can run it: one whose layers each keep all tokens."""
        return not self.shares and self.compress is None and self.state is None

    @property
    def ships(self) -> bool:
        """Return whether the package has its weights: those that keep a state stay outside."""
        return self.state is None

    @property
    def kind(self) -> str:
        """What it is compared in: "states", "windows", "positions", or else "caches"."""
        if self.state is not None:
            return "states"
        if not self.rope:
            return "positions"
        return "windows" if {"window", "sinks"} & self.options.keys() else "caches"

    def config(self, vocab_size: int, n_layers: int = 2, d_model: int = 64) -> DecoderConfig:
        """The decoder's configuration: heads of 16, RMS norm, no biases, tied embeddings."""
        if d_model % HEAD_DIM:
            raise ConfigError(f"d_model = {d_model} must be a multiple of {HEAD_DIM}")
        return DecoderConfig(
            vocab_size,
            n_layers,
            self._attentions(n_layers, d_model),
            d_ff=4 * d_model,
            max_positions=LONGEST,
            norm="rms_norm",
            positions=self.positions,
            mlp_bias=False,
            kv_sources=(*range(n_layers - 1), max(n_layers - 2, 0)) if self.shares else None,
        )

    def _attentions(self, n_layers: int, d_model: int) -> Any:
        """The attention of every layer, or one for each."""
        if self.state is None:
            return self._attention(d_model)
        keeps = LinearAttentionConfig(
            d_model,
            d_model // HEAD_DIM,
            STATE_DIM,
            self.state,
            v_head_dim=STATE_DIM,
            conv_kernel=self.conv_kernel,  # type: ignore[arg-type]
        )
        if self.attends is None:
            return keeps
        attention, last = self._attention(d_model), n_layers - 1
        return tuple(
            attention if i % self.attends == self.attends - 1 or i == last else keeps
            for i in range(n_layers)
        )

    def _attention(self, d_model: int) -> Any:
        """The attention of a layer whose cache grows."""
        n_heads, rope = d_model // HEAD_DIM, RopeConfig("half")
        if self.latent is not None:
            return LatentConfig(d_model, n_heads, self.latent, HEAD_DIM, 8, HEAD_DIM, rope=rope)
        if self.compress is None:
            turned = rope if self.rope else None
            return AttentionConfig(d_model, n_heads, HEAD_DIM, rope=turned, **self.options)
        attention = CompressedConfig(
            d_model=d_model, n_heads=n_heads, head_dim=HEAD_DIM, window=HEAD_DIM,
            compress=self.compress, rope=RopeConfig("half", rotary_dim=HEAD_DIM // 2),
        )  # fmt: skip
        if self.topk is None:
            return attention
        return replace(
            attention, index_n_heads=n_heads, index_head_dim=HEAD_DIM, index_topk=self.topk
        )


MEMBERS = {
    "mha": Member("multi-head attention, RoPE", "multi-head"),
    "gqa": Member("two key/value heads", "grouped, 2 KV", options={"n_kv_heads": 2}),
    "mqa": Member("one key/value head", "one KV head", options={"n_kv_heads": 1}),
    "mla": Member("latent of 32 numbers and a rotated key of 8", "latent, 32 + 8", latent=32),
    "mla-16": Member("latent of 16 numbers and a rotated key of 8", "latent, 16 + 8", latent=16),
    "shared": Member("the last layer reads the cache before it", "shared layers", shares=True),
    "compressed": Member("an entry for 4 tokens, and a window of 16", "compressed 4:1", compress=4),
    "csa": Member("8 chosen entries, and a window of 16", "chosen, 8 of 4:1", compress=4, topk=8),
    "alibi": Member("ALiBi instead of RoPE", "ALiBi", rope=False, options={"alibi": True}),
    "learned": Member(
        "learned positions instead of RoPE", "learned positions", rope=False, positions="learned"
    ),
    "none": Member("no positions", "no positions", rope=False),
    "window": Member("a window of 32 keys", "window 32, trained", options={"window": 32}),
    "sinks": Member("a learned sink in each head", "learned sink", options={"sinks": True}),
    "window-sinks": Member(
        "a window of 32 keys, and a learned sink",
        "window 32 + sink, trained",
        options={"window": 32, "sinks": True},
    ),
    "linear": Member("a state that forgets at a fixed rate", "linear", state="lightning"),
    "gated-delta": Member(
        "a state that forgets and overwrites by what it reads", "gated delta", state="gated_delta"
    ),
    "delta-alone": Member(
        "gated delta without its short convolution",
        "gated delta, no convolution",
        state="gated_delta",
        conv_kernel=1,
    ),
    "mamba2": Member("a state that forgets by what it reads", "Mamba-2", state="mamba2"),
    "hybrid": Member(
        "three layers of gated delta to one with one key/value head",
        "hybrid 3:1",
        state="gated_delta",
        attends=4,
        options={"n_kv_heads": 1},
    ),
}
