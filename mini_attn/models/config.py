"""The sizes of a published model, checked against the registry."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from mini_attn.config import RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_heads, check_positive
from mini_attn.variants import variant

__all__ = ["ModelConfig"]

_COUNTS = (
    "n_layers d_model n_heads n_kv_heads head_dim v_head_dim d_ff vocab_size max_context "
    "mlp_matrices"
)
_OPTIONAL = (
    "full_every kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim n_experts "
    "n_shared_experts experts_per_token n_dense_layers expert_d_ff learned_positions "
    "norms_per_layer sink_tokens index_n_heads index_head_dim index_topk block_size "
    "n_blocks"
)


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model that its costs depend on, and how it knows positions.

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
    mlp_matrices : int
        2 for a plain MLP, 3 for a gated one.
    window, full_every : int or None, int
        Keys that a windowed layer keeps; every ``full_every``-th layer keeps all, 0 means none.
    kv_lora_rank, q_lora_rank, qk_nope_head_dim, qk_rope_head_dim : int
        Latent attention; 0 elsewhere, and a ``q_lora_rank`` of 0 projects queries directly.
    n_experts, n_shared_experts, experts_per_token, n_dense_layers, expert_d_ff : int
        Mixture of experts; 0 elsewhere. A token takes ``experts_per_token`` of ``n_experts`` and
        all shared ones; the first ``n_dense_layers`` have a plain MLP.
    router_bias : bool
        Whether each expert has a number that its choice adds.
    tied_embeddings, layer_norms, embedding_norm, transposed_weights : bool
        Whether logits reuse the embedding; norms have a bias; the embedding is normalised too;
        matrices are stored as ``(in, out)``.
    biases : {"none", "qkv", "all"}
        Which projections have them; ``"all"`` means the MLP too.
    qk_norm : {"none", "head", "width"}
        Whether queries and keys are normalised: each head with one weight, or all heads together.
    sinks : bool
        Whether each head has a learned score that no key owns.
    learned_positions, norms_per_layer : int
        Rows of a position table, and normalisations in a layer.
    rope, local_rope : RopeConfig or None
        Rotary embedding; that of windowed layers where it differs.
    alibi : bool
        Whether scores get a bias that falls with the distance.
    softcap, scale : float or None
        Bound of the scores; their factor where it is not ``head_dim ** -0.5``.
    family : str
        Whose model it is, for lists.
    sink_tokens : int
        First tokens that a windowed layer keeps as well; 0 means none.
    index_n_heads, index_head_dim, index_topk : int
        Heads of an indexer, size of the key that they share, and keys that it chooses for a token;
        0 elsewhere.
    block_size, n_blocks : int
        Tokens of a block whose means choose, and blocks that a token reads whole; 0 elsewhere.
    published : str
        Year and month in which the weights became public, or the paper where they never did, as
        ``"2024-04"``; empty where nobody published it.

    Raises
    ------
    ConfigError
        If a size is below 1, heads do not divide, or options contradict each other.

    Examples
    --------
    >>> from mini_attn.models import MODELS
    >>> MODELS["llama-3-8b"].n_kv_heads
    8
    """

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
    mlp_matrices: int = 3
    window: int | None = None
    full_every: int = 0
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    n_experts: int = 0
    n_shared_experts: int = 0
    experts_per_token: int = 0
    n_dense_layers: int = 0
    expert_d_ff: int = 0
    router_bias: bool = False
    tied_embeddings: bool = False
    layer_norms: bool = False
    embedding_norm: bool = False
    transposed_weights: bool = False
    biases: str = "none"
    qk_norm: str = "none"
    sinks: bool = False
    learned_positions: int = 0
    norms_per_layer: int = 2
    rope: RopeConfig | None = None
    local_rope: RopeConfig | None = None
    alibi: bool = False
    softcap: float | None = None
    scale: float | None = None
    family: str = ""
    sink_tokens: int = 0
    published: str = ""
    index_n_heads: int = 0
    index_head_dim: int = 0
    index_topk: int = 0
    block_size: int = 0
    n_blocks: int = 0

    def __post_init__(self) -> None:
        for name, default in (("v_head_dim", self.head_dim),):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name in _COUNTS.split():
            check_count(name, getattr(self, name))
        for name in _OPTIONAL.split():
            check_count(name, getattr(self, name), least=0)
        check_choice("biases", self.biases, ("none", "qkv", "all"))
        check_choice("qk_norm", self.qk_norm, ("none", "head", "width"))
        check_positive("softcap", self.softcap)
        check_positive("scale", self.scale)
        check_heads(self.n_heads, self.n_kv_heads)
        self._check_attention()
        if self.n_experts:
            self._check_experts()

    def _check_experts(self) -> None:
        """Refuse a mixture of experts that has no work or cannot choose."""
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
        if ("window" in entry.sizes) != (self.window is not None):
            raise ConfigError(
                f"{self.attention} and window = {self.window} do not go together: "
                "sliding_window and nsa need a window, the others have none"
            )
        if self.window is not None:
            check_count("window", self.window)
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
        for name, value in entry.fix(vars(self)).items():
            if getattr(self, name) != value:
                raise ConfigError(
                    f"{self.attention} has {name} = {value}, got {getattr(self, name)}"
                )

    @property
    def n_full_layers(self) -> int:
        """Layers that keep every token."""
        if self.window is None or variant(self.attention).length_rule == "all":
            return self.n_layers
        return self.n_layers // self.full_every if self.full_every else 0

    def window_of(self, layer: int) -> int | None:
        """Last keys that a layer keeps, layers counted from 0; None where it keeps all."""
        every = variant(self.attention).length_rule == "all"
        if every or (self.full_every and (layer + 1) % self.full_every == 0):
            return None
        return self.window

    def layer_config(self, layer: int = 0) -> Any:
        """The attention of a layer, as the classes of both backends take it."""
        window = self.window_of(layer)
        if window is None and "window" in variant(self.attention).choice:
            window = self.window  # which it reads besides, and keeps all
        sizes = {**vars(self), "window": window, "q_lora_rank": self.q_lora_rank or None}
        sizes["sink_tokens"] = self.sink_tokens if window else 0
        sizes["rope"] = self.local_rope if window and self.local_rope else self.rope
        sizes |= {"bias": self.biases != "none", "out_bias": self.biases == "all"}
        sizes["qk_norm"] = self.qk_norm != "none"
        sizes["qk_norm_over"] = self.qk_norm if sizes["qk_norm"] else "head"
        kind = variant(self.attention).config_type()
        return kind(**{f.name: sizes[f.name] for f in fields(kind) if f.name in sizes})
