"""Each way to split a step over processes: what it computes, what it sends, and the formula."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import torch
from torch import Tensor

import mini_attn.torch as mt
from mini_attn.cost import Collective, Communication, Link, communication, fitted_link
from mini_attn.errors import ConfigError
from mini_attn.torch.parallel._ring import travel
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.sequence import ring_attention, shard_positions, ulysses_attention
from mini_attn.torch.parallel.split_cache import split_caches

BYTES = 4  # of a value; everything here is float32
MESSAGES = (2**10, 2**13, 2**16, 2**19, 2**21)  # bytes of those that tell alpha and beta


@dataclass(frozen=True)
class Step:
    """What there is to run, and to expect, of one row."""

    kind: str  # the collective that the formula counts
    formula: Communication
    tokens: int
    layers: float  # how many layers' collectives there are in it
    one: Callable[[], Tensor]  # in one process: this rank's part of the result
    split: Callable[[], Tensor]  # the same by all of them
    talk: Callable[[], Any]  # its collectives by themselves


@dataclass(frozen=True)
class Row:
    """What was found of a step."""

    name: str
    counted: float  # values per token, layer and rank
    formula: float
    equal: bool  # whether the counted bytes are the formula's
    one: float  # seconds
    split: float
    talk: float
    predicted: float | None
    error: float  # largest difference from one process, as a share of the largest value


def timed(run: Callable[[], Any], device: torch.device, repeats: int) -> float:
    """Return the shortest of some runs' seconds, after one that doesn't count."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def passed_on(ranks: Ranks, x: Tensor, after: int, before: int) -> Tensor:
    """Send a tensor to one rank and return what comes from another."""
    return ranks.exchange(x, send_to=after, receive_from=before).wait()


def link(ranks: Ranks, repeats: int) -> Link | None:
    """Return the time of a message and of a byte, which explain all kinds of collectives best.

    None where a busy machine hides them.
    """
    samples, size = [], ranks.size
    after, before = (ranks.rank + 1) % size, (ranks.rank - 1) % size
    for n_bytes in MESSAGES:
        n = n_bytes // BYTES // size * size
        x = torch.ones(n, device=ranks.device)
        runs: dict[str, Callable[[], Any]] = {
            "all_reduce": partial(ranks.all_reduce, x),
            "all_gather": partial(ranks.all_gather, x),
            "all_to_all": partial(ranks.all_to_all, x, cut=0, join=0),
            "exchange": partial(passed_on, ranks, x, after, before),
        }
        for kind, run in runs.items():
            told = Collective(kind, "", Fraction(n), size)
            seconds = timed(run, ranks.device, repeats)
            samples.append((told.messages, float(BYTES * told.values), seconds))
    try:
        return fitted_link(samples)
    except ConfigError:
        return None


def measured(name: str, step: Step, ranks: Ranks, wire: Link | None, repeats: int) -> Row:
    """Return what a step sends, how far it is from one process, and how long it takes."""
    expected = step.one()
    ranks.sent.reset()
    found = step.split()
    values, n_bytes = ranks.sent.values[step.kind], ranks.sent.bytes[step.kind]
    told = step.formula
    expected_bytes = step.layers * float(told.bytes(step.tokens))
    one, split, talk = (
        timed(run, ranks.device, repeats) for run in (step.one, step.split, step.talk)
    )
    return Row(
        name,
        values / (step.layers * step.tokens),
        told.values(),
        abs(n_bytes - expected_bytes) <= 1e-9 * expected_bytes,
        one,
        split,
        talk,
        None if wire is None else step.layers * told.seconds(wire, tokens=step.tokens),
        float((found - expected).abs().max() / expected.abs().max()),
    )


def formula(ranks: Ranks, config: Any, scheme: str) -> Communication:
    """Return what should be sent, or refuse what these ranks can't share."""
    return communication(config, ranks=ranks.size, scheme=scheme, dtype_bytes=BYTES)


def tensor_step(ranks: Ranks, config: Any, whole: Any, share: Any, n: int) -> Step:
    """Take some tokens through a decoder whose heads and columns are split."""
    told, halves = formula(ranks, config, "tensor"), 1 + 2 * config.n_layers
    tokens = torch.arange(n, device=ranks.device)[None] % config.vocab_size
    x = torch.ones(1, n, config.d_model, device=ranks.device)

    def sums() -> None:
        for _ in range(halves):  # the embedding is summed too, like half a layer
            ranks.all_reduce(x)

    one, split = (lambda model=model: model(tokens, last_only=True) for model in (whole, share))
    return Step("all_reduce", told, n, halves / 2, one, split, sums)


