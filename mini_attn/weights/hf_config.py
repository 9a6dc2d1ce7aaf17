"""Hugging Face's configuration files in this package's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, count, flag, mapping, number
from mini_attn.weights._hf_gemma import gemma
from mini_attn.weights._known import refuse_unknown
from mini_attn.weights._layer_lists import turning_layers, windows_of
from mini_attn.weights._read_keys import READ
from mini_attn.weights.hf_experts import expert_decoder
from mini_attn.weights.hf_rope import rope_from_hf

__all__ = ["config_from_hf"]

MOST_LAYERS = 10_000  # a broken file must not make a tuple of billions
LACKING = {  # what this package's decoder has not, and families need that are often asked for
    "bert": "attention to both sides",
    "bloom": "a norm of the embeddings",
    "falcon": "attention and MLP in parallel",
    "gemma3": "images beside the text: pass its text_config, whose model_type is gemma3_text, and "
    "the weights whose names begin with language_model, without that beginning",
    "gpt_neox": "attention and MLP in parallel",
    "llama4": "layers with experts",
    "mamba": "state-space layers",
    "mpt": "norms without biases beside ALiBi",
    "phi": "attention and MLP in parallel",
    "qwen2_moe": "layers with experts",
    "t5": "an encoder, and biases by bucket",
}

# Where a file does not say: key/value heads (else one per head), and the rotary base.
KV_HEADS = {"mistral": 8, "qwen2": 32, "qwen3": 32, "smollm3": 4}
THETA = {"smollm3": 2000000.0}
BIASED = ("llama", "qwen3", "olmo2", "smollm3")  # that read attention_bias


def config_from_hf(config: Mapping[str, Any], *, n_layers: int | None = None) -> DecoderConfig:
    """The decoder that a Hugging Face configuration describes.

    ``DecoderConfig(...)`` from what ``config.json`` holds

    Parameters
    ----------
    config : mapping
        The file's content, or ``to_dict()`` of a configuration object.
    n_layers : int or None
        Only the first layers; None means all.

    Returns
    -------
    DecoderConfig
        For ``Decoder``, and for the loader of the family's weights.

    Raises
    ------
    ConfigError
        If the family is unknown, a number is missing or of another kind, a key is not known of
        the family, or the model needs what this package's decoder has not.

    Notes
    -----
    Families: gpt2, llama, mistral, qwen2, qwen3, phi3, gemma, gemma2, gemma3_text, olmo2,
    smollm3, deepseek_v2, deepseek_v3, and with experts mixtral, qwen3_moe, gpt_oss. What a file
    leaves out has Hugging Face's default value.

    Examples
    --------
    >>> sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2,
    ...     "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32,
    ...     "max_position_embeddings": 128}
    >>> config_from_hf({"model_type": "llama", **sizes}).attention.group_size
    2
    """
    family = family_of(config)
    stored = count(config, "n_layer" if family == "gpt2" else "num_hidden_layers")
    if stored > MOST_LAYERS:
        raise ConfigError(f"{stored} layers are more than any model has ({MOST_LAYERS} are read)")
    wanted = stored if n_layers is None else check_count("n_layers", n_layers, least=0)
    if not 1 <= wanted <= stored:
        raise ConfigError(f"n_layers must lie in 1 … {stored}, got {wanted}")
    if family in READ:
        refuse_unknown(config, READ[family])
    return FAMILIES[family](config, wanted)


def family_of(config: Mapping[str, Any]) -> str:
    """The family that a configuration names, if its layers can be run here."""
    family = mapping("the configuration", config).get("model_type")
    if isinstance(family, str) and family in FAMILIES:
        return family
    needed = LACKING.get(family) if isinstance(family, str) else None
    reason = f"its decoder needs {needed}" if needed else "how its layers are made is not known"
    if family is None:
        reason = "the file does not say what it describes"
    raise ConfigError(
        f"model_type must be one of {', '.join(FAMILIES)}, got {family!r:.60}: {reason}"
    )


def _eps(config: Mapping[str, Any]) -> Any:
    """What the normalisations add; the default of two families is their own."""
    own = config["model_type"] in ("phi3", "olmo2")
    return number(config, "rms_norm_eps", 1e-5 if own else 1e-6)


def _gpt2(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Learned positions, plain MLP, biases everywhere."""
    if flag(config, "add_cross_attention", False):
        raise ConfigError("cross-attention layers are not part of this package's decoder")
    d_model, n_heads = count(config, "n_embd"), count(config, "n_head")
    head_dim = check_count("n_embd // n_head", d_model // n_heads)
    first = head_dim**-0.5 if flag(config, "scale_attn_weights", True) else 1.0
    falls = flag(config, "scale_attn_by_inverse_layer_idx", False)
    attention = tuple(
        AttentionConfig(
            d_model, n_heads, head_dim, bias=True, scale=first / (i + 1) if falls else first
        )
        for i in range(n_layers)
    )
    return DecoderConfig(
        count(config, "vocab_size"),
        n_layers,
        attention if falls else attention[0],
        d_ff=count(config, "n_inner", None) or 4 * d_model,
        max_positions=count(config, "n_positions"),
        activation=activation(config, "activation_function", "gelu_new"),
        eps=number(config, "layer_norm_epsilon", 1e-5),
        tie_embeddings=flag(config, "tie_word_embeddings", True),
    )


def _gated(config: Mapping[str, Any], n_layers: int, attention: Any, bias: bool) -> DecoderConfig:
    """What Llama and its relatives share around the attention."""
    family = config["model_type"]
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
        eps=_eps(config),
        tie_embeddings=flag(config, "tie_word_embeddings", family == "smollm3"),
        mlp_bias=bias,
        norm_placement="after" if family == "olmo2" else "before",
    )


