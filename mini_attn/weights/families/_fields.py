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

from typing import Any

__all__ = ["BASE", "FIELDS", "GEMMA"]

Sizes = dict[str, Any]

BASE: Sizes = {
    "v_head_dim": {"is": "head_dim"},
    "kv_lora_rank": {"is": 0},
    "q_lora_rank": {"is": 0},
    "qk_nope_head_dim": {"is": 0},
    "qk_rope_head_dim": {"is": 0},
    "window": {"is": None},
    "layer_types": {"is": None},
    "windows": {"is": "none"},
    "window_asked": {"is": True},
    "full_every": {"is": 2},
    "first_windowed": {"is": 0},
    "turned_layers": {"is": None},
    "turned_every": {"is": 0},
    "kv_heads": {"is": "given"},
    "learned_positions": {"is": 0},
    "embedding_norm": {"is": False},
    "tied_embeddings": {"key": "tie_word_embeddings", "default": False},
    "qkv_bias": {"is": False},
    "attention_bias": {"is": False},
    "mlp_bias": {"is": False},
    "sinks": {"is": False},
    "qk_norm": {"is": "none"},
    "norm": {"is": "rms_norm"},
    "norm_placement": {"is": "before"},
    "mlp_matrices": {"is": 3},
    "n_experts": {"is": 0},
    "n_shared_experts": {"is": 0},
    "experts_per_token": {"is": 0},
    "expert_d_ff": {"is": 0},
    "router_bias": {"is": False},
    "n_dense_layers": {"is": 0},
    "dense": {"is": "first"},
    "sparse_every": {"is": 1},
    "dense_layers": {"is": None},
    "full_head_dim": {"is": 0},
    "full_n_kv_heads": {"is": 0},
    "full_heads_asked": {"is": True},
    "n_kv_shared_layers": {"is": 0},
    "k_eq_v": {"is": False},
    "v_norm": {"is": False},
    "per_layer_dim": {"is": 0},
    "layer_scalars": {"is": False},
    "wide_readers": {"is": False},
}

_BIAS: Sizes = {"attention_bias": {"key": "attention_bias", "default": False}}
_MLP_BIAS: Sizes = {"mlp_bias": {"key": "mlp_bias", "default": False}}
_TIED: Sizes = {"tied_embeddings": {"key": "tie_word_embeddings", "default": True}}
_MLP: Sizes = {"mlp_matrices": {"is": 2}, "norm": {"is": "layer_norm"}}


def _kv_heads(default: int | None) -> Sizes:
    """Return how key/value heads are given; null means one for each head."""
    return {"n_kv_heads": {"key": "num_key_value_heads", "default": default, "null": "n_heads"}}


def _window(default: int | None) -> Sizes:
    return {"window": {"key": "sliding_window", "default": default, "null": None}}


_LLAMA: Sizes = {
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    **_kv_heads(None),
    "head_dim": {"key": "head_dim", "default": None, "null": "d_model // n_heads"},
    "d_ff": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_context": "max_position_embeddings",
    **_window(None),
    "also": "hidden_act rms_norm_eps attention_bias rope_parameters rope_theta rope_scaling "
    "original_max_position_embeddings partial_rotary_factor",
}


def _like(base: Sizes, *parts: Sizes, also: str = "", **rules: Any) -> Sizes:
    """Return a family like another one; rules and numbers hold for every file of it."""
    told = {name: {"is": rule} for name, rule in rules.items()}
    made = base | {name: size for part in parts for name, size in part.items()} | told
    return made | {"also": f"{base['also']} {also}".strip()}


