"""The six rules, each by the property that defines it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mini_attn.config import (
    DynamicNTK,
    Llama3Scaling,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    YaRN,
)
from mini_attn.errors import ConfigError, ShapeError

DIM, THETA = 64, 10000.0
PLAIN = THETA ** (-np.arange(0, DIM, 2) / DIM)


def scaled(lib, rule, seq_len=None):
    inv_freq, rope_factor, logit_factor = lib.rope_frequencies(
        DIM, theta=THETA, scaling=rule, seq_len=seq_len
    )
    return lib.numpy(inv_freq), rope_factor, logit_factor


def test_interpolation_divides_all(lib):
    found, *factors = scaled(lib, PositionInterpolation(4.0))
    np.testing.assert_allclose(found, PLAIN / 4)
    assert factors == [1.0, 1.0]


def test_ntk_slows_the_slowest_by_the_factor_and_the_fastest_not_at_all(lib):
    found, *factors = scaled(lib, NTKAware(8.0))
    np.testing.assert_allclose(found[[0, -1]], [1.0, PLAIN[-1] / 8])
    assert (np.diff(found / PLAIN) < 0).all()
    assert factors == [1.0, 1.0]


def test_dynamic_ntk_begins_beyond_the_trained_context(lib):
    rule = DynamicNTK(2.0, original_max_positions=1000)
    for seq_len in (None, 1, 1000):
        np.testing.assert_allclose(scaled(lib, rule, seq_len)[0], PLAIN)
    # Twice the context with factor 2: the base of NTK with 2 * 2 - 1 = 3.
    np.testing.assert_allclose(scaled(lib, rule, 2000)[0], scaled(lib, NTKAware(3.0))[0])


def test_llama3_keeps_short_waves_and_interpolates_long_ones(lib):
    rule = Llama3Scaling(8.0, original_max_positions=8192)
    found, *factors = scaled(lib, rule)
    waves = 2 * np.pi / PLAIN
    np.testing.assert_allclose(found[waves < 8192 / 4], PLAIN[waves < 8192 / 4])
    np.testing.assert_allclose(found[waves > 8192], PLAIN[waves > 8192] / 8)
    between = (waves > 8192 / 4) & (waves < 8192)
    assert between.sum() >= 2
    assert ((found < PLAIN) & (found > PLAIN / 8))[between].all()
    assert factors == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["code", "paper"])
def test_yarn_keeps_fast_pairs_and_interpolates_slow_ones(lib, kind):
    rule = YaRN(16.0, original_max_positions=4096, rule=kind)
    found, rope_factor, logit_factor = scaled(lib, rule)
    turns = 4096 * PLAIN / (2 * np.pi)
    np.testing.assert_allclose(found[turns > 40], PLAIN[turns > 40])
    np.testing.assert_allclose(found[turns < 0.7], PLAIN[turns < 0.7] / 16)
    assert rope_factor == pytest.approx(0.1 * math.log(16) + 1)
    assert logit_factor == 1.0


def test_yarn_in_the_paper_ramps_over_turns_and_in_the_code_over_pairs(lib):
    """Equation by equation the two differ in the middle, where a ramp is bent by a logarithm."""
    code, paper = (scaled(lib, YaRN(16.0, 4096, rule=kind))[0] for kind in ("code", "paper"))
    turns = 4096 * PLAIN / (2 * np.pi)
    kept = np.clip((turns - 1) / (32 - 1), 0, 1)
    np.testing.assert_allclose(paper, kept * PLAIN + (1 - kept) * PLAIN / 16)
    assert np.abs(code / paper - 1).max() > 0.5


@pytest.mark.parametrize("truncate", [True, False])
def test_yarn_rounds_the_ends_of_the_ramp_unless_told(lib, truncate):
    found = scaled(lib, YaRN(16.0, 4096, truncate=truncate))[0]
    kept = (found * 16 / PLAIN - 1) / 15
    first, last = (
        DIM * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(THETA)) for turns in (32, 1)
    )
    assert not first.is_integer()
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    ramp = 1 - (np.arange(DIM // 2) - first) / (last - first)
    np.testing.assert_allclose(kept, np.clip(ramp, 0, 1), atol=1e-12)


def test_factors_of_deepseek(lib):
    """Queries and keys get the ratio; the scores the square of the second."""
    _, rope_factor, logit_factor = scaled(lib, YaRN(40.0, 4096, mscale=1.0, mscale_all_dim=1.0))
    assert rope_factor == 1.0
    assert logit_factor == pytest.approx((0.1 * math.log(40) + 1) ** 2)
    _, rope_factor, logit_factor = scaled(lib, YaRN(40.0, 4096, mscale=0.707, mscale_all_dim=0.8))
    assert rope_factor == pytest.approx((0.0707 * math.log(40) + 1) / (0.08 * math.log(40) + 1))
    assert logit_factor == pytest.approx((0.08 * math.log(40) + 1) ** 2)
    assert scaled(lib, YaRN(40.0, 4096, attention_factor=1.5))[1] == 1.5


def test_longrope_has_two_sets(lib):
    short, long = tuple(1 + i / 32 for i in range(32)), tuple(2.0 + i for i in range(32))
    rule = LongRoPE(short, long, original_max_positions=4096, max_positions=131072)
    for seq_len, factors in ((None, short), (4096, short), (4097, long)):
        found, rope_factor, logit_factor = scaled(lib, rule, seq_len)
        np.testing.assert_allclose(found, PLAIN / np.array(factors))
        assert rope_factor == pytest.approx(math.sqrt(1 + math.log(32) / math.log(4096)))
        assert logit_factor == 1.0
    same = LongRoPE(short, long, 4096, 4096)
    assert scaled(lib, same)[1] == 1.0


@pytest.mark.parametrize(
    "rule",
    [
        PositionInterpolation(1.0),
        NTKAware(1.0),
        DynamicNTK(1.0, 100),
        YaRN(1.0, 100),
        Llama3Scaling(1.0, 100),
        LongRoPE((1.0,) * 32, (1.0,) * 32, 100, 100),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_factor_of_one_changes_nothing(lib, rule):
    found, rope_factor, logit_factor = scaled(lib, rule, 50)
    np.testing.assert_allclose(found, PLAIN, rtol=1e-12)
    assert (rope_factor, logit_factor) == (1.0, 1.0)


def test_refusals(lib):
    plain = lib.rope_frequencies(DIM)[0]
    rule = PositionInterpolation(2.0)
    with pytest.raises(ShapeError, match="pairs"):
        lib.scale_frequencies(plain, rule, theta=THETA, rotary_dim=62)
    with pytest.raises(ConfigError, match="six rules"):
        lib.scale_frequencies(plain, 2.0, theta=THETA, rotary_dim=DIM)
    with pytest.raises(ConfigError, match="seq_len"):
        lib.scale_frequencies(plain, rule, theta=THETA, rotary_dim=DIM, seq_len=0)
    with pytest.raises(ConfigError, match="as many factors"):
        lib.rope_frequencies(DIM, scaling=LongRoPE((1.0,), (1.0,), 10, 20))
    with pytest.raises(ConfigError, match="theta must exceed 1"):
        lib.rope_frequencies(DIM, theta=1.0, scaling=YaRN(2.0, 100))
    with pytest.raises(ConfigError, match="trained context of 1 token"):
        lib.rope_frequencies(2, scaling=LongRoPE((1.0,), (1.0,), 1, 2))
    with pytest.raises(ConfigError, match="lone pair"):
        lib.rope_frequencies(2, scaling=NTKAware(2.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: NTKAware(0.9),
        lambda: NTKAware(float("inf")),
        lambda: DynamicNTK(2.0, 0),
        lambda: YaRN(2.0, 100, beta_fast=1.0, beta_slow=1.0),
        lambda: YaRN(2.0, 100, rule="blog"),
        lambda: YaRN(2.0, 100, mscale=0.0),
        lambda: Llama3Scaling(2.0, 100, low_freq_factor=4.0),
        lambda: LongRoPE((1.0,), (1.0, 2.0), 10, 20),
        lambda: LongRoPE((1.0,), (-1.0,), 10, 20),
        lambda: LongRoPE((1.0,), (1.0,), 30, 20),
    ],
)
def test_rules_refuse(make):
    with pytest.raises(ConfigError):
        make()
