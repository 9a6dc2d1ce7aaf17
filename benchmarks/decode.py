"""Cached decoding beside Hugging Face with the same weights, and beside recomputation."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

import mini_attn.torch as mt
from benchmarks.machine import milliseconds, side_by_side
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.weights import from_gpt2

SHAPES = {
    "gpt2_124m": {"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257},
    "4_layers_256": {"n_layer": 4, "n_embd": 256, "n_head": 4, "vocab_size": 50257},
}


def models(shape: str) -> tuple[GPT2LMHeadModel, mt.Decoder]:
    """A Hugging Face GPT-2 with random weights and our decoder with the same ones."""
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config(**SHAPES[shape], n_positions=1024)).eval()
    size = SHAPES[shape]
    attention = AttentionConfig(
        d_model=size["n_embd"],
        n_heads=size["n_head"],
        head_dim=size["n_embd"] // size["n_head"],
        bias=True,
    )
    config = DecoderConfig(
        vocab_size=size["vocab_size"],
        n_layers=size["n_layer"],
        attention=attention,
        d_ff=4 * size["n_embd"],
        max_positions=1024,
    )
    ours = mt.Decoder(config)
    ours.load_state_dict(from_gpt2(theirs.state_dict(), config))
    return theirs, ours.eval()


def their_generate(model: GPT2LMHeadModel, tokens: torch.Tensor, n_new: int) -> torch.Tensor:
    """Greedy decoding with Hugging Face's own cache and the thinnest loop around it."""
    cache = DynamicCache(config=model.config)
    pieces, step = [tokens], tokens
    for _ in range(n_new):
        answer = model(step, past_key_values=cache, use_cache=True, logits_to_keep=1)
        step = answer.logits[:, -1:].argmax(-1)
        pieces.append(step)
    return torch.cat(pieces, dim=1)


@torch.inference_mode()
def cached(shape: str, bandwidth: float, prompt: int = 128, n_new: int = 64) -> dict[str, Any]:
    """Tokens a second of both, and the share of the time that reading the weights explains."""
    theirs, ours = models(shape)
    tokens = torch.randint(0, 50257, (1, prompt), generator=torch.Generator().manual_seed(1))

    def our_generate() -> torch.Tensor:
        caches = ours.new_caches(1, prompt + n_new)
        return mt.generate(ours, tokens, max_new_tokens=n_new, caches=caches)

    agree = torch.equal(our_generate(), their_generate(theirs, tokens, n_new))
    runs = {
        "ours": our_generate,
        "loop": lambda: their_generate(theirs, tokens, n_new),
        "generate": lambda: theirs.generate(
            tokens, max_new_tokens=n_new, min_new_tokens=n_new, do_sample=False, pad_token_id=0
        ),
    }
    best = side_by_side(runs, repeats=4)
    per_step = best["ours"] / n_new
    weight_bytes = sum(p.nbytes for p in ours.parameters())
    return {
        "sizes": f"{shape}, float32, prompt {prompt}, {n_new} new tokens, batch 1",
        "same_tokens": agree,
        "ours_tokens_per_second": n_new / best["ours"],
        "peer_loop_tokens_per_second": n_new / best["loop"],
        "peer_generate_tokens_per_second": n_new / best["generate"],
        "times_faster_than_peer_loop": best["loop"] / best["ours"],
        "times_faster_than_peer_generate": best["generate"] / best["ours"],
        "share_of_bandwidth_bound": weight_bytes / bandwidth / per_step,
        "goals": {"times_faster_than_peer_loop": [">=", 1.2]},
    }


@torch.inference_mode()
def speedup(tokens: int = 100) -> dict[str, Any]:
    """One start token, `tokens` new ones, GPT-2's shape: with a cache against recomputation."""
    _, ours = models("gpt2_124m")
    start = torch.zeros((1, 1), dtype=torch.int64)
    best = side_by_side(
        {
            "without": lambda: mt.generate(ours, start, max_new_tokens=tokens),
            "with": lambda: mt.generate(
                ours, start, max_new_tokens=tokens, caches=ours.new_caches(1, tokens + 1)
            ),
        },
        repeats=2,
    )
    plain, kept = (cost.token_passes(1, tokens, cached=c) for c in (False, True))
    return {
        "tokens": tokens,
        "seconds_without": best["without"],
        "seconds_with": best["with"],
        "ratio": best["without"] / best["with"],
        "predicted_ratio": plain / kept,
    }


LENGTHS = (64, 256, 1024, 4096)


def gpt2_shaped(max_positions: int, **changes: int) -> mt.Decoder:
    """A decoder of GPT-2's shape with random weights and room for more positions."""
    size = SHAPES["gpt2_124m"] | changes
    n_heads, d_model = size["n_head"], size["n_embd"]
    attention = AttentionConfig(d_model, n_heads, d_model // n_heads, bias=True)
    config = DecoderConfig(
        vocab_size=size["vocab_size"],
        n_layers=size["n_layer"],
        attention=attention,
        d_ff=4 * d_model,
        max_positions=max_positions,
    )
    return mt.Decoder(config).eval()


@torch.inference_mode()
def flat(bandwidth: float, steps: int = 8, **changes: int) -> dict[str, Any]:
    """Milliseconds a token at growing lengths, and without the attention that reads the cache."""
    model = gpt2_shaped(LENGTHS[-1] + steps, **changes)
    token = torch.zeros((1, 1), dtype=torch.int64)
    held = {}
    for length in LENGTHS:
        held[length] = model.new_caches(1, length + steps)
        for cache in held[length]:
            rows = torch.zeros(1, cache.n_kv_heads, length, cache.head_dim)
            cache.append(rows, rows)

    def decode(length: int) -> None:
        for _ in range(steps):
            mt.decode_step(model, token, held[length])
        for cache in held[length]:
            cache.crop(length)

    def attend(length: int) -> None:
        for _ in range(steps):
            for cache in held[length]:
                k, v, _ = cache.view()
                mt.scaled_dot_product_attention(k[:, :, :1], k, v)

    runs = {f"{n}": lambda n=n: decode(n) for n in LENGTHS}
    runs |= {f"{n} attention": lambda n=n: attend(n) for n in LENGTHS}
    best = {name: seconds / steps for name, seconds in side_by_side(runs, repeats=6).items()}
    rest = {f"{n}": best[f"{n}"] - best[f"{n} attention"] for n in LENGTHS}
    read = {f"{n}": sum(c.used_bytes for c in held[n]) for n in LENGTHS}
    longest = str(LENGTHS[-1])
    return {
        "sizes": f"12 layers x 768, float32, {LENGTHS[0]} to {LENGTHS[-1]} cached tokens",
        "milliseconds_per_token": milliseconds(best),
        "milliseconds_without_attention": milliseconds(rest),
        "attention_share_of_read_bandwidth": read[longest]
        / best[f"{longest} attention"]
        / bandwidth,
        "longest_over_shortest_without_attention": rest[longest] / rest[str(LENGTHS[0])],
        "goals": {"longest_over_shortest_without_attention": ["<=", 1.1]},
    }
