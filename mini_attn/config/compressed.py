"""What a layer is made of that reads entries which stand for several tokens, and a window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mini_attn.config.attention import check_rope
from mini_attn.config.rope import DynamicNTK, LongRoPE, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_flag, check_number

__all__ = ["CompressedConfig"]

_INDEXER = ("index_n_heads", "index_head_dim", "index_topk")


@dataclass(frozen=True, kw_only=True)
class CompressedConfig:
    """Sizes and options of one layer with an entry for each span of tokens, and a window.

    Parameters
    ----------
    d_model, n_heads, head_dim : int
        Width of the residual stream, query heads, and size of a query and of a key. All heads
        read one key, which is its own value.
    window : int
        Last tokens that a query reads besides, its own included.
    compress : int
        Tokens of a span, which leave one entry.
    q_lora_rank : int or None
        Size of the latent that queries are made from; None projects them directly.
    o_groups, o_lora_rank : int or None
        Groups of heads, and numbers that each is projected to before all are projected back; None
        projects all heads at once.
    index_n_heads, index_head_dim, index_topk : int or None
        Heads of an indexer, size of its queries and of its own entries, and entries that a query
        reads. With an indexer spans overlap: an entry is of its span and of the one before. None
        reads all entries.
    rope : RopeConfig or None
        Rotary embedding of the last ``rotary_dim`` numbers of queries and keys, of the others
        none; what attention gives is turned back by the query's position. None leaves all.
    sinks : bool
        Whether each head learns a logit that joins its softmax and brings no value.
    eps : float
        Added to the mean square where queries, keys, entries and latents are normalized.

    Raises
    ------
    ConfigError
        If a size is below 1, groups don't divide heads, an indexer is half described, or an option
        is out of range.

    References
    ----------
    deepseek2026v4, section 2.3

    Examples
    --------
    >>> sizes = {"d_model": 64, "n_heads": 8, "head_dim": 16, "window": 8}
    >>> CompressedConfig(**sizes, compress=128).variant
    'hca'
    >>> indexer = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 16}
    >>> CompressedConfig(**sizes, compress=4, **indexer).variant
    'csa'
    """

    d_model: int
    n_heads: int
    head_dim: int
    window: int
    compress: int
    q_lora_rank: int | None = None
    o_groups: int | None = None
    o_lora_rank: int | None = None
    index_n_heads: int | None = None
    index_head_dim: int | None = None
    index_topk: int | None = None
    rope: RopeConfig | None = None
    sinks: bool = False
    eps: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("d_model", "n_heads", "head_dim", "window", "compress"):
            check_count(name, getattr(self, name))
        for names in (("q_lora_rank",), ("o_groups", "o_lora_rank"), _INDEXER):
            given = {name: getattr(self, name) for name in names}
            if all(size is None for size in given.values()):
                continue
            if None in given.values():
                told = ", ".join(f"{name} = {size}" for name, size in given.items())
                raise ConfigError(f"{' and '.join(names)} go together, got {told}")
            for name, size in given.items():
                check_count(name, size)
        if self.o_groups is not None and self.n_heads % self.o_groups:
            raise ConfigError(
                f"o_groups = {self.o_groups} must divide n_heads = {self.n_heads}: a group is of "
                "whole heads"
            )
        check_number("eps", self.eps, above=0)
        check_flag("sinks", self.sinks)
        self._check_rope()

    def _check_rope(self) -> None:
        """Refuse a rotation that doesn't fit, or that differs between queries and entries."""
        check_rope(self.rope, self.head_dim)
        if self.rope is None:
            return
        scaling = self.rope.scaling
        if isinstance(scaling, DynamicNTK | LongRoPE):
            raise ConfigError(
                f"{type(scaling).__name__} has no meaning for entries: they were turned when the "
                "text was shorter than it is for the queries that read them"
            )
        if getattr(scaling, "mscale_all_dim", None):
            raise ConfigError("mscale_all_dim multiplies the scores of latent attention alone")
        if self.index_head_dim is not None and self._turned % 2:
            raise ConfigError(
                "rotary embedding turns pairs: index_head_dim must be even, "
                f"got {self.index_head_dim}"
            )

    @property
    def _turned(self) -> int:
        """How many numbers of an indexer's entry are rotated."""
        assert self.rope is not None
        assert self.index_head_dim is not None
        return min(self.rope.rotary_dim or self.head_dim, self.index_head_dim)

    @property
    def index_rope(self) -> RopeConfig | None:
        """The rotation of the indexer's queries and entries."""
        return None if self.rope is None else replace(self.rope, rotary_dim=self._turned)

    @property
    def n_kv_heads(self) -> int:
        """Return 1, as all heads read one key/value head."""
        return 1

    @property
    def v_head_dim(self) -> int:
        """Size of a value, which is the key."""
        return self.head_dim

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        return "hca" if self.index_topk is None else "csa"
