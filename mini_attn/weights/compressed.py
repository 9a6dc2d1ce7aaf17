"""Hugging Face's description of DeepSeek-V4's attention layers in this package's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import CompressedConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import count, entry, mapping, number
from mini_attn.weights._layer_lists import check_layers
from mini_attn.weights.hf_rope import rope_from_hf

__all__ = ["compressed_from_hf"]

SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
WINDOW = "sliding_attention"
RATES = {WINDOW: 0, SPARSE: 4, HEAVY: 128}


def compressed_from_hf(config: Mapping[str, Any], layer: int) -> CompressedConfig:
    """The attention of one layer that a DeepSeek-V4 configuration describes.

    ``CompressedAttention(compressed_from_hf(config, layer)).load_state_dict(weights)``

    Parameters
    ----------
    config : mapping
        The whole configuration, of ``model_type`` ``"deepseek_v4"``.
    layer : int
        Which layer, counted from 0.

    Returns
    -------
    CompressedConfig
        Sizes and options, with sinks; weights have the names that follow ``self_attn.`` there.

    Raises
    ------
    ConfigError
        If the configuration is of another family, a number is missing or of another kind, there is
        no such layer, or the layer has a window and no entries.

    Notes
    -----
    The decoder around these layers, with its hyper-connections and its experts chosen by a table,
    isn't read: `config_from_hf` refuses it.

    References
    ----------
    deepseek2026v4, section 2.3

    Examples
    --------
    >>> sizes = {"hidden_size": 64, "num_attention_heads": 8, "head_dim": 32, "q_lora_rank": 16,
    ...          "o_groups": 2, "o_lora_rank": 8, "sliding_window": 4, "num_hidden_layers": 3}
    >>> compressed_from_hf({"model_type": "deepseek_v4", **sizes}, 0).compress
    128
    """
    family = mapping("the configuration", config).get("model_type")
    if family != "deepseek_v4":
        raise ConfigError(f"model_type must be deepseek_v4, got {family!r:.60}")
    kinds = kinds_of(config)
    if check_count("layer", layer, least=0) >= len(kinds):
        raise ConfigError(f"layer must lie in 0 … {len(kinds) - 1}, got {layer}")
    kind, heads = kinds[layer], count(config, "num_key_value_heads", 1)
    if heads != 1:
        raise ConfigError(f"all heads read one key, got num_key_value_heads = {heads}")
    if kind == WINDOW:
        raise ConfigError(
            f"layer {layer} is {kind!r:.60}: it has a window of shared keys and no entries, and no "
            "class here is made for that"
        )
    names = ("index_n_heads", "index_head_dim", "index_topk") if kind == SPARSE else ()
    defaults = dict(zip(names, (64, 128, 512), strict=False))
    head_dim, eps = count(config, "head_dim", 512), number(config, "rms_norm_eps", 1e-6)
    return CompressedConfig(
        d_model=count(config, "hidden_size"),
        n_heads=count(config, "num_attention_heads"),
        head_dim=head_dim,
        window=count(config, "sliding_window", 128),
        compress=rates_of(config)[kind],
        q_lora_rank=count(config, "q_lora_rank"),
        o_groups=count(config, "o_groups"),
        o_lora_rank=count(config, "o_lora_rank"),
        rope=_rope(config, head_dim),
        sinks=True,
        eps=eps,
        **{name: count(config, name, default) for name, default in defaults.items()},
    )


def kinds_of(config: Mapping[str, Any]) -> list[str]:
    """Say what each layer is: in words, by its rate in older files, or as the family usually is."""
    n_layers = count(config, "num_hidden_layers")
    kinds, rates = entry(config, "layer_types", None), entry(config, "compress_ratios", None)
    if kinds is None and rates is not None:
        check_layers("compress_ratios", rates, n_layers, tuple(RATES.values()))
        known = {rate: kind for kind, rate in RATES.items()}
        kinds = [known[rate] for rate in rates]
    if kinds is None:
        kinds = [HEAVY, HEAVY] + [SPARSE if i % 2 else HEAVY for i in range(n_layers)]
    check_layers("layer_types", kinds, n_layers, tuple(RATES))
    return list(kinds[:n_layers])


def rates_of(config: Mapping[str, Any]) -> dict[str, int]:
    """Count the tokens that an entry stands for in each kind of layer; 0 where none is made."""
    told = entry(config, "compress_rates", None)
    rates = {} if told is None else mapping("compress_rates", told)
    found = dict(RATES)
    for kind, old in ((SPARSE, "compress_rate_csa"), (HEAVY, "compress_rate_hca")):
        found[kind] = count(config, old, None) or count(rates, kind, None) or RATES[kind]
    return found


def _rope(config: Mapping[str, Any], head_dim: int) -> RopeConfig:
    """The rotation of layers with entries, which windows alone don't share."""
    given = mapping(
        "rope_parameters", config.get("rope_parameters") or config.get("rope_scaling") or {}
    )
    if isinstance(given.get("compress"), Mapping):
        rope = dict(given["compress"])
    else:
        rope = {k: v for k, v in given.items() if k not in ("main", "compress")}
        rope["rope_theta"] = number(config, "compress_rope_theta", 160000.0)
    turned = count(config, "qk_rope_head_dim", None)
    share = rope.pop("partial_rotary_factor", None) or number(config, "partial_rotary_factor", None)
    if turned is None or share is not None:
        turned = int(head_dim * (share or 64 / 512))
    if (rope.get("rope_type") or rope.get("type")) == "yarn":
        rope.setdefault("attention_factor", 1.0)
    longest = {"max_position_embeddings": count(config, "max_position_embeddings", 1048576)}
    whole = {"model_type": "deepseek_v4", "rope_parameters": rope, **longest}
    found = rope_from_hf(whole, head_dim, layout="interleaved")
    return RopeConfig("interleaved", found.theta, turned, found.scaling)
