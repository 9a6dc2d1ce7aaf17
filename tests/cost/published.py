"""Fields of each listed model's ``config.json``, under their own names.

The tests work out from these fields alone what `mini_attn.models` and `mini_attn.cost` must say,
and give them to Hugging Face's classes. Fields that no test reads are left out.
"""

from __future__ import annotations

from typing import Any


def llama_like(kind: str, eps: float, *sizes: int, **more: Any) -> dict[str, Any]:
    """rms_norm_eps, hidden_size, layers, heads, KV heads, intermediate_size, words, positions."""
    names = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
    )
    return {"model_type": kind, "rms_norm_eps": eps, **dict(zip(names, sizes, strict=True)), **more}


def gpt2(n_embd: int, n_layer: int, n_head: int, n_positions: int = 1024) -> dict[str, Any]:
    return {"model_type": "gpt2", "n_embd": n_embd, "n_layer": n_layer, "n_head": n_head,
            "n_positions": n_positions, "vocab_size": 50257, "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5}  # fmt: skip


def llama3(factor: float) -> dict[str, Any]:
    return {
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    }


def deepseek_yarn(mscale: float) -> dict[str, Any]:
    return {
        "rope_theta": 10000,
        "rope_scaling": {
            "type": "yarn",
            "factor": 40,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": mscale,
            "mscale_all_dim": mscale,
            "original_max_position_embeddings": 4096,
        },
    }


def yarn(factor: float, trained: int, **rest: float) -> dict[str, Any]:
    rule = {"rope_type": "yarn", "factor": factor, "beta_fast": 32.0, "beta_slow": 1.0}
    return {**rule, "original_max_position_embeddings": trained, **rest}


def mistral_yarn(theta: float, factor: float, trained: int, **rest: float) -> dict[str, Any]:
    rest |= {"rope_theta": theta, "mscale": 1.0, "mscale_all_dim": 1.0}
    return {"rope_parameters": yarn(factor, trained, llama_4_scaling_beta=0.1, **rest)}


# Layers with a state of 32 heads, and rotations of a quarter of a head in the others.
QWEN_HYBRID = {"head_dim": 256, "full_attention_interval": 4, "linear_num_value_heads": 32,
               "linear_num_key_heads": 16, "linear_key_head_dim": 128,
               "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
               "rope_theta": 10000000.0, "partial_rotary_factor": 0.25}  # fmt: skip
SHARED = {"moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}
MINIMAX_BLOCKS = ("full_attn", "linear_attn", "mlp")
THREE_STATES_THEN_ALL = [*["linear_attention"] * 3, "full_attention"]
TIED = {"tie_word_embeddings": True}
MILLION = {"rope_theta": 1000000.0}
HALF_MILLION = {"rope_theta": 500000.0}
TEN_THOUSAND = {"rope_theta": 10000.0}
LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
GEMMA2 = {**TIED, **TEN_THOUSAND, "sliding_window": 4096, "attn_logit_softcapping": 50.0,
          "final_logit_softcapping": 30.0}  # fmt: skip
GEMMA3 = {**TIED, **MILLION, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 6}
GEMMA3_LONG = {**GEMMA3, "sliding_window": 1024,
               "rope_scaling": {"rope_type": "linear", "factor": 8.0}}  # fmt: skip
GPT_OSS = {
    "head_dim": 64,
    "sliding_window": 128,
    "num_experts_per_tok": 4,
    "rope_theta": 150000,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 4096,
    },
}
FIVE_THEN_ALL = [*["sliding_attention"] * 5, "full_attention"]
GEMMA4 = {
    **TIED, "head_dim": 256, "global_head_dim": 512, "final_logit_softcapping": 30.0,
    "rope_parameters": {
        "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0,
                           "rope_type": "proportional"},
        "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
    },
}  # fmt: skip
GEMMA4_SMALL = {**GEMMA4, "sliding_window": 512, "hidden_size_per_layer_input": 256,
                "attention_k_eq_v": False}  # fmt: skip
VL = {"head_dim": 128, "rope_theta": 5000000}
OLMO3 = {"sliding_window": 4096, **HALF_MILLION,
         "rope_scaling": yarn(8.0, 8192, attention_factor=1.2079441541679836)}  # fmt: skip
