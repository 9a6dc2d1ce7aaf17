"""One step of a scheduler: who runs what, who is admitted, who gives its blocks back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mini_attn.caching.blocks import Blocks
from mini_attn.caching.prefixes import Known, Prefixes
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheOverflowError

__all__ = ["Piece", "Planning", "Queue", "Run", "Step"]


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


class Planning:
    """A step while it is planned; the blocks count it once the transaction is done."""

    def __init__(
        self,
        queue: Queue,
        blocks: Blocks,
        budget: int,
        transaction: Transaction,
        preempted: tuple[str, ...] = (),  # in this step, before it was planned anew
    ) -> None:
        self._queue, self._blocks, self._transaction = queue, blocks, transaction
        self._budget = budget
        self._free = blocks.n_free  # settles what an unfinished step has left
        self._running = {run.arrival: run for run in queue.running}
        self._waiting = {run.arrival: run for run in queue.waiting}
        self._pieces: dict[int, Piece] = {}
        self._admitted: list[tuple[str, int]] = []
        self._preempted = list(preempted)

    def step(self) -> tuple[Step, Queue]:
        """The step, and the queue while it runs."""
        begun = sorted(self._running)
        decoding = [arrival for arrival in begun if self._running[arrival].left == 1]
        prompts = [arrival for arrival in begun if self._running[arrival].left > 1]
        for arrival in decoding + prompts:
            self._extend(arrival)
        while self._waiting and self._budget and not self._preempted:
            if not self._admit(min(self._waiting)):
                break
        pieces = tuple(self._pieces[arrival] for arrival in self._pieces)
        step = Step(pieces, tuple(self._admitted), tuple(self._preempted))
        runs = [
            tuple(held[arrival] for arrival in sorted(held))
            for held in (self._running, self._waiting)
        ]
        return step, Queue(runs[0], runs[1], self._queue.ended, self._queue.came)

    def _extend(self, arrival: int) -> None:
        """Tokens of a sequence that holds blocks; the latest gives way until they fit."""
        while arrival in self._running and self._budget:
            run = self._running[arrival]
            n = min(run.left, self._budget)
            if self._needed(run, n) <= self._free:
                self._give(run, n)
                return
            if len(self._running) == 1:
                raise CacheOverflowError(
                    f"{run.name!r} needs {self._needed(run, n)} blocks, {self._free} of "
                    f"{self._blocks.n_blocks} are free and no other sequence holds one"
                )
            self._preempt(max(self._running))

    def _admit(self, arrival: int) -> bool:
        """Begin a sequence that waits, if all of its tokens fit; whether they do."""
        run, prefixes = self._waiting[arrival], self._blocks.prefixes
        hits = prefixes._find(run.tokens)  # checked when it came
        revived = sum(not self._blocks._held_by(block) for block in hits)
        slots = len(hits) * prefixes.block_size
        run = replace(run, table=tuple(hits), done=slots, full=len(hits))
        if self._needed(run, run.left) + revived > self._free:
            return False
        self._change(share=hits)
        if hits:
            run = replace(run, chain=prefixes.holds(hits[-1]))
        del self._waiting[arrival]
        self._running[arrival] = run
        self._admitted.append((run.name, slots))
        self._give(run, min(run.left, self._budget))
        return True

    def _needed(self, run: Run, n: int) -> int:
        """Blocks to take before it can run so many tokens."""
        fresh = -(-(run.done + n) // self._blocks.block_size) - len(run.table)
        return max(0, fresh) + self._is_shared(run)

    def _is_shared(self, run: Run) -> bool:
        """Return whether others hold the block that it writes into next, too."""
        size = self._blocks.block_size
        inside = run.done % size > 0
        return inside and self._blocks._held_by(run.table[run.done // size]) > 1

    def _give(self, run: Run, n: int) -> None:
        """Blocks for so many tokens, and the piece that runs them."""
        at, table = run.done // self._blocks.block_size, list(run.table)
        copies: tuple[tuple[int, int], ...] = ()
        taken = self._change(take=self._needed(run, n))
        if self._is_shared(run):
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

    def _preempt(self, arrival: int) -> None:
        """A sequence gives its blocks back and waits, whatever it was to run in this step."""
        run = self._running.pop(arrival)
        # Its end first: who needs a block takes it before what others may still adopt.
        self._change(release=run.table[::-1])
        self._waiting[arrival] = run.emptied()
        self._preempted.append(run.name)
        piece = self._pieces.pop(arrival, None)
        self._budget += len(piece.tokens) if piece else 0

    def _change(self, **change: object) -> list[int]:
        taken = self._blocks._change(self._transaction, **change)  # type: ignore[arg-type]
        self._free = self._blocks._state_in(self._transaction)
        return taken
