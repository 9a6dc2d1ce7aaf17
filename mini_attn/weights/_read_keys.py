"""Keys that are read of a configuration, for families whose other keys are refused."""

from __future__ import annotations

COMMON = """
vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads
head_dim max_position_embeddings hidden_act rms_norm_eps tie_word_embeddings attention_bias
rope_parameters rope_theta rope_scaling original_max_position_embeddings
"""
# Some of them say what another key says already, and change nothing.
GEMMA = "hidden_activation use_bidirectional_attention cache_implementation"
WINDOWS = """
query_pre_attn_scalar layer_types sliding_window sliding_window_size sliding_window_pattern
attn_logit_softcapping final_logit_softcapping
"""
NEAR = "rope_local_base_freq _sliding_window_pattern"
TURNING = """
no_rope_layers no_rope_layer_interval layer_types use_sliding_window sliding_window
max_window_layers mlp_bias pretraining_tp
"""
READ = {
    "gemma": f"{COMMON} {GEMMA}".split(),
    "gemma2": f"{COMMON} {GEMMA} {WINDOWS}".split(),
    "gemma3_text": f"{COMMON} {GEMMA} {WINDOWS} {NEAR}".split(),
    "olmo2": COMMON.split(),
    "smollm3": f"{COMMON} {TURNING}".split(),
}
