"""Configurations refuse what no layer could be made of, and say which number it was."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    LatentConfig,
    RopeConfig,
    YaRN,
    check_room,
    check_sampling,
    score_factor,
)
from mini_attn.errors import CacheOverflowError, ConfigError
from tests.backends.test_decoder import CONFIGS, model_of, tokens_of

ROPE = RopeConfig("half")
SHARED = AttentionConfig(12, 4, 6, n_kv_heads=2)
LATENT = LatentConfig(12, 4, 5, 3, 4, 6, rope=ROPE, q_lora_rank=7)
DECODER = DecoderConfig(9, 2, SHARED, d_ff=8, max_positions=10)

COUNTS = {
    SHARED: ("d_model", "n_heads", "head_dim", "n_kv_heads", "v_head_dim", "window"),
    LATENT: (
        "d_model", "n_heads", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim",
    ),
    DECODER: ("vocab_size", "n_layers", "d_ff", "max_positions"),
}  # fmt: skip
POSITIVE = {SHARED: ("softcap", "scale", "eps"), LATENT: ("scale", "eps"), DECODER: ("eps",)}
NAMES = {SHARED: "shared", LATENT: "latent", DECODER: "decoder"}


def each(names):
    return [
        pytest.param(config, name, id=f"{NAMES[config]}-{name}")
        for config, found in names.items()
        for name in found
    ]


@pytest.mark.parametrize(("config", "name"), each(COUNTS))
@pytest.mark.parametrize("value", [0, -3, 1.5, True, "2"])
def test_a_count_is_a_whole_number_above_zero(config, name, value):
    with pytest.raises(ConfigError, match=f"{name} must be .*{value}"):
        dataclasses.replace(config, **{name: value})


@pytest.mark.parametrize(("config", "name"), each(POSITIVE))
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_factor_is_a_finite_number_above_zero(config, name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a (finite|positive) .*{value}"):
        dataclasses.replace(config, **{name: value})
    assert getattr(dataclasses.replace(config, **{name: 0.5}), name) == 0.5


# --- one layer ---------------------------------------------------------------------------------


def test_what_is_left_out_becomes_a_number():
    plain = AttentionConfig(12, 4, 6)
    assert (plain.n_kv_heads, plain.v_head_dim, plain.out_bias) == (4, 6, False)
    assert AttentionConfig(12, 4, 6, None, None, out_bias=None) == plain
    given = AttentionConfig(12, 4, 6, n_kv_heads=2, v_head_dim=5, bias=True)
    assert (given.n_kv_heads, given.v_head_dim, given.out_bias) == (2, 5, True)
    assert AttentionConfig(12, 4, 6, bias=True, out_bias=False).out_bias is False


def test_heads_are_shared_evenly():
    with pytest.raises(ConfigError, match="n_heads = 4 and n_kv_heads = 3"):
        AttentionConfig(12, 4, 6, n_kv_heads=3)
    with pytest.raises(ConfigError, match="n_heads = 4 and n_kv_heads = 8"):
        AttentionConfig(12, 4, 6, n_kv_heads=8)
    sizes = {n: AttentionConfig(12, 4, 6, n_kv_heads=n).group_size for n in (1, 2, 4)}
    assert sizes == {1: 4, 2: 2, 4: 1}


def test_options_make_the_registrys_entry():
    named = {n: AttentionConfig(12, 4, 6, n_kv_heads=n).variant for n in (1, 2, 4)}
    assert named == {1: "mqa", 2: "gqa", 4: "mha"}
    assert AttentionConfig(12, 1, 6).variant == "mha"  # one head shares with nobody
    assert AttentionConfig(12, 4, 6, n_kv_heads=1, window=3).variant == "sliding_window"
    assert AttentionConfig(12, 4, 6, window=3, sink_tokens=2).variant == "sliding_window"
    assert LATENT.variant == "mla"
    assert LATENT.head_dim == 3 + 4


@pytest.mark.parametrize("make", [AttentionConfig(12, 4, 6), LATENT], ids=["shared", "latent"])
def test_a_rotation_fits_what_it_turns(make):
    width = make.head_dim if isinstance(make, AttentionConfig) else make.qk_rope_head_dim

    def turned(rotary_dim):
        return dataclasses.replace(make, rope=RopeConfig("half", rotary_dim=rotary_dim))

    for fits in (2, width, None):
        assert turned(fits).rope.rotary_dim == fits
    with pytest.raises(ConfigError, match=f"rotary_dim = {width + 2} must be even"):
        turned(width + 2)
    with pytest.raises(ConfigError, match="rope must be a RopeConfig"):
        dataclasses.replace(make, rope="half")
    odd = {"head_dim": 5} if isinstance(make, AttentionConfig) else {"qk_rope_head_dim": 5}
    with pytest.raises(ConfigError, match="rotary_dim = 5 must be even"):
        dataclasses.replace(make, rope=ROPE, **odd)


def test_no_attention_must_turn():
    assert AttentionConfig(12, 4, 6, rope=None).rope is None
    assert dataclasses.replace(LATENT, rope=None).rope is None
    with pytest.raises(ConfigError, match="rope must be a RopeConfig or None, got 4"):
        dataclasses.replace(LATENT, rope=4)
    assert dataclasses.replace(LATENT, q_lora_rank=None).q_lora_rank is None


def test_a_factor_of_the_scores_that_only_latent_attention_has():
    def scaled(**more):
        return RopeConfig("half", scaling=YaRN(4.0, original_max_positions=64, **more))

    with pytest.raises(ConfigError, match="mscale_all_dim multiplies the scores of latent"):
        AttentionConfig(12, 4, 6, rope=scaled(mscale=1.0, mscale_all_dim=1.0))
    assert AttentionConfig(12, 4, 6, rope=scaled()).rope == scaled()
    everywhere = scaled(mscale=1.0, mscale_all_dim=1.0)
    assert dataclasses.replace(LATENT, rope=everywhere).rope == everywhere


def test_the_factor_of_the_scores():
    assert score_factor(None, None, 16) == 0.25
    assert score_factor(2, 5.0, 16) == 2.0
    assert score_factor(0.0, None, 16) == 0.0
    assert score_factor(-1.0, None, 16) == -1.0
    for bad in (math.inf, -math.inf, math.nan):
        with pytest.raises(ConfigError, match="scale must be a finite number"):
            score_factor(bad, None, 16)
    with pytest.raises(ConfigError, match="softcap must be a positive"):
        score_factor(None, 0.0, 16)


# --- a decoder ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mlp", "activation", "norm", "positions"])
def test_a_word_is_one_of_those_there_are(name):
    with pytest.raises(ConfigError, match=f"{name} must be one of .*got 'other'"):
        dataclasses.replace(DECODER, **{name: "other"})


def test_every_layer_has_its_attention():
    assert DECODER.attentions == (SHARED, SHARED)
    mixed = dataclasses.replace(DECODER, attention=[SHARED, LATENT])
    assert mixed.attentions == mixed.attention == (SHARED, LATENT)
    assert hash(mixed) == hash(dataclasses.replace(DECODER, attention=(SHARED, LATENT)))
    assert mixed.d_model == 12
    for count in (0, 1, 3):
        with pytest.raises(
            ConfigError, match=f"2 layers need one attention or as many, got {count}"
        ):
            dataclasses.replace(DECODER, attention=(SHARED,) * count)


def test_layers_stand_on_each_other():
    wide = AttentionConfig(16, 4, 6)
    with pytest.raises(ConfigError, match=r"all layers need one d_model, got \[12, 16\]"):
        dataclasses.replace(DECODER, attention=(SHARED, wide))


@pytest.mark.parametrize(
    "half", [SimpleNamespace(d_model=12), SimpleNamespace(variant="gqa"), None, {"d_model": 12}]
)
def test_attention_is_a_configuration(half):
    for attention in (half, (SHARED, half)):
        with pytest.raises(ConfigError, match="attention must be an AttentionConfig"):
            dataclasses.replace(DECODER, attention=attention)


def room(prompt, new, *, longest=None, config=DECODER, held=(), capacity=6):
    caches = [SimpleNamespace(slots=slots, capacity=capacity) for slots in held]
    longest = prompt if longest is None else longest
    check_room(config, caches, prompt=prompt, new=new, longest=longest)


def test_room_is_asked_for_what_is_fed():
    """The last new token is chosen and not run: three and four new take six slots."""
    room(3, 4, held=[0])
    room(3, 4)
    room(3, 0, held=[3])  # nothing new: the prompt alone
    with pytest.raises(CacheOverflowError, match=r"3 prompt and 5 new .* 7 slots, but 0 of 6"):
        room(3, 5, held=[0])
    with pytest.raises(CacheOverflowError, match="make the capacity 7"):
        room(3, 4, held=[0, 1])  # any of the caches
    with pytest.raises(CacheOverflowError, match="3 of 6 are used: make the capacity 7"):
        room(4, 0, held=[3])


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_positions_reach_as_far_as_there_are_any(positions):
    config = dataclasses.replace(DECODER, positions=positions)
    room(4, 7, config=config)  # positions 0 to 9
    room(8, 7, longest=4, config=config)  # padding takes none
    with pytest.raises(ConfigError, match="4 tokens and 8 new ones exceed max_positions = 10"):
        room(4, 8, config=config)
    room(4, 8, config=dataclasses.replace(config, positions="none"))


@pytest.mark.parametrize("name", ["sinusoidal", "gpt2"])
def test_a_decoder_has_no_position_beyond_its_last(lib, name):
    """A wave goes on for ever; what was asked for is a decoder that does not."""
    model, last = model_of(lib, name), CONFIGS[name].max_positions
    tokens = tokens_of(lib, 1, last + 1)
    model(tokens[:, :last])
    with pytest.raises(ConfigError, match=f"max_positions = {last}\\), got 0 … {last}"):
        model(tokens)
    one = tokens[:, :1]
    model(one, positions=lib.array([last - 1]))
    for bad in (last, -2):
        with pytest.raises(ConfigError, match=f"max_positions = {last}\\), got {bad} … {bad}"):
            model(one, positions=lib.array([bad]))
    caches = model.new_caches(1, last + 1)
    model(tokens[:, :last], caches=caches)
    with pytest.raises(ConfigError, match=f"max_positions = {last}\\), got {last} … {last}"):
        model(one, caches=caches)
    assert {cache.slots for cache in caches} == {last}  # nothing was written
    with pytest.raises(ConfigError, match=f"exceed max_positions = {last}"):
        lib.generate(model, tokens[:, :last], max_new_tokens=2)


def test_a_decoder_without_positions_goes_on(lib):
    model, last = model_of(lib, "alibi"), CONFIGS["alibi"].max_positions
    out = lib.numpy(model(tokens_of(lib, 1, last + 5)))
    assert np.isfinite(out).all()


# --- a draw ------------------------------------------------------------------------------------


def test_options_of_a_draw():
    check_sampling(0.7, None, None)
    check_sampling(0.7, 1, 1.0)
    for options, words in (
        ((0.0, None, None), "temperature must be a finite number above 0"),
        ((math.nan, None, None), "temperature must be a finite number above 0"),
        ((1.0, 0, None), "top_k must be at least 1"),
        ((1.0, 2.0, None), "top_k must be a whole number"),
        ((1.0, None, 0.0), "top_p must be a finite number above 0"),
        ((1.0, None, 1.01), "top_p is a probability, at most 1, got 1.01"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_sampling(*options)
