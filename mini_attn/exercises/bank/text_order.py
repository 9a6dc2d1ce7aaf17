"""Write the way back from zigzag order: rows of ranks become rows of the text."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A text of `n` tokens was cut into `2 * ranks` chunks of the same length and dealt out in zigzag
order: rank `r` holds the `r`-th chunk from the front and after it the `r`-th chunk from the back,
each with its tokens in the order of the text. `parts` `(ranks, n // ranks, width)` holds one row
per token, in the order in which the ranks have them. Return `rows` `(n, width)`, in the order of
the text. Then the next layer could split them in another way.
"""
STARTER = '''
def text_order(parts):
    """Rows in the order of the text (n, width)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(rng: np.random.Generator, ranks: int, chunk: int, width: int) -> Inputs:
    return {"parts": rng.standard_normal((ranks, 2 * chunk, width))}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two ranks of two tokens. The property: any number of ranks and chunks."""
    hand = {"parts": np.array([[[0.0], [3.0]], [[1.0], [2.0]]])}
    return {
        "by hand": [hand, {"parts": np.arange(24.0).reshape(3, 4, 2)}],
        "random": [_case(rng, 4, 3, 2), _case(rng, 2, 5, 3)],
        "property": [_case(rng, 8, 2, 1), _case(rng, 5, 4, 3)],
        "edges": [_case(rng, 1, 3, 2), _case(rng, 3, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row for each token."""
    ranks, held, width = inputs["parts"].shape
    return {"rows": ((ranks * held, width), "f")}


def _halves(inputs: Inputs) -> tuple[Array, Array]:
    """The front chunks and the back chunks, (ranks, chunk, width) each."""
    front, back = np.split(inputs["parts"], 2, axis=1)
    return front, back


def _joined(inputs: Inputs, front: Array, back: Array) -> Array:
    """Two halves of the text, one after the other."""
    return np.concatenate([front, back]).reshape(-1, inputs["parts"].shape[2])


def right(inputs: Inputs) -> Array:
    """Front chunks by rank, back chunks from the last rank to the first."""
    front, back = _halves(inputs)
    return _joined(inputs, front, back[::-1])


def slips(inputs: Inputs) -> Slips:
    """The rows in another order."""
    parts, (front, back) = inputs["parts"], _halves(inputs)
    ranks, held, width = parts.shape
    rows = parts.reshape(-1, width)
    chunks = np.arange(ranks * held).reshape(2 * ranks, -1)
    held_by = np.concatenate([chunks[:ranks], chunks[: ranks - 1 : -1]], axis=1)
    shifted = np.zeros((2 * ranks, *front.shape[1:]), rows.dtype)
    shifted[:ranks], shifted[-np.arange(ranks)] = front, back
    return [
        (rows[held_by.ravel()], "You gather rows from the places where they belong. Put them "
         "there instead."),
        (shifted.reshape(-1, width), "Counted from the back, chunk -0 is the first one, so rank 0 "
         "overwrites the front. The last chunk is -1."),
        (parts.reshape(-1, width), "You put the ranks one after the other. Each rank's second "
         "half comes from the back of the text."),
        (_joined(inputs, front, back), "Your back chunks are in the order of the ranks. Rank 0 "
         "has the last chunk of the text."),
        (_joined(inputs, front, back[::-1, ::-1]), "You reversed the tokens inside the back "
         "chunks. Only the order of the chunks is mirrored."),
        (_joined(inputs, front, back[:, ::-1]), "You reversed the tokens inside the back chunks, "
         "and left the chunks as they were. It's the other way around."),
        (_joined(inputs, front[::-1], back), "You mirrored the front chunks. It's the back ones "
         "that are."),
        (_joined(inputs, front[::-1], back[::-1]), "You mirrored the front chunks too."),
        (_joined(inputs, back[::-1], front), "You begin with the back chunks."),
        (_joined(inputs, back, front), "You begin with the back chunks, and they're in the order "
         "of the ranks."),
        (parts.swapaxes(0, 1).reshape(-1, width), "You dealt out single tokens. A chunk's tokens "
         "follow each other in the text."),
        (np.stack([front, back], axis=1)[::-1].reshape(-1, width) if ranks > 1 else None,
         "You only reversed the ranks."),
        (np.stack([front, back[::-1]], axis=1).reshape(-1, width) if ranks > 1 else None,
         "Your front and back chunks take turns. All front chunks come first."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="text_order",
    page="devices",
    title="Back from zigzag",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Zigzag order",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Write down which chunks each of three ranks holds. In which order do you have to visit "
        "the ranks for the second half of the text?",
        "Cut the second axis into two halves. The first halves follow each other by rank, the "
        "second halves from the last rank to the first.",
    ),
    common_errors=(
        "Leaving the back chunks in the order of the ranks.",
        "Reversing the tokens inside a chunk too.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Some rows aren't where the text has them. Follow one token of the last chunk."
    ),
)
