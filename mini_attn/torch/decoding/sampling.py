"""Choosing the next token by chance: temperature, the likeliest few, and a draw."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import check_sampling
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import named_shapes
from mini_attn.torch._module import DTYPES, exact_device
from mini_attn.torch.attention.softmax import softmax

__all__ = ["filter_logits", "sample_token"]


def exact_logits(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits and the greatest of each row (batch, 1) in float64; refuse what is none."""
    sizes = named_shapes(Tensor, logits=(logits, "batch vocab_size"))
    if str(logits.dtype).removeprefix("torch.") not in DTYPES:
        raise DTypeError(f"logits must be floating point, got {logits.dtype}")
    if not sizes["vocab_size"]:
        raise ShapeError(f"logits must not be empty, got shape {tuple(logits.shape)}")
    exact = logits.to(exact_device(logits.device)).double()
    top = exact.amax(dim=-1, keepdim=True)  # NaN where there is one in the row
    wrong = ~top[:, 0].isfinite()
    if bool(wrong.any()):
        row = int(wrong.int().argmax())
        raise ConfigError(
            "logits must be numbers, or -inf for tokens that are shut out, with a number in "
            f"each row; the greatest of row {row} is {float(top[row, 0])}"
        )
    return exact, top


def _kept(logits: Tensor, relative: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Return which tokens are likely enough."""
    kept = torch.ones_like(logits, dtype=torch.bool)
    if top_k is not None and top_k < logits.shape[-1]:
        kept = logits >= logits.topk(top_k, dim=-1).values[:, -1:]
    if top_p is not None:
        scores = relative.masked_fill(~kept, float("-inf"))
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        likely = softmax(ordered)
        before = likely.cumsum(dim=-1) - likely  # probability of all likelier tokens
        kept = torch.zeros_like(kept).scatter(-1, order, before < top_p)
    return kept


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
    logits : tensor (batch, vocab_size)
        Scores of the next token; ``-inf`` where one is shut out.
    temperature : float
        Below 1 the likely get likelier, above 1 all come closer.
    top_k : int or None
        Number of tokens to keep, more where the last ones are equal; None keeps all.
    top_p : float or None
        Keep the likeliest tokens until their probabilities reach this sum; None keeps all.

    Returns
    -------
    tensor (batch, vocab_size)
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
    >>> import torch
    >>> filter_logits(torch.tensor([[1.0, 3.0, 2.0]]), top_k=2)
    tensor([[-inf, 3., 2.]])
    """
    exact, top = exact_logits(logits)
    check_sampling(temperature, top_k, top_p)
    dtype = torch.promote_types(logits.dtype, torch.float32)
    divisor = top.new_tensor(temperature)  # a GPU multiplies by a plain number's reciprocal
    kept = _kept(exact, (exact - top) / divisor, top_k, top_p)
    shift = torch.where((top / divisor).to(dtype).isfinite(), 0.0, top)
    scores = ((exact - shift) / divisor).masked_fill(~kept, float("-inf"))
    return scores.to(logits.device, dtype)


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
    logits : tensor (batch, vocab_size)
        Scores of the next token; ``-inf`` where one is shut out.
    temperature, top_k, top_p
        As in `filter_logits`.
    generator : random generator of the backend, or None
        Where chance comes from; None draws anew each time.

    Returns
    -------
    integer tensor (batch,)
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
    >>> import torch
    >>> sample_token(torch.tensor([[0.0, 50.0], [50.0, 0.0]]))
    tensor([1, 0])
    """
    exact, top = exact_logits(logits)
    check_sampling(temperature, top_k, top_p)
    if generator is not None and not isinstance(generator, torch.Generator):
        raise DTypeError(f"generator must be a torch.Generator or None, got {generator!r:.60}")
    relative = (exact - top) / top.new_tensor(temperature)
    kept = _kept(exact, relative, top_k, top_p)
    # A token is drawn where a uniform number falls among the summed probabilities.
    total = softmax(relative.masked_fill(~kept, float("-inf"))).cumsum(dim=-1)
    source = None if generator is None else generator.device
    kind = torch.float64 if source is None or exact_device(source) == source else torch.float32
    falls = torch.rand(len(total), 1, generator=generator, dtype=kind, device=source)
    drawn = (total > falls.to(total) * total[:, -1:]).int().argmax(dim=-1)
    return drawn.to(logits.device)
