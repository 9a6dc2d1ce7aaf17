"""Byte pairs: text to ids and back, for readers of the first text.

A token is a few bytes. Learning merges the neighbors that a text has most often,
again and again; encoding repeats those merges in their order. No checks, no tuning,
no class.
"""

import re
from collections import Counter
from itertools import pairwise

# ---- The first 256 tokens ----

# GPT-2 counts bytes first that print as one character, so that "," is token 11.
SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = [*SHOWN, *(byte for byte in range(256) if byte not in SHOWN)]

# ---- Pieces: no token reaches from one into the next ----

PIECE = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")


def pieces(text):
    """Cut a text into words with the space before them, marks, and other space."""
    return PIECE.findall(text)


def as_bytes(piece):
    """The bytes of a piece, each a token of its own."""
    return [bytes([byte]) for byte in piece.encode()]


# ---- Merging ----


def merge(tokens, pair):
    """Make one token of each such pair, from left to right: aaa becomes aa a."""
    merged, at = [], 0
    while at < len(tokens):
        found = tuple(tokens[at : at + 2]) == pair
        merged.append(pair[0] + pair[1] if found else tokens[at])
        at += 2 if found else 1
    return merged


# ---- Learning: what is merged, in which order ----


def learn(text, count):
    """Merge the most frequent pair, count times; of equals, the lowest ids."""
    words = [as_bytes(piece) for piece in pieces(text)]
    merges: list[tuple[bytes, bytes]] = []
    for _ in range(count):
        pairs = Counter(pair for word in words for pair in pairwise(word))
        if not pairs:
            break  # every piece is one token
        ids = ids_of(merges)
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]))
        words = [merge(word, best) for word in words]
        merges.append(best)
    return merges


def vocabulary(merges):
    """Every token at the place of its id: the bytes, then what each merge makes."""
    return [bytes([byte]) for byte in BYTES] + [one + two for one, two in merges]


def ids_of(merges):
    """The id of each token."""
    return {token: at for at, token in enumerate(vocabulary(merges))}


# ---- Encoding: the lowest rank first ----


def merged(piece, merges):
    """The tokens of a piece, when no two neighbors are in the list any more."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokens = as_bytes(piece)
    while pairs := [pair for pair in pairwise(tokens) if pair in ranks]:
        tokens = merge(tokens, min(pairs, key=lambda pair: ranks[pair]))
    return tokens


def encode(text, merges):
    """Ids of the tokens of each piece."""
    ids = ids_of(merges)
    return [ids[token] for piece in pieces(text) for token in merged(piece, merges)]


# ---- Decoding: bytes side by side ----


def decode(ids, merges):
    """The text of the tokens' bytes; what is no text yet becomes U+FFFD."""
    tokens = vocabulary(merges)
    return b"".join(tokens[at] for at in ids).decode(errors="replace")
