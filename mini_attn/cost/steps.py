"""What one pass reads and writes, in bytes taken apart, and how long a device needs at least."""

from __future__ import annotations

from math import ceil
from typing import Any

from mini_attn.cost.experts import expected_experts, expert_bounds
from mini_attn.cost.listed import listed
from mini_attn.cost.memory import (
    check_dtype_bytes,
    costs_of,
    kept_fields,
    layer_kinds,
    met_bytes,
    mixed_bytes,
    numbers_per_token,
    whole_bytes,
    wide_numbers,
)
from mini_attn.cost.parameters import expert_parameters, looked_up, parameter_count
from mini_attn.cost.roofline import Device, roofline_seconds
from mini_attn.cost.work import matmul_flops, routed_flops
from mini_attn.shapes import check_choice, check_count

__all__ = ["activation_bytes", "cache_intensity", "step_bytes", "step_operations", "step_seconds"]

# Products with what is cached.
_WITH_KEYS = ("indexer", "compressed", "scores", "weighted sum", "write", "solve")
_DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def _expert_parameters_read(model: Any, tokens: int, experts: str) -> int:
    """Of routed experts, the parameters that so many tokens wake; an average is rounded up."""
    if not model.n_experts:
        return 0
    choice = (model.n_experts, model.experts_per_token, tokens)
    least, most = expert_bounds(*choice)
    woken = {"least": least, "most": most, "expected": expected_experts(*choice)}[experts]
    return ceil(woken * expert_parameters(model))


def _read_parameters(model: Any, tokens: int, experts: str) -> int:
    """Parameters that a pass over so many tokens reads."""
    whole = parameter_count(model) - looked_up(model)
    routed = model.n_experts * expert_parameters(model)
    return whole - routed + _expert_parameters_read(model, tokens, experts)


def step_bytes(
    model: Any,
    *,
    kv_len: int,
    q_len: int = 1,
    batch: int = 1,
    dtype_bytes: float = 2,
    cache_dtype_bytes: float | None = None,
    experts: str = "expected",
) -> dict[str, int]:
    """Bytes of weights and cache that one pass reads and writes at the least.

    ``weights once, the cache of every sequence once, one new row for each new token``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    kv_len, q_len, batch : int
        Tokens attended to, the new ones included; new tokens (1 in a decode step, the prompt in
        a prefill); sequences.
    dtype_bytes : float
        Bytes of a weight.
    cache_dtype_bytes : float or None
        Bytes of a cached number; None means ``dtype_bytes``.
    experts : {"expected", "least", "most"}
        How many different experts the tokens wake in each layer: on average with even choices, or
        one of the bounds.

    Returns
    -------
    dict
        ``weights``, ``cache read``, ``cache written``.

    Raises
    ------
    ConfigError
        If a number is out of range or ``experts`` is unknown.

    Notes
    -----
    Where keys are chosen, one query reads those and what the choice looks at. The embedding
    tables are counted whole when they serve as the logits' matrix, which reads
    them whole; of a table that is only looked up, one row a token is read and left out. A
    windowed layer reads what its queries see together, ``min(kv_len, kept + q_len - 1)`` where it
    keeps ``sink_tokens + window`` keys, and writes what will be left of the new tokens. What the
    products hand on is in `activation_bytes`.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> step_bytes(MODELS["gpt2"], kv_len=100, dtype_bytes=4)["cache read"]
    7372800
    """
    model = listed(model)
    check_choice("experts", experts, ("expected", "least", "most"))
    check_count("batch", batch)
    check_count("kv_len", kv_len, least=check_count("q_len", q_len))
    check_dtype_bytes(dtype_bytes)
    each = dtype_bytes if cache_dtype_bytes is None else cache_dtype_bytes
    read = written = 0
    for kind in layer_kinds(model):
        read += kind.layers * costs_of(kind.sizes).read(kind.sizes, q_len, kv_len, kind.kept)
        if kind.sizes.reads_kv:
            continue
        left = q_len
        if kind.kept is not None:  # of the new tokens: the last ones, and first ones before them
            early = min(model.sink_tokens, kv_len - model.window) - (kv_len - q_len)
            left = min(q_len, model.window) + max(0, early)
        new = sum(field.written(kind.sizes, kv_len, left) for field in kept_fields(kind.sizes))
        written += kind.layers * new
    wide = sum(kind.layers * wide_numbers(kind.sizes, kv_len) for kind in layer_kinds(model))
    return {
        "weights": ceil(_read_parameters(model, batch * q_len, experts) * dtype_bytes),
        "cache read": mixed_bytes(batch * read, batch * wide, each),
        "cache written": mixed_bytes(batch * written, batch * wide, each),
    }


