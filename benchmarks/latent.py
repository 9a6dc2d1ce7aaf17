"""Rows of latent attention: its two forms beside each other and beside their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, repeat
from math import ceil
from typing import Any

import torch

import mini_attn.torch as mt
from benchmarks.machine import milliseconds, past_cache, product, side_by_side, sweep
from mini_attn import cost
from mini_attn.config import LatentConfig, RopeConfig

FORMS = ("expanded", "absorbed")
WORDS = "heads x (128 + 64), values 128, latents 512 + 64, d_model 2048, float32"


def _layer(n_heads: int = 16) -> LatentConfig:
    """DeepSeek-V2-Lite's layer, or one of the same with as many heads as V2 and V3 have."""
    return LatentConfig(2048, n_heads, 512, 128, 64, 128, rope=RopeConfig("interleaved"))


def _copies(config: LatentConfig, kv_len: int) -> int:
    """Layers to take in turn, so that no step finds its weights or latents in a cache.

    A bound that counts reading them holds for such a step alone. In a real decoder it is the
    other layers that drive them out.
    """
    moved = cost.latent_bytes(config, q_len=1, kv_len=kv_len, form="absorbed", dtype_bytes=4)
    return 1 + ceil(past_cache() / sum(moved.values()))


def _steps(
    layers: list[Any], turns: Iterator[int], kv_len: int, q_len: int
) -> dict[str, Callable[[], Any]]:
    """One pass of ``q_len`` tokens behind a filled cache, in each form; it is taken back after."""
    past = kv_len - q_len
    caches = [layer.new_cache(1, kv_len) for layer in layers]
    for cache in caches if past else []:
        cache.append(torch.randn(1, past, 512), torch.randn(1, past, 64))
    x = torch.randn(1, q_len, layers[0].config.d_model)

    def step(form: str) -> None:
        turn = next(turns)
        layers[turn](x, cache=caches[turn], form=form)
        caches[turn].crop(past)

    return {form: lambda form=form: step(form) for form in FORMS}


def _hugging_face(layers: list[Any], turns: Iterator[int], kv_len: int) -> Callable[[], Any]:
    """The same decode steps with the same weights in Hugging Face's class, which expands."""
    from transformers import DeepseekV2Config, DynamicCache
    from transformers.models.deepseek_v2.modeling_deepseek_v2 import (
        DeepseekV2Attention,
        DeepseekV2RotaryEmbedding,
    )

    config = DeepseekV2Config(
        hidden_size=2048,
        num_attention_heads=layers[0].config.n_heads,
        num_key_value_heads=layers[0].config.n_heads,
        q_lora_rank=None,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        max_position_embeddings=8192,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="sdpa",
    )
    theirs = [DeepseekV2Attention(config, layer_idx=0).eval() for _ in layers]
    caches = [DynamicCache() for _ in layers]
    for ours, twin, cache in zip(layers, theirs, caches, strict=True):
        twin.load_state_dict(ours.state_dict(), assign=True)  # the same arrays, not copies
        cache.update(torch.randn(1, 1, kv_len - 1, 512), torch.randn(1, 1, kv_len - 1, 64), 0)
    x = torch.randn(1, 1, 2048)
    place = DeepseekV2RotaryEmbedding(config)(x, torch.tensor([[kv_len - 1]]))

    def step() -> None:
        turn = next(turns)
        cache = {"past_key_values": caches[turn]}
        theirs[turn](x, position_embeddings=place, attention_mask=None, **cache)
        caches[turn].crop(-1)  # one token fewer

    return step


def _bounds(config: LatentConfig, read: float, rate: float, kv_len: int) -> dict[str, float]:
    """Least seconds of a decode step in each form on a machine with these rates."""
    here = cost.measured_device({"float32": rate}, read, memory_bytes=1)
    options = {"q_len": 1, "kv_len": kv_len, "dtype": "float32", "dtype_bytes": 4}
    return {form: cost.latent_seconds(config, here, form=form, **options) for form in FORMS}


def latent_decode(
    read: float, rate: float, kv_len: int = 4096, n_heads: int = 16, copies: int | None = None
) -> dict[str, Any]:
    """A decode step of one layer in both forms, each beside the least time that it can take.

    The bound adds up the products' roofline times with this machine's best rates: FLOPs alone
    would promise more, as a single row's products with the weights wait for memory in both forms.
    Both rates are taken once more in turn with the steps, so that a machine that has become
    faster since they were measured cannot beat a bound of its slower hours.
    """
    config = _layer(n_heads)
    layers = [mt.MultiHeadLatentAttention(config) for _ in range(copies or _copies(config, kv_len))]
    ceilings = {
        "read": sweep(past_cache() if copies is None else 4096),
        "product": product(kv_len, config.kv_lora_rank, n_heads * 256),
    }
    turns = cycle(range(len(layers)))  # for all runs together: nobody follows on its own weights
    with torch.inference_mode():
        runs = _steps(layers, turns, kv_len, 1)
        runs["hugging_face"] = _hugging_face(layers, turns, kv_len)
        runs |= {name: run for name, (run, _, _) in ceilings.items()}
        best = side_by_side(runs, repeats=10 if n_heads < 64 else 4)
    now = {name: work / best.pop(name) for name, (_, work, _) in ceilings.items()}
    read, rate = max(read, now["read"]), max(rate, now["product"])
    bounds = _bounds(config, read, rate, kv_len)
    flops = {
        form: sum(cost.latent_flops(config, q_len=1, kv_len=kv_len, form=form).values())
        for form in FORMS
    }
    shares = {f"{form}_share_of_bound": bounds[form] / best[form] for form in FORMS}
    return {
        "sizes": f"{n_heads} {WORDS}, {kv_len} cached tokens, {len(layers)} layers in turn",
        "milliseconds": milliseconds(best),
        "bound_milliseconds": milliseconds(bounds),
        "bound_rates": {"read_bytes_per_second": read, "matmul_flops_per_second": rate},
        **shares,
        "largest_share_of_bound": max(shares.values()),
        "times_faster_than_expanded": best["expanded"] / best["absorbed"],
        "times_fewer_flops": flops["expanded"] / flops["absorbed"],
        "times_faster_than_hugging_face": best["hugging_face"] / best["absorbed"],
        "goals": {"absorbed_share_of_bound": [">=", 0.85], "largest_share_of_bound": ["<=", 1]},
    }


def latent_crossover(kv_len: int = 2048) -> dict[str, Any]:
    """From how many new tokens on the expanded form is faster, measured and by FLOPs."""
    config = _layer()
    layer = mt.MultiHeadLatentAttention(config)
    seconds: dict[int, dict[str, float]] = {}
    with torch.inference_mode():
        for q_len in (16, 64, 128, 192, 256, 384):
            seconds[q_len] = side_by_side(_steps([layer], repeat(0), kv_len, q_len), repeats=3)
    faster = [q for q, best in seconds.items() if best["expanded"] <= best["absorbed"]]
    return {
        "sizes": f"{config.n_heads} {WORDS}, {kv_len} tokens in all",
        "milliseconds": {str(q_len): milliseconds(best) for q_len, best in seconds.items()},
        "expanded_is_faster_from": min(faster, default=None),
        "expanded_has_fewer_flops_from": cost.latent_crossover(config, kv_len=kv_len),
        "goals": {},
    }
