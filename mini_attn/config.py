"""What a layer or a decoder is made of: frozen, validated, the same for both backends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mini_attn.errors import CacheOverflowError, ConfigError
from mini_attn.shapes import check_count, check_heads

__all__ = ["AttentionConfig", "DecoderConfig", "check_room", "score_factor"]


def _positive(name: str, value: float | None) -> None:
    """Refuse what is not a finite number above zero; None means the option is off."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} must be a positive finite number or None, got {value!r}")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


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
        RMS normalisation of each query and key over ``head_dim``, before the scores.
    softcap : float or None
        Scores become ``softcap * tanh(scores / softcap)``; None leaves them.
    window : int or None
        A query sees this many keys, its own included; None means all before it.
    scale : float or None
        Factor of the scores; None means ``head_dim ** -0.5``.
    eps : float
        Added to the mean square in ``qk_norm``.

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
    n_kv_heads: int | None = None
    v_head_dim: int | None = None
    bias: bool = False
    out_bias: bool | None = None
    qk_norm: bool = False
    softcap: float | None = None
    window: int | None = None
    scale: float | None = None
    eps: float = 1e-6

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
        check_heads(self.n_heads, self.kv_heads)
        if self.window is not None:
            check_count("window", self.window)
        for name in ("softcap", "scale", "eps"):
            _positive(name, getattr(self, name))

    @property
    def kv_heads(self) -> int:
        """``n_kv_heads`` as a number, whatever was passed."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def value_dim(self) -> int:
        """``v_head_dim`` as a number, whatever was passed."""
        return self.head_dim if self.v_head_dim is None else self.v_head_dim

    @property
    def group_size(self) -> int:
        """Query heads that read one key/value head."""
        return self.n_heads // self.kv_heads


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes and options of a decoder: embeddings, layers of attention and MLP, logits.

    Parameters
    ----------
    vocab_size, n_layers, d_ff, max_positions : int
        Number of tokens, of layers, width of the MLP, longest sequence.
    attention : AttentionConfig
        The attention of every layer; its ``d_model`` is the decoder's.
    mlp : {"plain", "gated"}
        Two matrices, or three with a gate.
    activation : {"gelu_tanh", "gelu", "silu", "relu"}
        Non-linearity of the MLP.
    norm : {"layer_norm", "rms_norm"}
        Normalisation before attention, before the MLP and before the logits.
    positions : {"learned", "none"}
        Learned position embeddings, or none.
    eps : float
        Added to the variance in the normalisation.
    tie_embeddings : bool
        Logits use the token embedding's matrix.
    mlp_bias : bool
        Biases in the MLP.

    Raises
    ------
    ConfigError
        If a size is below 1 or an option has an unknown value.

    Examples
    --------
    >>> attention = AttentionConfig(d_model=16, n_heads=2, head_dim=8)
    >>> DecoderConfig(64, 2, attention, d_ff=64, max_positions=32).d_model
    16
    """

    vocab_size: int
    n_layers: int
    attention: AttentionConfig
    d_ff: int
    max_positions: int
    mlp: str = "plain"
    activation: str = "gelu_tanh"
    norm: str = "layer_norm"
    positions: str = "learned"
    eps: float = 1e-5
    tie_embeddings: bool = True
    mlp_bias: bool = True

    def __post_init__(self) -> None:
        for name in ("vocab_size", "n_layers", "d_ff", "max_positions"):
            check_count(name, getattr(self, name))
        if not isinstance(self.attention, AttentionConfig):
            raise ConfigError(f"attention must be an AttentionConfig, got {self.attention!r:.60}")
        _one_of("mlp", self.mlp, ("plain", "gated"))
        _one_of("activation", self.activation, ("gelu_tanh", "gelu", "silu", "relu"))
        _one_of("norm", self.norm, ("layer_norm", "rms_norm"))
        _one_of("positions", self.positions, ("learned", "none"))
        _positive("eps", self.eps)

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return self.attention.d_model


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
    _positive("softcap", softcap)
    factor = head_dim**-0.5 if scale is None else float(scale)
    if not math.isfinite(factor):
        raise ConfigError(f"scale must be a finite number or None, got {scale!r}")
    return factor


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
    >>> attention = AttentionConfig(d_model=16, n_heads=2, head_dim=8)
    >>> decoder = DecoderConfig(64, 2, attention, d_ff=64, max_positions=32)
    >>> check_room(decoder, [], prompt=30, new=3, longest=30)
    """
    fed = prompt + max(new - 1, 0)  # the last new token is not run
    for cache in caches:
        if cache.slots + fed > cache.capacity:
            raise CacheOverflowError(
                f"{prompt} prompt and {new} new tokens need {fed} slots, but {cache.slots} of "
                f"{cache.capacity} are used: make the capacity {cache.slots + fed}"
            )
    if config.positions == "learned" and longest + new - 1 > config.max_positions:
        raise ConfigError(
            f"{longest} tokens and {new} new ones exceed max_positions = {config.max_positions}"
        )
