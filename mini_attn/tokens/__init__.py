"""From text to ids and back, in plain Python.

Learn byte pairs from text, and encode with them::

    merges = learn_merges(text, 1_000)  # [(b" ", b"t"), (b"h", b"e"), …]
    tokenizer = BytePairs.from_merges(merges, pattern="gpt2", special=["<|endoftext|>"])
    ids = tokenizer.encode("attention")  # list of int
    tokenizer.decode(ids)  # "attention", with U+FFFD where bytes are no text
    tokenizer.decode_bytes(ids)  # b"attention"
    tokenizer.stream(ids)  # an iterator over text, which never gives half a character
    tokenizer.token_bytes(ids[0]), tokenizer.n_tokens  # a token's bytes; the largest id + 1
    tokenizer.merge_steps(" attention")  # [([b" ", b"a", …], None), (pieces, rank), …]

    tokenizer.special  # {"<|endoftext|>": 1256}
    tokenizer.encode("<|endoftext|>")  # ordinary text: nothing is smuggled in
    tokenizer.encode("<|endoftext|>", allowed_special=["<|endoftext|>"])  # [1256]; also "all"

``BytePairs(ranks, pattern=…, special=…)`` takes tokens as bytes with their ids, as rank files do.
The first 256 ids of `from_merges` are the bytes in GPT-2's order, `BYTE_ORDER`: "," is 11.

Read a published tokenizer: a folder or a ``tokenizer.json`` or a file of ranks::

    tokenizer = read_tokenizer("folder")    # BytePairs, CharacterPairs or Unigram
    ids = [*tokenizer.start, *tokenizer.encode(text)]   # `start`: what its template puts before

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
