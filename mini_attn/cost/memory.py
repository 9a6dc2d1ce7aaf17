"""Bytes: the cache from the registry's layout, the weights, and what a step reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.variants import variant

__all__ = [
    "Factor",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_formula",
    "copied_rows",
    "parameter_count",
    "step_bytes",
]


@dataclass(frozen=True)
class Factor:
    """One factor or summand of the cache formula, with its words and its value.

    Parameters
    ----------
    label : str
        What the number counts.
    value : int or float
        The number.
    """

    label: str
    value: float


def _numbers_per_token(model: Any) -> int:
    """Numbers that one token leaves in one layer."""
    return sum(field.numbers(model) for field in variant(model.attention).cache)


def _whole_bytes(numbers: int, dtype_bytes: float) -> int:
    """Bytes of so many numbers; half a byte is allowed for 4 bits, a rest is not."""
    if isinstance(dtype_bytes, bool) or dtype_bytes not in (0.5, 1, 2, 4, 8):
        raise ConfigError(f"dtype_bytes must be 0.5, 1, 2, 4 or 8, got {dtype_bytes!r}")
    halves = round(2 * dtype_bytes) * numbers
    if halves % 2:
        raise ConfigError(f"{numbers} numbers of half a byte do not fill whole bytes")
    return halves // 2


def cache_bytes_per_token(model: Any, *, dtype_bytes: float = 2) -> int:
    """Bytes that one more token adds to the cache of one sequence.

    ``n_layers * numbers_per_token * dtype_bytes``

    Parameters
    ----------
    model : ModelConfig
        Sizes; windowed layers count as long as their window is not full.
    dtype_bytes : float
        Bytes of a number: 0.5, 1, 2, 4 or 8.

    Returns
    -------
    int
        Bytes over all layers.

    Raises
    ------
    ConfigError
        If ``dtype_bytes`` is none of these.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> cache_bytes_per_token(MODELS["llama-3-8b"])
    131072
    """
    return _whole_bytes(model.n_layers * _numbers_per_token(model), dtype_bytes)


def cache_bytes(model: Any, *, batch: int, context: int, dtype_bytes: float = 2) -> int:
    """Bytes of the whole cache.

    ``batch * numbers_per_token * dtype_bytes * sum over layers of min(context, window)``

    Parameters
    ----------
    model : ModelConfig
        Sizes.
    batch, context : int
        Sequences, and tokens in each.
    dtype_bytes : float
        Bytes of a number: 0.5, 1, 2, 4 or 8 (scales of quantised numbers are not counted).

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Notes
    -----
    Equals ``allocated_bytes`` of real caches with that capacity.

    References
    ----------
    pope2022scaling, section 3.3

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> cache_bytes(MODELS["gpt2"], batch=1, context=100, dtype_bytes=4)
    7372800
    """
    check_count("batch", batch)
    check_count("context", context, least=0)
    full = model.n_full_layers
    kept = full * context
    if model.window is not None:
        kept += (model.n_layers - full) * min(context, model.window)
    return _whole_bytes(batch * kept * _numbers_per_token(model), dtype_bytes)


def cache_formula(
    model: Any, *, batch: int, context: int, dtype_bytes: float = 2
) -> list[list[Factor]]:
    """The cache formula with its numbers put in: a sum of products.

    ``bytes = sum over terms of the product of the term's factors``

    Parameters
    ----------
    model : ModelConfig
        Sizes.
    batch, context : int
        Sequences, and tokens in each.
    dtype_bytes : float
        Bytes of a number.

    Returns
    -------
    list of list of Factor
        One term per kind of layer (all tokens, window); the products add up to `cache_bytes`.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> [(f.label, f.value) for f in cache_formula(
    ...     MODELS["gpt2"], batch=1, context=100, dtype_bytes=4)[0]]
    [('numbers a token', 1536), ('layers', 12), ('tokens', 100), ('sequences', 1), ('bytes', 4)]
    """
    cache_bytes(model, batch=batch, context=context, dtype_bytes=dtype_bytes)  # checks all
    full = model.n_full_layers
    terms = [("layers", full, "tokens", context)] if full else []
    if model.window is not None:
        kept = min(context, model.window)
        terms.append(("windowed layers", model.n_layers - full, "tokens kept", kept))
    return [
        [
            Factor("numbers a token", _numbers_per_token(model)),
            Factor(layers_label, layers),
            Factor(tokens_label, tokens),
            Factor("sequences", batch),
            Factor("bytes", dtype_bytes),
        ]
        for layers_label, layers, tokens_label, tokens in terms
    ]


def copied_rows(n: int) -> int:
    """Rows that are copied when a cache grows to ``n`` tokens by concatenation.

    ``1 + 2 + … + (n - 1) = n (n - 1) / 2``

    Parameters
    ----------
    n : int
        Tokens, added one by one.

    Returns
    -------
    int
        Old rows copied, over all steps.

    Raises
    ------
    ConfigError
        If ``n`` is below 1.

    Examples
    --------
    >>> copied_rows(4)
    6
    """
    check_count("n", n)
    return n * (n - 1) // 2


def _attention_parameters(model: Any) -> int:
    """Weights and biases of one attention layer, its inner norms included."""
    d_model, n_heads = model.d_model, model.n_heads
    out = n_heads * model.v_head_dim * d_model
    if model.attention == "mla":
        rank, rope = model.kv_lora_rank, model.qk_rope_head_dim
        queries = model.q_lora_rank * (d_model + 1 + n_heads * model.head_dim)
        latent = d_model * (rank + rope) + rank
        expand = rank * n_heads * (model.qk_nope_head_dim + model.v_head_dim)
        return int(queries + latent + expand + out)
    sizes = (n_heads * model.head_dim, model.n_kv_heads * model.head_dim)
    rows = sum(sizes) + model.n_kv_heads * model.v_head_dim
    biases = rows + d_model if model.biases else 0
    return int(d_model * rows + out + biases + (2 * model.head_dim if model.qk_norm else 0))


def _mlp_parameters(model: Any, d_ff: int) -> int:
    biases = d_ff + model.d_model if model.biases else 0
    return int(model.mlp_matrices * model.d_model * d_ff + biases)


def parameter_count(model: Any) -> int:
    """Parameters of a model, counted from its sizes.

    ``embeddings + n_layers * (attention + mlp + norms) + final norm``

    Parameters
    ----------
    model : ModelConfig
        Sizes.

    Returns
    -------
    int
        All weights and biases; experts count whether they are active or not.

    Raises
    ------
    AttributeError
        If the object lacks a size.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> parameter_count(MODELS["gpt2"])
    124439808
    """
    norm = model.d_model * (2 if model.layer_norms else 1)
    tables = 1 if model.tied_embeddings else 2
    embeddings = (tables * model.vocab_size + model.learned_positions) * model.d_model
    layer = _attention_parameters(model) + model.norms_per_layer * norm
    dense_layers = model.n_dense_layers if model.n_experts else model.n_layers
    mlp = dense_layers * _mlp_parameters(model, model.d_ff)
    if model.n_experts:
        experts = model.n_experts + model.n_shared_experts
        router = model.n_experts * (model.d_model + 1)  # with its selection bias
        sparse = experts * _mlp_parameters(model, model.expert_d_ff) + router
        mlp += (model.n_layers - dense_layers) * sparse
    return int(embeddings + model.n_layers * layer + mlp + norm)


def step_bytes(
    model: Any,
    *,
    kv_len: int,
    batch: int = 1,
    dtype_bytes: float = 2,
    cache_dtype_bytes: float | None = None,
) -> dict[str, int]:
    """Bytes that one cached step reads and writes at the least.

    ``weights once, the cache of every sequence once, one new row each``

    Parameters
    ----------
    model : ModelConfig
        Sizes.
    kv_len, batch : int
        Tokens attended to, the new one included; sequences.
    dtype_bytes : float
        Bytes of a weight.
    cache_dtype_bytes : float or None
        Bytes of a cached number; None means ``dtype_bytes``.

    Returns
    -------
    dict
        ``weights``, ``cache read``, ``cache written``.

    Raises
    ------
    ConfigError
        If a number is out of range, or the model has experts: which of them a batch reads is
        not counted yet.

    Notes
    -----
    The embedding tables are counted whole when they serve as the logits' matrix, which reads
    them whole; of a table that is only looked up, one row per sequence is read and left out.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> step_bytes(MODELS["gpt2"], kv_len=100, dtype_bytes=4)["cache read"]
    7372800
    """
    if model.n_experts:
        raise ConfigError(f"bytes of a step with experts are not counted: {model.name}")
    check_count("kv_len", kv_len)
    each = dtype_bytes if cache_dtype_bytes is None else cache_dtype_bytes
    looked_up = model.learned_positions * model.d_model
    if not model.tied_embeddings:
        looked_up += model.vocab_size * model.d_model
    return {
        "weights": _whole_bytes(parameter_count(model) - looked_up, dtype_bytes),
        "cache read": cache_bytes(model, batch=batch, context=kv_len, dtype_bytes=each),
        "cache written": cache_bytes(model, batch=batch, context=1, dtype_bytes=each),
    }
