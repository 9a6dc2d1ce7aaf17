"""A published model, described once: its sizes, its options, and the decoder that they make."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from mini_attn.config import (
    DecoderConfig,
    ExpertConfig,
    LinearAttentionConfig,
    QueryGrowth,
    RopeConfig,
)
from mini_attn.config.experts import ROUTINGS
from mini_attn.errors import ConfigError
from mini_attn.models._layer_kinds import LayerKinds
from mini_attn.shapes import check_choice, check_count, check_flag, check_heads, check_positive
from mini_attn.variants import KINDS, optional_sizes, variant

__all__ = ["ModelConfig"]

_NORMS_PER_LAYER = {"before": 2, "after": 2, "both": 4, "one": 1, "stream": 2}
# Options with a few values each.
_CHOICES = {
    "biases": ("none", "qkv", "attention", "mlp", "all"),
    "qk_norm": ("none", "head", "width"),
    "norm": ("rms_norm", "layer_norm", "layer_norm_without_bias"),
    "norm_placement": tuple(_NORMS_PER_LAYER),
}


@dataclass(frozen=True)
class _Described:
    """What every model says of itself, and what its variant alone says, by name, in ``own``."""

    name: str
    title: str
    source: str
    attention: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    vocab_size: int
    max_context: int
    v_head_dim: int = None  # type: ignore[assignment]  # None becomes head_dim
    full_every: int = 0
    rope: RopeConfig | None = None
    local_rope: RopeConfig | None = None
    alibi: bool = False
    softcap: float | None = None
    scale: float | None = None
    sinks: bool = False
    biases: str = "none"
    qk_norm: str = "none"
    mlp_matrices: int = 3
    activation: str = "silu"
    norm: str = "rms_norm"
    norm_placement: str = "before"
    eps: float = 1e-5
    parallel: bool = False
    n_experts: int = 0
    n_shared_experts: int = 0
    experts_per_token: int = 0
    n_dense_layers: int = 0
    expert_d_ff: int = 0
    expert_activation: str = ""
    routing: str = "softmax_of_chosen"
    router_bias: bool = False
    learned_positions: int = 0
    tied_embeddings: bool = False
    scaled_embeddings: bool = False
    embedding_norm: bool = False
    logit_softcap: float | None = None
    transposed_weights: bool = False
    query_growth: QueryGrowth | None = None
    family: str = ""
    published: str = ""
    full_layers: tuple[int, ...] = ()
    full_head_dim: int = 0
    full_n_kv_heads: int = 0
    n_kv_shared_layers: int = 0
    k_eq_v: bool = False
    v_norm: bool = False
    per_layer_dim: int = 0
    layer_scalars: bool = False
    wide_readers: bool = False
    window_sinks: bool = False
    value_scale: float | None = None
    spans: tuple[int, ...] = ()
    linear: LinearAttentionConfig | None = None
    linear_norms: str = ""
    out_gate: bool = False
    shared_d_ff: int = 0
    shared_gate: bool = False
    stream_scale: float | None = None
    routed_scale: float = 1.0
    own: tuple[tuple[str, Any], ...] = ()


def _signature() -> inspect.Signature:
    """Return the fields and, in the place of ``own``, the sizes by name that go into it."""
    *described, _ = inspect.signature(_Described).parameters.values()
    return inspect.Signature(
        [*described, inspect.Parameter("sizes", inspect.Parameter.VAR_KEYWORD)]
    )


class ModelConfig(LayerKinds, _Described):
    """The sizes and options of a model: what its costs depend on and its decoder is made of.

    Parameters
    ----------
    name, title, source : str
        Key, the words for a reader, and where the numbers come from.
    attention : str
        Name of the variant in the registry.
    n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context : int
        As in the notation.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    full_every : int
        Where layers have a window or a state, every ``full_every``-th keeps all; 0 means none does.
    rope, local_rope : RopeConfig or None
        Rotary embedding; that of windowed layers where it differs.
    alibi : bool
        Whether scores get a bias that falls with the distance.
    softcap, scale : float or None
        Bound of the scores; their factor where it is not ``head_dim ** -0.5``.
    sinks : bool
        Whether each head has a learned score that no key owns.
    biases : {"none", "qkv", "attention", "mlp", "all"}
        Which projections have them; ``"all"`` means those of attention and of the MLP.
    qk_norm : {"none", "head", "width"}
        Whether queries and keys are normalized: each head with one weight, or all heads together.
    mlp_matrices : int
        2 for a plain MLP, 3 for a gated one; 0 where layers have none, and no norm for it.
    activation : str
        Non-linearity of the MLP, as in `DecoderConfig`.
    norm : {"rms_norm", "layer_norm", "layer_norm_without_bias"}
        Normalization of each layer's blocks and before the logits.
    norm_placement : {"before", "after", "both", "one", "stream"}
        As in `DecoderConfig`; ``"one"`` is one norm before both blocks.
    eps : float
        Added to the variance in the normalization.
    parallel : bool
        Whether attention and MLP read the same stream and are added to it together.
    n_experts, n_shared_experts, experts_per_token, n_dense_layers, expert_d_ff : int
        Mixture of experts; 0 elsewhere. A token takes ``experts_per_token`` of ``n_experts`` and
        all shared ones; the first ``n_dense_layers`` have a plain MLP.
    expert_activation : str
        Non-linearity of an expert where it isn't the MLP's.
    routing : str
        How scores of experts become weights, as in `ExpertConfig`.
    router_bias : bool
        Whether each expert has a number that its choice adds.
    learned_positions : int
        Rows of a position table.
    tied_embeddings, scaled_embeddings, embedding_norm : bool
        Whether logits reuse the embedding; it is multiplied by ``d_model ** 0.5``; normalized.
    logit_softcap : float or None
        Bound of the logits.
    transposed_weights : bool
        Whether matrices are stored as ``(in, out)``.
    family : str
        Whose model it is, for lists.
    published : str
        Year and month in which the weights became public, or the paper where they never did, as
        ``"2024-04"``; empty where nobody published it.
    full_layers : tuple of int
        Layers that keep all tokens, counted from 0, where no ``full_every`` says which.
    full_head_dim, full_n_kv_heads : int
        Sizes of the layers that keep all tokens, where they differ from those with a window; 0
        means they don't.
    n_kv_shared_layers : int
        So many last layers keep nothing: each reads the last layer before them that sees as far.
    k_eq_v : bool
        Whether the layers that keep all tokens make values with their key projection.
    v_norm : bool
        Whether values are normalized, without a weight.
    per_layer_dim : int
        Numbers of each token that each layer has in a table of its own; 0 where there is none.
    layer_scalars : bool
        Whether what a layer gives is multiplied by a number of the layer's.
    wide_readers : bool
        Whether layers that read another's keys and values have an MLP of twice the width.
    window_sinks : bool
        Whether only layers with a window have sinks.
    value_scale : float or None
        What values are multiplied by, where that is not 1.
    spans : tuple of int
        Of compressed sparse attention, tokens that leave an entry in each layer: ``compress`` with
        an indexer, another number without one, 0 for a window alone. Empty: ``compress`` in all.
    linear : LinearAttentionConfig or None
        The layers that keep a state, where some do: all but those that ``full_every`` or
        ``full_layers`` name. None means that no layer does.
    linear_norms : str
        Where such layers have their norms, if not where the others do.
    out_gate : bool
        Whether the output of attention has a gate, as in `AttentionConfig`.
    shared_d_ff : int
        Width of an expert that every token takes besides, if there is one of a width of its own.
    shared_gate : bool
        Whether that expert has a gate.
    stream_scale : float or None
        What the stream is multiplied by where a block adds to it; None leaves it.
    routed_scale : float
        Factor of the weights of the experts that a token takes.
    query_growth : QueryGrowth or None
        How queries grow with their position, as in `AttentionConfig`.
    **sizes : int or None
        Sizes that some variants alone have, under the registry's names: ``window``,
        ``kv_lora_rank`` and so on. All can be read as attributes: where a model has no such size,
        it is 0, and a window None. A ``q_lora_rank`` of 0 projects queries directly.

    Raises
    ------
    ConfigError
        If a size is below 1, heads do not divide, or options contradict each other.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> MODELS["llama-3-8b"].n_kv_heads, MODELS["llama-3-8b"].kv_lora_rank
    (8, 0)
    >>> MODELS["llama-3-8b"].decoder().attention.rope.theta
    500000.0
    """

    __signature__ = _signature()

    def __init__(self, *described: Any, **sizes: Any) -> None:
        own = dict(sizes.pop("own", ()))
        own |= {name: sizes.pop(name) for name in optional_sizes() if name in sizes}
        super().__init__(*described, **sizes | {"own": tuple(sorted(own.items()))})
        self._check()

    def __getattr__(self, name: str) -> Any:
        """Return a size that some variants alone have."""
        own = dict(vars(self).get("own", ()))
        if name in own or name in (sizes := optional_sizes()):
            return own[name] if name in own else sizes[name]
        raise AttributeError(f"a model has no {name!r}: no variant in the registry has such a size")

    def _check(self) -> None:
        """Put numbers in the place of None, and refuse what is out of range."""
        for name, usual in (("v_head_dim", self.head_dim),):
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int":  # 0 may stand where it is what is usual, or for no MLP
                least = 0 if field.default == 0 or field.name == "mlp_matrices" else 1
                check_count(field.name, value, least=least)
            elif field.type == "bool":
                check_flag(field.name, value)
            elif field.type.startswith("float"):
                check_positive(field.name, value)
        absent = optional_sizes()
        for name, size in self.own:
            if size is not None or absent[name] is not None:
                check_count(name, size, least=1 if absent[name] is None else 0)
        own = tuple((name, size) for name, size in self.own if size != absent[name])
        object.__setattr__(self, "own", own)  # equal models are equal, however they were made
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        check_choice("linear_norms", self.linear_norms, ("", *_NORMS_PER_LAYER))
        check_heads(self.n_heads, self.n_kv_heads)
        self._check_attention()
        self._check_kinds()
        if self.n_experts:
            self._check_experts()
        rising = all(a < b for a, b in pairwise((-1, *self.full_layers, self.n_layers)))
        if not rising or (self.full_layers and self.full_every):
            raise ConfigError(
                f"full_layers must rise and lie in 0 … {self.n_layers - 1}, with no full_every "
                f"beside them, got {self.full_layers!r:.80} and full_every = {self.full_every}"
            )

    def _check_experts(self) -> None:
        """Refuse a mixture of experts that has no work or cannot choose."""
        if self.shared_gate and not self.shared_d_ff:
            raise ConfigError("shared_gate needs an expert that every token takes: shared_d_ff")
        if not self.expert_d_ff or self.n_dense_layers > self.n_layers:
            raise ConfigError(
                f"{self.n_experts} experts need expert_d_ff above 0 and at most n_layers = "
                f"{self.n_layers} dense layers, got {self.expert_d_ff} and {self.n_dense_layers}"
            )
        if not 1 <= self.experts_per_token <= self.n_experts:
            raise ConfigError(
                f"a token takes 1 to {self.n_experts} experts, "
                f"got experts_per_token = {self.experts_per_token}"
            )

    def _check_attention(self) -> None:
        """Refuse sizes that contradict the variant's entry in the registry."""
        entry = variant(self.attention)
        windowed = [name for name, other in KINDS.items() if "window" in other.sizes]
        if (self.attention in windowed) != (self.window is not None):
            raise ConfigError(
                f"{self.attention} and window = {self.window} do not go together: "
                f"{' and '.join(windowed)} need a window, the others have none"
            )
        if self.sink_tokens and entry.length_rule != "window":
            raise ConfigError(
                f"sink_tokens = {self.sink_tokens} needs a window: {self.attention} keeps all"
            )
        if self.attention == "mha" and self.n_kv_heads != self.n_heads:
            raise ConfigError(
                f"mha has one key/value head per query head, got n_heads = {self.n_heads} and "
                f"n_kv_heads = {self.n_kv_heads}: fewer are gqa"
            )
        needed = dict.fromkeys((*entry.factors, *entry.choice))
        held = [getattr(self, name) for name in needed]
        if not all(held):
            raise ConfigError(
                f"{self.attention} needs {' and '.join(needed)} above 0, got "
                f"{' and '.join(map(str, held))}"
            )
        for name, value in entry.fix(self.named_sizes).items():
            if getattr(self, name) != value:
                raise ConfigError(
                    f"{self.attention} has {name} = {value}, got {getattr(self, name)}"
                )

    @property
    def named_sizes(self) -> dict[str, Any]:
        """Everything by name, the variant's own sizes and those of others included."""
        described = {name: value for name, value in vars(self).items() if name != "own"}
        return described | optional_sizes() | dict(self.own)

    @property
    def layer_norms(self) -> bool:
        """Return whether norms have a bias."""
        return self.norm == "layer_norm"

    @property
    def norms_per_layer(self) -> int:
        """Normalizations in a layer."""
        return _NORMS_PER_LAYER[self.norm_placement] if self.mlp_matrices else 1

    def layer_config(self, layer: int = 0) -> Any:
        """The attention of a layer, as the classes of both backends take it."""
        if (state := self.linear_of(layer)) is not None:
            return state
        window = self.window_of(layer)
        if variant(self.attention).length_rule == "all":
            window = self.window  # if any, that it reads besides what it keeps of all
        sizes = self.named_sizes | self.kind_sizes(layer)
        sizes |= {name: None for name in optional_sizes() if not sizes[name]} | {"window": window}
        sizes["sink_tokens"] = self.sink_tokens if window else 0
        sizes["rope"] = self.local_rope if window and self.local_rope else self.rope
        whole = self.biases in ("attention", "all")
        sizes |= {"bias": whole or self.biases == "qkv", "out_bias": whole}
        sizes["qk_norm"] = self.qk_norm != "none"
        sizes["qk_norm_over"] = self.qk_norm if sizes["qk_norm"] else "head"
        kind = variant(self.attention_of(layer)).config_type()
        named = {f.name: sizes[f.name] for f in fields(kind) if f.name in sizes}
        if self.kv_lora_rank:  # a latent's norms add their own, whatever the others do
            named.pop("eps", None)
        return kind(**named | dict(variant(self.attention_of(layer)).options))

    def decoder(self, *, n_layers: int | None = None) -> DecoderConfig:
        """Return the decoder of these sizes and options, for ``Decoder`` of either backend.

        ``Decoder(MODELS["gpt2"].decoder())``

        Parameters
        ----------
        n_layers : int or None
            Only the first layers; None means all.

        Returns
        -------
        DecoderConfig
            What ``config_from_hf`` gives for the model's published file, if it reads the family.

        Raises
        ------
        ConfigError
            If the model has what this package's decoder has not; the message says what.

        Examples
        --------
        >>> from mini_attn.models import MODELS
        >>> MODELS["gpt2"].decoder(n_layers=2).activation
        'gelu_tanh'
        >>> MODELS["falcon-7b"].decoder()
        Traceback (most recent call last):
        mini_attn.errors.ConfigError: the decoder here can't run falcon-7b, which has attention ...
        """
        wanted = self.n_layers if n_layers is None else check_count("n_layers", n_layers)
        if wanted > self.n_layers:
            raise ConfigError(f"n_layers must lie in 1 … {self.n_layers}, got {n_layers}")
        self._check_decoder(wanted)
        attentions = tuple(self.layer_config(layer) for layer in range(wanted))
        dense = min(self.n_dense_layers, wanted) if self.n_experts else wanted
        experts = (None,) * dense + (self._experts(),) * (wanted - dense) if dense < wanted else ()
        return DecoderConfig(
            self.vocab_size,
            wanted,
            attentions[0] if len(set(attentions)) == 1 else attentions,
            d_ff=tuple(map(self.d_ff_of, range(wanted))),
            max_positions=self.learned_positions or self.max_context,
            mlp={0: "none", 2: "plain"}.get(self.mlp_matrices, "gated"),
            activation=self.activation,
            norm=self.norm,
            positions="learned" if self.learned_positions else "none",
            eps=self.eps,
            tie_embeddings=self.tied_embeddings,
            mlp_bias=self.biases in ("mlp", "all") and dense > 0,
            norm_placement=tuple(map(self._norms_of, range(wanted))),
            embed_scale=self.d_model**0.5 if self.scaled_embeddings else None,
            logit_softcap=self.logit_softcap,
            experts=(experts if dense else experts[0]) if experts else None,
            kv_sources=tuple(map(self.source_of, range(wanted))),
            per_layer_dim=self.per_layer_dim,
            layer_scalars=self.layer_scalars,
            stream_scales=self.stream_scale and ((self.stream_scale, 1.0) * 2,) * wanted,
        )

    def _norms_of(self, layer: int) -> str:
        """Return where a layer has its norms."""
        return (self.linear_of(layer) and self.linear_norms) or self.norm_placement

    def _experts(self) -> ExpertConfig:
        """Return the experts of a layer that has them."""
        return ExpertConfig(
            self.n_experts,
            self.experts_per_token,
            self.expert_d_ff,
            routing=self.routing,
            activation=self.expert_activation or self.activation,
            bias=self.biases in ("mlp", "all"),
            router_bias=self.router_bias,
            shared_d_ff=self.shared_d_ff,
            shared_gate=self.shared_gate,
            routed_scale=self.routed_scale,
        )

    def _grows_unread(self) -> bool:
        """Return whether its queries grow where no layer here lets them."""
        known = variant(self.attention).config_class == "AttentionConfig"
        return self.query_growth is not None and not known

    def _check_decoder(self, n_layers: int) -> None:
        """Refuse a model whose first layers need what this package's decoder has not."""
        dense, entry = self.n_dense_layers, variant(self.attention)
        shared = self.n_shared_experts > 0 and n_layers > dense
        chosen = self.n_experts > 0 and n_layers > dense and self.routing not in ROUTINGS
        lacking = {
            "attention and MLP in parallel": self.parallel,
            "norms without biases": self.norm == "layer_norm_without_bias",
            "a norm of the embeddings": self.embedding_norm,
            "experts that all tokens share": shared,
            f"experts chosen by {self.routing.partition('_')[0]}": chosen,
            "queries that grow with the position, before a latent": self._grows_unread(),
            "values with a factor": self.value_scale is not None,
            "a kind of attention that only has costs": not entry.config_class,
        }
        needed = [part for part, has in lacking.items() if has]
        if needed:
            alike = shared and dense > 0 and bool(entry.config_class)
            few = f"; without them are the first layers: n_layers={dense}" * alike
            raise ConfigError(
                f"the decoder here can't run {self.name}, which has {' and '.join(needed)}{few}. "
                "Its costs need no decoder: mini_attn.cost takes the model as it is"
            )
