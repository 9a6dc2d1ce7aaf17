"""Tokens: the plain text and the fast one, golden facts, special tokens, bytes that are no text."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, MiniAttnError
from mini_attn.plain import tokens as plain
from mini_attn.tokens import (
    BYTE_ORDER,
    PATTERNS,
    BytePairs,
    CharacterPairs,
    Unigram,
    cut,
    learn_merges,
    patterns,
    read_tokenizer,
)
from mini_attn.tokens._alphabet import CHARACTERS
from mini_attn.tokens._merging import Known, merged
from mini_attn.weights import read_tokenizer as exported
from tests.sampling import sampled

PROSE = "the cat sat on the mat, and then the cat ate. attention is all the cat needs: attention! "
LIKE_PLAIN = r" ?[\p{L}\p{N}_]+| ?[^\s\p{L}\p{N}_]+|\s+(?!\S)|\s+"
NAMES = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
TEXTS = st.text(st.sampled_from(NAMES) | st.sampled_from(" \n\t'aAsS1é日🙂"), max_size=30)


# ---- Golden facts ----


def test_aaabdaaabac_takes_three_merges():
    assert plain.learn("aaabdaaabac", 3) == [(b"a", b"a"), (b"a", b"b"), (b"aa", b"ab")]
    assert plain.merged("aaabdaaabac", plain.learn("aaabdaaabac", 3)) == [
        b"aaab", b"d", b"aaab", b"a", b"c",
    ]  # fmt: skip
    assert learn_merges("aaabdaaabac", 3) == plain.learn("aaabdaaabac", 3)


def test_gpt2s_count_of_tokens_is_bytes_merges_and_one():
    single = [bytes([byte]) for byte in range(256)]
    merges = [(left, right) for left in single for right in single][:50_000]
    tokenizer = BytePairs.from_merges(merges, special=["<|endoftext|>"])
    assert tokenizer.n_tokens == 256 + 50_000 + 1 == 50_257
    assert tokenizer.special == {"<|endoftext|>": 50_256}


def test_gpt2s_order_of_the_bytes():
    """Each byte once; the comma is GPT-2's token 11, and the space, which doesn't print, 220."""
    assert sorted(BYTE_ORDER) == list(range(256))
    assert list(BYTE_ORDER) == plain.BYTES
    assert BytePairs.from_merges([]).encode(",! ") == [11, 0, 220]


# ---- The plain text and the fast one ----


@given(text=st.text("ab c,\né日", max_size=60) | TEXTS, count=st.integers(0, 30))
def test_learning_and_encoding_are_those_of_the_plain_text(text, count):
    merges = plain.learn(PROSE + text, count)
    assert learn_merges(PROSE + text, count, pattern=LIKE_PLAIN) == merges
    fast = BytePairs.from_merges(merges, pattern=LIKE_PLAIN)
    if "".join(plain.pieces(text)) == text and plain.pieces(text) == cut(text, LIKE_PLAIN):
        ids = plain.encode(text, merges)
        assert fast.encode(text) == ids
        assert fast.decode(ids) == plain.decode(ids, merges) == text


@given(text=TEXTS)
def test_a_text_comes_back_whole(text):
    tokenizer = BytePairs.from_merges(learn_merges(PROSE, 40))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert "".join(tokenizer.stream(ids)) == text
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()


def test_steps_end_with_the_tokens_and_their_ranks_are_those_of_the_list():
    merges = learn_merges(PROSE, 60)
    tokenizer = BytePairs.from_merges(merges)
    shown = tokenizer.merge_steps(" attention")
    assert shown[0] == ([bytes([byte]) for byte in b" attention"], None)
    for (before, _), (after, rank) in pairwise(shown):
        assert b"".join(after) == b" attention"
        assert len(after) == len(before) - 1
        left, right = merges[rank]
        assert left + right in after
    ids = tokenizer.encode(" attention")
    assert shown[-1][0] == [tokenizer.token_bytes(token) for token in ids]


def test_ranks_take_a_piece_whole_that_no_merge_reaches():
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"xyz": 256}
    assert BytePairs(ranks).encode("xyz xyz") == [256, *b" xyz"]
    assert BytePairs(ranks, []).encode("xyz") == [*b"xyz"]


def test_of_a_merge_that_comes_twice_the_last_rank_counts():
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"bc": 257}
    once = [(b"a", b"b"), (b"b", b"c")]
    assert BytePairs(ranks, once).encode("abc") == [256, *b"c"]
    assert BytePairs(ranks, [*once, once[0]]).encode("abc") == [*b"a", 257]


PIECES = {
    "<unk>": 0.0,
    "▁": -2.0,
    "a": -1.5,
    "b": -2.5,
    "▁a": -3.0,
    "ab": -3.2,
    "ba": -4.5,
    "aab": -5.5,
}


def ways(text: str) -> list[list[str]]:
    """Every sequence of pieces that a text can be cut into."""
    if not text:
        return [[]]
    return [[piece, *rest] for piece in PIECES if text.startswith(piece)
            for rest in ways(text[len(piece) :])]  # fmt: skip


@given(text=st.text("ab", min_size=1, max_size=9))
def test_unigram_takes_the_likeliest_of_all_ways(text):
    tokenizer = Unigram(list(PIECES.items()), special=["<unk>"])
    names = list(PIECES)
    found = [names[token] for token in tokenizer.encode(text)]
    assert "".join(found) == "▁" + text
    best = max(sum(PIECES[piece] for piece in way) for way in ways("▁" + text))
    assert sum(PIECES[piece] for piece in found) == pytest.approx(best)


def test_what_unigram_does_not_know_is_one_token_and_never_cheap():
    tokenizer = Unigram(list(PIECES.items()), special=["<unk>"])
    assert tokenizer.encode("azzb") == [4, 0, 3]
    pairs = Unigram([*PIECES.items(), ("xx", -9.0)], special=["<unk>"])
    assert pairs.encode("xxz") == [1, len(PIECES), 0]


# ---- No case takes longer than n log n ----


class Counted(Known):
    """Merges that count how often they are asked."""

    asked = 0

    def __getitem__(self, pair):
        self.asked += 1
        return super().get(pair)


@pytest.mark.parametrize("letters", ["a", "ab", "aab"])
def test_a_long_piece_asks_for_at_most_three_pairs_a_byte(letters):
    """Doubling tokens make the most merges: aa, aaaa, …"""
    for length in (1_000, 11_000):
        word = (letters * length)[:length]
        pairs = Counted()
        sizes = {1: 0}
        for rank in range(12):
            sizes[2 ** (rank + 1)] = rank + 2
            pairs[rank + (rank > 0), rank + (rank > 0)] = (rank, rank + 2)
        pairs[0, 1] = (20, 30)
        merged([letters.index(letter) for letter in word], pairs)
        assert length - 1 <= pairs.asked <= 3 * length


def seconds(tokenizer, text) -> float:
    start = time.process_time()
    tokenizer.encode(text)
    return time.process_time() - start


@pytest.mark.parametrize("kind", ["bytes", "characters", "unigram"])
def test_ten_times_the_word_takes_no_hundred_times_as_long(kind):
    tokenizer = {
        "bytes": lambda: BytePairs.from_merges(learn_merges("a" * 3000 + PROSE, 50)),
        "characters": lambda: CharacterPairs(
            {"<unk>": 0, "a": 1, "aa": 2, "aaaa": 3, "▁": 4}, [("a", "a"), ("aa", "aa")],
            unknown="<unk>",
        ),
        "unigram": lambda: Unigram([("<unk>", 0), ("a", -1), ("aaa", -2), ("▁", -1)]),
    }[kind]()  # fmt: skip
    short = min(seconds(tokenizer, "a" * 2_000) for _ in range(5))
    long = min(seconds(tokenizer, "a" * 20_000) for _ in range(3))
    assert long < 40 * short


# ---- Special tokens ----


def test_no_text_smuggles_in_a_special_token():
    tokenizer = BytePairs.from_merges(learn_merges(PROSE, 9), special=["<end>", "<end>less"])
    end, endless = tokenizer.special["<end>"], tokenizer.special["<end>less"]
    ids = tokenizer.encode("a<end>b")
    assert end not in ids
    assert tokenizer.decode(ids) == "a<end>b"
    assert tokenizer.encode("<end>", allowed_special=["<end>"]) == [end]
    assert tokenizer.encode("<end>less", allowed_special="all") == [endless]  # the longest
    assert endless not in tokenizer.encode("<end>less", allowed_special=["<end>"])
    assert tokenizer.decode([end]) == "<end>"


def test_no_merge_leads_to_a_special_token(tmp_path):
    """Its own vocabulary has it and merges make it, as in some files of Llama 2's kind."""
    file = described()
    file["model"]["vocab"] |= {"<e": 256, "<e>": 257}
    file["model"]["merges"] = [["<", "e"], ["<e", ">"]]
    file["added_tokens"] = [{"id": 257, "content": "<e>", "special": True}]
    for whole in (False, True):
        file["model"]["ignore_merges"] = whole
        tokenizer = written(tmp_path, file)
        assert 257 not in tokenizer.encode("<e>")
        assert tokenizer.encode("<e>", allowed_special="all") == [257]
    ids = {"<unk>": 0, "▁": 1, "<": 2, "s>": 3, "<s>": 4, "s": 5, ">": 6}
    pairs = CharacterPairs(ids, [("s", ">"), ("<", "s>")], unknown="<unk>", special=["<s>"])
    assert pairs.encode("<s>") == [1, 2, 3]
    pieces = [("<unk>", 0), ("<s>", 0), ("<", -1), ("s>", -1), ("▁", -1)]
    assert Unigram(pieces, special=["<unk>", "<s>"]).encode("<s>") == [4, 2, 3]


