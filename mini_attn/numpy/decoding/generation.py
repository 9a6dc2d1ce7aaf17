"""Generation: prefill, the cached step, greedy and sampled continuations, beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.decoding import Generation
from mini_attn.numpy._module import check_token_ids, check_whole
from mini_attn.numpy.attention.softmax import logsumexp
from mini_attn.numpy.decoding.sampling import sample_token
from mini_attn.numpy.layers._pass import unwrapped
from mini_attn.numpy.layers.decoder import Decoder

__all__ = ["beam_search", "decode_step", "generate", "prefill"]

Array = NDArray[Any]


def prefill(
    model: Decoder,
    tokens: Array,
    caches: Sequence[Any],
    *,
    lengths: Array | None = None,
    chunk: int | None = None,
) -> Array:
    """Process the whole prompt and fill the caches.

    ``logits = model(tokens)[:, -1]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer array (batch, seq)
        The prompts, aligned at their ends.
    caches : list of caches
        One per layer; the prompt is appended.
    lengths : integer array (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.
    chunk : int or None
        Tokens to process at a time; None takes all at once.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the token after the prompt.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or lengths are not int32 or int64.
    ConfigError
        If the model is no decoder of this backend, a token is out of range, a length is not
        1 to seq, or caches do not fit the layers.
    CacheOverflowError
        If the prompt does not fit. After any error the caches are as they were.
    CacheStateError
        If there are lengths and the caches are not empty.

    Notes
    -----
    Logits are computed for the last token only. A second call continues after the first.
    Chunks bound the memory of what lies between the layers, and change nothing else: all of
    them are in the caches at the end, or none.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prefill(model, np.array([[3, 1, 4]]), model.new_caches(1, 8)).shape
    (1, 16)
    """
    return _GENERATION.prefill(model, tokens, caches, lengths=lengths, chunk=chunk)


def decode_step(model: Decoder, token: Array, caches: Sequence[Any]) -> Array:
    """Process one more token of each row, reading the past from the caches.

    ``logits = model(token)[:, 0]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    token : integer array (batch, 1)
        The latest token of each row.
    caches : list of caches
        One per layer; the token is appended.

    Returns
    -------
    array (batch, vocab_size)
        Logits of the token after it.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If the tokens are not int32 or int64.
    ConfigError
        If the model is no decoder of this backend, a token or its position is out of range, or
        caches do not fit the layers.
    CacheOverflowError
        If a cache is full. After any error the caches are as they were.

    Notes
    -----
    The cost of everything but attention is that of one token, however long the past.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> decode_step(model, np.array([[3]]), model.new_caches(1, 8)).shape
    (1, 16)
    """
    return _GENERATION.decode_step(model, token, caches)


def generate(
    model: Decoder,
    tokens: Array,
    *,
    max_new_tokens: int,
    caches: Sequence[Any] | None = None,
    lengths: Array | None = None,
    chunk: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: np.random.Generator | None = None,
    stop_token: int | Sequence[int] | None = None,
    step: Callable[..., Array] | None = None,
) -> Array:
    """Append the likeliest token, or one drawn by chance, again and again.

    ``tokens = concatenate(tokens, argmax(logits))``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer array (batch, seq)
        The prompts, aligned at their ends.
    max_new_tokens : int
        Tokens to append to each row.
    caches : list of caches or None
        One per layer, with room for ``seq + max_new_tokens - 1`` more tokens; None recomputes
        all tokens in every step.
    lengths : integer array (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.
    chunk : int or None
        Tokens of the prompt to process at a time; None takes all at once.
    temperature : float or None
        Divides the logits before a token is drawn; None takes the likeliest.
    top_k : int or None
        Draw among so many likeliest tokens; None does not limit.
    top_p : float or None
        Draw among the likeliest tokens that together reach this probability; None does not limit.
    generator : random generator of the backend, or None
        Where chance comes from; None draws anew each time.
    stop_token : int, sequence of int, or None
        A row that has produced one of them gets nothing else; once all have, no more is computed.
    step : callable (model, token, caches) -> logits, or None
        What processes one more token; None is `decode_step`.

    Returns
    -------
    integer array (batch, seq + max_new_tokens)
        The prompts and what follows them.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or lengths are not int32 or int64.
    ConfigError
        If the model is no decoder of this backend, a number is out of range, there is not one
        cache per layer, or the result would exceed ``max_positions``.
    CacheOverflowError
        If prompt and new tokens do not fit; nothing is written.
    CacheStateError
        If there are lengths and the caches are not empty.

    Notes
    -----
    The last new token is returned but not processed, so it takes no slot. With a
    ``stop_token`` the result always has its full length, each row filled up with the token
    that ended it. Each step is a transaction of its own: after an error, or Ctrl-C, the caches
    hold the tokens of the steps that were done.

    References
    ----------
    radford2019gpt2, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prompt = np.array([[3, 1, 4]])
    >>> generate(model, prompt, max_new_tokens=2, caches=model.new_caches(1, 4)).shape
    (1, 5)
    """
    return _GENERATION.generate(
        model,
        tokens,
        max_new_tokens=max_new_tokens,
        caches=caches,
        lengths=lengths,
        chunk=chunk,
        choice={"temperature": temperature, "top_k": top_k, "top_p": top_p, "generator": generator},
        stop_token=stop_token,
        step=step,
    )


def beam_search(
    model: Decoder,
    tokens: Array,
    *,
    n_beams: int,
    max_new_tokens: int,
    caches: Sequence[Any] | None = None,
    lengths: Array | None = None,
) -> tuple[Array, Array]:
    """Keep the ``n_beams`` likeliest continuations of each prompt, step by step.

    ``score(tokens) = sum of log softmax(logits)[next token]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer array (batch, seq)
        The prompts, aligned at their ends.
    n_beams : int
        Continuations to keep of each prompt.
    max_new_tokens : int
        Tokens to append.
    caches : list of caches or None
        One per layer, for ``batch * n_beams`` sequences; None recomputes all tokens in every
        step.
    lengths : integer array (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.

    Returns
    -------
    tuple of arrays (tokens, scores)
        (batch, n_beams, seq + max_new_tokens), the likeliest first, and the log-probabilities
        of what was appended (batch, n_beams) in float64; ``-inf`` where there are fewer
        continuations than beams.

    Raises
    ------
    ShapeError
        If a shape is wrong.
    DTypeError
        If tokens or lengths are not int32 or int64.
    ConfigError
        If the model is no decoder of this backend, a number is out of range, there is not one
        cache per layer, or the result would exceed ``max_positions``.
    CacheOverflowError
        If prompt and new tokens do not fit; nothing is written.
    CacheStateError
        If there are lengths and the caches are not empty.

    Notes
    -----
    In each step the caches are reordered, so that each beam continues the one it came from.
    The prompt is processed once per beam.

    References
    ----------
    sutskever2014sequence, section 3.2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> found, scores = beam_search(model, np.array([[3, 1]]), n_beams=3, max_new_tokens=2)
    >>> found.shape
    (1, 3, 4)
    """
    return _GENERATION.beam_search(
        model,
        tokens,
        n_beams=n_beams,
        max_new_tokens=max_new_tokens,
        caches=caches,
        lengths=lengths,
    )


def _padded_positions(lengths: Array, seq: int, end: int) -> Array:
    """Positions that count from 0 after the padding of rows (batch, seq); -1 within it."""
    return np.asarray(np.maximum(np.arange(end) - (seq - lengths[:, None]), -1))


def _with_room(tokens: Array, new: int) -> Array:
    """A copy of the tokens with columns for new ones."""
    return np.concatenate([tokens, np.zeros((len(tokens), new), tokens.dtype)], axis=1)


def _first_scores(tokens: Array, n_beams: int) -> Array:
    """All beams of a prompt begin equal: only the first counts."""
    scores = np.full((len(tokens), n_beams), -np.inf)
    scores[:, 0] = 0.0
    return scores


def _best(logits: Array, scores: Array) -> tuple[Array, Array, Array]:
    """The likeliest continuations: scores (batch, n_beams), rows they continue, tokens."""
    batch, n_beams = scores.shape
    wide = logits.astype(np.float64)
    steps = (wide - logsumexp(wide)[:, None]).reshape(batch, n_beams, -1)
    vocab_size = steps.shape[2]
    total = (scores[:, :, None] + steps).reshape(batch, -1)
    best = np.argsort(-total, axis=1, kind="stable")[:, :n_beams]
    origin = best // vocab_size + n_beams * np.arange(batch)[:, None]
    return np.take_along_axis(total, best, axis=1), origin.ravel(), (best % vocab_size).ravel()


_GENERATION = Generation(
    Decoder,
    unwrapped,
    check_token_ids,
    check_whole,
    padded_positions=_padded_positions,
    with_room=_with_room,
    sample_token=sample_token,
    repeated=partial(np.repeat, axis=0),
    first_scores=_first_scores,
    best=_best,
)