THREE_THEN_ALL = [*["sliding_attention"] * 3, "full_attention"]
INDEXER = {"index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048}
MIMO = {"head_dim": 192, "v_head_dim": 128, "swa_head_dim": 192, "swa_v_head_dim": 128,
        "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "rope_theta": 5000000,
        "swa_rope_theta": 10000, "partial_rotary_factor": 0.334, "sliding_window": 128,
        "sliding_window_size": 128, "attention_value_scale": 0.707,
        "add_swa_attention_sink_bias": True, "add_full_attention_sink_bias": False}  # fmt: skip


def deepseek_v4(layers: int, width: int, heads: int, inner: int, **more: Any) -> dict[str, Any]:
    """Fields that the two have in common; all their layers have experts."""
    return {
        "model_type": "deepseek_v4", "rms_norm_eps": 1e-6, "hidden_size": width,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 1,
        "head_dim": 512, "moe_intermediate_size": inner, "vocab_size": 129280,
        "max_position_embeddings": 1048576, "o_lora_rank": 1024, "sliding_window": 128,
        "index_n_heads": 64, "index_head_dim": 128, "n_shared_experts": 1,
        "num_experts_per_tok": 6, "num_hash_layers": 3, "hc_mult": 4, "qk_rope_head_dim": 64,
        "compress_rope_theta": 160000, **TEN_THOUSAND,
        "rope_scaling": {"type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
                         "original_max_position_embeddings": 65536}, **more,
    }  # fmt: skip


NO_GROUPS = {"n_group": 1, "topk_group": 1, "norm_topk_prob": True}

PUBLISHED: dict[str, dict[str, Any]] = {
    "gpt2": gpt2(768, 12, 12),
    "gpt2-medium": gpt2(1024, 24, 16),
    "gpt2-large": gpt2(1280, 36, 20),
    "gpt2-xl": gpt2(1600, 48, 25),
    # No file was published: table 2.1 of its paper, under the names that GPT-2's file has.
    "gpt3": gpt2(12288, 96, 96, n_positions=2048),
    "gpt-oss-20b": llama_like("gpt_oss", 1e-5, 2880, 24, 64, 8, 2880, 201088, 131072,
                              num_local_experts=32, **GPT_OSS),
    "gpt-oss-120b": llama_like("gpt_oss", 1e-5, 2880, 36, 64, 8, 2880, 201088, 131072,
                               num_local_experts=128, **GPT_OSS),
    "llama-2-7b": llama_like("llama", 1e-5, 4096, 32, 32, 32, 11008, 32000, 4096, **TEN_THOUSAND),
    "llama-2-13b": llama_like("llama", 1e-5, 5120, 40, 40, 40, 13824, 32000, 4096, **TEN_THOUSAND),
    "llama-2-70b": llama_like("llama", 1e-5, 8192, 80, 64, 8, 28672, 32000, 4096, **TEN_THOUSAND),
    "llama-3-8b": llama_like("llama", 1e-5, 4096, 32, 32, 8, 14336, 128256, 8192, **HALF_MILLION),
    "llama-3-70b": llama_like("llama", 1e-5, 8192, 80, 64, 8, 28672, 128256, 8192, **HALF_MILLION),
    "llama-3.1-405b": llama_like("llama", 1e-5, 16384, 126, 128, 8, 53248, 128256, 131072,
                                 **llama3(8.0)),
    "llama-3.2-1b": llama_like("llama", 1e-5, 2048, 16, 32, 8, 8192, 128256, 131072,
                               head_dim=64, **TIED, **llama3(32.0)),
    "llama-3.2-3b": llama_like("llama", 1e-5, 3072, 28, 24, 8, 8192, 128256, 131072,
                               head_dim=128, **TIED, **llama3(32.0)),
    "mistral-7b": llama_like("mistral", 1e-5, 4096, 32, 32, 8, 14336, 32000, 32768,
                             sliding_window=4096, **TEN_THOUSAND),
    "mistral-nemo": llama_like("mistral", 1e-5, 5120, 40, 32, 8, 14336, 131072, 128000,
                               head_dim=128, sliding_window=None, **MILLION),
    "mixtral-8x7b": llama_like("mixtral", 1e-5, 4096, 32, 32, 8, 14336, 32000, 32768, **MILLION,
                               sliding_window=None, num_local_experts=8, num_experts_per_tok=2),
    "mixtral-8x22b": llama_like("mixtral", 1e-5, 6144, 56, 48, 8, 16384, 32000, 65536, **MILLION,
                                sliding_window=None, num_local_experts=8, num_experts_per_tok=2),
    "qwen2.5-7b": llama_like("qwen2", 1e-6, 3584, 28, 28, 4, 18944, 152064, 131072, **MILLION),
    "qwen2.5-72b": llama_like("qwen2", 1e-5, 8192, 80, 64, 8, 29568, 152064, 131072, **MILLION),
    "qwen3-0.6b": llama_like("qwen3", 1e-6, 1024, 28, 16, 8, 3072, 151936, 40960,
                             head_dim=128, **TIED, **MILLION),
    "qwen3-8b": llama_like("qwen3", 1e-6, 4096, 36, 32, 8, 12288, 151936, 40960,
                           head_dim=128, **MILLION),
    "qwen3-32b": llama_like("qwen3", 1e-6, 5120, 64, 64, 8, 25600, 151936, 40960,
                            head_dim=128, **MILLION),
    "qwen3-30b-a3b": llama_like("qwen3_moe", 1e-6, 2048, 48, 32, 4, 6144, 151936, 40960,
                                head_dim=128, num_experts=128, num_experts_per_tok=8,
                                norm_topk_prob=True, moe_intermediate_size=768, **MILLION),
    "qwen3-235b-a22b": llama_like("qwen3_moe", 1e-6, 4096, 94, 64, 4, 12288, 151936, 40960,
                                  head_dim=128, num_experts=128, num_experts_per_tok=8,
                                  norm_topk_prob=True, moe_intermediate_size=1536, **MILLION),
    "gemma-2b": llama_like("gemma", 1e-6, 2048, 18, 8, 1, 16384, 256000, 8192,
                           head_dim=256, **TIED, **TEN_THOUSAND),
    "gemma-7b": llama_like("gemma", 1e-6, 3072, 28, 16, 16, 24576, 256000, 8192,
                           head_dim=256, **TIED, **TEN_THOUSAND),
    "gemma-2-2b": llama_like("gemma2", 1e-6, 2304, 26, 8, 4, 9216, 256000, 8192,
                             head_dim=256, query_pre_attn_scalar=256, **GEMMA2),
    "gemma-2-9b": llama_like("gemma2", 1e-6, 3584, 42, 16, 8, 14336, 256000, 8192,
                             head_dim=256, query_pre_attn_scalar=256, **GEMMA2),
    "gemma-2-27b": llama_like("gemma2", 1e-6, 4608, 46, 32, 16, 36864, 256000, 8192,
                              head_dim=128, query_pre_attn_scalar=144, **GEMMA2),
    "gemma-3-1b": llama_like("gemma3_text", 1e-6, 1152, 26, 4, 1, 6912, 262144, 32768,
                             head_dim=256, query_pre_attn_scalar=256, sliding_window=512, **GEMMA3),
    "gemma-3-4b": llama_like("gemma3_text", 1e-6, 2560, 34, 8, 4, 10240, 262208, 131072,
                             head_dim=256, query_pre_attn_scalar=256, **GEMMA3_LONG),
    "gemma-3-12b": llama_like("gemma3_text", 1e-6, 3840, 48, 16, 8, 15360, 262208, 131072,
                              head_dim=256, query_pre_attn_scalar=256, **GEMMA3_LONG),
    "gemma-3-27b": llama_like("gemma3_text", 1e-6, 5376, 62, 32, 16, 21504, 262208, 131072,
                              head_dim=128, query_pre_attn_scalar=168, **GEMMA3_LONG),
    "gemma-4-e2b": llama_like("gemma4_text", 1e-6, 1536, 35, 8, 1, 6144, 262144, 131072,
                              layer_types=FIVE_THEN_ALL[1:] * 7, num_kv_shared_layers=20,
                              use_double_wide_mlp=True, **GEMMA4_SMALL),
    "gemma-4-e4b": llama_like("gemma4_text", 1e-6, 2560, 42, 8, 2, 10240, 262144, 131072,
                              layer_types=FIVE_THEN_ALL * 7, num_kv_shared_layers=18,
                              use_double_wide_mlp=False, **GEMMA4_SMALL),
    "gemma-4-31b": llama_like("gemma4_text", 1e-6, 5376, 60, 32, 16, 21504, 262144, 262144,
                              layer_types=FIVE_THEN_ALL * 10, sliding_window=1024,
                              num_global_key_value_heads=4, attention_k_eq_v=True,
                              hidden_size_per_layer_input=0, **GEMMA4),
    "deepseek-67b": llama_like("llama", 1e-6, 8192, 95, 64, 8, 22016, 102400, 4096, **TEN_THOUSAND),
    "deepseek-v2-lite": llama_like("deepseek_v2", 1e-6, 2048, 27, 16, 16, 10944, 102400, 163840,
                                   q_lora_rank=None, n_routed_experts=64, n_shared_experts=2,
                                   num_experts_per_tok=6, first_k_dense_replace=1,
                                   moe_intermediate_size=1408, **LATENT, **deepseek_yarn(0.707)),
    "deepseek-v2": llama_like("deepseek_v2", 1e-6, 5120, 60, 128, 128, 12288, 102400, 163840,
                              q_lora_rank=1536, n_routed_experts=160, n_shared_experts=2,
                              num_experts_per_tok=6, first_k_dense_replace=1,
                              moe_intermediate_size=1536, **LATENT, **deepseek_yarn(0.707)),
    "deepseek-v3": llama_like("deepseek_v3", 1e-6, 7168, 61, 128, 128, 18432, 129280, 163840,
                              q_lora_rank=1536, n_routed_experts=256, n_shared_experts=1,
                              num_experts_per_tok=8, first_k_dense_replace=3,
                              moe_intermediate_size=2048, **LATENT, **deepseek_yarn(1.0)),
    "falcon-7b": {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
                  "num_attention_heads": 71, "vocab_size": 65024, "multi_query": True,
                  "parallel_attn": True, "new_decoder_architecture": False, "alibi": False,
                  "bias": False},
    "falcon-40b": {"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
                   "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024,
                   "parallel_attn": True, "new_decoder_architecture": True, "alibi": False,
                   "bias": False},
    "gpt-neox-20b": {"model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44,
                     "num_attention_heads": 64, "intermediate_size": 24576, "vocab_size": 50432,
                     "max_position_embeddings": 2048, "rotary_pct": 0.25,
                     "rotary_emb_base": 10000, "tie_word_embeddings": False},
    "bloom-176b": {"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112,
                   "vocab_size": 250880, "seq_length": 2048},
    "starcoder-15b": {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48,
                      "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152,
                      "multi_query": True},
    "mpt-7b": {"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32,
               "expansion_ratio": 4, "max_seq_len": 2048, "vocab_size": 50432, "no_bias": True,
               "attn_config": {"alibi": True}},
    "phi-3-mini": llama_like("phi3", 1e-5, 3072, 32, 32, 32, 8192, 32064, 4096,
                             sliding_window=2047, **TEN_THOUSAND),
    "olmo-2-7b": llama_like("olmo2", 1e-6, 4096, 32, 32, 32, 11008, 100352, 4096, **HALF_MILLION),
    "olmo-2-13b": llama_like("olmo2", 1e-6, 5120, 40, 40, 40, 13824, 100352, 4096, **HALF_MILLION),
    "olmo-3-7b": llama_like("olmo3", 1e-6, 4096, 32, 32, 32, 11008, 100278, 65536,
                            layer_types=THREE_THEN_ALL * 8, **OLMO3),
    "olmo-3-32b": llama_like("olmo3", 1e-6, 5120, 64, 40, 8, 27648, 100278, 65536,
                             layer_types=THREE_THEN_ALL * 16, **OLMO3),
    "qwen3-vl-4b": llama_like("qwen3_vl_text", 1e-6, 2560, 36, 32, 8, 9728, 151936, 262144, **TIED,
                              **VL),
    "qwen3-vl-8b": llama_like("qwen3_vl_text", 1e-6, 4096, 36, 32, 8, 12288, 151936, 262144, **VL),
    "qwen3-vl-32b": llama_like("qwen3_vl_text", 1e-6, 5120, 64, 64, 8, 25600, 151936, 262144,
                               **VL),
    "qwen3-vl-30b-a3b": llama_like("qwen3_vl_moe_text", 1e-6, 2048, 48, 32, 4, 6144, 151936,
                                   262144, num_experts=128, num_experts_per_tok=8,
                                   norm_topk_prob=True, moe_intermediate_size=768, **VL),
    "qwen3-vl-235b-a22b": llama_like("qwen3_vl_moe_text", 1e-6, 4096, 94, 64, 4, 12288, 151936,
                                     262144, num_experts=128, num_experts_per_tok=8,
                                     norm_topk_prob=True, moe_intermediate_size=1536, **VL),
    "minimax-m2": llama_like("minimax_m2", 1e-6, 3072, 62, 48, 8, 1536, 200064, 196608,
                             head_dim=128, num_local_experts=256, num_experts_per_tok=8,
                             rope_theta=5000000, rotary_dim=64),
    "kimi-k2.5": llama_like("kimi_k2", 1e-5, 7168, 61, 64, 64, 18432, 163840, 262144,
                            q_lora_rank=1536, n_routed_experts=384, n_shared_experts=1,
                            num_experts_per_tok=8, first_k_dense_replace=1,
                            moe_intermediate_size=2048, **LATENT, rope_theta=50000.0,
                            rope_scaling=yarn(64.0, 4096, mscale=1.0, mscale_all_dim=1.0)),
    "youtu-llm-2b": llama_like("youtu", 1e-6, 2048, 32, 16, 16, 6144, 128256, 131072, **TIED,
                               q_lora_rank=1536, **LATENT, rope_interleave=True,
                               rope_parameters={"rope_theta": 1600000, "rope_type": "default"}),
    "solar-open-100b": {
        name: value
        for name, value in llama_like(
            "solar_open", 1e-5, 4096, 48, 64, 8, 0, 196608, 131072, head_dim=128,
            n_routed_experts=128, n_shared_experts=1, num_experts_per_tok=8,
            moe_intermediate_size=1280, **MILLION, rope_scaling=yarn(2.0, 65536), **NO_GROUPS,
        ).items()
        if name != "intermediate_size"  # all its layers have experts
    },
    "k-exaone": llama_like("exaone_moe", 1e-5, 6144, 48, 64, 8, 18432, 153600, 262144,
                           head_dim=128, sliding_window=128, layer_types=THREE_THEN_ALL * 12,
                           num_experts=128, num_shared_experts=1, num_experts_per_tok=8,
                           first_k_dense_replace=1, moe_intermediate_size=2048, **MILLION,
                           **NO_GROUPS),
    "glm-4.7": llama_like("glm4_moe", 1e-5, 5120, 92, 96, 8, 12288, 151552, 202752, head_dim=128,
                          attention_bias=True, use_qk_norm=True, n_routed_experts=160,
                          n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3,
                          moe_intermediate_size=1536, partial_rotary_factor=0.5, **MILLION),
    "glm-4.7-flash": llama_like("glm4_moe_lite", 1e-5, 2048, 47, 20, 20, 10240, 154880, 202752,
                                q_lora_rank=768, kv_lora_rank=512, qk_nope_head_dim=192,
                                qk_rope_head_dim=64, v_head_dim=256, n_routed_experts=64,
                                n_shared_experts=1, num_experts_per_tok=4,
                                first_k_dense_replace=1, moe_intermediate_size=1536, **MILLION),
    "deepseek-v3.2": llama_like("deepseek_v32", 1e-6, 7168, 61, 128, 128, 18432, 129280, 163840,
                                q_lora_rank=1536, n_routed_experts=256, n_shared_experts=1,
                                num_experts_per_tok=8, first_k_dense_replace=3,
                                moe_intermediate_size=2048, **LATENT, **INDEXER,
                                **deepseek_yarn(1.0)),
    # The last number of each list is of the layer that guesses the token after the next.
    "deepseek-v4-flash": deepseek_v4(43, 4096, 64, 2048, q_lora_rank=1024, o_groups=8,
                                     index_topk=512, n_routed_experts=256,
                                     compress_ratios=[0, 0, *[4, 128] * 20, 4, 0]),
    "deepseek-v4-pro": deepseek_v4(61, 7168, 128, 3072, q_lora_rank=1536, o_groups=16,
                                   index_topk=1024, n_routed_experts=384,
                                   compress_ratios=[128, 128, *[4, 128] * 29, 4, 0]),
    "glm-5": llama_like("glm_moe_dsa", 1e-5, 6144, 78, 64, 64, 12288, 154880, 202752,
                        q_lora_rank=2048, kv_lora_rank=512, qk_nope_head_dim=192,
                        qk_rope_head_dim=64, v_head_dim=256, n_routed_experts=256,
                        n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3,
                        moe_intermediate_size=2048, **{**INDEXER, "index_n_heads": 32},
                        rope_parameters={"rope_theta": 1000000, "rope_type": "default"}),
    "mimo-v2-flash": {
        "layernorm_epsilon" if name == "rms_norm_eps" else name: value
        for name, value in llama_like(
            "mimo_v2_flash", 1e-5, 4096, 48, 64, 4, 16384, 152576, 262144, **MIMO,
            hybrid_layer_pattern=[0, *[1, 1, 1, 1, 0], *[1, 1, 1, 1, 1, 0] * 7],
            moe_layer_freq=[0, *[1] * 47], n_routed_experts=256, n_shared_experts=None,
            num_experts_per_tok=8, moe_intermediate_size=2048, **NO_GROUPS,
        ).items()
    },
    "qwen3-next-80b-a3b": llama_like(
        "qwen3_next", 1e-6, 2048, 48, 16, 2, 5120, 151936, 262144, **QWEN_HYBRID, num_experts=512,
        num_experts_per_tok=10, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[],
        **SHARED,
    ),
    "qwen3.5-9b": llama_like("qwen3_5_text", 1e-6, 4096, 32, 16, 4, 12288, 248320, 262144,
                             **QWEN_HYBRID),
    "qwen3.5-35b-a3b": {
        name: value
        for name, value in llama_like(
            "qwen3_5_moe_text", 1e-6, 2048, 40, 16, 2, 0, 248320, 262144, **QWEN_HYBRID,
            num_experts=256, num_experts_per_tok=8, **SHARED,
        ).items()
        if name != "intermediate_size"  # all its layers have experts
    },
    "minimax-text-01": llama_like(
        "minimax", 1e-5, 6144, 80, 64, 8, 9216, 200064, 10240000, head_dim=128,
        rope_theta=10000000.0, num_local_experts=32, num_experts_per_tok=2,
        layer_types=[*["linear_attention"] * 7, "full_attention"] * 10,
        **{f"{block}_alpha_factor": 3.5565588200778455 for block in MINIMAX_BLOCKS},
        **{f"{block}_beta_factor": 1.0 for block in MINIMAX_BLOCKS},
    ),
    "kimi-linear-48b-a3b": llama_like(
        "kimi_linear", 1e-5, 2304, 27, 32, 32, 9216, 163840, 1048576, q_lora_rank=None, **LATENT,
        linear_attn_config={"head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
                            "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
                            "kda_layers": [n for n in range(1, 27) if n % 4]},
        num_experts=256, num_experts_per_tok=8, num_shared_experts=1, moe_intermediate_size=1024,
        first_k_dense_replace=1, routed_scaling_factor=2.446,
    ),
    "olmo-hybrid-7b": llama_like("olmo_hybrid", 1e-6, 3840, 32, 30, 30, 11008, 100352, 65536,
                                 linear_num_key_heads=30, linear_num_value_heads=30,
                                 linear_key_head_dim=96, linear_value_head_dim=192,
                                 linear_conv_kernel_dim=4, linear_allow_neg_eigval=True,
                                 layer_types=THREE_STATES_THEN_ALL * 8,
                                 rope_parameters={"rope_type": "default", "rope_theta": None}),
    "ministral-3-8b": llama_like("ministral3", 1e-5, 4096, 34, 32, 8, 14336, 131072, 262144,
                                 head_dim=128, sliding_window=None,
                                 **mistral_yarn(1000000.0, 16.0, 16384)),
    "mistral-small-4": llama_like("mistral4", 1e-6, 4096, 36, 32, 32, 12288, 131072, 1048576,
                                  q_lora_rank=1024, kv_lora_rank=256, qk_nope_head_dim=64,
                                  qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=128,
                                  n_shared_experts=1, num_experts_per_tok=4,
                                  first_k_dense_replace=0, moe_intermediate_size=2048,
                                  **mistral_yarn(10000.0, 128.0, 8192)),
}  # fmt: skip

# The published totals, from the index of the weights' files or the report. Left out are those
# of files that hold more than the model (a tied matrix twice, a part for pictures).
PARAMETERS = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b": 7_241_732_096,
    "mistral-nemo": 12_247_782_400,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "gpt-neox-20b": 20_554_567_680,
    "bloom-176b": 176_247_271_424,
    "starcoder-15b": 15_517_456_384,
    "mpt-7b": 6_649_286_656,
    "phi-3-mini": 3_821_079_552,
    "olmo-2-7b": 7_298_617_344,
    "olmo-2-13b": 13_716_198_400,
}


