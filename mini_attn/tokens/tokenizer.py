"""What every tokenizer does around its model: special tokens, and bytes that become text."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._alphabet import WHITE, whole_characters
from mini_attn.tokens._text_steps import Steps

__all__ = ["Tokenizer"]

_KNOWN = 1 << 15  # pieces whose ids are kept
_LONGEST_KNOWN = 64  # characters


@dataclass(frozen=True)
class Added:
    """A token that is looked for in the text itself, before the model gets to see it."""

    text: str
    id: int
    special: bool = True
    normalized: bool = False  # looked for after the text was rewritten
    takes_left: bool = False  # white space beside it belongs to it
    takes_right: bool = False


@dataclass(frozen=True)
class Joining:
    """How the bytes of tokens become a text's: what its start loses, which tokens are bytes."""

    strip: bytes = b""  # may be taken from the start …
    strip_count: int = 0  # … so many times
    first: Mapping[int, bytes] = field(default_factory=dict)  # what a token is at the start
    byte_ids: frozenset[int] = frozenset()


class Tokenizer(ABC):
    """What tokenizers of every kind offer.

    ``decode(encode(text)) == text`` as far as the tokenizer keeps text as it is.

    Notes
    -----
    Every tokenizer has ``special``, the ids of the special tokens by their text, which text alone
    never gives; ``start``, the ids that its own template puts before a text, such as ``<s>``, which
    `encode` doesn't; and ``n_tokens``, the largest id plus 1: so many rows an embedding needs.

    Examples
    --------
    >>> from mini_attn.tokens import BytePairs
    >>> tokenizer = BytePairs.from_merges([(b"a", b"b")], special=["<end>"])
    >>> tokenizer.n_tokens, tokenizer.special, tokenizer.start
    (258, {'<end>': 257}, ())
    """

    def __init__(
        self,
        tokens: Mapping[int, bytes],
        *,
        added: Iterable[Added] = (),
        steps: Steps | None = None,
        joining: Joining | None = None,
        start: Iterable[int] = (),
    ) -> None:
        self._tokens, self._added = dict(tokens), tuple(added)
        self._steps, self._joining = steps or Steps(), joining or Joining()
        self.special = {token.text: token.id for token in self._added if token.special}
        self.start = tuple(start)
        self.n_tokens = max(self._tokens, default=-1) + 1
        self._known: dict[str, list[int]] = {}
        self._finders: dict[tuple[frozenset[str], bool], _Finder] = {}

    @abstractmethod
    def _piece_ids(self, piece: str) -> list[int]:
        """The ids of a piece that no special token is looked for in."""

    def encode(self, text: str, *, allowed_special: str | Iterable[str] = ()) -> list[int]:
        """Turn text into ids.

        ``ids = [id of each token of each piece]``

        Parameters
        ----------
        text : str
            Any text. Halves of a character become U+FFFD.
        allowed_special : iterable of str, or "all"
            Special tokens that the text may hold; any other one is text like all the rest.

        Returns
        -------
        list of int
            Nothing is put before or after; `start` says what a template would put before.

        Raises
        ------
        ConfigError
            If a special token isn't one.
        DTypeError
            If the text is no str.

        Examples
        --------
        >>> from mini_attn.tokens import BytePairs
        >>> tokenizer = BytePairs.from_merges([(b"a", b"a")], special=["<end>"])
        >>> tokenizer.encode("aaa<end>", allowed_special=["<end>"])
        [256, 64, 257]
        """
        if not isinstance(text, str):
            raise DTypeError(f"text must be a str, got {text!r:.60} ({type(text).__name__})")
        allowed = self._allowed(allowed_special)
        text = whole_characters(text)
        ids: list[int] = []
        first = True
        for raw, found in self._finder(allowed, normalized=False).parts(text):
            if found is not None:
                ids.append(found)
            else:
                written = self._steps.rewritten(raw)
                for part, other in self._finder(allowed, normalized=True).parts(written):
                    if other is not None:
                        ids.append(other)
                    else:
                        self._extend(ids, part, first)
                    first = False
            first = False
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        r"""Turn ids into text.

        ``text = UTF-8 of decode_bytes(ids)``

        Parameters
        ----------
        ids : iterable of int
            Ids of tokens, also of special ones.

        Returns
        -------
        str
            With U+FFFD where bytes are no UTF-8, as the originals put it: for each part of a
            broken character, or, with byte fallback, for each byte of a run that is no text.

        Raises
        ------
        ConfigError
            If no token has such an id.
        DTypeError
            If an id is no whole number.

        Examples
        --------
        >>> from mini_attn.tokens import BytePairs
        >>> tokenizer = BytePairs.from_merges([])
        >>> ids = tokenizer.encode("né")
        >>> ids, tokenizer.decode(ids), tokenizer.decode(ids[:2])
        ([77, 127, 102], 'né', 'n�')
        """
        if not self._joining.byte_ids:
            return self.decode_bytes(ids).decode("utf-8", "replace")
        out: list[str] = []
        run = bytearray()
        for part, is_byte in self._chunks(ids, whole=True):
            if is_byte:
                run += part
                continue
            out += [_of_run(bytes(run)), part.decode("utf-8", "replace")]
            run.clear()
        text = "".join([*out, _of_run(bytes(run))])
        strip = self._joining.strip.decode()
        begun = len(text) - len(text.lstrip(strip)) if strip else 0
        return text[min(begun, self._joining.strip_count) :]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        r"""Turn ids into bytes, whether they are text or not.

        ``bytes = token_bytes of each id``, without the space that some put before every text

        Parameters
        ----------
        ids : iterable of int
            Ids of tokens.

        Returns
        -------
        bytes
            What the tokens stand for.

        Raises
        ------
        ConfigError
            If no token has such an id.
        DTypeError
            If an id is no whole number.

        Examples
        --------
        >>> from mini_attn.tokens import BytePairs
        >>> BytePairs.from_merges([]).decode_bytes([127, 102])
        b'\xc3\xa9'
        """
        return b"".join(part for part, _ in self._chunks(ids))

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Turn ids into text while they come, and never give half a character.

        ``"".join(stream(ids)) == decode(ids)``, if the bytes are text

        Parameters
        ----------
        ids : iterable of int
            Ids of tokens, such as a model makes one after another.

        Yields
        ------
        str
            What the last id completes; nothing while a character lacks bytes.

        Raises
        ------
        ConfigError
            If no token has such an id.
        DTypeError
            If an id is no whole number.

        Notes
        -----
        Bytes that are no text become U+FFFD as soon as that is sure. With byte fallback, `decode`
        first waits for the whole run of them, and then may give up more.

        Examples
        --------
        >>> from mini_attn.tokens import BytePairs
        >>> tokenizer = BytePairs.from_merges([])
        >>> list(tokenizer.stream(tokenizer.encode("né!")))
        ['n', 'é', '!']
        """
        decoder = getincrementaldecoder("utf-8")("replace")
        split = bool(self._joining.byte_ids)
        for part, is_byte in self._chunks(ids):
            broken = decoder.decode(b"", final=True) if split and not is_byte else ""
            if text := broken + decoder.decode(part):
                yield text
        if text := decoder.decode(b"", final=True):
            yield text

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes that a token stands for in the middle of a text.

        ``decode_bytes(ids)`` is these, one after another

        Parameters
        ----------
        token : int
            The token's id.

        Returns
        -------
        bytes
            Which may be part of a character.

        Raises
        ------
        ConfigError
            If no token has this id.
        DTypeError
            If the id is no whole number.

        Examples
        --------
        >>> from mini_attn.tokens import BytePairs
        >>> BytePairs.from_merges([(b" ", b"a")]).token_bytes(256)
        b' a'
        """
        return self._tokens[self._checked(token)]

    def _checked(self, token: Any) -> int:
        try:
            whole = operator.index(token)
        except TypeError:
            raise DTypeError(f"an id must be a whole number, got {token!r:.60}") from None
        if whole not in self._tokens:
            raise ConfigError(
                f"no token has the id {whole}: there are {len(self._tokens)}, up to "
                f"{self.n_tokens - 1}"
            )
        return whole

    def _chunks(self, ids: Iterable[int], *, whole: bool = False) -> Iterator[tuple[bytes, bool]]:
        """Bytes of each token where it stands, and whether it stands for one byte alone."""
        joining = self._joining
        left = 0 if whole else joining.strip_count
        if not isinstance(ids, Iterable):
            raise DTypeError(f"ids must be whole numbers one after another, got {ids!r:.60}")
        for at, given in enumerate(ids):
            token = self._checked(given)
            part = self._tokens[token]
            if at == 0:
                part = joining.first.get(token, part)
            while left and part.startswith(joining.strip):
                part, left = part[len(joining.strip) :], left - 1
            if part:
                left = 0
            yield part, token in joining.byte_ids

    def _extend(self, ids: list[int], text: str, first: bool) -> None:
        for piece in self._steps.pieces(text, first):
            found = self._known.get(piece)
            if found is None:
                found = self._piece_ids(piece)
                self._keep(piece, found)
            ids += found

    def _keep(self, piece: str, ids: list[int]) -> None:
        """Keep the ids of a short piece, which will come again."""
        if len(piece) <= _LONGEST_KNOWN:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[piece] = ids

    def _allowed(self, names: str | Iterable[str]) -> frozenset[str]:
        if isinstance(names, str) and names != "all":
            raise ConfigError(
                f'allowed_special must be "all" or a list of tokens, got {names!r:.40}'
            )
        try:
            allowed = frozenset(self.special if isinstance(names, str) else names)
        except TypeError:
            raise DTypeError(
                f"allowed_special must be a list of tokens, got {names!r:.40}"
            ) from None
        if unknown := sorted(map(repr, allowed - self.special.keys())):
            known = ", ".join(sorted(self.special)) or "none"
            raise ConfigError(f"{unknown[0]:.40} is no special token; there are {known:.200}")
        return allowed

    def _finder(self, allowed: frozenset[str], *, normalized: bool) -> _Finder:
        if (allowed, normalized) not in self._finders:
            if len(self._finders) > 64:
                self._finders.clear()
            wanted = [
                token
                for token in self._added
                if token.normalized == normalized and (not token.special or token.text in allowed)
            ]
            names = {
                self._steps.rewritten(token.text) if normalized else token.text: token
                for token in wanted
            }
            self._finders[allowed, normalized] = _Finder(names)
        return self._finders[allowed, normalized]


class _Finder:
    """Looks for tokens in a text: the leftmost, and of those the longest."""

    def __init__(self, names: dict[str, Added]) -> None:
        self.names = {name: token for name, token in names.items() if name}
        ordered = sorted(self.names, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def parts(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Parts of the text in order, and the id of each that is a token."""
        end = 0
        for match in self.pattern.finditer(text) if self.pattern else ():
            token, (begin, stop) = self.names[match[0]], match.span()
            start = begin
            while token.takes_left and start > end and text[start - 1] in WHITE:
                start -= 1
            while token.takes_right and stop < len(text) and text[stop] in WHITE:
                stop += 1
            if end < start:
                yield text[end:start], None
            yield text[start:stop], token.id
            end = stop
        if end < len(text):
            yield text[end:], None


def _of_run(run: bytes) -> str:
    try:
        return run.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(run)