def activation_bytes(
    model: Any,
    *,
    q_len: int,
    kv_len: int,
    batch: int = 1,
    dtype_bytes: int = 2,
    logit_rows: int = 1,
    fused: bool = True,
) -> dict[str, int]:
    """Bytes that the products of one pass read and write beside weights and cache.

    ``dtype_bytes * sum over products of rows * (numbers in + numbers out)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to (the new ones included), sequences.
    dtype_bytes : int
        Bytes of a number.
    logit_rows : int
        Rows for which logits are computed, per sequence.
    fused : bool
        Whether the scores stay inside the attention's kernel. If not, the square of them is
        written and read for the softmax, and its weights are again.

    Returns
    -------
    dict
        ``projections`` (queries; new keys and values are written to the cache), ``attention``,
        ``scores``, ``output``, ``mlp``, ``logits``.

    Raises
    ------
    ConfigError
        If a count is out of range, or the model's attention is latent: see `latent_bytes`.

    Notes
    -----
    Norms, residual sums and activations are taken as part of the products beside them.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> square = activation_bytes(MODELS["gpt2"], q_len=1000, kv_len=1000, fused=False)["scores"]
    >>> square // (4 * 2 * 12)  # numbers of one layer
    12000000
    """
    model = listed(model)
    check_count("batch", batch)
    check_count("kv_len", kv_len, least=check_count("q_len", q_len))
    check_count("logit_rows", logit_rows, least=0)
    rows, d_model, n_layers = batch * q_len, model.d_model, model.n_layers
    sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
    parts = dict[str, int]()
    for kind in layer_kinds(model):
        layer = costs_of(kind.sizes).activation_values(kind.sizes, **sizes, fused=fused)
        for part, count in layer.items():
            parts[part] = parts.get(part, 0) + kind.layers * count

    def mlp(d_ff: int) -> int:
        return 2 * d_model + model.mlp_matrices * d_ff if model.mlp_matrices else 0

    sparse = n_layers - model.n_dense_layers if model.n_experts else 0
    chosen = model.experts_per_token + model.n_shared_experts
    each = chosen * mlp(model.expert_d_ff) + (mlp(model.shared_d_ff) if model.shared_d_ff else 0)
    inside = (n_layers - sparse) * mlp(model.d_ff) + sparse * each
    numbers = {
        **parts,
        "mlp": rows * inside,
        "logits": batch * logit_rows * (d_model + model.vocab_size),
    }
    return {part: whole_bytes(count, dtype_bytes) for part, count in numbers.items()}


def cache_intensity(model: Any, *, dtype_bytes: float = 2) -> float:
    """FLOPs of cached attention for each byte of cache that one query reads.

    ``2 * n_heads * (key numbers + value numbers) / (dtype_bytes * numbers a token)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    dtype_bytes : float
        Bytes of a cached number.

    Returns
    -------
    float
        FLOP per byte of a decode step's scores and weighted sum; weights are left out. The
        length cancels: beside layers whose cache grows, a state of float32 is nothing in a long
        text; it counts where all layers have one. Latent attention is taken in its absorbed form,
        where all heads read the same latent as key and as value.

    Raises
    ------
    ConfigError
        If ``dtype_bytes`` is what no data type takes.

    Notes
    -----
    At 2 bytes, ``n_heads / n_kv_heads``: 1 for multi-head attention. At 4 bytes, half of it.
    Where keys are chosen, that of a text with nothing to choose, though all of its cache counts.

    References
    ----------
    shazeer2019mqa, section 2.4

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> cache_intensity(MODELS["llama-3-8b"]), round(cache_intensity(MODELS["deepseek-v3"]), 1)
    (4.0, 241.8)
    """
    model = listed(model)
    check_dtype_bytes(dtype_bytes)
    kinds = layer_kinds(model)
    kinds = tuple(kind for kind in kinds if numbers_per_token(kind.sizes)) or kinds
    met = sum(
        k.layers * k.sizes.n_heads * sum(costs_of(k.sizes).dims_per_pair(k.sizes)) for k in kinds
    )
    read = sum(k.layers * met_bytes(k.sizes, dtype_bytes) for k in kinds)
    return float(2 * met / read)


