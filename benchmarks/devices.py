r"""Split a decoder over processes, and print what they send and how long. ``make devices``.

Called without ``torchrun`` it starts so many processes here. On a cluster, or on a host with
several GPUs, start it there with ``torchrun`` itself, on every host the same line::

    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \
        -m benchmarks.devices

Each process takes the GPU of its number on its host, by NCCL, or else the CPU, by gloo.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import mini_attn.torch as mt
from mini_attn.cost import Link, communication, fitted_link
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import parallelize
from tools import ROOT

PROMPT, NEW = 256, 16
MODEL = replace(
    MODELS["llama-3-8b"], n_layers=4, d_model=512, n_heads=8, n_kv_heads=4, head_dim=64,
    v_head_dim=64, d_ff=1536, vocab_size=4096,
)  # fmt: skip
TINY = replace(
    MODEL, n_layers=2, d_model=16, n_heads=4, n_kv_heads=2, head_dim=4, v_head_dim=4, d_ff=16
)
SIZES = (2**10, 2**13, 2**16, 2**19, 2**21)  # bytes of the messages that tell alpha and beta


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


def link(ranks: Ranks, repeats: int) -> Link | None:
    """Return the time of a message and of a byte; None where a busy machine hides them."""
    samples, steps = [], 2 * (ranks.size - 1)
    for n_bytes in SIZES:
        x = torch.ones(n_bytes // 4, device=ranks.device)
        seconds = timed(lambda x=x: ranks.all_reduce(x), ranks.device, repeats)
        samples += [(steps, steps / ranks.size * n_bytes, seconds)]
    try:
        return fitted_link(samples)
    except ConfigError:
        return None


def talk(ranks: Ranks, tokens: int, width: int, halves: int, repeats: int) -> float:
    """Return the seconds of a step's all-reduces by themselves."""
    x = torch.ones(1, tokens, width, device=ranks.device)

    def sums() -> None:
        for _ in range(halves):
            ranks.all_reduce(x)

    return timed(sums, ranks.device, repeats)


def rows(ranks: Ranks, config: Any, prompt: int, new: int, repeats: int) -> list[Any]:
    """Return a row for the prompt and one for a token: values, formula, seconds of each kind."""
    model = mt.Decoder(config.decoder(), device=ranks.device)
    share, halves = parallelize(model, ranks), 1 + 2 * config.n_layers
    tokens = torch.arange(prompt, device=ranks.device)[None] % config.vocab_size
    formula = communication(config, ranks=ranks.size, scheme="tensor", dtype_bytes=4)
    wire, found = link(ranks, repeats), []
    with torch.inference_mode():
        for what, n in (("prompt", prompt), ("token", 1)):
            ranks.sent.reset()
            share(tokens[:, :n], last_only=True)
            # The embedding is summed too; a layer has half of what is left, twice.
            counted = ranks.sent.values["all_reduce"] / halves * 2 / n
            seconds = [
                timed(
                    lambda one=one, n=n: one(tokens[:, :n], last_only=True), ranks.device, repeats
                )
                for one in (model, share)
            ]
            measured = talk(ranks, n, config.d_model, halves, repeats)
            layer = formula.seconds(wire, tokens=n) if wire else float("nan")
            predicted = layer / 2 * halves
            found.append((what, n, counted, formula.values(), *seconds, measured, predicted))
        caches = [one.new_caches(1, prompt + new) for one in (model, share)]
        both = [
            mt.generate(one, tokens, max_new_tokens=new, caches=kept)
            for one, kept in zip((model, share), caches, strict=True)
        ]
    bytes_of = [sum(cache.allocated_bytes for cache in kept) for kept in caches]
    return [found, bool(torch.equal(*both)), bytes_of, wire]


def table(ranks: Ranks, config: Any, result: list[Any]) -> str:
    """Return what rank 0 prints."""
    found, equal, (whole, share), wire = result
    lines = [
        f"{ranks.size} ranks on {ranks.device.type}, tensor parallel: {config.n_layers} layers, "
        f"d_model {config.d_model}",
        "this machine is too busy to tell a message's time from a byte's"
        if wire is None
        else f"a message takes {1e6 * wire.alpha_seconds:.0f} µs and "
        f"{1e9 / wire.bytes_per_second:.2f} ns a byte (all-reduces of 1 kB to 2 MB)",
        "",
        f"{'step':<14}{'values per token,':>19}{'':>10}{'ms, one':>10}{'ms,':>9}{'of it':>9}"
        f"{'pre-':>9}",
        f"{'':<14}{'layer and device':>19}{'formula':>10}{'process':>10}{'split':>9}{'talk':>9}"
        f"{'dicted':>9}",
    ]
    for what, n, counted, formula, one, split, measured, predicted in found:
        name = f"{what} of {n}" if n > 1 else f"one {what}"
        times = f"{1e3 * one:10.2f}{1e3 * split:9.2f}{1e3 * measured:9.2f}{1e3 * predicted:9.2f}"
        lines.append(f"{name:<14}{counted:>19,.6g}{formula:>10,.6g}{times}")
    same = "the same tokens as" if equal else "OTHER TOKENS THAN"
    lines += ["", f"greedy: {same} one process; caches: {share:,} of {whole:,} bytes a rank"]
    return "\n".join(lines)


def work(tiny: bool) -> int:
    """Be one of the processes."""
    sizes: Any = (TINY, 16, 4, 2) if tiny else (MODEL, PROMPT, NEW, 15)
    torch.set_num_threads(1)
    with Ranks.start(timeout=60.0) as ranks:
        result = rows(ranks, *sizes)
        ranks.barrier()
        if ranks.rank == 0:
            print(table(ranks, sizes[0], result), flush=True)
    found, equal = result[:2]
    return 0 if equal and all(row[2] == row[3] for row in found) else 1


def main(words: list[str] | None = None) -> int:
    """Start the processes, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=2, help="how many processes, 2 or 4")
    parser.add_argument("--tiny", action="store_true", help="sizes that mean nothing, for a test")
    asked = parser.parse_args(words)
    if "RANK" in os.environ:
        return work(asked.tiny)
    if asked.ranks not in (2, 4):
        parser.error(f"2 or 4 processes, not {asked.ranks}: for others start it with torchrun")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={asked.ranks}", "-m", "benchmarks.devices"]
    command += ["--tiny"] * asked.tiny
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
