"""What devices that share a model send each other, keep, and wait for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mini_attn.cost.listed import listed
from mini_attn.cost.memory import (
    LayerSizes,
    cache_bytes,
    check_dtype_bytes,
    head_copies,
    numbers_per_token,
    rank_sizes,
)
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_flag, check_number
from mini_attn.variants import variant

__all__ = [
    "Collective",
    "Communication",
    "Link",
    "communication",
    "device_cache_bytes",
    "device_cache_values",
    "fitted_link",
    "idle_share",
    "ring_pairs",
]

SCHEMES = ("tensor", "ring", "ulysses", "split-cache")


@dataclass(frozen=True)
class Collective:
    """One thing that the ranks say to each other in a layer, once or several times.

    Counted as by the ring algorithms: an all-reduce adds up parts and then gathers them. An
    all-to-all goes pair by pair.

    Parameters
    ----------
    kind : {"all_reduce", "all_gather", "all_to_all", "exchange"}
        Which one.
    what : str
        What is sent, in words.
    held : Fraction
        Values of one token that a rank brings to it, averaged over the tokens of all ranks.
    ranks : int
        How many take part.
    calls : int
        How often it happens in a layer.
    partial : bool
        Whether these are parts of a sum that the receiver goes on adding to: they're sent in
        float32, or in the values' own type where that is wider.

    Examples
    --------
    >>> each = Collective("all_reduce", "attention's output", Fraction(4096), ranks=8)
    >>> each.values, each.messages
    (Fraction(7168, 1), 14)
    """

    kind: str
    what: str
    held: Fraction
    ranks: int
    calls: int = 1
    partial: bool = False

    @property
    def values(self) -> Fraction:
        """Values that a rank sends for one token, over all calls."""
        others = Fraction(self.ranks - 1)
        sent = {
            "all_reduce": 2 * others / self.ranks,
            "all_gather": others,
            "all_to_all": others / self.ranks,
            "exchange": Fraction(1),
        }
        return self.calls * self.held * sent[self.kind]

    @property
    def messages(self) -> int:
        """Messages that a rank waits for one after the other, over all calls."""
        others = self.ranks - 1
        each = {"all_reduce": 2 * others, "exchange": 1}.get(self.kind, others)
        return self.calls * each


@dataclass(frozen=True)
class Communication:
    """What each rank sends in one layer.

    Parameters
    ----------
    scheme : str
        How the work is split.
    ranks : int
        How many devices share it.
    dtype_bytes : float
        Bytes of a value.
    collectives : tuple of Collective
        What they send, in order.

    Examples
    --------
    >>> communication("llama-3-8b", ranks=8, scheme="ulysses").parts
    {'queries, keys and values': 672, 'outputs': 448}
    """

    scheme: str
    ranks: int
    dtype_bytes: float
    collectives: tuple[Collective, ...]

    @property
    def parts(self) -> dict[str, int | float]:
        """Values per token, layer and device, by what is sent."""
        return {each.what: _plain(each.values) for each in self.collectives}

    @property
    def messages(self) -> int:
        """Messages of a layer that a rank waits for one after the other."""
        return sum(each.messages for each in self.collectives)

    def values(self, tokens: int = 1) -> int | float:
        """Values that a rank sends in one layer for so many tokens, those of all ranks counted."""
        check_count("tokens", tokens)
        return _plain(tokens * sum((each.values for each in self.collectives), Fraction(0)))

    def bytes(self, tokens: int = 1) -> int | float:
        """Bytes of these values."""
        check_count("tokens", tokens)
        own = Fraction(self.dtype_bytes)
        widths = [max(own, Fraction(4 * each.partial)) for each in self.collectives]
        sent = zip(self.collectives, widths, strict=True)
        return _plain(tokens * sum((each.values * width for each, width in sent), Fraction(0)))

    def seconds(self, link: Link, *, tokens: int = 1) -> float:
        """Time of a layer's messages on a link: ``messages * alpha + bytes / rate``."""
        return link.seconds(self.messages, float(self.bytes(tokens)))


