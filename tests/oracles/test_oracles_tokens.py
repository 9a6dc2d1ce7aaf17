"""Tokenizers against `tokenizers` and `tiktoken`: equal ids, equal text, equal merges learned."""

from __future__ import annotations

import json
import random
import unicodedata
from functools import cache, lru_cache
from inspect import signature
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tiktoken
import torch
import transformers
from tiktoken_ext import openai_public
from tokenizers import Tokenizer, models, normalizers
from tokenizers import pre_tokenizers as cuts
from tokenizers.trainers import BpeTrainer
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

import mini_attn.numpy as ma
from mini_attn.tokens import PATTERNS, BytePairs, cut, learn_merges, read_tokenizer
from mini_attn.tokens._alphabet import bytes_of
from mini_attn.weights import read_checkpoint
from tests.oracles import fuzzed
from tests.oracles.made import KINDS, made, prose
from tests.sampling import sampled

# 100,000 texts in parts; each part goes through every fourth reader. The first four parts, and
# so each reader once, are the sample.
PARTS, IN_PART, SAMPLE = 200, 500, 4
READERS = [*KINDS, *(f"tiktoken {name}" for name in PATTERNS)]


def cases(chosen: bool) -> list:
    """Readers of files or of ranks, each with a part of the texts."""
    return [
        pytest.param(name, part, marks=[pytest.mark.exhaustive] if part >= SAMPLE else [])
        for part in range(PARTS)
        for at, name in enumerate(READERS)
        if (part + at) % SAMPLE == 0 and (name in KINDS) == chosen
    ]


@lru_cache(SAMPLE)
def texts(part: int) -> list[str]:
    return [fuzzed.text(part * IN_PART + number) for number in range(IN_PART)]


@cache
def disagreed() -> frozenset[str]:
    """Characters of whose normal form Python's table and that of `tokenizers` say other things."""
    found = set()
    changing = [c for c in fuzzed.alphabet()
                if unicodedata.decomposition(c) or unicodedata.combining(c)]  # fmt: skip
    for form in ("NFC", "NFKC"):
        theirs = getattr(normalizers, form)()
        for character in changing:
            word = f"a{character}\u0327\u0301"
            if theirs.normalize_str(word) != unicodedata.normalize(form, word):
                found.add(character)
    return frozenset(found)


def of_kind(kind: str, part: int) -> list[str]:
    """Without what the two are known to take differently."""
    found = texts(part)
    if kind in ("qwen2", "unknowns"):
        table = dict.fromkeys(map(ord, disagreed()))
        found = [text.translate(table) for text in found]
    if kind.startswith("unigram"):  # whose special tokens `tokenizers` finds in any text
        found = [text.replace("<unk>", "<unk") for text in found]
    return found


@cache
def read(kind: str) -> Any:
    with TemporaryDirectory() as folder:
        made(kind).save(f"{folder}/tokenizer.json")
        return read_tokenizer(folder)


@cache
def ranked(pattern: str) -> tuple[BytePairs, tiktoken.Encoding]:
    """Ranks learned from the book, two tokens that no merge reaches, and both their readers."""
    merges = learn_merges(prose(), 2000, pattern=pattern)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += dict.fromkeys(left + right for left, right in merges)
    ranks = {token: at for at, token in enumerate([*tokens, b" qzwx", "注意就".encode()])}
    special = {"<|endoftext|>": len(ranks) + 5, "<s>": len(ranks) + 1}
    theirs = tiktoken.Encoding(
        pattern, pat_str=originals()[pattern], mergeable_ranks=ranks, special_tokens=special
    )
    return BytePairs(ranks, pattern=pattern, special=special), theirs


