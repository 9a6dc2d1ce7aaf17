"""Where each family's ``config.json`` has its sizes: data that Python and the pages both read.

A size is the key of a count that the file must have, or a dict of these:

* ``key``: the file's key, or keys that must agree; ``default``: what a missing key means (of a
  flag True or False, which null means too); ``null``: what null means, where null is allowed;
  ``least``: the smallest count, 1 without it; ``times``: a size that the count multiplies;
* ``is``: what every file of the family has; ``list``: the key of a list, or of nothing.

In ``default``, ``null`` and ``is``, a text with a size's name in it is that size, and
``"d_model // n_heads"`` what the arithmetic gives. What a family doesn't name is as in `BASE`.
``windows``, ``kv_heads`` and ``dense`` name rules, which stand in `_rules`; ``also`` are the keys
that cost nothing. ``make bundle`` hands all of it to ``js/data/families.json``.
"""

from __future__ import annotations

from mini_attn.weights.families._fields_counted import COUNTED
from mini_attn.weights.families._fields_shared import (
    ASKED,
    BASE,
    BEHIND,
    BIAS,
    GEMMA,
    GPT2,
    IN_TURN,
    LATENT,
    LISTED,
    LLAMA,
    MLP_BIAS,
    TIED,
    UNBIASED,
    Sizes,
    chosen,
    kv_heads,
    like,
    routed,
    window,
)

__all__ = ["BASE", "FIELDS", "GEMMA"]

FIELDS: dict[str, Sizes] = {
    "llama": like(
        LLAMA, BIAS, MLP_BIAS, also="pretraining_tp is_llama_config max_sequence_length"
    ),
    "mistral": like(LLAMA, kv_heads(8), window(4096), also="layer_types", windows="one"),
    "qwen2": like(LLAMA, BEHIND, kv_heads(32), qkv_bias=True),
    "qwen3": like(
        LLAMA, BEHIND, BIAS, kv_heads(32),
        {"head_dim": {"key": "head_dim", "default": None, "null": 128}}, qk_norm="head",
    ),
    "phi3": like(
        LLAMA, also="resid_pdrop embd_pdrop layer_types full_attn_mod interpolate_factor",
        windows="one",
    ),
    "olmo2": like(
        LLAMA, BIAS, {"window": {"is": None}}, qk_norm="width", norm_placement="after",
    ),
    "olmo3": like(
        LLAMA, BIAS, LISTED, window(4096), windows="in_turn", full_every=4, qk_norm="width",
        norm_placement="after",
    ),
    "smollm3": like(
        LLAMA, LISTED, ASKED, BIAS, MLP_BIAS, TIED, kv_heads(4),
        {"turned_layers": {"list": "no_rope_layers"},
         "turned_every": {"key": "no_rope_layer_interval", "default": 4, "null": 4}},
        also="pretraining_tp max_window_layers", windows="unturned",
    ),
    "gemma": like(GEMMA, {"window": {"is": None}}),
    "gemma2": IN_TURN,
    "gemma3_text": like(
        IN_TURN,
        {"vocab_size": {"key": "vocab_size", "default": 262208},
         "max_context": {"key": "max_position_embeddings", "default": 131072},
         "n_heads": {"key": "num_attention_heads", "default": 8},
         "full_every": {"key": "sliding_window_pattern", "default": 6, "null": 6}},
        also="rope_local_base_freq _sliding_window_pattern", qk_norm="head",
    ),
    "mixtral": like(
        UNBIASED, kv_heads(8), chosen(8, 2), {"expert_d_ff": "intermediate_size"}, windows="one",
    ),
    "qwen3_moe": like(
        LLAMA, ASKED, BIAS, kv_heads(4), window(4096), chosen(128, 8),
        {"expert_d_ff": {"key": "moe_intermediate_size", "default": 768},
         "sparse_every": {"key": "decoder_sparse_step", "default": 1},
         "dense_layers": {"list": "mlp_only_layers"}},
        also="max_window_layers norm_topk_prob", windows="one", qk_norm="head", dense="listed",
    ),
    "gpt_oss": like(
        LLAMA, LISTED, kv_heads(8), window(128), chosen(128, 4),
        {"attention_bias": {"key": "attention_bias", "default": True},
         "head_dim": {"key": "head_dim", "default": 64, "null": "d_model // n_heads"},
         "expert_d_ff": "intermediate_size"},
        also="swiglu_alpha swiglu_limit experts_per_token initial_context_length",
        windows="in_turn", mlp_bias=True, router_bias=True, sinks=True,
    ),
    "minimax_m2": like(
        UNBIASED, kv_heads(8), chosen(256, 8),
        {"head_dim": {"key": "head_dim", "default": 128}, "window": {"is": None},
         "expert_d_ff": "intermediate_size"},
        also="rotary_dim sliding_window scoring_func use_routing_bias use_qk_norm qk_norm_type "
        "attn_type_list shared_intermediate_size shared_moe_mode mlp_intermediate_size use_mtp "
        "num_mtp_modules mtp_transformer_layers layernorm_full_attention_beta "
        "layernorm_linear_attention_beta layernorm_mlp_beta",
        qk_norm="width", router_bias=True,
    ),
    "deepseek_v2": like(LATENT, MLP_BIAS, routed(64, 2, 1407, 0)),
    "deepseek_v3": like(LATENT, routed(256, 1, 2048, 3), router_bias=True),
    "gpt2": {
        **GPT2,
        "also": "n_ctx activation_function resid_pdrop embd_pdrop attn_pdrop layer_norm_epsilon "
        "scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn "
        "add_cross_attention summary_type summary_use_proj summary_activation "
        "summary_proj_to_labels summary_first_dropout n_special predict_special_tokens "
        "output_past num_labels gradient_checkpointing",
    },
    **COUNTED,
}  # fmt: skip
