"""Work of latent attention: its two forms, when which is cheaper, and a third that seldom is."""

from __future__ import annotations

from typing import Any

from mini_attn.cost.listed import listed
from mini_attn.cost.memory import keys_at_hand, numbers_held
from mini_attn.cost.roofline import Device, roofline_seconds
from mini_attn.cost.work import computed_pairs
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count
from mini_attn.variants import variant

__all__ = [
    "LatentCost",
    "cheaper_form",
    "latent_bytes",
    "latent_crossover",
    "latent_flops",
    "latent_seconds",
]

_FORMS = variant("mla").forms


def _sizes(sizes: Any) -> tuple[int, int, int, int, int, int, int]:
    """Sizes by position, each a whole number; the query's rank is 0 where there is none."""
    sizes = listed(sizes)
    names = ("d_model", "n_heads", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim")
    d_model, heads, rank, nope, rope = (check_count(n, getattr(sizes, n)) for n in names)
    q_rank = check_count("q_lora_rank", sizes.q_lora_rank or 0, least=0)
    return d_model, heads, rank, nope, rope, check_count("v_head_dim", sizes.v_head_dim), q_rank


def _weights(sizes: Any, form: str) -> dict[str, int]:
    """Numbers of the weight matrices that a form multiplies with, by what they make."""
    d_model, heads, rank, nope, rope, v, q_rank = _sizes(sizes)
    q_in = q_rank or d_model
    merged = form == "merged"
    return {
        "query latent": d_model * q_rank,
        "queries": q_in * heads * ((rank if merged else nope) + rope),
        "latent": d_model * (rank + rope),
        "heads": 0 if merged else rank * heads * (nope + v),
        "output": heads * (rank if merged else v) * d_model,
    }


def _form(sizes: Any, form: str | None, q_len: int, kv_len: int) -> str:
    """The form's name, after every check of the lengths."""
    _check_lengths(q_len, kv_len)
    if form is None:
        return cheaper_form(sizes, q_len=q_len, kv_len=kv_len)
    check_choice("form", form, _FORMS)
    return form


def latent_flops(
    sizes: Any,
    *,
    q_len: int,
    kv_len: int,
    batch: int = 1,
    form: str | None = None,
    causal: str = "full",
) -> dict[str, int]:
    """FLOPs of one layer of latent attention, by part.

    ``expanded: heads' weights * kv_len + n_heads * (nope + rope + v) * pairs;
    absorbed: heads' weights * q_len + n_heads * (2 * kv_lora_rank + rope) * pairs``

    Parameters
    ----------
    sizes : LatentConfig, ModelConfig or str
        Whatever has the seven sizes of latent attention by name, or a listed model's name.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to (the new ones included), sequences.
    form : {"expanded", "absorbed", "merged"} or None
        Keys and values made of every latent; queries and outputs taken to the latent instead;
        the same with the matrices multiplied together beforehand. None means the cheaper of the
        first two.
    causal : {"full", "exact"}
        Whether all ``q_len * kv_len`` pairs are computed, or only the visible ones.

    Returns
    -------
    dict
        ``projections`` (all products with weights but the last), ``scores``, ``weighted sum``,
        ``output``.

    Raises
    ------
    ConfigError
        If a count is below 1, or ``form`` or ``causal`` is unknown.

    Notes
    -----
    The merged form replaces ``q_in * nope + nope * rank`` multiplications a head by
    ``q_in * rank``: three times as many in DeepSeek-V3. Absorbing is an order of
    multiplication, not a merged matrix.

    References
    ----------
    deepseek2024v2, section 2.1.2 and appendix C

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> v3 = MODELS["deepseek-v3"]
    >>> step = {form: sum(latent_flops(v3, q_len=1, kv_len=4096, form=form).values())
    ...         for form in ("expanded", "absorbed", "merged")}
    >>> step["expanded"] // step["absorbed"], step["merged"] > step["absorbed"]
    (91, True)
    """
    form = _form(sizes, form, q_len, kv_len)
    _, heads, rank, nope, rope, v, _ = _sizes(sizes)
    key, value = (nope + rope, v) if form == "expanded" else (rank + rope, rank)
    check_choice("causal", causal, ("full", "exact"))
    hidden = q_len * (q_len - 1) // 2 if causal == "exact" else 0
    pairs = heads * (q_len * kv_len - hidden)
    weights = _weights(sizes, form)
    made = q_len * (weights["query latent"] + weights["queries"] + weights["latent"])
    made += weights["heads"] * (kv_len if form == "expanded" else q_len)
    each = 2 * check_count("batch", batch)
    return {
        "projections": each * made,
        "scores": each * key * pairs,
        "weighted sum": each * value * pairs,
        "output": each * q_len * weights["output"],
    }


def latent_bytes(
    sizes: Any,
    *,
    q_len: int,
    kv_len: int,
    batch: int = 1,
    form: str | None = None,
    dtype_bytes: int = 2,
) -> dict[str, int]:
    """Bytes that one layer of latent attention moves with a cache, by part.

    ``weights once, the cache once, and keys and values of all heads written and read again``

    Parameters
    ----------
    sizes : LatentConfig, ModelConfig or str
        Whatever has the seven sizes of latent attention by name, or a listed model's name.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to (the new ones included), sequences.
    form : {"expanded", "absorbed", "merged"} or None
        As in `latent_flops`.
    dtype_bytes : int
        Bytes of a number.

    Returns
    -------
    dict
        ``weights``, ``cache read``, ``cache written``, ``expanded`` (keys and values, which only
        the expanded form has; the rotated key is not repeated for the heads).

    Raises
    ------
    ConfigError
        If a count is below 1 or ``form`` is unknown.

    Notes
    -----
    The absorbed form reads its cache once if a block of latents serves as keys and as values
    while it is at hand; two products one after the other read it twice. ``expanded`` is what
    two whole products hand on: block by block it may stay in a processor's cache, so that no
    bound may count it.

    References
    ----------
    deepseek2024v2, section 2.1.4

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> moved = latent_bytes(MODELS["deepseek-v3"], q_len=1, kv_len=4096)
    >>> moved["cache read"] // 4096, moved["expanded"]
    (1152, 0)
    """
    form = _form(sizes, form, q_len, kv_len)
    _, heads, rank, nope, rope, v, _ = _sizes(sizes)
    each = check_count("batch", batch) * check_count("dtype_bytes", dtype_bytes)
    expanded = 2 * kv_len * heads * (nope + v) if form == "expanded" else 0
    return {
        "weights": dtype_bytes * sum(_weights(sizes, form).values()),
        "cache read": each * kv_len * (rank + rope),
        "cache written": each * q_len * (rank + rope),
        "expanded": each * expanded,
    }


def latent_seconds(
    sizes: Any,
    device: Device,
    *,
    q_len: int,
    kv_len: int,
    batch: int = 1,
    form: str | None = None,
    dtype: str = "bfloat16",
    dtype_bytes: int = 2,
) -> float:
    """The least time of one layer of latent attention whose products run one after the other.

    ``seconds = sum over products of max(FLOPs / FLOPs per second, bytes / bytes per second)``

    Parameters
    ----------
    sizes : LatentConfig, ModelConfig or str
        Whatever has the seven sizes of latent attention by name, or a listed model's name.
    device : Device
        Its rates.
    q_len, kv_len, batch : int
        New tokens, tokens they attend to (the new ones included), sequences.
    form : {"expanded", "absorbed", "merged"} or None
        As in `latent_flops`.
    dtype : str
        Data type whose rate counts.
    dtype_bytes : int
        Bytes of a number.

    Returns
    -------
    float
        Seconds; a lower bound, not a forecast.

    Raises
    ------
    ConfigError
        If a count is below 1, ``form`` is unknown or the device has no rate for the data type.

    Notes
    -----
    Bytes are those that no order of work can spare: weights and cache, each once, where they
    are first needed. What one product hands to the next may stay in a processor's cache, and
    pairs that nobody sees need not be computed: neither counts. Weights that stay there from
    one step to the next, as those of a single small layer may, are outside of the bound.
    FLOPs alone promise too much to the absorbed form: with few queries its products with
    weights wait for memory, while the expanded form's largest product does not.

    References
    ----------
    williams2009roofline, The Roofline Model

    Examples
    --------
    >>> from mini_attn.cost import DEVICES
    >>> from mini_attn.models import MODELS
    >>> step = [latent_seconds(MODELS["deepseek-v3"], DEVICES["h100"], q_len=1, kv_len=4096,
    ...                        form=form) for form in ("expanded", "absorbed")]
    >>> round(step[0] / step[1], 1)
    2.1
    """
    sizes = listed(sizes)
    form = _form(sizes, form, q_len, kv_len)
    options: Any = {"q_len": q_len, "kv_len": kv_len, "batch": batch, "form": form}
    flops = latent_flops(sizes, **options, causal="exact")
    row = batch * kv_len * check_count("dtype_bytes", dtype_bytes)
    latents, rope_keys = row * sizes.kv_lora_rank, row * sizes.qk_rope_head_dim
    expanded = form == "expanded"  # then the latents are read where keys and values are made
    pairs = flops["scores"] + flops["weighted sum"]
    stages = [(pairs, rope_keys if expanded else latents + rope_keys)]
    for name, numbers in _weights(sizes, form).items():
        grown = expanded and name == "heads"
        work = 2 * batch * (kv_len if grown else q_len) * numbers
        if numbers:  # without query compression, or merged, a product is not there
            stages.append((work, dtype_bytes * numbers + (latents if grown else 0)))
    return sum(roofline_seconds(work, size, device, dtype=dtype) for work, size in stages)


def _check_lengths(q_len: int, kv_len: int) -> None:
    """Queries are the last of the keys."""
    check_count("q_len", q_len)
    check_count("kv_len", kv_len)
    if q_len > kv_len:
        raise ConfigError(f"q_len = {q_len} queries cannot be the last of kv_len = {kv_len} keys")


def cheaper_form(sizes: Any, *, q_len: int, kv_len: int) -> str:
    """The form of latent attention with fewer FLOPs.

    ``absorbed iff kv_lora_rank * (nope + v) * (kv_len - q_len)
    > (2 * kv_lora_rank - nope - v) * q_len * kv_len``

    Parameters
    ----------
    sizes : LatentConfig, ModelConfig or str
        Whatever has the seven sizes of latent attention by name, or a listed model's name.
    q_len, kv_len : int
        New tokens, and tokens they attend to, the new ones included.

    Returns
    -------
    str
        ``"expanded"`` or ``"absorbed"``; the first where both are alike.

    Raises
    ------
    ConfigError
        If a count is below 1 or there are more queries than keys.

    Notes
    -----
    Whole prompts expand, single tokens absorb, unless the latent is smaller than half of a
    head's key and value. Batch, heads and the rotated key cancel.

    References
    ----------
    deepseek2024v2, section 2.1.2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> v3 = MODELS["deepseek-v3"]
    >>> cheaper_form(v3, q_len=1000, kv_len=1000), cheaper_form(v3, q_len=1, kv_len=1000)
    ('expanded', 'absorbed')
    """
    _check_lengths(q_len, kv_len)
    _sizes(sizes)
    return pick_form(listed(sizes), q_len, kv_len)


def pick_form(sizes: Any, q_len: int, kv_len: int) -> str:
    """`cheaper_form` without checks."""
    rank, made = sizes.kv_lora_rank, sizes.qk_nope_head_dim + sizes.v_head_dim
    saved = rank * made * (kv_len - q_len)  # multiplications of a head
    return "absorbed" if saved > (2 * rank - made) * q_len * kv_len else "expanded"


def latent_crossover(sizes: Any, *, kv_len: int) -> int | None:
    """The fewest new tokens from which on the expanded form has no more FLOPs.

    ``q_len = kv_len * a / (a + kv_len * b), a = kv_lora_rank * (nope + v),
    b = 2 * kv_lora_rank - nope - v, rounded up``

    Parameters
    ----------
    sizes : LatentConfig, ModelConfig or str
        Whatever has the seven sizes of latent attention by name, or a listed model's name.
    kv_len : int
        Tokens attended to, the new ones included.

    Returns
    -------
    int or None
        New tokens, at most ``kv_len``; None if absorbing is cheaper even then.

    Raises
    ------
    ConfigError
        If a count is below 1.

    Notes
    -----
    With a long past the number tends to ``a / b``: 171 for DeepSeek's sizes.

    References
    ----------
    deepseek2024v2, section 2.1.2

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> latent_crossover(MODELS["deepseek-v3"], kv_len=4096)
    164
    """
    _, _, rank, nope, _, v, _ = _sizes(sizes)
    check_count("kv_len", kv_len)
    made, wider = rank * (nope + v), 2 * rank - nope - v
    if wider < 0:
        return None
    return -(-kv_len * made // (made + kv_len * wider))


class LatentCost:
    """Costs of one layer of latent attention; the registry's entry names this class.

    Its methods are those of `mini_attn.cost.HeadsCost`.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> LatentCost().dims_per_pair(MODELS["deepseek-v3"])
    (576, 512)
    """

    def flops(self, model: Any, *, window: int | None = None, **sizes: Any) -> dict[str, int]:
        """FLOPs by part, see `latent_flops`; no latent is let go, so there is no window."""
        return latent_flops(model, **sizes)

    def parameters(self, model: Any) -> int:
        """Weights, biases into the latents and out, norms of the latents and sinks included."""
        sinks = model.n_heads if model.sinks else 0
        biases = model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim + model.d_model
        biases *= model.biases in ("attention", "all")
        return sum(_weights(model, "expanded").values()) + self.normed(model) + int(sinks + biases)

    def normed(self, model: Any) -> int:
        """Numbers of a token that norms inside the layer take: both latents."""
        return int(model.q_lora_rank + model.kv_lora_rank)

    def dims_per_pair(self, model: Any) -> tuple[int, int]:
        """Numbers that a head multiplies for one cached token, absorbed: the latent, twice."""
        return model.kv_lora_rank + model.qk_rope_head_dim, model.kv_lora_rank

    def pairs(self, model: Any, q_len: int, kv_len: int, causal: str, window: int | None) -> int:
        """Pairs of a query and a key whose scores the softmax takes."""
        return computed_pairs(q_len, kv_len, causal, window)

    def read(self, model: Any, q_len: int, kv_len: int, window: int | None) -> int:
        """Numbers of one sequence's cache that a pass reads in this layer."""
        return numbers_held(model, keys_at_hand(q_len, kv_len, window))

    def activation_values(self, model: Any, **sizes: Any) -> dict[str, int]:
        """Refused: what products hand on depends on the form."""
        raise ConfigError(f"{model.name} has latent attention, whose bytes latent_bytes counts")
