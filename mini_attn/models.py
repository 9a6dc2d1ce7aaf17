"""Published model configurations, each with its source. Data only; costs are computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_heads
from mini_attn.variants import variant

__all__ = ["MODELS", "ModelConfig", "model"]


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model that its costs depend on.

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
        Latent attention; 0 elsewhere.
    n_experts, n_shared_experts, n_dense_layers, expert_d_ff : int
        Mixture of experts; 0 elsewhere. The first ``n_dense_layers`` have a plain MLP.
    tied_embeddings, biases, layer_norms, qk_norm : bool
        Whether logits reuse the embedding; projections and MLP have biases; norms have a bias;
        queries and keys are normalised.
    learned_positions, norms_per_layer : int
        Rows of a position table, and normalisations in a layer.

    Raises
    ------
    ConfigError
        If a size is below 1, heads do not divide, or options contradict each other.

    Examples
    --------
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
    v_head_dim: int | None = None
    mlp_matrices: int = 3
    window: int | None = None
    full_every: int = 0
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    n_experts: int = 0
    n_shared_experts: int = 0
    n_dense_layers: int = 0
    expert_d_ff: int = 0
    tied_embeddings: bool = False
    biases: bool = False
    layer_norms: bool = False
    qk_norm: bool = False
    learned_positions: int = 0
    norms_per_layer: int = 2

    def __post_init__(self) -> None:
        if self.v_head_dim is None:
            object.__setattr__(self, "v_head_dim", self.head_dim)
        counts = "n_layers d_model n_heads n_kv_heads head_dim v_head_dim d_ff vocab_size"
        for name in (*counts.split(), "max_context", "mlp_matrices"):
            check_count(name, getattr(self, name))
        optional = (
            "full_every kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim n_experts "
            "n_shared_experts n_dense_layers expert_d_ff learned_positions norms_per_layer"
        )
        for name in optional.split():
            check_count(name, getattr(self, name), least=0)
        check_heads(self.n_heads, self.n_kv_heads)
        self._check_attention()
        if self.n_experts and (not self.expert_d_ff or self.n_dense_layers > self.n_layers):
            raise ConfigError(
                f"{self.n_experts} experts need expert_d_ff above 0 and at most n_layers = "
                f"{self.n_layers} dense layers, got {self.expert_d_ff} and {self.n_dense_layers}"
            )

    def _check_attention(self) -> None:
        """Refuse sizes that contradict the variant's entry in the registry."""
        rule = variant(self.attention).length_rule
        if (rule == "window") != (self.window is not None):
            raise ConfigError(
                f"{self.attention} and window = {self.window} do not go together: "
                "sliding_window needs a window, the others have none"
            )
        if self.window is not None:
            check_count("window", self.window)
        if self.attention == "mha" and self.n_kv_heads != self.n_heads:
            raise ConfigError(
                f"mha has one key/value head per query head, got n_heads = {self.n_heads} and "
                f"n_kv_heads = {self.n_kv_heads}: fewer are gqa"
            )
        if self.attention == "mla" and not (self.kv_lora_rank and self.qk_rope_head_dim):
            raise ConfigError(
                "mla needs kv_lora_rank and qk_rope_head_dim above 0, got "
                f"{self.kv_lora_rank} and {self.qk_rope_head_dim}"
            )
        for name, size in variant(self.attention).fixed:
            value = getattr(self, size) if isinstance(size, str) else size
            if getattr(self, name) != value:
                raise ConfigError(
                    f"{self.attention} has {name} = {value}, got {getattr(self, name)}"
                )

    @property
    def n_full_layers(self) -> int:
        """Layers that keep every token."""
        if self.window is None:
            return self.n_layers
        return self.n_layers // self.full_every if self.full_every else 0


def _gpt2(name: str, title: str, n_layers: int, d_model: int, n_heads: int) -> ModelConfig:
    return ModelConfig(
        name=name,
        title=title,
        source="radford2019gpt2, table 2; config.json: n_layer, n_embd, n_head, n_positions 1024",
        attention="mha",
        n_layers=n_layers,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_dim=d_model // n_heads,
        d_ff=4 * d_model,
        vocab_size=50257,
        max_context=1024,
        mlp_matrices=2,
        tied_embeddings=True,
        biases=True,
        layer_norms=True,
        learned_positions=1024,
    )


