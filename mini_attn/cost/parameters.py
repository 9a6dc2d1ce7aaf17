"""Parameters of a model, counted from its sizes."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.listed import listed
from mini_attn.cost.memory import costs_of, layer_kinds

__all__ = ["active_parameter_count", "parameter_count"]


def _mlp(model: Any, d_ff: int) -> int:
    """Weights and biases of one MLP."""
    inner = model.mlp_matrices - 1
    biases = inner * d_ff + model.d_model if model.biases in ("mlp", "all") else 0
    return int(model.mlp_matrices * model.d_model * d_ff + biases)


def _shared(model: Any) -> int:
    """Weights of the expert that every token takes, where its width is its own; and its gate."""
    gate = model.d_model if model.shared_gate else 0
    return gate + (_mlp(model, model.shared_d_ff) if model.shared_d_ff else 0)


def _mlps(model: Any, experts: int) -> int:
    """All MLPs, with so many routed experts in each layer that has them."""
    if not model.n_experts:
        return sum(_mlp(model, model.d_ff_of(layer)) for layer in range(model.n_layers))
    router = model.n_experts * (model.d_model + (1 if model.router_bias else 0))
    each = _mlp(model, model.expert_d_ff)
    sparse = (experts + model.n_shared_experts) * each + router + _shared(model)
    dense = model.n_dense_layers * _mlp(model, model.d_ff)
    return int(dense + (model.n_layers - model.n_dense_layers) * sparse)


def _tables(model: Any) -> dict[str, int]:
    """Tables of vectors that are looked up, and the matrix of the logits where it is its own."""
    vocabulary = model.vocab_size * model.d_model
    return {
        "tokens": vocabulary,
        "positions": model.learned_positions * model.d_model,
        "logits": 0 if model.tied_embeddings else vocabulary,
        "layers": model.vocab_size * model.n_layers * model.per_layer_dim,
    }


def _per_layer(model: Any) -> int:
    """Weights of the inputs of each layer, without their table, and layers' scalars."""
    inner, d_model = model.per_layer_dim, model.d_model
    scalars = model.n_layers if model.layer_scalars else 0
    if not inner:
        return int(scalars)
    return int(inner + model.n_layers * (3 * d_model * inner + d_model) + scalars)


def _with_experts(model: Any, experts: int) -> int:
    """Everything, with so many routed experts in each layer that has them."""
    norm = model.d_model * (2 if model.layer_norms else 1)
    norms = model.n_layers * model.norms_per_layer + 1 + (1 if model.embedding_norm else 0)
    attention = sum(k.layers * costs_of(k.sizes).parameters(k.sizes) for k in layer_kinds(model))
    others = attention + _mlps(model, experts) + _per_layer(model)
    return int(sum(_tables(model).values()) + others + norms * norm)


def looked_up(model: Any) -> int:
    """Parameters of which a pass reads one row a token: tables that serve as nothing else."""
    tables = _tables(model)
    rows = tables["positions"] + tables["layers"]
    return rows + (0 if model.tied_embeddings else tables["tokens"])


def expert_parameters(model: Any) -> int:
    """Parameters of one routed expert over all layers that have experts."""
    if not model.n_experts:
        return 0
    return (model.n_layers - model.n_dense_layers) * _mlp(model, model.expert_d_ff)


def parameter_count(model: Any) -> int:
    """Parameters of a model, counted from its sizes.

    ``embeddings + n_layers * (attention + mlp + norms) + final norm``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.

    Returns
    -------
    int
        All weights and biases; experts count whether they are active or not.

    Raises
    ------
    ConfigError
        If no listed model has that name.
    AttributeError
        If the object lacks a size.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> parameter_count(MODELS["gpt2"])
    124439808
    """
    model = listed(model)
    return _with_experts(model, model.n_experts)


def active_parameter_count(model: Any) -> int:
    """Parameters that one token's pass takes part in.

    ``parameter_count - (n_experts - experts_per_token) * expert * layers with experts``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.

    Returns
    -------
    int
        All weights and biases without the routed experts that the token does not take; both
        embedding tables count whole (as in DeepSeek-V3's 37B; gpt-oss's 3.6B leave one out).

    Raises
    ------
    ConfigError
        If no listed model has that name.
    AttributeError
        If the object lacks a size.

    References
    ----------
    deepseek2024v3, section 4.2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> round(active_parameter_count(MODELS["mixtral-8x7b"]) / 1e9, 1)
    12.9
    """
    model = listed(model)
    return _with_experts(model, model.experts_per_token)
