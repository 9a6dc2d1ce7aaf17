"""What a layer is made of that reads the keys which an indexer chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mini_attn.config.attention import AttentionConfig
from mini_attn.config.rope import RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count

__all__ = ["IndexedConfig"]


@dataclass(frozen=True, kw_only=True)
class IndexedConfig(AttentionConfig):
    """Sizes and options of one layer whose tokens read the keys that an indexer chooses.

    Parameters
    ----------
    d_model, n_heads, head_dim, n_kv_heads, v_head_dim, bias, out_bias
        As in `AttentionConfig`.
    qk_norm, qk_norm_over, softcap, window, scale, eps, rope, alibi, sink_tokens, sinks,
    v_norm, k_eq_v
        As in `AttentionConfig`.
    chunked, query_growth, out_gate
        Refused: the indexer chooses among all keys, and what is gathered leaves as it is.
    index_n_heads : int
        Heads of the indexer, which share one key.
    index_head_dim : int
        Size of their queries and of that key.
    index_topk : int
        Keys that each token reads.

    Raises
    ------
    ConfigError
        As `AttentionConfig`, and if a size of the indexer is below 1, or odd where it is rotated.

    Notes
    -----
    All else is as in `AttentionConfig`. With ``rope`` the indexer's queries and keys are rotated
    by the same rule, in as many of their first numbers as a head is, if they have so many.

    References
    ----------
    deepseek2025v32, section 2.1

    Examples
    --------
    >>> sizes = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 16}
    >>> IndexedConfig(d_model=64, n_heads=8, head_dim=16, n_kv_heads=2, **sizes).variant
    'indexed'
    """

    index_n_heads: int
    index_head_dim: int
    index_topk: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("index_n_heads", "index_head_dim", "index_topk"):
            check_count(name, getattr(self, name))
        for name in ("chunked", "query_growth", "out_gate"):
            if getattr(self, name):
                raise ConfigError(f"{name} has no meaning where an indexer chooses among all keys")
        if self.rope is not None and self._turned % 2:
            raise ConfigError(
                "rotary embedding turns pairs: index_head_dim must be even, "
                f"got {self.index_head_dim}"
            )

    @property
    def _turned(self) -> int:
        """How many numbers of an index key are rotated."""
        own = None if self.rope is None else self.rope.rotary_dim
        return min(self.head_dim if own is None else own, self.index_head_dim)

    @property
    def index_rope(self) -> RopeConfig | None:
        """The rotation of the indexer's queries and keys."""
        return None if self.rope is None else replace(self.rope, rotary_dim=self._turned)

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        return "indexed"
