"""What each rank does in the tests of a server on ranks; the tests compare what comes back."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

import torch

import mini_attn.torch as mt
from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError, RankError
from mini_attn.torch.parallel.rank_server import RankServer
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import parallelize
from tests.parallel.tensor_cases import Injected, whole_model

VOCAB = 29


def new_server(
    ranks: Ranks | None, config: DecoderConfig, *, by_tokens: bool = False, **sizes: Any
) -> Any:
    """A server on these ranks, or in one process."""
    model = whole_model(config)
    if ranks is None:
        return mt.Server(model, **sizes)
    return RankServer(parallelize(model, ranks, sequence_parallel=by_tokens), **sizes)


def sampler(seed: int) -> Any:
    """Draw by a seed: each sequence's tokens depend on its logits and its name alone."""
    drawn: dict[str, torch.Generator] = {}

    def choose(name: str, logits: torch.Tensor) -> int:
        if name not in drawn:
            drawn[name] = torch.Generator().manual_seed(seed + sum(name.encode()))
        return int(mt.sample_token(logits[None], temperature=9.0, generator=drawn[name]))

    return choose


def state_of(server: Any) -> Any:
    """Whatever a scheduler shows."""
    scheduler = server.scheduler
    names = (scheduler.running, scheduler.waiting, scheduler.ended)
    told = [(name, scheduler.tokens(name), scheduler.table(name)) for n in names for name in n]
    return names, told, scheduler.blocks.n_free


