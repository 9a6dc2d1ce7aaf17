"""Choosing the next token by chance: temperature, the likeliest few, and a draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import check_sampling
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy.softmax import softmax
from mini_attn.shapes import named_shapes

__all__ = ["filter_logits", "sample_token"]

Array = NDArray[Any]


def check_logits(logits: Array) -> None:
    """Refuse what is no floating-point (batch, vocab_size)."""
    sizes = named_shapes(logits=(logits, "batch vocab_size"))
    if not logits.dtype.kind == "f":
        raise DTypeError(f"logits must be floating point, got {logits.dtype}")
    if not sizes["vocab_size"]:
        raise ShapeError(f"logits must not be empty, got shape {tuple(logits.shape)}")


def filter_logits(
    logits: Array,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Array:
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
    >>> import numpy as np
    >>> filter_logits(np.array([[1.0, 3.0, 2.0]]), top_k=2)
    array([[-inf,   3.,   2.]])
    """
    check_logits(logits)
    check_sampling(temperature, top_k, top_p)
    wide = logits.astype(np.float32) if logits.dtype == np.float16 else logits
    scores = np.asarray(wide / temperature)
    if top_k is not None and top_k < scores.shape[-1]:
        least = np.partition(scores, -top_k, axis=-1)[:, -top_k][:, None]
        scores = np.where(scores < least, -np.inf, scores)
    if top_p is not None:
        order = np.argsort(-scores, axis=-1, kind="stable")
        likely = softmax(np.take_along_axis(scores, order, axis=-1))
        before = np.cumsum(likely, axis=-1) - likely  # probability of all likelier tokens
        kept = np.zeros(scores.shape, bool)
        np.put_along_axis(kept, order, before < top_p, axis=-1)
        scores = np.where(kept, scores, -np.inf)
    return scores


def sample_token(
    logits: Array,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: np.random.Generator | None = None,
) -> Array:
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
    >>> import numpy as np
    >>> sample_token(np.array([[0.0, 50.0], [50.0, 0.0]]))
    array([1, 0])
    """
    scores = filter_logits(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    if generator is None:
        generator = np.random.default_rng()
    # A token is drawn where a uniform number falls among the summed probabilities.
    total = np.cumsum(softmax(scores.astype(np.float64)), axis=-1)
    falls = generator.random((len(total), 1)) * total[:, -1:]
    return np.asarray((total > falls).argmax(axis=-1))