@pytest.mark.parametrize(("allowed", "error"), [
    ("<end>", ConfigError), (["<e>"], ConfigError), (5, DTypeError), ([5], ConfigError),
])  # fmt: skip
def test_only_special_tokens_are_allowed(allowed, error):
    tokenizer = BytePairs.from_merges([], special=["<end>"])
    with pytest.raises(error, match="special"):
        tokenizer.encode("x", allowed_special=allowed)


# ---- Bytes that are no text ----


def test_half_a_character_waits_and_broken_ones_are_marked():
    tokenizer = BytePairs.from_merges([])
    ids = tokenizer.encode("é🙂")
    assert list(tokenizer.stream(ids)) == ["é", "🙂"]
    assert list(tokenizer.stream([*ids[:-1], *tokenizer.encode("x")])) == ["é", "\ufffdx"]
    assert list(tokenizer.stream(ids[:-1])) == ["é", "\ufffd"]
    assert tokenizer.decode(ids[:-1]) == "é\ufffd"
    assert tokenizer.decode_bytes(ids[:-1]) == "é🙂".encode()[:-1]


@given(data=st.binary(max_size=20))
def test_any_bytes_are_streamed_as_they_are_decoded(data):
    tokenizer = BytePairs({bytes([byte]): byte for byte in range(256)})
    assert tokenizer.decode_bytes(data) == data
    assert tokenizer.decode(data) == data.decode(errors="replace")
    assert "".join(tokenizer.stream(data)) == tokenizer.decode(data)


