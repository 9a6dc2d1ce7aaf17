"""Choose the heads to prune from what every set of them costs together."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
We ablated every set of a layer's heads once and measured the loss. `loss` has one axis of size 2
for each head: `loss[1, 0, 1]` is the loss of three heads with the middle one off and the others on.
Some losses come from the trained decoder, some are made up. Return a boolean array `keep`, one
entry per head, False if the head goes. Remove as many heads as possible, but the loss may be at
most `budget` higher than with all heads on. If several choices remove equally many, take the one
with the least loss.
"""
STARTER = '''
def heads_to_keep(loss, budget):
    """Which heads stay if as many as possible go: (n_heads,)."""
    raise NotImplementedError
'''
Array = np.ndarray


@lru_cache(maxsize=4)
def _measured(seed: int) -> Array:
    """Loss of copying with every set of the second layer's heads, (2, 2, 2, 2)."""
    from mini_attn.stories import sample_rows
    from mini_attn.stories.family import load
    from mini_attn.stories.inside import without_heads, word_losses

    model, rows = load("mha"), sample_rows(1, 130, seed, kind="repeats")
    table = np.empty((2,) * 4)
    for on in product((0, 1), repeat=4):
        off = [(1, head) for head in range(4) if not on[head]]
        table[on] = word_losses(without_heads(model, off), rows)[:, 64:].mean()
    return table


def _made_up(rng: np.random.Generator, n_heads: int) -> Array:
    """Losses without any order: no sum over single heads predicts a set."""
    return np.asarray(rng.permutation(2**n_heads).reshape((2,) * n_heads) / 8 + 1)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: heads that stand in for each other. The property: two that are cheap together."""
    real = _measured(int(rng.integers(3)))
    spare = np.array([[[4.0, 2.0], [0.6875, 0.5625]], [[0.75, 0.75], [0.875, 0.25]]])
    better = np.array([[[5.0, 4.0], [3.0, 4.0]], [[2.25, 4.0], [1.0, 2.0]]])  # without head 2
    pair = np.array([[[7.0, 1.125], [6.0, 4.0]], [[6.0, 4.0], [5.0, 1.0]]])  # 0 and 1 cancel
    return {
        "by hand": [{"loss": spare, "budget": 0.5}],
        "random": [{"loss": real, "budget": 0.5}, {"loss": real, "budget": 2.5},
                   {"loss": _made_up(rng, 3), "budget": 0.5}],
        "property": [{"loss": pair, "budget": 0.25}, {"loss": _made_up(rng, 4), "budget": 0.75},
                     {"loss": better, "budget": 0.5}],
        "edges": [{"loss": np.array([2.0, 1.0]), "budget": 0.5},
                  {"loss": np.array([[3.0, 2.0], [1.0, 0.0]]), "budget": 1.0},
                  {"loss": np.array([[4.0, 3.0], [2.0, 1.0]]), "budget": 0.0},
                  {"loss": np.array([[1.0, 3.0], [3.0, 2.0]]), "budget": 0.5}],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A truth value for each head."""
    return {"keep": ((inputs["loss"].ndim,), "b")}


def _best(loss: Array, budget: float) -> Array:
    """The choice by the rule; no heads at all where nothing is within the budget."""
    sets = [on for on in product((0, 1), repeat=loss.ndim) if loss[on] - loss.flat[-1] <= budget]
    if not sets:
        return np.zeros(loss.ndim, bool)
    return np.array(min(sets, key=lambda on: (sum(on), loss[on])), dtype=bool)


def _below(loss: Array, limit: float) -> Array:
    """The choice whose loss is at most the limit; all heads stay where there is none."""
    fits = (loss <= limit).any()
    return _best(loss, limit - float(loss.flat[-1])) if fits else np.ones(loss.ndim, bool)


def _alone(loss: Array) -> Array:
    """Return what each head costs when it goes alone."""
    on = np.ones((loss.ndim, loss.ndim), int) - np.eye(loss.ndim, dtype=int)
    return np.array([loss[tuple(row)] for row in on]) - loss.flat[-1]


def _summed(loss: Array, budget: float) -> Array:
    """The cheapest heads, as long as the sum of their single costs fits the budget."""
    alone = _alone(loss)
    order = alone.argsort()
    keep = np.ones(loss.ndim, bool)
    keep[order[np.cumsum(alone[order]) <= budget]] = False
    return keep


