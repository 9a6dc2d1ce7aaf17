"""Give each layer its own kind of cache, so that little is lost for the bytes there are."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Each layer of a model can keep its cache in its own way: all of it, in 4 bits, or only the last
tokens. The integers `n_bytes` `(n_layers, n_kinds)` say how much each kind of cache takes in each
layer, and `loss` `(n_layers, n_kinds)` what the model loses if the layer uses it. The losses of the
layers add up. Each entry of `budgets` `(n,)` is a number of bytes for all layers together. Return
the smallest loss that fits into each, as an array `(n,)`, and −1 where nothing fits. A model has at
most 6 layers and 3 kinds.
"""
STARTER = '''
def layer_budget(n_bytes, loss, budgets):
    """Smallest loss within each budget (n,), -1 where nothing fits."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(n_bytes: list[list[int]], loss: list[list[float]], budgets: list[int]) -> Inputs:
    return {
        "n_bytes": np.array(n_bytes),
        "loss": np.array(loss, float),
        "budgets": np.array(budgets),
    }


def _sums(table: Array, start: float = 0) -> Array:
    """The sum over layers of every choice of kinds, in one order for every table."""
    sums = np.full(1, start, table.dtype)
    for layer in table:
        sums = (sums[:, None] + layer).ravel()
    return sums


def _drawn(rng: np.random.Generator, layers: int, kinds: int) -> Inputs:
    """Kinds that take less and lose more, and budgets that all choices have in reach."""
    n_bytes = np.sort(rng.integers(1, 40, (layers, kinds)), axis=1)[:, ::-1].copy()
    loss = np.sort(rng.integers(0, 64, (layers, kinds)), axis=1) / 16
    reach = np.sort(_sums(n_bytes))
    picked = reach[rng.integers(0, len(reach), 4)]
    return {
        "n_bytes": n_bytes,
        "loss": loss,
        "budgets": np.concatenate([picked, [reach[0] - 1, reach[-1] + 5]]),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two layers of two kinds. The property: steps that block one another."""
    blocked = _case(
        [[10, 4, 1], [9, 5, 1], [6, 5, 2]], [[0, 2, 5], [0, 1, 6], [0, 0.5, 4]],
        [4, 8, 11, 12, 15, 19, 20, 25],
    )  # fmt: skip
    # The best first exchange leaves too little for the two that would be better together.
    greedy = _case([[7, 1], [6, 1], [6, 1]], [[0, 8], [0, 6], [0, 6]], [3, 8, 9, 13, 14, 19])
    return {
        "by hand": [_case([[8, 2], [6, 3]], [[0, 3], [1, 2]], [14, 11, 8, 5, 4])],
        "random": [_drawn(rng, 4, 3), _drawn(rng, 5, 2)],
        "property": [blocked, greedy, _drawn(rng, 6, 3)],
        "edges": [_case([[5, 3, 4]], [[1, 2, 0.5]], [3, 4, 2, 100]), _drawn(rng, 3, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A loss for each budget."""
    return {"loss": (inputs["budgets"].shape, "f")}


def _least(sizes: Array, losses: Array, budgets: Array, none: float = -1.0) -> Array:
    """The least loss among choices that fit, or what stands for none."""
    fits = sizes <= budgets[:, None]
    least = np.where(fits, losses, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isinf(least), none, least)


def right(inputs: Inputs) -> Array:
    """Every choice of kinds is tried."""
    sizes, losses = _sums(inputs["n_bytes"]), _sums(inputs["loss"])
    return _least(sizes, losses, inputs["budgets"])


def _exchanged(inputs: Inputs, *, go_on: bool, each_byte: bool) -> Array:
    """From the smallest caches, the best exchange again and again, one layer at a time."""
    n_bytes, loss, found = inputs["n_bytes"], inputs["loss"], []
    rows = np.arange(len(loss))
    for budget in inputs["budgets"]:
        kind = n_bytes.argmin(axis=1)
        while True:
            more = n_bytes - n_bytes[rows, kind][:, None]
            gain = loss[rows, kind][:, None] - loss
            fits = n_bytes[rows, kind].sum() + more <= budget
            useful = (gain > 0) & (fits if go_on else True)
            worth = np.where(useful, gain / np.maximum(more, 0.5) if each_byte else gain, -1.0)
            at = np.unravel_index(worth.argmax(), worth.shape)
            if worth[at] < 0 or not fits[at]:
                break
            kind[at[0]] = at[1]
        fitting = n_bytes[rows, kind].sum() <= budget
        found.append(loss[rows, kind].sum() if fitting else -1.0)
    return np.array(found)


def _given_up(inputs: Inputs, *, each_byte: bool) -> Array:
    """From the caches that lose least, the cheapest exchange again and again until all fits."""
    n_bytes, loss, found = inputs["n_bytes"], inputs["loss"], []
    rows = np.arange(len(loss))
    for budget in inputs["budgets"]:
        kind = loss.argmin(axis=1)
        while n_bytes[rows, kind].sum() > budget:
            saved = n_bytes[rows, kind][:, None] - n_bytes
            price = loss - loss[rows, kind][:, None]
            price = price / np.maximum(saved, 0.5) if each_byte else price
            price = np.where(saved > 0, price, np.inf)
            at = np.unravel_index(price.argmin(), price.shape)
            if np.isinf(price[at]):
                break
            kind[at[0]] = at[1]
        fitting = n_bytes[rows, kind].sum() <= budget
        found.append(loss[rows, kind].sum() if fitting else -1.0)
    return np.array(found)


def _apart(inputs: Inputs) -> Array:
    """Each layer within its own part of the budget."""
    parts = [
        _least(sizes, losses, inputs["budgets"] / len(inputs["loss"]))
        for sizes, losses in zip(inputs["n_bytes"], inputs["loss"], strict=True)
    ]
    return np.where(np.min(parts, axis=0) < 0, -1.0, np.sum(parts, axis=0))


def slips(inputs: Inputs) -> Slips:
    """The losses with one idea missing."""
    n_bytes, loss, budgets = inputs["n_bytes"], inputs["loss"], inputs["budgets"]
    sizes, losses = _sums(n_bytes), _sums(loss)
    best = _least(sizes, losses, budgets)
    fits = sizes <= budgets[:, None]
    fullest = np.where(fits, sizes, -1).max(axis=1)
    widest = np.array([losses[sizes == size].min(initial=np.inf) for size in fullest])
    greedy = "You took the best exchange, one layer at a time. That can spend bytes that two "
    largest = np.max(np.stack(np.meshgrid(*loss, indexing="ij")), axis=0).ravel()
    return [
        (_least(n_bytes.sum(axis=0), loss.sum(axis=0), budgets),
         "You gave all layers the same kind. Each can have its own."),
        (np.full(budgets.shape, loss.min(axis=1).sum()),
         "You ignored the bytes. Each layer has the kind with the smallest loss, whatever it "
         "takes."),
        (_apart(inputs), "You gave each layer the same part of the budget. One can leave bytes to "
         "another."),
        *((_exchanged(inputs, go_on=on, each_byte=byte), greedy + "others would use better. "
           "Compare whole choices, over all layers.")
          for on in (True, False) for byte in (True, False)),
        *((_given_up(inputs, each_byte=byte), "You gave up the cheapest thing first, one layer at "
          "a time. That can give up more than is needed. Compare whole choices, over all layers.")
          for byte in (True, False)),
        (_least(sizes, losses, budgets - 1), "You rejected a choice that takes exactly the "
         "budget. It fits."),
        (_least(sizes, losses, budgets, 0.0), "Where nothing fits, the answer is −1. A loss of 0 "
         "is the best there is."),
        *((_least(sizes, losses, budgets, none), "Where nothing fits, the answer is −1.")
          for none in (np.inf, np.nan)),
        (np.where(np.isinf(widest) | (fullest < 0), -1.0, widest), "You took the choice that "
         "fills the budget best. Free bytes do no harm. Only the loss counts."),
        (_least(sizes, largest, budgets), "You counted only the layer that loses most. The losses "
         "of the layers add up."),
        (np.where(best < 0, best, best / len(loss)), "That's the mean over the layers. The losses "
         "add up."),
        (np.where(fullest < 0, -1.0, np.where(fits, sizes, sizes.max() + 1).min(axis=1)),
         "Those are bytes. Return the smallest loss."),
        (_least(n_bytes.min(axis=1).sum(keepdims=True),
                np.take_along_axis(loss, n_bytes.argmin(axis=1)[:, None], 1).sum(keepdims=True),
                budgets), "That's what the smallest caches lose. There is room for better ones."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="layer_budget",
    page="choosing",
    title="A budget for all layers",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=20,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="What a byte buys",
    text=TEXT,
    starter=STARTER,
    hints=(
        "A choice gives each layer a kind. It has one sum of bytes and one sum of losses, and "
        "there are few enough choices to look at them all.",
        "Build the two lists of sums layer by layer: every sum so far plus every kind of the next "
        "layer. Then, for each budget, take the smallest loss among the choices whose bytes fit.",
    ),
    common_errors=(
        "One kind for all layers.",
        "Improving one layer at a time, the best exchange first.",
        "Giving each layer the same part of the budget.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Look for the smallest sum of losses among choices whose bytes, added up over the "
        "layers, are at most the budget."
    ),
    same=close,
)
