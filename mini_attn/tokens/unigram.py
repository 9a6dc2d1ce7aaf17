"""Unigram: of all ways to cut a piece into tokens, the likeliest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._alphabet import BYTE_TOKENS
from mini_attn.tokens._text_steps import Steps, metaspace
from mini_attn.tokens.byte_pairs import checked_ids
from mini_attn.tokens.character_pairs import SPACE, byte_ids, piece_bytes
from mini_attn.tokens.tokenizer import Added, Joining, Tokenizer

__all__ = ["Unigram"]

_UNKNOWN_COSTS = 10.0  # below the least likely token, as SentencePiece has it
_Node = dict[str, Any]  # the next characters; under "" the id of the token that ends here


class Unigram(Tokenizer):
    """Tokens with a logarithm of their probability; a text is cut so that their sum is largest.

    ``best[end] = max over tokens text[start:end] of best[start] + log_probability[token]``

    Parameters
    ----------
    vocabulary : sequence of (str, float)
        Tokens with their log probabilities, in the order of their ids; a space is "▁".
    unknown : str
        The token of characters that have none; several in a row are one token.
    byte_fallback : bool
        Whether such characters are encoded as their bytes instead, if all of those are there.
    special : iterable of str
        Tokens of the vocabulary that only `allowed_special` finds in a text.

    Raises
    ------
    ConfigError
        If a token comes twice, its score is no number, or the unknown or a special one is missing.
    DTypeError
        If tokens are no text.

    Notes
    -----
    A text gets a "▁" in front and is cut before each. A piece of n characters takes n steps of
    at most the longest token's length. Of equal sums, the one found first stays, that of the
    longest last token; so do ``tokenizers``. Unlike there, text never gives a special token.

    References
    ----------
    kudo2018unigram, section 3.2

    Examples
    --------
    >>> from mini_attn.tokens import Unigram
    >>> pieces = [("<unk>", 0.0), ("▁", -2.0), ("a", -2.0), ("b", -3.0), ("▁ab", -4.5)]
    >>> tokenizer = Unigram([*pieces, ("ba", -4.0)], special=["<unk>"])
    >>> [tokenizer.token_bytes(token) for token in tokenizer.encode("abba")]
    [b' ab', b'ba']
    """

    def __init__(
        self,
        vocabulary: Sequence[tuple[str, float]],
        *,
        unknown: str = "<unk>",
        byte_fallback: bool = False,
        special: Iterable[str] = (),
    ) -> None:
        ids, scores = checked_scores(vocabulary)
        for token in (unknown, *special):
            if token not in ids:
                raise ConfigError(f"the token {token!r:.40} is needed, but isn't there")
        self._set_up(
            ids, scores, ids[unknown], fallback=byte_fallback, tokens=piece_bytes(ids),
            added=[Added(text, ids[text]) for text in special],
            steps=Steps(cuts=(metaspace(SPACE, "always", True),)),
            joining=Joining(b" ", 1, byte_ids=byte_ids(ids) if byte_fallback else frozenset()),
        )  # fmt: skip

    def _set_up(
        self,
        ids: dict[str, int],
        scores: Sequence[float],
        unknown: int | None,
        *,
        fallback: bool,
        added: list[Added],
        tokens: dict[int, bytes],
        **around: Any,
    ) -> None:
        """From what was checked; special tokens aren't looked for."""
        super().__init__(tokens, added=added, **around)
        self._scores, self._unknown = scores, unknown
        self._ids = {token: at for token, at in ids.items() if token not in self.special}
        self._unknown_score = min(scores, default=0.0) - _UNKNOWN_COSTS
        bytes_there = fallback and all(token in ids for token in BYTE_TOKENS)
        self._fallback = [ids[token] for token in BYTE_TOKENS] if bytes_there else None
        self._tree: _Node = {}
        for token, at in self._ids.items():
            node = self._tree
            for character in token:
                node = node.setdefault(character, {})
            node[""] = at

    def _piece_ids(self, piece: str) -> list[int]:
        ids: list[int] = []
        waiting = ""  # characters without a token, one after another
        for start, end, token in self._best_cuts(piece):
            if token is None or token == self._unknown:
                waiting += piece[start:end]
                continue
            ids += [*self._without(waiting), token]
            waiting = ""
        return ids + self._without(waiting)

    def _best_cuts(self, piece: str) -> list[tuple[int, int, int | None]]:
        """Start, end and token of each part of the best way to cut; None where nothing is known."""
        best = [0.0] + [-math.inf] * len(piece)
        came: list[tuple[int, int | None] | None] = [None] * (len(piece) + 1)
        for start in range(len(piece)):
            node, alone = self._tree, False
            for end in range(start + 1, len(piece) + 1):
                if piece[end - 1] not in node:
                    break
                node = node[piece[end - 1]]
                token = node.get("")
                if token is not None:
                    alone |= end == start + 1
                    sum_so_far = best[start] + self._scores[token]
                    if came[end] is None or sum_so_far > best[end]:
                        best[end], came[end] = sum_so_far, (start, token)
            if not alone:
                sum_so_far = best[start] + self._unknown_score
                if came[start + 1] is None or sum_so_far > best[start + 1]:
                    best[start + 1], came[start + 1] = sum_so_far, (start, None)
        parts, end = [], len(piece)
        while end:
            start, token = came[end] or (end - 1, None)
            parts.append((start, end, token))
            end = start
        return parts[::-1]

    def _without(self, text: str) -> list[int]:
        """Ids of characters that have no token."""
        if not text:
            return []
        if self._unknown is None:
            raise ConfigError(f"no token stands for {text!r:.40}, and none for what is unknown")
        if text in self._ids:
            return [self._ids[text]]
        if self._fallback is not None:
            return [self._fallback[byte] for byte in text.encode()]
        return [self._unknown]


def checked_scores(vocabulary: Any) -> tuple[dict[str, int], list[float]]:
    """Ids and scores by place; every token is text and comes once, every score is finite."""
    ids: dict[str, int] = {}
    scores = []
    try:
        pairs = [(token, score) for token, score in vocabulary]
    except (TypeError, ValueError):
        raise DTypeError("a vocabulary must hold pairs of a token and its score") from None
    for at, (token, score) in enumerate(pairs):
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise DTypeError(f"the score of {token!r:.40} must be a number, got {score!r:.40}")
        if not abs(score) < 1e300:  # so that no sum of them is infinite
            raise ConfigError(f"the score of {token!r:.40} must be finite, got {score!r:.40}")
        if not isinstance(token, str):
            raise DTypeError(f"a token must be text, got {token!r:.40}")
        if token in ids:
            raise ConfigError(f"the token {token!r:.40} comes twice, as {ids[token]} and {at}")
        ids[token] = at
        scores.append(float(score))
    return checked_ids(ids, str), scores
