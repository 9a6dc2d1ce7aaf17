"""Find the bug: merges in the order of the text instead of the order in which they were learned."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
`ids` `(n,)` holds the bytes of a word, and `merges` `(m, 2)` the pairs of tokens that were merged
while a vocabulary was learned, in this order: row `k` made token `256 + k`, and no pair is there
twice. Here a byte's number is its value, not its place in GPT-2's order. This function encodes the
word and returns its tokens `(n,)`, filled up with -1. Decoding them gives the word back, for every
word that was tried. But with a published vocabulary, more than half of all words get other tokens
than the model was trained with. Repair the function.
"""
STARTER = '''
def lowest_rank(ids, merges):
    """Tokens of a word, filled up with -1 (n,)."""
    made = {(a, b): 256 + k for k, (a, b) in enumerate(merges.tolist())}
    tokens, i = ids.tolist(), 0
    while i < len(tokens) - 1:
        pair = (tokens[i], tokens[i + 1])
        if pair in made:
            tokens[i : i + 2] = [made[pair]]
            i = max(i - 1, 0)
        else:
            i += 1
    return np.array(tokens + [-1] * (len(ids) - len(tokens)))
'''

Array = np.ndarray
A, B, X, Y = 97, 98, 99, 100


def _case(word: list[int], merges: list[tuple[int, int]]) -> Inputs:
    return {"ids": np.array(word), "merges": np.array(merges).reshape(-1, 2)}


def _drawn(rng: np.random.Generator, n: int, m: int, kinds: int) -> Inputs:
    """A word of few letters, and merges that were learned, in any order, from one like it."""
    word, text = (rng.integers(97, 97 + kinds, size).tolist() for size in (n, 4 * m))
    merges: list[tuple[int, int]] = []
    for at in rng.random(m):
        pair = tuple(text[int(at * (len(text) - 1)) :][:2])
        if len(pair) == 2 and pair not in merges:
            merges.append(pair)
            text = _merged(text, pair, 255 + len(merges))
    return _case(word, merges)


def _merged(tokens: list[int], pair: tuple[int, ...], new: int) -> list[int]:
    """Every pair as one token."""
    out: list[int] = []
    at = 0
    while at < len(tokens):
        is_pair = tuple(tokens[at : at + 2]) == pair
        out.append(new if is_pair else tokens[at])
        at += 2 if is_pair else 1
    return out


def _tokens(
    inputs: Inputs, *, by: str = "rank", leftmost: bool = True, least: int = 0, stop: str = "never"
) -> list[int]:
    """Merge one pair after the other, by a rule."""
    pairs = np.asarray(inputs["merges"]).reshape(-1, 2).tolist()
    ranks = {(a, b): k for k, (a, b) in enumerate(pairs)}
    tokens, done = inputs["ids"].tolist(), 0
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(pairwise(tokens))
                 if ranks.get(pair, -1) >= least]  # fmt: skip
        if not found or (stop == "once" and done):
            return tokens
        if by == "place":  # the last of the word, whatever its rank
            rank, at = found[-1]
        else:
            rank = {"rank": min, "late": max}[by](found)[0]
            places = [i for k, i in found if k == rank]
            at = places[0] if leftmost else places[-1]
        tokens[at : at + 2] = [256 + rank]
        done += 1


def _looked_once(inputs: Inputs) -> list[int]:
    """Merge the pairs that the word has at first, in their order, and none that merges make."""
    tokens = inputs["ids"].tolist()
    at_first = set(pairwise(tokens))
    for k, (a, b) in enumerate(inputs["merges"].tolist()):
        if (a, b) in at_first:
            tokens = _merged(tokens, (a, b), 256 + k)
    return tokens


def _walked(inputs: Inputs, *, back: bool) -> list[int]:
    """The first pair of the text that can be merged, again and again."""
    pairs = {(a, b): 256 + k for k, (a, b) in enumerate(inputs["merges"].tolist())}
    tokens, i = inputs["ids"].tolist(), 0
    while i < len(tokens) - 1:
        new = pairs.get((tokens[i], tokens[i + 1]))
        if new is None:
            i += 1
        else:
            tokens[i : i + 2] = [new]
            i = max(i - 1, 0) if back else i
    return tokens


def _longest(inputs: Inputs, *, fewest: bool = False) -> list[int]:
    """The longest token that fits, from left to right; or as few tokens as possible."""
    texts: dict[int, tuple[int, ...]] = {}
    for k, (a, b) in enumerate(inputs["merges"].tolist()):
        texts[256 + k] = texts.get(a, (a,)) + texts.get(b, (b,))
    ids = {text: id for id, text in reversed(texts.items())}
    word = tuple(inputs["ids"].tolist())
    if fewest:
        best: list[list[int]] = [[]]
        for end in range(1, len(word) + 1):
            ways = [[*best[i], ids.get(word[i:end], word[i])] for i in range(end)
                    if end - i == 1 or word[i:end] in ids]  # fmt: skip
            best.append(min(ways, key=len))
        return best[-1]
    tokens, at = [], 0
    while at < len(word):
        end = next((e for e in range(len(word), at + 1, -1) if word[at:e] in ids), at + 1)
        tokens.append(ids.get(word[at:end], word[at]))
        at = end
    return tokens


