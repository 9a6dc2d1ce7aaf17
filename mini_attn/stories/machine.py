"""The grammar as a machine: each word leads from one node to the next, never to two.

Lines that begin alike share their nodes as far as they are alike, so that the words read so far
determine the node, and what the registers hold. `machine` gives it as arrays over nodes and
edges, which any language can read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.stories.grammar import PRONOUNS, REGISTERS, STATES, Line, Slot, parse
from mini_attn.stories.vocabulary import CLASSES, NUMBERS, WORDS

__all__ = ["Edge", "Machine", "machine", "nodes_of"]

Array = NDArray[Any]
_Ways = dict[tuple[tuple[Slot, ...], str, str], float]  # rest of a line, next state, moves: chance


class Edge(NamedTuple):
    """One way on from a node.

    Parameters
    ----------
    slot : Slot
        The word, drawn or said.
    moves : str
        What registers hold afterwards.
    weight : float
        Chance of this way.
    then : int
        The node it leads to.
    """

    slot: Slot
    moves: str
    weight: float
    then: int


class Machine(NamedTuple):
    """The machine as arrays; the last node is outside of the language and has no way on.

    Parameters
    ----------
    weight : array (nodes, edges)
        Chance of each way, 0 where there is none.
    then : array (nodes, edges)
        The next node.
    word : array (nodes, edges)
        The word that is said, -1 where a register or a class says which.
    register : array (nodes, edges)
        Where a drawn word is put, or which one is said; register 0 stays empty.
    form : array (nodes, edges)
        The row of `forms` in which the register's word is looked up.
    drawn : array (nodes, edges)
        The row of `classes` that a word is drawn from, or -1.
    order : array (nodes, edges)
        The row of `orders` by which registers move afterwards.
    asked : boolean array (nodes, edges)
        Whether the word has to be recalled.
    forms : array (forms, vocab)
        The words themselves, then their pronouns.
    classes : boolean array (classes, vocab)
        Which words belong to a class.
    orders : array (orders, registers)
        Which register each one takes its word from.
    """

    weight: Array
    then: Array
    word: Array
    register: Array
    form: Array
    drawn: Array
    order: Array
    asked: Array
    forms: Array
    classes: Array
    orders: Array


def _added(weights: Iterable[float]) -> float:
    """Add from left to right. From Python 3.12 on, `sum` corrects its rounding on the way.

    Nodes are told apart by their shares to the last bit, so there would be other ones.
    """
    return reduce(add, weights, 0.0)


def _open(ways: _Ways, states: dict[str, tuple[Line, ...]]) -> _Ways:
    """The ways with a word to say: where a line is over, the lines of the next state."""
    found: _Ways = {}
    for (rest, state, moves), chance in ways.items():
        if rest:
            more = {(rest, state, moves): chance}
        else:
            total = _added(line.weight for line in states[state])
            after: _Ways = {}
            for line in states[state]:
                key = (parse(line.text), line.then, line.moves)
                after[key] = after.get(key, 0.0) + chance * line.weight / total
            more = _open(after, states)
        for way, share in more.items():
            found[way] = found.get(way, 0.0) + share
    return found


def nodes_of(states: dict[str, tuple[Line, ...]]) -> list[list[Edge]]:
    """The edges of each node; the first node is the state ``"start"``.

    Parameters
    ----------
    states : dict
        Lines of each state.

    Returns
    -------
    list of list of Edge
        The machine.

    Examples
    --------
    >>> lines = (Line(1, "the end .", "start"), Line(3, "the sun", "start"))
    >>> [[(e.slot.word, e.weight, e.then) for e in node] for node in nodes_of({"start": lines})]
    [[('the', 1.0, 1)], [('end', 0.25, 2), ('sun', 0.75, 0)], [('.', 1.0, 0)]]
    """
    pending = [_open({((), "start", ""): 1.0}, states)]
    numbers = {tuple(pending[0].items()): 0}
    nodes = []
    for ways in pending:  # grows as nodes are found
        by_slot: dict[tuple[Slot, str], _Ways] = {}
        for (rest, state, moves), chance in ways.items():
            now, later = ("", moves) if rest[1:] else (moves, "")
            after = by_slot.setdefault((rest[0], now), {})
            after[rest[1:], state, later] = after.get((rest[1:], state, later), 0.0) + chance
        edges, total = [], _added(ways.values())
        for (slot, moves), after in by_slot.items():
            weight = _added(after.values())
            opened = _open({way: chance / weight for way, chance in after.items()}, states)
            number = numbers.setdefault(tuple(opened.items()), len(pending))
            if number == len(pending):
                pending.append(opened)
            edges.append(Edge(slot, moves, weight / total, number))
        nodes.append(edges)
    return nodes


def _order(moves: str) -> list[int]:
    """Return which register each one takes its word from."""
    taken = dict(move.split("=") for move in moves.split())
    return [REGISTERS.index(taken.get(register, register)) for register in REGISTERS]


@lru_cache(maxsize=1)
def machine() -> Machine:
    """The machine of the stories.

    Returns
    -------
    Machine
        Its arrays.

    Examples
    --------
    >>> machine().weight.sum(axis=1)[:3]
    array([1., 1., 1.])
    """
    nodes = nodes_of(STATES)
    classes, forms = list(CLASSES), ["", *PRONOUNS]
    moves = sorted({edge.moves for node in nodes for edge in node})
    shape = (len(nodes) + 1, max(map(len, nodes)))
    weight, asked = np.zeros(shape), np.zeros(shape, dtype=bool)
    then = np.full(shape, len(nodes))
    word, drawn = np.full(shape, -1), np.full(shape, -1)
    register, form, order = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for i, node in enumerate(nodes):
        for j, (slot, moved, chance, target) in enumerate(node):
            weight[i, j], then[i, j], asked[i, j] = chance, target, slot.asked
            word[i, j] = NUMBERS[slot.word] if slot.word else -1
            drawn[i, j] = classes.index(slot.drawn) if slot.drawn else -1
            register[i, j] = REGISTERS.index(slot.register)
            form[i, j], order[i, j] = forms.index(slot.form), moves.index(moved)
    pronouns = [[NUMBERS[PRONOUNS[f].get(w, w)] for w in WORDS] for f in PRONOUNS]
    return Machine(
        *(weight, then, word, register, form, drawn, order, asked),
        np.array([range(len(WORDS)), *pronouns]),
        np.array([[w in CLASSES[name] for w in WORDS] for name in classes]),
        np.array([_order(moved) for moved in moves]),
    )
