"""How many layers of a pattern it takes until every token can hear of every earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Every layer of a decoder uses the same attention mask: `mask` `(n, n)` is True where the query of a
row can attend to the key of a column, never a later one. A token also keeps what it already knows,
because each layer adds to it. Return `layers` `(n,)`, integers: the smallest number of layers after
which each token can know of itself and of every earlier token. That's 0 if it needs none, and −1 if
no number of layers is enough.
"""
STARTER = '''
def layers_to_all(mask):
    """Return the fewest layers to all earlier tokens, or -1."""
    raise NotImplementedError
'''

Array = np.ndarray


def _window(n: int, width: int, stride: int = 0) -> Array:
    """The last keys, and every so many."""
    behind = np.arange(n)[:, None] - np.arange(n)
    mask = (behind >= 0) & (behind < width)
    return mask | ((behind >= 0) & (behind % stride == 0)) if stride else mask


def _first(n: int, tokens: int, width: int = 1) -> Array:
    """The first tokens are seen by all, and the last few."""
    return _window(n, width) | (np.tri(n, dtype=bool) & (np.arange(n) < tokens))


def _drawn(rng: np.random.Generator, n: int) -> Array:
    """Each token sees the one before, and a few drawn ones."""
    mask = rng.random((n, n)) < 0.12
    mask[np.arange(1, n), np.arange(n - 1)] = True
    return np.asarray(mask & np.tri(n, k=-1, dtype=bool))


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a window of 2 over four tokens. The property: patterns that help one another."""
    lonely = _window(7, 3)
    lonely[4, :4] = False
    pause = np.eye(5, dtype=bool)  # after one or two layers only the first is complete
    pause[[2, 3, 4, 4], [1, 2, 3, 0]] = True
    return {
        "by hand": [{"mask": _window(4, 2)}],
        "random": [{"mask": _window(13, 4)}, {"mask": _drawn(rng, 12)}, {"mask": _drawn(rng, 17)}],
        "property": [{"mask": _window(25, 5, 5)}, {"mask": _first(12, 1)},
                     {"mask": _first(20, 2, 3)}, {"mask": pause},
                     {"mask": _window(16, 4, 4) & ~np.eye(16, dtype=bool)}],
        "edges": [{"mask": np.ones((1, 1), bool)}, {"mask": np.zeros((1, 1), bool)},
                  {"mask": np.tri(6, dtype=bool)}, {"mask": lonely}, {"mask": _window(30, 2)},
                  {"mask": np.zeros((3, 3), bool)}],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """An integer for each token."""
    return {"layers": ((len(inputs["mask"]),), "i")}


def _reached(mask: Array, layers: int, *, keeps: bool = True) -> Array:
    """Return who can have heard of whom after this many layers."""
    heard = np.eye(len(mask), dtype=bool)
    for _ in range(layers):
        more = (mask.astype(int) @ heard.astype(int)) > 0
        heard = (heard | more) if keeps else more
    return heard


def _count(mask: Array, *, keeps: bool = True, wanted: str = "earlier") -> Array:
    """The numbers, or what they are if tokens keep nothing or others are asked for."""
    n = len(mask)
    asked = {"earlier": np.tri(n, dtype=bool), "first": np.arange(n) == np.zeros((n, 1)),
             "all": np.ones((n, n), bool), "later": np.tri(n, dtype=bool).T}[wanted]  # fmt: skip
    found = np.full(n, -1)
    for layers in range(n + 1):
        full = (_reached(mask, layers, keeps=keeps) >= asked).all(axis=1)
        found[full & (found < 0)] = layers
    return found


def right(inputs: Inputs) -> Array:
    """Layer by layer, until nothing is missing."""
    return _count(inputs["mask"])


def _by_look(mask: Array) -> Array:
    """From the farthest that a token sees."""
    n, behind = len(mask), np.subtract.outer(np.arange(len(mask)), np.arange(len(mask)))
    far = (behind * mask).max()
    return -(-np.arange(n) // far) if far else np.where(np.arange(n) > 0, -1, 0)


def _early(mask: Array) -> Array:
    """Up to the first layer that makes no token complete."""
    layers = _count(mask)
    last = next(n for n in range(len(mask) + 2) if n and n not in layers)
    return np.where(layers < last, layers, -1)


def _rounds(mask: Array, way: str) -> Array:
    """Rounds in which rows change at once and are read again, or the table meets itself."""
    n = len(mask)
    heard, found = np.eye(n, dtype=bool), np.full(n, -1)
    for layers in range(n + 1):
        found[(heard | ~np.tri(n, dtype=bool)).all(axis=1) & (found < 0)] = layers
        if way == "squared":
            heard = heard.astype(int) @ heard > 0 if layers else heard | mask
            continue
        for i in range(n):
            heard[i] |= heard[mask[i]].any(axis=0)
    return found


def _slowest(mask: Array) -> Array:
    """One more than the slowest of the tokens that a token sees."""
    layers = np.zeros(len(mask), int)
    for i in range(1, len(mask)):
        known = layers[:i][mask[i, :i] & (layers[:i] >= 0)]
        layers[i] = 1 + known.max() if known.size else -1
    return layers


def _other_ways(mask: Array) -> list[tuple[Array, str]]:
    """Return what other ways to go through the layers give."""
    n = len(mask)
    behind = np.tril(mask, -1).sum(axis=1)
    counted = -(-np.arange(n) // np.maximum(behind, 1))
    return [
        (_early(mask),
         "You stop at a layer that completes no further token. News may still be on the way: stop "
         "when no token learns anything new."),
        (_rounds(mask, "in place"),
         "You update rows in place, so a token hears what another heard in the same layer. All of "
         "them read the state before the layer."),
        (_rounds(mask, "squared"),
         "You combine the table with itself, so each round is worth more and more layers. One "
         "layer adds one look through the mask."),
        (_slowest(mask),
         "You take one more than the slowest token it attends to. That's neither enough nor always "
         "needed: others may bring the same news sooner, or all of them may lack some."),
        (np.where(np.arange(n) == 0, 0, np.where(behind == 0, -1, counted)),
         "You divide the number of earlier tokens by how many a token attends to. It matters which "
         "ones, and what those know."),
        (_count(mask.T, wanted="later"),
         "That's when all later tokens know of this one. We asked when it knows of all earlier "
         "ones: a row of the mask says what a token attends to."),
    ]  # fmt: skip


def _within_reach(mask: Array) -> Array:
    """Until a token has heard of all that it ever hears of."""
    n = len(mask)
    ever, found = _reached(mask, n), np.full(n, -1)
    for layers in range(n + 1):
        full = (_reached(mask, layers) == ever).all(axis=1)
        found[full & (found < 0)] = layers
    return found


def _more_ways(mask: Array, layers: Array) -> list[tuple[Array, str]]:
    """Return what still other ways give."""
    n = len(mask)
    seen = np.maximum(np.tril(mask).sum(axis=1), 1)
    return [
        (_within_reach(mask),
         "You wait only for what a token ever hears of. If that leaves out an earlier token, the "
         "answer is −1."),
        (np.where(layers == max(n - 1, 1), -1, layers),
         "You stop one layer too early. A chain of n tokens needs n − 1 layers."),
        (np.maximum.accumulate(layers),
         "You never let the number fall. A later token can be complete sooner, if it attends to "
         "more."),
        (-(-np.arange(n) // seen),
         "You divide the number of earlier tokens by how many a token attends to. It matters which "
         "ones, and what those know."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the numbers would be with one idea missing."""
    mask = inputs["mask"]
    layers = _count(mask)
    some = np.maximum(layers, 1)
    doubled = np.ceil(np.log2(some)).astype(int)
    found: list[tuple[Any, str]] = [
        (_count(mask, keeps=False),
         "You drop what a token knows if it doesn't attend to itself. It keeps that: each layer "
         "adds to it."),
        (_count(mask, wanted="first"),
         "That's when each token hears of the first one. It should know of all those in between, "
         "too."),
        (_by_look(mask),
         "You divide the distance by the farthest look. Not every token can look that far, nor to "
         "every place."),
        (np.arange(len(mask)),
         "You return the position. That many layers are enough if any number is, but needed only "
         "where each token attends to just the one before."),
        (np.where(layers > 0, doubled, layers),
         "You multiply the pattern by itself, which doubles the number of layers each time. "
         "Count the layers, not the doublings."),
        (np.where(layers > 0, 2**doubled, layers),
         "You double the number of layers until it's enough. A smaller one may do."),
        (np.where(layers >= 0, layers + 1, -1),
         "You count one layer too many. Before the first layer, each token knows of itself."),
        (np.maximum(layers, 0), "Where a token never hears of some earlier one, the answer is −1."),
        (np.where(layers < 0, len(mask), layers),
         "Where a token never hears of some earlier one, the answer is −1. You returned the number "
         "of layers after which you stopped."),
        *_other_ways(mask),
        (np.where(layers == 0, 1, layers),
         "You ask for at least one layer. The first token knows all it should before any layer."),
        (np.full(len(mask), -1 if (layers < 0).any() else layers.max()),
         "That's one number for all tokens together. Each has its own."),
        (_count(mask, wanted="all"),
         "You wait for later tokens, too. Only the triangle counts."),
        *_more_ways(mask, layers),
    ]  # fmt: skip
    return [({"layers": numbers}, idea) for numbers, idea in found]


