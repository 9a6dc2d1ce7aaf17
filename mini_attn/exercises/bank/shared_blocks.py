"""Find the bug: blocks that are looked up by a part of what they hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
`texts` is an integer array `(n_texts, seq)` of sequences that were run, each in its own full
blocks. Block `i` of text `n` has the number `n * (seq // block_size) + i`. For each full block of
`prompt` `(prompt_len,)`, this function should return the number of the block that it can share, or
−1: an integer array `(prompt_len // block_size,)`. It can share a block of a text if all tokens up
to the end of the block are the same in both. If there are several such blocks, return the lowest
number. At least one token of the prompt has to be left to run. Tokens are integers from 0 on, and
there may be hundreds of thousands of them. The function was written for tests with a small
vocabulary, and more than one thing is wrong with it. Repair it so that no tokens can lead to a
false hit.
"""
STARTER = '''
def shared_blocks(prompt, texts, block_size):
    """Return the cached block of each full block, -1 for none."""

    def keys(tokens):
        found, key = [], 0
        for i in range(0, len(tokens) - block_size + 1, block_size):
            block = tokens[i : i + block_size]
            part = bytes(int(token) & 0xFF for token in block)
            key = hash((key, part))
            found.append(key)
        return found

    known = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(keys(text)):
            known.setdefault(key, n * (len(text) // block_size) + i)
    found = [known.get(key, -1) for key in keys(prompt)]
    return np.array(found, dtype=int)
'''

Array = np.ndarray


def _case(prompt: list[int], texts: list[list[int]], block_size: int) -> Inputs:
    return {"prompt": np.array(prompt), "texts": np.array(texts), "block_size": block_size}


