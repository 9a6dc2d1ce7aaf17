"""Weights that may go: how each is scored, and matrices and models without the least of them."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import Pattern
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import Module, check_floating
from mini_attn.numpy.attention.softmax import logsumexp
from mini_attn.numpy.compression.quantized_layers import Codes, with_each
from mini_attn.numpy.layers.basic import Linear
from mini_attn.numpy.layers.decoder import Decoder
from mini_attn.shapes import check_choice, check_number, named_shapes

__all__ = [
    "feature_norms",
    "head_scores",
    "magnitude_scores",
    "n_of_m",
    "prune_weight",
    "prune_weights",
    "wanda_scores",
]

Array = NDArray[Any]
WITHIN = ("row", "matrix")


def magnitude_scores(weight: Array) -> Array:
    """Score each weight by its size alone.

    ``scores[i, j] = |weight[i, j]|``

    Parameters
    ----------
    weight : array (rows, columns)
        A matrix, each row of which makes one output.

    Returns
    -------
    array (rows, columns)
        Not below 0, in float32 or wider.

    Raises
    ------
    ShapeError
        If there are not two axes.
    DTypeError
        If it is no floating-point array of the backend.

    Notes
    -----
    Costs no data: what comes in is not looked at.

    References
    ----------
    han2015pruning, section 3

    Examples
    --------
    >>> import numpy as np
    >>> magnitude_scores(np.array([[1.0, -2.0]]))
    array([[1., 2.]])
    """
    _check_matrix(weight=weight)
    return np.abs(_wide(weight))


def wanda_scores(weight: Array, norms: Array) -> Array:
    """Score each weight by its size and by how strong its input is.

    ``scores[i, j] = |weight[i, j]| * norms[j],  norms[j] = sqrt(sum of x[:, j] ** 2)``

    Parameters
    ----------
    weight : array (rows, columns)
        A matrix, each row of which makes one output.
    norms : array (columns,)
        Norm of each input over some tokens, as `feature_norms` measures it.

    Returns
    -------
    array (rows, columns)
        Not below 0, in float32 or wider.

    Raises
    ------
    ShapeError
        If the norms are not one for each column.
    DTypeError
        If one is no floating-point array of the backend.
    ConfigError
        If a norm is NaN or below 0.

    Notes
    -----
    The source compares them within a row, `prune_weight` with ``within="row"``: all weights of
    a row add up to the same output. A score is what the output loses, as a norm over those
    tokens, if this weight alone goes.

    References
    ----------
    sun2024wanda, section 3

    Examples
    --------
    >>> import numpy as np
    >>> wanda_scores(np.array([[1.0, -2.0]]), np.array([10.0, 1.0]))
    array([[10.,  2.]])
    """
    _check_matrix(weight=weight)
    check_floating("norms", norms)
    named_shapes(weight=(weight, "rows columns"), norms=(norms, "columns"))
    if not (norms >= 0).all():
        raise ConfigError("norms must be numbers from 0, got NaN or one below 0")
    return np.abs(_wide(weight)) * _wide(norms)


def prune_weight(weight: Array, scores: Array, share: float, *, within: str = "row") -> Array:
    """Set the weights with the lowest scores to zero.

    ``weight[i, j] = 0 where scores[i, j] is among the round(share * columns) lowest of row i``

    Parameters
    ----------
    weight : array (rows, columns)
        A matrix; it stays as it is.
    scores : array (rows, columns)
        One score for each weight, without NaN.
    share : float
        How many go, from 0 to 1.
    within : {"row", "matrix"}
        Whether a weight is compared with those of its row or with all.

    Returns
    -------
    array (rows, columns)
        A copy; ``round(share * columns)`` zeros in each row at the least, or ``round(share *
        rows * columns)`` in all.

    Raises
    ------
    ShapeError
        If weight and scores differ in shape.
    DTypeError
        If one is no floating-point array of the backend.
    ConfigError
        If the share is not within 0 and 1, ``within`` is unknown, or a score is NaN.

    Notes
    -----
    Of equal scores the first goes. The matrix takes as many bytes and as much time as before:
    zeros save something only where the format leaves them out, as `Pattern` does.

    References
    ----------
    sun2024wanda, section 3
    han2015pruning, section 3

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.array([[1.0, -2.0, 3.0, -4.0]])
    >>> prune_weight(weight, magnitude_scores(weight), 0.5)
    array([[ 0.,  0.,  3., -4.]])
    """
    _check_scores(weight, scores)
    check_share(share)
    check_choice("within", within, WITHIN)
    return _without_lowest(weight, scores, share, within)


def n_of_m(weight: Array, scores: Array, *, n: int = 2, m: int = 4) -> Array:
    """Keep the n weights with the highest scores of every m neighbors in a row.

    ``weight[i, j] = 0 where scores[i, j] is among the m - n lowest of its m neighbors``

    Parameters
    ----------
    weight : array (rows, columns)
        A matrix; it stays as it is.
    scores : array (rows, columns)
        One score for each weight, without NaN.
    n, m : int
        Weights that stay, and neighbors they are chosen from; m divides the columns.

    Returns
    -------
    array (rows, columns)
        A copy, at most ``n / m`` of it not zero.

    Raises
    ------
    ShapeError
        If weight and scores differ in shape, or m does not divide the columns.
    DTypeError
        If one is no floating-point array of the backend.
    ConfigError
        If n is not between 1 and m - 1, or a score is NaN.

    Notes
    -----
    `mini_attn.config.Pattern` says what is kept of it: 2 of 4 in 16 bits take 9 sixteenths of
    the whole matrix, as each place takes 2 bits.

    References
    ----------
    mishra2021sparse, section 3

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.array([[1.0, -2.0, 3.0, -4.0, 1.0, 0.5, 0.1, 0.2]])
    >>> n_of_m(weight, magnitude_scores(weight))
    array([[ 0. ,  0. ,  3. , -4. ,  1. ,  0.5,  0. ,  0. ]])
    """
    _check_scores(weight, scores)
    return _of_pattern(weight, scores, Pattern(n, m))


def feature_norms(model: Any, tokens: Array) -> dict[str, Array]:
    """Measure how strong each input of each matrix is while a decoder reads some tokens.

    ``norms[j] = sqrt(sum over all tokens of x[j] ** 2)``

    Parameters
    ----------
    model : Decoder
        Of the backend; it stays as it is.
    tokens : integer array (batch, seq)
        What it reads.

    Returns
    -------
    dict of str to float64 array (columns,)
        For each matrix product by its name, without ``.weight``.

    Raises
    ------
    ShapeError
        If tokens are not (batch, seq).
    DTypeError
        If they are no integers, or the model is none of the backend.
    ConfigError
        If a token is out of range, or the weights are rounded already.

    Notes
    -----
    One pass of the whole model. The source goes layer by layer and measures behind the layers
    that were pruned before. A matrix that a pass does not multiply its tokens with is not
    named: latent attention takes the absorbed form for few tokens.

    References
    ----------
    sun2024wanda, section 3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> model = Decoder(DecoderConfig(16, 1, AttentionConfig(8, 2, 4), d_ff=32, max_positions=8))
    >>> norms = feature_norms(model, np.array([[3, 1, 4]]))
    >>> norms["layers.0.mlp.down_proj"].shape
    (32,)
    """
    seen: dict[str, Array] = {}

    def note(name: str, x: Array) -> None:
        rows = x.reshape(-1, x.shape[-1]).astype(np.float64)
        seen[name] = seen.get(name, 0) + np.einsum("tj,tj->j", rows, rows)

    def watched(name: str, layer: Any) -> Module:
        if isinstance(layer, Linear):
            _check_whole(layer)
            layer.weight = watch = layer.weight.view(_Watched)
            watch.note = partial(note, name)
        return layer

    with_each(model, watched)(tokens)
    return {name: np.sqrt(squares) for name, squares in seen.items()}


def prune_weights(
    model: Any,
    share: float | Pattern,
    *,
    norms: dict[str, Array] | None = None,
    within: str = "row",
) -> Any:
    """A copy of a model without the weights that count least.

    ``layer.weight = prune_weight(layer.weight, scores, share)``

    Parameters
    ----------
    model : Decoder, or another module of the backend
        What is copied; it stays as it is.
    share : float or Pattern
        How many weights of a matrix go, from 0 to 1; or n of m that stay.
    norms : dict of str to array (columns,), or None
        As `feature_norms` gives them, for `wanda_scores`; None takes `magnitude_scores`.
    within : {"row", "matrix"}
        As in `prune_weight`.

    Returns
    -------
    same as ``model``
        Tables of tokens and positions, norms and biases are as they were.

    Raises
    ------
    ConfigError
        If the share is neither, a pattern is to be ``within`` a matrix, there is no matrix
        product, one is rounded already, or the norms lack one or are no numbers from 0. The
        message names the matrix.
    ShapeError
        If norms do not fit their matrix, or m does not divide its columns.
    DTypeError
        If ``model`` is no module of the backend.

    Notes
    -----
    Nothing is trained afterwards, and no weight that stays changes.

    References
    ----------
    sun2024wanda, section 3

    Examples
    --------
    >>> from mini_attn.numpy import GatedMLP
    >>> pruned = prune_weights(GatedMLP(8, 16), 0.75)
    >>> float((pruned.up_proj.weight == 0).mean())
    0.75
    """
    check_choice("within", within, WITHIN)
    if not isinstance(share, Pattern):
        check_share(share)
    elif within != "row":
        raise ConfigError(f"within={within!r} needs a share: a pattern compares neighbors of a row")
    if norms is not None and not isinstance(norms, dict):
        raise ConfigError(f"norms must map names to arrays, or be None, got {norms!r:.60}")

    unused = set(norms or ())

    def pruned(name: str, layer: Any) -> Module:
        if not isinstance(layer, Linear):
            return layer
        _check_whole(layer)
        unused.discard(name)
        if norms is None:
            scores = magnitude_scores(layer.weight)
        elif name in norms:
            scores = wanda_scores(layer.weight, norms[name])
        else:
            absorbed = ", where not all tokens pass in the absorbed form"
            where = absorbed if name.endswith("kv_b_proj") else ""
            raise ConfigError(f"norms lack it: measure them with this model{where}")
        if isinstance(share, Pattern):
            layer.weight = _of_pattern(layer.weight, scores, share)
        else:
            layer.weight = _without_lowest(layer.weight, scores, share, within)
        return layer

    made = with_each(model, pruned)
    if unused:
        raise ConfigError(f"the model has no {min(unused)!r:.60}: norms must be measured with it")
    return made


def head_scores(model: Any, tokens: Array) -> Array:
    """Score each head by how much the loss rises when it is switched off.

    ``scores[layer, h] = loss without head h of the layer - loss;  loss = mean of -ln p(next)``

    Parameters
    ----------
    model : Decoder
        Of the backend; it stays as it is.
    tokens : integer array (batch, seq)
        What it reads, at least two tokens a row.

    Returns
    -------
    float64 array (n_layers, n_heads)
        In nats per token; below 0 where the model does better without the head.

    Raises
    ------
    ShapeError
        If tokens are not (batch, seq), or a row has one token.
    DTypeError
        If they are no integers, or the model is no decoder of the backend.
    ConfigError
        If a token is out of range, the layers differ in their number of heads, or the weights
        are rounded already.

    Notes
    -----
    A pass for each head and one more. The head still looks; the columns of ``o_proj`` that read
    it are zero. Scores of single heads do not add up: where two heads do the same, each is
    worth little while the other is there. `prune_heads` takes heads out for good.

    References
    ----------
    michel2019sixteen, section 3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> model = Decoder(DecoderConfig(16, 2, AttentionConfig(8, 2, 4), d_ff=32, max_positions=8))
    >>> head_scores(model, np.array([[3, 1, 4]])).shape
    (2, 2)
    """
    if not isinstance(model, Decoder):
        raise DTypeError(f"model must be a Decoder of mini_attn.numpy, got {type(model)}")
    if getattr(tokens, "ndim", 0) == 2 and tokens.shape[1] < 2:
        raise ShapeError(f"a row needs two tokens or more, got shape {tokens.shape}")
    counts = {config.n_heads for config in model.config.attentions}
    if len(counts) > 1:
        raise ConfigError(f"the layers differ in their heads: {sorted(counts)}")
    model = deepcopy(model)
    whole, found = _loss(model, tokens), np.zeros((len(model.layers), *counts))
    for i, layer in enumerate(model.layers):
        _check_whole(layer.self_attn.o_proj)
        weight = layer.self_attn.o_proj.weight
        for h, head in enumerate(np.split(weight, found.shape[1], axis=1)):  # views
            kept = head.copy()
            head[...] = 0
            found[i, h] = _loss(model, tokens) - whole
            head[...] = kept
    return found


class _Watched(np.ndarray[Any, Any]):
    """A matrix that adds up the squares of what it is multiplied with."""

    def __array_finalize__(self, source: Any) -> None:
        self.note = getattr(source, "note", None)  # also of its transpose

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, **options: Any) -> Any:
        if ufunc is np.matmul and given[1] is self and self.ndim == 2:
            assert self.note is not None
            self.note(given[0])
        return getattr(ufunc, method)(*map(np.asarray, given), **options)


def _loss(model: Decoder, tokens: Array) -> float:
    """Nats per token after the first."""
    logits = model(tokens)[:, :-1].astype(np.float64)
    chosen = np.take_along_axis(logits, tokens[:, 1:, None], axis=2)[..., 0]
    return float((logsumexp(logits) - chosen).mean())


def _without_lowest(weight: Array, scores: Array, share: float, within: str) -> Array:
    rows = scores if within == "row" else scores.reshape(1, -1)
    going = np.argsort(rows, axis=1, kind="stable")[:, : round(share * rows.shape[1])]
    keep = np.ones(rows.shape, bool)
    np.put_along_axis(keep, going, False, axis=1)
    return np.where(keep.reshape(weight.shape), weight, 0)


def _of_pattern(weight: Array, scores: Array, pattern: Pattern) -> Array:
    rows, columns = weight.shape
    if columns % pattern.m:
        raise ShapeError(f"{pattern.m} neighbors at a time do not divide {columns} columns")
    groups = (rows * columns // pattern.m, pattern.m)
    share = 1 - pattern.n / pattern.m
    kept = _without_lowest(weight.reshape(groups), scores.reshape(groups), share, "row")
    return kept.reshape(weight.shape)


def _check_whole(layer: Any) -> None:
    if isinstance(layer, Codes):
        raise ConfigError("the weights are codes already: prune first, then round")


def _wide(x: Array) -> Array:
    return x.astype(np.promote_types(x.dtype, np.float32), copy=False)


def _check_matrix(**matrix: Array) -> None:
    for name, weight in matrix.items():
        check_floating(name, weight)
        named_shapes(**{name: (weight, "rows columns")})


def _check_scores(weight: Array, scores: Array) -> None:
    _check_matrix(weight=weight, scores=scores)
    named_shapes(weight=(weight, "rows columns"), scores=(scores, "rows columns"))
    if np.isnan(scores).any():
        raise ConfigError("scores hold NaN, which is neither high nor low")


def check_share(share: float) -> None:
    """A share is a number from 0 to 1."""
    if not 0 <= check_number("share", share) <= 1:
        raise ConfigError(f"share must lie within 0 and 1, got {share!r:.60}")
