"""Generation: prefill, the cached step, greedy and sampled continuations, beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mini_attn.decoding import Generation
from mini_attn.torch._module import check_token_ids, check_whole, exact_device
from mini_attn.torch.decoding.sampling import sample_token
from mini_attn.torch.layers._pass import unwrapped
from mini_attn.torch.layers.decoder import Decoder

__all__ = ["beam_search", "decode_step", "generate", "prefill"]


@torch.no_grad()
def prefill(
    model: Decoder,
    tokens: Tensor,
    caches: Sequence[Any],
    *,
    lengths: Tensor | None = None,
    chunk: int | None = None,
) -> Tensor:
    """Process the whole prompt and fill the caches.

    ``logits = model(tokens)[:, -1]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer tensor (batch, seq)
        The prompts, aligned at their ends.
    caches : list of caches
        One per layer; the prompt is appended.
    lengths : integer tensor (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.
    chunk : int or None
        Tokens to process at a time; None takes all at once.

    Returns
    -------
    tensor (batch, vocab_size)
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

    PyTorch: no gradients are kept.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prefill(model, torch.tensor([[3, 1, 4]]), model.new_caches(1, 8)).shape
    torch.Size([1, 16])
    """
    return _GENERATION.prefill(model, tokens, caches, lengths=lengths, chunk=chunk)


@torch.no_grad()
def decode_step(model: Decoder, token: Tensor, caches: Sequence[Any]) -> Tensor:
    """Process one more token of each row, reading the past from the caches.

    ``logits = model(token)[:, 0]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    token : integer tensor (batch, 1)
        The latest token of each row.
    caches : list of caches
        One per layer; the token is appended.

    Returns
    -------
    tensor (batch, vocab_size)
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

    PyTorch: no gradients are kept.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> decode_step(model, torch.tensor([[3]]), model.new_caches(1, 8)).shape
    torch.Size([1, 16])
    """
    return _GENERATION.decode_step(model, token, caches)


@torch.no_grad()
def generate(
    model: Decoder,
    tokens: Tensor,
    *,
    max_new_tokens: int,
    caches: Sequence[Any] | None = None,
    lengths: Tensor | None = None,
    chunk: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    stop_token: int | Sequence[int] | None = None,
    step: Callable[..., Tensor] | None = None,
) -> Tensor:
    """Append the likeliest token, or one drawn by chance, again and again.

    ``tokens = concatenate(tokens, argmax(logits))``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer tensor (batch, seq)
        The prompts, aligned at their ends.
    max_new_tokens : int
        Tokens to append to each row.
    caches : list of caches or None
        One per layer, with room for ``seq + max_new_tokens - 1`` more tokens; None recomputes
        all tokens in every step.
    lengths : integer tensor (batch,) or None
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
    integer tensor (batch, seq + max_new_tokens)
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> prompt = torch.tensor([[3, 1, 4]])
    >>> generate(model, prompt, max_new_tokens=2, caches=model.new_caches(1, 4)).shape
    torch.Size([1, 5])
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


@torch.no_grad()
def beam_search(
    model: Decoder,
    tokens: Tensor,
    *,
    n_beams: int,
    max_new_tokens: int,
    caches: Sequence[Any] | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Keep the ``n_beams`` likeliest continuations of each prompt, step by step.

    ``score(tokens) = sum of log softmax(logits)[next token]``

    Parameters
    ----------
    model : Decoder
        The decoder.
    tokens : integer tensor (batch, seq)
        The prompts, aligned at their ends.
    n_beams : int
        Continuations to keep of each prompt.
    max_new_tokens : int
        Tokens to append.
    caches : list of caches or None
        One per layer, for ``batch * n_beams`` sequences; None recomputes all tokens in every
        step.
    lengths : integer tensor (batch,) or None
        Real tokens of each row, at its end; what is before them is padding. None means all.

    Returns
    -------
    tuple of tensors (tokens, scores)
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.torch import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> model = Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
    >>> found, scores = beam_search(model, torch.tensor([[3, 1]]), n_beams=3, max_new_tokens=2)
    >>> found.shape
    torch.Size([1, 3, 4])
    """
    return _GENERATION.beam_search(
        model,
        tokens,
        n_beams=n_beams,
        max_new_tokens=max_new_tokens,
        caches=caches,
        lengths=lengths,
    )


def _padded_positions(lengths: Tensor, seq: int, end: int) -> Tensor:
    """Positions that count from 0 after the padding of rows (batch, seq); -1 within it."""
    count = torch.arange(end, device=lengths.device)
    return (count - (seq - lengths[:, None])).clamp(min=-1)


def _with_room(tokens: Tensor, new: int) -> Tensor:
    """A copy of the tokens with columns for new ones."""
    return torch.cat([tokens, tokens.new_zeros(len(tokens), new)], dim=1)


def _first_scores(tokens: Tensor, n_beams: int) -> Tensor:
    """All beams of a prompt begin equal: only the first counts."""
    size, kind = (len(tokens), n_beams), torch.float64
    scores = torch.full(size, float("-inf"), dtype=kind, device=exact_device(tokens.device))
    scores[:, 0] = 0.0
    return scores


def _best(logits: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest continuations: scores (batch, n_beams), rows they continue, tokens."""
    batch, n_beams = scores.shape
    steps = logits.to(scores.device).double().log_softmax(dim=-1).reshape(batch, n_beams, -1)
    vocab_size = steps.shape[2]
    total = (scores[:, :, None] + steps).reshape(batch, -1)
    ordered, order = total.sort(dim=1, descending=True, stable=True)
    best = order[:, :n_beams]
    origin = best // vocab_size + n_beams * torch.arange(batch, device=best.device)[:, None]
    rows, tokens = (found.flatten().to(logits.device) for found in (origin, best % vocab_size))
    return ordered[:, :n_beams], rows, tokens


_GENERATION = Generation(
    Decoder,
    unwrapped,
    check_token_ids,
    check_whole,
    padded_positions=_padded_positions,
    with_room=_with_room,
    sample_token=sample_token,
    repeated=partial(torch.repeat_interleave, dim=0),
    first_scores=_first_scores,
    best=_best,
)
