"""What happens inside a decoder: who looks where, what each word costs, what a head is for."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy.compression.quantized_layers import with_each
from mini_attn.numpy.layers._pass import begin_pass
from mini_attn.shapes import check_count

__all__ = ["attention_maps", "matrix_inputs", "without_heads", "word_losses"]

Array = NDArray[Any]


def attention_maps(model: Any, tokens: Array) -> Array:
    """The weights of every head of every layer.

    ``maps[layer, :, h] = softmax(scale * q_h @ k_h.T)``

    Parameters
    ----------
    model : Decoder
        Of `mini_attn.numpy`, its attention with heads, in groups or latent.
    tokens : integer array (batch, seq)
        Token ids.

    Returns
    -------
    array (n_layers, batch, n_heads, seq, seq)
        Rows that sum to 1, a row for each query; with a learned sink, to at most 1.

    Raises
    ------
    ConfigError
        If the model isn't of `mini_attn.numpy`, or a layer's attention is another one.
    ShapeError
        If tokens are not (batch, seq).
    DTypeError
        If they are no integers.

    Notes
    -----
    The model computes as ever; the weights are computed a second time, beside it, those of latent
    attention in its expanded form.

    References
    ----------
    elhage2021framework

    Examples
    --------
    >>> from mini_attn.stories.members import MEMBERS
    >>> model = ma.Decoder(MEMBERS["mha"].config(88))
    >>> attention_maps(model, np.array([[0, 5, 7]])).shape
    (2, 1, 4, 3, 3)
    """
    if not isinstance(model, ma.Decoder):
        kind = f"{type(model).__module__}.{type(model).__qualname__}"
        raise ConfigError(f"model must be a mini_attn.numpy.Decoder, got {kind}")
    for i, layer in enumerate(model.layers):
        if not isinstance(layer.self_attn, ma.GroupedQueryAttention | ma.MultiHeadLatentAttention):
            kind = type(layer.self_attn).__name__
            raise ConfigError(f"layer {i} must have grouped heads or latent attention, got {kind}")
    model(tokens, last_only=True)  # refuses what is no row of tokens
    x = model._embed_tokens(tokens)
    if model.config.positions != "none":
        x = x + model._embed(np.arange(tokens.shape[1]), tokens.shape)
    whole = begin_pass(x, None, None)  # one for all layers: some read what others keep
    if model.config.per_layer_dim:
        whole.inputs = model.per_layer_inputs._run(tokens, x)
    maps = []
    for layer, source in zip(model.layers, model.config.sources, strict=True):
        read = layer._norm(layer._norms.before_attention, x)
        if isinstance(layer.self_attn, ma.MultiHeadLatentAttention):
            maps.append(_latent_weights(layer.self_attn, read))
        else:
            maps.append(_weights(layer.self_attn, read, whole.kept.get(source)))
        x = layer._run(x, whole, None)
    return np.stack(maps)


def _weights(attn: Any, x: Array, kept: Any) -> Array:
    """Weights (batch, n_heads, seq, seq) of heads, with their own keys or an earlier layer's."""
    forward_pass, config = begin_pass(x, None, None), attn.config
    q, k, v = attn._project_at(x, forward_pass.tables)
    if kept is not None:
        k, v = kept.k, kept.v
    bias = attn._alibi(forward_pass.positions, forward_pass.positions) if config.alibi else None
    _, weights = ma.scaled_dot_product_attention(
        q, k, v, causal=True, window=config.window, sink_tokens=config.sink_tokens, bias=bias,
        sinks=attn.sinks, scale=attn._scale, softcap=config.softcap, return_weights=True,
    )  # fmt: skip
    return np.asarray(weights)


def _latent_weights(attn: Any, x: Array) -> Array:
    """The same of latent attention: each head makes its keys of the latents."""
    q, q_rope, latent, rope_key = attn._project(x, begin_pass(x, None, None))
    made = ma.split_heads(latent @ attn.kv_b_proj.weight.T, attn.config.n_heads)
    k, v = made[..., : q.shape[-1]], made[..., q.shape[-1] :]
    _, weights = ma.scaled_dot_product_attention(
        q, k, v, causal=True, bias=attn._rope_scores(q_rope, rope_key), sinks=attn.sinks,
        scale=attn._scale, return_weights=True,
    )  # fmt: skip
    return np.asarray(weights)


