"""Four processes that stay, and compute what they are sent: on all ranks or on the first two."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from mini_attn.torch.parallel.ranks import Ranks

SIZE, TIMEOUT = 4, 30.0


def _serve(rank: int, place: str, pipe: Any) -> None:
    """What a process does: cases in, answers out, until there are none."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(SIZE))
    with Ranks.start(timeout=TIMEOUT, device="cpu", init_method=f"file://{place}") as everybody:
        pair = dist.new_group([0, 1])
        groups = {SIZE: everybody}
        if rank < 2:
            groups[2] = Ranks.of(pair, timeout=TIMEOUT)
        for size, case, asked in iter(pipe.recv, None):
            ranks = groups[size]
            ranks.sent.reset()
            try:
                pipe.send((True, case(ranks, **asked)))
            except Exception:  # whoever asked raises it
                pipe.send((False, traceback.format_exc()))


class Processes:
    """The parent's end."""

    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes, self.running = [], []
        for rank in range(SIZE):
            ours, theirs = context.Pipe()
            asked = (rank, str(folder / "store"), theirs)
            process = context.Process(target=_serve, args=asked, daemon=True)
            process.start()
            theirs.close()  # so that a process that dies ends the waiting for it
            self.pipes.append(ours)
            self.running.append(process)

    def run(self, size: int, case: Callable[..., Any], **asked: Any) -> list[Any]:
        """The answers of so many ranks to one case."""
        pipes = self.pipes[:size]
        for pipe in pipes:
            pipe.send((size, case, asked))
        answers = []
        for rank, pipe in enumerate(pipes):
            assert pipe.poll(2 * TIMEOUT), f"rank {rank} of {size} hangs"
            answers.append(pipe.recv())
        for rank, (fine, answer) in enumerate(answers):
            assert fine, f"rank {rank} of {size}:\n{answer}"
        return [answer for _, answer in answers]

    def close(self) -> None:
        """Let all of them end."""
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.running:
            process.join(TIMEOUT)
            if process.is_alive():
                process.kill()
                process.join()
