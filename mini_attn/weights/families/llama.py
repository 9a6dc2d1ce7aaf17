"""Llama and its relatives: they differ in biases, windows, norms and layers that turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, count, entry, flag, number
from mini_attn.weights._layer_lists import FULL, SLIDING, check_layers, check_window, layer_windows
from mini_attn.weights.families._family import COMMON, Family
from mini_attn.weights.hf_rope import rope_from_hf
from mini_attn.weights.llama import from_llama

Windows = list[int | None]

# Some of these keys say what another says already, or are ignored by Hugging Face's class too.
LLAMA = "mlp_bias pretraining_tp sliding_window is_llama_config max_sequence_length"
QWEN = "layer_types use_sliding_window sliding_window max_window_layers"
PHI3 = "resid_pdrop embd_pdrop sliding_window layer_types full_attn_mod interpolate_factor"
SMOLLM = f"no_rope_layers no_rope_layer_interval mlp_bias pretraining_tp {QWEN}"


def no_windows(config: Mapping[str, Any], turning: list[bool]) -> Windows:
    """Return no window for any layer."""
    count(config, "sliding_window", None)
    return [None] * len(turning)


def one_window(config: Mapping[str, Any], turning: list[bool], *, width: int | None) -> Windows:
    """Return the same window for all layers, whatever the file says of each."""
    return [count(config, "sliding_window", width)] * len(turning)


def windows_behind(config: Mapping[str, Any], turning: list[bool]) -> Windows:
    """Return Qwen's windows: of the layers behind the first few, if they're asked for."""
    n_layers, kinds = len(turning), entry(config, "layer_types", None)
    window = count(config, "sliding_window", 4096)
    if not flag(config, "use_sliding_window", False):
        window = None
    check_window(kinds, window)
    if kinds is None:
        first = min(count(config, "max_window_layers", 28, least=0) or 0, n_layers)
        kinds = [FULL] * first + [SLIDING] * n_layers
    return layer_windows(kinds, window, n_layers)


def windows_where_nothing_turns(config: Mapping[str, Any], turning: list[bool]) -> Windows:
    """Return SmolLM3's windows: of the layers that turn nothing, if they're asked for."""
    window, kinds = count(config, "sliding_window", None), entry(config, "layer_types", None)
    check_window(kinds, window)
    if kinds is None:
        windowed = flag(config, "use_sliding_window", False) and window is not None
        kinds = [SLIDING if windowed and not turns else FULL for turns in turning]
    return layer_windows(kinds, window, len(turning))


@dataclass(frozen=True)
class Relative:
    """How a relative of Llama differs, and what it takes where its file says nothing.

    Parameters
    ----------
    keys : str
        Keys of its file apart from those that all relatives share.
    n_kv_heads, head_dim : int or None
        Defaults; None means one key/value head per head, and an even share of the width.
    theta, eps, tied
        Defaults of the rotary base, of what the norms add, and of tied embeddings.
    qkv_bias : bool
        Whether queries, keys and values have biases whatever the file says.
    reads_bias, reads_mlp_bias : bool
        Whether the file may ask for biases, of all projections and of the MLP.
    qk_norm : {"", "head", "width"}
        Over what queries and keys are normalized, if at all.
    norm_placement : {"before", "after"}
        Where the norms of a layer are.
    some_turn : bool
        Whether some layers turn nothing.
    windows : callable
        ``windows(config, turning)``, the window of each layer.
    """

    keys: str = ""
    n_kv_heads: int | None = None
    head_dim: int | None = None
    theta: float = 10000.0
    eps: float = 1e-6
    tied: bool = False
    qkv_bias: bool = False
    reads_bias: bool = False
    reads_mlp_bias: bool = False
    qk_norm: str = ""
    norm_placement: str = "before"
    some_turn: bool = False
    windows: Callable[[Mapping[str, Any], list[bool]], Windows] = no_windows


def relative(**differences: Any) -> Family:
    """Return the family of a relative of Llama, from how it differs (see `Relative`)."""
    own = Relative(**differences)
    return Family(
        partial(decoder, own),
        lambda state, config, _: from_llama(state, config),
        f"{COMMON} {own.keys}",
    )


def decoder(own: Relative, config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a relative's file describes."""
    n_heads, d_model = count(config, "num_attention_heads"), count(config, "hidden_size")
    head_dim = count(config, "head_dim", None) or own.head_dim or d_model // n_heads
    check_count("head_dim", head_dim)
    bias = own.reads_bias and flag(config, "attention_bias", False)
    rope = rope_from_hf(config, head_dim, layout="half", theta=own.theta)
    eps = number(config, "rms_norm_eps", own.eps)

    def attention(window: int | None, turns: bool) -> AttentionConfig:
        return AttentionConfig(
            d_model,
            n_heads,
            head_dim,
            n_kv_heads=count(config, "num_key_value_heads", own.n_kv_heads) or n_heads,
            bias=bias or own.qkv_bias,
            out_bias=bias,
            qk_norm=bool(own.qk_norm),
            window=window,
            eps=eps,
            rope=rope if turns else None,
            qk_norm_over=own.qk_norm or "head",
        )

    turning = _turning(config, n_layers) if own.some_turn else [True] * n_layers
    layers = tuple(map(attention, own.windows(config, turning), turning))
    return gated(
        config,
        n_layers,
        layers[0] if len(set(layers)) == 1 else layers,
        own.reads_mlp_bias and flag(config, "mlp_bias", False),
        own,
    )


