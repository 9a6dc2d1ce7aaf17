"""Write wider heads that compute the same: with zeros, and a factor for the scale."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
A fast kernel only takes heads of dimension `width`, and the heads of your layer are smaller. The
kernel divides every dot product by the root of `width`. Return four matrices `W_q, W_k, W_v, W_o`
of a layer with `n_heads` heads of dimension `width`. In this kernel, it should give the same output
for every input as the old layer. The given matrices are as in exercise 1. Put zeros after a head's
own numbers, and if numbers have to change, change only those of `W_q`.
"""
STARTER = '''
def pad_heads(W_q, W_k, W_v, W_o, n_heads, width):
    """The same layer's matrices with heads of dimension `width`."""
    raise NotImplementedError
'''
NAMES = ("W_q", "W_k", "W_v", "W_o")


def _case(rng: np.random.Generator, d_model: int, n_heads: int, size: int, width: int) -> Inputs:
    W_q, W_k, W_v = rng.standard_normal((3, d_model, n_heads * size))
    W_o = rng.standard_normal((n_heads * size, d_model))
    return dict(zip(NAMES, (W_q, W_k, W_v, W_o), strict=True), n_heads=n_heads, width=width)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two heads of 1 become heads of 4. The property: the root is no whole number."""
    row = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    by_hand = {"W_q": row, "W_k": row + 10, "W_v": row + 20, "W_o": row.T + 30,
               "n_heads": 2, "width": 4}  # fmt: skip
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 6, 3, 2, 8), _case(rng, 8, 2, 3, 12)],
        "property": [_case(rng, 6, 4, 2, 3), _case(rng, 5, 3, 4, 5)],
        "edges": [_case(rng, 4, 2, 3, 3), _case(rng, 3, 1, 2, 6), _case(rng, 4, 4, 1, 2)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Four matrices, as wide as the heads now are."""
    d_model, wide = len(inputs["W_q"]), inputs["n_heads"] * inputs["width"]
    return {**dict.fromkeys(NAMES[:3], ((d_model, wide), "f")), "W_o": ((wide, d_model), "f")}


def _padded(matrix: np.ndarray, n_heads: int, width: int, where: str) -> np.ndarray:
    """Columns of the heads with zeros: behind each head, or somewhere else."""
    size = matrix.shape[1] // n_heads
    if where == "behind all":
        return np.pad(matrix, ((0, 0), (0, n_heads * (width - size))))
    if where == "dealt out":
        heads = matrix.reshape(-1, size, n_heads)
        return np.pad(heads, ((0, 0), (0, width - size), (0, 0))).reshape(-1, n_heads * width)
    heads = matrix.reshape(-1, n_heads, size)
    more = {"behind": (0, width - size), "before": (width - size, 0)}[where]
    return np.pad(heads, ((0, 0), (0, 0), more)).reshape(-1, n_heads * width)


def _matrices(
    inputs: Inputs, *, where: str = "behind", power: float = 0.5, scaled: str = "W_q"
) -> dict[str, np.ndarray]:
    """All four, with the old factor on the scores or another one, made up for here or there."""
    n_heads, width = inputs["n_heads"], inputs["width"]
    ratio = width * n_heads / inputs["W_q"].shape[1]
    made = {n: _padded(inputs[n], n_heads, width, where) for n in NAMES[:3]}
    made["W_o"] = _padded(inputs["W_o"].T, n_heads, width, where).T
    for name in scaled.split():
        made[name] = made[name] * ratio ** (power / len(scaled.split()))
    return made


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """Zeros behind each head, and the queries larger by the root of the ratio."""
    return _matrices(inputs)


