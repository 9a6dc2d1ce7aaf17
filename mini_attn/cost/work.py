"""Token passes and floating-point operations. A multiply-add is 2 FLOPs."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.listed import listed
from mini_attn.cost.memory import costs_of, keys_at_hand, layer_kinds
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.variants import variant

__all__ = [
    "attention_flops",
    "decode_step_flops",
    "elementwise_ops",
    "generation_flops",
    "matmul_flops",
    "token_passes",
    "visible_pairs",
]


def token_passes(prompt_len: int, n_new: int, *, cached: bool) -> int:
    """Count how often a token runs through the model while ``n_new`` tokens are chosen.

    ``cached: prompt_len + n_new - 1;  else: sum of prompt_len … prompt_len + n_new - 1``

    Parameters
    ----------
    prompt_len, n_new : int
        Tokens given (a start token counts) and tokens chosen.
    cached : bool
        Whether keys and values are kept.

    Returns
    -------
    int
        Token passes; the last chosen token is not run.

    Raises
    ------
    ConfigError
        If a count is below 1.

    Notes
    -----
    From one start token: ``n`` with a cache, ``n (n + 1) / 2`` without.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> token_passes(1, 100, cached=False), token_passes(1, 100, cached=True)
    (5050, 100)
    """
    check_count("prompt_len", prompt_len)
    check_count("n_new", n_new)
    if cached:
        return prompt_len + n_new - 1
    return n_new * prompt_len + n_new * (n_new - 1) // 2


def visible_pairs(q_len: int, kv_len: int, *, window: int | None = None) -> int:
    """Pairs of a query and a key that it may see, causally, aligned to the end.

    ``sum over queries i of min(kv_len - q_len + i + 1, window)``

    Parameters
    ----------
    q_len, kv_len : int
        Queries, which are the last of the keys, and keys.
    window : int or None
        Keys that a query sees at most, its own included; None means all. With first tokens
        that stay visible it is ``window + sink_tokens``.

    Returns
    -------
    int
        Number of pairs.

    Raises
    ------
    ConfigError
        If a count is below 1 or there are more queries than keys.

    Examples
    --------
    >>> visible_pairs(4, 4), visible_pairs(1, 4), visible_pairs(4, 4, window=2)
    (10, 4, 7)
    """
    check_count("q_len", q_len)
    check_count("kv_len", kv_len)
    if q_len > kv_len:
        raise ConfigError(f"q_len = {q_len} queries cannot be the last of kv_len = {kv_len} keys")
    if window is None:
        return q_len * kv_len - q_len * (q_len - 1) // 2
    check_count("window", window)
    short = min(q_len, max(0, min(kv_len, window) - (kv_len - q_len)))  # rows below the window
    first = kv_len - q_len + 1
    return short * first + short * (short - 1) // 2 + (q_len - short) * min(window, kv_len)


def computed_pairs(q_len: int, kv_len: int, causal: str, window: int | None) -> int:
    """Pairs that are computed: all of queries and keys at hand, or those that are visible."""
    if causal not in ("full", "exact"):
        raise ConfigError(f"causal must be 'full' or 'exact', got {causal!r}")
    exact = visible_pairs(q_len, kv_len, window=window)
    return exact if causal == "exact" else q_len * keys_at_hand(q_len, kv_len, window)


def attention_flops(
    q_len: int,
    kv_len: int,
    *,
    n_heads: int,
    head_dim: int,
    v_head_dim: int | None = None,
    causal: str = "full",
    window: int | None = None,
) -> dict[str, int]:
    """FLOPs of the two products of one attention layer.

    ``scores: 2 * n_heads * head_dim * pairs;  weighted sum: 2 * n_heads * v_head_dim * pairs``

    Parameters
    ----------
    q_len, kv_len : int
        Queries and keys.
    n_heads, head_dim : int
        Query heads, size of a query.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    causal : {"full", "exact"}
        Whether all pairs of queries and keys are computed, or only the visible ones.
    window : int or None
        Keys that a query sees at most, as in `visible_pairs`. What no query sees is no key here:
        with ``"full"`` there are ``min(kv_len, window + q_len - 1)`` keys.

    Returns
    -------
    dict
        ``scores`` and ``weighted sum``.

    Raises
    ------
    ConfigError
        If a count is below 1 or ``causal`` is unknown.

    Notes
    -----
    Key/value heads do not appear: sharing them saves bytes, not these FLOPs.

    References
    ----------
    vaswani2017attention, equation 1

    Examples
    --------
    >>> attention_flops(1, 100, n_heads=12, head_dim=64)
    {'scores': 153600, 'weighted sum': 153600}
    """
    check_count("n_heads", n_heads)
    check_count("head_dim", head_dim)
    pairs = computed_pairs(q_len, kv_len, causal, window)
    v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
    return {
        "scores": 2 * n_heads * head_dim * pairs,
        "weighted sum": 2 * n_heads * v_head_dim * pairs,
    }


def _attention_work(model: Any, sizes: dict[str, Any], form: str | None) -> dict[str, int]:
    """FLOPs of the attention of all layers, by part."""
    entry = variant(model.attention)
    if form is not None and not entry.forms:
        raise ConfigError(f"{model.attention} has one form, got {form!r}: leave it out")
    work: dict[str, int] = {}
    for kind in layer_kinds(model):
        layer = costs_of(kind.sizes).flops(kind.sizes, **sizes, form=form, window=kind.kept)
        for part, flops in layer.items():
            work[part] = work.get(part, 0) + kind.layers * flops
    return work


def _mlp_widths(model: Any) -> tuple[int, int]:
    """Inner numbers of all MLPs that a token passes, and the experts it is scored for.

    A gate of the expert that every token takes is a score too.
    """
    if not model.n_experts:
        widths = sum(map(model.d_ff_of, range(model.n_layers)))
        return widths if model.mlp_matrices else 0, 0
    sparse = model.n_layers - model.n_dense_layers
    chosen = model.experts_per_token + model.n_shared_experts
    each = chosen * model.expert_d_ff + model.shared_d_ff
    scored = model.n_experts + bool(model.shared_gate)
    return model.n_dense_layers * model.d_ff + sparse * each, sparse * scored


def routed_flops(model: Any, rows: int) -> int:
    """FLOPs of the routed experts that so many rows take; a part of ``mlp`` below."""
    if not model.n_experts:
        return 0
    inner = (model.n_layers - model.n_dense_layers) * model.experts_per_token * model.expert_d_ff
    return int(2 * rows * model.d_model * model.mlp_matrices * inner)


def matmul_flops(
    model: Any,
    *,
    q_len: int,
    kv_len: int,
    batch: int = 1,
    causal: str = "full",
    logit_rows: int = 1,
    form: str | None = None,
) -> dict[str, int]:
    """FLOPs of all matrix products of one pass, by part.

    ``projections = 2 * rows * d_model * head_dim * (n_heads + 2 * n_kv_heads)`` and so on

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to (the new ones included), sequences.
    causal : {"full", "exact"}
        As in `attention_flops`.
    logit_rows : int
        Rows for which logits are computed, per sequence.
    form : str or None
        One of the variant's forms, as in `latent_flops`; None is the cheapest.

    Returns
    -------
    dict
        ``projections``, ``scores``, ``weighted sum``, ``output``, where keys are chosen
        ``indexer`` (the scores that choose them) or ``compressed`` and ``gates`` (the branch of the
        means that choose blocks, and what weighs the branches), ``mlp`` (of experts those that
        a token takes, and the product that scores all of them), ``logits``; where layers have
        inputs of their own also ``inputs``, where they keep a state ``write`` and ``solve``.

    Raises
    ------
    ConfigError
        If a count is out of range, or a form is named where the variant has no such form.

    References
    ----------
    pope2022scaling, section 2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> matmul_flops(MODELS["gpt2"], q_len=1, kv_len=100)["projections"]
    42467328
    """
    model = listed(model)
    check_count("batch", batch)
    check_count("logit_rows", logit_rows, least=0)
    sizes = {"q_len": q_len, "kv_len": kv_len, "batch": batch, "causal": causal}
    attention = _attention_work(model, sizes, form)
    inner, scored = _mlp_widths(model)
    if model.per_layer_dim:  # its projection, and the gate and projection of each layer
        inner_rows = batch * q_len * model.n_layers * model.per_layer_dim
        attention["inputs"] = 2 * 3 * model.d_model * inner_rows
    return {
        **attention,
        "mlp": 2 * batch * q_len * model.d_model * (model.mlp_matrices * inner + scored),
        "logits": 2 * batch * logit_rows * model.d_model * model.vocab_size,
    }


def elementwise_ops(
    model: Any, *, q_len: int, kv_len: int, batch: int = 1, causal: str = "full"
) -> dict[str, int]:
    """Operations outside the matrix products, by part; counted apart because they are few.

    ``softmax = 5 * n_heads * pairs`` and so on

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to, sequences.
    causal : {"full", "exact"}
        As in `attention_flops`.

    Returns
    -------
    dict
        ``softmax`` (scale, subtract the maximum, exponential, add, divide; of a sink the three in
        the middle), ``activation`` (one per number inside the MLP), ``norms`` (four per number of
        each normalized row; those of queries, keys and latents too).

    Raises
    ------
    ConfigError
        If a count is below 1 or ``causal`` is unknown.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> elementwise_ops(MODELS["gpt2"], q_len=1, kv_len=100)["softmax"]
    72000
    """
    model = listed(model)
    rows = check_count("batch", batch) * check_count("q_len", q_len)
    check_count("kv_len", kv_len)
    kinds = [(kind, costs_of(kind.sizes)) for kind in layer_kinds(model)]
    pairs = batch * sum(
        k.layers * k.sizes.n_heads * costs.pairs(k.sizes, q_len, kv_len, causal, k.kept)
        for k, costs in kinds
    )
    norms = model.norms_per_layer * model.n_layers + 1 + (1 if model.embedding_norm else 0)
    inner = sum(k.layers * costs.normed(k.sizes) for k, costs in kinds)
    sinks = rows * sum(k.layers for k, _ in kinds if k.sizes.sinks)  # one for each row of scores
    given = model.n_layers * model.per_layer_dim  # inputs of layers: activated, and normed twice
    inner += given + (model.n_layers * model.d_model if given else 0)
    return {
        "softmax": 5 * pairs + 3 * model.n_heads * sinks,
        "activation": rows * (_mlp_widths(model)[0] + given),
        "norms": 4 * rows * (model.d_model * norms + inner),
    }


def decode_step_flops(model: Any, *, kv_len: int, batch: int = 1) -> int:
    """FLOPs of one cached step at a given length.

    ``sum(matmul_flops(q_len=1))``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    kv_len, batch : int
        Tokens attended to, the new one included; sequences.

    Returns
    -------
    int
        FLOPs of all matrix products.

    Raises
    ------
    ConfigError
        As `matmul_flops`.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> decode_step_flops(MODELS["gpt2"], kv_len=100)
    250750464
    """
    return sum(matmul_flops(model, q_len=1, kv_len=kv_len, batch=batch, causal="exact").values())


def generation_flops(
    model: Any, prompt_len: int, n_new: int, *, cached: bool, causal: str = "exact"
) -> int:
    """FLOPs of choosing ``n_new`` tokens after a prompt.

    ``sum over the passes of matmul_flops``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    prompt_len, n_new : int
        Tokens given and chosen.
    cached : bool
        Whether each step runs one token, or all of them.
    causal : {"full", "exact"}
        As in `attention_flops`.

    Returns
    -------
    int
        FLOPs of all matrix products; logits for the last row of each pass.

    Raises
    ------
    ConfigError
        As `matmul_flops`.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> plain, kept = (generation_flops(MODELS["gpt2"], 1, 100, cached=c) for c in (False, True))
    >>> round(plain / kept, 1)
    35.0
    """
    check_count("prompt_len", prompt_len)
    check_count("n_new", n_new)
    total = 0
    for step in range(n_new):
        kv_len = prompt_len + step
        q_len = 1 if cached and step else kv_len
        total += sum(matmul_flops(model, q_len=q_len, kv_len=kv_len, causal=causal).values())
    return total
