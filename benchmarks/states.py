"""Rows of layers with a state: beside attention, beside Hugging Face, and beside what they count.

All of it is what PyTorch does on the processor, with nothing compiled, on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import torch
from torch import Tensor

import mini_attn.torch as mt
from benchmarks.machine import milliseconds, past_cache, product, side_by_side, sweep
from mini_attn import cost

Runs = dict[str, Callable[[], Any]]
CHUNK = 64
DELTA_RULE = {"linear": False, "gated_delta": True}


def prompt(
    rate: float,
    lengths: Sequence[int] = (256, 512, 1024, 2048, 4096, 8192),
    n_heads: int = 4,
    head_dim: int = 128,
) -> dict[str, Any]:
    """A prompt by causal attention and by a state in chunks, with what their FLOPs predict.

    The rate is taken once more between the runs, so that none can beat a rate of slower hours.
    """
    from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

    square, work, _ = product(2048, 2048, 2048)
    seconds: dict[int, dict[str, float]] = {}
    for seq in lengths:
        q, k, v = (torch.randn(1, n_heads, seq, head_dim) for _ in "qkv")
        k = torch.nn.functional.normalize(k, dim=-1)
        log_decay, beta = -0.1 * torch.rand(1, n_heads, seq), torch.rand(1, n_heads, seq)
        theirs = [x.transpose(1, 2) for x in (q, k, v)]
        rule = {"g": log_decay.mT, "beta": beta.mT, "chunk_size": CHUNK}
        runs: Runs = {
            "attention": partial(mt.scaled_dot_product_attention, q, k, v, causal=True),
            "linear": partial(mt.chunked_attention, q, k, v, chunk=CHUNK),
            "gated_delta": partial(
                mt.chunked_attention, q, k, v, log_decay=log_decay, beta=beta, chunk=CHUNK
            ),
            "hugging_face": partial(torch_chunk_gated_delta_rule, *theirs, **rule),
            "product": square,
        }
        with torch.inference_mode():
            seconds[seq] = side_by_side(runs, repeats=5)
        rate = max(rate, work / seconds[seq].pop("product"))
    predicted = {seq: _prompt_seconds(seq, n_heads, head_dim, rate) for seq in lengths}
    return {
        "sizes": f"{n_heads} heads x {head_dim}, chunks of {CHUNK}, float32",
        "milliseconds": {str(seq): milliseconds(best) for seq, best in seconds.items()},
        "predicted_milliseconds": {str(seq): milliseconds(p) for seq, p in predicted.items()},
        "rate": rate,
        **{
            f"{name}_is_faster_from": _from(
                {seq: best[name] <= best["attention"] for seq, best in seconds.items()}
            )
            for name in DELTA_RULE
        },
        **{
            f"{name}_has_fewer_flops_from": cost.recurrence_crossover(
                key_dim=head_dim, chunk=CHUNK, delta_rule=delta
            )
            for name, delta in DELTA_RULE.items()
        },
        "times_faster_than_hugging_face": min(
            best["hugging_face"] / best["gated_delta"] for best in seconds.values()
        ),
        "goals": {"times_faster_than_hugging_face": [">=", 1]},
    }


def _prompt_seconds(seq: int, n_heads: int, head_dim: int, rate: float) -> dict[str, float]:
    """Return what the FLOPs of the visible pairs take at the best rate of a product."""
    sizes = {"n_heads": n_heads, "key_dim": head_dim, "chunk": CHUNK, "causal": "exact"}
    work = {
        name: cost.recurrence_flops(seq, delta_rule=delta, **sizes)  # type: ignore[arg-type]
        for name, delta in DELTA_RULE.items()
    }
    work["attention"] = cost.attention_flops(
        seq, seq, n_heads=n_heads, head_dim=head_dim, causal="exact"
    )
    return {name: sum(parts.values()) / rate for name, parts in work.items()}


def step(
    read: float,
    contexts: Sequence[int] = (64, 128, 256, 512, 1024, 4096),
    n_heads: int = 32,
    head_dim: int = 128,
    held_bytes: int | None = None,
) -> dict[str, Any]:
    """One token by attention and by a state, with what their bytes predict.

    A state is read and written, a cache is read. Layers take turns, so that none finds its own
    in the processor's cache, and the rate of reading is taken once more between the runs.
    """
    from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

    held = past_cache() if held_bytes is None else held_bytes
    q, k, v = (torch.randn(1, n_heads, 1, head_dim) for _ in "qkv")
    k = torch.nn.functional.normalize(k, dim=-1)
    log_decay, beta = -0.1 * torch.rand(1, n_heads, 1), torch.rand(1, n_heads, 1)
    size = cost.state_bytes(n_heads=n_heads, key_dim=head_dim)["state"]
    states = [torch.randn(1, n_heads, head_dim, head_dim) for _ in range(max(2, held // size))]
    turns = cycle(range(len(states)))
    rule: dict[str, Any] = {"log_decay": log_decay, "beta": beta}

    def ours() -> None:
        at = next(turns)
        _, states[at] = mt.recurrent_attention(q, k, v, **rule, state=states[at], return_state=True)

    def theirs() -> None:
        at = next(turns)
        _, states[at] = torch_recurrent_gated_delta_rule(
            *(x.transpose(1, 2) for x in (q, k, v)),
            g=log_decay.mT, beta=beta.mT, initial_state=states[at], output_final_state=True,
        )  # fmt: skip

    runs: Runs = {"gated_delta": ours, "hugging_face": theirs}
    key_bytes, names = 2 * n_heads * head_dim * 4, {n: f"attention, {n} keys" for n in contexts}
    for n, name in names.items():
        runs[name] = _attending(q, n, max(2, held // (n * key_bytes)))
    runs["read"], work, _ = sweep(held)
    with torch.inference_mode():
        best = side_by_side(runs, repeats=30)
    read = max(read, work / best.pop("read"))
    predicted = {"gated_delta": 2 * size / read}
    predicted |= {name: n * key_bytes / read for n, name in names.items()}
    return {
        "sizes": f"{n_heads} heads x {head_dim}, float32, one sequence",
        "milliseconds": milliseconds(best),
        "predicted_milliseconds": milliseconds(predicted),
        "rate": read,
        "state_is_faster_from": _from(
            {n: best["gated_delta"] <= best[name] for n, name in names.items()}
        ),
        "state_has_fewer_bytes_from": 2 * size // key_bytes,
        "times_faster_than_hugging_face": best["hugging_face"] / best["gated_delta"],
        "goals": {"times_faster_than_hugging_face": [">=", 1]},
    }


def _attending(q: Tensor, kv_len: int, layers: int) -> Callable[[], Any]:
    """One query in one layer after another over what each has cached."""
    sizes = layers, 1, q.shape[1], kv_len, q.shape[3]
    keys, values, turns = torch.randn(sizes), torch.randn(sizes), cycle(range(layers))

    def run() -> None:
        at = next(turns)
        mt.scaled_dot_product_attention(q, keys[at], values[at])

    return run


def _from(faster: dict[int, bool]) -> int | None:
    """The first measured length from which on the answer is yes."""
    found = None
    for length in sorted(faster, reverse=True):
        if not faster[length]:
            break
        found = length
    return found
