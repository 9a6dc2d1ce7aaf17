"""The requests of the picture `PagePool`, and the same steps by the package's own scheduler."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from mini_attn.caching import Blocks, Scheduler, Step
from mini_attn.errors import ConfigError

__all__ = [
    "LONGEST",
    "SCHEMES",
    "SLOTS",
    "STEPS",
    "TRACE",
    "Request",
    "Snapshot",
    "page_pool",
    "serve",
]

SLOTS = 96  # of the pool
LONGEST = 48  # tokens that a request may come to: what is reserved for it
STEPS = 14
SCHEMES = ("contiguous", "pages", "shared")


@dataclass(frozen=True, slots=True)
class Request:
    """What comes: its prompt, and how many tokens are generated behind it.

    A fork has the tokens that its parent has by then, and ends where its parent ends.
    """

    name: str
    step: int  # before which it comes
    prompt: int = 0  # tokens
    new: int = 0
    prefix: int = 0  # tokens of the prompt with which others begin too
    parent: str = ""


TRACE = (
    Request("A", 1, prompt=11, new=5, prefix=8),
    Request("B", 1, prompt=10, new=12),
    Request("C", 2, prompt=11, new=8, prefix=8),
    Request("D", 2, prompt=10, new=10, prefix=8),
    Request("E", 3, parent="D"),
    Request("F", 4, prompt=8, new=5),
    Request("G", 5, prompt=10, new=11, prefix=8),
    Request("H", 6, prompt=7, new=10),
)


class Snapshot(NamedTuple):
    """The pool after a step."""

    running: tuple[str, ...]
    waiting: tuple[str, ...]
    ended: tuple[str, ...]
    preempted: tuple[str, ...]  # in this step
    copies: tuple[tuple[str, int, int], ...]  # who wrote, the block that others hold, its own
    tables: dict[str, tuple[int, ...]]
    filled: dict[str, int]  # slots of each that runs
    references: tuple[int, ...]  # how many hold each block
    used: int  # slots of the pool that hold a token

    @property
    def utilisation(self) -> float:
        """Share of all slots that hold a token."""
        return self.used / SLOTS


def serve(scheme: str, block_size: int) -> list[Snapshot]:
    """All steps under one scheme, by a `Scheduler`.

    ``contiguous = blocks of the longest length, one for each request``

    Parameters
    ----------
    scheme : {"contiguous", "pages", "shared"}
        A reservation of the longest length; pages; pages with shared prefixes.
    block_size : int
        Slots of a page.

    Returns
    -------
    list of Snapshot
        The pool after each of the steps 1, 2, …

    Raises
    ------
    ConfigError
        If there is no such scheme, or the pool is not made of whole blocks.

    Notes
    -----
    Without sharing no token of a request is another's, and a fork is a request of its own with the
    tokens of its parent. No step has a limit of tokens: whoever is admitted runs its whole prompt.

    Examples
    --------
    >>> after = serve("pages", block_size=4)[0]
    >>> after.tables
    {'A': (0, 1, 2), 'B': (3, 4, 5)}
    """
    size = LONGEST if scheme == "contiguous" else block_size
    if scheme not in SCHEMES or SLOTS % size:
        raise ConfigError(
            f"scheme is one of {', '.join(SCHEMES)} and {SLOTS} slots are whole blocks, "
            f"got {scheme!r:.40} and blocks of {size}"
        )
    scheduler = Scheduler(Blocks(SLOTS // size, size), token_budget=len(TRACE) * LONGEST)
    shots = []
    for step in range(1, STEPS + 1):
        for request in TRACE:
            if request.step == step:
                _come(scheduler, request, shared=scheme == "shared")
        plan = scheduler.plan()
        ends = {piece.name: piece.start + len(piece.tokens) for piece in plan.pieces}
        scheduler.finish(plan, {name: _own(name, end) for name, end in ends.items()})
        shots.append(_snapshot(scheduler, plan))
    return shots


def _own(name: str, position: int) -> int:
    """A token that no other request has, at no other position."""
    return (1 + ord(name)) * LONGEST + position


def _come(scheduler: Scheduler, request: Request, *, shared: bool) -> None:
    if shared and request.parent:
        scheduler.fork(request.parent, request.name)
        return
    prompt, new = request.prompt, request.new
    if request.parent:
        [parent] = [one for one in TRACE if one.name == request.parent]
        prompt = len(scheduler.tokens(parent.name))
        new = parent.prompt + parent.new - prompt
    common = request.prefix if shared else 0
    tokens = [i if i < common else _own(request.name, i) for i in range(prompt)]
    scheduler.add(request.name, tokens, max_new_tokens=new)


def _snapshot(scheduler: Scheduler, plan: Step) -> Snapshot:
    blocks, running = scheduler.blocks, tuple(scheduler.running)
    tables = {name: tuple(scheduler.table(name)) for name in running}
    # The token that was chosen last is run in the next step.
    filled = {name: len(scheduler.tokens(name)) - 1 for name in running}
    held = {
        block: min(blocks.block_size, filled[name] - i * blocks.block_size)
        for name, table in tables.items()
        for i, block in enumerate(table)
    }
    return Snapshot(
        running=running,
        waiting=tuple(scheduler.waiting),
        ended=tuple(scheduler.ended),
        preempted=plan.preempted,
        copies=tuple((piece.name, *copy) for piece in plan.pieces for copy in piece.copies),
        tables=tables,
        filled=filled,
        references=tuple(blocks.references(block) for block in range(blocks.n_blocks)),
        used=sum(held.values()),
    )


def page_pool() -> dict[str, Any]:
    """Return what the page knows of the pool and of the requests.

    Returns
    -------
    dict
        The sizes, and for each request the fields of `Request` in their order.
    """
    rows = [list(astuple(request)) for request in TRACE]
    return {"slots": SLOTS, "longest": LONGEST, "steps": STEPS, "requests": rows}