def _llama(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Llama and its relatives: they differ in biases, windows, norms and layers that turn."""
    family, n_heads = config["model_type"], count(config, "num_attention_heads")
    d_model = count(config, "hidden_size")
    head_dim = count(config, "head_dim", None) or (128 if family == "qwen3" else d_model // n_heads)
    check_count("head_dim", head_dim)
    bias = family in BIASED and flag(config, "attention_bias", False)
    rope = rope_from_hf(config, head_dim, layout="half", theta=THETA.get(family, 10000.0))

    def attention(window: int | None, turns: bool) -> AttentionConfig:
        return AttentionConfig(
            d_model,
            n_heads,
            head_dim,
            n_kv_heads=count(config, "num_key_value_heads", KV_HEADS.get(family)) or n_heads,
            bias=bias or family == "qwen2",
            out_bias=bias,
            qk_norm=family in ("qwen3", "olmo2"),
            window=window,
            eps=_eps(config),
            rope=rope if turns else None,
            qk_norm_over="width" if family == "olmo2" else "head",
        )

    turning = turning_layers(config, n_layers)
    windows = windows_of(config, n_layers, turning)
    layers = tuple(map(attention, windows, turning))
    one = len(set(layers)) == 1
    mlp_bias = family in ("llama", "smollm3") and flag(config, "mlp_bias", False)
    return _gated(config, n_layers, layers[0] if one else layers, mlp_bias)


def _deepseek(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Latent attention; the layers after the first few have experts in place of an MLP."""
    second = config["model_type"] == "deepseek_v2"
    dense = count(config, "first_k_dense_replace", 0 if second else 3, least=0) or 0
    if n_layers > dense:
        raise ConfigError(
            f"{n_layers - dense} of {n_layers} layers have experts, which this package's decoder "
            f"has not: only the first {dense} are dense (first_k_dense_replace); pass n_layers"
        )
    rotated = count(config, "qk_rope_head_dim")
    interleaved = flag(config, "rope_interleave", True)
    layout = "interleaved" if interleaved else "half"
    attention = LatentConfig(
        count(config, "hidden_size"),
        count(config, "num_attention_heads"),
        count(config, "kv_lora_rank"),
        count(config, "qk_nope_head_dim"),
        rotated,
        count(config, "v_head_dim"),
        rope=rope_from_hf(config, rotated, layout=layout, latent=True),
        q_lora_rank=count(config, "q_lora_rank", 1536),
        bias=flag(config, "attention_bias", False),
    )
    mlp_bias = second and flag(config, "mlp_bias", False)
    return _gated(config, n_layers, attention, mlp_bias)


def _with_experts(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Mixtral, Qwen3-MoE and gpt-oss."""
    return expert_decoder(config, n_layers, activation(config, "hidden_act", "silu"))


FAMILIES: dict[str, Callable[[Mapping[str, Any], int], DecoderConfig]] = {
    "gpt2": _gpt2,
    "llama": _llama,
    "mistral": _llama,
    "qwen2": _llama,
    "qwen3": _llama,
    "phi3": _llama,
    "gemma": gemma,
    "gemma2": gemma,
    "gemma3_text": gemma,
    "olmo2": _llama,
    "smollm3": _llama,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
    "mixtral": _with_experts,
    "qwen3_moe": _with_experts,
    "gpt_oss": _with_experts,
}
