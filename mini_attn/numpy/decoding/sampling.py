"""Choosing the next token by chance: temperature, the likeliest few, and a draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import check_sampling
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy.attention.softmax import softmax
from mini_attn.shapes import named_shapes

__all__ = ["filter_logits", "sample_token"]

Array = NDArray[Any]


def check_logits(logits: Array) -> Array:
    """The greatest of each row (batch, 1); refuse what is no (batch, vocab_size) of numbers."""
    sizes = named_shapes(np.ndarray, logits=(logits, "batch vocab_size"))
    if not logits.dtype.kind == "f":
        raise DTypeError(f"logits must be floating point, got {logits.dtype}")
    if not sizes["vocab_size"]:
        raise ShapeError(f"logits must not be empty, got shape {tuple(logits.shape)}")
    top = logits.max(axis=-1, keepdims=True)  # NaN where there is one in the row
    wrong = ~np.isfinite(top[:, 0])
    if wrong.any():
        row = int(wrong.argmax())
        raise ConfigError(
            "logits must be numbers, or -inf for tokens that are shut out, with a number in "
            f"each row; the greatest of row {row} is {float(top[row, 0])}"
        )
    return np.asarray(top, np.float64)


def _relative(logits: Array, top: Array, temperature: float) -> Array:
    """``(logits - top) / temperature`` in float64: 0 for the likeliest, whatever the others."""
    with np.errstate(over="ignore"):  # far behind the likeliest is -inf: it never comes
        return np.asarray((logits - top) / temperature)


def _kept(logits: Array, relative: Array, top_k: int | None, top_p: float | None) -> Array:
    """Return which tokens are likely enough."""
    kept = np.ones(logits.shape, bool)
    if top_k is not None and top_k < logits.shape[-1]:
        kept = logits >= np.partition(logits, -top_k, axis=-1)[:, -top_k][:, None]
    if top_p is not None:
        scores = np.where(kept, relative, -np.inf)
        order = np.argsort(-scores, axis=-1, kind="stable")
        likely = softmax(np.take_along_axis(scores, order, axis=-1))
        before = np.cumsum(likely, axis=-1) - likely  # probability of all likelier tokens
        kept = np.zeros(scores.shape, bool)
        np.put_along_axis(kept, order, before < top_p, axis=-1)
    return kept


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
        Scores of the next token; ``-inf`` where one is shut out.
    temperature : float
        Below 1 the likely get likelier, above 1 all come closer.
    top_k : int or None
        Number of tokens to keep, more where the last ones are equal; None keeps all.
    top_p : float or None
        Keep the likeliest tokens until their probabilities reach this sum; None keeps all.

    Returns
    -------
    array (batch, vocab_size)
        Scores in float32 or wider, ``-inf`` where a token is shut out; at least one is not. A
        row whose quotients would overflow is shifted, so that its greatest score is 0.

    Raises
    ------
    ShapeError
        If the logits are not (batch, vocab_size).
    DTypeError
        If they are not floating point.
    ConfigError
        If an option is out of range, a logit is NaN or ``inf``, or a row is ``-inf`` throughout.

    Notes
    -----
    ``top_p`` looks at the probabilities after the temperature and after ``top_k``. The token
    with which the sum reaches ``top_p`` is kept. What is kept is decided in float64 by the
    distance to the likeliest, ``(logits - max) / temperature``, which no temperature overflows.

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
    top = check_logits(logits)
    check_sampling(temperature, top_k, top_p)
    dtype = np.promote_types(logits.dtype, np.float32)
    kept = _kept(logits, _relative(logits, top, temperature), top_k, top_p)
    with np.errstate(over="ignore"):
        shift = np.where(np.isfinite((top / temperature).astype(dtype)), 0.0, top)
        scores = ((logits - shift) / temperature).astype(dtype)
    return np.where(kept, scores, dtype.type(-np.inf))


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
        Scores of the next token; ``-inf`` where one is shut out.
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
        If they are not floating point, or the generator is another kind of thing.
    ConfigError
        If an option is out of range, a logit is NaN or ``inf``, or a row is ``-inf`` throughout.

    Notes
    -----
    One uniform number per row is looked up among the summed probabilities, so that a token
    that was shut out is never drawn. Probabilities are float64, down to the smallest temperature.

    References
    ----------
    devroye1986nonuniform, section III.2

    Examples
    --------
    >>> import numpy as np
    >>> sample_token(np.array([[0.0, 50.0], [50.0, 0.0]]))
    array([1, 0])
    """
    top = check_logits(logits)
    check_sampling(temperature, top_k, top_p)
    if generator is None:
        generator = np.random.default_rng()
    if not isinstance(generator, np.random.Generator):
        raise DTypeError(
            f"generator must be a numpy.random.Generator or None, got {generator!r:.60}"
        )
    relative = _relative(logits, top, temperature)
    kept = _kept(logits, relative, top_k, top_p)
    # A token is drawn where a uniform number falls among the summed probabilities.
    total = np.cumsum(softmax(np.where(kept, relative, -np.inf)), axis=-1)
    falls = generator.random((len(total), 1)) * total[:, -1:]
    return np.asarray((total > falls).argmax(axis=-1))
