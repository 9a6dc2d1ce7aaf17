"""Rotary embeddings: which pairs rotate, how fast, and the six rules for longer contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_flag, check_number, check_positive

__all__ = [
    "DynamicNTK",
    "Llama3Scaling",
    "LongRoPE",
    "NTKAware",
    "PositionInterpolation",
    "RopeConfig",
    "RopeFrequencies",
    "RopeScaling",
    "YaRN",
]


def _check_factor(factor: float) -> None:
    """A context grows: the factor of every rule is at least 1."""
    if check_number("factor", factor) < 1:
        raise ConfigError(f"factor must be a finite number of at least 1, got {factor!r}")


@dataclass(frozen=True)
class PositionInterpolation:
    """Every position is divided by the factor.

    Parameters
    ----------
    factor : float
        Longer context over trained context.

    Raises
    ------
    ConfigError
        If the factor is below 1.

    Examples
    --------
    >>> PositionInterpolation(4.0).factor
    4.0
    """

    factor: float

    def __post_init__(self) -> None:
        _check_factor(self.factor)


@dataclass(frozen=True)
class NTKAware:
    """A larger base: the slowest pair is interpolated by the factor, the fastest not at all.

    Parameters
    ----------
    factor : float
        Longer context over trained context.

    Raises
    ------
    ConfigError
        If the factor is below 1.

    Examples
    --------
    >>> NTKAware(4.0).factor
    4.0
    """

    factor: float

    def __post_init__(self) -> None:
        _check_factor(self.factor)


@dataclass(frozen=True)
class DynamicNTK:
    """The base grows with the sequence, once that is longer than the trained context.

    Parameters
    ----------
    factor : float
        Slope of the growth.
    original_max_positions : int
        Trained context, in tokens.

    Raises
    ------
    ConfigError
        If a number is below 1.

    Examples
    --------
    >>> DynamicNTK(2.0, original_max_positions=2048).original_max_positions
    2048
    """

    factor: float
    original_max_positions: int

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        check_count("original_max_positions", self.original_max_positions)


@dataclass(frozen=True)
class YaRN:
    """Fast pairs stay, slow ones are interpolated, a ramp lies between; scores get a factor.

    Parameters
    ----------
    factor : float
        Longer context over trained context.
    original_max_positions : int
        Trained context, in tokens.
    beta_fast, beta_slow : float
        Rotations within the trained context above which a pair stays, and below which it is
        interpolated in full.
    attention_factor : float or None
        Factor of queries and of keys; None computes it.
    mscale, mscale_all_dim : float or None
        DeepSeek's weights of the factor; with both, queries and keys get their ratio, and the
        scores the square of the second.
    truncate : bool
        Whether the ends of the ramp are rounded outwards to whole pairs.
    rule : {"code", "paper"}
        The ramp over the index of a pair, as in the published code, or over its number of
        rotations, as in the paper.

    Raises
    ------
    ConfigError
        If a number is out of range or the rule is unknown.

    Examples
    --------
    >>> YaRN(4.0, original_max_positions=4096).rule
    'code'
    """

    factor: float
    original_max_positions: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True
    rule: str = "code"

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        check_count("original_max_positions", self.original_max_positions)
        for name in ("beta_fast", "beta_slow"):
            check_number(name, getattr(self, name), above=0)
        for name in ("attention_factor", "mscale", "mscale_all_dim"):
            check_positive(name, getattr(self, name))
        check_flag("truncate", self.truncate)
        if self.beta_fast <= self.beta_slow:
            raise ConfigError(
                f"beta_fast must exceed beta_slow, got {self.beta_fast} and {self.beta_slow}"
            )
        check_choice("rule", self.rule, ("code", "paper"))


@dataclass(frozen=True)
class Llama3Scaling:
    """Long wavelengths are interpolated, short ones stay, those between are blended.

    Parameters
    ----------
    factor : float
        Longer context over trained context.
    original_max_positions : int
        Trained context, in tokens.
    low_freq_factor, high_freq_factor : float
        Rotations within the trained context below which a pair is interpolated in full, and above
        which it stays.

    Raises
    ------
    ConfigError
        If a number is out of range.

    Examples
    --------
    >>> Llama3Scaling(8.0, original_max_positions=8192).high_freq_factor
    4.0
    """

    factor: float
    original_max_positions: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        check_count("original_max_positions", self.original_max_positions)
        for name in ("low_freq_factor", "high_freq_factor"):
            check_number(name, getattr(self, name), above=0)
        if self.high_freq_factor <= self.low_freq_factor:
            raise ConfigError(
                "high_freq_factor must exceed low_freq_factor, "
                f"got {self.high_freq_factor} and {self.low_freq_factor}"
            )


@dataclass(frozen=True)
class LongRoPE:
    """Each pair has a factor of its own, searched for; another set beyond the trained context.

    Parameters
    ----------
    short_factor, long_factor : tuple of float
        One per pair, up to and beyond the trained context.
    original_max_positions, max_positions : int
        Trained and longer context, in tokens.
    attention_factor : float or None
        Factor of queries and of keys; None computes it from the two contexts.

    Raises
    ------
    ConfigError
        If the tuples differ in length or a number is out of range.

    Examples
    --------
    >>> LongRoPE((1.0, 1.0), (1.0, 2.0), 4096, 131072).long_factor
    (1.0, 2.0)
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_max_positions: int
    max_positions: int
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            factors = getattr(self, name)
            if not isinstance(factors, tuple | list):
                raise ConfigError(f"{name} must be a tuple of numbers, got {factors!r:.60}")
            for factor in factors:
                check_number(name, factor, above=0)
            object.__setattr__(self, name, tuple(factors))  # hashable, also from a list
        if len(self.short_factor) != len(self.long_factor):
            raise ConfigError(
                "short_factor and long_factor must have one number per pair each, "
                f"got {len(self.short_factor)} and {len(self.long_factor)}"
            )
        check_count("original_max_positions", self.original_max_positions)
        check_count("max_positions", self.max_positions, least=self.original_max_positions)
        check_positive("attention_factor", self.attention_factor)


