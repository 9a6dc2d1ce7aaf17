"""The GPU's rows: shares of the device's own copy bandwidth, and its own kernels as peers.

Every row takes the device and its sizes, so that the code can be run anywhere; on a CUDA device
the calls are recorded once and replayed, as a compiled decode step does, and timed by events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import mini_attn.torch as mt
from benchmarks.machine import best_device, gpu_name, installed, milliseconds
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, RopeConfig
from mini_attn.torch.attention._latent_attention import attend_latents
from mini_attn.torch.attention._visibility import Visibility

HALF = torch.bfloat16
FLUSH_BYTES = 2**29  # more than any GPU's caches hold


def replayed(run: Callable[[], Any], device: str) -> Callable[[], Any]:
    """The same work without Python between its kernels; the run itself on a CPU."""
    if not device.startswith("cuda"):
        return run
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def seconds_of(run: Callable[[], Any], device: str, flush: torch.Tensor) -> float:
    """Seconds of one run whose data are not in the caches."""
    flush.zero_()
    if not device.startswith("cuda"):
        wait(device)
        start = time.perf_counter()
        run()
        wait(device)
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3


def side_by_side(
    runs: dict[str, Callable[[], Any]], device: str, *, repeats: int = 20
) -> dict[str, float]:
    """Shortest seconds of each run on a device, taken in turn, each with cold caches."""
    size = 1 if device == "cpu" else FLUSH_BYTES
    flush = torch.empty(size, dtype=torch.int8, device=device)
    ready = {name: replayed(run, device) for name, run in runs.items()}
    for run in ready.values():
        run()
    best = dict.fromkeys(ready, float("inf"))
    for _ in range(repeats):
        for name, run in ready.items():
            best[name] = min(best[name], seconds_of(run, device, flush))
    return best


def copy_bandwidth(device: str, size: int = 2**30) -> float:
    """Bytes a second that a copy reads and writes together."""
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    best = side_by_side({"copy": lambda: target.copy_(source)}, device, repeats=10)
    return 2 * source.nbytes / best["copy"]


def matmul_rate(device: str, size: int = 8192) -> float:
    """FLOPs a second of one large bfloat16 product."""
    a, b = (torch.ones(size, size, device=device, dtype=HALF) for _ in "ab")
    return 2 * size**3 / side_by_side({"product": lambda: a @ b}, device, repeats=10)["product"]


def normal(*shape: int, device: str) -> torch.Tensor:
    return torch.randn(*shape, device=device, dtype=HALF)


@torch.inference_mode()
def grouped_decode(
    bandwidth: float, device: str, batch: int = 16, kv_len: int = 8192, n_heads: int = 32
) -> dict[str, Any]:
    """One query a sequence over a long cache with grouped heads."""
    q = normal(batch, n_heads, 1, 128, device=device)
    k, v = (normal(batch, n_heads // 4, kv_len, 128, device=device) for _ in "kv")
    best = side_by_side(
        {
            "ours": lambda: mt.scaled_dot_product_attention(q, k, v),
            "sdpa": lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        },
        device,
    )
    return {
        "sizes": f"batch {batch}, {n_heads}/{n_heads // 4} heads x 128, {kv_len} keys, bfloat16",
        "milliseconds": milliseconds(best),
        "share_of_copy_bandwidth": (k.nbytes + v.nbytes) / best["ours"] / bandwidth,
        "sdpa_share_of_copy_bandwidth": (k.nbytes + v.nbytes) / best["sdpa"] / bandwidth,
        "times_faster_than_sdpa": best["sdpa"] / best["ours"],
        "goals": {"share_of_copy_bandwidth": [">=", 0.85]},
    }


@torch.inference_mode()
def latent_decode(
    bandwidth: float,
    rate: float,
    device: str,
    batch: int = 32,
    kv_len: int = 8192,
    n_heads: int = 16,
) -> dict[str, Any]:
    """Absorbed latent attention of one query a sequence: all heads read one latent and key."""
    rank, rope, scale = 512, 64, 192**-0.5
    q, q_rope = (normal(batch, n_heads, 1, size, device=device) for size in (rank, rope))
    latent, rope_key = (normal(batch, kv_len, size, device=device) for size in (rank, rope))
    absorbed = torch.cat([q, q_rope], dim=-1)
    joined = torch.cat([latent, rope_key], dim=-1)[:, None]
    everything = Visibility(1, kv_len, q.device)
    best = side_by_side(
        {
            "ours": lambda: attend_latents(q, q_rope, latent, rope_key, everything, scale),
            "sdpa": lambda: F.scaled_dot_product_attention(
                absorbed, joined, joined[..., :rank], scale=scale, enable_gqa=True
            ),
        },
        device,
    )
    read = latent.nbytes + rope_key.nbytes
    work = 2 * batch * n_heads * kv_len * (2 * rank + rope)
    bounds = {"memory": read / bandwidth, "arithmetic": work / rate}
    by = max(bounds, key=lambda name: bounds[name])
    return {
        "sizes": f"batch {batch}, {n_heads} heads, latent {rank} + {rope}, {kv_len} keys, bfloat16",
        "milliseconds": milliseconds(best),
        "bound_by": by,
        "share_of_copy_bandwidth": read / best["ours"] / bandwidth,
        "sdpa_share_of_copy_bandwidth": read / best["sdpa"] / bandwidth,
        "share_of_bound": max(bounds.values()) / best["ours"],
        "goals": {"share_of_copy_bandwidth": [">=", 0.85]} if by == "memory" else {},
    }


@torch.inference_mode()
def prefill(rate: float, device: str, seq: int = 4096, n_heads: int = 32) -> dict[str, Any]:
    """Causal attention over a whole prompt against SDPA, and the own online kernel."""
    q = normal(1, n_heads, seq, 128, device=device)
    k, v = (normal(1, n_heads // 4, seq, 128, device=device) for _ in "kv")
    runs = {
        "ours": lambda: mt.scaled_dot_product_attention(q, k, v, causal=True),
        "sdpa": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
    }
    own = installed("triton") is not None and device.startswith("cuda")
    if own:
        runs["own_kernel"] = lambda: mt.online_attention(q, k, v, causal=True)
    best = side_by_side(runs, device)
    work = 4 * n_heads * 128 * cost.visible_pairs(seq, seq)
    row = {
        "sizes": f"{n_heads}/{n_heads // 4} heads x 128, {seq} tokens, causal, bfloat16",
        "milliseconds": milliseconds(best),
        "share_of_sdpa_speed": best["sdpa"] / best["ours"],
        "share_of_matmul_rate": work / best["ours"] / rate,
        "goals": {"share_of_sdpa_speed": [">=", 0.95]},
    }
    if own:
        row["own_kernel_share_of_sdpa_speed"] = best["sdpa"] / best["own_kernel"]
        row["goals"]["own_kernel_share_of_sdpa_speed"] = [">=", 0.8]
    return row


SHAPES = {
    "124 million, multi-head": DecoderConfig(
        50257, 12, AttentionConfig(768, 12, 64, bias=True), 3072, max_positions=1024
    ),
    "1.2 billion, grouped": DecoderConfig(
        128256,
        16,
        AttentionConfig(2048, 32, 64, n_kv_heads=8, rope=RopeConfig("half", theta=500000.0)),
        8192,
        max_positions=1024,
        mlp="gated",
        activation="silu",
        norm="rms_norm",
        positions="none",
        mlp_bias=False,
    ),
}


@torch.inference_mode()
def decoding(
    bandwidth: float,
    device: str,
    config: DecoderConfig,
    name: str,
    prompt: int = 128,
    n_new: int = 128,
    **options: Any,
) -> dict[str, Any]:
    """Tokens a second of a whole decoder: compiled step beside the step as it is written."""
    model = mt.Decoder(config, dtype="bfloat16", device=device).eval()
    tokens = torch.zeros((1, prompt), dtype=torch.int64, device=device)
    compiled = mt.compile_decode_step(**options)

    def run(**step: Any) -> float:
        caches = model.new_caches(1, prompt + n_new)
        mt.generate(model, tokens, max_new_tokens=1, caches=caches)  # the prompt is not timed
        token = tokens[:, -1:]
        wait(device)
        start = time.perf_counter()
        mt.generate(model, token, max_new_tokens=n_new, caches=caches, **step)
        wait(device)
        return (time.perf_counter() - start) / n_new

    run(step=compiled)  # compiles
    seconds = {"compiled": float("inf"), "eager": float("inf")}
    for _ in range(4):
        seconds["compiled"] = min(seconds["compiled"], run(step=compiled))
        seconds["eager"] = min(seconds["eager"], run())
    read = sum(weight.nbytes for weight in model.parameters())
    return {
        "sizes": f"{name}, bfloat16, prompt {prompt}, {n_new} new tokens, batch 1",
        "tokens_per_second": {key: 1 / value for key, value in seconds.items()},
        "times_faster_than_eager": seconds["eager"] / seconds["compiled"],
        "share_of_bandwidth_bound": read / bandwidth / seconds["compiled"],
        "goals": {"times_faster_than_eager": [">=", 1]},
    }


def wait(device: str) -> None:
    """Until a device has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()


