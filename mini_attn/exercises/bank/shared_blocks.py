"""Find the bug: blocks that are looked up by a part of what they hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
`texts` is an integer array `(n_texts, seq)`: texts that were run, each in full blocks of its own.
Block `i` of text `n` has the number `n * (seq // block_size) + i`. For each full block of `prompt`
`(prompt_len,)`, this function should return the number of the block that it can share, or −1: an
integer array `(prompt_len // block_size,)`. Of several equal blocks the one with the lowest number
counts, and at least one token of the prompt has to be left to run. It was written for tests with a
small vocabulary. Find out what is wrong, and repair it.
"""
STARTER = '''
def shared_blocks(prompt, texts, block_size):
    """Number of the known block for each full block of a prompt, -1 for none."""

    def keys(tokens):
        found, key = [], 0
        for i in range(0, len(tokens) - block_size + 1, block_size):
            part = bytes(int(token) & 0xFF for token in tokens[i : i + block_size])
            key = hash((key, part))
            found.append(key)
        return found

    known = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(keys(text)):
            known.setdefault(key, n * (len(text) // block_size) + i)
    return np.array([known.get(key, -1) for key in keys(prompt)], dtype=int)
'''

Array = np.ndarray


def _case(prompt: list[int], texts: list[list[int]], block_size: int) -> Inputs:
    return {"prompt": np.array(prompt), "texts": np.array(texts), "block_size": block_size}


def _drawn(rng: np.random.Generator, size: int, blocks: int, words: int) -> Inputs:
    """Texts of few words, and a prompt that follows one of them for a while."""
    texts = rng.integers(0, words, (4, blocks * size))
    texts[1:, :size] = texts[0, :size]
    texts[3, size : 2 * size] = texts[1, size : 2 * size]
    prompt = np.concatenate([texts[3, : 2 * size], rng.integers(0, words, 2 * size + 1)])
    return {"prompt": prompt, "texts": texts, "block_size": size}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: blocks of two. The property: tokens of a large vocabulary, and other beginnings."""
    known = [[5, 6, 7, 8], [9, 6, 1, 2]]
    far = [[300, 44, 7, 8, 70_000, 9], [44, 300, 7, 8, 5, 6]]
    drawn = [_drawn(rng, *sizes) for sizes in ((3, 3, 40), (2, 4, 7), (2, 3, 5), (3, 2, 300))]
    whole = drawn[3] | {"prompt": drawn[3]["texts"][2]}  # known to its last token
    large = [[44, 300, 7, 8, 5, 262, 1], [300, 44, 7, 8, 4464, 9, 0], [556, 44, 7, 8, 1]]
    small = [[5, 6, 1, 2, 4], [9, 6, 1, 5, 4], [1, 1, 7, 8, 4]]
    short = [_case(prompt, known, 2) for prompt in ([5, 6, 7, 8], [5, 6], [5])]
    return {
        "by hand": [_case([5, 6, 7, 8, 3], known, 2)],
        "random": drawn[:2],
        "property": [*(_case(prompt, far, 2) for prompt in large), drawn[2],
                     *(_case(prompt, known, 2) for prompt in small)],
        "edges": [*short, _case([1, 1, 1, 1, 1], [[1, 1, 1, 1], [1, 1, 1, 1]], 2), whole],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each full block of the prompt."""
    return {"blocks": ((len(inputs["prompt"]) // inputs["block_size"],), "i")}


def _keys(tokens: list[int], size: int, *, chained: bool, mask: int, last: bool) -> list[Any]:
    """What each full block is looked up by."""
    cut = [token & mask for token in tokens]
    parts = [tuple(cut[i : i + size][: size - last]) for i in range(0, len(cut) - size + 1, size)]
    return [tuple(parts[: i + 1]) if chained else parts[i] for i in range(len(parts))]


def _found(
    inputs: Inputs,
    *,
    chained: bool = True,
    gaps: bool = False,
    mask: int = -1,
    last: bool = False,
    left: int = 1,
    lowest: bool = True,
    numbers: str = "of all",
) -> Array:
    """The blocks that are found, or what they become by another choice."""
    size, texts = inputs["block_size"], inputs["texts"].tolist()
    options: dict[str, Any] = {"chained": chained, "mask": mask, "last": last}
    known: dict[Any, int] = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(_keys(text, size, **options)):
            number = {"of all": n * (len(text) // size) + i, "of its text": i, "texts": n}[numbers]
            if not (lowest and key in known):
                known[key] = number
    prompt = inputs["prompt"].tolist()
    blocks = [known.get(key, -1) for key in _keys(prompt, size, **options)]
    for i, block in enumerate(blocks):
        missed = not gaps and i > 0 and blocks[i - 1] < 0
        if block >= 0 and (missed or (i + 1) * size > len(prompt) - left):
            blocks[i] = -1
    return np.array(blocks, int)


def slips(inputs: Inputs) -> Slips:
    """What would be found with one idea missing, or two."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"mask": 0xFF},
         "Tokens that differ by 256 are taken for the same: a token is cut to eight bits before "
         "it is compared."),
        ({"left": 0},
         "Nothing is left to run: where the whole prompt is known, its last block is not shared, "
         "because the logits of its last token are wanted."),
        ({"chained": False},
         "A block is looked up by its own tokens alone. What its keys and values hold depends on "
         "all tokens before it."),
        ({"chained": False, "gaps": True},
         "A block is found by its own tokens wherever it stands, even behind one that is not "
         "known. Its keys and values depend on all tokens before it."),
        ({"mask": 0xFFFF},
         "Tokens that differ by 65,536 are taken for the same: 16 bits are too few for a large "
         "vocabulary."),
        ({"last": True}, "The last token of each block is not looked at."),
        ({"lowest": False}, "Of several equal blocks the one with the lowest number counts."),
        ({"left": 2}, "One token left to run is enough: a block may end right before the last."),
        ({"numbers": "of its text"},
         "Those are the numbers of the blocks within their texts: each text has blocks of its "
         "own."),
        ({"numbers": "texts"}, "Those are the numbers of the texts. Which block of the text?"),
    ]  # fmt: skip
    return with_pairs(partial(_found, inputs), mistakes)


def right(inputs: Inputs) -> Array:
    """The longest known prefix that leaves a token to run."""
    return _found(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first block that is wrong."""
    wanted = right(inputs)
    i = int(np.flatnonzero(outputs["blocks"] != wanted)[0])
    if wanted[i] < 0:
        return f"Block {i} of the prompt must not share one: no known block fits, or none is left."
    return f"Block {i} of the prompt could share block {wanted[i]}."


EXERCISE = Exercise(
    id="shared_blocks",
    page="paged",
    title="A hit that is none",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="What goes wrong",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Look at the key of one block alone. Which other tokens get the same?",
        "What the key is made of must tell any two tokens of the vocabulary apart; comparing the "
        "tokens themselves is always right. Then think of a prompt that is known to its last "
        "token. A server shipped this very line: "
        "https://github.com/waybarrios/vllm-mlx/pull/444.",
    ),
    common_errors=(
        "More bits, but not enough: vocabularies have more than 65,536 tokens.",
        "Repairing the tokens and dropping the key of the block before.",
        "Sharing the last block of a prompt that is known as a whole.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
