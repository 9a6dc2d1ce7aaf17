"""Keys of a published configuration that each family may have; all others are refused."""

from __future__ import annotations

COMMON = """
vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads
head_dim max_position_embeddings hidden_act rms_norm_eps tie_word_embeddings attention_bias
rope_parameters rope_theta rope_scaling original_max_position_embeddings partial_rotary_factor
"""
ROPE = """
rope_type type rope_theta partial_rotary_factor factor original_max_position_embeddings
attention_factor beta_fast beta_slow mscale mscale_all_dim truncate finetuned short_factor
long_factor low_freq_factor high_freq_factor
"""
# Some of them say what another key says already, or are ignored by Hugging Face's class too.
LLAMA = "mlp_bias pretraining_tp sliding_window is_llama_config max_sequence_length"
QWEN = "layer_types use_sliding_window sliding_window max_window_layers"
PHI3 = "resid_pdrop embd_pdrop sliding_window layer_types full_attn_mod interpolate_factor"
GEMMA = "hidden_activation use_bidirectional_attention cache_implementation"
WINDOWS = """
query_pre_attn_scalar layer_types sliding_window sliding_window_size sliding_window_pattern
attn_logit_softcapping final_logit_softcapping
"""
NEAR = "rope_local_base_freq _sliding_window_pattern"
TURNING = f"no_rope_layers no_rope_layer_interval mlp_bias pretraining_tp {QWEN}"
DEEPSEEK = """
kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim qk_head_dim v_head_dim rope_interleave
first_k_dense_replace mlp_bias pretraining_tp num_nextn_predict_layers num_mtp_layers
"""
EXPERTS = """
moe_intermediate_size moe_layer_freq n_group n_routed_experts n_shared_experts norm_topk_prob
num_experts num_experts_per_tok num_local_experts routed_scaling_factor scoring_func topk_group
topk_method aux_loss_alpha seq_aux ep_size
"""
GPT2 = """
vocab_size n_positions n_ctx n_embd n_layer n_head n_inner activation_function resid_pdrop
embd_pdrop attn_pdrop layer_norm_epsilon tie_word_embeddings scale_attn_weights
scale_attn_by_inverse_layer_idx reorder_and_upcast_attn add_cross_attention summary_type
summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout n_special
predict_special_tokens output_past num_labels gradient_checkpointing
"""
READ = {
    "gpt2": GPT2.split(),
    "llama": f"{COMMON} {LLAMA}".split(),
    "mistral": f"{COMMON} sliding_window layer_types".split(),
    "qwen2": f"{COMMON} {QWEN}".split(),
    "qwen3": f"{COMMON} {QWEN}".split(),
    "phi3": f"{COMMON} {PHI3}".split(),
    "gemma": f"{COMMON} {GEMMA}".split(),
    "gemma2": f"{COMMON} {GEMMA} {WINDOWS}".split(),
    "gemma3_text": f"{COMMON} {GEMMA} {WINDOWS} {NEAR}".split(),
    "olmo2": COMMON.split(),
    "smollm3": f"{COMMON} {TURNING}".split(),
    "deepseek_v2": f"{COMMON} {DEEPSEEK} {EXPERTS}".split(),
    "deepseek_v3": f"{COMMON} {DEEPSEEK} {EXPERTS}".split(),
}
