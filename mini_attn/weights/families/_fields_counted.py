"""Fields of the families that are read for their costs only.

This package's decoder can't run them, or the reader doesn't know how their weights are stored.
"""

from __future__ import annotations

from mini_attn.weights.families._fields_shared import (
    BIAS,
    GPT2,
    GROUPS,
    HEADS_OF_128,
    LATENT,
    LISTED,
    LLAMA,
    MLP,
    OWN_KEYS,
    QKV_BIAS,
    TIED,
    UNBIASED,
    WHOLE,
    Sizes,
    chosen,
    indexer,
    kv_heads,
    like,
    routed,
    window,
)

__all__ = ["COUNTED"]

COUNTED: dict[str, Sizes] = {
    "qwen3_vl_text": like(LLAMA, BIAS, kv_heads(32), HEADS_OF_128, WHOLE, qk_norm="head"),
    "qwen3_vl_moe_text": like(
        LLAMA, BIAS, kv_heads(16), WHOLE, chosen(60, 4),
        {"expert_d_ff": {"key": "moe_intermediate_size", "default": 1408},
         "sparse_every": {"key": "decoder_sparse_step", "default": 1},
         "dense_layers": {"list": "mlp_only_layers"}},
        also="norm_topk_prob", qk_norm="head", dense="listed",
    ),
    "kimi_k2": like(LATENT, routed(256, 1, 2048, 3), router_bias=True),
    "youtu": like(LATENT, TIED),
    "deepseek_v32": like(
        LATENT, routed(256, 1, 2048, 3), indexer(64, 2048), router_bias=True,
    ),
    "glm_moe_dsa": like(
        LATENT, routed(256, 1, 2048, 3), indexer(32, 2048),
        {"q_lora_rank": {"key": "q_lora_rank", "default": 2048, "null": None}},
        also="indexer_rope_interleave", router_bias=True,
    ),
    "deepseek_v4": like(
        LLAMA, LISTED, routed(256, 1, 2048, 0), indexer(64, 512),
        {"n_kv_heads": {"key": "num_key_value_heads", "default": 1},
         "head_dim": {"key": "head_dim", "default": 512},
         "window": {"key": "sliding_window", "default": 128},
         "max_context": {"key": "max_position_embeddings", "default": 1048576},
         "q_lora_rank": {"key": "q_lora_rank", "default": 1024},
         "o_groups": {"key": "o_groups", "default": 8},
         "o_lora_rank": {"key": "o_lora_rank", "default": 1024},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 6},
         "span_layers": {"list": "compress_ratios"},
         "n_dense_layers": {"is": 0}, "d_ff": {"is": "expert_d_ff"}},
        also="intermediate_size first_k_dense_replace compress_rates compress_rate_csa "
        "compress_rate_hca compress_rope_theta qk_rope_head_dim num_hash_layers mlp_layer_types "
        f"hc_mult hc_sinkhorn_iters hc_eps swiglu_limit mlp_bias expert_dtype {GROUPS}",
        spans="by_layer", router_bias=True, sinks=True,
    ),
    "mimo_v2_flash": like(
        LLAMA, LISTED, QKV_BIAS, routed(256, 0, 2048, 1),
        {"n_heads": {"key": ["num_attention_heads", "swa_num_attention_heads"]},
         "n_kv_heads": {"key": "swa_num_key_value_heads", "default": None,
                        "null": "2 * full_n_kv_heads"},
         "full_n_kv_heads": {"key": "num_key_value_heads", "default": 4},
         "head_dim": {"key": ["head_dim", "swa_head_dim"], "default": 192},
         "v_head_dim": {"key": ["v_head_dim", "swa_v_head_dim"], "default": 128},
         "window": {"key": ["sliding_window", "sliding_window_size"], "default": 129},
         "window_layers": {"list": "hybrid_layer_pattern"},
         "sparse_layers": {"list": "moe_layer_freq"},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8},
         "max_context": {"key": "max_position_embeddings", "default": 131072},
         "n_dense_layers": {"is": 1},
         "sinks": {"key": "add_swa_attention_sink_bias", "default": True},
         "window_sinks": {
             "key": "add_full_attention_sink_bias", "default": False, "yes": False, "no": True}},
        also="first_k_dense_replace swa_rope_theta layernorm_epsilon attention_value_scale "
        f"attention_chunk_size hybrid_block_size {GROUPS}",
        windows="first_and_in_turn", full_every=6, dense="flagged", router_bias=True,
    ),
    "glm4_moe_lite": like(
        LATENT, routed(64, 1, 1536, 1),
        {"q_lora_rank": {"key": "q_lora_rank", "default": 768, "null": None},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 4}},
        router_bias=True,
    ),
    "mistral4": like(
        LATENT, routed(128, 1, 2048, 0),
        {"q_lora_rank": {"key": "q_lora_rank", "default": 1024, "null": None},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 4}},
    ),
    "ministral3": like(UNBIASED, kv_heads(8), HEADS_OF_128, windows="one"),
    "glm4_moe": like(
        LLAMA, QKV_BIAS, kv_heads(8), WHOLE, routed(128, 1, 1408, 1),
        {"qk_norm": {"key": "use_qk_norm", "default": False, "yes": "head", "no": "none"},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=GROUPS, router_bias=True,
    ),
    "solar_open": like(
        LLAMA, QKV_BIAS, kv_heads(8), HEADS_OF_128, WHOLE, routed(128, 1, 1280, 0),
        {"n_dense_layers": {"is": 0}, "d_ff": {"is": "expert_d_ff"},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=f"intermediate_size first_k_dense_replace {GROUPS}", router_bias=True,
    ),
    "exaone_moe": like(
        UNBIASED, kv_heads(32), LISTED, window(4096), routed(64, 1, 1024, 1),
        {"n_shared_experts": {"key": "num_shared_experts", "default": 1, "null": 0, "least": 0},
         "experts_per_token": {"key": "num_experts_per_tok", "default": 8}},
        also=GROUPS, windows="in_turn", full_every=4, qk_norm="head", router_bias=True,
    ),
    "gpt_bigcode": {
        **GPT2, "kv_heads": {"is": "multi_query"},
        "also": "multi_query activation_function resid_pdrop embd_pdrop attn_pdrop "
        "layer_norm_epsilon scale_attn_weights scale_attention_softmax_in_fp32 "
        "attention_softmax_in_fp32 inference_runner max_batch_size max_sequence_length "
        "pad_key_length pre_allocate_kv_cache validate_runner_input summary_type summary_use_proj "
        "summary_activation summary_proj_to_labels summary_first_dropout",
    },
    "falcon": {
        **MLP, **TIED,
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
        **MLP,
        "n_layers": "num_hidden_layers", "d_model": "hidden_size", "n_heads": "num_attention_heads",
        **OWN_KEYS,
        "d_ff": "intermediate_size", "vocab_size": "vocab_size",
        "max_context": "max_position_embeddings",
        "attention_bias": {"key": "attention_bias", "default": True}, "mlp_bias": {"is": True},
        "also": "rotary_pct rotary_emb_base hidden_act layer_norm_eps use_parallel_residual "
        "classifier_dropout hidden_dropout attention_probs_dropout_prob rope_theta rope_scaling "
        "rope_parameters partial_rotary_factor",
    },
    "bloom": {
        **MLP, **TIED,
        "n_layers": {"key": ["n_layer", "num_hidden_layers"]},
        "d_model": {"key": ["hidden_size", "n_embed"]},
        "n_heads": {"key": ["n_head", "num_attention_heads"]},
        **OWN_KEYS,
        "d_ff": {"is": "4 * d_model"}, "vocab_size": "vocab_size",
        "max_context": {"key": "seq_length", "default": 2048},
        "attention_bias": {"is": True}, "mlp_bias": {"is": True}, "embedding_norm": {"is": True},
        "also": "apply_residual_connection_post_layernorm attention_softmax_in_fp32 bias_dropout_"
        "fusion hidden_dropout layer_norm_epsilon masked_softmax_fusion offset_alibi "
        "pretraining_tp skip_bias_add skip_bias_add_qkv slow_but_exact unk_token_id",
    },
    "mpt": {
        **TIED,
        "n_layers": "n_layers", "d_model": "d_model", "n_heads": "n_heads",
        **OWN_KEYS,
        "d_ff": {"key": "expansion_ratio", "default": 4, "times": "d_model"},
        "vocab_size": "vocab_size", "max_context": {"key": "max_seq_len", "default": 2048},
        "mlp_matrices": {"is": 2}, "norm": {"is": "layer_norm_without_bias"},
        "also": "attn_config no_bias learned_pos_emb logit_scale emb_pdrop emb_prob_drop "
        "resid_pdrop resid_prob_drop norm_type verbose embedding_fraction init_device init_config "
        "layer_norm_epsilon",
    },
}  # fmt: skip
