"""Which sequences run which tokens in a step, and in which blocks: whole numbers, no arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mini_attn.caching.blocks import Blocks
from mini_attn.caching.planning import Piece, Planning, Queue, Run, Step, who_gives_way
from mini_attn.caching.transaction import Transaction, Versioned
from mini_attn.errors import CacheStateError, ConfigError
from mini_attn.shapes import check_count, size_text

__all__ = ["Piece", "Scheduler", "Step"]


def check_prompt(prompt: Any) -> tuple[int, ...]:
    """The tokens of a prompt, at least one."""
    if isinstance(prompt, str) or not hasattr(prompt, "__iter__"):
        raise ConfigError(f"prompt must be a sequence of tokens, got {prompt!r:.60}")
    tokens = tuple(_token("a token of the prompt", token) for token in prompt)
    if not tokens:
        raise ConfigError("the prompt is empty: it needs at least one token")
    return tokens


def _token(name: str, token: Any) -> int:
    """A token's number, from 0 on; refuses what prefixes cannot be hashed with."""
    number = check_count(name, token, least=0)
    if number >= 2**63:
        raise ConfigError(f"{name} must be below 2 ** 63, got {number}")
    return number


class _Pending(NamedTuple):
    """A step that is planned and not done."""

    step: Step
    transaction: Transaction


