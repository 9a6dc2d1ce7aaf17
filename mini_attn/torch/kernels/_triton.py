"""When attention runs in this package's own kernels, and how they are started."""

from __future__ import annotations

import math
import os
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

HAS_TRITON = find_spec("triton") is not None
# With this variable set before the first import, Triton's interpreter runs kernels on the CPU.
INTERPRETED = HAS_TRITON and os.environ.get("TRITON_INTERPRET") == "1"
DEVICES = ("cuda", "cpu") if INTERPRETED else ("cuda",)
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
WIDEST = 256  # numbers of a head that fit a program's registers and shared memory
SHORTEST_SPAN = 256  # keys; what a span costs to merge stays small beside reading it


def takes(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether the kernels take these arrays: device, type, sizes, and no gradient asked."""
    if q.device.type not in DEVICES or not HAS_TRITON or q.dtype not in DTYPES:
        return False
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        return False
    if q.device.type == "cuda" and torch.cuda.get_device_properties(q.device).major < 8:
        return False
    fits = max(q.shape[3], v.shape[3]) <= WIDEST and min(*q.shape, *v.shape) > 0
    return fits and q.stride(3) == k.stride(3) == v.stride(3) == 1


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    places: tuple[Tensor, Tensor] | None,
    *,
    causal: bool,
    window: int | None,
    scale: float,
    softcap: float | None,
    spans: int = 0,
) -> tuple[Tensor, Tensor]:
    """Output and natural log-sum-exp; `spans` 0 cuts the keys as the device needs.

    Without `places` keys stand at 0, 1, 2, … and queries at the last of these.
    """
    q_places, kv_places = (
        (None, None)
        if places is None
        else (place if place.stride(-1) == 1 else place.contiguous() for place in places)
    )
    out, lse = torch.ops.mini_attn.online_attention(
        q, k, v, q_places if causal else None, kv_places, causal, window or 0, scale,
        softcap or 0.0, spans,
    )  # fmt: skip
    return out, lse


@torch.library.custom_op(
    "mini_attn::online_attention",
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, Tensor? q_places, Tensor? kv_places, bool causal, "
    "int window, float scale, float softcap, int spans) -> (Tensor, Tensor)",
)
def _online_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_places: Tensor | None,
    kv_places: Tensor | None,
    causal: bool,
    window: int,
    scale: float,
    softcap: float,
    spans: int,
) -> tuple[Tensor, Tensor]:
    """An operator of its own, so that compiled graphs call it as it is."""
    from mini_attn.torch.kernels import _triton_attention as kernels

    batch, n_heads, q_len, width = q.shape
    n_kv_heads, kv_len, v_width = k.shape[1], k.shape[2], v.shape[3]
    group = n_heads // n_kv_heads
    units, shared = _device(q.device)
    tile = _tile(group * q_len, max(width, v_width), q.dtype, shared)
    n_blocks = -(-group * q_len // tile["BLOCK_Q"])
    programs = batch * n_kv_heads * n_blocks
    span = _span(kv_len, programs, tile, spans, units)
    n_spans = -(-kv_len // span)
    out, lse = _empty(q, v)
    parts, part_sums = (out, lse) if n_spans == 1 else _parts(q, v, n_spans)
    q_places = kv_places if q_places is None else q_places  # not compared
    log2_e = math.log2(math.e)
    factors = (2 * scale / softcap, softcap) if softcap else (scale, 1.0)
    with torch.cuda.device(q.get_device()):  # a kernel starts on the current device
        kernels.attention_kernel[(programs * n_spans,)](
            q, k, v, parts, part_sums, q_places, kv_places,
            q.stride()[:3], k.stride()[:3], v.stride()[:3], _place_steps(q_places, kv_places),
            (batch * n_kv_heads, n_kv_heads, q_len, kv_len, span, n_spans, n_blocks),
            window, (factors[0] * log2_e, factors[1] * log2_e),
            CAUSAL=causal, WINDOW=window > 0, SOFTCAP=softcap > 0, PLACED=kv_places is not None,
            WIDE=INTERPRETED and q.dtype == torch.bfloat16, GROUP=group,
            WIDTH=width, V_WIDTH=v_width, BLOCK_D=_power(width), BLOCK_V=_power(v_width), **tile,
        )  # fmt: skip
        if n_spans > 1:
            kernels.merge_kernel[(lse.numel(),)](
                parts, part_sums, out, lse, lse.numel(), n_spans,
                V_WIDTH=v_width, BLOCK_V=_power(v_width), BLOCK_S=16,
            )  # fmt: skip
    return out, lse


@_online_attention.register_fake
def _shapes(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Return what a compiler has to know of the result."""
    return _empty(q, v)


def _empty(q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    out = q.new_empty(*q.shape[:3], v.shape[3])
    return out, q.new_empty(q.shape[:3], dtype=torch.float32)


def _parts(q: Tensor, v: Tensor, n_spans: int) -> tuple[Tensor, Tensor]:
    """Room for the results of each span of keys."""
    shape = (n_spans, *q.shape[:3])
    out = q.new_empty(*shape, v.shape[3], dtype=torch.float32)
    return out, q.new_empty(shape, dtype=torch.float32)


def _place_steps(q_places: Tensor | None, kv_places: Tensor | None) -> tuple[int, int]:
    """Return how far apart two sequences' positions lie; 0 where all share them."""
    steps = [
        0 if p is None or p.ndim == 1 or len(p) == 1 else p.stride(0) for p in (q_places, kv_places)
    ]
    return steps[0], steps[1]


def _power(width: int) -> int:
    """The next power of two, at least the 16 that a matrix unit multiplies."""
    return max(16, 1 << (width - 1).bit_length())


def _tile(rows: int, width: int, dtype: torch.dtype, shared: int) -> dict[str, int]:
    """Rows and keys of a tile, warps that share it, and tiles under way, in `shared` bytes."""
    full = dtype == torch.float32  # no matrix unit multiplies these exactly: small tiles
    block_q, block_k, stages = (32, 16, 2) if full else (128, 64, 3)
    if rows <= 64:  # reading the keys takes the time, not the products
        block_q, block_k = _power(rows), 32 if full and rows <= 16 else block_k
    block_k = max(16, block_k // 2) if width > 128 else block_k

    def taken() -> int:  # the rows, and keys and values of each stage
        return (block_q + 2 * stages * block_k) * _power(width) * dtype.itemsize

    while taken() > shared and stages > 1:
        stages -= 1
    while taken() > shared and block_q > 16:
        block_q //= 2
    warps = 8 if full or block_q * _power(width) > 128 * 64 else 4
    return {"BLOCK_Q": block_q, "BLOCK_K": block_k, "num_warps": warps, "num_stages": stages}


def _span(kv_len: int, programs: int, tile: dict[str, int], spans: int, units: int) -> int:
    """Keys of one span, a multiple of a tile's, so that there is work for all units."""
    waves = 8 if tile["BLOCK_Q"] <= 64 else 1  # many where memory is waited for
    wanted = spans or max(1, waves * units // programs)
    span = max(-(-kv_len // wanted), 1 if spans else SHORTEST_SPAN)
    return -(-span // tile["BLOCK_K"]) * tile["BLOCK_K"]


def _device(device: torch.device) -> tuple[int, int]:
    """Multiprocessors, and bytes of shared memory that a program may take."""
    if device.type == "cpu":
        return 1, 2**30
    found = torch.cuda.get_device_properties(device)
    shared = getattr(found, "shared_memory_per_block_optin", found.shared_memory_per_block)
    return found.multi_processor_count, shared