@cache
def originals() -> dict[str, str]:
    """Patterns as their owners write them, without the ranks that go with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda *given, **named: {})
        found = {
            "gpt2": openai_public.r50k_pat_str,
            "cl100k": openai_public.cl100k_base()["pat_str"],
            "o200k": openai_public.o200k_base()["pat_str"],
        }
    llama3 = signature(TikTokenConverter).parameters["pattern"].default
    return {**found, "llama3": llama3, "qwen2": PRETOKENIZE_REGEX}


def unequal(mine: list, theirs: list, given: list) -> list:
    return [text for text, a, b in zip(given, mine, theirs, strict=True) if a != b]


@pytest.mark.parametrize(("kind", "part"), cases(True))
def test_ids_and_text_are_those_of_tokenizers(kind, part):
    theirs, ours = made(kind), read(kind)
    given = of_kind(kind, part)
    mine = [ours.encode(text) for text in given]
    found = [each.ids for each in theirs.encode_batch(given, add_special_tokens=False)]
    assert unequal(mine, found, given) == []
    back = theirs.decode_batch(mine, skip_special_tokens=False)
    assert unequal([ours.decode(ids) for ids in mine], back, given) == []
    draw = random.Random(part)  # ids of no text, with bytes that are no UTF-8
    known = [at for at in range(ours.n_tokens) if theirs.id_to_token(at) is not None]
    drawn = [draw.choices(known, k=draw.randrange(30)) for _ in range(200)]
    back = theirs.decode_batch(drawn, skip_special_tokens=False)
    assert unequal([ours.decode(ids) for ids in drawn], back, drawn) == []


@pytest.mark.parametrize(("reader", "part"), cases(False))
def test_ids_and_bytes_are_those_of_tiktoken(reader, part):
    ours, theirs = ranked(reader.removeprefix("tiktoken "))
    draw = random.Random(part)
    given = [*texts(part), "qzwx qzwx", "\ud83d\ude00\ud83d", "注意就"]
    assert unequal(
        [ours.encode(text) for text in given],
        [theirs.encode(text, disallowed_special=()) for text in given],
        given,
    ) == []  # fmt: skip
    both = given[:200]
    assert unequal(
        [ours.encode(text, allowed_special="all") for text in both],
        [theirs.encode(text, allowed_special="all") for text in both],
        both,
    ) == []  # fmt: skip
    known = sorted(ours._tokens)
    drawn = [draw.choices(known, k=draw.randrange(30)) for _ in range(200)]
    assert [ours.decode_bytes(ids) for ids in drawn] == [theirs.decode_bytes(i) for i in drawn]
    assert [ours.decode(ids) for ids in drawn] == [theirs.decode(ids) for ids in drawn]


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_that_a_text_may_hold(kind):
    theirs, ours = Tokenizer.from_str(made(kind).to_str()), read(kind)
    theirs.encode_special_tokens = False
    given = of_kind(kind, 0)[:300]
    given += [f"a {text}  {text}b\n" for text in ours.special]
    mine = [ours.encode(text, allowed_special="all") for text in given]
    found = [each.ids for each in theirs.encode_batch(given, add_special_tokens=False)]
    assert unequal(mine, found, given) == []
    assert [*ours.start, *mine[0]] == theirs.encode(given[0]).ids


def test_the_patterns_cut_as_their_owners():
    assert originals().keys() == PATTERNS.keys()
    for name in ("o200k", "llama3", "qwen2"):
        assert cut_alike(name, originals()[name].replace("++", "+"))
    assert PATTERNS["qwen2"] == PRETOKENIZE_REGEX


def cut_alike(name: str, pattern: str) -> bool:
    return all(cut(text, name) == cut(text, pattern) for text in texts(0)[:500])


def test_where_the_tables_of_unicode_differ_characters_are_new():
    old = unicodedata.ucd_3_2_0
    assert 0 < len(disagreed()) < 300
    assert {old.category(character) for character in disagreed()} == {"Cn"}


def trained(text: str, count: int, pattern: str | None = None) -> list[tuple[bytes, bytes]]:
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = cuts.ByteLevel(add_prefix_space=False)
    theirs.train_from_iterator([text], BpeTrainer(
        vocab_size=256 + count, initial_alphabet=cuts.ByteLevel.alphabet(), show_progress=False
    ))  # fmt: skip
    merges = json.loads(theirs.to_str())["model"]["merges"]
    return [(bytes_of(left), bytes_of(right)) for left, right in merges]


def test_merges_learned_from_the_book_are_those_of_the_trainer():
    text = "".join(prose())
    mine = learn_merges(text, 2000)
    assert mine == trained(text, 2000)
    assert len(mine) == 2000


@pytest.mark.parametrize("seed", sampled(range(1000), lambda seed: "all", of_each=40))
def test_merges_learned_from_drawn_text_are_those_of_the_trainer(seed):
    draw = random.Random(seed)
    letters = draw.choice(["ab", "ab c", "aaé日 b\n", "abcdefgh     "])
    text = "".join(draw.choices(letters, k=draw.randrange(300)))
    count = draw.randrange(80)
    assert learn_merges(text, count) == trained(text, count)


@pytest.mark.parametrize("seed", sampled(range(1000), lambda seed: "all", of_each=40))
def test_ties_and_merges_that_come_twice(seed, tmp_path):
    """Merges in any order, some of them twice, of tokens that others can't reach any more."""
    draw = random.Random(seed)
    theirs = Tokenizer(models.BPE())
    tokens = ["a", "b", "c"]
    merges = []
    for _ in range(draw.randrange(2, 20)):
        left, right = draw.choice(tokens), draw.choice(tokens)
        if left + right not in tokens and len(left + right) < 9:
            tokens.append(left + right)
        if left + right in tokens:
            merges.append((left, right))
    merges += draw.sample(merges, len(merges) // 2)
    draw.shuffle(merges)
    rest = sorted(set(cuts.ByteLevel.alphabet()) - set(tokens))
    ids = {token: at for at, token in enumerate([*tokens, *rest])}
    theirs = Tokenizer(models.BPE(vocab=ids, merges=merges, ignore_merges=bool(seed % 2)))
    theirs.pre_tokenizer = cuts.ByteLevel(add_prefix_space=False)
    theirs.decoder = made("gpt2").decoder
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = read_tokenizer(tmp_path)
    given = ["".join(draw.choices("abc", k=draw.randrange(1, 40))) for _ in range(50)]
    assert [ours.encode(text) for text in given] == [theirs.encode(text).ids for text in given]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Drawn weights of GPT-2's shape and their tokenizer, as Hugging Face saves them."""
    path = tmp_path_factory.mktemp("gpt2")
    torch.manual_seed(4)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    size = made("gpt2").get_vocab_size()
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=size, **sizes, bos_token_id=None, eos_token_id=None)
    )
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.5)
    model.save_pretrained(path)
    transformers.PreTrainedTokenizerFast(tokenizer_object=made("gpt2")).save_pretrained(path)
    return path


@pytest.mark.parametrize("text", ["Once upon a time", "a", "注意 é\n", "  KV cache"])
def test_a_checkpoint_writes_the_text_that_hugging_face_writes(folder, text):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(text, return_tensors="pt")
    out = model.generate(**tokens, max_new_tokens=40, do_sample=False, pad_token_id=0)
    expected = tokenizer.decode(out[0])

    config, weights = read_checkpoint(folder, backend="numpy")
    ours, tokenizer = ma.Decoder(config), read_tokenizer(folder)
    ours.load_state_dict(weights)
    ids = np.array([tokenizer.encode(text)])
    caches = ours.new_caches(1, ids.shape[1] + 40)
    found = ma.generate(ours, ids, max_new_tokens=40, caches=caches)[0].tolist()
    assert len(set(found[ids.shape[1] :])) >= 10
    assert "".join(tokenizer.stream(found)) == tokenizer.decode(found) == expected
