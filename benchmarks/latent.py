"""Rows of latent attention: its two forms beside each other and beside what `cost` predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import mini_attn.torch as mt
from benchmarks.machine import milliseconds, side_by_side
from mini_attn import cost
from mini_attn.config import LatentConfig, RopeConfig

FORMS = ("expanded", "absorbed")
WORDS = "heads x (128 + 64), values 128, latents 512 + 64, d_model 2048, float32"


def _layer(n_heads: int = 16) -> LatentConfig:
    """DeepSeek-V2-Lite's layer, or one of the same with as many heads as V2 and V3 have."""
    return LatentConfig(2048, n_heads, 512, 128, 64, 128, rope=RopeConfig("interleaved"))


def _steps(layer: Any, kv_len: int, q_len: int) -> dict[str, Callable[[], Any]]:
    """One pass of ``q_len`` tokens behind a filled cache, in each form; it is taken back after."""
    past = kv_len - q_len
    cache = layer.new_cache(1, kv_len)
    if past:
        cache.append(torch.randn(1, past, 512), torch.randn(1, past, 64))
    x = torch.randn(1, q_len, layer.config.d_model)

    def step(form: str) -> None:
        layer(x, cache=cache, form=form)
        cache.crop(past)

    return {form: lambda form=form: step(form) for form in FORMS}


def _hugging_face(layer: Any, kv_len: int) -> Callable[[], Any]:
    """The same decode step with the same weights in Hugging Face's class, which expands."""
    from transformers import DeepseekV2Config, DynamicCache
    from transformers.models.deepseek_v2.modeling_deepseek_v2 import (
        DeepseekV2Attention,
        DeepseekV2RotaryEmbedding,
    )

    config = DeepseekV2Config(
        hidden_size=2048,
        num_attention_heads=layer.config.n_heads,
        num_key_value_heads=layer.config.n_heads,
        q_lora_rank=None,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        max_position_embeddings=8192,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="sdpa",
    )
    theirs = DeepseekV2Attention(config, layer_idx=0).eval()
    theirs.load_state_dict(layer.state_dict())
    cache = DynamicCache()
    cache.update(torch.randn(1, 1, kv_len - 1, 512), torch.randn(1, 1, kv_len - 1, 64), 0)
    x = torch.randn(1, 1, 2048)
    place = DeepseekV2RotaryEmbedding(config)(x, torch.tensor([[kv_len - 1]]))

    def step() -> None:
        theirs(x, position_embeddings=place, attention_mask=None, past_key_values=cache)
        cache.crop(-1)  # one token fewer

    return step


def _predicted(config: LatentConfig, read: float, rate: float, kv_len: int) -> dict[str, float]:
    """Least seconds of a decode step in each form on a machine with these rates."""
    here = cost.measured_device({"float32": rate}, read, memory_bytes=1)
    options = {"q_len": 1, "kv_len": kv_len, "dtype": "float32", "dtype_bytes": 4}
    return {form: cost.latent_seconds(config, here, form=form, **options) for form in FORMS}


def latent_decode(
    read: float, rate: float, kv_len: int = 4096, n_heads: int = 16
) -> dict[str, Any]:
    """A decode step of one layer, absorbed against expanded, and what `cost` predicts of them.

    The prediction adds up the products' roofline times with this machine's own read bandwidth
    and product rate: FLOPs alone would promise more, as a single row's products with the weights
    wait for memory in both forms.
    """
    config = _layer(n_heads)
    layer = mt.MultiHeadLatentAttention(config)
    with torch.inference_mode():
        runs = _steps(layer, kv_len, 1) | {"hugging_face": _hugging_face(layer, kv_len)}
        best = side_by_side(runs, repeats=10 if n_heads < 64 else 4)
    predicted = _predicted(config, read, rate, kv_len)
    flops = {
        form: sum(cost.latent_flops(config, q_len=1, kv_len=kv_len, form=form).values())
        for form in FORMS
    }
    ratio = best["expanded"] / best["absorbed"]
    promised = predicted["expanded"] / predicted["absorbed"]
    return {
        "sizes": f"{n_heads} {WORDS}, {kv_len} cached tokens",
        "milliseconds": milliseconds(best),
        "predicted_milliseconds": milliseconds(predicted),
        "times_faster_than_expanded": ratio,
        "times_faster_predicted": promised,
        "times_fewer_flops": flops["expanded"] / flops["absorbed"],
        "times_faster_than_hugging_face": best["hugging_face"] / best["absorbed"],
        "share_of_predicted_ratio": ratio / promised,
        "goals": {"share_of_predicted_ratio": [">=", 0.8]},
    }


def latent_crossover(kv_len: int = 2048) -> dict[str, Any]:
    """From how many new tokens on the expanded form is faster, measured and by FLOPs."""
    config = _layer()
    layer = mt.MultiHeadLatentAttention(config)
    seconds: dict[int, dict[str, float]] = {}
    with torch.inference_mode():
        for q_len in (16, 64, 128, 192, 256, 384):
            seconds[q_len] = side_by_side(_steps(layer, kv_len, q_len), repeats=3)
    faster = [q for q, best in seconds.items() if best["expanded"] <= best["absorbed"]]
    return {
        "sizes": f"{config.n_heads} {WORDS}, {kv_len} tokens in all",
        "milliseconds": {str(q_len): milliseconds(best) for q_len, best in seconds.items()},
        "expanded_is_faster_from": min(faster, default=None),
        "expanded_has_fewer_flops_from": cost.latent_crossover(config, kv_len=kv_len),
        "goals": {},
    }
