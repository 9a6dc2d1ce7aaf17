"""Configurations and the shared checks: every guard, with the name and the value that came."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import torch

from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    DynamicNTK,
    ExpertConfig,
    LatentConfig,
    Llama3Scaling,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    QueryGrowth,
    RopeConfig,
    YaRN,
    check_room,
    check_sampling,
    check_stop,
    score_factor,
)
from mini_attn.errors import CacheOverflowError, ConfigError, DTypeError, ShapeError
from mini_attn.shapes import (
    check_array,
    check_choice,
    check_count,
    check_flag,
    check_heads,
    check_number,
    check_positive,
    named_shapes,
)

HALF = RopeConfig("half")
HEADS = AttentionConfig(8, 4, 4)
GOOD = {  # one valid object of each class
    "attention": AttentionConfig(8, 4, 4, window=3),
    "latent": LatentConfig(8, 2, 4, 2, 4, 3, rope=HALF, q_lora_rank=5),
    "decoder": DecoderConfig(13, 2, HEADS, d_ff=6, max_positions=9),
    "experts": ExpertConfig(4, 2, 6, shared_d_ff=3),
    "growth": QueryGrowth(0.1, 8, offset=1),
    "rope": RopeConfig("half", rotary_dim=4),
    "linear": PositionInterpolation(2.0),
    "ntk": NTKAware(2.0),
    "dynamic": DynamicNTK(2.0, 8),
    "yarn": YaRN(2.0, 8),
    "llama3": Llama3Scaling(2.0, 8),
    "longrope": LongRoPE((1.0, 2.0), (2.0, 3.0), 8, 16),
}
COUNTS = {
    "attention": ["d_model", "n_heads", "head_dim", "n_kv_heads", "v_head_dim", "window"],
    "latent": ["d_model", "n_heads", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
               "qk_rope_head_dim", "v_head_dim"],
    "decoder": ["vocab_size", "n_layers", "d_ff", "max_positions"],
    "experts": ["n_experts", "experts_per_token", "d_ff"],
    "growth": ["every"],
    "rope": ["rotary_dim", "rotated_pairs"],
    "dynamic": ["original_max_positions"],
    "yarn": ["original_max_positions"],
    "llama3": ["original_max_positions"],
    "longrope": ["original_max_positions", "max_positions"],
}  # fmt: skip
FROM_ZERO = {"attention": ["sink_tokens"], "experts": ["shared_d_ff"], "growth": ["offset"]}
NUMBERS = {
    "attention": ["eps", "softcap", "scale"],
    "latent": ["eps", "scale"],
    "decoder": ["eps", "embed_scale", "logit_softcap"],
    "experts": ["swiglu_alpha", "swiglu_limit", "routed_scale"],
    "growth": ["weight"],
    "rope": ["theta"],
    "linear": ["factor"],
    "ntk": ["factor"],
    "dynamic": ["factor"],
    "yarn": ["factor", "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim"],
    "llama3": ["factor", "low_freq_factor", "high_freq_factor"],
    "longrope": ["attention_factor"],
}
WORDS = {
    "attention": ["qk_norm_over"],
    "decoder": ["mlp", "activation", "norm", "positions", "norm_placement"],
    "experts": ["routing", "activation"],
    "rope": ["layout"],
    "yarn": ["rule"],
}
OPTIONAL = {
    "n_kv_heads", "v_head_dim", "window", "q_lora_rank", "rotary_dim", "rotated_pairs",
    "softcap", "scale", "attention_factor", "mscale", "mscale_all_dim",
    "embed_scale", "logit_softcap",
}  # fmt: skip


def every(table):
    return [(kind, name) for kind, names in table.items() for name in names]


def flags():
    return [
        (kind, field.name)
        for kind, good in GOOD.items()
        for field in dataclasses.fields(good)
        if field.type in ("bool", "bool | None")
    ]


def test_every_field_is_tried_below():
    others = {"attention", "experts", "rope", "scaling", "short_factor", "long_factor"}
    others |= {"query_growth", "kv_sources", "per_layer_dim", "stream_scales"}  # tried elsewhere
    for kind, good in GOOD.items():
        named = {
            name for table in (COUNTS, FROM_ZERO, NUMBERS, WORDS) for name in table.get(kind, ())
        }
        named |= {name for owner, name in flags() if owner == kind}
        assert {field.name for field in dataclasses.fields(good)} - named <= others


@pytest.mark.parametrize(("kind", "name"), every(COUNTS))
@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True, [2], None, np.ones(2, int)])
def test_sizes_are_whole_numbers_from_1(kind, name, value):
    if value is None and name in OPTIONAL and (kind, name) != ("latent", "v_head_dim"):
        assert dataclasses.replace(GOOD[kind], **{name: None}) is not None
        return
    with pytest.raises(ConfigError, match=rf"^{name} must be (a whole number|at least)"):
        dataclasses.replace(GOOD[kind], **{name: value})


@pytest.mark.parametrize(("kind", "name"), every(FROM_ZERO))
@pytest.mark.parametrize("value", [-1, 2.0, "2", True, [2], None, np.ones(2, int)])
def test_sizes_that_may_be_0_are_whole_numbers(kind, name, value):
    with pytest.raises(ConfigError, match=rf"^{name} must be (a whole number|at least 0)"):
        dataclasses.replace(GOOD[kind], **{name: value})
    assert getattr(dataclasses.replace(GOOD[kind], **{name: 0}), name) == 0


@pytest.mark.parametrize(("kind", "name"), every(NUMBERS))
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "2", True, [2.0], None])
def test_numbers_are_finite_and_positive(kind, name, value):
    if value is None and name in OPTIONAL:
        assert dataclasses.replace(GOOD[kind], **{name: None}) is not None
        return
    with pytest.raises(ConfigError, match=rf"^{name} must be a (positive )?finite number"):
        dataclasses.replace(GOOD[kind], **{name: value})


@pytest.mark.parametrize(("kind", "name"), flags())
@pytest.mark.parametrize("value", ["false", "", 0, 1, None, [True]])
def test_flags_are_true_or_false(kind, name, value):
    if value is None and name == "out_bias":  # as `bias`
        assert dataclasses.replace(GOOD[kind], bias=True, out_bias=None).out_bias is True
        return
    with pytest.raises(ConfigError, match=f"^{name} must be True or False, got "):
        dataclasses.replace(GOOD[kind], **{name: value})
    for right in (True, False, np.bool_(1)):
        dataclasses.replace(GOOD[kind], **{name: right})


@pytest.mark.parametrize(("kind", "name"), every(WORDS))
@pytest.mark.parametrize("value", ["", "Half", None, 3, ["half"], np.array(["half", "gelu"])])
def test_words_are_among_the_few(kind, name, value):
    with pytest.raises(ConfigError, match=f"^{name} must be one of .*, got "):
        dataclasses.replace(GOOD[kind], **{name: value})


TWO = (HEADS, HEADS)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("attention", {"n_kv_heads": 3}, "multiple of n_kv_heads, got n_heads = 4 .* = 3"),
        ("attention", {"sink_tokens": 4, "window": None},
         "sink_tokens = 4 needs a window: without one all tokens"),
        ("attention", {"rope": "half"}, "rope must be a RopeConfig or None, got 'half'"),
        ("attention", {"rope": RopeConfig("half", rotary_dim=6)}, "rotary_dim = 6 .* at most 4"),
        ("attention", {"rope": HALF, "head_dim": 5}, "rotary_dim = 5 must be even"),
        ("attention", {"rope": RopeConfig("half", scaling=YaRN(2.0, 8, mscale_all_dim=1.0))},
         "mscale_all_dim multiplies the scores of latent attention"),
        ("latent", {"rope": "half"}, "rope must be a RopeConfig or None, got 'half'"),
        ("latent", {"qk_rope_head_dim": 3}, "rotary_dim = 3 must be even"),
        ("decoder", {"attention": TWO[:1]}, "2 layers need one attention or as many, got 1"),
        ("decoder", {"attention": ()}, "2 layers need one attention or as many, got 0"),
        ("decoder", {"attention": (HEADS, None)}, "AttentionConfig or LatentConfig, got None"),
        ("decoder", {"attention": "mha"}, "AttentionConfig or LatentConfig, got 'mha'"),
        ("decoder", {"attention": AttentionConfig}, "AttentionConfig or LatentConfig, got <class"),
        ("decoder", {"attention": (HEADS, AttentionConfig(4, 1, 4))}, r"one d_model, got \[4, 8\]"),
        ("decoder", {"experts": (GOOD["experts"],)}, "2 layers need one ExpertConfig .* got 1"),
        ("decoder", {"experts": []}, "2 layers need one ExpertConfig or as many, got 0"),
        ("decoder", {"experts": (None, 8)}, "experts must be an ExpertConfig or None, got 8"),
        ("decoder", {"experts": ExpertConfig}, "experts must be an ExpertConfig or None, got <cl"),
        ("experts", {"experts_per_token": 5}, "cannot take experts_per_token = 5 of 4 experts"),
        ("rope", {"rotary_dim": 3}, "rotary_dim must be even, got 3"),
        ("rope", {"scaling": "yarn"}, "scaling must be one of the six rules, got 'yarn'"),
        ("linear", {"factor": 0.9}, "factor must be a finite number of at least 1, got 0.9"),
        ("yarn", {"beta_fast": 1.0}, "beta_fast must exceed beta_slow, got 1.0 and 1.0"),
        ("llama3", {"low_freq_factor": 4.0}, "high_freq_factor must exceed .*, got 4.0 and 4.0"),
        ("longrope", {"short_factor": (1.0,)}, "one number per pair each, got 1 and 2"),
        ("longrope", {"max_positions": 7}, "max_positions must be at least 8, got 7"),
        ("longrope", {"long_factor": (1.0, 0.0)}, "long_factor must be a finite number above 0"),
        ("longrope", {"short_factor": (1.0, "2")}, "short_factor must be a finite number above 0"),
        ("longrope", {"short_factor": 2.0}, "short_factor must be a tuple of numbers, got 2.0"),
        ("longrope", {"short_factor": "12"}, "short_factor must be a tuple of numbers, got '12'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(kind, changes, words):
    with pytest.raises(ConfigError, match=words):
        dataclasses.replace(GOOD[kind], **changes)


def test_the_edges_are_allowed():
    for factor in (1, 1.0, np.float32(1.5)):
        assert PositionInterpolation(factor).factor == factor
    assert LongRoPE([1.0], [2.0], 8, 8).short_factor == (1.0,)
    assert DecoderConfig(13, 2, list(TWO), d_ff=6, max_positions=9).attentions == TWO
    some = [GOOD["experts"], None]
    mixed = dataclasses.replace(GOOD["decoder"], experts=some)
    assert mixed.experts == mixed.layer_experts == tuple(some)
    assert dataclasses.replace(GOOD["decoder"], experts=some[0]).layer_experts == (some[0],) * 2
    assert GOOD["decoder"].layer_experts == (None, None)
    assert ExpertConfig(3, 3, 1).experts_per_token == 3
    assert AttentionConfig(8, 2, 3, rope=RopeConfig("half", rotary_dim=2)).head_dim == 3
    assert AttentionConfig(8, 2, 4, v_head_dim=3, n_kv_heads=1).v_head_dim == 3
    assert AttentionConfig(8, 2, 4, bias=True, out_bias=False).out_bias is False


def test_norms_are_called_what_published_files_call_them():
    """The names of Llama, of OLMo 2 and of Gemma 2: the second of a layer has one in all three."""
    names = {
        placement: dataclasses.replace(GOOD["decoder"], norm_placement=placement).norm_names
        for placement in ("before", "after", "both")
    }
    first, second = "input_layernorm", "post_attention_layernorm"
    third, fourth = "pre_feedforward_layernorm", "post_feedforward_layernorm"
    assert names["before"] == (first, None, second, None)
    assert names["after"] == (None, second, None, fourth)
    assert names["both"] == (first, second, third, fourth)


def test_a_decoder_of_many_layers_costs_nothing_before_it_is_made():
    assert DecoderConfig(13, 10**15, HEADS, d_ff=6, max_positions=9).d_model == 8


def test_the_factor_of_the_scores():
    assert score_factor(None, None, 16) == 0.25
    assert score_factor(-2, None, 16) == -2.0
    assert score_factor(0.0, 3.0, 16) == 0.0
    for scale in (float("nan"), float("inf"), "1", True, [1.0]):
        with pytest.raises(ConfigError, match="scale must be a finite number"):
            score_factor(scale, None, 16)
    for softcap in (0.0, -1.0, float("inf"), "1", True):
        with pytest.raises(ConfigError, match="softcap must be a positive finite number"):
            score_factor(None, softcap, 16)


class Slots:
    slots, capacity = 3, 10


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_room_is_counted_to_the_token(positions):
    config = dataclasses.replace(GOOD["decoder"], positions=positions)
    check_room(config, [Slots()], prompt=5, new=3, longest=7)
    with pytest.raises(CacheOverflowError, match="5 prompt and 4 new tokens need 8 slots, but 3"):
        check_room(config, [Slots()], prompt=5, new=4, longest=5)
    with pytest.raises(ConfigError, match="7 tokens and 4 new ones exceed max_positions = 9"):
        check_room(config, [], prompt=5, new=4, longest=7)
    check_room(dataclasses.replace(config, positions="none"), [], prompt=5, new=99, longest=5)
    check_room(config, [Slots()], prompt=7, new=0, longest=9)
    with pytest.raises(CacheOverflowError, match="need 8 slots"):
        check_room(config, [Slots()], prompt=8, new=0, longest=1)


@pytest.mark.parametrize("value", [0.0, -0.5, float("nan"), float("inf"), "1", True, None, [1.0]])
def test_sampling_options(value):
    with pytest.raises(ConfigError, match="temperature must be a finite number above 0"):
        check_sampling(value, None, None)
    if value is not None:
        with pytest.raises(ConfigError, match="top_p must be a finite number above 0"):
            check_sampling(1.0, None, value)
    check_sampling(5e-324, 1, 1.0)
    with pytest.raises(ConfigError, match=r"at most 1, got 1\.01"):
        check_sampling(1.0, None, 1.01)
    with pytest.raises(ConfigError, match="top_k must be at least 1, got 0"):
        check_sampling(1.0, 0, None)


@pytest.mark.parametrize(
    ("stop", "tokens"),
    [
        (None, ()),
        (0, (0,)),
        (7, (7,)),
        ([2, 7, 2], (2, 7)),
        ((5, 1), (5, 1)),
        (np.int64(3), (3,)),
        (np.array(3), (3,)),
        (np.array([3, 1]), (3, 1)),
        (torch.tensor(3), (3,)),
        (torch.tensor([3, 1]), (3, 1)),
        (range(2, 4), (2, 3)),
    ],
)
def test_stop_tokens_are_one_or_several(stop, tokens):
    found = check_stop("stop", stop, 8)
    assert found == tokens
    assert all(type(token) is int for token in found)


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        (8, r"stop must lie in 0 … 7, got 8"),
        ([1, 9], r"stop must lie in 0 … 7, got 9"),
        (-1, "stop must be at least 0, got -1"),
        ([], "stop must name a token, got none"),
        (np.zeros(0, int), "stop must name a token, got none"),
        ("12", "stop must be a whole number, got '12'"),
        (["1"], "stop must be a whole number, got '1'"),
        (True, "stop must be a whole number, got True"),
        (1.0, "stop must be a whole number, got 1.0"),
        ([1.0], "stop must be a whole number, got 1.0"),
        ([[1, 2]], "stop must be a whole number"),
        (np.ones((2, 2), int), "stop must be a whole number"),
        (torch.ones(2), "stop must be a whole number"),
        ({1: 2}, "stop must be a whole number"),
    ],
)
def test_stop_tokens_that_there_are_not(stop, words):
    with pytest.raises(ConfigError, match=words):
        check_stop("stop", stop, 8)


def test_arrays_of_the_other_backend_are_named():
    theirs = torch.ones(2)
    words = "q must be a numpy.ndarray, got a torch.Tensor, which mini_attn.numpy does not take"
    with pytest.raises(DTypeError, match=re.escape(words)):
        check_array("q", theirs, np.ndarray)
    words = "q must be a torch.Tensor, got a numpy.ndarray, which mini_attn.torch does not take"
    with pytest.raises(DTypeError, match=re.escape(words)):
        check_array("q", np.ones(2), torch.Tensor)
    for kind in (np.ndarray, torch.Tensor):
        for value in (None, "text", [1.0], 2.0):
            with pytest.raises(
                DTypeError, match=re.escape(f"got {value!r} ({type(value).__name__}")
            ):
                named_shapes(kind, q=(value, "batch"))
    assert named_shapes(np.ndarray, q=(np.ones(2), "batch")) == {"batch": 2}
    check_array("w", torch.nn.Parameter(theirs), torch.Tensor)
    with pytest.raises(ShapeError, match=r"q should be an array \(batch\), got 'text'"):
        named_shapes(q=("text", "batch"))


def test_the_shared_checks_take_what_stands_for_a_number():
    assert check_count("n", np.int64(3)) == check_count("n", torch.tensor(3)) == 3
    assert check_number("n", np.float16(0.5)) == check_number("n", torch.tensor(0.5)) == 0.5
    assert check_heads(6, 2) == 3
    for pair in ((6, 4), (0, 1), (1, 0), (-2, 1)):
        with pytest.raises(ConfigError, match="n_heads must be a positive multiple"):
            check_heads(*pair)
    for value in (10**400, 1j, object(), np.ones(2), torch.ones(2), b"1"):
        with pytest.raises(ConfigError, match="n must be a finite number, got"):
            check_number("n", value)
    for value in (np.bool_(1), torch.ones(2), np.ones(2), 1.0):
        with pytest.raises(ConfigError, match="n must be a whole number, got"):
            check_count("n", value)
    check_positive("n", None)
    check_choice("n", "a", ("a", "b"))
    check_flag("n", False)