def test_halves_of_a_character_in_a_text():
    tokenizer = BytePairs.from_merges([])
    assert tokenizer.encode("\ud83d\ude42") == tokenizer.encode("🙂")
    assert tokenizer.encode("a\ud83d") == tokenizer.encode("a\ufffd")


def test_bytes_that_stand_for_characters_without_a_token():
    ids = {f"<0x{byte:02X}>": byte for byte in range(256)} | {"▁": 256, "a": 257}
    tokenizer = CharacterPairs(ids, [])
    assert tokenizer.encode("aé") == [256, 257, 0xC3, 0xA9]
    assert tokenizer.decode([256, 257, 0xC3, 0xA9]) == "aé"
    assert list(tokenizer.stream([256, 257, 0xC3, 0xA9, 257])) == ["a", "é", "a"]
    assert list(tokenizer.stream([0xC3, 257])) == ["\ufffda"]
    assert tokenizer.decode([0xC3, 0xA9, 0xC3, 257]) == "\ufffd\ufffd\ufffda"
    assert tokenizer.decode_bytes([257, 256, 0xFF]) == b"a \xff"


def test_a_merge_may_reach_across_a_later_space():
    ids = {"<unk>": 0, "▁": 1, "a": 2, "a▁": 3, "a▁a": 4}
    tokenizer = CharacterPairs(ids, [("a", "▁"), ("a▁", "a")], unknown="<unk>")
    assert tokenizer.encode("a a a") == [1, 3, 4]
    assert tokenizer.decode([1, 3, 4]) == "a a a"
    assert "".join(tokenizer.stream([1, 3, 4])) == "a a a"