def _plain(number: Fraction) -> int | float:
    """A whole number as one."""
    return int(number) if number.denominator == 1 else float(number)


def communication(
    model: Any,
    *,
    ranks: int,
    scheme: str,
    layer: int = 0,
    dtype_bytes: float = 2,
    backward: bool = False,
) -> Communication:
    """Return what each device sends in one layer, for each token.

    ``tensor: 4 * d_model * (P - 1) / P;
    ring: (n_kv_heads * (head_dim + v_head_dim)) * (P - 1) / P;
    ulysses: (n_heads + n_kv_heads) * (head_dim + v_head_dim) * (P - 1) / P**2;
    split-cache: n_heads * (v_head_dim + 1) * (P - 1)``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    ranks : int
        Devices, P.
    scheme : {"tensor", "ring", "ulysses", "split-cache"}
        Heads and columns split, one all-reduce after attention and one after the MLP; tokens
        split, keys and values passed around; tokens split, heads instead while they attend; one
        new token whose cache is split by positions, all partial results gathered.
    layer : int
        Which layer, counted from 0.
    dtype_bytes : float
        Bytes of a value.
    backward : bool
        Whether to count the backward pass instead of the forward pass.

    Returns
    -------
    Communication
        Values and bytes that one device sends, for each token of the whole sequence or batch,
        whoever holds it: ``n`` tokens cost ``n`` times as much.

    Raises
    ------
    ConfigError
        If a number is out of range, the ranks can't share the model's heads or columns evenly, or
        the scheme isn't made for the model's attention or has no backward pass.

    Notes
    -----
    The ring algorithms' counts: an all-reduce of n values sends ``2 n (P - 1) / P``. What stands
    outside the layers (embedding, logits) is left out. Tensor parallel counts the MLP, which
    nobody sends anything for under the other three: there every device has all of its weights.
    In a ring, whatever a token leaves in the cache goes around, so MLA's latent does. Its
    backward pass sends keys and values around again, and behind them their gradients, which go
    home in the end. A split cache's partial outputs are as wide as a value, MLA's too: its ranks
    turn what they gathered from latents into values before they merge. These outputs, the
    gradients in a ring and the sums over experts are sent in float32 even where values have 16
    bits. Beside the two sums of tensor parallel, a norm over all heads needs one for queries and
    one for keys, and experts need the gradients of their weights. Gradients of weights that
    several ranks hold don't depend on the tokens and are left out.

    References
    ----------
    shoeybi2019megatron, section 3; liu2023ring, section 3; jacobs2023ulysses, section 3.2

    Examples
    --------
    >>> [communication("llama-3-8b", ranks=8, scheme=scheme).values()
    ...  for scheme in ("ulysses", "ring", "tensor")]
    [1120, 1792, 14336]
    """
    model = listed(model)
    check_choice("scheme", scheme, SCHEMES)
    check_count("ranks", ranks)
    check_dtype_bytes(dtype_bytes)
    if check_count("layer", layer, least=0) >= model.n_layers:
        raise ConfigError(f"layer must lie in 0 … {model.n_layers - 1}, got {layer}")
    check_flag("backward", backward)
    if backward and scheme == "split-cache":
        raise ConfigError("a split cache serves decoding, which has no backward pass")
    mixed = model.n_experts and layer >= model.n_dense_layers
    routed = model.experts_per_token if mixed else 0
    sizes = LayerSizes(model, {**model.kind_sizes(layer), "routed": routed})
    told = {"tensor": _tensor, "ring": _ring, "ulysses": _ulysses, "split-cache": _split_cache}
    return Communication(scheme, ranks, dtype_bytes, told[scheme](sizes, ranks, backward))