class Scheduler(Versioned):
    """Decides from step to step who runs: decoding first, prompts in chunks, the rest waits.

    ``tokens of a step <= token_budget;  blocks held <= n_blocks``

    Parameters
    ----------
    blocks : Blocks
        Where the blocks of all sequences are counted; its prefixes are looked up.
    token_budget : int
        Tokens of a step at the most.

    Raises
    ------
    ConfigError
        If there are no blocks or the budget is below 1.

    Notes
    -----
    Sequences are served in the order in which they came. In a step each sequence whose prompt is
    done runs one token, then prompts that have begun run as many as the budget leaves. Then the
    first that waits is admitted if the free blocks hold all of its tokens, less those of a known
    prefix, and so on; nobody overtakes. Where a block is needed and none is free, the sequence
    that came last gives its blocks back and waits; it begins again from its tokens, those that it
    has generated too. In a step in which that happened nobody is admitted.

    Every sequence comes to its end: whoever came first keeps its blocks, and a sequence that
    would not fit alone is refused when it comes.

    A step is planned, run by whoever has a model, and finished. Until then nothing has changed
    but that those wait who have given their blocks back, into which the step writes: whoever
    looks at the scheduler or its blocks before finds them so, and the plan is forgotten. A
    sequence's blocks have less than ``block_size`` slots that are not filled.

    References
    ----------
    kwon2023pagedattention, sections 4.3 to 4.5
    agrawal2024sarathi, section 4
    yu2022orca, section 3

    Examples
    --------
    >>> scheduler = Scheduler(Blocks(4, block_size=2), token_budget=3)
    >>> scheduler.add("a", [3, 1, 4, 1], max_new_tokens=2)
    >>> step = scheduler.plan()
    >>> step.pieces[0].tokens, step.pieces[0].table
    ((3, 1, 4), (0, 1))
    >>> scheduler.finish(step, {})
    >>> step = scheduler.plan()  # the rest of the prompt, whose last logits are wanted
    >>> scheduler.finish(step, {"a": 5})
    >>> scheduler.tokens("a")
    [3, 1, 4, 1, 5]
    """

    if TYPE_CHECKING:  # what its state is

        @property
        def _state(self) -> Queue: ...

    def __init__(self, blocks: Blocks, *, token_budget: int) -> None:
        if not isinstance(blocks, Blocks):
            raise ConfigError(f"blocks must be Blocks, got {blocks!r:.60}")
        self.blocks = blocks
        self.token_budget = check_count("token_budget", token_budget)
        self._pending: _Pending | None = None
        self._begin(Queue((), (), (), 0))

    def _sizes(self) -> dict[str, Any]:
        """Return what `repr` shows: how many sequences run, wait and have ended, free blocks."""
        queue, blocks = self._peeked, self.blocks
        counts = {name: len(getattr(queue, name)) for name in ("running", "waiting", "ended")}
        room = {"n_free": blocks._peeked, **{name: getattr(blocks, name) for name in Blocks._shown}}
        return {**counts, **room, "token_budget": self.token_budget}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({size_text(self._sizes())})"

    # What waits, what runs, what is done.

    @property
    def running(self) -> list[str]:
        """Names of the sequences that hold blocks, in the order in which they came."""
        return [run.name for run in self._state.running]

    @property
    def waiting(self) -> list[str]:
        """Names of the sequences that hold none yet or none any more, in that order."""
        return [run.name for run in self._state.waiting]

    @property
    def ended(self) -> list[str]:
        """Names of the sequences that are done, in the order in which they ended."""
        return [run.name for run in self._state.ended]

    def tokens(self, name: str) -> list[int]:
        """The tokens of a sequence so far: its prompt and what was generated."""
        return list(self._run(name).tokens)

    def table(self, name: str) -> list[int]:
        """The blocks that a sequence holds, in the order of its slots."""
        return list(self._run(name).table)

    def _run(self, name: str) -> Run:
        for run in self._state.all():
            if run.name == name:
                return run
        raise ConfigError(f"there is no sequence of the name {name!r:.60}: add it first")

    # What comes and goes between steps.

    def add(self, name: str, prompt: Sequence[int], *, max_new_tokens: int) -> None:
        """A sequence that comes last; it waits until a step admits it.

        Parameters
        ----------
        name : str
            What it is called in steps; no other may have been called so.
        prompt : sequence of int
            Its tokens, at least one.
        max_new_tokens : int
            Tokens after which it ends, at least one.

        Raises
        ------
        ConfigError
            If the name is taken, the prompt is empty or holds no integers, the limit is below 1,
            or prompt and new tokens would not fit into all blocks.
        """
        state = self._state
        check_count("max_new_tokens", max_new_tokens)
        self._check_name("name", name)
        tokens = check_prompt(prompt)
        size, slots = self.blocks.block_size, len(tokens) + max_new_tokens - 1
        if -(-slots // size) > self.blocks.n_blocks:  # the last token is never run
            raise ConfigError(
                f"{name!r} needs {-(-slots // size)} blocks for {len(tokens)} tokens and "
                f"{max_new_tokens} new ones, there are {self.blocks.n_blocks} of {size} slots"
            )
        run = Run(name, state.came, tokens, len(tokens) + max_new_tokens)
        self._set(state._replace(waiting=(*state.waiting, run), came=state.came + 1))

    def fork(self, name: str, new: str) -> None:
        """A second sequence with the same tokens so far, in the same blocks.

        Parameters
        ----------
        name : str
            A sequence that has not ended.
        new : str
            What the second one is called; it counts as the one that came last.

        Raises
        ------
        ConfigError
            If there is no such sequence, it has ended, or the new name is taken.

        Notes
        -----
        Whoever first writes into a block that both hold gets a copy of it.
        """
        state, run = self._state, self._run(name)
        self._check_name("new", new)
        if run in state.ended:
            raise ConfigError(f"{name!r} has ended: fork it before")
        twin, transaction = replace(run, name=new, arrival=state.came), Transaction()
        place = "running" if run in state.running else "waiting"
        held = {place: (*getattr(state, place), twin)}
        self.blocks._change(transaction, share=run.table)
        self._stage(state._replace(came=state.came + 1, **held), transaction)
        transaction.commit()

    def end(self, name: str) -> None:
        """A sequence ends before its limit and gives its blocks back."""
        state, run = self._state, self._run(name)
        if run in state.ended:
            raise ConfigError(f"{name!r} has ended already")
        self._close(state, {}, (run,), Transaction())

    def _check_name(self, argument: str, name: Any) -> None:
        if not isinstance(name, str):
            raise ConfigError(f"{argument} must be a string, got {name!r:.60}")
        if any(run.name == name for run in self._state.all()):
            raise ConfigError(f"the name {name!r} is taken: each sequence needs its own")

    # A step.

    def plan(self) -> Step:
        """Plan what the next step runs.

        Returns
        -------
        Step
            Without pieces if nothing is left to run.

        Raises
        ------
        CacheOverflowError
            If somebody else holds so many blocks that not even one sequence can go on.
        """
        gone = who_gives_way(self._state.running, self.blocks, self.token_budget)
        self._preempt(gone)
        transaction, names = Transaction(), tuple(run.name for run in gone)
        plan = Planning(self._state, self.blocks, self.token_budget, transaction, names)
        step, queue = plan.step()
        self._stage(queue, transaction)
        self._pending = _Pending(step, transaction)
        return step

    def _preempt(self, gone: Sequence[Run]) -> None:
        """Let some wait without blocks: the step will write there, and may fail after that."""
        if not gone:
            return
        state, transaction = self._state, Transaction()
        for run in gone:
            # Its end first: who needs a block takes it before what others may still adopt.
            self.blocks._change(transaction, release=run.table[::-1])
        waiting = sorted(
            (*state.waiting, *(run.emptied() for run in gone)), key=lambda r: r.arrival
        )
        running = tuple(run for run in state.running if run not in gone)
        self._stage(state._replace(running=running, waiting=tuple(waiting)), transaction)
        transaction.commit()

    def finish(self, step: Step, chosen: Mapping[str, int], *, ended: Sequence[str] = ()) -> None:
        """The step was run: its tokens are in their blocks.

        Parameters
        ----------
        step : Step
            What `plan` gave last.
        chosen : mapping of str to int
            The next token of each sequence whose piece is ``last``.
        ended : sequence of str
            Those of them that end with it, whatever their limit.

        Raises
        ------
        CacheStateError
            If the step is not the latest that was planned, was finished already, or the
            scheduler or its blocks were used in between.
        ConfigError
            If a token is missing or one was not asked for. Then nothing has changed.
        """
        pending = self._pending
        if pending is not None and pending.step is step and pending.transaction.lost:
            raise CacheStateError(
                "the scheduler or its blocks were used while the step ran, so the step is lost: "
                "look before you plan or after you finish, and choose from the logits alone"
            )
        if pending is None or pending.step is not step:
            raise CacheStateError("only the latest planned step can be finished, and only once")
        if not isinstance(chosen, Mapping):
            raise ConfigError(f"chosen must map names to tokens, got {chosen!r:.60}")
        if isinstance(ended, str) or not hasattr(ended, "__iter__"):
            raise ConfigError(f"ended must be a sequence of names, got {ended!r:.60}")
        wanted = {piece.name for piece in step.pieces if piece.last}
        if set(chosen) != wanted or not set(ended) <= wanted:
            raise ConfigError(
                f"tokens are wanted for {sorted(wanted)}, got {sorted(chosen)}, ended {list(ended)}"
            )
        tokens = {name: _token("token", token) for name, token in chosen.items()}
        queue, self._pending = self._state_in(pending.transaction), None
        ran = {piece.name: len(piece.tokens) for piece in step.pieces}
        runs = [run.ran(ran.get(run.name, 0), tokens.get(run.name)) for run in queue.running]
        over = tuple(r for r in runs if r.name in ended or len(r.tokens) == r.limit)
        known: dict[int, Any] = {}
        for i, run in enumerate(runs):
            runs[i], fresh = run.learned(self.blocks.prefixes)
            known |= fresh
        self._close(queue._replace(running=tuple(runs)), known, over, pending.transaction)

    def _close(
        self, queue: Queue, known: dict[int, Any], over: tuple[Run, ...], transaction: Transaction
    ) -> None:
        """Let some end, count all of it at once, and know the blocks that are full now."""
        names = {run.name for run in over}
        rest = [tuple(run for run in runs if run.name not in names) for runs in queue[:2]]
        gone = [run for run in (*queue.running, *queue.waiting) if run.name in names]
        # The end of a sequence goes first: who needs a block takes it before its beginning.
        for run in gone:
            self.blocks._change(transaction, release=run.table[::-1], known=known)
        done = tuple(replace(run, table=()) for run in gone)
        after = Queue(rest[0], rest[1], (*queue.ended, *done), queue.came)
        self._stage(after, transaction)
        transaction.commit()
        for block, each in known.items():
            self.blocks.prefixes.keep(block, each)
