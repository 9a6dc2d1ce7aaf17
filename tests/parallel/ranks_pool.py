"""Real processes for tests: started once, then given one case after another.

A case is a function ``case(ranks, *given)`` of a module that isn't a test. Processes are forked
from a server that has imported PyTorch once, so that a fault that costs processes costs no time.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

_CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED = ["__main__", "mini_attn.torch.parallel.tensor", "tests.parallel.ranks_pool"]


class Outcome(NamedTuple):
    """How a case ended on one rank."""

    value: Any = None
    error: str = ""  # kind and message
    trace: str = ""
    died: bool = False
    over: bool = False  # these ranks can't go on


def _work(pipe: Connection, rank: int, size: int) -> None:
    """Run cases until there are no more."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "GLOO_SOCKET_IFNAME": "lo"}
    import torch

    from mini_attn.torch.parallel.ranks import Ranks

    torch.set_num_threads(1)
    ranks, at = None, ""
    while True:
        try:
            asked = pipe.recv()
        except EOFError:  # the tests have ended
            break
        case, given, place, timeout = asked
        try:
            if place != at:
                if ranks is not None:
                    ranks.close()
                ranks, at = None, ""
                ranks = Ranks.start(timeout=timeout, init_method=f"file://{place}")
                at = place
            assert ranks is not None
            value = case(ranks, *given)
            out = Outcome(value, over=bool(ranks._log.broken))
        except BaseException as error:
            said, trace = f"{type(error).__name__}: {error}", traceback.format_exc()
            out = Outcome(error=said, trace=trace, over=True)
            if ranks is not None:
                ranks.report(error)
                ranks.close()
            ranks, at = None, ""
        pipe.send(out)
    if ranks is not None:
        ranks.close()


class RanksPool:
    """So many processes; a dead one is replaced before the next case."""

    def __init__(self, size: int, *, timeout: float = 30.0) -> None:
        self.size, self.timeout = size, timeout
        self._folder = tempfile.mkdtemp(prefix="ranks-")
        self._meetings = 0
        self._place = ""
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        _CONTEXT.set_forkserver_preload(_PRELOADED)
        main = sys.modules["__main__"]
        if not hasattr(main, "__spec__"):  # a worker of pytest-xdist, whose program has no file
            main.__spec__ = None
        atexit.register(self.close)

    def __enter__(self) -> RanksPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, case: Callable[..., Any], *given: Any) -> list[Any]:
        """What the case returns on each rank; an error on one is an error here."""
        outcomes = self.outcomes(case, *given)
        for rank, one in enumerate(outcomes):
            ended = one.error or (one.died and "died")
            assert not ended, f"rank {rank}: {ended}\n{one.trace}"
        return [one.value for one in outcomes]

    def outcomes(
        self,
        case: Callable[..., Any],
        *given: Any,
        timeout: float | None = None,
        within: float = 120.0,
    ) -> list[Outcome]:
        """How the case ends on each rank; whoever hasn't ended ``within`` seconds is killed."""
        dead = [one for one in self._processes if not one.is_alive()]
        if timeout is not None or not self._place or dead:
            self._meet()
        self._start()
        asked = case, given, self._place, self.timeout if timeout is None else timeout
        for pipe in self._pipes:
            pipe.send(asked)
        end, found = time.monotonic() + within, []
        for rank, pipe in enumerate(self._pipes):
            try:
                if pipe.poll(max(end - time.monotonic(), 0)):
                    found.append(pipe.recv())
                    continue
                found.append(Outcome(error=f"TimeoutError: nothing in {within:g} s", died=True))
            except (EOFError, ConnectionError):
                found.append(Outcome(died=True))
            self._end(rank)
        if timeout is not None or any(one.over or one.died for one in found):
            self._place = ""  # these ranks are done with each other
        return found

    def _meet(self) -> None:
        """Take a new place for the ranks to meet."""
        self._meetings += 1
        self._place = os.path.join(self._folder, str(self._meetings))

    def _start(self) -> None:
        """Start the processes that there aren't."""
        missing = self.size - len(self._processes)
        self._processes += [None] * missing
        self._pipes += [None] * missing  # type: ignore[list-item]
        for rank, process in enumerate(self._processes):
            if process is None or not process.is_alive():
                ours, theirs = _CONTEXT.Pipe()
                asked = {"target": _work, "args": (theirs, rank, self.size), "daemon": True}
                self._processes[rank] = _CONTEXT.Process(**asked)
                self._processes[rank].start()
                theirs.close()
                self._pipes[rank] = ours

    def _end(self, rank: int) -> None:
        """End one process for good."""
        process = self._processes[rank]
        process.kill()
        process.join()

    def close(self) -> None:
        """End all of them."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        end = time.monotonic() + 5
        for rank, process in enumerate(self._processes):
            process.join(max(end - time.monotonic(), 0))
            self._end(rank)
        self._pipes, self._processes = [], []
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)


if sys.platform == "win32":  # pragma: no cover
    raise ImportError("these tests fork processes")