_ALL = (
    _gpt2("gpt2", "GPT-2 (124M)", 12, 768, 12),
    _gpt2("gpt2-medium", "GPT-2 Medium (355M)", 24, 1024, 16),
    _gpt2("gpt2-large", "GPT-2 Large (774M)", 36, 1280, 20),
    _gpt2("gpt2-xl", "GPT-2 XL (1.6B)", 48, 1600, 25),
    ModelConfig(
        name="llama-2-7b",
        title="Llama-2-7B",
        source="touvron2023llama2, section 2; config.json: hidden_size, num_hidden_layers, "
        "num_attention_heads, num_key_value_heads, intermediate_size, vocab_size",
        attention="mha",
        n_layers=32,
        d_model=4096,
        n_heads=32,
        n_kv_heads=32,
        head_dim=128,
        d_ff=11008,
        vocab_size=32000,
        max_context=4096,
    ),
    ModelConfig(
        name="llama-2-70b",
        title="Llama-2-70B",
        source="touvron2023llama2, section 2; config.json as for Llama-2-7B",
        attention="gqa",
        n_layers=80,
        d_model=8192,
        n_heads=64,
        n_kv_heads=8,
        head_dim=128,
        d_ff=28672,
        vocab_size=32000,
        max_context=4096,
    ),
    ModelConfig(
        name="llama-3-8b",
        title="Llama-3-8B",
        source="dubey2024llama3, table 3; config.json: vocab_size 128256, max positions 8192",
        attention="gqa",
        n_layers=32,
        d_model=4096,
        n_heads=32,
        n_kv_heads=8,
        head_dim=128,
        d_ff=14336,
        vocab_size=128256,
        max_context=8192,
    ),
    ModelConfig(
        name="llama-3-70b",
        title="Llama-3-70B",
        source="dubey2024llama3, table 3; config.json as for Llama-3-8B",
        attention="gqa",
        n_layers=80,
        d_model=8192,
        n_heads=64,
        n_kv_heads=8,
        head_dim=128,
        d_ff=28672,
        vocab_size=128256,
        max_context=8192,
    ),
    ModelConfig(
        name="mistral-7b",
        title="Mistral-7B v0.1",
        source="jiang2023mistral, table 1; config.json: sliding_window 4096",
        attention="sliding_window",
        n_layers=32,
        d_model=4096,
        n_heads=32,
        n_kv_heads=8,
        head_dim=128,
        d_ff=14336,
        vocab_size=32000,
        max_context=32768,
        window=4096,
    ),
    ModelConfig(
        name="gemma-2-9b",
        title="Gemma-2-9B",
        source="gemma2024gemma2, table 1; config.json: head_dim 256, sliding_window 4096, "
        "every second layer global",
        attention="sliding_window",
        n_layers=42,
        d_model=3584,
        n_heads=16,
        n_kv_heads=8,
        head_dim=256,
        d_ff=14336,
        vocab_size=256000,
        max_context=8192,
        window=4096,
        full_every=2,
        tied_embeddings=True,
        norms_per_layer=4,
    ),
    ModelConfig(
        name="qwen3-8b",
        title="Qwen3-8B",
        source="yang2025qwen3, table 1; config.json: head_dim 128, vocab_size 151936",
        attention="gqa",
        n_layers=36,
        d_model=4096,
        n_heads=32,
        n_kv_heads=8,
        head_dim=128,
        d_ff=12288,
        vocab_size=151936,
        max_context=40960,
        qk_norm=True,
    ),
    ModelConfig(
        name="deepseek-v3",
        title="DeepSeek-V3 (671B)",
        source="deepseek2024v3, section 4.2; config.json: kv_lora_rank 512, q_lora_rank 1536, "
        "qk_rope_head_dim 64, qk_nope_head_dim 128, v_head_dim 128, n_routed_experts 256",
        attention="mla",
        n_layers=61,
        d_model=7168,
        n_heads=128,
        n_kv_heads=128,
        head_dim=192,
        v_head_dim=128,
        d_ff=18432,
        vocab_size=129280,
        max_context=163840,
        kv_lora_rank=512,
        q_lora_rank=1536,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        n_experts=256,
        n_shared_experts=1,
        n_dense_layers=3,
        expert_d_ff=2048,
    ),
)

MODELS: dict[str, ModelConfig] = {entry.name: entry for entry in _ALL}


def model(name: str) -> ModelConfig:
    """The published configuration for a name.

    Parameters
    ----------
    name : str
        For example ``"llama-3-8b"``.

    Returns
    -------
    ModelConfig
        The configuration.

    Raises
    ------
    ConfigError
        If the model is not listed.

    Examples
    --------
    >>> model("gpt2").n_layers
    12
    """
    if name not in MODELS:
        raise ConfigError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    return MODELS[name]