# Blocks of different tokens for which Python's hash of a tuple is the same, alone and behind a 0,
# where its numbers have 64 bits, and where they have 32, as in a browser.
TWINS = (
    ([11_542, 22_903, 21_667, 74_808], [23_454, 48_381, 42_916, 1]),
    ([32_211, 27_917, 8_323, 31_157], [21_461, 43_060, 16_997, 1]),
    ([5, 41, 2_094], [0, 308, 1]),
    ([7, 18, 2_094], [2, 285, 1]),
)


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
    twins = [_case([*one, 3], [other, one[::-1]], len(one)) for one, other in TWINS]
    short = [_case(prompt, known, 2) for prompt in ([5, 6, 7, 8], [5, 6], [5])]
    return {
        "by hand": [_case([5, 6, 7, 8, 3], known, 2),
                    _case([5, 6, 1, 2, 4], [[5, 6, 7, 8], [5, 6, 1, 2]], 2)],
        "random": drawn[:2],
        "property": [*(_case(prompt, far, 2) for prompt in large), drawn[2],
                     *(_case(prompt, known, 2) for prompt in small), *twins,
                     _case([5, 6, 1, 2, 3, 4, 9], [[5, 6, 1, 2, 8, 8], [7, 7, 1, 2, 3, 4]], 2),
                     _case([1, 23, 5, 6, 7], [[12, 3, 5, 6], [4, 37, 1, 1]], 2),
                     _case([5, 6, 1, 1, 7], [[12, 3, 5, 6], [4, 37, 1, 1]], 2)],
        "edges": [*short, _case([1, 1, 1, 1, 1], [[1, 1, 1, 1], [1, 1, 1, 1]], 2), whole],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each full block of the prompt."""
    return {"blocks": ((len(inputs["prompt"]) // inputs["block_size"],), "i")}


Part = tuple[int, ...]


def _parts(tokens: list[int], size: int, *, mask: int, last: bool) -> list[Part]:
    """The tokens of each full block, or what is looked at of them."""
    cut = [token & mask for token in tokens]
    return [tuple(cut[i : i + size][: size - last]) for i in range(0, len(cut) - size + 1, size)]


NUMBERS: dict[str, Callable[[Any, Part, list[Part]], Any]] = {
    "all": lambda key, part, parts: tuple(parts),
    "own": lambda key, part, parts: part,
    "sum": lambda key, part, parts: key + sum(part),
    "sums": lambda key, part, parts: (key, sum(part)),
    "two": lambda key, part, parts: tuple(parts[-2:]),
    "sorted": lambda key, part, parts: (key, tuple(sorted(part))),
    "digits": lambda key, part, parts: "".join(map(str, chain(*parts))),
    "hash": lambda key, part, parts: hash((key, part)),
    "hash of numbers": lambda key, part, parts: hash((key, *part)),
    "hash of the prefix": lambda key, part, parts: hash(tuple(chain(*parts))),
}


def _keys(parts: list[Part], by: str) -> list[Any]:
    """Return what each full block is looked up by."""
    keys: list[Any] = [0]
    for i, part in enumerate(parts):
        keys.append(NUMBERS[by](keys[-1], part, parts[: i + 1]))
    return keys[1:]


def _found(
    inputs: Inputs,
    *,
    by: str = "all",
    compared: str = "",
    gaps: bool = False,
    mask: int = -1,
    last: bool = False,
    left: int = 1,
    lowest: bool = True,
    numbers: str = "of all",
) -> Array:
    """The blocks that are found, or what they become by another choice."""
    size, texts, prompt = inputs["block_size"], inputs["texts"].tolist(), inputs["prompt"].tolist()
    known: dict[Any, list[tuple[int, int]]] = {}
    for n, text in enumerate(texts):
        for i, key in enumerate(_keys(_parts(text, size, mask=mask, last=last), by)):
            known.setdefault(key, []).append((n, i))
    blocks: list[int] = []
    for i, key in enumerate(_keys(_parts(prompt, size, mask=mask, last=last), by)):
        end = (i + 1) * size
        looked = {"": 0, "own": size}.get(compared, end)
        hits = [
            (n, j)
            for n, j in known.get(key, [])[: 1 if compared == "the first" else None]
            if _before(texts[n], (j + 1) * size, looked) == _before(prompt, end, looked)
        ]
        missed = not gaps and i > 0 and blocks[i - 1] < 0
        if not hits or missed or end > len(prompt) - left:
            blocks.append(-1)
            continue
        n, j = hits[0 if lowest else -1]
        per = len(texts[n]) // size
        blocks.append({"of all": n * per + j, "of its text": j, "texts": n}.get(numbers, n))
    return np.array(blocks if numbers != "of one text" else _of_one(inputs, blocks), int)


def _before(tokens: list[int], end: int, n: int) -> list[int]:
    """The last n tokens before an end."""
    return tokens[max(0, end - n) : end]


def _of_one(inputs: Inputs, blocks: list[int]) -> list[int]:
    """The same blocks, all taken from one text."""
    size, found = inputs["block_size"], sum(block >= 0 for block in blocks)
    length = min(found * size, inputs["texts"].shape[1])  # two texts can hold more than one
    same = (inputs["texts"][:, :length] == inputs["prompt"][:length]).all(-1)
    first = int(same.argmax()) * (inputs["texts"].shape[1] // size)
    return [first + i if i < found else -1 for i in range(len(blocks))]


UNCOMPARED = (
    "You find a block by Python's `hash`, and nothing is compared: blocks with other tokens can "
    "have "
    "the same hash. Only the tokens decide whether it's a hit."
)
SUM = (
    "You find a block by a sum of tokens, which other tokens can have as well: the same ones in "
    "another order, for example."
)
OWN = "Its keys and values depend on all tokens before it."


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"mask": 0xFF},
     "You take tokens that differ by 256 for the same: a token is cut to eight bits before "
     "it's compared."),
    ({"left": 0},
     "You leave nothing to run. If the whole prompt is cached, don't share its last block: we "
     "need the logits of its last token."),
    ({"by": "own"}, f"You look a block up by its own tokens alone. {OWN}"),
    ({"by": "own", "gaps": True},
     "You find a block by its own tokens wherever it is, even after one that isn't cached. "
     f"{OWN}"),
    ({"by": "two"},
     f"You look a block up by its tokens and those of the block before alone. {OWN}"),
    ({"mask": 0xFFFF},
     "You take tokens that differ by 65,536 for the same: 16 bits are too few for a large "
     "vocabulary."),
    ({"by": "hash"}, UNCOMPARED),
    ({"by": "hash of numbers"}, UNCOMPARED),
    ({"by": "hash of the prefix"}, UNCOMPARED),
    ({"by": "sum"}, SUM),
    ({"by": "sums"}, SUM),
    ({"by": "sorted"}, "You ignore the order of a block's tokens. The same tokens in another order "
     "are another text."),
    ({"by": "digits"}, "You write tokens one after the other, so you can't tell where one ends: "
     "1 and 23 look like 12 and 3."),
    ({"mask": 0xFF, "compared": "own"},
     "On a hit you compare this block's tokens alone, so those before it may differ. "
     f"{OWN}"),
    ({"mask": 0xFF, "compared": "own", "gaps": True},
     "On a hit you compare this block's tokens alone, so those before it may differ. "
     f"{OWN}"),
    ({"mask": 0xFF, "compared": "the first"},
     "You compare the tokens, but only with the first block with this hash: if that one has "
     "other tokens, a later one is never found."),
    ({"last": True}, "You ignore the last token of each block."),
    ({"lowest": False}, "You don't return the lowest number. Of several equal blocks, it counts."),
    ({"numbers": "of one text"},
     "You take all blocks from the one text that matches for longest. Its beginning may also be "
     "in an earlier text, whose number is lower."),
    ({"left": 2}, "You leave two tokens. One token left to run is enough: a block may end right "
         "before it."),
    ({"numbers": "of its text"},
     "You number the blocks within their texts. Each text has its own blocks."),
    ({"numbers": "texts"}, "You return the numbers of the texts. Which block of the text?"),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what would be found with one idea missing, or two."""
    return with_pairs(partial(_found, inputs), MISTAKES)


def right(inputs: Inputs) -> Array:
    """The longest known prefix that leaves a token to run."""
    return _found(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first block that is wrong."""
    wanted = right(inputs)
    i = int(np.flatnonzero(outputs["blocks"] != wanted)[0])
    if wanted[i] < 0:
        return f"Block {i} of the prompt must not share one: none matches, or nothing is left."
    return f"Block {i} of the prompt could share block {wanted[i]}. You missed it."


EXERCISE = Exercise(
    id="shared_blocks",
    page="paged",
    title="A false hit",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="What goes wrong",
    complaint=Complaint(
        "caches",
        "Now and then, a user gets an answer to somebody else's prompt.",
        "[vllm-mlx, pull request 444](https://github.com/waybarrios/vllm-mlx/pull/444): each "
        "token was cut to 8 bits before it was hashed.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Look at the key of a single block. Which other tokens get the same one?",
        "The key has to tell any two tokens of the vocabulary apart, and a matching hash isn't a "
        "hit yet. Then think of a prompt that's cached to its last token. A server shipped the "
        "line that makes `part`: "
        "https://github.com/waybarrios/vllm-mlx/pull/444.",
    ),
    common_errors=(
        "More bits, but not enough: vocabularies have more than 65,536 tokens.",
        "Trusting a hash: it says where to look, and only the tokens decide.",
        "Repairing the tokens and dropping the key of the block before.",
        "Sharing the last block of a prompt that's cached as a whole.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
