"""Cache rows: one appended token and one read of all, of every cache, beside moving the past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from benchmarks.allocations import numpy_peak, torch_peak
from benchmarks.machine import side_by_side

STEPS, REPEATS = 50, 4


def cache_append(length: int = 4096, n_kv_heads: int = 12, head_dim: int = 64) -> dict[str, Any]:
    """One appended token against `np.concatenate` and `torch.cat` of the whole past."""
    past = np.ones((1, n_kv_heads, length, head_dim), np.float32)
    row = np.ones((1, n_kv_heads, 1, head_dim), np.float32)
    past_t, row_t = torch.from_numpy(past), torch.from_numpy(row)
    caches = [
        ours(1, n_kv_heads, head_dim, capacity=length + STEPS + 1)
        for ours in (ma.KVCache, mt.KVCache)
    ]
    caches[0].append(past, past)
    caches[1].append(past_t, past_t)

    def in_place(cache: Any, new: Any) -> None:
        cache.crop(length)
        for _ in range(STEPS):
            cache.append(new, new)

    # Decoding runs in inference mode; so does its append.
    with torch.inference_mode():
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
        "numpy_microseconds": 1e6 * best["numpy"] / STEPS,
        "torch_microseconds": 1e6 * best["torch"] / STEPS,
        "numpy_times_faster_than_concatenate": best["np.concatenate"] / best["numpy"] * STEPS,
        "torch_times_faster_than_cat": best["torch.cat"] / best["torch"] * STEPS,
        "goals": {
            "numpy_times_faster_than_concatenate": [">=", 50],
            "torch_times_faster_than_cat": [">=", 50],
        },
    }


def made(lib: Any, length: int, n_kv_heads: int, head_dim: int) -> dict[str, Any]:
    """One empty cache of each kind that holds this many tokens and some more."""
    room = length + (REPEATS + 1) * STEPS
    sizes = (1, n_kv_heads, head_dim)
    caches = {
        "contiguous": lib.KVCache(*sizes, room),
        "ring": lib.SlidingWindowCache(*sizes, None, window=length // 4),
        "latent": lib.LatentCache(1, 4 * head_dim, head_dim // 2, room),
    }
    pool = lib.BlockPool(-(-room // 16), n_kv_heads, head_dim, block_size=16)
    caches["paged"] = lib.PagedKVCache(pool, 1)
    for bits in (8, 4):
        caches[f"quantised, {bits} bits"] = lib.QuantizedKVCache(*sizes, room, bits=bits)
    return caches


def rows_for(lib: Any, cache: Any, seq: int) -> list[Any]:
    """Ones in the two shapes that this cache takes."""
    if isinstance(cache, lib.LatentCache):
        shapes = [(1, seq, cache.kv_lora_rank), (1, seq, cache.qk_rope_head_dim)]
    else:
        shapes = [(1, cache.n_kv_heads, seq, cache.head_dim)] * 2
    numbers = [np.ones(shape, np.float32) for shape in shapes]
    return numbers if lib is ma else [torch.from_numpy(a) for a in numbers]


def appended(cache: Any, new: list[Any]) -> Callable[[], None]:
    """Many appended tokens, each followed by the read that comes with it."""

    def run() -> None:
        for _ in range(STEPS):
            cache.append(*new)

    return run


def every_cache(length: int = 4096, n_kv_heads: int = 8, head_dim: int = 128) -> dict[str, Any]:
    """Append with its read, per token, of each cache; and the bytes that it keeps."""
    row: dict[str, Any] = {"sizes": f"{length} tokens, {n_kv_heads} x {head_dim}, float32"}
    goals: dict[str, Any] = {}
    with torch.inference_mode():
        for name, lib in (("numpy", ma), ("torch", mt)):
            caches = made(lib, length, n_kv_heads, head_dim)
            for cache in caches.values():
                cache.append(*rows_for(lib, cache, length))
            # Before the runs add to it; the same in both backends.
            row["kept_bytes_per_token"] = {k: c.used_bytes / length for k, c in caches.items()}
            runs = {kind: appended(c, rows_for(lib, c, 1)) for kind, c in caches.items()}
            past, row_of = (rows_for(lib, caches["contiguous"], n) for n in (length, 1))
            join = np.concatenate if lib is ma else torch.cat
            runs["concatenation"] = lambda join=join, past=past, new=row_of: [
                join([a, b], 2) for a, b in zip(past, new, strict=True)
            ]
            best = side_by_side(runs, repeats=REPEATS)
            peer = best.pop("concatenation")
            each = {kind: seconds / STEPS for kind, seconds in best.items()}
            row[f"{name}_microseconds_per_token"] = {k: 1e6 * s for k, s in each.items()}
            row[f"{name}_concatenation_microseconds"] = 1e6 * peer
            for kind in ("contiguous", "ring"):
                key = f"{name}_{kind}_times_faster_than_concatenation"
                row[key] = peer / each[kind]
                goals[key] = [">=", 50]
    return {**row, "goals": goals}


def reading_in_parts(
    length: int = 4096, n_kv_heads: int = 8, head_dim: int = 128
) -> dict[str, Any]:
    """A decode step's attention over pages and codes: read where they lie against gathered first.

    Seconds of both side by side, and the most bytes that each holds at once.
    """
    n_heads = 4 * n_kv_heads
    sizes = f"{length} tokens, {n_heads}/{n_kv_heads} x {head_dim}, float32, 256 slots at a time"
    row: dict[str, Any] = {"sizes": sizes}
    with torch.inference_mode():
        for name, lib, peak in (("numpy", ma, numpy_peak), ("torch", mt, torch_peak)):
            made_here = made(lib, length, n_kv_heads, head_dim)
            query = np.ones((1, n_heads, 1, head_dim), np.float32)
            q = query if lib is ma else torch.from_numpy(query)
            for kind in ("paged", "quantised, 8 bits", "quantised, 4 bits"):
                cache = made_here[kind]
                cache.append(*rows_for(lib, cache, length))
                runs: dict[str, Callable[[], Any]] = {
                    "parts": lambda cache=cache, q=q: cache.attend(q, block_k=256),
                    "gathered": lambda cache=cache, q=q, lib=lib: lib.scaled_dot_product_attention(
                        q, *cache.view()[:2]
                    ),
                }
                best = side_by_side(runs, repeats=REPEATS)
                row[f"{name}, {kind}"] = {
                    "parts_microseconds": 1e6 * best["parts"],
                    "gathered_microseconds": 1e6 * best["gathered"],
                    "parts_times_faster": best["gathered"] / best["parts"],
                    "parts_peak_bytes": peak(runs["parts"]),
                    "gathered_peak_bytes": peak(runs["gathered"]),
                }
    return row