PLACES = (
    "A head owns `width` columns next to each other, and as many rows in W_o: its own numbers "
    "first, then zeros."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"power": 0.0},
     "Your scores are too small. Zeros add nothing to a dot product, but the kernel divides it "
     "by a larger root than before."),
    ({"power": 1.0}, "Your W_q is too large. The scale uses roots of the sizes, not the sizes."),
    ({"power": -0.5}, "You made W_q smaller. The kernel already divides by more than before."),
    ({"power": -1.0}, "You made W_q smaller. The kernel already divides by more than before."),
    ({"where": "behind all"}, f"You put all zeros at the end. {PLACES}"),
    ({"where": "before"}, f"You put the zeros before each head's numbers. {PLACES}"),
    ({"where": "dealt out"}, f"You mixed the columns of the heads. {PLACES}"),
    ({"scaled": "W_k"}, "Your scores are right. But the factor should be in W_q alone, and you put "
     "it into W_k."),
    ({"scaled": "W_q W_k"}, "Your scores are right. But the factor should be in W_q alone, and "
     "W_k has a part of it."),
    ({"scaled": "W_v"}, "You changed W_v, but it's the scores that are "
     "too small."),
    ({"scaled": "W_o"}, "You changed W_o, but it's the scores that are "
     "too small."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the matrices would be with one idea missing, or two; then in one matrix."""
    found = [
        (_matrices(inputs, power=1.0, scaled="W_q W_k"),
         "You put the whole factor into W_q and W_k, so the scores have it twice."),
        *with_pairs(partial(_matrices, inputs), MISTAKES),
    ]  # fmt: skip
    own, padded = inputs["W_q"].shape[1] // inputs["n_heads"], _matrices(inputs, power=0.0)
    for factor, idea in (
        (inputs["width"] ** 0.5, "The old layer divided by the root of its own head_dim. Make up "
         "only for the ratio of the two roots."),
        (own**-0.5, "You divided W_q by the old root. The kernel already divides, and by more."),
        (inputs["width"] / own * own**0.5, "Your W_q is too large. The change is one root over the "
         "other."),
        (inputs["n_heads"] ** 0.5, "You used the number of heads. The scale uses the root of the "
         "dimension of one head."),
        (float(inputs["width"] - own), "You used the difference of the sizes. The scale is a "
         "division, so use a ratio."),
    ):  # fmt: skip
        found.append(({"W_q": padded["W_q"] * factor}, idea))
    for name, other in permutations(NAMES[:3], 2):
        swapped = padded[other] if other != "W_q" else right(inputs)["W_q"]
        found.append(
            ({name: swapped}, f"Your {name} holds columns of {other}. Each keeps its own.")
        )
    found.append(({"W_o": 0 * padded["W_o"]}, "Your W_o is zero, and so is the output."))
    for name in NAMES:
        for where in ("behind all", "before", "dealt out"):
            idea = f"In {name} the zeros are in the wrong place. {PLACES}"
            found.append(({name: _matrices(inputs, where=where)[name]}, idea))
    return found


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first matrix that is not what it should be."""
    wanted = right(inputs)
    name = next(n for n in outputs if not np.allclose(outputs[n], wanted[n], atol=1e-6))
    return f"{name} is the first matrix that isn't right."


EXERCISE = Exercise(
    id="pad_heads",
    page="multihead",
    title="Heads for a kernel that wants more",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="From one head to many",
    text=TEXT,
    standalone=(
        "The given matrices are as in exercise 1.",
        "`W_q`, `W_k`, `W_v` are `(d_model, n_heads * head_dim)` and `W_o` is `(n_heads * "
        "head_dim, d_model)`, as in multi-head attention.",
    ),
    starter=STARTER,
    hints=(
        "What do zeros change in a dot product, and what does a larger head change in the scale?",
        "Reshape W_q, W_k and W_v to (d_model, n_heads, head_dim), put zeros behind the last axis, "
        "and reshape back. Do the same with the rows of W_o. The kernel divides by √width and the "
        "layer divided by √head_dim, so make up for the difference in W_q.",
    ),
    common_errors=(
        "You pad at the end of the matrix. Then all heads but the first own other columns.",
        "You forget that the scale depends on the dimension of a head.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
