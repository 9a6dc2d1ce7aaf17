"""The cache calculator: what a model's cache takes on a device, compared with its weights."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import traitlets

from mini_attn import cost
from mini_attn.errors import WidgetStateError
from mini_attn.models import MODELS, ModelConfig
from mini_attn.variants import KINDS, variant
from mini_attn.widgets.base import LivingWidget
from mini_attn.widgets.cache_calculator_data import BITS, OWN
from mini_attn.widgets.schema import load_schema

__all__ = ["CacheCalculator", "calculate"]

NAME = "cache_calculator"
BLOCK_SIZE = 16
GB = 10**9
LONG = 4096  # tokens: more than any convolution looks back

# What a published model fills in; the second group, which some variants' caches alone depend on,
# only where the model has such a size.
SIZES = ("attention", "n_layers", "n_heads", "n_kv_heads", "head_dim", "v_head_dim", "full_every")
OPTIONAL = tuple(dict.fromkeys(size.name for entry in KINDS.values() for size in entry.cache_sizes))
DECIDED = (*SIZES, *OPTIONAL, "shared_layers", "parameters")


def _published(name: str) -> dict[str, Any]:
    """The state keys that a published model decides."""
    config = MODELS[name]
    sizes = {key: getattr(config, key) for key in SIZES}
    sizes |= {key: getattr(config, key) for key in OPTIONAL if getattr(config, key)}
    sizes["shared_layers"] = config.n_kv_shared_layers
    return {**sizes, "parameters": cost.parameter_count(config)}


def _config(state: dict[str, Any]) -> ModelConfig:
    """The configuration that a state stands for; sizes that no cache depends on are 1."""
    if state["model"] != OWN:
        return MODELS[state["model"]]
    kind = state["attention"]
    entry = variant(kind)
    held = [size.name for size in entry.cache_sizes]
    held += ["full_every"] if entry.length_rule == "window" else []
    unseen: dict[str, Any] = dict.fromkeys(entry.choice, 1)
    return ModelConfig(
        name=OWN,
        title="Own numbers",
        source="given by the reader",
        attention=kind,
        n_layers=state["n_layers"],
        d_model=1,
        n_heads=state["n_heads"],
        head_dim=state["head_dim"],
        d_ff=1,
        vocab_size=1,
        max_context=1,
        n_kv_shared_layers=state["shared_layers"] if entry.shares_layers else 0,
        **{name: (state | entry.fix(state))[name] for name in ("n_kv_heads", "v_head_dim")},
        **{name: state[name] for name in held},
        **unseen,
    )


def _storage(config: ModelConfig, shared: int) -> cost.Ring | cost.Paged:
    """Pages where a prefix is shared; a layer with a ring writes over its prefix."""
    entry = variant(config.attention)
    rings = config.linear is not None or any(not field.grows for field in entry.cache)
    pages = shared and entry.length_rule == "all" and not rings
    return cost.Paged(BLOCK_SIZE, shared) if pages else cost.Ring()


def _plain(config: ModelConfig) -> ModelConfig:
    """The model with a key/value head for each query head, in layers that all keep a cache."""
    changes: dict[str, Any] = {"n_kv_heads": config.n_heads, "full_n_kv_heads": 0}
    if not config.full_head_dim:  # two sizes of heads go with windows, whose slots all count here
        changes |= {"attention": "mha", "window": None}
    return replace(config, **changes, n_kv_shared_layers=0, spans=(), linear=None)


def _quarters(config: ModelConfig, bits: float, **use: Any) -> int:
    """Quarters of a bit that a cache takes, whether or not they fill whole bytes.

    In 1 byte a number those of a state still take 4, and in 4 bytes as much as all others: two
    counts tell them apart.
    """
    narrow, alike = (cost.cache_bytes(config, dtype_bytes=size, **use) for size in (1, 4))
    wide = (narrow - alike // 4) // 3
    return (alike // 4 - wide) * round(4 * bits) + wide * round(4 * max(bits, 32))


def _longest_context(config: ModelConfig, bits: float, most: int, **use: Any) -> int | None:
    """The longest context whose cache takes at most so many quarters of a bit; None if any does."""

    def fits(context: int) -> bool:
        return _quarters(config, bits, context=context, **use) <= most

    if not config.n_full_layers and fits(config.window or LONG):
        return None
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def calculate(state: dict[str, Any]) -> dict[str, Any]:
    """Everything the calculator shows, computed by `mini_attn.cost`.

    ``total_bytes = batch * numbers per token * dtype bytes * sum of kept tokens over layers``

    Parameters
    ----------
    state : dict
        A full state of the widget.

    Returns
    -------
    dict
        In bytes, all of one device, ``bytes_per_token``, ``total_bytes``, ``weight_bytes``
        (rounded up), ``device_bytes``, ``left_bytes`` (beside the weights, at least 0) and
        ``mha_bytes`` (one key/value head per query head, all tokens kept in all layers); as counts
        ``max_sequences`` at the given context and ``max_context`` at the given batch (None if no
        context is too long); ``formula``, as from `mini_attn.cost.cache_formula`.

    Raises
    ------
    ConfigError
        If own numbers contradict each other, 4-bit numbers do not fill whole bytes, or devices
        can't share the heads evenly.

    Notes
    -----
    Scales count in the types whose name says a group: ``nvfp4``, ``mxfp4``, ``int4-grouped`` and
    ``int2-grouped`` (groups of 32, scale and zero in float16). Sequences that share a prefix are
    kept in pages of 16 tokens. Several devices split the heads (`mini_attn.cost.cache_bytes`,
    ``ranks``), and each has an equal share of the weights: that norms and the matrices of copied
    heads are on all of them is left out.

    Examples
    --------
    >>> CacheCalculator(model="gpt2", batch=1, context=100, dtype="float32").result()["total_bytes"]
    7372800
    >>> [CacheCalculator(ranks=ranks).result()["total_bytes"] >> 20 for ranks in (1, 8, 16)]
    [16384, 2048, 2048]
    """
    config = _config(state)
    bits = BITS[state["dtype"]]
    ranks, storage = state["ranks"], _storage(config, state["shared"])
    use = {"batch": state["batch"], "context": state["context"], "dtype_bytes": bits / 8}
    use |= {"ranks": ranks}
    own = state["model"] == OWN
    parameters = state["parameters"] if own else cost.parameter_count(config)
    weights = -(-parameters * round(4 * BITS[state["weight_dtype"]]) // (32 * ranks))
    device = cost.DEVICES.get(state["device"])
    memory = device.memory_bytes if device else state["device_gb"] * GB
    left = max(0, memory - weights)
    most = 32 * left  # quarters of a bit, beside the weights
    held = {"context": state["context"], "storage": storage, "ranks": ranks}
    one, two = (_quarters(config, bits, batch=n, **held) for n in (1, 2))  # one brings the prefix
    return {
        "bytes_per_token": cost.cache_bytes_per_token(config, dtype_bytes=bits / 8, ranks=ranks),
        "total_bytes": cost.cache_bytes(config, **use, storage=storage),
        "weight_bytes": weights,
        "device_bytes": memory,
        "left_bytes": left,
        "mha_bytes": cost.cache_bytes(_plain(config), **use, storage=cost.Contiguous()),
        "max_sequences": 1 + (most - one) // (two - one) if one <= most else 0,
        "max_context": _longest_context(
            config, bits, most, batch=state["batch"], storage=storage, ranks=ranks
        ),
        "formula": cost.cache_formula(config, **use, storage=storage),
    }


class CacheCalculator(LivingWidget):
    """Bytes of a cache, for a published model or for one's own numbers.

    Choosing a model fills in its sizes; setting a size turns it into one's own numbers.

    Parameters
    ----------
    model : str
        Key of `mini_attn.models.MODELS`, or ``"own"``.
    attention : str
        Name of the variant: {KINDS}.
    n_layers, n_heads, n_kv_heads : int
        1 to 512; multi-head and multi-query attention decide ``n_kv_heads``.
    head_dim, v_head_dim : int
        1 to 1,024.
    OWN : int
    full_every : int
        Every so many-th layer keeps all tokens, 0 to 512; none does with 0.
    shared_layers : int
        Last layers that keep nothing and read another's cache, 0 to 511; 0 for attention whose
        cache isn't keys and values of heads.
    parameters : int
        Weights of the model, 1 to 10,000,000,000,000.
    dtype, weight_dtype : str
        Data types of the cache and of the weights: ``"float32"``, ``"bfloat16"``, ``"float16"``,
        ``"float8"``, ``"int8"``, ``"int4"``; with scales ``"nvfp4"``, ``"mxfp4"``,
        ``"int4-grouped"``, ``"int2-grouped"``.
    batch : int
        Sequences, 1 to 4,096.
    context : int
        Tokens in each, 1 to 10,485,760.
    shared : int
        Tokens with which all of them begin, 0 to 10,485,760; their full pages are stored once.
    device : {"a100", "h100", "h200", "b200", "tpu-v5e", "own"}
        Key of `mini_attn.cost.DEVICES`, or ``"own"``.
    device_gb : int
        Memory of one's own device in GB of 1e9 bytes, 1 to 100,000.
    ranks : {1, 2, 4, 8, 16}
        Devices that split the heads of each layer, and the weights: what one of them keeps.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> calculator = CacheCalculator()
    >>> calculator.result()["bytes_per_token"]
    131072
    >>> calculator.n_kv_heads = 32
    >>> calculator.model, calculator.result()["bytes_per_token"]
    ('own', 524288)
    """

    _widget = NAME
    caption = (
        "The cache of Llama-3-8B in bfloat16 for 16 sequences of 8,192 tokens: 17.18 GB, more "
        "than its weights (16.06 GB). The line shows how it grows with the tokens. Below is the "
        "formula with these numbers."
    )

    def __init__(self, **state: Any) -> None:
        self._settling = False
        published = _published(state["model"]) if state.get("model") in MODELS else {}
        for key, value in published.items():
            if state.get(key, value) != value:
                raise WidgetStateError(
                    f"{state['model']} has {key} = {value!r}, not {state[key]!r}; "
                    f"for other sizes leave model out, or use model={OWN!r}"
                )
        super().__init__(**state)

    def __repr__(self) -> str:
        hidden = set() if self.model == OWN else {*DECIDED}
        schema = load_schema(NAME)
        shown = [key for key in schema if key not in hidden]
        changed = [key for key in shown if getattr(self, key) != schema[key]["default"]]
        return f"CacheCalculator({', '.join(f'{key}={getattr(self, key)!r}' for key in changed)})"

    @traitlets.observe("model", *DECIDED)
    def _settle(self, change: Any) -> None:
        """Keep model and sizes together, as the view does."""
        if self._settling or self.model == OWN:
            return
        sizes = _published(self.model)
        if all(getattr(self, key) == value for key, value in sizes.items()):
            return
        self._settling = True
        try:
            if change["name"] == "model":
                with self.hold_sync():  # the notebook's view is told once
                    for key, value in sizes.items():
                        setattr(self, key, value)
            elif change["name"] in sizes:
                self.set_trait("model", OWN)
        finally:
            self._settling = False

    def result(self) -> dict[str, Any]:
        """Return what the calculator shows for the present state; see `calculate`."""
        return calculate(self.state)


def _told(text: str) -> str:
    """Return a docstring with the registry's kinds and the sizes of their caches in it."""
    sizes = {size.name: size for entry in KINDS.values() for size in entry.cache_sizes}
    own = [f"{name} : int\n    {size.label}, 1 to {size.most:,}." for name, size in sizes.items()]
    kinds = ", ".join(f'``"{name}"``' for name in KINDS)
    return text.replace("{KINDS}", kinds).replace("OWN : int", "\n".join(own))


# Without the indentation, which Python 3.13 and newer leave out themselves.
CacheCalculator.__doc__ = _told(inspect.getdoc(CacheCalculator) or "")