# ---- Bad input ----


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda t: t.encode(b"x"), DTypeError, "text must be a str"),
    (lambda t: t.decode([1, 2.5]), DTypeError, "whole number"),
    (lambda t: t.decode(7), DTypeError, "one after another"),
    (lambda t: t.decode([300]), ConfigError, "no token has the id 300"),
    (lambda t: t.decode([-1]), ConfigError, "no token has the id -1"),
    (lambda t: t.token_bytes(None), DTypeError, "whole number"),
    (lambda t: t.merge_steps(b"x"), DTypeError, "piece must be a str"),
    (lambda t: learn_merges(5, 1), DTypeError, "text"),
    (lambda t: learn_merges("x", 1.5), DTypeError, "count"),
    (lambda t: learn_merges("x", -1), ConfigError, "count"),
    (lambda t: cut("x", "gpt3"), ConfigError, "gpt2, cl100k"),
    (lambda t: cut(5), DTypeError, "text must be a str"),
    (lambda t: BytePairs({b"a": 0}), ConfigError, "255 are missing"),
    (lambda t: BytePairs({"a": 0}), DTypeError, "must be bytes"),
    (lambda t: BytePairs([b"a"]), DTypeError, "ranks must map"),
    (lambda t: BytePairs({b"a": 0, b"b": 0}), ConfigError, "both have the id 0"),
    (lambda t: BytePairs({b"a": True}), ConfigError, "no token can be"),
    (lambda t: BytePairs({b"a": 1 << 32}), ConfigError, "no token can be"),
    (lambda t: BytePairs.from_merges([(b"a", b"bc")]), ConfigError, "no merge before"),
    (lambda t: BytePairs.from_merges([("a", "b")]), DTypeError, "tokens of bytes"),
    (lambda t: BytePairs.from_merges([b"abc"]), DTypeError, "two tokens"),
    (lambda t: BytePairs.from_merges([], special="<s>"), DTypeError, "list of tokens"),
    (lambda t: BytePairs(t._ids, special={"<s>": 5}), ConfigError, "both have the id 5"),
    (lambda t: CharacterPairs({"a": 0}, []), ConfigError, "'<0x00>' is needed"),
    (lambda t: CharacterPairs({"a": 0}, ["ab"], unknown="a"), ConfigError, "'b' is needed"),
    (lambda t: Unigram([("a", 0.0)]), ConfigError, "'<unk>' is needed"),
    (lambda t: Unigram([("<unk>", float("nan"))]), ConfigError, "finite"),
    (lambda t: Unigram([("<unk>", 0), ("<unk>", 1)]), ConfigError, "comes twice"),
    (lambda t: Unigram(["a"]), DTypeError, "pairs"),
    (lambda t: Unigram([(1, 2.0)]), DTypeError, "must be text"),
])  # fmt: skip
def test_bad_input_is_named(call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call(BytePairs.from_merges([]))


# ---- Without `regex` ----


@pytest.fixture
def without_regex(monkeypatch):
    patterns.compiled.cache_clear()
    monkeypatch.setattr(patterns, "_engine", lambda: re)
    yield
    patterns.compiled.cache_clear()


SAMPLES = [
    "",
    "it's 'S 'ſ we'LL",
    "a\u0301 ΣΑΣ 12３456 ½²",
    " \t\n\x1c\x1d\x85\xa0\u2003 x  \n ",
    "x\n\n ",
]


def drawn(share: int) -> list[str]:
    """A tenth of the characters that Python knows, each between others."""
    return ["".join(f"a{c}1 {c}" for c in NAMES[at::990]) for at in range(share, 990, 10)]


@pytest.mark.parametrize("share", sampled(range(10), lambda share: "all"))
def test_pythons_own_expressions_cut_alike(request, share):
    texts = [*SAMPLES, *drawn(share)]
    found = {name: [cut(text, name) for text in texts] for name in PATTERNS}
    request.getfixturevalue("without_regex")
    known = {"ʕ"}  # the one character that a later Unicode has put into another class
    for name, pieces in found.items():
        mine = [cut(text, name) for text in texts]
        assert [text for text, a, b in zip(texts, mine, pieces, strict=True)
                if a != b and not known & set(text)] == []  # fmt: skip


def test_arrays_load_no_tokens():
    code = "import sys, mini_attn.numpy; print('mini_attn.tokens' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "False\n"


def test_neither_regex_nor_numpy_is_needed_to_encode():
    code = (
        "import sys; sys.modules['regex'] = sys.modules['numpy'] = None\n"
        "from mini_attn.tokens import BytePairs, learn_merges\n"
        "t = BytePairs.from_merges(learn_merges('low lower', 3), pattern='o200k')\n"
        'print(t.decode(t.encode("it\'s 2024, ΣΑΣ!")))'
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert done.stdout == "it's 2024, ΣΑΣ!\n"


@pytest.mark.parametrize("pattern", [
    "", "(", ")", "a)", "[a", "*a", "a**", "(?:a+)+", "(a*)*b", "(?i:\\p{L})", "[a[b]]", "[a&&b]",
    "\\p{Han}", "\\w", "\\d+", ".", "^a", "a$", "a+?", "(?<=a)b", "(?P<x>a)", "\\1", "a*", "x{2}+",
    "[[:alpha:]]", "[\\S]", "é{9999}", "(?i:é)", "(?i)a", "\\", "a" * 5000,
])  # fmt: skip
def test_patterns_about_which_engines_differ_are_refused(pattern):
    with pytest.raises(ConfigError, match="pattern"):
        cut("text", pattern)


# ---- Files ----


def described(**changes):
    """The smallest file of GPT-2's kind."""
    ids = {character: at for at, character in enumerate(CHARACTERS)}
    return {
        "added_tokens": [{"id": 300, "content": "<end>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "post_processor": {"type": "ByteLevel"},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": ids, "merges": []},
        **changes,
    }


def written(folder, file):
    text = file if isinstance(file, bytes) else json.dumps(file).encode()
    (folder / "tokenizer.json").write_bytes(text)
    return read_tokenizer(folder)


def test_a_hole_between_ids_is_no_token(tmp_path):
    tokenizer = written(tmp_path, described())
    assert tokenizer.n_tokens == 301
    assert tokenizer.encode("a<end>", allowed_special="all") == [64, 300]
    with pytest.raises(ConfigError, match="no token has the id 299"):
        tokenizer.decode([299])
    assert exported is read_tokenizer


@pytest.mark.parametrize(("change", "says"), [
    (lambda f: f.pop("model"), "model must be an object"),
    (lambda f: f["model"].pop("vocab"), "vocab must be an object"),
    (lambda f: f["model"].pop("merges"), "merges must be a list"),
    (lambda f: f["model"].update(type="WordPiece"), "'WordPiece' isn't read"),
    (lambda f: f["model"].update(merges=["a"]), "two tokens"),
    (lambda f: f["model"].update(merges=[["a", "b"]]), "needs the token 'ab'"),
    (lambda f: f["model"].update(ignore_merges="yes"), "ignore_merges"),
    (lambda f: f["model"].update(dropout=0.1), "dropout"),
    (lambda f: f["model"].update(end_of_word_suffix="</w>"), "end_of_word_suffix"),
    (lambda f: f["model"]["vocab"].update(ab=0), "both have the id 0"),
    (lambda f: f["model"]["vocab"].update(ab=-1), "no token can be 'ab'"),
    (lambda f: f["model"]["vocab"].update(ab="1"), "no token can be 'ab'"),
    (lambda f: f["model"]["vocab"].update({"\ud800": 400}), "no token can be"),
    (lambda f: f["model"]["vocab"].pop("a"), "1 are missing"),
    (lambda f: f.update(normalizer={"type": "Precompiled"}), "normalizer 'Precompiled' isn't read"),
    (lambda f: f.update(pre_tokenizer={"type": "BertPreTokenizer"}), "'BertPreTokenizer' isn't"),
    (lambda f: f.update(decoder={"type": "WordPiece"}), "decoder 'WordPiece' isn't read"),
    (lambda f: f.update(decoder=None), "a decoder of [] isn't read"),
    (lambda f: f.update(decoder={"type": "Fuse"}), "must both be ByteLevel"),
    (lambda f: f.update(post_processor={"type": "BertProcessing"}), "'BertProcessing' isn't"),
    (lambda f: f.update(pre_tokenizer=None), "must both be ByteLevel"),
    (lambda f: f.update(normalizer={"type": "Replace", "pattern": {"String": "a"},
                                    "content": "a" * 2000}), "times as long"),
    (lambda f: f.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+"},
                                       "behavior": "Isolated"}), "a repeat of repeats"),
    (lambda f: f.update(added_tokens=[{"id": 1, "content": "<end>"}]), "both have the id 1"),
    (lambda f: f.update(added_tokens=[{"id": 7, "content": "a"}]), "has the id 64 too"),
    (lambda f: f.update(added_tokens=[{"content": "a"}]), "id as a number"),
    (lambda f: f.update(added_tokens={}), "added_tokens must be a list"),
    (lambda f: f["added_tokens"][0].update(single_word=True), "single_word"),
    (lambda f: f["added_tokens"].append(f["added_tokens"][0]), "comes twice"),
])  # fmt: skip
def test_a_broken_file_is_named(tmp_path, change, says):
    file = described()
    change(file)
    with pytest.raises(ConfigError, match=re.escape(says)) as caught:
        written(tmp_path, file)
    assert "tokenizer.json" in str(caught.value)


@pytest.mark.parametrize("text", [
    b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000, b'{"model": {"model": ' * 50_000,
    b'{"model": 1, "model": 2}',
])  # fmt: skip
def test_what_is_no_json_is_named(tmp_path, text):
    with pytest.raises(ConfigError, match=r"tokenizer\.json"):
        written(tmp_path, text)


def test_sequences_in_sequences_have_an_end(tmp_path):
    for depth in (3, 400, 5_000):
        step = '{"type":"Sequence","normalizers":[' * depth + "]}" * depth
        text = json.dumps(described()).replace('"normalizer": null', f'"normalizer": {step}')
        try:
            written(tmp_path, text.encode())
        except ConfigError as error:
            assert depth > 3
            assert "tokenizer.json" in str(error)  # noqa: PT017


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 400) | st.floats() | st.text(max_size=4)
    | st.sampled_from([10**400, 2**32, "ByteLevel", "Sequence", "\ud800", "(a+)+", "<end>"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "Regex", "String", "content", "id", "ids"]), inner, max_size=3
    ),
    max_leaves=6,
)  # fmt: skip
FILES = [
    described(),
    described(
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            {"type": "Strip", "strip_left": True, "strip_right": False}]},
        pre_tokenizer={"type": "Split", "pattern": {"String": " "},
                       "behavior": "MergedWithPrevious", "invert": False},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        post_processor={"type": "TemplateProcessing",
                        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                   {"Sequence": {"id": "A", "type_id": 0}}],
                        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
        model={"type": "BPE", "vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3}, "unk_token": "<unk>",
               "merges": [["▁", "a"]], "fuse_unk": True, "byte_fallback": False},
    ),
    described(
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0], ["a", -2]]},
    ),
]  # fmt: skip


