"""Byte-level byte pairs: GPT-2's kind of tokenizer, and that of most models since."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._alphabet import BYTE_ORDER, whole_characters
from mini_attn.tokens._merging import ByRank, Known, Merges, merged, steps
from mini_attn.tokens._text_steps import Steps, matches
from mini_attn.tokens.patterns import compiled, spans
from mini_attn.tokens.tokenizer import Added, Tokenizer

__all__ = ["BytePairs"]


class BytePairs(Tokenizer):
    """Tokens of bytes, found by merging the neighbors of the lowest rank first.

    ``while neighbors are in the list: merge the leftmost of the lowest rank``

    Parameters
    ----------
    ranks : mapping of bytes to int
        Every token with its id, all 256 single bytes among them.
    merges : iterable of pairs of bytes, or None
        Which neighbors merge, the lowest rank first. None: any two whose bytes together are
        a token, with that token's id as rank, and a piece that is a token is never cut, as
        ``tiktoken`` has it.
    pattern : str
        How text is cut into pieces, as in `cut`.
    special : mapping of str to int, or iterable of str
        Tokens that only `allowed_special` finds in a text; without ids they get the next ones.

    Raises
    ------
    ConfigError
        If a byte is missing, an id comes twice or is out of range, a merge's tokens aren't there,
        or the pattern can't be used.
    DTypeError
        If tokens are no bytes, or ids no whole numbers.

    Notes
    -----
    A piece of n bytes takes a time of n log n, however long it is. The ids of short pieces are
    kept. Of a merge that comes twice, the last rank counts, as in ``tokenizers``.

    References
    ----------
    sennrich2016bpe, algorithm 1
    radford2019gpt2, section 2.2

    Examples
    --------
    >>> from mini_attn.tokens import BytePairs, learn_merges
    >>> tokenizer = BytePairs.from_merges(learn_merges("low lower lowest", 3), special=["<end>"])
    >>> ids = tokenizer.encode(" lowest")
    >>> [tokenizer.token_bytes(token) for token in ids], tokenizer.n_tokens
    ([b' low', b'e', b's', b't'], 260)
    """

    def __init__(
        self,
        ranks: Mapping[bytes, int],
        merges: Iterable[tuple[bytes, bytes]] | None = None,
        *,
        pattern: str = "gpt2",
        special: Mapping[str, int] | Iterable[str] = (),
    ) -> None:
        engine = compiled(pattern)
        cut = matches(lambda text: spans(text, engine), "isolated", False)
        ids = checked_ids(ranks)
        added = [Added(text, at) for text, at in _numbered(special, ids).items()]
        self._set_up(ids, merges, merges is None, added=added, steps=Steps(cuts=(cut,)))

    def _set_up(
        self,
        ids: dict[bytes, int],
        merges: Iterable[tuple[bytes, bytes]] | None,
        whole_pieces: bool,
        *,
        added: list[Added],
        others: Mapping[int, bytes] | None = None,
        **around: Any,
    ) -> None:
        """From what was checked; `others` are tokens that no text gives."""
        tokens = {at: token for token, at in ids.items()} | dict(others or {})
        tokens = {token.id: token.text.encode() for token in added} | tokens
        super().__init__(tokens, added=added, **around)
        self._ids, self._whole = ids, whole_pieces
        if missing := [byte for byte in range(256) if bytes([byte]) not in ids]:
            raise ConfigError(
                f"tokens must have all 256 bytes, {len(missing)} are missing, the first of them "
                f"0x{missing[0]:02X}: text would be lost"
            )
        self._bytes = [ids[bytes([byte])] for byte in range(256)]
        self._pairs: Merges = ByRank(ids, tokens) if merges is None else _listed(merges, ids)

    @classmethod
    def from_merges(
        cls,
        merges: Iterable[tuple[bytes, bytes]],
        *,
        pattern: str = "gpt2",
        special: Iterable[str] = (),
    ) -> BytePairs:
        """Number the tokens that merges make: the bytes first, special tokens last.

        ``n_tokens = 256 + merges + special tokens``

        Parameters
        ----------
        merges : iterable of pairs of bytes
            As `learn_merges` gives them.
        pattern : str
            How text is cut into pieces, as in `cut`.
        special : iterable of str
            Special tokens.

        Returns
        -------
        BytePairs
            Whose first 256 ids are the bytes in the order of `BYTE_ORDER`.

        Raises
        ------
        ConfigError
            If a merge needs a token that no merge before it makes.
        DTypeError
            If a merge is no pair of bytes.

        Examples
        --------
        >>> tokenizer = BytePairs.from_merges([(b"a", b"b"), (b"ab", b"ab")])
        >>> tokenizer.encode("ababab,")
        [257, 256, 11]
        """
        ids = {bytes([byte]): at for at, byte in enumerate(BYTE_ORDER)}
        listed = [_pair(merge) for merge in merges]
        for left, right in listed:
            if left not in ids or right not in ids:
                raise ConfigError(
                    f"no merge before {left!r:.40} + {right!r:.40} makes both of them"
                )
            ids.setdefault(left + right, len(ids))
        return cls(ids, listed, pattern=pattern, special=special)

    def merge_steps(self, piece: str) -> list[tuple[list[bytes], int | None]]:
        """Show how the bytes of a piece become tokens, merge by merge.

        ``pieces -> pieces with the leftmost pair of the lowest rank merged``

        Parameters
        ----------
        piece : str
            Text that no pattern cuts here.

        Returns
        -------
        list of (list of bytes, int or None)
            The single bytes and None; then, for each merge, what is there after it and its rank.

        Raises
        ------
        DTypeError
            If the piece is no str.

        Examples
        --------
        >>> tokenizer = BytePairs.from_merges([(b"a", b"b"), (b"ab", b"c")])
        >>> for pieces, rank in tokenizer.merge_steps("abc"):
        ...     print(rank, pieces)
        None [b'a', b'b', b'c']
        0 [b'ab', b'c']
        1 [b'abc']
        """
        if not isinstance(piece, str):
            raise DTypeError(f"piece must be a str, got {piece!r:.60} ({type(piece).__name__})")
        ids = [self._bytes[byte] for byte in whole_characters(piece).encode()]
        shown: list[tuple[list[bytes], int | None]] = [(self._shown(ids), None)]
        for rank in steps(ids, self._pairs):
            shown.append((self._shown(ids), rank))
        return shown

    def _shown(self, ids: list[int]) -> list[bytes]:
        return [self._tokens[token] for token in ids if token >= 0]

    def _piece_ids(self, piece: str) -> list[int]:
        data = piece.encode()
        if self._whole and data in self._ids:
            return [self._ids[data]]
        return merged([self._bytes[byte] for byte in data], self._pairs)


def checked_ids(ranks: Mapping[Any, Any], kind: type = bytes) -> dict[Any, int]:
    """Tokens with their ids, which are whole numbers from 0 to 2**32 - 1, each once."""
    if not isinstance(ranks, Mapping):
        raise DTypeError(f"ranks must map {kind.__name__} to ids, got {type(ranks).__name__}")
    found: dict[Any, int] = {}
    for token, given in ranks.items():
        if not isinstance(token, kind):
            raise DTypeError(f"a token must be {kind.__name__}, got {token!r:.40}")
        try:
            found[token] = -1 if isinstance(given, bool) else operator.index(given)
        except TypeError:
            found[token] = -1
        half = isinstance(token, str) and whole_characters(token) != token
        if not token or half or not 0 <= found[token] < 1 << 32:
            raise ConfigError(f"no token can be {token!r:.40} with the id {given!r:.40}")
    check_distinct(found)
    return found


def check_distinct(ids: Mapping[Any, int]) -> None:
    """Refuse an id of two tokens."""
    seen: dict[int, Any] = {}
    for token, at in ids.items():
        if seen.setdefault(at, token) != token:
            raise ConfigError(f"{seen[at]!r:.40} and {token!r:.40} both have the id {at}")


def _pair(merge: Any) -> tuple[bytes, bytes]:
    try:
        left, right = merge
    except (TypeError, ValueError):
        raise DTypeError(f"a merge must be two tokens, got {merge!r:.60}") from None
    if not (isinstance(left, bytes) and isinstance(right, bytes) and left and right):
        raise DTypeError(f"a merge must be two tokens of bytes, got {merge!r:.60}")
    return left, right


def _listed(merges: Iterable[tuple[bytes, bytes]], ids: Mapping[bytes, int]) -> Known:
    """Rank and new id by the two ids; of a pair that comes twice, the last rank."""
    found = Known()
    for rank, merge in enumerate(merges):
        left, right = _pair(merge)
        for token in (left, right, left + right):
            if token not in ids:
                raise ConfigError(f"merge {rank} needs the token {token!r:.40}, which isn't there")
        found[ids[left], ids[right]] = rank, ids[left + right]
    return found


def _numbered(special: Mapping[str, int] | Iterable[str], ids: dict[bytes, int]) -> dict[str, int]:
    if isinstance(special, str):
        raise DTypeError(f"special must be a list of tokens, got the text {special!r:.40}")
    if not isinstance(special, Mapping):
        special = {text: max(ids.values(), default=-1) + 1 + at for at, text in enumerate(special)}
    found = checked_ids(special, str)
    check_distinct({**ids, **found})
    return found