def _after(layers: int) -> str:
    return f"After {layers} layer{'s' * (layers != 1)}"


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """A pair that is missing after as many layers, or a token that needs fewer."""
    mask, wanted = inputs["mask"], right(inputs)
    i = int(np.flatnonzero(outputs["layers"] != wanted)[0])
    layers = int(outputs["layers"][i])
    if layers >= 0 and (layers < wanted[i] or wanted[i] < 0):
        heard = _reached(mask, min(layers, len(mask)))[i, : i + 1]
        return f"{_after(layers)}, token {i} doesn't know of token {int(heard.argmin())} yet."
    return f"{_after(int(wanted[i]))}, token {i} knows of itself and of all before it."


EXERCISE = Exercise(
    id="layers_to_all",
    page="fewer-keys",
    title="How many layers until each token knows",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Static sparsity patterns and skipped blocks",
    text=TEXT,
    starter=STARTER,
    hints=(
        "For four tokens and a window of 2, write down what each knows of after one layer and "
        "after "
        "two. How does the second table follow from the first?",
        "Keep a table `heard[i, j]`, at first True on the diagonal. After a layer, token i knows "
        "of "
        "j if it did before, or if some token that it attends to did. Note for each row when it is "
        "full, and stop when nothing changes.",
    ),
    common_errors=(
        "Forgetting that a token keeps what it knows, whether it attends to itself or not.",
        "Checking only for the first token, or only the last row.",
        "Looping forever where no number is enough.",
        "Stopping when no token becomes complete, although some still learn of others.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
