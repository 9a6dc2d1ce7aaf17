"""Attention and cache rows: this package beside its peers, in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from machine import side_by_side

import mini_attn.numpy as ma
import mini_attn.torch as mt


def cache_append(length: int = 4096, n_kv_heads: int = 12, head_dim: int = 64) -> dict[str, Any]:
    """One appended token against `np.concatenate` and `torch.cat` of the whole past."""
    past = np.ones((1, n_kv_heads, length, head_dim), np.float32)
    row = np.ones((1, n_kv_heads, 1, head_dim), np.float32)
    past_t, row_t = torch.from_numpy(past), torch.from_numpy(row)
    steps = 50
    caches = [
        ours(1, n_kv_heads, head_dim, capacity=length + steps + 1)
        for ours in (ma.KVCache, mt.KVCache)
    ]
    caches[0].append(past, past)
    caches[1].append(past_t, past_t)

    def in_place(cache: Any, new: Any) -> None:
        cache.crop(length)
        for _ in range(steps):
            cache.append(new, new)

    best = side_by_side(
        {
            "numpy": lambda: in_place(caches[0], row),
            "torch": lambda: in_place(caches[1], row_t),
            "np.concatenate": lambda: [np.concatenate([past, row], 2) for _ in range(2)],
            "torch.cat": lambda: [torch.cat([past_t, row_t], 2) for _ in range(2)],
        }
    )
    return {
        "sizes": f"{length} tokens, {n_kv_heads} x {head_dim}, float32",
        "numpy_microseconds": 1e6 * best["numpy"] / steps,
        "torch_microseconds": 1e6 * best["torch"] / steps,
        "numpy_times_faster_than_concatenate": best["np.concatenate"] / best["numpy"] * steps,
        "torch_times_faster_than_cat": best["torch.cat"] / best["torch"] * steps,
        "budget": ">= 50",
    }


def grouped_decode(kv_len: int = 8192, n_heads: int = 32, head_dim: int = 128) -> dict[str, Any]:
    """One query row over a long cache: 8 key/value heads against SDPA's own grouping and 32."""
    q = torch.randn(1, n_heads, 1, head_dim)
    grouped = [torch.randn(1, n_heads // 4, kv_len, head_dim) for _ in "kv"]
    full = [torch.randn(1, n_heads, kv_len, head_dim) for _ in "kv"]
    with torch.inference_mode():
        best = side_by_side(
            {
                "ours": lambda: mt.scaled_dot_product_attention(q, *grouped),
                "enable_gqa": lambda: F.scaled_dot_product_attention(q, *grouped, enable_gqa=True),
                "ours_mha": lambda: mt.scaled_dot_product_attention(q, *full),
                "sdpa_mha": lambda: F.scaled_dot_product_attention(q, *full),
            },
            repeats=20,
        )
    return {
        "sizes": f"{n_heads}/{n_heads // 4} heads x {head_dim}, {kv_len} keys, float32",
        "milliseconds": {name: 1e3 * seconds for name, seconds in best.items()},
        "times_faster_than_enable_gqa": best["enable_gqa"] / best["ours"],
        "times_faster_than_mha": best["ours_mha"] / best["ours"],
        "budget": ">= 2 / > 1",
    }


def prefill(seq: int = 1024, n_heads: int = 12, head_dim: int = 64) -> dict[str, Any]:
    """Causal attention over a whole prompt against SDPA."""
    q, k, v = (torch.randn(1, n_heads, seq, head_dim) for _ in "qkv")
    with torch.inference_mode():
        best = side_by_side(
            {
                "ours": lambda: mt.scaled_dot_product_attention(q, k, v, causal=True),
                "sdpa": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            },
            repeats=15,
        )
    return {
        "sizes": f"{n_heads} heads x {head_dim}, {seq} tokens, causal, float32",
        "milliseconds": {name: 1e3 * seconds for name, seconds in best.items()},
        "share_of_sdpa_speed": best["sdpa"] / best["ours"],
        "budget": ">= 0.95",
    }


def numpy_decode(
    bandwidth: float, kv_len: int = 8192, n_heads: int = 32, head_dim: int = 128
) -> dict[str, Any]:
    """NumPy's decode attention as a share of the bandwidth at which one thread sums an array."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((1, n_heads, 1, head_dim), np.float32)
    row: dict[str, Any] = {"sizes": f"{n_heads} heads x {head_dim}, {kv_len} keys, float32"}
    for name, n_kv_heads in (("mha", n_heads), ("gqa", n_heads // 4)):
        k, v = (rng.standard_normal((1, n_kv_heads, kv_len, head_dim), np.float32) for _ in "kv")
        seconds = side_by_side(
            {"ours": lambda k=k, v=v: ma.scaled_dot_product_attention(q, k, v)}, repeats=8
        )["ours"]
        row[f"{name}_milliseconds"] = 1e3 * seconds
        row[f"{name}_share_of_sum_bandwidth"] = (k.nbytes + v.nbytes) / seconds / bandwidth
    return {**row, "budget": "mha >= 0.7"}