def _tensor(sizes: Any, ranks: int, backward: bool) -> tuple[Collective, ...]:
    """One sum after attention and one after the MLP, on the way back before them."""
    _check_shares(sizes, ranks)
    width, routed = Fraction(sizes.d_model), bool(sizes.routed)
    halves = (
        {"attention and MLP": routed} if sizes.parallel else {"attention": False, "MLP": routed}
    )
    found = [
        Collective("all_reduce", half, width, ranks, partial=experts and not backward)
        for half, experts in halves.items()
    ]
    if sizes.qk_norm == "width":  # one sum of squares for queries and one for keys
        norms = Collective("all_reduce", "norms", Fraction(1), ranks, calls=2, partial=True)
        found.insert(0, norms)
    if routed and backward:
        weights = Fraction(sizes.routed)
        found.append(Collective("all_reduce", "experts' weights", weights, ranks, partial=True))
    return tuple(found)


def _ring(sizes: Any, ranks: int, backward: bool) -> tuple[Collective, ...]:
    """A rank's own part of the tokens goes around, and back with gradients."""
    _check_scheme("ring", sizes)
    share = numbers_per_token(sizes) / ranks
    calls = ranks - 1
    around = Collective("exchange", "keys and values", share, ranks, calls)
    home = Collective("exchange", "their gradients", share, ranks, calls, partial=True)
    return (around, home) if backward else (around,)


def _ulysses(sizes: Any, ranks: int, backward: bool) -> tuple[Collective, ...]:
    """Tokens become heads for queries, keys and values, and heads tokens for the outputs."""
    _check_scheme("ulysses", sizes)
    for name in ("n_heads", "n_kv_heads"):
        if getattr(sizes, name) % ranks:
            raise ConfigError(
                f"ulysses gives every rank its own heads: {ranks} ranks can't share {name} = "
                f"{getattr(sizes, name)} evenly"
            )
    kv_width = sizes.n_kv_heads * (sizes.head_dim + sizes.v_head_dim)
    widths = {  # a key/value head travels with the queries of its group
        "queries, keys and values": sizes.n_heads * sizes.head_dim + kv_width,
        "outputs": sizes.n_heads * sizes.v_head_dim,
    }
    return tuple(
        Collective("all_to_all", what, Fraction(width, ranks), ranks)
        for what, width in widths.items()
    )


def _split_cache(sizes: Any, ranks: int, backward: bool) -> tuple[Collective, ...]:
    """Each rank's output of all heads, and the logarithm of its sum."""
    _check_scheme("split-cache", sizes)
    numbers = Fraction(sizes.n_heads * (sizes.v_head_dim + 1))
    return (Collective("all_gather", "outputs and lse", numbers, ranks, partial=True),)


def _check_scheme(scheme: str, sizes: Any) -> None:
    """Refuse attention that does more than read keys and values of every token it sees."""
    entry = variant(sizes.attention)
    chosen = bool(entry.choice) or any(field.per or not field.grows for field in entry.cache)
    if chosen or (scheme == "ulysses" and sizes.kv_lora_rank):
        raise ConfigError(
            f"{scheme} is for keys and values of {'heads' if scheme == 'ulysses' else 'tokens'}, "
            f"all of which are read: {sizes.attention} isn't such"
        )


def _check_shares(sizes: Any, ranks: int) -> None:
    """Refuse heads, columns or experts that ranks can't share evenly."""
    head_copies(sizes, ranks=ranks)
    shared: dict[str, int] = {}
    if not sizes.n_experts or sizes.n_dense_layers:
        shared["d_ff"] = sizes.d_ff
    if sizes.n_experts:
        shared["n_experts"] = sizes.n_experts
    for name, size in shared.items():
        if size % ranks:
            raise ConfigError(f"{ranks} ranks can't share {name} = {size} evenly")