def step_operations(
    model: Any,
    *,
    kv_len: int,
    q_len: int = 1,
    batch: int = 1,
    dtype_bytes: float = 2,
    cache_dtype_bytes: float | None = None,
    experts: str = "expected",
    logit_rows: int = 1,
) -> dict[str, tuple[int, int]]:
    """FLOPs and bytes of one pass, by kind of operation.

    ``sums over the kinds = (sum(matmul_flops(causal="exact")), sum(step_bytes))``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    kv_len, q_len, batch : int
        As in `step_bytes`.
    dtype_bytes, cache_dtype_bytes : float, float or None
        As in `step_bytes`.
    experts : {"expected", "least", "most"}
        As in `step_bytes`.
    logit_rows : int
        Rows of each sequence that get logits: 1 where the last alone counts, ``q_len`` where
        guesses are checked.

    Returns
    -------
    dict
        ``products`` (all products with weights but the following), ``experts`` (the routed ones,
        if the model has any; shared experts and the choice are products), ``attention`` (scores
        and weighted sums; the cache), ``logits``: a tuple of FLOPs and bytes each.

    Raises
    ------
    ConfigError
        If a number is out of range or ``experts`` is unknown.

    Notes
    -----
    Each kind stands for all layers. Norms and biases move their bytes with the products.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> step = step_operations(MODELS["llama-3-8b"], kv_len=8192, batch=16)
    >>> {name: round(flops / size, 1) for name, (flops, size) in step.items()}
    {'products': 16.0, 'attention': 4.0, 'logits': 16.0}
    """
    model = listed(model)
    sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
    moved = step_bytes(
        model, **sizes, dtype_bytes=dtype_bytes, cache_dtype_bytes=cache_dtype_bytes,
        experts=experts,
    )  # fmt: skip
    flops = matmul_flops(model, **sizes, causal="exact", logit_rows=logit_rows)
    woken = _expert_parameters_read(model, batch * q_len, experts)
    routed = (routed_flops(model, batch * q_len), ceil(woken * dtype_bytes))
    logits = (flops["logits"], ceil(model.vocab_size * model.d_model * dtype_bytes))
    attention = (
        sum(flops.get(part, 0) for part in _WITH_KEYS),
        moved["cache read"] + moved["cache written"],
    )  # fmt: skip
    others = [routed, attention, logits]
    work = sum(flops.values()) - sum(done for done, _ in others)
    size = sum(moved.values()) - sum(size for _, size in others)
    return {
        "products": (work, size),
        **({"experts": routed} if model.n_experts else {}),
        "attention": attention,
        "logits": logits,
    }


def step_seconds(
    model: Any,
    device: Device,
    *,
    kv_len: int,
    q_len: int = 1,
    batch: int = 1,
    dtype: str = "bfloat16",
    experts: str = "expected",
    logit_rows: int = 1,
) -> float:
    """The least time that one pass takes on a device.

    ``sum over operations of max(FLOPs / FLOPs per second, bytes / bytes per second)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    device : Device
        Its rates.
    kv_len, q_len, batch : int
        Tokens attended to, the new ones included; new tokens; sequences.
    dtype : str
        Data type of weights, cache and products.
    experts : {"expected", "least", "most"}
        As in `step_bytes`.
    logit_rows : int
        As in `step_operations`.

    Returns
    -------
    float
        Seconds; a lower bound, not a forecast.

    Raises
    ------
    ConfigError
        If a number is out of range or the device has no rate for the data type.

    Notes
    -----
    The operations are those of `step_operations`. Each needs the result of the one before, so
    nothing multiplies weights while attention waits for its caches. The maximum of the totals
    is a weaker bound: only a program that reads the weights of the next operation during the
    present one could reach it.

    References
    ----------
    williams2009roofline, The Roofline Model

    Examples
    --------
    >>> from mini_attn.cost import DEVICES
    >>> from mini_attn.models import MODELS
    >>> f'{1e3 * step_seconds(MODELS["llama-3-8b"], DEVICES["h100"], kv_len=8192):.2f} ms'
    '4.80 ms'
    """
    check_choice("dtype", dtype, tuple(_DTYPE_BYTES))
    sizes: dict[str, Any] = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
    sizes |= {"dtype_bytes": _DTYPE_BYTES[dtype], "experts": experts, "logit_rows": logit_rows}
    operations = step_operations(model, **sizes)
    return sum(roofline_seconds(*each, device, dtype=dtype) for each in operations.values())
