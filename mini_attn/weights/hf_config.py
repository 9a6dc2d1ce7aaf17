"""Hugging Face's configuration files in this package's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.weights.hf_rope import rope_from_hf

__all__ = ["config_from_hf"]

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
}

KV_HEADS = {"mistral": 8, "qwen2": 32, "qwen3": 32}  # where a file says none; else one per head


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
        If the family is unknown, a number is missing, or the model needs what this package's
        decoder has not, such as layers with experts.

    Notes
    -----
    Families: gpt2, llama, mistral, qwen2, qwen3, phi3, deepseek_v2, deepseek_v3. What a file
    leaves out has Hugging Face's default value.

    Examples
    --------
    >>> sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2,
    ...     "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32,
    ...     "max_position_embeddings": 128}
    >>> config_from_hf({"model_type": "llama", **sizes}).attention.group_size
    2
    """
    family = config.get("model_type")
    if family not in FAMILIES:
        raise ConfigError(f"model_type must be one of {', '.join(FAMILIES)}, got {family!r}")
    try:
        stored = config["n_layer" if family == "gpt2" else "num_hidden_layers"]
        count = stored if n_layers is None else n_layers
        if not 1 <= count <= stored:
            raise ConfigError(f"n_layers must lie in 1 … {stored}, got {count}")
        return FAMILIES[family](config, count)
    except KeyError as missing:
        raise ConfigError(f"the configuration of {family} has no {missing}") from None


def _eps(config: Mapping[str, Any]) -> float:
    """What the normalisations add; Phi-3's default is its own."""
    return float(config.get("rms_norm_eps", 1e-5 if config["model_type"] == "phi3" else 1e-6))


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        raise ConfigError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def _gpt2(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Learned positions, plain MLP, biases everywhere."""
    if config.get("add_cross_attention"):
        raise ConfigError("cross-attention layers are not part of this package's decoder")
    d_model, n_heads = config["n_embd"], config["n_head"]
    head_dim = d_model // n_heads
    first = head_dim**-0.5 if config.get("scale_attn_weights", True) else 1.0
    falls = config.get("scale_attn_by_inverse_layer_idx", False)
    attention = tuple(
        AttentionConfig(
            d_model, n_heads, head_dim, bias=True, scale=first / (i + 1) if falls else first
        )
        for i in range(n_layers)
    )
    return DecoderConfig(
        config["vocab_size"],
        n_layers,
        attention if falls else attention[0],
        d_ff=config.get("n_inner") or 4 * d_model,
        max_positions=config["n_positions"],
        activation=_activation(config.get("activation_function", "gelu_new")),
        eps=config.get("layer_norm_epsilon", 1e-5),
        tie_embeddings=config.get("tie_word_embeddings", True),
    )


def _gated(config: Mapping[str, Any], n_layers: int, attention: Any, bias: bool) -> DecoderConfig:
    """What Llama and its relatives share around the attention."""
    return DecoderConfig(
        config["vocab_size"],
        n_layers,
        attention,
        d_ff=config["intermediate_size"],
        max_positions=config["max_position_embeddings"],
        mlp="gated",
        activation=_activation(config.get("hidden_act", "silu")),
        norm="rms_norm",
        positions="none",
        eps=_eps(config),
        tie_embeddings=config.get("tie_word_embeddings", False),
        mlp_bias=bias,
    )


def _windows(config: Mapping[str, Any], n_layers: int) -> list[int | None]:
    """The window of each layer."""
    family = config["model_type"]
    window = config.get("sliding_window", None if family == "phi3" else 4096)
    if family == "llama" or (family.startswith("qwen") and not config.get("use_sliding_window")):
        return [None] * n_layers
    first = config.get("max_window_layers", 28) if family.startswith("qwen") else 0
    kinds = config.get("layer_types")
    if kinds is None or family in ("mistral", "phi3"):  # these two ignore what the layers say
        kinds = ["full_attention"] * first + ["sliding_attention"] * n_layers
    return [window if kind == "sliding_attention" else None for kind in kinds[:n_layers]]


def _llama(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Llama, Mistral, Qwen2, Qwen3 and Phi-3: they differ in biases, windows and q/k norms."""
    family, n_heads = config["model_type"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or (
        128 if family == "qwen3" else config["hidden_size"] // n_heads
    )
    bias = family in ("llama", "qwen3") and bool(config.get("attention_bias", False))
    rope = rope_from_hf(config, head_dim, layout="half")

    def attention(window: int | None) -> AttentionConfig:
        return AttentionConfig(
            config["hidden_size"],
            n_heads,
            head_dim,
            n_kv_heads=config.get("num_key_value_heads", KV_HEADS.get(family)) or n_heads,
            bias=bias or family == "qwen2",
            out_bias=bias,
            qk_norm=family == "qwen3",
            window=window,
            eps=_eps(config),
            rope=rope,
        )

    layers = tuple(attention(window) for window in _windows(config, n_layers))
    one = len(set(layers)) == 1
    mlp_bias = family == "llama" and bool(config.get("mlp_bias", False))
    return _gated(config, n_layers, layers[0] if one else layers, mlp_bias)


def _deepseek(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Latent attention; the layers after the first few have experts in place of an MLP."""
    second = config["model_type"] == "deepseek_v2"
    dense = config.get("first_k_dense_replace", 0 if second else 3)
    if n_layers > dense:
        raise ConfigError(
            f"{n_layers - dense} of {n_layers} layers have experts, which this package's decoder "
            f"has not: only the first {dense} are dense (first_k_dense_replace); pass n_layers"
        )
    rotated = config["qk_rope_head_dim"]
    interleaved = config.get("rope_interleave", True)
    layout = "interleaved" if interleaved else "half"
    attention = LatentConfig(
        config["hidden_size"],
        config["num_attention_heads"],
        config["kv_lora_rank"],
        config["qk_nope_head_dim"],
        rotated,
        config["v_head_dim"],
        rope=rope_from_hf(config, rotated, layout=layout, latent=True),
        q_lora_rank=config.get("q_lora_rank", 1536),
        bias=bool(config.get("attention_bias", False)),
    )
    mlp_bias = second and bool(config.get("mlp_bias", False))
    return _gated(config, n_layers, attention, mlp_bias)


FAMILIES: dict[str, Callable[[Mapping[str, Any], int], DecoderConfig]] = {
    "gpt2": _gpt2,
    "llama": _llama,
    "mistral": _llama,
    "qwen2": _llama,
    "qwen3": _llama,
    "phi3": _llama,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
}
