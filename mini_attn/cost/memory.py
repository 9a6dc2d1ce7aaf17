"""Bytes of a cache, from the registry's layout and a rule of storage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from mini_attn.cost.listed import listed
from mini_attn.cost.storage import Contiguous, Evicting, Paged, Quantized, Ring
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.variants import CacheField, variant

__all__ = [
    "Factor",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_formula",
    "copied_rows",
    "head_copies",
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


_RING = Ring()


class LayerSizes:
    """A model as layers of one kind see it: its sizes, but for those in which they differ."""

    reads_kv: bool

    def __init__(self, model: Any, sizes: dict[str, Any]) -> None:
        vars(self).update(sizes, _model=model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


@dataclass(frozen=True)
class LayerKind:
    """Layers of a model that cost the same.

    Parameters
    ----------
    layers : int
        How many there are.
    kept : int or None
        Keys that each sees, first tokens and window together; None sees all.
    sizes : LayerSizes
        The model's sizes in such a layer; ``reads_kv`` where it keeps nothing of its own.
    """

    layers: int
    kept: int | None
    sizes: Any


@lru_cache(maxsize=512)
def layer_kinds(model: Any) -> tuple[LayerKind, ...]:
    """Count layers by what they see and keep; those that see all come first.

    Counted, first tokens and a window are a window of both: who sees fewer sees all there are.
    """
    window = None if model.window is None else model.window + model.sink_tokens
    counts: dict[tuple[bool, tuple[tuple[str, Any], ...]], int] = {}
    for layer in range(model.n_layers):
        kind = model.window_of(layer) is not None, tuple(model.kind_sizes(layer).items())
        counts[kind] = counts.get(kind, 0) + 1
    found = (
        LayerKind(layers, window if windowed else None, LayerSizes(model, dict(sizes)))
        for (windowed, sizes), layers in counts.items()
    )
    return tuple(sorted(found, key=lambda kind: (kind.kept is not None, kind.sizes.reads_kv)))


def costs_of(sizes: Any) -> Any:
    """Return what counts the costs of a layer of such sizes."""
    return variant(sizes.attention).costs()


def keeping_kinds(model: Any, ranks: int = 1) -> list[LayerKind]:
    """Return the kinds whose layers keep something of their own, as each of so many ranks does."""
    kinds = [kind for kind in layer_kinds(model) if not kind.sizes.reads_kv]
    if check_count("ranks", ranks) == 1:
        return kinds
    if any(field.once for kind in kinds for field in kept_fields(kind.sizes)):
        raise ConfigError(f"how {ranks} ranks would split a state isn't counted here: ranks = 1")
    return [replace(kind, sizes=rank_sizes(kind.sizes, ranks)) for kind in kinds]


def rank_sizes(sizes: Any, ranks: int) -> LayerSizes:
    """Return the sizes of a layer of which each rank has its key/value heads."""
    heads = sizes.n_kv_heads * head_copies(sizes, ranks=ranks) // ranks
    return LayerSizes(sizes, {"n_kv_heads": max(1, heads)})


def head_copies(model: Any, *, ranks: int) -> int:
    """Return on how many ranks each key/value head is kept when heads are split.

    ``max(1, ranks / n_kv_heads)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    ranks : int
        Devices.

    Returns
    -------
    int
        1 as long as there are as many key/value heads as ranks. Latent attention has one latent
        that all heads read, so that every rank keeps it.

    Raises
    ------
    ConfigError
        If neither number divides the other, or the ranks can't share the query heads evenly.

    Examples
    --------
    >>> [head_copies("llama-3-8b", ranks=ranks) for ranks in (4, 8, 16)]
    [1, 1, 2]
    >>> head_copies("deepseek-v3", ranks=8)
    8
    """
    model = listed(model)
    check_count("ranks", ranks)
    split = any("n_kv_heads" in field.factors for field in kept_fields(model))
    heads = int(model.n_kv_heads) if split else 1
    if heads % ranks and ranks % heads:
        raise ConfigError(
            f"{ranks} ranks can't share {heads} key/value heads evenly, nor keep copies of them "
            "evenly: one number must divide the other"
        )
    if model.n_heads % ranks:
        raise ConfigError(f"{ranks} ranks can't share n_heads = {model.n_heads} evenly")
    return max(1, ranks // heads)


def keys_at_hand(q_len: int, kv_len: int, window: int | None) -> int:
    """Keys that the last queries see together: a window slides over them."""
    return kv_len if window is None else min(kv_len, window + q_len - 1)


def kept_fields(sizes: Any) -> tuple[CacheField, ...]:
    """Return what tokens leave in a layer of such sizes."""
    return variant(sizes.attention).cache


def numbers_per_token(model: Any) -> Fraction:
    """Numbers that one token leaves in one layer; those of a block count evenly to its tokens."""
    fields = [field for field in kept_fields(model) if field.grows]
    return sum((Fraction(f.numbers(model), f.tokens(model)) for f in fields), Fraction(0))


def numbers_held(model: Any, tokens: int) -> int:
    """Numbers that so many tokens of a sequence have left in one layer."""
    return sum(field.held(model, tokens) for field in kept_fields(model))


def wide_numbers(model: Any, tokens: int) -> int:
    """Those of them that are float32 at least, whatever the cache's type: a state's."""
    return sum(field.held(model, tokens) for field in kept_fields(model) if field.wide)


def met_bytes(model: Any, dtype_bytes: float) -> Fraction:
    """Bytes that a query reads in one layer: of one token, or of the whole state."""
    state = sum(field.numbers(model) for field in kept_fields(model) if field.once)
    each = numbers_per_token(model) * Fraction(dtype_bytes)
    return each + state * Fraction(max(dtype_bytes, WIDE_BYTES))


WIDE_BYTES = 4  # of a number of a state, which models keep in float32

# What groups of 32, or of 16 in NVFP4, take with their scales: 2 and 4 bits with a float16 scale
# and zero, MXFP4, NVFP4, MXFP8.
GROUPED = (0.375, 0.625, 0.53125, 0.5625, 1.03125)


def check_dtype_bytes(dtype_bytes: float) -> None:
    """Refuse what no data type takes."""
    if isinstance(dtype_bytes, bool) or dtype_bytes not in (0.5, 1, 2, 4, 8, *GROUPED):
        raise ConfigError(
            "dtype_bytes must be 0.5, 1, 2, 4 or 8, or for groups with their scales one of "
            f"{', '.join(map(str, GROUPED))}, got {dtype_bytes!r}"
        )


def whole_bytes(numbers: int, dtype_bytes: float) -> int:
    """Bytes of so many numbers; a number may take a part of a byte, all together may not."""
    check_dtype_bytes(dtype_bytes)
    size, rest = divmod(round(32 * dtype_bytes) * numbers, 32)  # quarters of a bit
    if rest:
        raise ConfigError(f"{numbers} numbers of {dtype_bytes} bytes do not fill whole bytes")
    return size


def mixed_bytes(numbers: int, wide: int, dtype_bytes: float) -> int:
    """Bytes of so many numbers, of which some are float32 at least."""
    held = whole_bytes(wide, max(dtype_bytes, WIDE_BYTES)) if wide else 0
    return held + whole_bytes(numbers - wide, dtype_bytes)


def cache_bytes_per_token(model: Any, *, dtype_bytes: float = 2, ranks: int = 1) -> int:
    """Bytes that one more token adds to the cache of one sequence.

    ``sum over layers that keep of numbers_per_token * dtype_bytes``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name. Windowed layers count as long as their window is not full.
    dtype_bytes : float
        Bytes of a number: 0.5, 1, 2, 4 or 8; groups with their scales 0.375 to 1.03125.
    ranks : int
        Devices that split the heads: the bytes of each. Heads are copied where there are fewer than
        devices; latents and other keys that no head has for itself are whole on every one.

    Returns
    -------
    int
        Bytes over all layers. What blocks of tokens leave counts evenly to their tokens, rounded
        up. What only the last tokens keep, where others stay, is left out: no token adds to it.

    Raises
    ------
    ConfigError
        If ``dtype_bytes`` is none of these, or the ranks can't share the heads.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> cache_bytes_per_token(MODELS["llama-3-8b"])
    131072
    >>> [cache_bytes_per_token(MODELS["llama-3-8b"], ranks=ranks) for ranks in (2, 8, 16)]
    [65536, 16384, 16384]
    """
    model = listed(model)
    kinds = keeping_kinds(model, ranks)
    every = sum((k.layers * numbers_per_token(k.sizes) for k in kinds), Fraction(0))
    if all(field.tokens(kind.sizes) == 1 for kind in kinds for field in kept_fields(kind.sizes)):
        return whole_bytes(int(every), dtype_bytes)
    check_dtype_bytes(dtype_bytes)  # an average may be any part of a byte
    return ceil(every * Fraction(dtype_bytes))


def cache_bytes(
    model: Any,
    *,
    batch: int,
    context: int,
    dtype_bytes: float = 2,
    storage: Contiguous | Ring | Evicting | Paged | Quantized = _RING,
    ranks: int = 1,
) -> int:
    """Bytes of the whole cache.

    ``batch * dtype_bytes * sum over layers and fields of numbers * (slots(context) // tokens)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    batch, context : int
        Sequences, and tokens in each.
    dtype_bytes : float
        Bytes of a number: 0.5, 1, 2, 4 or 8; groups with their scales 0.375 to 1.03125.
    storage : Contiguous, Ring, Evicting, Paged or Quantized
        Slots that a layer holds. A ring keeps ``min(context, sink_tokens + window)`` in windowed
        layers; pages store a shared prefix once.
        Only the last counts scales of quantized numbers by itself; its ``dtype_bytes`` is that of
        the numbers before.
    ranks : int
        Devices that split the heads, as in `cache_bytes_per_token`: the bytes of each.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ConfigError
        If a number is out of range, or the ranks can't share the heads.

    Notes
    -----
    Equals ``allocated_bytes`` of real caches with that capacity, and ``used_bytes`` of real
    caches that hold so many tokens.

    References
    ----------
    pope2022scaling, section 3.3

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> cache_bytes(MODELS["gpt2"], batch=1, context=100, dtype_bytes=4)
    7372800
    """
    model = listed(model)
    check_count("batch", batch)
    check_count("context", context, least=0)
    kinds = keeping_kinds(model, ranks)
    fields = (field for kind in kinds for field in kept_fields(kind.sizes))
    last = list(dict.fromkeys(field.name for field in fields if not field.grows))
    if last and not isinstance(storage, Contiguous | Ring):
        raise ConfigError(
            f"{model.attention} writes over {' and '.join(last)} of all but the last tokens, which "
            f"{type(storage).__name__} has no rule for: leave storage out"
        )
    if isinstance(storage, Quantized):
        each = (k.layers * storage.layer_bytes(k.sizes, context, dtype_bytes) for k in kinds)
        return batch * sum(each)
    numbers = batch * sum(
        k.layers * numbers_held(k.sizes, storage.slots(context, k.kept)) for k in kinds
    )
    if isinstance(storage, Paged):
        slots = storage.shared_slots(context)
        shared = sum(k.layers * numbers_held(k.sizes, slots) for k in kinds)
        numbers -= (batch - 1) * shared
    wide = batch * sum(k.layers * wide_numbers(k.sizes, context) for k in kinds)
    return mixed_bytes(numbers, wide, dtype_bytes)


def cache_formula(
    model: Any,
    *,
    batch: int,
    context: int,
    dtype_bytes: float = 2,
    storage: Ring | Paged = _RING,
    ranks: int = 1,
) -> list[list[Factor]]:
    """The cache formula with its numbers put in: a sum of products.

    ``bytes = sum over terms of the product of the term's factors``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    batch, context : int
        Sequences, and tokens in each.
    dtype_bytes : float
        Bytes of a number.
    storage : Ring or Paged
        Slots that a layer holds; with pages a shared prefix is a term of its own.
    ranks : int
        Devices that split the heads, as in `cache_bytes`.

    Returns
    -------
    list of list of Factor
        One term per kind of layer (all tokens, window), or of tokens (of each sequence, shared),
        and as many again for what complete blocks of tokens leave; the products add up to
        `cache_bytes`.

    Raises
    ------
    ConfigError
        If a number is out of range, or the ranks can't share the heads.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> [(f.label, f.value) for f in cache_formula(
    ...     MODELS["gpt2"], batch=1, context=100, dtype_bytes=4)[0]]
    [('numbers a token', 1536), ('layers', 12), ('tokens', 100), ('sequences', 1), ('bytes', 4)]
    """
    model = listed(model)
    cache_bytes(  # checks all
        model, batch=batch, context=context, dtype_bytes=dtype_bytes, storage=storage, ranks=ranks
    )
    kinds = keeping_kinds(model, ranks)
    alike = len({tuple(_spans(kind.sizes, context)) for kind in kinds}) == 1
    if isinstance(storage, Paged) and alike:  # pages of all layers hold all tokens
        kinds = [LayerKind(sum(kind.layers for kind in kinds), None, kinds[0].sizes)]
    return [
        [
            Factor("numbers a block" if span else "numbers a token", numbers),
            Factor(layers_label, kind.layers),
            Factor(_IN_BLOCKS[tokens_label] if span else tokens_label, tokens),
            Factor("sequences", sequences),
            Factor("bytes", max(dtype_bytes, WIDE_BYTES) if wide else dtype_bytes),
        ]
        for kind in kinds
        for span, last, wide, numbers in _spans(kind.sizes, context)
        for layers_label, tokens_label, tokens, sequences in (
            _terms(kind, batch, context, storage, span or 1)
            if last is None
            else [("layers", "state" if wide else "last tokens", last, batch)]
        )
    ]


def _spans(sizes: Any, context: int) -> list[tuple[int, int | None, bool, int]]:
    """Tokens that leave numbers once, 0 where each does; those that keep them; width; numbers."""
    spans: dict[tuple[int, int | None, bool], int] = {}
    for field in kept_fields(sizes):
        span = field.tokens(sizes) if field.per else 0
        key = span, None if field.grows else field.kept(sizes, context), field.wide
        spans[key] = spans.get(key, 0) + field.numbers(sizes)
    return [(*key, numbers) for key, numbers in spans.items()]


_IN_BLOCKS = {
    "tokens": "complete blocks",
    "tokens kept": "complete blocks kept",
    "slots of its own": "complete blocks of its own",
    "shared slots": "shared complete blocks",
}


def _terms(
    kind: LayerKind, batch: int, context: int, storage: Ring | Paged, span: int
) -> list[tuple[str, str, int, int]]:
    """Words for layers and for tokens, tokens or blocks of so many, and sequences."""
    if isinstance(storage, Paged):
        shared = storage.shared_slots(context) // span
        own = storage.slots(context, None) // span - shared
        terms = [("layers", "slots of its own", own, batch)]
        return terms + ([("layers", "shared slots", shared, 1)] if shared else [])
    if kind.kept is None:
        return [("layers", "tokens", context // span, batch)]
    return [("windowed layers", "tokens kept", min(context, kind.kept) // span, batch)]


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
