"""Published tokenizers: ``tokenizer.json``, and files of ranks."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mini_attn._json import LARGEST_BYTES, json_file
from mini_attn.errors import ConfigError, MiniAttnError
from mini_attn.tokens._alphabet import bytes_of
from mini_attn.tokens._described import (
    a_list,
    an_object,
    flag,
    parts_of,
    refuse_kind,
    text_of,
    whole,
)
from mini_attn.tokens._file_steps import read_joining, read_steps
from mini_attn.tokens.byte_pairs import BytePairs, check_distinct, checked_ids
from mini_attn.tokens.character_pairs import CharacterPairs, byte_of
from mini_attn.tokens.tokenizer import Added, Joining, Tokenizer
from mini_attn.tokens.unigram import Unigram, checked_scores

__all__ = ["read_tokenizer"]

Part = Mapping[str, Any]


def read_tokenizer(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special: Mapping[str, int] | Iterable[str] | None = None,
) -> Tokenizer:
    r"""Read a published tokenizer.

    ``tokenizer = tokens, merges or scores, and the steps around them``

    Parameters
    ----------
    path : path
        A model's folder, its ``tokenizer.json``, or a file of ranks: lines of a token's bytes
        in base64 and its id.
    pattern : str or None
        How text is cut, as in `cut`; a file of ranks needs it, ``tokenizer.json`` has its own.
    special : mapping of str to int, iterable of str, or None
        Special tokens of a file of ranks, which doesn't hold them.

    Returns
    -------
    Tokenizer
        `BytePairs`, `CharacterPairs` or `Unigram`, whose ids are those of ``tokenizers`` or
        ``tiktoken``.

    Raises
    ------
    ConfigError
        If the file is missing, broken or contradicts itself, has a part that isn't read (the
        message names it), or `pattern` and `special` don't go with it.
    DTypeError
        If `special` or `pattern` are of another kind.

    Notes
    -----
    Read are byte-level BPE, BPE of characters with byte fallback (Llama 2, Gemma), and Unigram.
    Not read: WordPiece, Precompiled normalizers, SentencePiece's own ``tokenizer.model``, chat
    templates, and what a file says about truncating and padding. Two things differ from the
    originals on purpose: text never gives a special token, not even by merges, and files that
    would lose text (a byte that has no token) are refused. Classes and normal forms of
    characters are those of `regex` and of Python: for characters that are newer than the
    originals' tables of Unicode, ids can differ.

    References
    ----------
    sennrich2016bpe
    kudo2018sentencepiece
    kudo2018unigram

    Examples
    --------
    >>> import base64, pathlib, tempfile
    >>> lines = [base64.b64encode(bytes([byte])).decode() + f" {byte}" for byte in range(256)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.tiktoken")
    ...     _ = file.write_text("\n".join([*lines, "YWI= 256"]), encoding="utf-8")
    ...     read_tokenizer(file, pattern="cl100k", special=["<end>"]).encode("abc")
    [256, 99]
    """
    file = _file_of(Path(path))
    try:
        if file.suffix != ".json":
            if pattern is None:
                raise ConfigError(
                    "ranks don't say how text is cut: pass pattern=, such as 'cl100k'"
                )
            return BytePairs(_ranks(file), pattern=pattern, special=special or ())
        if pattern is not None or special is not None:
            raise ConfigError("it has its own pattern and special tokens: leave out yours")
        return _from_json(json_file(file, unique=True))
    except OSError as fault:
        raise ConfigError(f"{file.name} can't be read: {fault!s:.80}") from None
    except RecursionError:
        raise ConfigError(f"{file.name} is nested too deeply") from None
    except MiniAttnError as fault:
        name = "" if str(fault).startswith(file.name) else f"{file.name}: "
        raise type(fault)(f"{name}{fault}") from None


def _file_of(path: Path) -> Path:
    if not path.is_dir():
        if path.exists():
            return path
        raise ConfigError(f"{str(path)!r:.200} isn't there")
    found = [path / "tokenizer.json", *sorted(path.glob("*.tiktoken")), path / "tokenizer.model"]
    for file in found:
        if file.is_file():
            return file
    raise ConfigError(f"{path.name!r:.80} has neither tokenizer.json nor a file of ranks")


def _ranks(file: Path) -> dict[bytes, int]:
    """Tokens and ids of a file of lines."""
    if os.path.getsize(file) > LARGEST_BYTES:
        raise ConfigError(f"has more than the {LARGEST_BYTES} bytes allowed")
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line:
            continue
        try:
            word, rank = line.split()
            token, at = b64decode(word, validate=True), int(rank) if len(rank) < 12 else -1
        except (ValueError, binascii.Error):
            raise ConfigError(
                f"line {number} is no token in base64 with its rank: {line!r:.40}; SentencePiece's "
                "own format isn't read, save it as tokenizer.json"
            ) from None
        if token in ranks:
            raise ConfigError(f"line {number} has {token!r:.40} again")
        ranks[token] = at
    return ranks


def _from_json(file: Part) -> Tokenizer:
    model = an_object(file.get("model"), "model")
    # Early files leave out the type of BPE; only it has merges.
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind not in ("BPE", "Unigram"):
        raise ConfigError(f"the model {kind!r:.40} isn't read; BPE and Unigram are")
    steps, byte_level = read_steps(file)
    joining = read_joining(file)
    if byte_level != joining.get("byte_level", False) or (byte_level and kind == "Unigram"):
        raise ConfigError("pre_tokenizer and decoder must both be ByteLevel, or neither, for BPE")
    if kind == "Unigram":
        return _unigram(file, model, steps, joining)
    _refuse_options(model)
    ids = checked_ids(an_object(model.get("vocab"), "vocab"), str)
    added = _added(file, ids)
    merges = [_merge(merge) for merge in a_list(model.get("merges"), "merges")]
    around: dict[str, Any] = {"steps": steps, "start": _start(file, _all_ids(ids, added))}
    whole_pieces = flag(model, "ignore_merges", "model")
    if byte_level:
        return _byte_pairs(ids, merges, whole_pieces, added, around)
    fallback = flag(model, "byte_fallback", "model")
    unknown = None if fallback else text_of(model, "unk_token", "a model without byte_fallback")
    tokenizer = CharacterPairs.__new__(CharacterPairs)
    tokenizer._set_up(
        ids, merges, unknown, fuse=flag(model, "fuse_unk", "model"), whole_pieces=whole_pieces,
        added=added, **_joined(ids, added, joining), **around,
    )  # fmt: skip
    return tokenizer


def _byte_pairs(
    ids: dict[str, int], merges: list[tuple[str, str]], whole_pieces: bool, added: list[Added],
    around: dict[str, Any],
) -> BytePairs:  # fmt: skip
    special = {token.text for token in added if token.special}
    found: dict[bytes, int] = {}
    others: dict[int, bytes] = {}
    for token, at in [*ids.items(), *((token.text, token.id) for token in added)]:
        data = bytes_of(token)
        if data is not None and token in ids and token not in special:
            found[data] = at
        else:
            others[at] = token.encode() if data is None else data
    listed = []
    for left, right in merges:
        for token in (left, right, left + right):
            if token not in ids:
                raise ConfigError(f"a merge needs the token {token!r:.40}, which isn't there")
        listed.append((bytes_of(left) or b"", bytes_of(right) or b""))
    tokenizer = BytePairs.__new__(BytePairs)
    tokenizer._set_up(
        found, _reachable(listed, found), whole_pieces, added=added, others=others, **around
    )
    return tokenizer


def _reachable(
    merges: list[tuple[bytes, bytes]], ids: Mapping[bytes, int]
) -> list[tuple[bytes, bytes]]:
    """Merges of ordinary tokens alone, in their order."""
    return [pair for pair in merges if all(part in ids for part in (*pair, pair[0] + pair[1]))]


def _unigram(file: Part, model: Part, steps: Any, joining: dict[str, Any]) -> Unigram:
    vocabulary = a_list(model.get("vocab"), "vocab")
    ids, scores = checked_scores(vocabulary)
    unknown = model.get("unk_id")
    if unknown is not None and whole(model, "unk_id", "model") >= len(scores):
        raise ConfigError(f"unk_id {unknown} is none of the {len(scores)} tokens")
    added = _added(file, ids)
    tokenizer = Unigram.__new__(Unigram)
    tokenizer._set_up(
        ids, scores, unknown, fallback=flag(model, "byte_fallback", "model"), added=added,
        steps=steps, start=_start(file, _all_ids(ids, added)),
        **_joined(ids, added, joining),
    )  # fmt: skip
    return tokenizer


def _refuse_options(model: Part) -> None:
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(option):
            raise ConfigError(f"a model with {option} {model[option]!r:.40} isn't read")


def _merge(merge: Any) -> tuple[str, str]:
    """Two tokens, as a list or, in early files, as a text with a space."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not (isinstance(parts, list) and len(parts) == 2 and all(
        isinstance(part, str) and part for part in parts
    )):  # fmt: skip
        raise ConfigError(f"a merge must be two tokens, got {merge!r:.60}")
    return parts[0], parts[1]


