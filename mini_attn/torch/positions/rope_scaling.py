"""Six rules that stretch rotary embeddings to contexts beyond the trained one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mini_attn.config import (
    DynamicNTK,
    Llama3Scaling,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    RopeFrequencies,
    RopeScaling,
    YaRN,
)
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_count, check_number, named_shapes
from mini_attn.torch._module import check_floating

__all__ = ["scale_frequencies"]


def scale_frequencies(
    inv_freq: Tensor,
    scaling: RopeScaling,
    *,
    theta: float,
    rotary_dim: int,
    seq_len: int | None = None,
) -> RopeFrequencies:
    """Slow rotary frequencies down, each by its rule.

    ``out = kept * inv_freq + (1 - kept) * inv_freq / factor``

    Parameters
    ----------
    inv_freq : tensor (rotary_dim / 2,)
        Radians per position of each pair, the fastest first, in float64.
    scaling : RopeScaling
        One of the six rules.
    theta : float
        Base that the frequencies were made with.
    rotary_dim : int
        Numbers of a head that rotate.
    seq_len : int or None
        Tokens of the sequence, for the rules that ask; None means the trained context.

    Returns
    -------
    RopeFrequencies (inv_freq, rope_factor, logit_factor)
        The new frequencies; a factor of cosine and sine, and so of queries and of keys; a
        factor of the scores.

    Raises
    ------
    ShapeError
        If there is not one frequency per pair.
    DTypeError
        If the frequencies are not floating point.
    ConfigError
        If a number is out of range, or the rule is none of the six.

    Notes
    -----
    ``kept`` is 0 for every pair under ``PositionInterpolation``; under ``YaRN`` and
    ``Llama3Scaling`` it is 1 for fast pairs, 0 for slow ones and a ramp between. A larger base
    slows each pair by another power of the factor.
    ``PositionInterpolation``, ``NTKAware`` and ``Llama3Scaling`` change frequencies only;
    ``YaRN`` and ``LongRoPE`` also multiply queries and keys, so that scores get the square.
    Keys in a cache keep the frequencies of their own step under ``DynamicNTK`` and ``LongRoPE``.

    References
    ----------
    chen2023interpolation, equation 3
    peng2023yarn, sections 3.1 to 3.4
    dubey2024llama3, section 3.4.2
    ding2024longrope, section 3.2

    Examples
    --------
    >>> import torch
    >>> inv_freq = torch.tensor([1.0, 0.01], dtype=torch.float64)
    >>> scaled, rope_factor, logit_factor = scale_frequencies(
    ...     inv_freq, PositionInterpolation(4.0), theta=10000.0, rotary_dim=4)
    >>> scaled
    tensor([0.2500, 0.0025], dtype=torch.float64)
    """
    check_floating("inv_freq", inv_freq)
    check_count("rotary_dim", rotary_dim)
    if named_shapes(inv_freq=(inv_freq, "pairs"))["pairs"] * 2 != rotary_dim:
        raise ShapeError(
            f"{rotary_dim} numbers make {rotary_dim / 2:g} pairs, got {len(inv_freq)} frequencies"
        )
    check_number("theta", theta, above=0)
    if seq_len is not None:
        check_count("seq_len", seq_len)
    if isinstance(scaling, PositionInterpolation):
        return RopeFrequencies(inv_freq / scaling.factor)
    if isinstance(scaling, NTKAware):
        return RopeFrequencies(_with_base(theta, scaling.factor, rotary_dim, inv_freq))
    if isinstance(scaling, DynamicNTK):
        trained = scaling.original_max_positions
        length = max(trained, trained if seq_len is None else seq_len)
        growth = scaling.factor * length / trained - (scaling.factor - 1)
        return RopeFrequencies(_with_base(theta, growth, rotary_dim, inv_freq))
    if isinstance(scaling, Llama3Scaling):
        return RopeFrequencies(_llama3(inv_freq, scaling))
    if isinstance(scaling, YaRN):
        slower = _yarn(inv_freq, scaling, theta, rotary_dim)
        return RopeFrequencies(slower, *_yarn_factors(scaling))
    if isinstance(scaling, LongRoPE):
        return _longrope(inv_freq, scaling, seq_len)
    raise ConfigError(f"scaling must be one of the six rules, got {scaling!r:.60}")


def _with_base(theta: float, growth: float, rotary_dim: int, like: Tensor) -> Tensor:
    """Frequencies of a larger base: the slowest pair slows by ``growth``, the fastest not."""
    if rotary_dim < 4:
        raise ConfigError("a larger base needs rotary_dim of at least 4: a lone pair never slows")
    base = theta * growth ** (rotary_dim / (rotary_dim - 2))
    pairs = torch.arange(0, rotary_dim, 2, dtype=like.dtype, device=like.device)
    return torch.as_tensor(base ** (-pairs / rotary_dim))


def _turns(inv_freq: Tensor, trained: int) -> Tensor:
    """Full rotations of each pair within the trained context."""
    return inv_freq * trained / (2 * math.pi)


def _llama3(inv_freq: Tensor, rule: Llama3Scaling) -> Tensor:
    """Blend by a count of rotations: all of it above ``high_freq_factor``, none below ``low``."""
    low, high = rule.low_freq_factor, rule.high_freq_factor
    kept = ((_turns(inv_freq, rule.original_max_positions) - low) / (high - low)).clamp(0.0, 1.0)
    return kept * inv_freq + (1 - kept) * inv_freq / rule.factor


def _yarn(inv_freq: Tensor, rule: YaRN, theta: float, rotary_dim: int) -> Tensor:
    """Blend along a ramp: by the rotations of a pair (paper), or by its index (published code)."""
    if rule.rule == "paper":
        low, high = rule.beta_slow, rule.beta_fast
        ramp = (_turns(inv_freq, rule.original_max_positions) - low) / (high - low)
        kept = ramp.clamp(0.0, 1.0)
    else:
        first, last = (
            _pair_with_turns(turns, rule, theta, rotary_dim)
            for turns in (rule.beta_fast, rule.beta_slow)
        )
        if rule.truncate:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, rotary_dim - 1)
        last += 0.001 * (first == last)  # a step instead of a ramp
        pairs = torch.arange(len(inv_freq), dtype=inv_freq.dtype, device=inv_freq.device)
        kept = 1 - ((pairs - first) / (last - first)).clamp(0.0, 1.0)
    return kept * inv_freq + (1 - kept) * inv_freq / rule.factor


def _pair_with_turns(turns: float, rule: YaRN, theta: float, rotary_dim: int) -> float:
    """Index, not a whole one, of the pair that rotates so often within the trained context."""
    if theta <= 1:
        raise ConfigError(
            f"YaRN's code finds a pair by its speed: theta must exceed 1, got {theta}"
        )
    wavelength = rule.original_max_positions / (turns * 2 * math.pi)
    return rotary_dim * math.log(wavelength) / (2 * math.log(theta))


def _yarn_factors(rule: YaRN) -> tuple[float, float]:
    """Factor of queries and keys, and of the scores."""

    def temperature(weight: float) -> float:
        return 0.1 * weight * math.log(rule.factor) + 1.0

    whole = rule.mscale_all_dim
    logit_factor = 1.0 if whole is None else temperature(whole) ** 2
    if rule.attention_factor is not None:
        return rule.attention_factor, logit_factor
    if rule.mscale is not None and whole is not None:
        return temperature(rule.mscale) / temperature(whole), logit_factor
    return temperature(1.0), logit_factor


def _longrope(inv_freq: Tensor, rule: LongRoPE, seq_len: int | None) -> RopeFrequencies:
    """A factor per pair, of the set that the length asks for."""
    trained = rule.original_max_positions
    factors = rule.long_factor if (seq_len or trained) > trained else rule.short_factor
    if len(factors) != len(inv_freq):
        raise ConfigError(f"{len(inv_freq)} pairs need as many factors, got {len(factors)}")
    rope_factor = rule.attention_factor
    if rope_factor is None:
        if trained == 1:
            raise ConfigError("a trained context of 1 token gives LongRoPE no attention_factor")
        growth = rule.max_positions / trained
        rope_factor = math.sqrt(1 + math.log(growth) / math.log(trained)) if growth > 1 else 1.0
    slower = torch.tensor(factors, dtype=inv_freq.dtype, device=inv_freq.device)
    return RopeFrequencies(inv_freq / slower, rope_factor)
