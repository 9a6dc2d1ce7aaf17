"""One step of a scheduler: who runs what, who is admitted, who gives its blocks back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mini_attn.caching.blocks import Blocks
from mini_attn.caching.prefixes import Known, Prefixes
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheOverflowError

__all__ = ["Piece", "Planning", "Queue", "Run", "Step", "who_gives_way"]


class Piece(NamedTuple):
    """Tokens of one sequence that a step runs.

    ``slot s of the sequence = slot s % block_size of block table[s // block_size]``
    """

    name: str
    tokens: tuple[int, ...]
    start: int  # slots that are filled before
    table: tuple[int, ...]
    copies: tuple[tuple[int, int], ...]  # blocks (from, to) that are copied before it runs
    last: bool  # whether the logits of its last token are wanted


class Step(NamedTuple):
    """What one step does, as a value.

    ``sum(len(piece.tokens) for piece in pieces) <= token_budget``
    """

    pieces: tuple[Piece, ...]
    admitted: tuple[tuple[str, int], ...]  # names, and how many slots their known prefix fills
    preempted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A sequence: what it is, and how far it has come."""

    name: str
    arrival: int
    tokens: tuple[int, ...]
    limit: int  # tokens at the most, the prompt's too
    done: int = 0  # slots that are filled
    table: tuple[int, ...] = ()
    chain: Known | None = None  # what its full blocks hold
    full: int = 0  # how many blocks the chain counts

    @property
    def left(self) -> int:
        """Tokens that are still to be run."""
        return len(self.tokens) - self.done

    def ran(self, new: int, token: int | None) -> Run:
        """After some tokens more, and the one chosen behind the last."""
        tokens = self.tokens if token is None else (*self.tokens, token)
        return replace(self, done=self.done + new, tokens=tokens)

    def learned(self, prefixes: Prefixes) -> tuple[Run, dict[int, Known]]:
        """With a longer chain, and what the blocks that are full now hold."""
        size, chain, fresh = prefixes.block_size, self.chain, {}
        full = self.done // size
        for i in range(self.full, full):
            chain = prefixes.link(chain, self.tokens[i * size : (i + 1) * size])
            fresh[self.table[i]] = chain
        return replace(self, chain=chain, full=full), fresh

    def emptied(self) -> Run:
        """Without its blocks: it begins again."""
        return replace(self, done=0, table=(), chain=None, full=0)


class Queue(NamedTuple):
    """All sequences; none of them changes, a step gives another queue."""

    running: tuple[Run, ...]
    waiting: tuple[Run, ...]
    ended: tuple[Run, ...]
    came: int  # how many have come so far

    def all(self) -> tuple[Run, ...]:
        """Whatever has become of them."""
        return self.running + self.waiting + self.ended


def in_turn(running: Iterable[Run]) -> list[Run]:
    """Sequences in the order in which a step extends them: who decodes, then who has begun."""
    return sorted(running, key=lambda run: (run.left > 1, run.arrival))


def who_gives_way(running: Sequence[Run], blocks: Blocks, budget: int) -> list[Run]:
    """Those who came last, until the others find the blocks that they need in the next step."""
    stay, gone = sorted(running, key=lambda run: run.arrival), []
    released: Counter[int] = Counter()
    free = blocks.n_free  # settles what an unfinished step has left
    while (lack := _lack(stay, blocks, budget, free, released)) is not None:
        if len(stay) == 1:
            raise CacheOverflowError(
                f"{stay[0].name!r} needs {lack} blocks, {free} of {blocks.n_blocks} are free and "
                "no other sequence holds one"
            )
        gone.append(stay.pop())
        for block in gone[-1].table:
            released[block] += 1
            free += blocks._held_by(block) == released[block]
    return gone


def _lack(
    running: Iterable[Run], blocks: Blocks, budget: int, free: int, released: Counter[int]
) -> int | None:
    """The blocks that somebody needs who doesn't find so many; None if everybody does."""
    released = released.copy()  # who copies a block holds it once less
    for run in in_turn(running):
        n = min(run.left, budget)
        if not n:
            break
        needed, shared = _needed(run, n, blocks, released)
        if needed > free:
            return needed
        released.update(shared)
        free, budget = free - needed, budget - n
    return None


def _needed(
    run: Run, n: int, blocks: Blocks, released: Mapping[int, int]
) -> tuple[int, tuple[int, ...]]:
    """Blocks to take before it can run so many tokens, one of them to copy what others hold."""
    at, inside = divmod(run.done, blocks.block_size)
    fresh = max(0, -(-(run.done + n) // blocks.block_size) - len(run.table))
    own = run.table[at : at + 1] if inside else ()
    shared = tuple(b for b in own if blocks._held_by(b) - released.get(b, 0) > 1)
    return fresh + len(shared), shared


class Planning:
    """A step while it is planned; the blocks count it once the transaction is done."""

    def __init__(
        self,
        queue: Queue,
        blocks: Blocks,
        budget: int,
        transaction: Transaction,
        preempted: tuple[str, ...] = (),
    ) -> None:
        self._queue, self._blocks, self._transaction = queue, blocks, transaction
        self._budget = budget
        self._free = blocks.n_free  # settles what an unfinished step has left
        self._running = {run.arrival: run for run in queue.running}
        self._waiting = {run.arrival: run for run in queue.waiting}
        self._pieces: dict[int, Piece] = {}
        self._admitted: list[tuple[str, int]] = []
        self._preempted = preempted

    def step(self) -> tuple[Step, Queue]:
        """The step, and the queue while it runs."""
        for run in in_turn(self._running.values()):
            if self._budget:
                self._give(run, min(run.left, self._budget))
        while self._waiting and self._budget and not self._preempted:
            if not self._admit(min(self._waiting)):
                break
        pieces = tuple(self._pieces[arrival] for arrival in self._pieces)
        step = Step(pieces, tuple(self._admitted), self._preempted)
        runs = [
            tuple(held[arrival] for arrival in sorted(held))
            for held in (self._running, self._waiting)
        ]
        return step, Queue(runs[0], runs[1], self._queue.ended, self._queue.came)

    def _admit(self, arrival: int) -> bool:
        """Begin a sequence that waits, if all of its tokens fit; whether they do."""
        run, prefixes = self._waiting[arrival], self._blocks.prefixes
        hits = prefixes._find(run.tokens)  # checked when it came
        revived = sum(not self._blocks._held_by(block) for block in hits)
        slots = len(hits) * prefixes.block_size
        run = replace(run, table=tuple(hits), done=slots, full=len(hits))
        if _needed(run, run.left, self._blocks, {})[0] + revived > self._free:
            return False
        self._change(share=hits)
        if hits:
            run = replace(run, chain=prefixes.holds(hits[-1]))
        del self._waiting[arrival]
        self._running[arrival] = run
        self._admitted.append((run.name, slots))
        self._give(run, min(run.left, self._budget))
        return True

    def _give(self, run: Run, n: int) -> None:
        """Blocks for so many tokens, and the piece that runs them."""
        at, table = run.done // self._blocks.block_size, list(run.table)
        copies: tuple[tuple[int, int], ...] = ()
        needed, shared = _needed(run, n, self._blocks, {})
        taken = self._change(take=needed)
        if shared:
            own, *taken = taken
            copies = ((table[at], own),)
            self._change(release=(table[at],))
            table[at] = own
        table += taken
        self._running[run.arrival] = replace(run, table=tuple(table))
        self._budget -= n
        tokens = run.tokens[run.done : run.done + n]
        last = n == run.left
        self._pieces[run.arrival] = Piece(run.name, tokens, run.done, tuple(table), copies, last)

    def _change(self, **change: object) -> list[int]:
        taken = self._blocks._change(self._transaction, **change)  # type: ignore[arg-type]
        self._free = self._blocks._state_in(self._transaction)
        return taken