def gated(
    config: Mapping[str, Any], n_layers: int, attention: Any, bias: bool, own: Relative = Relative()
) -> DecoderConfig:
    """Return what Llama and its relatives share around the attention."""
    return DecoderConfig(
        count(config, "vocab_size"),
        n_layers,
        attention,
        d_ff=count(config, "intermediate_size"),
        max_positions=count(config, "max_position_embeddings"),
        mlp="gated",
        activation=activation(config, "hidden_act", "silu"),
        norm="rms_norm",
        positions="none",
        eps=number(config, "rms_norm_eps", own.eps),
        tie_embeddings=flag(config, "tie_word_embeddings", own.tied),
        mlp_bias=bias,
        norm_placement=own.norm_placement,
    )


def _turning(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer turns its queries and keys: SmolLM3 leaves every fourth."""
    turned = entry(config, "no_rope_layers", None)  # 1 where they are turned
    if turned is None:
        every = count(config, "no_rope_layer_interval", 4) or 4
        turned = [(layer + 1) % every != 0 for layer in range(n_layers)]
    check_layers("no_rope_layers", turned, n_layers, (0, 1))
    return [bool(turns) for turns in turned[:n_layers]]


FAMILIES = {
    "llama": relative(keys=LLAMA, reads_bias=True, reads_mlp_bias=True),
    "mistral": relative(
        keys="sliding_window layer_types",
        n_kv_heads=8,
        windows=partial(one_window, width=4096),
    ),
    "qwen2": relative(keys=QWEN, n_kv_heads=32, qkv_bias=True, windows=windows_behind),
    "qwen3": relative(
        keys=QWEN,
        n_kv_heads=32,
        head_dim=128,
        reads_bias=True,
        qk_norm="head",
        windows=windows_behind,
    ),
    "phi3": relative(keys=PHI3, eps=1e-5, windows=partial(one_window, width=None)),
    "olmo2": relative(eps=1e-5, reads_bias=True, qk_norm="width", norm_placement="after"),
    "smollm3": relative(
        keys=SMOLLM,
        n_kv_heads=4,
        theta=2000000.0,
        tied=True,
        reads_bias=True,
        reads_mlp_bias=True,
        some_turn=True,
        windows=windows_where_nothing_turns,
    ),
}
