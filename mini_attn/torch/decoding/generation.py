"""Generation: prefill, the cached step, greedy and sampled continuations, beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Transaction
from mini_attn.caching.validation import check_caches, need_caches
from mini_attn.config import check_room, check_sampling, check_stop
from mini_attn.errors import CacheStateError, ConfigError, ShapeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch._module import check_token_ids, check_whole
from mini_attn.torch.decoding.sampling import sample_token
from mini_attn.torch.layers.decoder import Decoder

__all__ = ["beam_search", "decode_step", "generate", "prefill"]


def _check_model(model: Any) -> None:
    """Refuse what is no decoder of this backend."""
    if not isinstance(model, Decoder):
        raise ConfigError(f"model must be a {Decoder.__module__}.Decoder, got {type(model)}")


def _padded_positions(
    tokens: Tensor, lengths: Tensor | None, caches: Sequence[Any] | None
) -> Tensor | None:
    """Positions (batch, seq) that count from 0 after each row's padding; -1 within it."""
    if lengths is None:
        return None
    seq = named_shapes(tokens=(tokens, "batch seq"), lengths=(lengths, "batch"))["seq"]
    check_whole("lengths", lengths)
    if bool((lengths < 1).any()) or bool((lengths > seq).any()):
        raise ConfigError(f"lengths must lie in 1 … seq = {seq}, got {lengths.tolist()!s:.80}")
    if caches and caches[0].slots:
        raise CacheStateError(f"lengths pads empty caches, here {caches[0].slots} slots are filled")
    count = torch.arange(seq, device=tokens.device)
    return (count - (seq - lengths[:, None])).clamp(min=-1)


def _check_room(
    model: Decoder,
    caches: Sequence[Any],
    tokens: Tensor,
    positions: Tensor | None,
    *,
    new: int,
) -> None:
    """Refuse before the first step what a later one would have no room for."""
    if positions is None:
        longest = tokens.shape[1] + max((int(cache.length.max()) for cache in caches), default=0)
    else:
        longest = int(positions.max()) + 1
    check_room(model.config, caches, prompt=tokens.shape[1], new=new, longest=longest)


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
    _check_model(model)
    need_caches(caches)
    seq = named_shapes(tokens=(tokens, "batch seq"))["seq"]
    step = seq if chunk is None else check_count("chunk", chunk)
    positions = _padded_positions(tokens, lengths, caches)
    fitting = model._check(tokens, caches, positions)
    transaction = Transaction()  # all chunks or none
    for start in range(0, seq, step):
        part = slice(start, start + step)
        given = None if positions is None else positions[:, part]
        logits = model._run(tokens[:, part], fitting, given, transaction, True)
    transaction.commit()
    return logits


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
    _check_model(model)
    need_caches(caches)
    if named_shapes(token=(token, "batch seq"))["seq"] != 1:
        raise ShapeError(f"token must be (batch, 1), got shape {tuple(token.shape)}")
    return model(token, caches=caches, last_only=True)


def _check_unread(caches: Sequence[Any] | None, **options: Any) -> None:
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


def _choose(logits: Tensor, choice: dict[str, Any]) -> Tensor:
    """The likeliest token of each row, or one drawn."""
    if choice["temperature"] is None:
        return logits.argmax(dim=-1)
    return sample_token(logits, **choice)


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
    _check_model(model)
    check_token_ids(tokens)
    check_count("max_new_tokens", max_new_tokens, least=0)
    if step is not None and not callable(step):
        raise ConfigError(f"step must be callable as (model, token, caches), got {step!r:.60}")
    _check_unread(caches, chunk=chunk, step=step)
    if caches is not None:
        need_caches(caches)
        check_caches(caches, model.config.n_layers, len(tokens))
    stops = check_stop("stop_token", stop_token, model.config.vocab_size)
    positions = _padded_positions(tokens, lengths, caches)
    _check_room(model, caches or (), tokens, positions, new=max_new_tokens)
    choice = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "generator": generator}
    _check_choice(choice)
    out = torch.cat([tokens, tokens.new_zeros(len(tokens), max_new_tokens)], dim=1)
    stopped = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    ending = torch.tensor(stops, dtype=tokens.dtype, device=tokens.device)
    for end in range(tokens.shape[1], out.shape[1]):
        if caches is None:
            logits = model(out[:, :end], positions=positions, last_only=True)
        elif end == tokens.shape[1]:
            logits = prefill(model, tokens, caches, lengths=lengths, chunk=chunk)
        else:
            logits = (step or decode_step)(model, out[:, end - 1 : end], caches)
        out[:, end] = _choose(logits, choice)
        if stops:  # asks the device in every step; without them none is asked
            # A row that has ended goes on with the token that ended it.
            out[:, end] = torch.where(stopped, out[:, end - 1], out[:, end])
            stopped |= torch.isin(out[:, end], ending)
            if bool(stopped.all()):
                out[:, end:] = out[:, end : end + 1]
                break
        if positions is not None:
            positions = torch.cat([positions, positions[:, -1:] + 1], dim=1)
    return out


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
    _check_model(model)
    check_token_ids(tokens)
    check_count("n_beams", n_beams)
    check_count("max_new_tokens", max_new_tokens, least=0)
    rows = tokens.repeat_interleave(n_beams, dim=0)  # the beams of a prompt lie below each other
    if caches is not None:
        need_caches(caches)
        check_caches(caches, model.config.n_layers, len(rows))
    positions = _padded_positions(tokens, lengths, caches)
    if lengths is not None and positions is not None:
        lengths = lengths.repeat_interleave(n_beams)
        positions = positions.repeat_interleave(n_beams, dim=0)
    _check_room(model, caches or (), rows, positions, new=max_new_tokens)
    scores = torch.full(
        (len(tokens), n_beams), float("-inf"), dtype=torch.float64, device=tokens.device
    )
    scores[:, 0] = 0.0  # all beams begin equal: only the first counts
    for step in range(max_new_tokens):
        if caches is None:
            logits = model(rows, positions=positions, last_only=True)
        elif step == 0:
            logits = prefill(model, rows, caches, lengths=lengths)
        else:
            logits = decode_step(model, rows[:, -1:], caches)
        scores, origin, token = _best(logits, scores)
        rows = torch.cat([rows[origin], token[:, None].to(rows.dtype)], dim=1)
        if positions is not None:
            positions = torch.cat([positions, positions[:, -1:] + 1], dim=1)
        if caches is not None and step + 1 < max_new_tokens:
            for cache in caches:
                cache.reorder(origin)
    return rows.reshape(len(tokens), n_beams, -1), scores


def _best(logits: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest continuations: scores (batch, n_beams), rows they continue, tokens."""
    batch, n_beams = scores.shape
    steps = logits.double().log_softmax(dim=-1).reshape(batch, n_beams, -1)
    vocab_size = steps.shape[2]
    total = (scores[:, :, None] + steps).reshape(batch, -1)
    ordered, order = total.sort(dim=1, descending=True, stable=True)
    best = order[:, :n_beams]
    origin = best // vocab_size + n_beams * torch.arange(batch, device=best.device)[:, None]
    return ordered[:, :n_beams], origin.flatten(), (best % vocab_size).flatten()
