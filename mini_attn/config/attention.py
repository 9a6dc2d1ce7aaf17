"""What one attention layer is made of."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.config.rope import RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import (
    check_choice,
    check_count,
    check_flag,
    check_heads,
    check_number,
    check_positive,
)

__all__ = ["AttentionConfig", "LatentConfig", "QueryGrowth", "score_factor"]


_FLAGS = (
    "bias", "out_bias", "qk_norm", "alibi", "sinks", "v_norm", "k_eq_v", "chunked", "out_gate",
)  # fmt: skip


@dataclass(frozen=True)
class QueryGrowth:
    """Queries grow with the logarithm of their position, so that a longer softmax stays as sharp.

    ``q = q * (1 + weight * log(1 + floor((position + offset) / every)))``

    Parameters
    ----------
    weight : float
        How fast they grow; Llama 4's ``attn_scale``.
    every : int
        Tokens after which the next step comes; Llama 4's ``floor_scale``.
    offset : int
        Added to the position: 1 where a step comes with token number ``every``, counted from 1.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> QueryGrowth(weight=0.1, every=8192, offset=1).every
    8192
    """

    weight: float
    every: int
    offset: int = 0

    def __post_init__(self) -> None:
        check_number("weight", self.weight, above=0)
        check_count("every", self.every)
        check_count("offset", self.offset, least=0)


@dataclass(frozen=True)
class AttentionConfig:
    """Sizes and options of one attention layer.

    Parameters
    ----------
    d_model : int
        Width of the residual stream.
    n_heads : int
        Query heads.
    head_dim : int
        Size of a query and of a key; its own number, not ``d_model // n_heads``.
    n_kv_heads : int or None
        Key/value heads; None means ``n_heads`` (multi-head attention).
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    bias, out_bias : bool
        Biases of the query, key and value projections; of the output projection
        (None means as ``bias``).
    qk_norm : bool
        RMS normalization of queries and keys, before they turn and meet.
    softcap : float or None
        Scores become ``softcap * tanh(scores / softcap)``; None leaves them.
    window : int or None
        A query sees this many keys, its own included; None means all before it.
    scale : float or None
        Factor of the scores; None means ``head_dim ** -0.5``.
    eps : float
        Added to the mean square in ``qk_norm``.
    rope : RopeConfig or None
        Rotary embedding of queries and keys; None leaves them as they are.
    alibi : bool
        Whether scores get a bias that falls with the distance.
    sink_tokens : int
        With a window: so many first positions of the sequence stay visible to every later query.
    sinks : bool
        Whether each query head learns a logit that joins its softmax and brings no value.
    qk_norm_over : {"head", "width"}
        What ``qk_norm`` takes one root mean square over: the ``head_dim`` numbers of a head, with
        one gain for all heads, or the numbers of all heads together.
    v_norm : bool
        Whether each head's value is divided by its root mean square, without a gain (Gemma 4).
    k_eq_v : bool
        Whether the key projection makes the values too: there is no value projection, and a value
        is the key before it is normalized and rotated.
    chunked : bool
        With a window: whether the text is cut into chunks of so many tokens, and a query sees its
        own chunk alone. In the middle of one that is half a window.
    query_growth : QueryGrowth or None
        Whether queries grow with their position, once they have turned; None leaves them.
    out_gate : bool
        Whether a projection of the token makes a gate for each number that its heads have
        gathered, which its sigmoid multiplies before the output projection (Qwen3-Next).

    Raises
    ------
    ConfigError
        If a size is below 1, heads do not divide, or an option is out of range.

    Examples
    --------
    >>> AttentionConfig(d_model=64, n_heads=8, head_dim=16, n_kv_heads=2).group_size
    4
    """

    d_model: int
    n_heads: int
    head_dim: int
    # None may be given and is never read: it becomes the number that it stands for.
    n_kv_heads: int = None  # type: ignore[assignment]
    v_head_dim: int = None  # type: ignore[assignment]
    bias: bool = False
    out_bias: bool = None  # type: ignore[assignment]
    qk_norm: bool = False
    softcap: float | None = None
    window: int | None = None
    scale: float | None = None
    eps: float = 1e-6
    rope: RopeConfig | None = None
    alibi: bool = False
    sink_tokens: int = 0
    sinks: bool = False
    qk_norm_over: str = "head"
    v_norm: bool = False
    k_eq_v: bool = False
    chunked: bool = False
    query_growth: QueryGrowth | None = None
    out_gate: bool = False

    def __post_init__(self) -> None:
        for name in ("d_model", "n_heads", "head_dim"):
            check_count(name, getattr(self, name))
        defaults = (
            ("n_kv_heads", self.n_heads),
            ("v_head_dim", self.head_dim),
            ("out_bias", self.bias),
        )
        for name, default in defaults:
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        check_count("n_kv_heads", self.n_kv_heads)
        check_count("v_head_dim", self.v_head_dim)
        check_heads(self.n_heads, self.n_kv_heads)
        if self.window is not None:
            check_count("window", self.window)
        if check_count("sink_tokens", self.sink_tokens, least=0) and self.window is None:
            raise ConfigError(
                f"sink_tokens = {self.sink_tokens} needs a window: without one all tokens are seen"
            )
        for name in ("softcap", "scale"):
            check_positive(name, getattr(self, name))
        check_number("eps", self.eps, above=0)
        for name in _FLAGS:
            check_flag(name, getattr(self, name))
        self._check_chunks()
        check_choice("qk_norm_over", self.qk_norm_over, ("head", "width"))
        if self.k_eq_v and self.v_head_dim != self.head_dim:
            raise ConfigError(
                f"k_eq_v makes values of keys, so both need one size, got head_dim = "
                f"{self.head_dim} and v_head_dim = {self.v_head_dim}"
            )
        check_rope(self.rope, self.head_dim)
        if self.rope is not None and getattr(self.rope.scaling, "mscale_all_dim", None):
            raise ConfigError(
                "mscale_all_dim multiplies the scores of latent attention: elsewhere put its "
                "square into scale and its share of the ratio into attention_factor"
            )

    def _check_chunks(self) -> None:
        """Refuse chunks of no size or with more than one way of seeing, and growth of no kind."""
        if self.chunked and (self.window is None or self.sink_tokens):
            raise ConfigError(
                "chunked needs a window, the chunk's size, and no sink_tokens, "
                f"got window = {self.window} and sink_tokens = {self.sink_tokens}"
            )
        if self.query_growth is not None and not isinstance(self.query_growth, QueryGrowth):
            raise ConfigError(
                f"query_growth must be a QueryGrowth or None, got {self.query_growth!r:.60}"
            )

    @property
    def group_size(self) -> int:
        """Query heads that read one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        if self.window is not None:
            return "sliding_window"
        if self.n_kv_heads == self.n_heads:
            return "mha"
        return "mqa" if self.n_kv_heads == 1 else "gqa"


