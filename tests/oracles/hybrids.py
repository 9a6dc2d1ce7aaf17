"""Small configurations of decoders with layers that keep a state, drawn at random by family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import torch

FULL, LINEAR = "full_attention", "linear_attention"


@contextmanager
def wide_from_the_start() -> Iterator[None]:
    """Let what their classes make in PyTorch's default type be float64: rates of decay."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def _any(draw: Random) -> dict[str, Any]:
    return {
        "vocab_size": 61, "initializer_range": 0.3, "pad_token_id": 0, "bos_token_id": None,
        "eos_token_id": None, "tie_word_embeddings": draw.random() < 0.3,
        "rms_norm_eps": draw.choice([1e-6, 1e-3]), "max_position_embeddings": 64,
        "intermediate_size": draw.choice([7, 16]),
    }  # fmt: skip


def kinds(draw: Random, first: bool = False) -> dict[str, Any]:
    """Layers of both kinds; with ``first`` the first one sees all, as their own caches ask."""
    layers = draw.randint(2, 5)
    at = 0 if first else draw.randrange(layers)
    types = [FULL if i == at or draw.random() < 0.2 else LINEAR for i in range(layers)]
    types[at - 1] = LINEAR  # one of each at least
    return {"num_hidden_layers": layers, "layer_types": types}


def delta(draw: Random) -> dict[str, Any]:
    """Sizes of the gated delta rule."""
    keys, group = draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    return {
        "linear_num_key_heads": keys, "linear_num_value_heads": keys * group,
        "linear_key_head_dim": draw.choice([3, 4, 8]),
        "linear_value_head_dim": draw.choice([3, 4, 8]),
        "linear_conv_kernel_dim": draw.choice([2, 3, 4]),
    }  # fmt: skip


def qwen(family: str, seed: int) -> dict[str, Any]:
    """Qwen3Next, Qwen3_5 or Qwen3_5Moe."""
    draw = Random(f"{family} {seed}")
    kv, group, experts = draw.choice([1, 2, 3]), draw.choice([1, 2, 4]), draw.randint(1, 9)
    options = _any(draw) | kinds(draw) | delta(draw) | {
        "hidden_size": draw.choice([16, 21, 24]), "head_dim": draw.choice([4, 8, 16]),
        "num_attention_heads": kv * group, "num_key_value_heads": kv,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": draw.choice([100.0, 1e7]),
            "partial_rotary_factor": draw.choice([0.5, 1.0]),
        },
        "attention_bias": draw.random() < 0.3,
    }  # fmt: skip
    if family != "Qwen3_5":
        options |= {
            "num_experts": experts, "num_experts_per_tok": draw.randint(1, experts),
            "moe_intermediate_size": draw.choice([5, 8]),
            "shared_expert_intermediate_size": draw.choice([5, 6]),
        }  # fmt: skip
    if family == "Qwen3Next":
        options |= {
            "norm_topk_prob": draw.random() < 0.5,
            "mlp_only_layers": draw.choice([[], [0]]),
        }
    return options


def olmo(seed: int) -> dict[str, Any]:
    """OlmoHybrid."""
    draw = Random(f"olmo_hybrid {seed}")
    kv, group = draw.choice([1, 2]), draw.choice([1, 2, 3])
    return _any(draw) | kinds(draw) | delta(draw) | {
        "hidden_size": kv * group * draw.choice([4, 8]), "num_attention_heads": kv * group,
        "num_key_value_heads": kv, "attention_bias": draw.random() < 0.3,
        "linear_allow_neg_eigval": draw.random() < 0.6,
        "rope_parameters": {"rope_type": "default", "rope_theta": draw.choice([None, 100.0])},
    }  # fmt: skip


def minimax(seed: int) -> dict[str, Any]:
    """MiniMax."""
    draw = Random(f"minimax {seed}")
    kv, group, experts = draw.choice([1, 2]), draw.choice([1, 2, 3]), draw.randint(1, 6)
    scales = [f"{block}_{factor}_factor" for block in ("full_attn", "linear_attn", "mlp")
              for factor in ("alpha", "beta")]  # fmt: skip
    return _any(draw) | kinds(draw, first=True) | {
        "hidden_size": draw.choice([16, 21]), "head_dim": draw.choice([4, 6]),
        "num_attention_heads": kv * group, "num_key_value_heads": kv,
        "num_local_experts": experts, "num_experts_per_tok": draw.randint(1, experts),
        "block_size": draw.choice([3, 8, 256]),
        "rope_parameters": {"rope_type": "default", "rope_theta": draw.choice([100.0, 1e6])},
        **{name: draw.choice([1, 1.5, 0.5]) for name in scales},
    }  # fmt: skip


def mamba2(seed: int) -> dict[str, Any]:
    """Mamba2."""
    draw = Random(f"mamba2 {seed}")
    groups, head_dim = draw.choice([1, 2, 3]), draw.choice([4, 6])
    heads, expand = groups * draw.choice([1, 2]), draw.choice([1, 2])
    options = _any(draw)
    for name in ("rms_norm_eps", "max_position_embeddings", "intermediate_size"):
        del options[name]
    return options | {
        "num_heads": heads, "head_dim": head_dim, "hidden_size": heads * head_dim // expand,
        "expand": expand, "state_size": draw.choice([3, 8]),
        "num_hidden_layers": draw.randint(1, 4), "n_groups": groups,
        "conv_kernel": draw.choice([2, 4]), "use_bias": draw.random() < 0.4,
        "use_conv_bias": draw.random() < 0.6, "layer_norm_epsilon": draw.choice([1e-5, 1e-3]),
        "chunk_size": draw.choice([4, 16, 256]),
    }  # fmt: skip


def kimi(seed: int) -> dict[str, Any]:
    """KimiLinear."""
    draw = Random(f"kimi_linear {seed}")
    experts = draw.randint(2, 7)
    options = _any(draw) | kinds(draw)
    mlps = draw.choice([["dense"], ["sparse"]]) + ["sparse"] * (options["num_hidden_layers"] - 1)
    return options | {
        "hidden_size": draw.choice([16, 21]), "num_attention_heads": draw.choice([1, 2, 3]),
        "kv_lora_rank": draw.choice([4, 6]), "q_lora_rank": draw.choice([None, 5]),
        "qk_rope_head_dim": draw.choice([2, 4]), "qk_nope_head_dim": draw.choice([3, 4]),
        "v_head_dim": draw.choice([3, 5]), "attention_bias": draw.random() < 0.3,
        "num_local_experts": experts, "num_experts_per_tok": draw.randint(1, experts),
        "n_shared_experts": draw.choice([1, 2]), "moe_intermediate_size": draw.choice([5, 8]),
        "routed_scaling_factor": draw.choice([1.0, 2.446]), "mlp_layer_types": mlps,
        "linear_head_dim": draw.choice([3, 4, 8]), "linear_num_heads": draw.choice([1, 2, 3]),
        "linear_conv_kernel_dim": draw.choice([2, 4]),
        "tie_word_embeddings": False,  # which their class doesn't do
    }  # fmt: skip