def places(part, found):
    """Every object and list of a file."""
    if isinstance(part, dict | list) and part:
        found.append(part)
        for inner in part.values() if isinstance(part, dict) else part:
            places(inner, found)
    return found


@given(data=st.data(), file=st.sampled_from(FILES))
def test_no_file_escapes(tmp_path_factory, data, file):
    """Whatever stands in a place of a file, it's read or it's our error, and then it encodes."""
    file = json.loads(json.dumps(file))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(places(file, [])))
        keys = sorted(place) if isinstance(place, dict) else range(min(len(place), 4))
        key = data.draw(st.sampled_from(list(keys)))
        if data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
        else:
            del place[key]
        if not file:
            break
    try:
        tokenizer = written(tmp_path_factory.getbasetemp(), file)
        ids = tokenizer.encode(" a 日<end>", allowed_special="all" if tokenizer.special else ())
        assert "".join(tokenizer.stream(ids)).encode() == tokenizer.decode_bytes(ids)
    except MiniAttnError as error:
        assert len(str(error)) < 1500  # noqa: PT017


# ---- Files of ranks ----


def ranks() -> list[bytes]:
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"abab"]
    return [base64.b64encode(token) + b" %d" % at for at, token in enumerate(tokens)]


def test_a_file_of_ranks(tmp_path):
    (tmp_path / "x.tiktoken").write_bytes(b"\n".join(ranks()))
    tokenizer = read_tokenizer(tmp_path, pattern="cl100k", special={"<end>": 300})
    assert tokenizer.encode("ababab") == [257, 256]
    assert tokenizer.n_tokens == 301
    with pytest.raises(ConfigError, match="pattern="):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(("line", "says"), [
    (b"!!! 5", "line 259"), (b"YQ", "line 259"), (b"YQ== x", "line 259"), (b"\x0a\xff\x80", "line"),
    (b"YWJj -1", "no token can be"), (b"YWJj 99999999999999999999", "no token can be"),
    (b"YWI= 400", "again"), (b"YWJj 7", "both have the id 7"), (b" 8", "line 259"),
])  # fmt: skip
def test_a_broken_file_of_ranks_is_named(tmp_path, line, says):
    (tmp_path / "x.tiktoken").write_bytes(b"\n".join([*ranks(), line]))
    with pytest.raises(ConfigError, match=re.escape(says)) as caught:
        read_tokenizer(tmp_path / "x.tiktoken", pattern="gpt2")
    assert "x.tiktoken" in str(caught.value)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"neither tokenizer\.json nor"):
        read_tokenizer(tmp_path)
    with pytest.raises(ConfigError, match="isn't there"):
        read_tokenizer(tmp_path / "x.json")
    (tmp_path / "tokenizer.json").write_text(json.dumps(described()))
    with pytest.raises(ConfigError, match="its own pattern"):
        read_tokenizer(tmp_path, pattern="gpt2")
