"""From text to ids and back, in plain Python.

Learn byte pairs from text, and encode with them::

    merges = learn_merges(text, 1_000)  # [(b" ", b"t"), …]
    tokenizer = BytePairs.from_merges(
        merges, pattern="gpt2", special=["<|endoftext|>"]
    )
    ids = tokenizer.encode("attention")  # list of int
    tokenizer.decode(ids)  # text; U+FFFD where bytes are none
    tokenizer.decode_bytes(ids)  # b"attention"
    tokenizer.stream(ids)  # text in parts, never half a character
    tokenizer.token_bytes(ids[0])  # a token's bytes
    tokenizer.n_tokens  # the largest id + 1
    tokenizer.merge_steps(" attention")  # [(pieces, rank), …]

    tokenizer.special  # {"<|endoftext|>": 1256}
    tokenizer.encode("<|endoftext|>")  # text like any other
    tokenizer.encode("<|endoftext|>", allowed_special="all")  # [1256]

``BytePairs(ranks, pattern=…, special=…)`` takes tokens as bytes with their ids, as rank files do.
The first 256 ids of `from_merges` are the bytes in GPT-2's order, `BYTE_ORDER`: "," is 11.

Read a published tokenizer: a folder or a ``tokenizer.json`` or a file of ranks::

    tokenizer = read_tokenizer("folder")
    ids = [*tokenizer.start, *tokenizer.encode(text)]

It's `BytePairs`, `CharacterPairs` or `Unigram`; ``start`` is what its template puts before.

Chat templates are left out: they are programs, and each model has its own.
"""

from mini_attn.tokens.byte_pairs import BytePairs
from mini_attn.tokens.character_pairs import CharacterPairs
from mini_attn.tokens.learning import BYTE_ORDER, learn_merges
from mini_attn.tokens.patterns import PATTERNS, cut
from mini_attn.tokens.reading import read_tokenizer
from mini_attn.tokens.tokenizer import Tokenizer
from mini_attn.tokens.unigram import Unigram

__all__ = [
    "BYTE_ORDER",
    "PATTERNS",
    "BytePairs",
    "CharacterPairs",
    "Tokenizer",
    "Unigram",
    "cut",
    "learn_merges",
    "read_tokenizer",
]
