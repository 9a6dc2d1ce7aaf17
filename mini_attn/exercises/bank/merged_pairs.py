"""Write one merge: each pair becomes one token, and no token is merged twice."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
`ids` `(n,)` holds the tokens of a text and `pair` `(2,)` two tokens. Walk from left to right, and
wherever the first token of `pair` is followed by the second, write the single token `new` instead
of the two. A new token can't be merged again in this walk, and `new` doesn't occur in `ids` or
`pair`. Return `merged` `(n,)`: the tokens after this one merge, and after them -1 for each
token that there was more before.
"""
STARTER = '''
def merged_pairs(ids, pair, new):
    """Tokens after one merge, filled up with -1 (n,)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(ids: list[int] | Array, pair: tuple[int, int], new: int = 256) -> Inputs:
    return {"ids": np.array(ids), "pair": np.array(pair), "new": new}


def _drawn(rng: np.random.Generator, n: int, kinds: int) -> Inputs:
    """A text of few kinds of tokens, and a pair of it."""
    a, b = rng.integers(97, 97 + kinds, 2)
    return _case(rng.integers(97, 97 + kinds, n), (int(a), int(b)), int(rng.integers(256, 900)))


def cases(rng: np.random.Generator) -> Cases:
    """By hand: pairs, runs, the other order. The property: runs of one token; edges: no pair."""
    a, b = 97, 98
    return {
        "by hand": [_case([a, b, 99, a, b], (a, b)), _case([a, a, a, b, 100, a, a, a, b], (a, a)),
                    _case([b, a, 99, a, b, b], (a, b))],
        "random": [_drawn(rng, 30, 2), _drawn(rng, 40, 3)],
        "property": [_case([a] * 9, (a, a)), _case([b, *[a] * 8, b], (a, a), 300),
                     _case([a, b, a, b, a, b, b], (a, b))],
        "edges": [_case([a], (a, a)), _case([b, a, a], (a, b)), _case([a, a], (a, a))],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many as there were."""
    return {"merged": (inputs["ids"].shape, "i")}


def _filled(tokens: list[int], n: int, mark: int = -1) -> Array:
    return np.array([*tokens, *[mark] * (n - len(tokens))][:n], dtype=np.int64)


def _walk(inputs: Inputs, *, once: bool = False, swapped: bool = False) -> list[int]:
    """Merge while walking from left to right."""
    ids, pair = inputs["ids"].tolist(), inputs["pair"].tolist()
    out: list[int] = []
    i, done = 0, False
    while i < len(ids):
        here = ids[i : i + 2]
        if (here == pair or (swapped and here == pair[::-1])) and not done:
            out.append(inputs["new"])
            i, done = i + 2, once
        else:
            out.append(ids[i])
            i += 1
    return out


def right(inputs: Inputs) -> Array:
    """Behind a merged pair, the walk goes on after both of its tokens."""
    return _filled(_walk(inputs), len(inputs["ids"]))


def slips(inputs: Inputs) -> Slips:
    """Overlapping pairs, other directions, other fillings."""
    ids, pair, new = inputs["ids"].tolist(), inputs["pair"].tolist(), inputs["new"]
    n = len(ids)
    found = [ids[i : i + 2] == pair for i in range(n)]
    each = [new if found[i] else ids[i] for i in range(n) if found[i] or not (i and found[i - 1])]
    kept = [new if found[i] else ids[i] for i in range(n)]
    mirror = {**inputs, "ids": inputs["ids"][::-1], "pair": inputs["pair"][::-1]}
    first = _walk(inputs)
    holes = [id for token in first for id in ([new, -1] if token == new else [token])]
    short = first[:-1] if first[-1] == ids[-1] else first
    gone = [token for i, token in enumerate(ids) if not (found[i] or (i and found[i - 1]))]
    return [
        (_filled(each, n), "You make a token of every pair, also of pairs that share a token. In "
         "“aaa”, the middle a can only go into one of the two."),
        (_filled(_walk(mirror)[::-1], n), "You walk from right to left. In a run of an odd number "
         "of tokens, the one that's left over is the last."),
        (_filled(kept, n), "You write the new token, but you keep the second token of the pair "
         "too."),
        (_filled(_walk(inputs, once=True), n), "You merge one pair only. All of them in the text "
         "become new tokens."),
        (_filled(_walk(inputs, swapped=True), n), "You also merge the two tokens in the other "
         "order."),
        (_filled(short, n), "The last token is lost. No pair begins there, because nothing "
         "comes after it, but it stays in the text."),
        (np.array(holes), "You leave a gap where the second token was. The tokens after a pair "
         "move up, and every -1 is at the end."),
        (_filled(gone, n), "You leave the pairs out. Each becomes the new token."),
        (_filled(first, n, 0), "Fill up with -1. The number 0 is a token."),
        (_filled(first, n, new), "Fill up with -1, not with the new token."),
        (np.append(np.full(n - len(first), -1), first), "The tokens come first, and then -1."),
        (np.array(ids), "Nothing was merged."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="merged_pairs",
    page="tokens",
    title="One merge",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Learning: merge the most frequent pair",
    text=TEXT,
    starter=STARTER,
    hints=(
        "What should become of “aaa”, if the pair is “a, a”? After the first merge, where do you "
        "continue?",
        "A `while` loop with an index: it moves on by 2 after a pair, and by 1 after anything "
        "else.",
    ),
    common_errors=(
        "Finding all pairs first, and merging those that overlap.",
        "Forgetting the last token, which has none after it.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Some tokens aren't those of the merged text. Write the case down by hand, token by token."
    ),
)
