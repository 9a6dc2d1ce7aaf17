"""Rows of tokens: encoding the book's own prose, beside tiktoken and tokenizers.

The package is pure Python, so each byte of a piece that it hasn't met costs a few operations of
the interpreter, which both peers, written in Rust, don't pay. What helps it is that words come
again: the ids of a short piece are kept.
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.machine import side_by_side
from mini_attn.tokens import BYTE_ORDER, PATTERNS, BytePairs, learn_merges
from tools import ROOT


def prose() -> str:
    """Return what the book says: its pages, and the words between the cells of its chapters."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "book").glob("*.md"))]
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        pages += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return "\n\n".join(pages)


def encoding(text: str | None = None, *, count: int = 8000, repeats: int = 3) -> dict[str, Any]:
    """Seconds per MB of text, by a new tokenizer and by one that has met its words."""
    import tiktoken
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    text = prose() if text is None else text
    pattern, merges = PATTERNS["cl100k"], learn_merges(text, count, pattern="cl100k")
    ids = {bytes([byte]): at for at, byte in enumerate(BYTE_ORDER)}
    for left, right in merges:
        ids.setdefault(left + right, len(ids))
    ours = BytePairs(ids, pattern="cl100k")
    theirs = tiktoken.Encoding(
        "ours", pat_str=pattern, mergeable_ranks=ids, special_tokens={}, explicit_n_vocab=len(ids)
    )
    written = {token: characters(token) for token in ids}
    model = models.BPE(
        {written[token]: at for token, at in ids.items()},
        [(written[left], written[right]) for left, right in merges],
        ignore_merges=True,
    )
    other = Tokenizer(model)
    other.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )  # fmt: skip
    if not ours.encode(text) == theirs.encode_ordinary(text) == other.encode(text).ids:
        raise ValueError("the three don't give equal ids")

    def anew() -> None:
        ours._known.clear()
        ours.encode(text)

    best = side_by_side({
        "mini_attn, new": anew,
        "mini_attn, words met": lambda: ours.encode(text),
        "tiktoken": lambda: theirs.encode_ordinary(text),
        "tokenizers": lambda: other.encode(text),
        "learning": lambda: learn_merges(text, count, pattern="cl100k"),
    }, repeats=repeats)  # fmt: skip
    megabytes = len(text.encode()) / 1e6
    return {
        "sizes": f"{megabytes:.2f} MB of the book's prose, {len(merges)} merges, cl100k's pattern",
        "seconds_per_megabyte": {name: seconds / megabytes for name, seconds in best.items()},
        "tokens": len(ours.encode(text)),
        "times_slower_than_tiktoken": best["mini_attn, new"] / best["tiktoken"],
    }


def characters(token: bytes) -> str:
    """Write a token's bytes as GPT-2's files do."""
    from mini_attn.tokens._alphabet import CHARACTERS

    places = dict(zip(BYTE_ORDER, CHARACTERS, strict=True))
    return "".join(places[byte] for byte in token)


def long_word(length: int = 11_000, *, repeats: int = 3) -> dict[str, Any]:
    """Seconds for one word without a cut, and for one of half its length."""
    ours = BytePairs.from_merges(learn_merges("abcab" * 2000 + prose()[:20_000], 500))
    word = ("abcab" * length)[:length]
    best = side_by_side(
        {"whole": lambda: ours.encode(word), "half": lambda: ours.encode(word[: length // 2])},
        repeats=repeats,
    )
    return {
        "sizes": f"one word of {length} letters, 500 merges",
        "milliseconds": 1e3 * best["whole"],
        "times_of_half_the_word": best["whole"] / best["half"],
        "goals": {"times_of_half_the_word": ["<=", 3]},
    }
