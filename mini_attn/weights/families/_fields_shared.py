"""What tables of several families share: what a size is where a family says nothing, and parts."""

from __future__ import annotations

from typing import Any

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
    "window_sinks": {"is": False},
    "window_layers": {"is": None},
    "sparse_layers": {"is": None},
    "spans": {"is": "none"},
    "span_layers": {"is": None},
    "o_groups": {"is": 0},
    "o_lora_rank": {"is": 0},
    "index_n_heads": {"is": 0},
    "index_head_dim": {"is": 0},
    "index_topk": {"is": 0},
    "states": {"is": "none"},
    "linear_kind": {"is": ""},
    "linear_heads": {"is": 0},
    "linear_key_heads": {"is": "linear_heads"},
    "linear_head_dim": {"is": 0},
    "linear_v_head_dim": {"is": "linear_head_dim"},
    "conv_kernel": {"is": 1},
    "conv_bias": {"is": False},
    "linear_bias": {"is": False},
    "linear_norm_over": {"is": None},
    "out_gate": {"is": False},
    "shared_d_ff": {"is": 0},
    "shared_gate": {"is": False},
}

BIAS: Sizes = {"attention_bias": {"key": "attention_bias", "default": False}}
MLP_BIAS: Sizes = {"mlp_bias": {"key": "mlp_bias", "default": False}}
TIED: Sizes = {"tied_embeddings": {"key": "tie_word_embeddings", "default": True}}
MLP: Sizes = {"mlp_matrices": {"is": 2}, "norm": {"is": "layer_norm"}}


def kv_heads(default: int | None) -> Sizes:
    """Return how key/value heads are given; null means one for each head."""
    return {"n_kv_heads": {"key": "num_key_value_heads", "default": default, "null": "n_heads"}}


def window(default: int | None) -> Sizes:
    return {"window": {"key": "sliding_window", "default": default, "null": None}}


LLAMA: Sizes = {
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    **kv_heads(None),
    "head_dim": {"key": "head_dim", "default": None, "null": "d_model // n_heads"},
    "d_ff": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_context": "max_position_embeddings",
    **window(None),
    "also": "hidden_act rms_norm_eps attention_bias rope_parameters rope_theta rope_scaling "
    "original_max_position_embeddings partial_rotary_factor",
}


def like(base: Sizes, *parts: Sizes, also: str = "", **rules: Any) -> Sizes:
    """Return a family like another one; rules and numbers hold for every file of it."""
    told = {name: {"is": rule} for name, rule in rules.items()}
    made = base | {name: size for part in parts for name, size in part.items()} | told
    return made | {"also": f"{base['also']} {also}".strip()}


OWN_KEYS: Sizes = {  # each query head has a key and a value
    "n_kv_heads": {"is": "n_heads"}, "head_dim": {"is": "d_model // n_heads"},
}  # fmt: skip
GPT2: Sizes = {
    **MLP, **TIED,
    "n_layers": "n_layer", "d_model": "n_embd", "n_heads": "n_head", **OWN_KEYS,
    "d_ff": {"key": "n_inner", "default": None, "null": "4 * d_model"},
    "vocab_size": "vocab_size", "max_context": "n_positions", "learned_positions": "n_positions",
    "attention_bias": {"is": True}, "mlp_bias": {"is": True},
}  # fmt: skip
UNBIASED: Sizes = LLAMA | {"also": LLAMA["also"].replace("attention_bias ", "")}
LISTED: Sizes = {"layer_types": {"list": "layer_types"}}
WHOLE: Sizes = {"window": {"is": None}}
QKV_BIAS: Sizes = {"qkv_bias": {"key": "attention_bias", "default": False}}
HEADS_OF_128: Sizes = {"head_dim": {"key": "head_dim", "default": 128}}
ASKED: Sizes = {"window_asked": {"key": "use_sliding_window", "default": False}}
BEHIND: Sizes = {
    **LISTED, **ASKED, **window(4096), "windows": {"is": "behind"},
    "first_windowed": {"key": "max_window_layers", "default": 28, "null": 0, "least": 0},
}  # fmt: skip
GEMMA: Sizes = like(
    LLAMA, BIAS, TIED,
    {"head_dim": {"key": "head_dim", "default": 256},
     "n_kv_heads": {"key": "num_key_value_heads", "default": 16}},
    also="hidden_activation use_bidirectional_attention cache_implementation",
)  # fmt: skip
IN_TURN: Sizes = like(
    GEMMA, LISTED, window(4096),
    {"n_kv_heads": {"key": "num_key_value_heads", "default": 4}},
    also="query_pre_attn_scalar sliding_window_size sliding_window_pattern "
    "attn_logit_softcapping final_logit_softcapping",
    windows="in_turn", norm_placement="both",
)  # fmt: skip
GROUPS = (  # how experts are chosen and weighted, and layers behind the last
    "n_group topk_group topk_method scoring_func norm_topk_prob routed_scaling_factor "
    "num_nextn_predict_layers num_mtp_layers"
)
LATENT: Sizes = like(
    LLAMA, BIAS,
    {"kv_lora_rank": "kv_lora_rank",
     "q_lora_rank": {"key": "q_lora_rank", "default": 1536, "null": None},
     "qk_nope_head_dim": "qk_nope_head_dim", "qk_rope_head_dim": "qk_rope_head_dim",
     "v_head_dim": "v_head_dim",
     "head_dim": {"is": "qk_nope_head_dim + qk_rope_head_dim"}, "n_kv_heads": {"is": "n_heads"},
     "window": {"is": None},
     "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
    also="num_key_value_heads head_dim qk_head_dim rope_interleave mlp_bias pretraining_tp "
    f"moe_layer_freq aux_loss_alpha seq_aux ep_size {GROUPS}",
)  # fmt: skip


def indexer(heads: int, most: int) -> Sizes:
    """Return an indexer's sizes."""
    return {
        "index_n_heads": {"key": "index_n_heads", "default": heads},
        "index_head_dim": {"key": "index_head_dim", "default": 128},
        "index_topk": {"key": "index_topk", "default": most},
    }


def routed(experts: int, shared: int, width: int, dense: int) -> Sizes:
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


def chosen(experts: int, each: int) -> Sizes:
    """Return how many experts there are, and how many a token takes."""
    keys = ["num_local_experts", "num_experts"]
    return {
        "n_experts": {"key": keys, "default": experts, "null": experts},
        "experts_per_token": {"key": "num_experts_per_tok", "default": each},
    }