def check_rope(rope: RopeConfig | None, width: int) -> None:
    """Refuse a rotation that does not fit the numbers it rotates."""
    if rope is None:
        return
    if not isinstance(rope, RopeConfig):
        raise ConfigError(f"rope must be a RopeConfig or None, got {rope!r:.60}")
    turned = width if rope.rotary_dim is None else rope.rotary_dim
    if turned % 2 or turned > width:
        raise ConfigError(
            f"rotary embedding turns pairs: rotary_dim = {turned} must be even and at most {width}"
        )
    if rope.rotated_pairs is not None and 2 * rope.rotated_pairs > turned:
        raise ConfigError(
            f"rotated_pairs = {rope.rotated_pairs}, but {turned} numbers make {turned // 2} pairs"
        )


@dataclass(frozen=True)
class LatentConfig:
    """Sizes and options of one layer of multi-head latent attention.

    Parameters
    ----------
    d_model : int
        Width of the residual stream.
    n_heads : int
        Heads.
    kv_lora_rank : int
        Size of the latent that keys and values are made from; it is what the cache holds.
    qk_nope_head_dim, qk_rope_head_dim : int
        Sizes of the two parts of a query and a key: without a position, and rotated.
    v_head_dim : int
        Size of a value.
    rope : RopeConfig or None
        Rotary embedding of the second part, whose key is one for all heads; None leaves it as it
        is (Kimi Linear).
    q_lora_rank : int or None
        Size of the latent that queries are made from; None projects them directly.
    bias : bool
        Biases of the projections into the latents and of the output projection.
    scale : float or None
        Factor of the scores; None means ``(qk_nope_head_dim + qk_rope_head_dim) ** -0.5``,
        times the square that YaRN's ``mscale_all_dim`` asks for.
    eps : float
        Added to the mean square where the latents are normalized.
    sinks : bool
        Whether each head learns a logit that joins its softmax and brings no value.

    Raises
    ------
    ConfigError
        If a size is below 1 or an option is out of range.

    Examples
    --------
    >>> rope = RopeConfig(layout="interleaved")
    >>> LatentConfig(64, 4, 16, 8, 4, 8, rope=rope).head_dim
    12
    """

    d_model: int
    n_heads: int
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    rope: RopeConfig | None
    q_lora_rank: int | None = None
    bias: bool = False
    scale: float | None = None
    eps: float = 1e-6
    sinks: bool = False

    def __post_init__(self) -> None:
        ranks = ("kv_lora_rank",) if self.q_lora_rank is None else ("kv_lora_rank", "q_lora_rank")
        widths = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        for name in ("d_model", "n_heads", *ranks, *widths):
            check_count(name, getattr(self, name))
        check_positive("scale", self.scale)
        check_number("eps", self.eps, above=0)
        check_flag("bias", self.bias)
        check_flag("sinks", self.sinks)
        check_rope(self.rope, self.qk_rope_head_dim)

    @property
    def head_dim(self) -> int:
        """Size of a query and of a key."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        return "mla"


def score_factor(scale: float | None, softcap: float | None, head_dim: int) -> float:
    """The factor of the scores.

    ``factor = head_dim ** -0.5``

    Parameters
    ----------
    scale : float or None
        The factor, if it is another.
    softcap : float or None
        The bound of the scores, checked only.
    head_dim : int
        Size of a query and of a key.

    Returns
    -------
    float
        A finite number.

    Raises
    ------
    ConfigError
        If the factor is not finite or the bound not positive.

    Examples
    --------
    >>> score_factor(None, None, 64)
    0.125
    """
    check_positive("softcap", softcap)
    return head_dim**-0.5 if scale is None else check_number("scale", scale)