def first(fields: dict[str, Any], *names: str) -> Any:
    """The value of the first field that a configuration has."""
    return next(fields[name] for name in names if name in fields)


def shape(fields: dict[str, Any]) -> tuple[int, ...]:
    """Layers, width, heads, KV heads and head size, whatever a configuration calls them."""
    layers = first(fields, "num_hidden_layers", "n_layer", "n_layers")
    width = first(fields, "hidden_size", "n_embd", "d_model")
    heads = first(fields, "num_attention_heads", "n_head", "n_heads")
    if fields.get("multi_query"):
        kv_heads = 1
    else:
        kv_heads = fields.get("num_key_value_heads", fields.get("num_kv_heads", heads))
    return layers, width, heads, kv_heads, fields.get("head_dim", width // heads)


def keeps_state(fields: dict[str, Any], layer: int) -> bool:
    """Whether a layer keeps a state instead of keys and values."""
    if "linear_attn_config" in fields:
        return layer + 1 not in fields["linear_attn_config"]["full_attn_layers"]
    if "full_attention_interval" in fields:
        return (layer + 1) % int(fields["full_attention_interval"]) != 0
    return "linear_attention" in fields.get("layer_types", ()) and bool(
        fields["layer_types"][layer] == "linear_attention"
    )


def state_of(fields: dict[str, Any], context: int) -> tuple[int, int]:
    """Numbers of a layer's state, in float32, and of what its convolution still needs."""
    heads = fields.get("linear_num_value_heads", fields["num_attention_heads"])
    size = fields.get("head_dim", 0)
    if kimi := fields.get("linear_attn_config"):
        fields = {**fields, "linear_conv_kernel_dim": kimi["short_conv_kernel_size"]}
        heads, size = kimi["num_heads"], kimi["head_dim"]
    key, value = (fields.get(f"linear_{of}_head_dim", size) for of in ("key", "value"))
    taps = fields.get("linear_conv_kernel_dim", 1) - 1
    channels = 2 * fields.get("linear_num_key_heads", heads) * key + heads * value
    return heads * key * value, min(context, taps) * channels


def sees_all(fields: dict[str, Any], layer: int) -> bool:
    """Whether a layer keeps every token; where a file has no list, its family's turn says so."""
    if not fields.get("sliding_window"):
        return True
    if "hybrid_layer_pattern" in fields:
        return bool(fields["hybrid_layer_pattern"][layer] == 0)
    if "compress_ratios" in fields:  # a window beside, or alone
        return False
    if "layer_types" in fields:
        return bool(fields["layer_types"][layer] == "full_attention")
    alternating = {"gemma2": 2, "gpt_oss": 2}
    every = fields.get("sliding_window_pattern", alternating.get(fields["model_type"], 0))
    return bool(every) and layer % every == every - 1


def kept_shape(fields: dict[str, Any], layer: int) -> tuple[int, int, int]:
    """KV heads, key and value size of what a layer keeps; those that see all may have their own."""
    *_, kv_heads, head_dim = shape(fields)
    value = fields.get("v_head_dim", head_dim)
    if not sees_all(fields, layer):
        return fields.get("swa_num_key_value_heads", kv_heads), head_dim, value
    own, wide = fields.get("num_global_key_value_heads"), fields.get("global_head_dim")
    return own or kv_heads, wide or head_dim, wide or value


def spans_of(fields: dict[str, Any]) -> list[int]:
    """Tokens that leave an entry in each layer of DeepSeek-V4; 0 where there is a window alone."""
    return list(fields["compress_ratios"][: fields["num_hidden_layers"]])
