"""What a layer is made of that reads means of blocks, a few blocks whole, and a window."""

from __future__ import annotations

from dataclasses import dataclass, field

from mini_attn.config.attention import AttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count

__all__ = ["NativeSparseConfig"]

_REFUSED = {  # what has one meaning in one softmax, and none in three
    "alibi": "a block's mean has no one distance",
    "sinks": "each of the three branches would need a logit of its own",
    "sink_tokens": "first tokens are read where their block is chosen",
    "chunked": "its blocks have a size of their own",
    "query_growth": "it belongs to one softmax over all keys",
    "out_gate": "its branches have gates of their own",
}


@dataclass(frozen=True, kw_only=True)
class NativeSparseConfig(AttentionConfig):
    """Sizes and options of one layer that chooses blocks by the means of their keys.

    Parameters
    ----------
    d_model, n_heads, head_dim, n_kv_heads, v_head_dim, bias, out_bias
        As in `AttentionConfig`.
    qk_norm, qk_norm_over, softcap, scale, eps, rope, v_norm, k_eq_v
        As in `AttentionConfig`.
    alibi, sink_tokens, sinks, chunked, query_growth, out_gate
        Refused.
    block_size : int
        Tokens of a block, whose mean is one key and one value.
    n_blocks : int
        Blocks that each token reads whole, its own included.
    window : int
        Last keys that each token reads besides, its own included.

    Raises
    ------
    ConfigError
        As `AttentionConfig`, if one of the three sizes is below 1, or an option has no meaning
        where a token reads in three ways.

    Notes
    -----
    All else is as in `AttentionConfig`; a softcap bounds the scores of all three branches.

    References
    ----------
    yuan2025nsa, section 3.3

    Examples
    --------
    >>> sizes = {"block_size": 64, "n_blocks": 16, "window": 512}
    >>> NativeSparseConfig(d_model=64, n_heads=8, head_dim=16, n_kv_heads=2, **sizes).variant
    'nsa'
    """

    block_size: int
    n_blocks: int
    window: int = field()  # no longer None where it is not given

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("block_size", "n_blocks", "window"):
            check_count(name, getattr(self, name))
        for name, reason in _REFUSED.items():
            if getattr(self, name):
                raise ConfigError(
                    f"{name} has no meaning in native sparse attention: {reason}, "
                    f"got {name} = {getattr(self, name)}"
                )

    @property
    def variant(self) -> str:
        """Name of the registry's entry that these options make."""
        return "nsa"
