"""The whole language as plain data, for readers in other languages than Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.stories.machine import Machine, machine
from mini_attn.stories.sampling import PERIODS, SHARE
from mini_attn.stories.vocabulary import WORDS

__all__ = ["language"]


def _slot(m: Machine, node: int, edge: int) -> tuple[tuple[str, Any], ...]:
    """Return what an edge says and which registers move, as items of a mapping."""
    word, drawn = int(m.word[node, edge]), int(m.drawn[node, edge])
    found: dict[str, Any] = {"order": int(m.order[node, edge])}
    if word >= 0:
        found["word"] = word
    else:
        found["register"] = int(m.register[node, edge])
        found |= {"drawn": drawn} if drawn >= 0 else {"form": int(m.form[node, edge])}
    return tuple((found | ({"asked": True} if m.asked[node, edge] else {})).items())


def language() -> dict[str, Any]:
    """All that a reader needs: words, the machine of the stories, the law of the repeats.

    Returns
    -------
    dict
        ``words``; ``periods``, fewest and most words of a block; ``share`` of story rows;
        ``registers``, their number;
        ``classes``, ``forms`` and ``orders`` as in `Machine`, in numbers of words and of registers;
        ``slots``, what an edge can say; ``nodes``, for each the ways on as
        ``"slot>node:chance …"``, the chance left out where it is 1.

    Examples
    --------
    >>> found = language()
    >>> found["nodes"][0], found["slots"][0]
    ('0>1', {'order': 2, 'word': 0})
    """
    m = machine()
    slots: dict[tuple[tuple[str, Any], ...], int] = {}
    nodes = []
    for node, weights in enumerate(m.weight[:-1]):
        ways = []
        for edge in np.flatnonzero(weights).tolist():
            slot = slots.setdefault(_slot(m, node, edge), len(slots))
            chance = "" if weights[edge] == 1 else f":{float(weights[edge])!r}"
            ways.append(f"{slot}>{m.then[node, edge]}{chance}")
        nodes.append(" ".join(ways))
    return {
        "words": list(WORDS),
        "periods": list(PERIODS),
        "share": SHARE,
        "registers": m.orders.shape[1],
        "classes": [np.flatnonzero(row).tolist() for row in m.classes],
        "forms": m.forms.tolist(),
        "orders": m.orders.tolist(),
        "slots": [dict(slot) for slot in slots],
        "nodes": nodes,
    }
