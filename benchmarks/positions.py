"""Rotary rows: turning queries and keys beside Hugging Face's function, table given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from benchmarks.machine import milliseconds, side_by_side


def rope(
    bandwidth: float, seq: int = 2048, n_heads: int = 32, head_dim: int = 128
) -> dict[str, Any]:
    """Queries and keys of a prompt turned, ours against Hugging Face's two lines."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    rng = np.random.default_rng(0)
    q = torch.from_numpy(rng.standard_normal((1, n_heads, seq, head_dim), np.float32))
    k = torch.from_numpy(rng.standard_normal((1, n_heads // 4, seq, head_dim), np.float32))
    frequencies = mt.rope_frequencies(head_dim)
    cos, sin = mt.rope_table(torch.arange(seq), frequencies)
    full = [torch.cat([a, a], dim=-1)[None] for a in (cos, sin)]
    arrays = [a.numpy() for a in (q, k, cos, sin)]
    runs = {
        "ours": lambda: [mt.apply_rope(x, cos, sin, layout="half") for x in (q, k)],
        "ours_interleaved": lambda: [
            mt.apply_rope(x, cos, sin, layout="interleaved") for x in (q, k)
        ],
        "hugging_face": lambda: apply_rotary_pos_emb(q, k, *full),
        "numpy": lambda: [ma.apply_rope(x, *arrays[2:], layout="half") for x in arrays[:2]],
    }
    with torch.inference_mode():
        mine, theirs = runs["ours"](), runs["hugging_face"]()
        agree = all(torch.allclose(a, b, atol=1e-5) for a, b in zip(mine, theirs, strict=True))
        best = side_by_side(runs, repeats=6)
    moved = 2 * (q.nbytes + k.nbytes)  # read once and written once
    return {
        "sizes": f"{n_heads}/{n_heads // 4} heads x {head_dim}, {seq} tokens, float32",
        "same_numbers": agree,
        "milliseconds": milliseconds(best),
        "times_faster_than_hugging_face": best["hugging_face"] / best["ours"],
        "share_of_read_bandwidth": moved / best["ours"] / bandwidth,
        "goals": {"times_faster_than_hugging_face": [">=", 1]},
    }