_UNBIASED: Sizes = _LLAMA | {"also": _LLAMA["also"].replace("attention_bias ", "")}
_LISTED: Sizes = {"layer_types": {"list": "layer_types"}}
_WHOLE: Sizes = {"window": {"is": None}}
_QKV_BIAS: Sizes = {"qkv_bias": {"key": "attention_bias", "default": False}}
_HEADS_OF_128: Sizes = {"head_dim": {"key": "head_dim", "default": 128}}
_ASKED: Sizes = {"window_asked": {"key": "use_sliding_window", "default": False}}
_BEHIND: Sizes = {
    **_LISTED, **_ASKED, **_window(4096), "windows": {"is": "behind"},
    "first_windowed": {"key": "max_window_layers", "default": 28, "null": 0, "least": 0},
}  # fmt: skip
GEMMA: Sizes = _like(
    _LLAMA, _BIAS, _TIED,
    {"head_dim": {"key": "head_dim", "default": 256},
     "n_kv_heads": {"key": "num_key_value_heads", "default": 16}},
    also="hidden_activation use_bidirectional_attention cache_implementation",
)  # fmt: skip
_IN_TURN: Sizes = _like(
    GEMMA, _LISTED, _window(4096),
    {"n_kv_heads": {"key": "num_key_value_heads", "default": 4}},
    also="query_pre_attn_scalar sliding_window_size sliding_window_pattern "
    "attn_logit_softcapping final_logit_softcapping",
    windows="in_turn", norm_placement="both",
)  # fmt: skip
_GROUPS = (  # how experts are chosen and weighted, and layers behind the last
    "n_group topk_group topk_method scoring_func norm_topk_prob routed_scaling_factor "
    "num_nextn_predict_layers num_mtp_layers"
)
_LATENT: Sizes = _like(
    _LLAMA, _BIAS,
    {"kv_lora_rank": "kv_lora_rank",
     "q_lora_rank": {"key": "q_lora_rank", "default": 1536, "null": None},
     "qk_nope_head_dim": "qk_nope_head_dim", "qk_rope_head_dim": "qk_rope_head_dim",
     "v_head_dim": "v_head_dim",
     "head_dim": {"is": "qk_nope_head_dim + qk_rope_head_dim"}, "n_kv_heads": {"is": "n_heads"},
     "window": {"is": None},
     "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
    also="num_key_value_heads head_dim qk_head_dim rope_interleave mlp_bias pretraining_tp "
    f"moe_layer_freq aux_loss_alpha seq_aux ep_size {_GROUPS}",
)  # fmt: skip


def _routed(experts: int, shared: int, width: int, dense: int) -> Sizes:
    """Return DeepSeek's experts; null means that there are none."""
    keys = ["n_routed_experts", "num_local_experts", "num_experts"]
    return {
        "n_experts": {"key": keys, "default": experts, "null": 0},
        "n_shared_experts": {
            "key": "n_shared_experts", "default": shared, "null": 0, "least": 0,
        },
        "expert_d_ff": {"key": "moe_intermediate_size", "default": width},
        "n_dense_layers": {
            "key": "first_k_dense_replace", "default": dense, "null": 0, "least": 0,
        },
    }  # fmt: skip


def _chosen(experts: int, each: int) -> Sizes:
    """Return how many experts there are, and how many a token takes."""
    keys = ["num_local_experts", "num_experts"]
    return {
        "n_experts": {"key": keys, "default": experts, "null": experts},
        "experts_per_token": {"key": "num_experts_per_tok", "default": each},
    }


FIELDS: dict[str, Sizes] = {
    "llama": _like(
        _LLAMA, _BIAS, _MLP_BIAS, also="pretraining_tp is_llama_config max_sequence_length"
    ),
    "mistral": _like(_LLAMA, _kv_heads(8), _window(4096), also="layer_types", windows="one"),
    "qwen2": _like(_LLAMA, _BEHIND, _kv_heads(32), qkv_bias=True),
    "qwen3": _like(
        _LLAMA, _BEHIND, _BIAS, _kv_heads(32),
        {"head_dim": {"key": "head_dim", "default": None, "null": 128}}, qk_norm="head",
    ),
    "phi3": _like(
        _LLAMA, also="resid_pdrop embd_pdrop layer_types full_attn_mod interpolate_factor",
        windows="one",
    ),
    "olmo2": _like(
        _LLAMA, _BIAS, {"window": {"is": None}}, qk_norm="width", norm_placement="after",
    ),
    "olmo3": _like(
        _LLAMA, _BIAS, _LISTED, _window(4096), windows="in_turn", full_every=4, qk_norm="width",
        norm_placement="after",
    ),
    "smollm3": _like(
        _LLAMA, _LISTED, _ASKED, _BIAS, _MLP_BIAS, _TIED, _kv_heads(4),
        {"turned_layers": {"list": "no_rope_layers"},
         "turned_every": {"key": "no_rope_layer_interval", "default": 4, "null": 4}},
        also="pretraining_tp max_window_layers", windows="unturned",
    ),
    "gemma": _like(GEMMA, {"window": {"is": None}}),
    "gemma2": _IN_TURN,
    "gemma3_text": _like(
        _IN_TURN,
        {"vocab_size": {"key": "vocab_size", "default": 262208},
         "max_context": {"key": "max_position_embeddings", "default": 131072},
         "n_heads": {"key": "num_attention_heads", "default": 8},
         "full_every": {"key": "sliding_window_pattern", "default": 6, "null": 6}},
        also="rope_local_base_freq _sliding_window_pattern", qk_norm="head",
    ),
    "mixtral": _like(
        _UNBIASED, _kv_heads(8), _chosen(8, 2), {"expert_d_ff": "intermediate_size"}, windows="one",
    ),
    "qwen3_moe": _like(
        _LLAMA, _ASKED, _BIAS, _kv_heads(4), _window(4096), _chosen(128, 8),
        {"expert_d_ff": {"key": "moe_intermediate_size", "default": 768},
         "sparse_every": {"key": "decoder_sparse_step", "default": 1},
         "dense_layers": {"list": "mlp_only_layers"}},
        also="max_window_layers norm_topk_prob", windows="one", qk_norm="head", dense="listed",
    ),
    "gpt_oss": _like(
        _LLAMA, _LISTED, _kv_heads(8), _window(128), _chosen(128, 4),
        {"attention_bias": {"key": "attention_bias", "default": True},
         "head_dim": {"key": "head_dim", "default": 64, "null": "d_model // n_heads"},
         "expert_d_ff": "intermediate_size"},
        also="swiglu_alpha swiglu_limit experts_per_token initial_context_length",
        windows="in_turn", mlp_bias=True, router_bias=True, sinks=True,
    ),
    "minimax_m2": _like(
        _UNBIASED, _kv_heads(8), _chosen(256, 8),
        {"head_dim": {"key": "head_dim", "default": 128}, "window": {"is": None},
         "expert_d_ff": "intermediate_size"},
        also="rotary_dim sliding_window scoring_func use_routing_bias use_qk_norm qk_norm_type "
        "attn_type_list shared_intermediate_size shared_moe_mode mlp_intermediate_size use_mtp "
        "num_mtp_modules mtp_transformer_layers layernorm_full_attention_beta "
        "layernorm_linear_attention_beta layernorm_mlp_beta",
        qk_norm="width", router_bias=True,
    ),
    "deepseek_v2": _like(_LATENT, _MLP_BIAS, _routed(64, 2, 1407, 0)),
    "deepseek_v3": _like(_LATENT, _routed(256, 1, 2048, 3), router_bias=True),
    "gpt2": {
        **_MLP, **_TIED,
        "n_layers": "n_layer", "d_model": "n_embd", "n_heads": "n_head",
        "n_kv_heads": {"is": "n_heads"}, "head_dim": {"is": "d_model // n_heads"},
        "d_ff": {"key": "n_inner", "default": None, "null": "4 * d_model"},
        "vocab_size": "vocab_size", "max_context": "n_positions",
        "learned_positions": "n_positions",
        "attention_bias": {"is": True}, "mlp_bias": {"is": True},
        "also": "n_ctx activation_function resid_pdrop embd_pdrop attn_pdrop layer_norm_epsilon "
        "scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn "
        "add_cross_attention summary_type summary_use_proj summary_activation "
        "summary_proj_to_labels summary_first_dropout n_special predict_special_tokens "
        "output_past num_labels gradient_checkpointing",
    },
    # Those below are read for their costs only: this package's decoder can't run them, or the
    # reader doesn't know how their weights are stored.
    "qwen3_vl_text": _like(_LLAMA, _BIAS, _kv_heads(32), _HEADS_OF_128, _WHOLE, qk_norm="head"),
    "qwen3_vl_moe_text": _like(
        _LLAMA, _BIAS, _kv_heads(16), _WHOLE, _chosen(60, 4),
        {"expert_d_ff": {"key": "moe_intermediate_size", "default": 1408},
         "sparse_every": {"key": "decoder_sparse_step", "default": 1},
         "dense_layers": {"list": "mlp_only_layers"}},
        also="norm_topk_prob", qk_norm="head", dense="listed",
    ),
    "kimi_k2": _like(_LATENT, _routed(256, 1, 2048, 3), router_bias=True),
    "youtu": _like(_LATENT, _TIED),
    "glm4_moe_lite": _like(
        _LATENT, _routed(64, 1, 1536, 1),
        {"q_lora_rank": {"key": "q_lora_rank", "default": 768, "null": None},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 4}},
        router_bias=True,
    ),
    "mistral4": _like(
        _LATENT, _routed(128, 1, 2048, 0),
        {"q_lora_rank": {"key": "q_lora_rank", "default": 1024, "null": None},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 4}},
    ),
    "ministral3": _like(_UNBIASED, _kv_heads(8), _HEADS_OF_128, windows="one"),
    "glm4_moe": _like(
        _LLAMA, _QKV_BIAS, _kv_heads(8), _WHOLE, _routed(128, 1, 1408, 1),
        {"qk_norm": {"key": "use_qk_norm", "default": False, "yes": "head", "no": "none"},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=_GROUPS, router_bias=True,
    ),
    "solar_open": _like(
        _LLAMA, _QKV_BIAS, _kv_heads(8), _HEADS_OF_128, _WHOLE, _routed(128, 1, 1280, 0),
        {"n_dense_layers": {"is": 0}, "d_ff": {"is": "expert_d_ff"},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=f"intermediate_size first_k_dense_replace {_GROUPS}", router_bias=True,
    ),
    "exaone_moe": _like(
        _UNBIASED, _kv_heads(32), _LISTED, _window(4096), _routed(64, 1, 1024, 1),
        {"n_shared_experts": {"key": "num_shared_experts", "default": 1, "null": 0, "least": 0},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=_GROUPS, windows="in_turn", full_every=4, qk_norm="head", router_bias=True,
    ),
    "gpt_bigcode": {
        **_MLP, **_TIED,
        "n_layers": "n_layer", "d_model": "n_embd", "n_heads": "n_head",
        "n_kv_heads": {"is": "n_heads"}, "kv_heads": {"is": "multi_query"},
        "head_dim": {"is": "d_model // n_heads"},
        "d_ff": {"key": "n_inner", "default": None, "null": "4 * d_model"},
        "vocab_size": "vocab_size", "max_context": "n_positions",
        "learned_positions": "n_positions",
        "attention_bias": {"is": True}, "mlp_bias": {"is": True},
        "also": "multi_query activation_function resid_pdrop embd_pdrop attn_pdrop "
        "layer_norm_epsilon scale_attn_weights scale_attention_softmax_in_fp32 "
        "attention_softmax_in_fp32 inference_runner max_batch_size max_sequence_length "
        "pad_key_length pre_allocate_kv_cache validate_runner_input summary_type summary_use_proj "
        "summary_activation summary_proj_to_labels summary_first_dropout",
    },
    "falcon": {
        **_MLP, **_TIED,
        "n_layers": "num_hidden_layers", "d_model": "hidden_size", "n_heads": "num_attention_heads",
        "n_kv_heads": {"key": "num_kv_heads", "default": None, "null": "n_heads"},
        "kv_heads": {"is": "falcon"}, "head_dim": {"is": "d_model // n_heads"},
        "d_ff": {"key": "ffn_hidden_size", "default": None, "null": "4 * d_model"},
        "vocab_size": "vocab_size",
        "max_context": {"key": "max_position_embeddings", "default": 2048},
        "attention_bias": {"key": "bias", "default": False},
        "mlp_bias": {"key": "bias", "default": False},
        "also": "multi_query new_decoder_architecture parallel_attn alibi "
        "apply_residual_connection_post_layernorm layer_norm_epsilon hidden_dropout "
        "num_ln_in_parallel_attn activation rope_theta rope_scaling rope_parameters",
    },
    "gpt_neox": {
        **_MLP,
        "n_layers": "num_hidden_layers", "d_model": "hidden_size", "n_heads": "num_attention_heads",
        "n_kv_heads": {"is": "n_heads"}, "head_dim": {"is": "d_model // n_heads"},
        "d_ff": "intermediate_size", "vocab_size": "vocab_size",
        "max_context": "max_position_embeddings",
        "attention_bias": {"key": "attention_bias", "default": True}, "mlp_bias": {"is": True},
        "also": "rotary_pct rotary_emb_base hidden_act layer_norm_eps use_parallel_residual "
        "classifier_dropout hidden_dropout attention_probs_dropout_prob rope_theta rope_scaling "
        "rope_parameters partial_rotary_factor",
    },
    "bloom": {
        **_MLP, **_TIED,
        "n_layers": {"key": ["n_layer", "num_hidden_layers"]},
        "d_model": {"key": ["hidden_size", "n_embed"]},
        "n_heads": {"key": ["n_head", "num_attention_heads"]},
        "n_kv_heads": {"is": "n_heads"}, "head_dim": {"is": "d_model // n_heads"},
        "d_ff": {"is": "4 * d_model"}, "vocab_size": "vocab_size",
        "max_context": {"key": "seq_length", "default": 2048},
        "attention_bias": {"is": True}, "mlp_bias": {"is": True}, "embedding_norm": {"is": True},
        "also": "apply_residual_connection_post_layernorm attention_softmax_in_fp32 bias_dropout_"
        "fusion hidden_dropout layer_norm_epsilon masked_softmax_fusion offset_alibi "
        "pretraining_tp skip_bias_add skip_bias_add_qkv slow_but_exact unk_token_id",
    },
    "mpt": {
        **_TIED,
        "n_layers": "n_layers", "d_model": "d_model", "n_heads": "n_heads",
        "n_kv_heads": {"is": "n_heads"}, "head_dim": {"is": "d_model // n_heads"},
        "d_ff": {"key": "expansion_ratio", "default": 4, "times": "d_model"},
        "vocab_size": "vocab_size", "max_context": {"key": "max_seq_len", "default": 2048},
        "mlp_matrices": {"is": 2}, "norm": {"is": "layer_norm_without_bias"},
        "also": "attn_config no_bias learned_pos_emb logit_scale emb_pdrop emb_prob_drop "
        "resid_pdrop resid_prob_drop norm_type verbose embedding_fraction init_device init_config "
        "layer_norm_epsilon",
    },
}  # fmt: skip
