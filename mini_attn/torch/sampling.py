"""Choosing the next token by chance: temperature, the likeliest few, and a draw."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import check_sampling
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import named_shapes
from mini_attn.torch._module import wide
from mini_attn.torch.softmax import softmax

__all__ = ["filter_logits", "sample_token"]


def check_logits(logits: Tensor) -> None:
    """Refuse what is no floating-point (batch, vocab_size)."""
    sizes = named_shapes(logits=(logits, "batch vocab_size"))
    if not logits.is_floating_point():
        raise DTypeError(f"logits must be floating point, got {logits.dtype}")
    if not sizes["vocab_size"]:
        raise ShapeError(f"logits must not be empty, got shape {tuple(logits.shape)}")


def filter_logits(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Divide logits by the temperature and shut out all but the likeliest tokens.

    ``out = logits / temperature if likely enough else -inf``

    Parameters
    ----------
    logits : array (batch, vocab_size)
        Scores of the next token.
    temperature : float
        Below 1 the likely get likelier, above 1 all come closer.
    top_k : int or None
        Number of tokens to keep, more where the last ones are equal; None keeps all.
    top_p : float or None
        Keep the likeliest tokens until their probabilities reach this sum; None keeps all.

    Returns
    -------
    array (batch, vocab_size)
        Scores in float32 or wider, ``-inf`` where a token is shut out; at least one is not.

    Raises
    ------
    ShapeError
        If the logits are not (batch, vocab_size).
    DTypeError
        If they are not floating point.
    ConfigError
        If an option is out of range.

    Notes
    -----
    ``top_p`` looks at the probabilities after the temperature and after ``top_k``. The token
    with which the sum reaches ``top_p`` is kept.

    References
    ----------
    holtzman2020nucleus, section 3.1
    fan2018hierarchical, section 5.4

    Examples
    --------
    >>> import torch
    >>> filter_logits(torch.tensor([[1.0, 3.0, 2.0]]), top_k=2)
    tensor([[-inf, 3., 2.]])
    """
    check_logits(logits)
    check_sampling(temperature, top_k, top_p)
    scores = wide(logits) / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        least = scores.topk(top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, float("-inf"))
    if top_p is not None:
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        likely = softmax(ordered)
        before = likely.cumsum(dim=-1) - likely  # probability of all likelier tokens
        kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order, before < top_p)
        scores = scores.masked_fill(~kept, float("-inf"))
    return scores


def sample_token(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw one token per row.

    ``probability = softmax(filter_logits(logits))``

    Parameters
    ----------
    logits : array (batch, vocab_size)
        Scores of the next token.
    temperature, top_k, top_p
        As in `filter_logits`.
    generator : random generator of the backend, or None
        Where chance comes from; None draws anew each time.

    Returns
    -------
    integer array (batch,)
        Token ids.

    Raises
    ------
    ShapeError
        If the logits are not (batch, vocab_size).
    DTypeError
        If they are not floating point.
    ConfigError
        If an option is out of range.

    Notes
    -----
    One uniform number per row is looked up among the summed probabilities, so that a token
    that was shut out is never drawn.

    References
    ----------
    devroye1986nonuniform, section III.2

    Examples
    --------
    >>> import torch
    >>> sample_token(torch.tensor([[0.0, 50.0], [50.0, 0.0]]))
    tensor([1, 0])
    """
    scores = filter_logits(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    # A token is drawn where a uniform number falls among the summed probabilities.
    total = softmax(scores.double()).cumsum(dim=-1)
    source = None if generator is None else generator.device
    falls = torch.rand(len(total), 1, generator=generator, dtype=torch.float64, device=source)
    return (total > falls.to(total.device) * total[:, -1:]).int().argmax(dim=-1)
