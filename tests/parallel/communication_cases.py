"""Models of random sizes, and the bytes that a rank sends for each scheme."""

from __future__ import annotations

from dataclasses import replace
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import torch

import mini_attn.torch as mt
from mini_attn.errors import MiniAttnError
from mini_attn.models import MODELS, ModelConfig
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.sequence import ring_attention, ulysses_attention
from mini_attn.torch.parallel.split_cache import split_caches
from mini_attn.torch.parallel.tensor import parallelize

KINDS = ("llama-3-8b", "deepseek-v2-lite")
NORMS = ("none", "width", "head")
DTYPES = ("float64", "float32", "bfloat16")


class Drawn(NamedTuple):
    """What is run on how many ranks."""

    ranks: int
    model: ModelConfig
    dtype: str
    batch: int
    tokens: int


def drawn(seed: int) -> Drawn:
    """Sizes that the ranks can share, but for Ulysses, where there may be too few heads."""
    rng = np.random.default_rng(seed)

    def among(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    ranks, base = (2, 4)[seed % 2], MODELS[KINDS[seed // 2 % len(KINDS)]]
    kv = among(1, 2, 4, 8)
    n_heads = lcm(kv, ranks) * among(1, 2, 3)
    sizes: dict[str, Any] = {
        "n_layers": among(1, 2, 3), "d_model": among(6, 10, 12), "n_heads": n_heads,
        "n_kv_heads": kv, "head_dim": among(2, 4, 6), "v_head_dim": among(3, 4, 5),
        "d_ff": ranks * among(1, 2, 3), "vocab_size": among(11, 16),
        "qk_norm": NORMS[seed // 4 % len(NORMS)],
    }  # fmt: skip
    if base.kv_lora_rank:
        nope, turned = among(2, 3), among(2, 4)
        sizes |= {
            "qk_norm": "none", "n_kv_heads": n_heads,
            "head_dim": nope + turned, "qk_nope_head_dim": nope,
            "qk_rope_head_dim": turned, "kv_lora_rank": among(4, 5), "q_lora_rank": among(0, 6),
            "n_experts": among(0, ranks, 2 * ranks), "n_shared_experts": 0, "n_dense_layers": 1,
            "experts_per_token": 2, "expert_d_ff": among(3, 4),
        }  # fmt: skip
    tokens = 2 * ranks * among(1, 2, 3)  # two chunks on each rank
    return Drawn(ranks, replace(base, **sizes), DTYPES[seed % len(DTYPES)], among(1, 2), tokens)


def sent_by(ranks: Ranks, seed: int) -> dict[str, Any]:
    """Bytes of each scheme's collective, on the way there and back, or why it's refused."""
    one = drawn(seed)
    model = mt.Decoder(one.model.decoder(), dtype=one.dtype)
    found: dict[str, Any] = {}

    def count(name: str, kind: str, run: Any) -> Any:
        ranks.sent.reset()
        result = run()
        found[name] = ranks.sent.bytes[kind]
        return result

    tokens = torch.zeros(one.batch, one.tokens, dtype=torch.long)
    share = parallelize(model, ranks).requires_grad_(False)
    share.embed_tokens.weight.requires_grad_()  # gradients of activations alone
    out = count("tensor", "all_reduce", lambda: share(tokens))
    count("tensor, backward", "all_reduce", out.sum().backward)
    with torch.no_grad():
        caches = split_caches(model, ranks, one.batch, one.tokens + 1)
        mt.prefill(model, tokens, caches)
        asked = model, tokens[:, :1], caches
        count("split-cache", "all_gather", lambda: mt.decode_step(*asked))
    schemes = [
        ("ring, contiguous", ring_attention, "contiguous"),
        ("ring, zigzag", ring_attention, "zigzag"),
        ("ulysses", ulysses_attention, "contiguous"),
    ]
    for name, scheme, order in schemes[: 2 if one.model.kv_lora_rank else 3]:
        q, k, v = parts(one)
        kind = "exchange" if scheme is ring_attention else "all_to_all"
        options = {"ranks": ranks, "order": order, "causal": True}
        try:
            out = count(name, kind, lambda: scheme(q, k, v, **options))  # noqa: B023
        except MiniAttnError as error:
            found[name] = f"{type(error).__name__}: {error}"
            continue
        count(f"{name}, backward", kind, out.sum().backward)
    return found


def parts(one: Drawn) -> list[Any]:
    """Queries, keys and values of a rank's share of the tokens; of latents, what is the value."""
    model, seq, dtype = one.model, one.tokens // one.ranks, getattr(torch, one.dtype)
    heads: tuple[int, ...] = model.n_heads, model.n_kv_heads, model.n_kv_heads
    widths: tuple[int, ...] = model.head_dim, model.head_dim, model.v_head_dim
    if model.kv_lora_rank:
        heads, widths = (model.n_heads, 1), (model.kv_lora_rank + model.qk_rope_head_dim,) * 2
    shapes = [(one.batch, n, seq, width) for n, width in zip(heads, widths, strict=True)]
    drawn = [torch.ones(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    return [*drawn, model.kv_lora_rank] if model.kv_lora_rank else drawn