def filled(server: Any) -> set[tuple[int, int]]:
    """Blocks and their slots that hold what somebody needs."""
    size = server.scheduler.blocks.block_size
    runs = server.scheduler._state.running
    return {(run.table[slot // size], slot % size) for run in runs for slot in range(run.done)}


def served(
    ranks: Ranks | None, config: DecoderConfig, sampled: bool = False, by_tokens: bool = False
) -> dict[str, Any]:
    """Requests that come, fork and are ended between steps; what becomes of them."""
    chance, choose = random.Random(17), sampler(17) if sampled else None
    sizes: dict[str, Any] = {"n_blocks": 7, "block_size": 3, "token_budget": 6}
    sizes["by_tokens"] = by_tokens
    server = new_server(ranks, config, **sizes, stop_token=VOCAB - 1, choose=choose)
    if ranks is not None:
        ranks.sent.reset()
    if ranks is not None and ranks.rank:
        return {"found": server.run(), "sent": ranks.sent, "said": repr(server)}
    common, steps = [chance.randrange(VOCAB) for _ in range(7)], []
    for i in range(7):
        prompt = [*common[: chance.randrange(8)], chance.randrange(VOCAB)]
        server.add(f"r{i}", prompt, max_new_tokens=chance.randrange(1, 7))
        steps += [server.step() for _ in range(chance.randrange(3))]
        running = server.scheduler.running
        if running and i in (2, 4):
            server.fork(running[0], f"f{i}")
        if running and i == 5:
            server.end(running[-1])
    while server.scheduler.running or server.scheduler.waiting:
        steps.append(server.step())
    steps.append(server.step())  # with nothing left
    return {"found": server.run(), "steps": steps, "sent": ranks and ranks.sent}


def long_tables(
    ranks: Ranks | None, config: DecoderConfig, sizes: dict[str, int]
) -> tuple[dict[str, list[int]], int, int]:
    """Five sequences in the same blocks of one slot; how many steps and messages they take."""
    server = new_server(ranks, config, **sizes)
    if ranks is not None:
        ranks.sent.reset()
    if ranks is not None and ranks.rank:
        return server.run(), 0, ranks.sent.calls["broadcast"]
    server.add("r", [j % VOCAB for j in range(18)], max_new_tokens=4)
    steps = 0
    while server.scheduler.running or server.scheduler.waiting:
        server.step()
        steps += 1
        if steps == 4:
            for i in range(4):
                server.fork("r", f"f{i}")
    found = server.run()
    return found, steps, 0 if ranks is None else ranks.sent.calls["broadcast"]


def refused(ranks: Ranks, config: DecoderConfig) -> tuple[list[str], Any]:
    """What requests are told that can't be served, and what was sent meanwhile."""
    server = new_server(ranks, config, n_blocks=9, block_size=2)
    ranks.sent.reset()
    said = []
    server_step = (server.step,) if ranks.rank else ()
    for ask in (
        lambda: server.add("a", [VOCAB], max_new_tokens=1),
        lambda: server.add("a", [], max_new_tokens=1),
        lambda: server.add("a", [1] * 12, max_new_tokens=12),
        lambda: server.fork("a", "b"),
        lambda: server.end("a"),
        lambda: server.add("a", [1], max_new_tokens=1) if ranks.rank else server.end("b"),
        *server_step,
    ):
        try:
            ask()
        except ConfigError as error:
            said.append(str(error))
    return said, ranks.sent


def other_sizes(ranks: Ranks, config: DecoderConfig, sizes: list[dict[str, int]]) -> str:
    """A server whose ranks have other sizes."""
    try:
        new_server(ranks, config, **sizes[ranks.rank])
    except RankError as error:
        return str(error)
    return ""


def chosen_again(ranks: Ranks | None, config: DecoderConfig) -> Any:
    """A choice that raises after the ranks have run a step; then it's run again."""
    failures = iter([False, True, True])

    def choose(name: str, logits: torch.Tensor) -> int:
        if next(failures, False):
            raise Injected("no choice")
        return int(logits.argmax())

    server = new_server(ranks, config, n_blocks=9, block_size=2, choose=choose)
    if ranks is not None and ranks.rank:
        return server.run()
    for name in "ab":
        server.add(name, [3, 1, 4], max_new_tokens=3)
    failed, found = 0, {}
    while not found:
        before = state_of(server)
        try:
            found = server.run()
        except Injected:
            failed += 1
            after = state_of(server)
            assert failed > 1 or before == after
    return failed, found


def begun(ranks: Ranks | None, config: DecoderConfig) -> Any:
    """A server after two steps, with two sequences that go on and one that waits."""
    server = new_server(ranks, config, n_blocks=12, block_size=2, token_budget=5)
    owner = ranks is None or ranks.rank == 0
    if owner:
        server.add("a", [3, 1, 4, 1], max_new_tokens=4)
    for _ in range(2):
        _ = server.step() if owner else server._follow()
    if owner:
        server.fork("a", "b")
        server.add("c", [3, 1, 9], max_new_tokens=2)
    return server


def fault(ranks: Ranks, config: DecoderConfig, kind: str, who: int, at: int) -> dict[str, Any]:
    """A step in which something happens to one rank as it begins its collective number ``at``."""
    server, begin = begun(ranks, config), Ranks._begin
    first = ranks._log.step

    def faulty(self: Ranks, what: str) -> int:
        if self.rank == who and self._log.step == first + at:
            if kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "raise":
                raise Injected("on purpose")
            if kind == "interrupt":
                raise KeyboardInterrupt
            if kind == "hang":
                time.sleep(ranks.timeout + 4)  # longer than the others ask each other
        return begin(self, what)

    arrays = [array for pool in server._pools for array in (pool._k, pool._v)]
    held = [array.clone() for array in arrays]
    before = None if ranks.rank else state_of(server)
    said, start = "", time.monotonic()
    Ranks._begin = faulty  # type: ignore[method-assign]
    try:
        _ = server._follow() if ranks.rank else server.step()
    except RankError as error:
        said = str(error)
    except BaseException as error:
        said = type(error).__name__
    finally:
        Ranks._begin = begin  # type: ignore[method-assign]
    took = time.monotonic() - start
    written = {
        (block, slot)
        for old, new in zip(held, arrays, strict=True)
        for block, slot in (old != new).any(dim=-1).any(dim=1).nonzero().tolist()
    }
    unchanged = ranks.rank > 0 or before == state_of(server)
    over = bool(ranks._log.broken)
    ranks.close()  # as the context manager does
    return {
        "said": said, "took": took, "written": written, "unchanged": unchanged, "over": over,
        "first": first,
    }  # fmt: skip
