"""Attention rows: this package beside its peers, in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import mini_attn.numpy as ma
import mini_attn.torch as mt
from benchmarks.allocations import allocated_peak
from benchmarks.machine import milliseconds, side_by_side
from mini_attn import cost


def grouped_decode(
    bandwidth: float, kv_len: int = 8192, n_heads: int = 32, head_dim: int = 128
) -> dict[str, Any]:
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
        "milliseconds": milliseconds(best),
        "times_faster_than_enable_gqa": best["enable_gqa"] / best["ours"],
        "times_faster_than_mha": best["ours_mha"] / best["ours"],
        "share_of_read_bandwidth": sum(a.nbytes for a in grouped) / best["ours"] / bandwidth,
        "goals": {"times_faster_than_enable_gqa": [">=", 2], "times_faster_than_mha": [">=", 1]},
    }


def prefill(rate: float, seq: int = 1024, n_heads: int = 12, head_dim: int = 64) -> dict[str, Any]:
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
    work = 4 * n_heads * head_dim * cost.visible_pairs(seq, seq)
    return {
        "sizes": f"{n_heads} heads x {head_dim}, {seq} tokens, causal, float32",
        "milliseconds": milliseconds(best),
        "share_of_sdpa_speed": best["sdpa"] / best["ours"],
        "share_of_matmul_rate": work / best["ours"] / rate,
        "goals": {"share_of_sdpa_speed": [">=", 0.95]},
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
    return {**row, "goals": {"mha_share_of_sum_bandwidth": [">=", 0.7]}}


def online(seq: int = 2048, n_heads: int = 8, head_dim: int = 64) -> dict[str, Any]:
    """Attention block by block against the whole score matrix, time and memory, both backends."""
    heads = {"q": n_heads, "k": n_heads // 4, "v": n_heads // 4}
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, n, seq, head_dim), np.float32) for n in heads.values()]
    tensors = [torch.from_numpy(a) for a in arrays]
    runs: dict[str, Callable[[], Any]] = {
        "numpy_online": lambda: ma.online_attention(*arrays, causal=True),
        "numpy_plain": lambda: ma.scaled_dot_product_attention(*arrays, causal=True),
        "torch_online": lambda: mt.online_attention(*tensors, causal=True),
        # The weights are asked for, so that PyTorch's own kernel, itself online, stays out.
        "torch_plain": lambda: mt.scaled_dot_product_attention(
            *tensors, causal=True, return_weights=True
        ),
        "torch_sdpa": lambda: F.scaled_dot_product_attention(
            *tensors, is_causal=True, enable_gqa=True
        ),
    }
    with torch.inference_mode():
        best = side_by_side(runs, repeats=3)
        held = {name: allocated_peak(run) for name, run in runs.items()}
    return {
        "sizes": f"{n_heads}/{n_heads // 4} heads x {head_dim}, {seq} tokens, causal, float32",
        "milliseconds": milliseconds(best),
        "peak_megabytes": {name: peak / 1e6 for name, peak in held.items()},
        "numpy_memory_share_of_plain": held["numpy_online"] / held["numpy_plain"],
        "torch_memory_share_of_plain": held["torch_online"] / held["torch_plain"],
        "numpy_times_faster_than_plain": best["numpy_plain"] / best["numpy_online"],
        "torch_times_faster_than_plain": best["torch_plain"] / best["torch_online"],
        "goals": {
            "numpy_memory_share_of_plain": ["<=", 0.1],
            "torch_memory_share_of_plain": ["<=", 0.1],
        },
    }
