r"""Split a model over processes, and print what they send and how long. ``make devices``.

Called without ``torchrun`` it starts so many processes here. On a cluster, or on a host with
several GPUs, start it there with ``torchrun`` itself, on every host the same line::

    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \
        -m benchmarks.devices

Each process takes the GPU of its number on its host, by NCCL, or else the CPU, by gloo.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import torch

import mini_attn.torch as mt
from benchmarks.device_steps import Row, found_rows, link
from mini_attn.cost import Link
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
CLOSE = 1e-3  # of the largest value; more is no rounding any more


def answers(ranks: Ranks, whole: Any, share: Any, prompt: int, new: int) -> str:
    """Return whether both generate the same tokens, and what their caches take."""
    tokens = torch.arange(prompt, device=ranks.device)[None] % whole.config.vocab_size
    caches = [model.new_caches(1, prompt + new) for model in (whole, share)]
    one, split = (
        mt.generate(model, tokens, max_new_tokens=new, caches=kept)
        for model, kept in zip((whole, share), caches, strict=True)
    )
    same = "the same tokens as" if torch.equal(one, split) else "OTHER TOKENS THAN"
    all_bytes, own = (sum(cache.allocated_bytes for cache in kept) for kept in caches)
    return f"greedy: {same} one process; caches: {own:,} of {all_bytes:,} bytes a rank"


def line(row: Row | str) -> str:
    """Return a row as it's printed."""
    if isinstance(row, str):
        return f"not run: {row}"
    predicted = "" if row.predicted is None else f"{1e3 * row.predicted:9.2f}"
    times = f"{1e3 * row.one:10.2f}{1e3 * row.split:9.2f}{1e3 * row.talk:9.2f}{predicted}"
    wrong = "" if row.equal else "  NOT AS COUNTED"
    wrong += "" if row.error < CLOSE else f"  RESULTS DIFFER BY {row.error:.1e}"
    return f"{row.name:<28}{row.counted:>11,.6g}{row.formula:>10,.6g}{times}{wrong}"


def factor(rows: list[Row]) -> str:
    """Return how far measured times of the messages are from the predicted ones, in words."""
    ratios = {row.name: row.talk / row.predicted for row in rows if row.predicted}
    if not ratios:
        return "no prediction: this machine is too busy to tell a message's time from a byte's"
    low, high = (best(ratios, key=lambda name: ratios[name]) for best in (min, max))
    return (
        f"talk, measured / predicted: from {ratios[low]:.2f} ({low}) to {ratios[high]:.2f} ({high})"
    )


def table(
    ranks: Ranks, config: Any, rows: list[Row | str], wire: Link | None, answered: str
) -> str:
    """Return what rank 0 prints."""
    lines = [
        f"{ranks.size} ranks on {ranks.device.type}: d_model {config.d_model}, {config.n_heads} "
        f"heads, {config.n_kv_heads} of keys and values",
        f"a decoder of {config.n_layers} layers; ring and Ulysses: the attention of one",
    ]
    if wire is not None:
        lines.append(
            f"a message takes {1e6 * wire.alpha_seconds:.0f} µs and "
            f"{1e9 / wire.bytes_per_second:.2f} ns a byte (collectives of 1 kB to 2 MB)"
        )
    lines += [
        "",
        f"{'step':<28}{'values*':>11}{'formula':>10}{'ms, one':>10}{'ms,':>9}{'of it':>9}"
        f"{'pre-':>9}",
        f"{'':<49}{'process':>10}{'split':>9}{'talk':>9}{'dicted':>9}",
        *map(line, rows),
        "* sent by a rank for each layer and token",
        "",
        answered,
        factor([row for row in rows if isinstance(row, Row)]),
    ]
    return "\n".join(lines)


def status(rows: list[Row | str], answered: str) -> int:
    """Return 0 if all that was sent is as counted, and all results are those of one process."""
    right = all(row.equal and row.error < CLOSE for row in rows if isinstance(row, Row))
    return 0 if right and "OTHER" not in answered else 1


def home() -> str | None:
    """Return where the ranks of this host compute: on CPUs unless each can have its own GPU."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return "cpu" if torch.cuda.device_count() < here else None


def work(tiny: bool) -> int:
    """Be one of the processes."""
    config, prompt, new, repeats = (TINY, 16, 4, 2) if tiny else (MODEL, PROMPT, NEW, 15)
    torch.set_num_threads(1)
    with Ranks.start(timeout=60.0, device=home()) as ranks, torch.inference_mode():
        whole = mt.Decoder(config.decoder(), device=ranks.device)
        share, wire = parallelize(whole, ranks), link(ranks, repeats)
        rows = found_rows(ranks, config, whole, share, prompt, wire, repeats)
        answered = answers(ranks, whole, share, prompt, new)
        if ranks.rank == 0:
            print(table(ranks, config, rows, wire, answered), flush=True)
        ranks.barrier()  # torchrun ends the others when one of them says that something is wrong
    return status(rows, answered)


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