def itself(bandwidth: float, rate: float, device: str) -> dict[str, Any]:
    """Measure the device by itself, as the yardstick for the rest."""
    name = "no GPU" if device == "cpu" else gpu_name()
    return {
        "sizes": f"{name}, copy of 1 GiB, product of 8192 x 8192",
        "copy_bytes_per_second": bandwidth,
        "matmul_flops_per_second": rate,
    }


def rows(device: str | None = None) -> dict[str, Callable[[], dict[str, Any]]]:
    """The GPU's rows under their names; what the device can do is measured first."""
    device = device or best_device()
    bandwidth, rate = copy_bandwidth(device), matmul_rate(device)
    found: dict[str, Callable[[], dict[str, Any]]] = {
        "gpu": lambda: itself(bandwidth, rate, device),
        "gpu, grouped decode attention": lambda: grouped_decode(bandwidth, device),
        "gpu, latent decode attention": lambda: latent_decode(bandwidth, rate, device),
        "gpu, latent decode attention, 128 heads": lambda: latent_decode(
            bandwidth, rate, device, n_heads=128
        ),
        "gpu, prefill attention": lambda: prefill(rate, device),
    }
    for name, config in SHAPES.items():
        found[f"gpu, decode, {name}"] = lambda name=name, config=config: decoding(
            bandwidth, device, config, name, mode="reduce-overhead"
        )
    return found


def dry_rows() -> dict[str, Callable[[], dict[str, Any]]]:
    """The same rows on a CPU, at sizes that say nothing of speed."""
    small = DecoderConfig(13, 1, AttentionConfig(8, 2, 4), 16, max_positions=64)
    found: dict[str, Callable[[], dict[str, Any]]] = {
        "gpu": lambda: itself(copy_bandwidth("cpu", 2**20), matmul_rate("cpu", 64), "cpu"),
        "gpu, grouped decode attention": lambda: grouped_decode(1e9, "cpu", 2, 8, 4),
        "gpu, latent decode attention": lambda: latent_decode(1e9, 1e9, "cpu", 2, 8),
        "gpu, latent decode attention, 128 heads": lambda: latent_decode(1e9, 1e9, "cpu", 2, 8, 32),
        "gpu, prefill attention": lambda: prefill(1e9, "cpu", 8, 4),
    }
    for name in SHAPES:
        found[f"gpu, decode, {name}"] = lambda name=name: decoding(
            1e9, "cpu", small, name, 3, 4, backend="eager"
        )
    return found