def word_losses(model: ma.Decoder, rows: Array) -> Array:
    """Nats that each word after the first costs.

    ``losses[b, i] = -ln p(rows[b, i + 1] | rows[b, : i + 1])``

    Parameters
    ----------
    model : Decoder
        Of `mini_attn.numpy`.
    rows : integer array (batch, seq)
        Token ids, at least two in a row.

    Returns
    -------
    float64 array (batch, seq - 1)
        Losses.

    Raises
    ------
    ShapeError
        If the rows are not (batch, seq), or too short.
    DTypeError
        If they are no integers.
    ConfigError
        If an id is out of range.

    Examples
    --------
    >>> from mini_attn.stories.members import MEMBERS
    >>> model = ma.Decoder(MEMBERS["mha"].config(88))
    >>> word_losses(model, np.array([[0, 5, 7]])).round(1)
    array([[4.5, 4.8]])
    """
    if np.ndim(rows) != 2 or rows.shape[1] < 2:
        raise ShapeError(f"rows must be (batch, seq) with seq >= 2, got shape {np.shape(rows)}")
    logits = model(rows)[:, :-1].astype(np.float64)
    top = logits.max(axis=-1, keepdims=True)
    lse = top[..., 0] + np.log(np.exp(logits - top).sum(axis=-1))
    return np.asarray(lse - np.take_along_axis(logits, rows[:, 1:, None], axis=2)[..., 0])


def matrix_inputs(model: ma.Decoder, tokens: Array) -> dict[str, Array]:
    """Return what each matrix of a decoder is multiplied with while it reads some tokens.

    ``y = x @ weight.T``

    Parameters
    ----------
    model : Decoder
        Of `mini_attn.numpy`; it stays as it is.
    tokens : integer array (batch, seq)
        What it reads.

    Returns
    -------
    dict of str to array (batch * seq, columns)
        ``x`` of each matrix product by its name, without ``.weight``.

    Raises
    ------
    ShapeError
        If tokens are not (batch, seq).
    DTypeError
        If they are no integers, or the model is no module of the backend.

    Notes
    -----
    One pass. `mini_attn.numpy.feature_norms` keeps the norm of each column alone.

    References
    ----------
    frantar2023gptq, section 3

    Examples
    --------
    >>> from mini_attn.stories.members import MEMBERS
    >>> model = ma.Decoder(MEMBERS["mha"].config(88))
    >>> matrix_inputs(model, np.array([[0, 5, 7]]))["layers.1.mlp.down_proj"].shape
    (3, 256)
    """
    found: dict[str, list[Array]] = {}

    def watched(name: str, layer: Any) -> Any:
        return (
            _Watched(layer, found.setdefault(name, [])) if isinstance(layer, ma.Linear) else layer
        )

    with_each(model, watched)(tokens)
    return {name: np.concatenate(parts) for name, parts in found.items() if parts}


class _Watched(ma.Linear):
    """A matrix product that keeps what it is given."""

    def __init__(self, layer: ma.Linear, given: list[Array]) -> None:
        self.weight, self.bias, self.given = layer.weight, layer.bias, given

    def _run(self, x: Array) -> Array:
        self.given.append(x.reshape(-1, x.shape[-1]))
        return super()._run(x)


def without_heads(model: ma.Decoder, heads: Iterable[tuple[int, int]]) -> ma.Decoder:
    """A copy of a decoder in which some heads write nothing.

    ``o_proj.weight[:, h * v_head_dim : (h + 1) * v_head_dim] = 0``

    Parameters
    ----------
    model : Decoder
        Of `mini_attn.numpy`; it stays as it is.
    heads : iterable of (layer, head)
        Heads to switch off, both numbers from 0.

    Returns
    -------
    Decoder
        The copy.

    Raises
    ------
    ConfigError
        If there is no such head.

    Notes
    -----
    The head still looks; what it gathers is not added to the stream.

    References
    ----------
    michel2019sixteen, section 2.2

    Examples
    --------
    >>> from mini_attn.stories.members import MEMBERS
    >>> model = ma.Decoder(MEMBERS["mha"].config(88))
    >>> off = without_heads(model, [(0, 1)])
    >>> off.layers[0].self_attn.o_proj.weight[:, 16:32].any()
    np.False_
    """
    copy = deepcopy(model)
    for layer, head in heads:
        check_count("layer", layer, least=0)
        check_count("head", head, least=0)
        sizes = model.config.attention
        if layer >= model.config.n_layers or head >= sizes.n_heads:
            raise ConfigError(
                f"there is no head {head} in layer {layer}: the decoder has "
                f"{model.config.n_layers} layers of {sizes.n_heads} heads, counted from 0"
            )
        width = sizes.v_head_dim
        weight = copy.layers[layer].self_attn.o_proj.weight.copy()
        weight[:, head * width : (head + 1) * width] = 0
        copy.layers[layer].self_attn.o_proj.weight = weight
    return copy
