"""Tokenizers of the published kinds, made here: learned by `tokenizers` on the book's own prose."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, processors
from tokenizers import pre_tokenizers as cuts
from tokenizers.trainers import BpeTrainer, UnigramTrainer

from mini_attn.tokens import PATTERNS

ROOT = Path(__file__).parents[2]
SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<|im_start|>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
OTHER_SCRIPTS = "Внимание это всё. 注意就是一切。すべては注意。 주의 ध्यान ΠΡΟΣΟΧΗ 12345 éàü ſ"


@cache
def prose() -> tuple[str, ...]:
    """What the book says in Markdown, and a line of other scripts."""
    pages = sorted((ROOT / "book").glob("*.md"))
    words = [page.read_text(encoding="utf-8") for page in pages]
    return (*words, *[OTHER_SCRIPTS] * 20)


def byte_level(pattern: str | None, *, size: int = 3000, **options: Any) -> Tokenizer:
    """GPT-2's kind, or with another pattern as Llama 3 and Qwen have it."""
    made = Tokenizer(models.BPE(**options))
    if pattern is None:
        made.pre_tokenizer = cuts.ByteLevel(add_prefix_space=False)
    else:
        split = cuts.Split(Regex(PATTERNS[pattern]), "isolated")
        level = cuts.ByteLevel(add_prefix_space=False, use_regex=False)
        made.pre_tokenizer = cuts.Sequence([split, level])
    made.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=size, initial_alphabet=cuts.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(prose(), trainer)
    made.add_special_tokens(SPECIAL)
    return made


def qwen() -> Tokenizer:
    made = byte_level("qwen2")
    made.normalizer = normalizers.NFC()
    made.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
    return made


def deepseek() -> Tokenizer:
    """Three cuts in a row, the second of one script."""
    made = byte_level(None)
    words = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rest = r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    splits = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", words + rest]
    made.pre_tokenizer = cuts.Sequence(
        [cuts.Split(Regex(split), "isolated") for split in splits]
        + [cuts.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return made


def prefixed() -> Tokenizer:
    """A space before the text, digits one by one, and tokens that take white space along."""
    made = byte_level(None)
    made.pre_tokenizer = cuts.Sequence(
        [cuts.Digits(individual_digits=True), cuts.ByteLevel(add_prefix_space=True)]
    )
    made.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<r>", rstrip=True)])
    made.add_tokens([AddedToken("\n\n", special=False, normalized=True)])
    return made


def characters(*, size: int = 2000, fallback: bool = True, **options: Any) -> dict[str, Any]:
    """The vocabulary and merges of pairs of characters, with bytes, as JSON."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = cuts.Split("▁", "merged_with_next")
    special = ["<unk>", "<s>", "</s>", *(BYTES if fallback else [])]
    trainer = BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    made.train_from_iterator(prose(), trainer)
    model = json.loads(made.to_str())["model"]
    return model | {"byte_fallback": fallback, "fuse_unk": True} | options


def around(model: dict[str, Any], special: list[str], **steps: Any) -> Tokenizer:
    """A tokenizer of a model in JSON; other steps as `tokenizers` has them."""
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": model}  # fmt: skip
    made = Tokenizer.from_str(json.dumps(file))
    for name, step in steps.items():
        setattr(made, name, step)
    made.add_special_tokens(special)
    return made


def llama2() -> Tokenizer:
    made = around(
        characters(), ["<unk>", "<s>", "</s>"],
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
    )  # fmt: skip
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return made


def gemma() -> Tokenizer:
    made = around(
        characters(), ["<unk>", "<s>", "</s>"],
        normalizer=normalizers.Replace(" ", "▁"),
        pre_tokenizer=cuts.Split(" ", "merged_with_previous"),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse()]),
    )  # fmt: skip
    made.add_tokens([AddedToken("\n\n", special=False, normalized=False)])
    made.add_tokens([AddedToken("<h1>", special=False, normalized=False)])
    return made


def unknowns() -> Tokenizer:
    """Characters without bytes: what isn't known is one token, again and again."""
    return around(
        characters(fallback=False, fuse_unk=False), ["<unk>", "<s>"],
        normalizer=normalizers.Sequence([normalizers.Strip(), normalizers.NFKC(),
                                         normalizers.Replace(Regex(r"\s{2,}"), " ")]),
        pre_tokenizer=cuts.Sequence([cuts.Split(Regex("[.,!?]+"), "removed", invert=False),
                                     cuts.WhitespaceSplit(), cuts.Digits(), cuts.Metaspace()]),
        decoder=decoders.Metaspace(),
    )  # fmt: skip


def once() -> Tokenizer:
    """A space before the first piece alone, as later Llama 2 files have it."""
    return around(
        characters(), ["<unk>", "<s>", "</s>"],
        pre_tokenizer=cuts.Metaspace(prepend_scheme="first", split=False),
        decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
    )  # fmt: skip


@cache
def likely() -> list[Any]:
    """Pieces with scores, as the trainer of Unigram gives them."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = cuts.Metaspace()
    trainer = UnigramTrainer(
        vocab_size=1500, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    made.train_from_iterator(prose(), trainer)
    return json.loads(made.to_str())["model"]["vocab"]


def unigram(*, fallback: bool) -> Tokenizer:
    vocabulary = likely() + [[byte, -20.0] for byte in BYTES if fallback]
    joins = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
             decoders.Strip(" ", 1, 0)]  # fmt: skip
    return around(
        {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": fallback},
        ["<unk>", "</s>"],
        pre_tokenizer=cuts.Metaspace(),
        decoder=decoders.Sequence(joins) if fallback else decoders.Metaspace(),
    )


KINDS = {
    "gpt2": lambda: byte_level(None),
    "llama3": lambda: byte_level("llama3", ignore_merges=True),
    "o200k": lambda: byte_level("o200k"),
    "cl100k": lambda: byte_level("cl100k"),
    "qwen2": qwen,
    "deepseek": deepseek,
    "prefixed": prefixed,
    "llama2": llama2,
    "once": once,
    "gemma": gemma,
    "unknowns": unknowns,
    "unigram": lambda: unigram(fallback=False),
    "unigram_bytes": lambda: unigram(fallback=True),
}


@cache
def made(kind: str) -> Tokenizer:
    """The tokenizer of a kind, learned once; it takes special tokens in a text as text."""
    tokenizer = KINDS[kind]()
    tokenizer.encode_special_tokens = True
    return tokenizer
