"""Keys of a published configuration: those that change nothing, and those nobody knows.

A family's description is read key by key. A key beside these may belong to another architecture
under the same name, whose layers compute something else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mini_attn.errors import ConfigError

# Whose files these are, how they were trained, and what Hugging Face's classes keep beside.
IDLE = """
architectures transformers_version torch_dtype dtype model_type _name_or_path auto_map use_cache
initializer_range attention_dropout output_router_logits router_aux_loss_coef router_jitter_noise
bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id quantization_config
output_hidden_states output_attentions return_dict chunk_size_feed_forward is_encoder_decoder
is_decoder id2label label2id problem_type torchscript use_bfloat16 tf_legacy_loss pruned_heads
tokenizer_class prefix cross_attention_hidden_size tie_encoder_decoder finetuning_task
task_specific_params unsloth_fixed unsloth_version _attn_implementation
"""
# How text was to be generated, which old files hold as well.
GENERATION = """
max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty
temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size
encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores
return_dict_in_generate forced_bos_token_id forced_eos_token_id remove_invalid_values
exponential_decay_length_penalty suppress_tokens begin_suppress_tokens
"""
HARMLESS = {*IDLE.split(), *GENERATION.split()}
# What a decoder that does not know a key would compute.
WITHOUT = {
    "attention_multiplier": "scores with another scale",
    "attn_logit_softcapping": "scores without a bound",
    "clip_qkv": "queries, keys and values without a bound",
    "embedding_multiplier": "embeddings without their factor",
    "final_logit_softcapping": "logits without a bound",
    "logit_scale": "logits without their factor",
    "logits_scaling": "logits without their divisor",
    "qk_layernorm": "scores of queries and keys that are not normalized",
    "residual_multiplier": "blocks without their factor",
    "use_qk_norm": "scores of queries and keys that are not normalized",
}


def unknown(config: Mapping[str, Any], read: Collection[str]) -> list[str]:
    """Return the keys that are neither read nor known to change nothing, unless they are off."""
    return [
        name
        for name, value in config.items()
        if name not in HARMLESS and name not in read
        and value is not None and value is not False and value not in ([], {}, "")
    ]  # fmt: skip


def refuse_unknown(config: Mapping[str, Any], read: Collection[str]) -> None:
    """Refuse a key that nobody knows."""
    for name in unknown(config, read):
        raise ConfigError(
            f"{name} = {config[name]!r:.60} is not known of {config.get('model_type')}: the model "
            f"may compute something else{_here(name)}; if it changes nothing, leave it out"
        )


def _here(name: str) -> str:
    """Say what this package's decoder computes without a key, if that is known."""
    return f", and this decoder would compute {WITHOUT[name]}" if name in WITHOUT else ""
