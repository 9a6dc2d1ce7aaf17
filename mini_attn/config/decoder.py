"""What a decoder is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mini_attn.config.attention import AttentionConfig
from mini_attn.config.experts import ExpertConfig
from mini_attn.errors import CacheOverflowError, ConfigError
from mini_attn.shapes import check_choice, check_count, check_flag, check_number, check_positive

__all__ = ["DecoderConfig", "check_decoder", "check_room", "check_sampling", "check_stop"]


class LayerNorms(NamedTuple):
    """Names of a layer's norms, around its attention and around its MLP; None is none."""

    before_attention: str | None
    after_attention: str | None
    before_mlp: str | None
    after_mlp: str | None


# As published weights have them: the same name stands elsewhere in another placement.
NORMS = {
    "before": LayerNorms("input_layernorm", None, "post_attention_layernorm", None),
    "after": LayerNorms(None, "post_attention_layernorm", None, "post_feedforward_layernorm"),
    "stream": LayerNorms("input_layernorm", None, "post_attention_layernorm", None),
    "both": LayerNorms(
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
}


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes and options of a decoder: embeddings, layers of attention and MLP, logits.

    Parameters
    ----------
    vocab_size, n_layers, max_positions : int
        Number of tokens, of layers, longest sequence.
    d_ff : int or tuple of int
        Width of the MLP, in every layer or one for each.
    attention : AttentionConfig, LatentConfig or tuple of them
        The attention of every layer, or one for each; its ``d_model`` is the decoder's.
    mlp : {"plain", "gated", "none"}
        Two matrices, or three with a gate; or no MLP, and no norm for it (Mamba-2).
    activation : {"gelu_tanh", "gelu", "silu", "relu"}
        Non-linearity of the MLP.
    norm : {"layer_norm", "rms_norm"}
        Normalization of each layer's blocks, attention and MLP, and before the logits.
    positions : {"learned", "sinusoidal", "none"}
        What is added to the token embeddings; rotary embeddings and ALiBi belong to the attention.
    eps : float
        Added to the variance in the normalization.
    tie_embeddings : bool
        Logits use the token embedding's matrix.
    mlp_bias : bool
        Biases in the MLP.
    norm_placement : {"before", "after", "both", "stream"} or tuple of them
        Whether a block is given what is normalized, or what it gives is normalized before it is
        added to the stream (OLMo 2), or both (Gemma 2 and 3), or the stream itself is normalized
        before each block, which is given it and adds to it (MiniMax-01). In every layer, or one
        for each.
    embed_scale : float or None
        Factor of the token embeddings, rounded to their type; None leaves them.
    logit_softcap : float or None
        Logits become ``logit_softcap * tanh(logits / logit_softcap)``; None leaves them.
    experts : ExpertConfig, tuple of them and None, or None
        What stands in the MLP's place: in every layer, or in each for which the tuple has one;
        ``mlp``, ``d_ff``, ``activation`` and ``mlp_bias`` are those of the layers without.
    kv_sources : tuple of int or None
        For each layer, the layer whose keys and values it reads: itself, or an earlier one that
        makes its own. A layer that reads another's has no key and value projections and no
        cache. None: each reads its own.
    per_layer_dim : int
        Each layer is also given so many numbers of each token, from a table of its own; 0 gives
        none (Gemma 4's smaller models).
    layer_scalars : bool
        Whether what a layer gives is multiplied by a number of the layer's.
    stream_scales : tuple of tuple of float or None
        For each layer four factors: of the stream and of the attention's answer where they are
        added, and of the stream and of the MLP's (MiniMax-01). None: all are 1.

    Raises
    ------
    ConfigError
        If a size is below 1, an option has an unknown value, or a layer would read keys and
        values that don't fit it.

    Examples
    --------
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=16, n_heads=2, head_dim=8)
    >>> DecoderConfig(64, 2, attention, d_ff=64, max_positions=32).d_model
    16
    """

    vocab_size: int
    n_layers: int
    attention: Any
    d_ff: Any
    max_positions: int
    mlp: str = "plain"
    activation: str = "gelu_tanh"
    norm: str = "layer_norm"
    positions: str = "learned"
    eps: float = 1e-5
    tie_embeddings: bool = True
    mlp_bias: bool = True
    norm_placement: Any = "before"
    embed_scale: float | None = None
    logit_softcap: float | None = None
    experts: Any = None
    kv_sources: tuple[int, ...] | None = None
    per_layer_dim: int = 0
    layer_scalars: bool = False
    stream_scales: Any = None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "n_layers", "max_positions"):
            check_count(name, getattr(self, name))
        self._check_widths()
        check_count("per_layer_dim", self.per_layer_dim, least=0)
        if isinstance(self.attention, list):
            object.__setattr__(self, "attention", tuple(self.attention))
        self._check_attentions()
        check_choice("mlp", self.mlp, ("plain", "gated", "none"))
        check_choice("activation", self.activation, ("gelu_tanh", "gelu", "silu", "relu"))
        check_choice("norm", self.norm, ("layer_norm", "rms_norm"))
        check_choice("positions", self.positions, ("learned", "sinusoidal", "none"))
        self._check_placements()
        check_number("eps", self.eps, above=0)
        for name in ("embed_scale", "logit_softcap"):
            check_positive(name, getattr(self, name))
        for name in ("tie_embeddings", "mlp_bias", "layer_scalars"):
            check_flag(name, getattr(self, name))
        self._check_experts()
        if self.kv_sources is not None:
            self._check_sources()

    def _check_placements(self) -> None:
        """Refuse placements of norms that are none, and factors that are not four a layer."""
        given = self.norm_placement
        several = isinstance(given, list | tuple)
        for placement in given if several else (given,):
            check_choice("norm_placement", placement, tuple(NORMS))
        if several:
            self._check_each("norm_placement", given)
            same = len(set(given)) == 1
            object.__setattr__(self, "norm_placement", given[0] if same else tuple(given))
        if self.stream_scales is None:
            return
        self._check_each("stream_scales", self.stream_scales)
        scales = tuple(
            tuple(check_number("stream_scales", factor) for factor in four)
            for four in self.stream_scales
        )
        if any(len(four) != 4 for four in scales):
            raise ConfigError(f"stream_scales must have four numbers a layer, got {scales!s:.80}")
        plain = all(factor == 1 for four in scales for factor in four)
        object.__setattr__(self, "stream_scales", None if plain else scales)

    def _check_each(self, name: str, given: Any) -> None:
        """Refuse what is not one for each layer."""
        if not isinstance(given, list | tuple) or len(given) != self.n_layers:
            raise ConfigError(
                f"{name} must be one for each of {self.n_layers} layers: {given!r:.80}"
            )

    def _check_widths(self) -> None:
        """Refuse widths of the MLPs that are none, or those of another number of layers."""
        if not isinstance(self.d_ff, list | tuple):
            check_count("d_ff", self.d_ff)
            return
        widths = tuple(check_count("d_ff", width) for width in self.d_ff)
        if len(widths) != self.n_layers:
            raise ConfigError(
                f"d_ff must be a whole number or one for each of {self.n_layers} layers, "
                f"got {len(widths)}"
            )
        object.__setattr__(self, "d_ff", widths[0] if len(set(widths)) == 1 else widths)

    def _check_sources(self) -> None:
        """Refuse layers that would read keys and values which aren't there or don't fit."""
        given = self.kv_sources
        counted = isinstance(given, list | tuple) and len(given) == self.n_layers
        if not counted or not all(type(i) is int for i in given):  # type: ignore[union-attr]
            raise ConfigError(
                f"kv_sources must name a layer for each of {self.n_layers}, got {given!r:.80}"
            )
        sources = tuple(given)  # type: ignore[arg-type]
        object.__setattr__(self, "kv_sources", sources)
        for layer, source in enumerate(sources):
            if not 0 <= source <= layer or sources[source] != source:
                raise ConfigError(
                    f"kv_sources[{layer}] must be {layer} itself or an earlier layer that makes "
                    f"its own keys and values, got {source} in {sources!s:.80}"
                )
            if source != layer:
                _check_readable(layer, source, self.attentions)
        if sources == tuple(range(self.n_layers)):
            object.__setattr__(self, "kv_sources", None)  # equal decoders are equal

    def _check_experts(self) -> None:
        """Refuse what describes no experts, or those of another number of layers."""
        if isinstance(self.experts, list):
            object.__setattr__(self, "experts", tuple(self.experts))
        given = self.experts if isinstance(self.experts, tuple) else (self.experts,)
        if isinstance(self.experts, tuple) and len(given) != self.n_layers:
            raise ConfigError(
                f"{self.n_layers} layers need one ExpertConfig or as many, got {len(given)}"
            )
        for experts in given:
            if experts is not None and not isinstance(experts, ExpertConfig):
                raise ConfigError(f"experts must be an ExpertConfig or None, got {experts!r:.60}")

    def _check_attentions(self) -> None:
        """Refuse attention that is none, or layers that cannot stand on each other."""
        given = self.attention if isinstance(self.attention, tuple) else (self.attention,)
        if isinstance(self.attention, tuple) and len(given) != self.n_layers:
            raise ConfigError(
                f"{self.n_layers} layers need one attention or as many, got {len(given)}"
            )
        for attention in given:
            if not hasattr(attention, "variant") or not hasattr(attention, "d_model"):
                raise ConfigError(
                    f"attention must be an AttentionConfig or LatentConfig, got {attention!r:.60}"
                )
        widths = sorted({attention.d_model for attention in given})
        if len(widths) > 1:
            raise ConfigError(f"all layers need one d_model, got {widths}")

    @property
    def attentions(self) -> tuple[Any, ...]:
        """The attention of each layer."""
        if isinstance(self.attention, tuple):
            return self.attention
        return (self.attention,) * self.n_layers

    @property
    def layer_d_ff(self) -> tuple[int, ...]:
        """Width of each layer's MLP."""
        return self.d_ff if isinstance(self.d_ff, tuple) else (self.d_ff,) * self.n_layers

    @property
    def sources(self) -> tuple[int, ...]:
        """For each layer the one whose keys and values it reads, itself included."""
        return tuple(range(self.n_layers)) if self.kv_sources is None else self.kv_sources

    @property
    def keeping_layers(self) -> tuple[int, ...]:
        """The layers that keep keys and values, in the order of their caches."""
        return tuple(i for i, source in enumerate(self.sources) if i == source)

    @property
    def layer_experts(self) -> tuple[ExpertConfig | None, ...]:
        """The experts of each layer; None where it has an MLP."""
        if isinstance(self.experts, tuple):
            return self.experts
        return (self.experts,) * self.n_layers

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        first = self.attention[0] if isinstance(self.attention, tuple) else self.attention
        return int(first.d_model)

    @property
    def placements(self) -> tuple[str, ...]:
        """Where each layer has its norms."""
        given = self.norm_placement
        return given if isinstance(given, tuple) else (given,) * self.n_layers

    @property
    def norm_names(self) -> LayerNorms:
        """Names of the first layer's norms, which are those of all but hybrids."""
        return self.layer_norms[0]

    @property
    def layer_norms(self) -> tuple[LayerNorms, ...]:
        """Names of each layer's norms, None where there is none."""
        names = [NORMS[placement] for placement in self.placements]
        if self.mlp != "none":
            return tuple(names)
        return tuple(
            own if experts else own._replace(before_mlp=None, after_mlp=None)
            for own, experts in zip(names, self.layer_experts, strict=True)
        )


def _check_readable(layer: int, source: int, attentions: tuple[Any, ...]) -> None:
    """Refuse a layer that cannot read what another keeps."""
    reader, keeper = attentions[layer], attentions[source]
    for i, attention in ((layer, reader), (source, keeper)):
        if not isinstance(attention, AttentionConfig):
            raise ConfigError(
                f"kv_sources: layers share keys and values of heads, and layer {i} has "
                f"{attention.variant}"
            )
    for name in ("n_kv_heads", "head_dim", "v_head_dim", "rope", "alibi"):
        ours, theirs = getattr(reader, name), getattr(keeper, name)
        if ours != theirs:
            raise ConfigError(
                f"layer {layer} reads the keys of layer {source}, so both need one {name}, "
                f"got {ours!s:.60} and {theirs!s:.60}"
            )
    kept = keeper.window
    if kept is not None and (reader.window is None or reader.window > kept):
        raise ConfigError(
            f"layer {layer} sees {reader.window or 'all'} keys, but layer {source}, whose cache "
            f"it would read, keeps the last {kept}"
        )
    if kept is not None and keeper.sink_tokens < reader.sink_tokens:
        raise ConfigError(
            f"layer {layer} sees {reader.sink_tokens} first tokens, layer {source} keeps "
            f"{keeper.sink_tokens}"
        )


def last_alike(kinds: Sequence[Any], own: int) -> tuple[int | None, ...]:
    """Return for each layer the one it reads if those behind the first ``own`` make no keys.

    That is the last of the first ones of the same kind; None where there is none.
    """
    last = {kind: layer for layer, kind in enumerate(kinds[: max(own, 0)])}
    return tuple(layer if layer < own else last.get(kind) for layer, kind in enumerate(kinds))


def check_decoder(config: Any) -> None:
    """Refuse what is no decoder's configuration, and say how one gets it from what came.

    Parameters
    ----------
    config : DecoderConfig
        What a decoder was given.

    Raises
    ------
    ConfigError
        If it is of another kind.

    Examples
    --------
    >>> check_decoder("gpt2")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: config must be a DecoderConfig, got 'gpt2'; of a listed model ...
    """
    if isinstance(config, DecoderConfig):
        return
    if callable(getattr(config, "decoder", None)):
        hint = f"got the model {getattr(config, 'name', config)!r:.60}: pass its decoder()"
    else:
        listed = "; of a listed model take MODELS[name].decoder(), from mini_attn.models"
        hint = f"got {config!r:.60}{listed if isinstance(config, str) else ''}"
    raise ConfigError(f"config must be a DecoderConfig, {hint}")


def check_room(
    config: DecoderConfig, caches: Iterable[Any], *, prompt: int, new: int, longest: int
) -> None:
    """Refuse a generation before its first step if a later one would have no room.

    Parameters
    ----------
    config : DecoderConfig
        The decoder that generates.
    caches : iterable of caches
        They tell ``slots`` and ``capacity``; none without a cache.
    prompt, new : int
        Tokens of the prompt, padding included, and tokens to come.
    longest : int
        Tokens of the longest row once the prompt is processed, padding left out.

    Raises
    ------
    CacheOverflowError
        If a cache has too few free slots.
    ConfigError
        If the positions would exceed those that the decoder has.

    Examples
    --------
    >>> from mini_attn.config import AttentionConfig
    >>> attention = AttentionConfig(d_model=16, n_heads=2, head_dim=8)
    >>> decoder = DecoderConfig(64, 2, attention, d_ff=64, max_positions=32)
    >>> check_room(decoder, [], prompt=30, new=3, longest=30)
    """
    fed = prompt + max(new - 1, 0)  # the last new token is not run
    for cache in caches:
        if cache.capacity is not None and cache.slots + fed > cache.capacity:
            raise CacheOverflowError(
                f"{prompt} prompt and {new} new tokens need {fed} slots, but {cache.slots} of "
                f"{cache.capacity} are used: make the capacity {cache.slots + fed}"
            )
    if config.positions != "none" and longest + new - 1 > config.max_positions:
        raise ConfigError(
            f"{longest} tokens and {new} new ones exceed max_positions = {config.max_positions}"
        )


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse options of a random draw that are out of range.

    Parameters
    ----------
    temperature : float
        Divides the logits.
    top_k : int or None
        Number of likeliest tokens.
    top_p : float or None
        Probability that the likeliest tokens reach together.

    Raises
    ------
    ConfigError
        If the temperature is not above 0, ``top_k`` below 1, or ``top_p`` not in (0, 1].

    Examples
    --------
    >>> check_sampling(0.7, 40, None)
    """
    check_number("temperature", temperature, above=0)
    if top_k is not None:
        check_count("top_k", top_k)
    if top_p is not None and check_number("top_p", top_p, above=0) > 1:
        raise ConfigError(f"top_p is a probability, at most 1, got {top_p!r}")


def check_stop(name: str, stop: Any, vocab_size: int) -> tuple[int, ...]:
    """The tokens that end a row, as a tuple.

    Parameters
    ----------
    name : str
        What the caller calls them, for the message.
    stop : int, sequence of int, or None
        One token, several of which any ends the row, or none.
    vocab_size : int
        Number of tokens that there are.

    Returns
    -------
    tuple of int
        Each token once, in the order given; empty if nothing ends a row.

    Raises
    ------
    ConfigError
        If one is no whole number in 0 … vocab_size - 1, or a sequence is empty.

    Examples
    --------
    >>> check_stop("stop", [2, 7, 2], vocab_size=8)
    (2, 7)
    """
    if stop is None:
        return ()
    several = isinstance(stop, Iterable) and not isinstance(stop, str | bytes | Mapping)
    if several and not getattr(stop, "shape", (1,)):
        several = False  # an array of no axes is one number
    tokens = list(stop) if several else [stop]
    if not tokens:
        raise ConfigError(f"{name} must name a token, got none: None lets no token end a row")
    for token in tokens:
        if check_count(name, token, least=0) >= vocab_size:
            raise ConfigError(f"{name} must lie in 0 … {vocab_size - 1}, got {int(token)}")
    return tuple(dict.fromkeys(int(token) for token in tokens))
