"""The loops of generation: what is checked before the first step, and what runs in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from mini_attn.caching import Transaction
from mini_attn.caching.validation import need_caches
from mini_attn.config import check_room, check_sampling, check_stop
from mini_attn.errors import CacheStateError, ConfigError, ShapeError
from mini_attn.shapes import check_count, named_shapes

__all__ = ["Generation", "check_decoder"]

Array = Any  # of either backend


def check_decoder(model: Any, decoder: type) -> None:
    """Refuse what is no decoder of a backend."""
    if not isinstance(model, decoder):
        raise ConfigError(f"model must be a {decoder.__module__}.Decoder, got {type(model)}")


def run_tokens(
    model: Any, tokens: Array, caches: Sequence[Any], positions: Array | None, chunk: int | None
) -> Array:
    """Return the logits after the last token, without checks.

    All tokens are in the caches then; after an error none is.
    """
    seq, transaction = tokens.shape[1], Transaction()
    step = chunk or seq
    for start in range(0, seq, step):
        part = slice(start, start + step)
        given = None if positions is None else positions[:, part]
        logits = model._run(tokens[:, part], caches, given, transaction, True)
    transaction.commit()
    return logits


@dataclass(frozen=True)
class Generation:
    """Prefill, decode steps, continuations and beams, with what a backend makes of arrays.

    Parameters
    ----------
    decoder : type
        The backend's decoder.
    unwrapped : callable (model) -> bool
        Whether calling a model is the decoder's own call and nothing besides.
    check_token_ids : callable (tokens) -> None
        Refuses what is no integer array (batch, seq).
    check_whole : callable (name, array) -> None
        Refuses what is no integer array.
    padded_positions : callable (lengths, seq, end) -> array (batch, end)
        Positions that count from 0 after the padding of rows (batch, seq), and -1 within it.
    with_room : callable (tokens, new) -> array (batch, seq + new)
        A copy of the tokens with columns for new ones.
    sample_token : callable (logits, **choice) -> array (batch,)
        A token of each row, drawn.
    repeated : callable (rows, n) -> array (batch * n, ...)
        Each row so many times.
    first_scores : callable (tokens, n_beams) -> array (batch, n_beams)
        0 for the first beam of each prompt and ``-inf`` for the others, as all begin equal.
    best : callable (logits, scores) -> arrays (scores, origin, token)
        The likeliest continuations of all beams of a prompt.
    """

    decoder: type
    unwrapped: Callable[[Any], bool]
    check_token_ids: Callable[[Any], None]
    check_whole: Callable[[str, Any], None]
    padded_positions: Callable[[Array, int, int], Array]
    with_room: Callable[[Array, int], Array]
    sample_token: Callable[..., Array]
    repeated: Callable[[Array, int], Array]
    first_scores: Callable[[Array, int], Array]
    best: Callable[[Array, Array], tuple[Array, Array, Array]]

    def prefill(
        self,
        model: Any,
        tokens: Array,
        caches: Any,
        *,
        lengths: Array | None,
        chunk: int | None,
    ) -> Array:
        """Process a prompt; see the backend's `prefill`."""
        check_decoder(model, self.decoder)
        need_caches(caches)
        if chunk is not None:
            check_count("chunk", chunk)
        positions = self._positions(tokens, lengths, new=0)
        fitting = model._check(tokens, caches, positions)
        _check_empty(fitting, lengths)
        return run_tokens(model, tokens, fitting, positions, chunk)

    def decode_step(self, model: Any, token: Array, caches: Any) -> Array:
        """Process one more token of each row; see the backend's `decode_step`."""
        check_decoder(model, self.decoder)
        need_caches(caches)
        if named_shapes(token=(token, "batch seq"))["seq"] != 1:
            raise ShapeError(f"token must be (batch, 1), got shape {tuple(token.shape)}")
        return model(token, caches=caches, last_only=True)

    def generate(
        self,
        model: Any,
        tokens: Array,
        *,
        max_new_tokens: int,
        caches: Any,
        lengths: Array | None,
        chunk: int | None,
        choice: dict[str, Any],
        stop_token: Any,
        step: Callable[..., Array] | None,
    ) -> Array:
        """Append token after token; see the backend's `generate`. `choice` is how one is drawn."""
        if step is not None and not callable(step):
            raise ConfigError(f"step must be callable as (model, token, caches), got {step!r:.60}")
        _check_unread(caches, chunk=chunk, step=step)
        _check_choice(choice)
        if chunk is not None:
            check_count("chunk", chunk)
        out, fitting, positions = self._begin(model, tokens, max_new_tokens, caches, lengths)
        stops = check_stop("stop_token", stop_token, model.config.vocab_size)
        seq = tokens.shape[1]
        for end in range(seq, out.shape[1]):
            if caches is None or end == seq:
                given = None if positions is None else positions[:, :end]
                logits = self._logits(model, out[:, :end], fitting, given, chunk)
            elif step is None:  # the caches know which position comes next
                logits = self._logits(model, out[:, end - 1 : end], fitting)
            else:
                logits = step(model, out[:, end - 1 : end], caches)
            drawn = choice["temperature"] is not None
            out[:, end] = self.sample_token(logits, **choice) if drawn else logits.argmax(-1)
            if stops and _all_ended(out, seq, end, stops):  # the one thing that asks a device
                break
        return out

    def beam_search(
        self,
        model: Any,
        tokens: Array,
        *,
        n_beams: int,
        max_new_tokens: int,
        caches: Any,
        lengths: Array | None,
    ) -> tuple[Array, Array]:
        """Keep the likeliest continuations; see the backend's `beam_search`."""
        check_count("n_beams", n_beams)
        out, fitting, positions = self._begin(
            model, tokens, max_new_tokens, caches, lengths, n_beams=n_beams
        )
        scores = self.first_scores(tokens, n_beams)
        seq = tokens.shape[1]
        for end in range(seq, out.shape[1]):
            if caches is None or end == seq:
                given = None if positions is None else positions[:, :end]
                logits = self._logits(model, out[:, :end], fitting, given)
            else:
                logits = self._logits(model, out[:, end - 1 : end], fitting)
            scores, origin, token = self.best(logits, scores)
            out = out[origin]
            out[:, end] = token
            if caches is not None and end + 1 < out.shape[1]:
                for cache in fitting:
                    cache.reorder(origin)
        return out.reshape(len(tokens), n_beams, -1), scores

    def _logits(
        self,
        model: Any,
        tokens: Array,
        caches: Sequence[Any],
        positions: Array | None = None,
        chunk: int | None = None,
    ) -> Array:
        """Logits after tokens that are checked: bare, or by the call of a class from outside."""
        if chunk is not None or self.unwrapped(model):
            return run_tokens(model, tokens, caches, positions, chunk)
        return model(tokens, caches=caches, positions=positions, last_only=True)

    def _begin(
        self,
        model: Any,
        tokens: Array,
        new: int,
        caches: Any,
        lengths: Array | None,
        n_beams: int | None = None,
    ) -> tuple[Array, list[Any], Array | None]:
        """Rows with room for new tokens, one cache for each layer, positions: all checked."""
        check_decoder(model, self.decoder)
        check_count("max_new_tokens", new, least=0)
        if caches is not None:
            need_caches(caches)
        positions = self._positions(tokens, lengths, new)
        if n_beams is not None:  # the beams of a prompt lie below each other
            self.check_token_ids(tokens)
            tokens = self.repeated(tokens, n_beams)
            positions = None if positions is None else self.repeated(positions, n_beams)
        given = None if positions is None else positions[:, : tokens.shape[1]]
        fitting, seq = model._check(tokens, caches, given), tokens.shape[1]
        _check_empty(fitting, lengths)
        filled = (int(cache.length.max()) for cache in fitting if cache is not None)
        longest = seq + max(filled, default=0) if lengths is None else int(lengths.max())
        check_room(model.config, caches or (), prompt=seq, new=new, longest=longest)
        return self.with_room(tokens, new), fitting, positions

    def _positions(self, tokens: Array, lengths: Array | None, new: int) -> Array | None:
        """Positions of padded prompts and of the tokens to come; None where nothing is padded."""
        if lengths is None:
            return None
        seq = named_shapes(tokens=(tokens, "batch seq"), lengths=(lengths, "batch"))["seq"]
        self.check_whole("lengths", lengths)
        if bool((lengths < 1).any()) or bool((lengths > seq).any()):
            raise ConfigError(f"lengths must lie in 1 … seq = {seq}, got {lengths.tolist()!s:.80}")
        return self.padded_positions(lengths, seq, seq + new)


