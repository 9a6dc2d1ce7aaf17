"""Write a forecast: which single head a copying model cannot do without."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import block_row, maps_of

TEXT = """
You get the maps of a small decoder that copies well, but not the decoder: `maps`
(n_layers, n_heads, seq, seq) are the weights of all its heads for one row that repeats a block.
The heads of a layer may be in any order, and more than one head may look at the same place. Predict
which single head hurts the copying most when it's ablated. Return its layer and its number, counted
from 0, as an integer array (2,). We found the answer by ablating each head.
"""
STARTER = '''
def breaking_head(maps):
    """Layer and number of the head that copying rests on."""
    raise NotImplementedError
'''


def _shuffled(rng: np.random.Generator, maps: np.ndarray) -> np.ndarray:
    """The heads of each layer in another order: their numbers mean nothing."""
    return np.stack([layer[rng.permutation(len(layer))] for layer in maps])


def _with_decoy(rng: np.random.Generator, maps: np.ndarray) -> np.ndarray:
    """A head of the last layer that looks at the word before, more sharply than any other."""
    seq = maps.shape[-1]
    decoy = np.eye(seq, k=-1)
    decoy[0, 0] = 1.0
    idle = int(np.argmin([_behind(head) for head in maps[-1]]))
    changed = maps.copy()
    changed[-1, idle] = decoy
    return _shuffled(rng, changed)


def _behind(head: np.ndarray) -> float:
    """Weight on the stripes that a repeated block draws, the largest of any distance."""
    seq = len(head)
    return max(float(np.diagonal(head, -back).sum()) for back in range(2, seq - 2)) / seq


def _toy(order: list[int], *, idle: bool = False) -> np.ndarray:
    """Layers of three heads, each doing one thing: back one, itself, behind the copy."""
    seq = 9
    before, itself = np.eye(seq, k=-1), np.eye(seq)
    before[0, 0] = 1.0
    evenly = np.tril(np.ones((seq, seq))) / np.arange(1, seq + 1)[:, None]
    copy = evenly.copy()
    copy[5:] = np.eye(seq, k=-3)[5:]
    below = [np.stack([evenly, itself, itself])] * idle
    return np.stack(
        [*below, np.stack([before, itself, evenly])[order], np.stack([copy, copy, evenly])]
    )


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one thing a head. The property: a decoy in the last layer. Edges: three layers."""
    late = [maps_of(block_row(rng, period, 3)) for period in (8, 11, 14)]
    return {
        "by hand": [{"maps": _toy([1, 2, 0])}, {"maps": _toy([2, 0, 1])}],
        "random": [{"maps": _shuffled(rng, maps)} for maps in late],
        "property": [{"maps": _with_decoy(rng, maps)} for maps in late[:2]],
        "edges": [
            {"maps": _shuffled(rng, maps_of(block_row(rng, 8, 2), frame=-4))},
            {"maps": _toy([1, 2, 0], idle=True)},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Layer and head."""
    return {"head": ((2,), "i")}


def _before(maps: np.ndarray) -> np.ndarray:
    """Mean weight on the word before, (n_layers, n_heads)."""
    return np.asarray(np.diagonal(maps, -1, axis1=-2, axis2=-1).mean(axis=-1))


def _stripe(maps: np.ndarray, back: int) -> np.ndarray:
    """Mean weight on the word so far back, once there is one, (n_layers, n_heads)."""
    return np.asarray(np.diagonal(maps, -back, axis1=-2, axis2=-1)[..., 1:].mean(axis=-1))


def _place(scores: np.ndarray) -> list[int]:
    return [int(n) for n in np.unravel_index(scores.argmax(), scores.shape)]


def slips(inputs: Inputs) -> Slips:
    """Return which head would be chosen with one idea missing."""
    maps = inputs["maps"]
    layer, head = _place(_before(maps)[:-1])
    copying = np.array([[_behind(one) for one in heads] for heads in maps])
    last = len(maps) - 1
    decoy = (
        "Your head looks at the word before, but it's in the last layer. Which head could still "
        "read what it writes?"
    )
    return [
        (_place(copying),
         "Your head looks just after the copies. Is it the only one in its layer, and which head's "
         "work do all of them rest on?"),
        ([0, int(_before(maps)[0].argmax())],
         "You only looked in layer 0. Any layer but the last can write for a later one."),
        ([last, int(_before(maps)[-1].argmax())], decoy),
        (_place(_before(maps)), decoy),
        ([head, layer], "Give the layer first, then the head's number."),
        ([layer + 1, head + 1], "You counted from 1. Count both from 0."),
        (_place(np.diagonal(maps, 0, axis1=-2, axis2=-1).mean(axis=-1)),
         "Your head looks at its own word, which its vector already holds."),
        (_place(maps[..., 1:, 0].mean(axis=-1)),
         "Your head looks at the first token, which tells it little about what to copy."),
        (_place(_before(maps))[::-1], "Give the layer first, then the head's number."),
        ([n + 1 for n in _place(_before(maps))], "You counted from 1. Count both from 0."),
        ([last, 0], "You name the same head whatever the maps show."),
        ([0, 0], "You name the same head whatever the maps show."),
        (_place(maps.max(axis=-1).mean(axis=-1)),
         "You picked the sharpest head. Sharp doesn't mean needed. What does it look at, and does "
         "another head do the same?"),
        (_place(-copying),
         "You picked the head that copies least, and the model loses nothing without it."),
        (_place(_stripe(maps, (maps.shape[-1] - 1) // 2)),
         "You assume that the block is half of the row. The row may repeat it more often, so read "
         "the distance off the maps."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The sharpest look at the word before, in any layer but the last."""
    return np.array(_place(_before(inputs["maps"])[:-1]))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say whether there is such a head, and what the model does without it."""
    n_layers, n_heads = inputs["maps"].shape[:2]
    layer, head = outputs["head"].tolist()
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        return f"There's no head {head} in layer {layer}: {n_layers} layers of {n_heads} heads."
    return (
        f"Without head {head} of layer {layer} the model keeps copying. Follow one copied word "
        "back. Which two looks does it take?"
    )


EXERCISE = Exercise(
    id="breaking_head",
    page="model",
    title="Which head breaks it",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Switched off, one by one",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Induction takes two looks, one after the other, in two layers. Which of the two is done "
        "by several heads, and which by one?",
        "The first look must be done before the second begins, so it can't be in the last layer. "
        "Score the heads below it by how much weight they put on the word before.",
    ),
    common_errors=(
        "Taking the head whose map shows the copying most clearly: others do the same.",
        "Taking a previous-token head of the last layer, whose result no head reads.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