def _one_by_one(loss: Array, budget: float) -> Array:
    """The cheapest head goes first, and what is left is measured again."""
    keep = np.ones(loss.ndim, int)
    while keep.any():
        tries = [np.where(np.arange(loss.ndim) == head, 0, keep) for head in np.flatnonzero(keep)]
        best = min(tries, key=lambda on: loss[tuple(on)])
        if loss[tuple(best)] - loss.flat[-1] > budget:
            break
        keep = best
    return keep.astype(bool)


def right(inputs: Inputs) -> Array:
    """The choice by the rule."""
    return _best(inputs["loss"], inputs["budget"])


def slips(inputs: Inputs) -> Slips:
    """Return what the choice would be with one idea missing."""
    loss, budget = inputs["loss"], inputs["budget"]
    base = float(loss.flat[-1])
    return [
        (np.zeros(loss.ndim, bool),
         f"No head stays. That goes beyond the budget: the loss may rise to "
         f"{base + budget:g}, and without any head it's {loss.flat[0]:g}."),
        (np.ones(loss.ndim, bool),
         f"All heads stay. The budget lets some go: the loss may rise from {base:g} to "
         f"{base + budget:g}."),
        (~_best(loss, budget),
         "You marked the heads that go. `keep` is True for the heads that stay."),
        (_one_by_one(loss, budget), "You removed the cheapest head first, then the next. Two "
         "heads can each cost much alone and little together, so look at every set."),
        (_alone(loss) > budget, "You looked at each head alone. Together they may cost far more, "
         "because one head can stand in for another while both are there."),
        (_summed(loss, budget), "You added up what heads cost alone. The table has what they "
         "cost together, which may be more or less."),
        (_best(np.flip(loss), budget), "You read the table the other way around. Index 1 means "
         "on, so the loss with all heads is the last entry, not the first."),
        (_below(loss, budget),
         f"You used the budget as the limit. The loss may rise from {base:g} to "
         f"{base + budget:g}: the budget is added to the loss with all heads on."),
        (_best(loss, base * budget),
         "You used the budget as a fraction of the loss. Add it to the loss: from "
         f"{base:g} it may rise to {base + budget:g}."),
        (_below(loss, base + budget - 1e-9),
         "You don't allow a loss that's higher by just the budget. “At most” includes it."),
        (_best(loss, loss.min() + budget - base),
         "You counted the budget from the least loss of all. Count from the loss with all heads "
         "on."),
        (np.array(np.unravel_index(loss.argmin(), loss.shape), bool),
         "You took the least loss. Within the budget, remove as many heads as possible; the loss "
         "decides only between choices that remove equally many."),
        (_best(loss, budget)[::-1], "Your heads are in reverse order. Axis 0 is head 0."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """By how much this choice is too dear or too small."""
    loss, budget, keep = inputs["loss"], inputs["budget"], outputs["keep"]
    rise = loss[tuple(keep.astype(int))] - loss.flat[-1]
    if rise > budget:
        return f"With your heads, the loss rises by {rise:.3g}, and the budget is {budget:g}."
    more = int(keep.sum() - right(inputs).sum())
    if more:
        return (
            f"The loss may rise from {loss.flat[-1]:g} to {loss.flat[-1] + budget:g}, and that "
            f"lets {more} more {'head' if more == 1 else 'heads'} go."
        )
    return "You removed as many heads as possible, but another set of that size loses less."


EXERCISE = Exercise(
    id="heads_that_may_go",
    page="multihead",
    title="Which heads can go",
    kind="write",
    groups={"random": 2, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Pruning and tying",
    text=TEXT,
    starter=STARTER,
    hints=(
        "You can't tell what two heads cost together from what each costs alone. But the table has "
        "an entry for every set.",
        "Go through all sets with itertools.product((0, 1), repeat=loss.ndim), drop those above "
        "the budget, and take the smallest by (heads that stay, loss).",
    ),
    common_errors=(
        "You add up what heads cost alone, so heads that stand in for each other all go.",
        "You take the cheapest head first, then the next, and miss a pair that's cheap together.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