def _drawn(ranks: Ranks, config: Any, n: int) -> list[Tensor]:
    """Queries, keys and values of a layer, alike on all ranks."""
    made = torch.Generator().manual_seed(0)
    widths = {"q": config.head_dim, "k": config.head_dim, "v": config.v_head_dim}
    heads = {"q": config.n_heads, "k": config.n_kv_heads, "v": config.n_kv_heads}
    return [torch.randn(1, heads[x], n, widths[x], generator=made).to(ranks.device) for x in widths]


def ring_step(ranks: Ranks, config: Any, n: int, order: str) -> Step:
    """Attend, causally and in one layer, while keys and values go around."""
    told, whole = formula(ranks, config, "ring"), _drawn(ranks, config, n)
    own = shard_positions(n, ranks, order)
    parts = [x[:, :, own] for x in whole]
    block = torch.cat(parts[1:], dim=-1)

    def one() -> Tensor:
        return mt.scaled_dot_product_attention(*whole, causal=True)[:, :, own]

    def split() -> Tensor:
        return ring_attention(*parts, ranks=ranks, order=order, causal=True)

    return Step("exchange", told, n, 1, one, split, lambda: list(travel(ranks, block, ranks.size)))


def ulysses_step(ranks: Ranks, config: Any, n: int) -> Step:
    """Attend, causally and in one layer, with split heads between two all-to-alls."""
    told, whole = formula(ranks, config, "ulysses"), _drawn(ranks, config, n)
    own = shard_positions(n, ranks)
    q, k, v = parts = [x[:, :, own] for x in whole]
    # (1, n_kv_heads, n / P, numbers of a key/value head and its queries)
    there = torch.cat([q.reshape(1, config.n_kv_heads, len(own), -1), k, v], dim=-1)
    back = v.new_ones(1, config.n_heads // ranks.size, n, config.v_head_dim)

    def one() -> Tensor:
        return mt.scaled_dot_product_attention(*whole, causal=True)[:, :, own]

    def swaps() -> None:
        ranks.all_to_all(there, cut=1, join=2)
        ranks.all_to_all(back, cut=2, join=1)

    def split() -> Tensor:
        return ulysses_attention(*parts, ranks=ranks, causal=True)

    return Step("all_to_all", told, n, 1, one, split, swaps)


def decode_step(ranks: Ranks, config: Any, model: Any, context: int, repeats: int) -> Step:
    """Decode a token with a whole model on every rank, over a cache split by positions."""
    told, room = formula(ranks, config, "split-cache"), context + repeats + 2
    tokens = torch.arange(context, device=ranks.device)[None] % config.vocab_size
    part = torch.ones(1, 1, config.n_heads, 1, config.v_head_dim + 1, device=ranks.device)
    both = model.new_caches(1, room), split_caches(model, ranks, 1, room)
    for caches in both:
        mt.prefill(model, tokens, caches)

    def parts() -> None:
        for _ in range(config.n_layers):
            ranks.all_gather(part)

    one, split = (partial(mt.decode_step, model, tokens[:, :1], caches) for caches in both)
    return Step("all_gather", told, 1, config.n_layers, one, split, parts)


def found_rows(
    ranks: Ranks, config: Any, whole: Any, share: Any, n: int, wire: Link | None, repeats: int
) -> list[Row | str]:
    """Return a row for each scheme, or in words why these ranks can't share it.

    Each is made, measured and forgotten before the next one.
    """
    long = 4 * n
    made: dict[str, Callable[[], Step]] = {
        f"tensor, prompt of {n:,}": lambda: tensor_step(ranks, config, whole, share, n),
        "tensor, one token": lambda: tensor_step(ranks, config, whole, share, 1),
        f"ring of {long:,}, contiguous": lambda: ring_step(ranks, config, long, "contiguous"),
        f"ring of {long:,}, zigzag": lambda: ring_step(ranks, config, long, "zigzag"),
        f"Ulysses of {long:,}": lambda: ulysses_step(ranks, config, long),
        f"token, cache of {long:,} split": lambda: decode_step(ranks, config, whole, long, repeats),
    }
    found: list[Row | str] = []
    for name, make in made.items():
        try:
            step = make()
        except ConfigError as error:
            found.append(f"{name}: {error}")
            continue
        found.append(measured(name, step, ranks, wire, repeats))
    return found