def device_cache_values(model: Any, *, ranks: int, layer: int = 0) -> int | float:
    """Return how many values a token leaves on every device in a layer whose heads are split.

    ``n_kv_heads / min(ranks, n_kv_heads) * (head_dim + v_head_dim), a latent whole``

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    ranks : int
        Devices.
    layer : int
        Which layer, counted from 0.

    Returns
    -------
    int, or float where blocks of tokens leave something together
        Values per token and device. Split by positions, a cache has on each device all values of
        ``1 / ranks`` of the tokens instead.

    Raises
    ------
    ConfigError
        If the ranks can't share the key/value heads.

    Examples
    --------
    >>> device_cache_values("llama-3-8b", ranks=8), device_cache_values("deepseek-v3", ranks=8)
    (256, 576)
    """
    model = listed(model)
    sizes = LayerSizes(model, model.kind_sizes(check_count("layer", layer, least=0)))
    return _plain(numbers_per_token(rank_sizes(sizes, ranks)))


def device_cache_bytes(
    model: Any,
    *,
    ranks: int,
    scheme: str = "tensor",
    batch: int,
    context: int,
    dtype_bytes: float = 2,
) -> int:
    """Return the bytes of the cache on the fullest device.

    Parameters
    ----------
    model : ModelConfig or str
        Sizes, or a listed model's name.
    ranks : int
        Devices.
    scheme : {"tensor", "ring", "ulysses", "split-cache"}
        Heads split (tensor, ulysses), or positions (ring, split-cache).
    batch, context : int
        Sequences, and tokens in each.
    dtype_bytes : float
        Bytes of a number, as in `cache_bytes`.

    Returns
    -------
    int
        Bytes. With one device, those of `cache_bytes`.

    Raises
    ------
    ConfigError
        If a number is out of range, or the ranks can't share the key/value heads.

    Examples
    --------
    >>> sizes = {"batch": 1, "context": 8192}
    >>> [device_cache_bytes("llama-3-8b", ranks=ranks, **sizes) >> 20 for ranks in (1, 8, 16)]
    [1024, 128, 128]
    >>> device_cache_bytes("llama-3-8b", ranks=16, scheme="split-cache", **sizes) >> 20
    64
    """
    check_choice("scheme", scheme, SCHEMES)
    check_count("ranks", ranks)
    check_count("context", context, least=0)
    if scheme in ("ring", "split-cache"):
        context, ranks = -(-context // ranks), 1
    return cache_bytes(model, batch=batch, context=context, dtype_bytes=dtype_bytes, ranks=ranks)


def ring_pairs(tokens: int, *, ranks: int, order: str) -> list[list[int]]:
    """Return the pairs of query and key that each rank compares in each round of a causal ring.

    Parameters
    ----------
    tokens : int
        Tokens, in equal shares: a multiple of ``2 * ranks``.
    ranks : int
        Devices.
    order : {"contiguous", "zigzag"}
        Whether rank r holds the r-th share of the tokens, or of ``2 * ranks`` chunks the r-th
        from the front and the r-th from the back.

    Returns
    -------
    list of list of int
        For each round the pairs of each rank; in round t rank r reads what rank ``r - t`` holds.

    Raises
    ------
    ConfigError
        If the tokens don't fill the chunks evenly.

    References
    ----------
    liu2023ring, section 3

    Examples
    --------
    >>> ring_pairs(4, ranks=2, order="contiguous"), ring_pairs(4, ranks=2, order="zigzag")
    ([[3, 3], [0, 4]], [[3, 3], [2, 2]])
    """
    check_choice("order", order, ("contiguous", "zigzag"))
    chunks = 2 * check_count("ranks", ranks)
    size, rest = divmod(check_count("tokens", tokens), chunks)
    if rest:
        raise ConfigError(f"{tokens} tokens don't fill {chunks} chunks of {ranks} ranks evenly")

    def held(rank: int) -> tuple[int, int]:
        return (2 * rank, 2 * rank + 1) if order == "contiguous" else (rank, chunks - 1 - rank)

    def pairs(query: int, key: int) -> int:
        return size * size if key < query else size * (size + 1) // 2 if key == query else 0

    return [
        [
            sum(pairs(q, k) for q in held(rank) for k in held((rank - turn) % ranks))
            for rank in range(ranks)
        ]
        for turn in range(ranks)
    ]


def idle_share(order: str, *, ranks: int, tokens: int | None = None) -> float:
    """Return the share of their time that the ranks of a causal ring wait for each other.

    ``1 - sum of pairs / (ranks * sum over rounds of the busiest rank's pairs)``

    Parameters
    ----------
    order : {"contiguous", "zigzag"}
        As in `ring_pairs`.
    ranks : int
        Devices.
    tokens : int or None
        Tokens; None gives the limit of long sequences, ``(ranks - 1) / (2 * ranks - 1)`` for
        contiguous order.

    Returns
    -------
    float
        From 0 (nobody waits) to 1. A round lasts until its busiest rank is done; messages take
        no time.

    Raises
    ------
    ConfigError
        As in `ring_pairs`.

    References
    ----------
    liu2023ring, section 3

    Examples
    --------
    >>> [round(idle_share("contiguous", ranks=ranks), 3) for ranks in (2, 8, 64)]
    [0.333, 0.467, 0.496]
    >>> idle_share("zigzag", ranks=8)
    0.0
    """
    check_choice("order", order, ("contiguous", "zigzag"))
    check_count("ranks", ranks)
    if tokens is None:
        return 0.0 if order == "zigzag" else (ranks - 1) / (2 * ranks - 1)
    rounds = ring_pairs(tokens, ranks=ranks, order=order)
    return float(1 - Fraction(sum(map(sum, rounds)), ranks * sum(map(max, rounds))))


@dataclass(frozen=True)
class Link:
    """How long a message takes between two devices: a fixed time, and a time for each byte.

    Parameters
    ----------
    alpha_seconds : float
        Time of an empty message.
    bytes_per_second : float
        Rate of a long one.

    Raises
    ------
    ConfigError
        If a number isn't positive and finite.

    Examples
    --------
    >>> Link(0.5, 8.0).seconds(messages=14, n_bytes=2)
    7.25
    """

    alpha_seconds: float
    bytes_per_second: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_number(name, value, above=0)

    def seconds(self, messages: int, n_bytes: float) -> float:
        """Time of so many messages one after the other that have so many bytes together."""
        return messages * self.alpha_seconds + n_bytes / self.bytes_per_second


def fitted_link(samples: Iterable[tuple[int, float, float]]) -> Link:
    """Return the link that explains measured times best.

    ``minimize sum of ((messages * alpha + bytes / rate) / seconds - 1)**2``

    Parameters
    ----------
    samples : iterable of (int, float, float)
        Messages one after the other, bytes of all of them, and measured seconds.

    Returns
    -------
    Link
        Its two numbers, by least squares of relative errors.

    Raises
    ------
    ConfigError
        If the samples don't determine two positive numbers: there must be short messages and
        long ones, and the long ones must take longer.

    Examples
    --------
    >>> link = fitted_link([(1, 1e3, 1.1e-5), (1, 1e6, 1.01e-3)])
    >>> f"{1e6 * link.alpha_seconds:.1f} µs, {link.bytes_per_second / 1e9:.2f} GB/s"
    '10.0 µs, 1.00 GB/s'
    """
    rows = [(m / s, b / s) for m, b, s in samples if s > 0]
    mm, mb, bb = (sum(x[i] * x[j] for x in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    m1, b1 = (sum(x[i] for x in rows) for i in (0, 1))
    found = mm * bb - mb * mb
    alpha, beta = m1 * bb - b1 * mb, b1 * mm - m1 * mb
    if len(rows) < 2 or not found > 1e-12 * mm * bb or alpha <= 0 or beta <= 0:
        raise ConfigError(
            f"{len(rows)} samples don't tell a message's fixed time from its time for a byte: "
            "measure short messages and long ones, several times each"
        )
    return Link(alpha / found, found / beta)
