"""Pairs of characters, with single bytes where there's no character: Llama 2's and Gemma's kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._alphabet import BYTE_TOKENS
from mini_attn.tokens._merging import Known, merged
from mini_attn.tokens._text_steps import Steps, prepend, replace
from mini_attn.tokens.byte_pairs import checked_ids
from mini_attn.tokens.tokenizer import Added, Joining, Tokenizer

__all__ = ["CharacterPairs"]

SPACE = "▁"  # what SentencePiece writes for a space
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class CharacterPairs(Tokenizer):
    """Tokens of characters, merged as byte pairs are; SentencePiece's BPE.

    ``while neighbors are in the list: merge the leftmost of the lowest rank``

    Parameters
    ----------
    ids : mapping of str to int
        Every token with its id; a space is "▁" in it, a single byte ``<0x41>``.
    merges : iterable of pairs of str
        Which neighbors merge, the lowest rank first.
    unknown : str or None
        The token of characters that have none; several in a row are one token. None: such
        characters are encoded as their bytes, and all 256 must be there.
    special : iterable of str
        Tokens of `ids` that only `allowed_special` finds in a text.

    Raises
    ------
    ConfigError
        If bytes, the unknown token, a special token or a merge's tokens are missing, or an id
        comes twice.
    DTypeError
        If tokens are no text, or ids no whole numbers.

    Notes
    -----
    A text gets a "▁" in front, as Llama 2 has it, and loses it when it's decoded. A text with
    no cuts is one piece; it's cut before each "▁" where no merge reaches across, which changes
    no id.

    References
    ----------
    kudo2018sentencepiece

    Examples
    --------
    >>> from mini_attn.tokens import CharacterPairs
    >>> ids = {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4}
    >>> tokenizer = CharacterPairs(ids, [("▁", "a")], unknown="<unk>", special=["<unk>"])
    >>> tokenizer.encode("abba ab"), tokenizer.decode([4, 3, 3, 2, 4, 3])
    ([4, 3, 3, 2, 4, 3], 'abba ab')
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        *,
        unknown: str | None = None,
        special: Iterable[str] = (),
    ) -> None:
        ids = checked_ids(ids, str)
        added = [Added(text, _at(ids, text)) for text in special]
        steps = Steps(rewrites=(prepend(SPACE), replace(" ", SPACE)))
        self._set_up(
            ids, merges, unknown, fuse=True, whole_pieces=False, added=added, steps=steps,
            tokens=piece_bytes(ids), joining=Joining(b" ", 1, byte_ids=byte_ids(ids)),
        )  # fmt: skip

    def _set_up(
        self,
        ids: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        unknown: str | None,
        *,
        fuse: bool,
        whole_pieces: bool,
        added: list[Added],
        tokens: Mapping[int, bytes],
        **around: Any,
    ) -> None:
        """From what was checked; a special token is reached by no merge."""
        super().__init__(tokens, added=added, **around)
        special = set(self.special)
        self._ids = {token: at for token, at in ids.items() if token not in special}
        self._whole, self._fuse = whole_pieces, fuse
        self._fallback: list[int] | None = None
        self._unknown = -1
        if unknown is None:
            self._fallback = [_at(ids, token) for token in BYTE_TOKENS]
        else:
            self._unknown = _at(ids, unknown)
        self._pairs, crossing = _listed(merges, ids, special)
        self._cuts = not crossing and not whole_pieces and SPACE in self._ids

    def _piece_ids(self, piece: str) -> list[int]:
        if self._whole and piece in self._ids:
            return [self._ids[piece]]
        if not self._cuts:
            return merged(self._characters(piece), self._pairs)
        ids: list[int] = []
        for word in re.findall(f"{SPACE}*[^{SPACE}]+|{SPACE}+", piece):
            found = self._known.get(word)
            if found is None:
                found = merged(self._characters(word), self._pairs)
                self._keep(word, found)
            ids += found
        return ids

    def _characters(self, piece: str) -> list[int]:
        """The id of each character, or of its bytes, or of what is unknown."""
        ids: list[int] = []
        for character in piece:
            if character in self._ids:
                ids.append(self._ids[character])
            elif self._fallback is not None:
                ids += [self._fallback[byte] for byte in character.encode()]
            elif not (self._fuse and ids and ids[-1] == self._unknown):
                ids.append(self._unknown)
        return ids


def byte_of(token: str) -> bytes | None:
    """The byte that a token like ``<0x41>`` stands for."""
    found = _BYTE.fullmatch(token)
    return bytes([int(found[1], 16)]) if found else None


def piece_bytes(ids: Mapping[str, int]) -> dict[int, bytes]:
    """Say what each token stands for: "▁" a space, ``<0x41>`` a byte, anything else itself."""
    found = {}
    for token, at in ids.items():
        byte = byte_of(token)
        found[at] = token.replace(SPACE, " ").encode() if byte is None else byte
    return found


def byte_ids(ids: Mapping[str, int]) -> frozenset[int]:
    """The tokens that stand for a byte."""
    return frozenset(at for token, at in ids.items() if byte_of(token) is not None)


def _at(ids: Mapping[str, int], token: str) -> int:
    if token not in ids:
        raise ConfigError(f"the token {token!r:.40} is needed, but isn't there")
    return ids[token]


def _listed(
    merges: Iterable[tuple[str, str]], ids: Mapping[str, int], special: set[str]
) -> tuple[Known, bool]:
    """Rank and new id by the two ids, and whether a merge joins something to a later space."""
    found, crossing = Known(), False
    for rank, merge in enumerate(merges):
        try:
            left, right = merge
        except (TypeError, ValueError):
            raise DTypeError(f"a merge must be two tokens, got {merge!r:.60}") from None
        if not isinstance(left, str) or not isinstance(right, str):
            raise DTypeError(f"a merge must be two tokens of text, got {merge!r:.60}")
        pair, made = (_at(ids, left), _at(ids, right)), _at(ids, left + right)
        if left + right in special:
            continue
        found[pair] = rank, made
        crossing |= SPACE in (left + right).lstrip(SPACE)
    return found, crossing