def cases(rng: np.random.Generator) -> Cases:
    """By hand: either pair comes first, a long token that merges don't reach, a pair of tokens."""
    by_hand = [
        _case([A, B, X], [(B, X), (A, B)]),
        _case([A, B, X, Y], [(A, B), (B, X), (A, 257), (X, Y)]),
        _case([A, A, A, B], [(A, A), (A, B)]),
        _case([A, B, X], [(A, B), (B, X)]),
        _case([A, B, A, B, X], [(A, B), (256, X)]),
    ]
    return {
        "by hand": by_hand,
        "random": [_drawn(rng, 14, 8, 2), _drawn(rng, 20, 12, 3), _drawn(rng, 25, 12, 3)],
        "property": [_drawn(rng, 24, 14, 2), _drawn(rng, 40, 20, 3), _drawn(rng, 30, 16, 3)],
        "edges": [
            _case([A], [(A, A)]),
            _case([A] * 7, [(A, A), (256, 256)]),
            _case([B, A], []),
            _drawn(rng, 60, 20, 2),
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many as there are bytes."""
    return {"tokens": (inputs["ids"].shape, "i")}


def _filled(inputs: Inputs, tokens: list[int], mark: int = -1) -> Array:
    n = len(inputs["ids"])
    return np.array([*tokens, *[mark] * (n - len(tokens))], dtype=np.int64)


def right(inputs: Inputs) -> Array:
    """Always the pair that was learned first, and of equal ones the leftmost."""
    return _filled(inputs, _tokens(inputs))


def slips(inputs: Inputs) -> Slips:
    """Other rules for which pair comes next."""
    right_tokens = _tokens(inputs)
    made = partial(_filled, inputs)
    return [
        (made(_walked(inputs, back=True)), "You merge the first pair of the *word* that can be "
         "merged. The first one that was *learned* comes first, wherever it is."),
        (made(_walked(inputs, back=False)), "You walk through the word once and merge what you "
         "find. The pair that was learned first comes first, wherever it is."),
        (made(_longest(inputs)), "You take the longest token that fits. The vocabulary has "
         "tokens that the merges of this word never reach."),
        (made(_longest(inputs, fewest=True)), "You look for as few tokens as possible. Encoding "
         "replays the merges, even where that takes more tokens."),
        (made(_tokens(inputs, by="place")), "You merge the last pair of the word that can be "
         "merged. The rank decides, not the place in the word."),
        (made(_looked_once(inputs)), "You look up the ranks of the word's first pairs only. Each "
         "merge makes new pairs, so look at all of them again."),
        (made(_tokens(inputs, leftmost=False)), "Of equal pairs you merge the rightmost. Learning "
         "walked from left to right."),
        (made(_tokens(inputs, by="late")), "You merge the pair that was learned last. Later "
         "merges were learned on what the earlier ones had made."),
        (made(_tokens(inputs, stop="once")), "You merge one pair and stop. Continue until no pair "
         "can be merged."),
        (made(_tokens(inputs, least=1)), "You never use the first merge. Its rank is 0, which "
         "counts as False in a condition."),
        (np.where(made(right_tokens) >= 256, made(right_tokens) - 256, made(right_tokens)),
         "You return ranks. Merge k made token 256 + k."),
        (made(right_tokens, 0), "Fill up with -1. The number 0 is a byte."),
        (inputs["ids"], "Nothing was merged."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="lowest_rank",
    page="tokens",
    title="The right text and the wrong tokens",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Encoding: the lowest rank first",
    complaint=Complaint(
        "tokens",
        "The text comes back right, but the model was trained on other tokens for half the words.",
        "[fastllm, pull request 715](https://github.com/ztxz16/fastllm/pull/715): merges were "
        "applied from left to right, and with seven published vocabularies, 55 to 62% of 40,014 "
        "words got other tokens than they should.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take the word “abc”, and merges that were learned in this order: b with c, then a with b. "
        "Which tokens did this word have when learning was done?",
        "Before each merge, look at all pairs of the word, and merge the one with the lowest rank.",
    ),
    common_errors=(
        "Taking the longest token that fits.",
        "Merging whatever comes first in the word.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Some tokens differ. Replay the merges by hand: after each one, which of the pairs that "
        "are there now was learned first?"
    ),
)