def _added(file: Part, ids: Mapping[str, int]) -> list[Added]:
    """The tokens that are looked for before the model; each has one id."""
    found: dict[str, Added] = {}
    entries = file.get("added_tokens")
    for entry in a_list([] if entries is None else entries, "added_tokens"):
        entry = an_object(entry, "an added token")
        text = text_of(entry, "content", "an added token")
        where = f"the added token {text!r:.40}"
        token = Added(
            text, whole(entry, "id", where), flag(entry, "special", where),
            flag(entry, "normalized", where), flag(entry, "lstrip", where),
            flag(entry, "rstrip", where),
        )  # fmt: skip
        if flag(entry, "single_word", where):
            raise ConfigError(f"{where} is single_word, which isn't read")
        if not text or text in found or ids.get(text, token.id) != token.id:
            raise ConfigError(f"{where} is empty, comes twice, or has the id {ids.get(text)} too")
        found[text] = token
    check_distinct({**ids, **{text: token.id for text, token in found.items()}})
    return list(found.values())


def _joined(ids: Mapping[str, int], added: list[Added], joining: dict[str, Any]) -> dict[str, Any]:
    """Say what tokens stand for, and how they become text."""
    names = {**ids, **{token.text: token.id for token in added}}
    written: dict[int, str] = {}
    for token, at in names.items():
        written[at] = token
        for old, new in joining["replace"]:
            written[at] = written[at].replace(old, new)
    fallback, drop = joining.get("byte_fallback", False), joining.get("drop")
    tokens = {at: text.encode() for at, text in written.items()}
    single: dict[int, bytes] = {}
    if fallback:
        found = ((at, byte_of(text)) for at, text in written.items())
        single = {at: byte for at, byte in found if byte is not None}
    first = {at: name.replace(drop, "").encode() for name, at in names.items() if drop}
    strip, count = joining.get("strip", "").encode(), joining.get("count", 0)
    return {
        "tokens": tokens | single,
        "joining": Joining(strip, count, first, frozenset(single)),
    }


def _all_ids(ids: Mapping[str, int], added: list[Added]) -> set[int]:
    return {*ids.values(), *(token.id for token in added)}


def _start(file: Part, ids: set[int]) -> tuple[int, ...]:
    """Ids that the file's template puts before one text."""
    found: list[int] = []
    for step in parts_of(file.get("post_processor"), "post_processor", ("processors",)):
        refuse_kind(step, "post_processor", ("ByteLevel", "TemplateProcessing"))
        if step["type"] == "ByteLevel":  # which changes no id
            continue
        named = an_object(step.get("special_tokens"), "a template's special_tokens")
        for part in a_list(step.get("single"), "a template"):
            part = an_object(part, "a template's part")
            if "SpecialToken" not in part:
                break
            name = text_of(an_object(part["SpecialToken"], "a special token"), "id", "a template")
            told = an_object(named.get(name), f"the template's {name!r:.40}")
            for at in a_list(told.get("ids"), f"the template's {name!r:.40}"):
                if isinstance(at, bool) or not isinstance(at, int) or at not in ids:
                    raise ConfigError(f"the template's {name!r:.40} has {at!r:.40}, no token's id")
                found.append(at)
    return tuple(found)
