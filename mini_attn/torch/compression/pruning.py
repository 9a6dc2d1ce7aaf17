"""Weights that may go: how each is scored, and matrices and models without the least of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from mini_attn.config import Pattern
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_choice, check_number, named_shapes
from mini_attn.torch._module import Module, check_floating, wide
from mini_attn.torch.attention.softmax import logsumexp
from mini_attn.torch.compression.quantized_layers import Codes, with_each
from mini_attn.torch.layers.basic import Linear
from mini_attn.torch.layers.decoder import Decoder

__all__ = [
    "feature_norms",
    "head_scores",
    "magnitude_scores",
    "n_of_m",
    "prune_weight",
    "prune_weights",
    "wanda_scores",
]

WITHIN = ("row", "matrix")


def magnitude_scores(weight: Tensor) -> Tensor:
    """Score each weight by its size alone.

    ``scores[i, j] = |weight[i, j]|``

    Parameters
    ----------
    weight : tensor (rows, columns)
        A matrix, each row of which makes one output.

    Returns
    -------
    tensor (rows, columns)
        Not below 0, in float32 or wider.

    Raises
    ------
    ShapeError
        If there are not two axes.
    DTypeError
        If it is no floating-point tensor of the backend.

    Notes
    -----
    Costs no data: what comes in is not looked at.

    References
    ----------
    han2015pruning, section 3

    Examples
    --------
    >>> import torch
    >>> magnitude_scores(torch.tensor([[1.0, -2.0]]))
    tensor([[1., 2.]])
    """
    _check_matrix(weight=weight)
    return wide(weight).abs()


def wanda_scores(weight: Tensor, norms: Tensor) -> Tensor:
    """Score each weight by its size and by how strong its input is.

    ``scores[i, j] = |weight[i, j]| * norms[j],  norms[j] = sqrt(sum of x[:, j] ** 2)``

    Parameters
    ----------
    weight : tensor (rows, columns)
        A matrix, each row of which makes one output.
    norms : tensor (columns,)
        Norm of each input over some tokens, as `feature_norms` measures it.

    Returns
    -------
    tensor (rows, columns)
        Not below 0, in float32 or wider.

    Raises
    ------
    ShapeError
        If the norms are not one for each column.
    DTypeError
        If one is no floating-point tensor of the backend.
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
    >>> import torch
    >>> wanda_scores(torch.tensor([[1.0, -2.0]]), torch.tensor([10.0, 1.0]))
    tensor([[10.,  2.]])
    """
    _check_matrix(weight=weight)
    check_floating("norms", norms)
    named_shapes(weight=(weight, "rows columns"), norms=(norms, "columns"))
    if not (norms >= 0).all():
        raise ConfigError("norms must be numbers from 0, got NaN or one below 0")
    return wide(weight).abs() * wide(norms)


def prune_weight(weight: Tensor, scores: Tensor, share: float, *, within: str = "row") -> Tensor:
    """Set the weights with the lowest scores to zero.

    ``weight[i, j] = 0 where scores[i, j] is among the round(share * columns) lowest of row i``

    Parameters
    ----------
    weight : tensor (rows, columns)
        A matrix; it stays as it is.
    scores : tensor (rows, columns)
        One score for each weight, without NaN.
    share : float
        How many go, from 0 to 1.
    within : {"row", "matrix"}
        Whether a weight is compared with those of its row or with all.

    Returns
    -------
    tensor (rows, columns)
        A copy; ``round(share * columns)`` zeros in each row at the least, or ``round(share *
        rows * columns)`` in all.

    Raises
    ------
    ShapeError
        If weight and scores differ in shape.
    DTypeError
        If one is no floating-point tensor of the backend.
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
    >>> import torch
    >>> weight = torch.tensor([[1.0, -2.0, 3.0, -4.0]])
    >>> prune_weight(weight, magnitude_scores(weight), 0.5)
    tensor([[ 0.,  0.,  3., -4.]])
    """
    _check_scores(weight, scores)
    check_share(share)
    check_choice("within", within, WITHIN)
    return _without_lowest(weight, scores, share, within)


def n_of_m(weight: Tensor, scores: Tensor, *, n: int = 2, m: int = 4) -> Tensor:
    """Keep the n weights with the highest scores of every m neighbors in a row.

    ``weight[i, j] = 0 where scores[i, j] is among the m - n lowest of its m neighbors``

    Parameters
    ----------
    weight : tensor (rows, columns)
        A matrix; it stays as it is.
    scores : tensor (rows, columns)
        One score for each weight, without NaN.
    n, m : int
        Weights that stay, and neighbors they are chosen from; m divides the columns.

    Returns
    -------
    tensor (rows, columns)
        A copy, at most ``n / m`` of it not zero.

    Raises
    ------
    ShapeError
        If weight and scores differ in shape, or m does not divide the columns.
    DTypeError
        If one is no floating-point tensor of the backend.
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
    >>> import torch
    >>> weight = torch.tensor([[1.0, -2.0, 3.0, -4.0, 1.0, 0.5, 0.1, 0.2]])
    >>> n_of_m(weight, magnitude_scores(weight))
    tensor([[ 0.0000,  0.0000,  3.0000, -4.0000,  1.0000,  0.5000,  0.0000,  0.0000]])
    """
    _check_scores(weight, scores)
    return _of_pattern(weight, scores, Pattern(n, m))


def feature_norms(model: Any, tokens: Tensor) -> dict[str, Tensor]:
    """Measure how strong each input of each matrix is while a decoder reads some tokens.

    ``norms[j] = sqrt(sum over all tokens of x[j] ** 2)``

    Parameters
    ----------
    model : Decoder
        Of the backend; it stays as it is.
    tokens : integer tensor (batch, seq)
        What it reads.

    Returns
    -------
    dict of str to float64 tensor (columns,)
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> model = Decoder(DecoderConfig(16, 1, AttentionConfig(8, 2, 4), d_ff=32, max_positions=8))
    >>> norms = feature_norms(model, torch.tensor([[3, 1, 4]]))
    >>> norms["layers.0.mlp.down_proj"].shape
    torch.Size([32])
    """
    seen: dict[str, Tensor] = {}

    def watched(name: str, layer: Any) -> Module:
        if not isinstance(layer, Linear):
            return layer
        _check_whole(layer)
        return _Watched(name, layer, seen)

    with torch.no_grad():
        with_each(model, watched)(tokens)
    return {name: squares.sqrt() for name, squares in seen.items()}


def prune_weights(
    model: Any,
    share: float | Pattern,
    *,
    norms: dict[str, Tensor] | None = None,
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
    norms : dict of str to tensor (columns,), or None
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
    >>> from mini_attn.torch import GatedMLP
    >>> pruned = prune_weights(GatedMLP(8, 16), 0.75)
    >>> float((pruned.up_proj.weight == 0).double().mean())
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
            scores = magnitude_scores(layer.weight.detach())
        elif name in norms:
            scores = wanda_scores(layer.weight.detach(), norms[name])
        else:
            absorbed = ", where not all tokens pass in the absorbed form"
            where = absorbed if name.endswith("kv_b_proj") else ""
            raise ConfigError(f"norms lack it: measure them with this model{where}")
        if isinstance(share, Pattern):
            kept = _of_pattern(layer.weight.detach(), scores, share)
        else:
            kept = _without_lowest(layer.weight.detach(), scores, share, within)
        layer.weight = nn.Parameter(kept, requires_grad=layer.weight.requires_grad)
        return layer

    made = with_each(model, pruned)
    if unused:
        raise ConfigError(f"the model has no {min(unused)!r:.60}: norms must be measured with it")
    return made


def head_scores(model: Any, tokens: Tensor) -> Tensor:
    """Score each head by how much the loss rises when it is switched off.

    ``scores[layer, h] = loss without head h of the layer - loss;  loss = mean of -ln p(next)``

    Parameters
    ----------
    model : Decoder
        Of the backend; it stays as it is.
    tokens : integer tensor (batch, seq)
        What it reads, at least two tokens a row.

    Returns
    -------
    float64 tensor (n_layers, n_heads)
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
    >>> import torch
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> model = Decoder(DecoderConfig(16, 2, AttentionConfig(8, 2, 4), d_ff=32, max_positions=8))
    >>> head_scores(model, torch.tensor([[3, 1, 4]])).shape
    torch.Size([2, 2])
    """
    if not isinstance(model, Decoder):
        raise DTypeError(f"model must be a Decoder of mini_attn.torch, got {type(model)}")
    if isinstance(tokens, Tensor) and tokens.ndim == 2 and tokens.shape[1] < 2:
        raise ShapeError(f"a row needs two tokens or more, got shape {tuple(tokens.shape)}")
    counts = {config.n_heads for config in model.config.attentions}
    if len(counts) > 1:
        raise ConfigError(f"the layers differ in their heads: {sorted(counts)}")
    model = deepcopy(model)
    with torch.no_grad():
        whole = _loss(model, tokens)
        found = torch.zeros((len(model.layers), *counts), dtype=torch.float64)
        for i, layer in enumerate(model.layers):
            _check_whole(layer.self_attn.o_proj)
            weight = layer.self_attn.o_proj.weight
            for h, head in enumerate(weight.chunk(found.shape[1], dim=1)):  # views
                kept = head.clone()
                head.zero_()
                found[i, h] = _loss(model, tokens) - whole
                head.copy_(kept)
    return found


class _Watched(Linear):
    """A matrix product that adds up the squares of what comes in."""

    def __init__(self, name: str, layer: Linear, seen: dict[str, Tensor]) -> None:
        Module.__init__(self)
        self.layer, self._name, self._seen = layer, name, seen

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        return self.layer.weight

    def forward(self, x: Tensor) -> Tensor:
        squares = x.detach().flatten(0, -2).double().square().sum(dim=0)
        self._seen[self._name] = self._seen.get(self._name, 0) + squares
        return self.layer(x)


def _loss(model: Decoder, tokens: Tensor) -> float:
    """Nats per token after the first."""
    logits = model(tokens)[:, :-1].double()
    chosen = logits.gather(2, tokens[:, 1:, None])[..., 0]
    return float((logsumexp(logits) - chosen).mean())


def _without_lowest(weight: Tensor, scores: Tensor, share: float, within: str) -> Tensor:
    rows = scores if within == "row" else scores.reshape(1, -1)
    going = rows.argsort(dim=1, stable=True)[:, : round(share * rows.shape[1])]
    keep = torch.ones_like(rows, dtype=torch.bool).scatter(1, going, False)
    return weight.masked_fill(~keep.reshape(weight.shape), 0)


def _of_pattern(weight: Tensor, scores: Tensor, pattern: Pattern) -> Tensor:
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


def _check_matrix(**matrix: Tensor) -> None:
    for name, weight in matrix.items():
        check_floating(name, weight)
        named_shapes(**{name: (weight, "rows columns")})


def _check_scores(weight: Tensor, scores: Tensor) -> None:
    _check_matrix(weight=weight, scores=scores)
    named_shapes(weight=(weight, "rows columns"), scores=(scores, "rows columns"))
    if scores.isnan().any():
        raise ConfigError("scores hold NaN, which is neither high nor low")


def check_share(share: float) -> None:
    """A share is a number from 0 to 1."""
    if not 0 <= check_number("share", share) <= 1:
        raise ConfigError(f"share must lie within 0 and 1, got {share!r:.60}")