def _check_empty(caches: Sequence[Any], lengths: Array | None) -> None:
    """Refuse padding behind tokens."""
    if lengths is not None and caches[0] is not None and caches[0].slots:
        raise CacheStateError(f"lengths pads empty caches, here {caches[0].slots} slots are filled")


def _check_unread(caches: Any, **options: Any) -> None:
    """Refuse options that say how caches are used where there are none."""
    given = [name for name, value in options.items() if value is not None]
    if caches is None and given:
        raise ConfigError(f"{', '.join(given)} need caches: without them all tokens run each time")


def _check_choice(choice: dict[str, Any]) -> None:
    """Refuse options of chance that are out of range, or that chance would never read."""
    temperature = choice["temperature"]
    unread = [name for name, value in choice.items() if value is not None]
    if temperature is None and unread:
        raise ConfigError(f"{', '.join(unread)} need a temperature: without it nothing is drawn")
    check_sampling(1.0 if temperature is None else temperature, choice["top_k"], choice["top_p"])


def _all_ended(out: Array, seq: int, end: int, stops: tuple[int, ...]) -> bool:
    """Let rows that have ended repeat the token that ended them; if all have, to the last column.

    A row has ended where one of its new tokens is a stop, so its latest token tells.
    """

    def ended(column: int) -> Array:
        return reduce(or_, (out[:, column] == stop for stop in stops))

    if end > seq:
        before = ended(end - 1)
        out[before, end] = out[before, end - 1]
    if not bool(ended(end).all()):
        return False
    out[:, end:] = out[:, end : end + 1]
    return True