RopeScaling = PositionInterpolation | NTKAware | DynamicNTK | YaRN | Llama3Scaling | LongRoPE


@dataclass(frozen=True)
class RopeConfig:
    """Rotary embeddings of one layer.

    Parameters
    ----------
    layout : {"half", "interleaved"}
        Which two numbers rotate together: ``(i, i + rotary_dim / 2)`` or ``(2i, 2i + 1)``.
    theta : float
        Base of the frequencies.
    rotary_dim : int or None
        Leading numbers of a head that rotate; None means all.
    scaling : RopeScaling or None
        Rule for contexts beyond the trained one; None leaves the frequencies.
    rotated_pairs : int or None
        Of the pairs, only so many of the fastest rotate, each as fast as it would among all; None
        means all do.

    Raises
    ------
    ConfigError
        If the layout is unknown, theta not above 0, rotary_dim odd, or more pairs would rotate
        than there are.

    Examples
    --------
    >>> RopeConfig(layout="half").theta
    10000.0
    """

    layout: str
    theta: float = 10000.0
    rotary_dim: int | None = None
    scaling: RopeScaling | None = None
    rotated_pairs: int | None = None

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, ("half", "interleaved"))
        check_number("theta", self.theta, above=0)
        if self.rotary_dim is not None and check_count("rotary_dim", self.rotary_dim) % 2:
            raise ConfigError(f"rotary_dim must be even, got {self.rotary_dim}")
        if self.rotated_pairs is not None:
            check_count("rotated_pairs", self.rotated_pairs)
        if self.scaling is not None and not isinstance(self.scaling, RopeScaling):
            raise ConfigError(f"scaling must be one of the six rules, got {self.scaling!r:.60}")


class RopeFrequencies(NamedTuple):
    """How fast each pair rotates, with the factors that a rule brings; `rope_table` takes it whole.

    Parameters
    ----------
    inv_freq : array (rotary_dim / 2,)
        Radians per position, in float64.
    rope_factor : float
        Factor of cosine and sine, and so of queries and of keys.
    logit_factor : float
        Factor of the scores.

    Examples
    --------
    >>> from mini_attn.numpy import rope_frequencies
    >>> inv_freq, rope_factor, logit_factor = rope_frequencies(4)
    >>> rope_frequencies(4).rope_factor
    1.0
    """

    inv_freq: Any
    rope_factor: float = 1.0
    logit_factor: float = 1.0
