"""Values of the right kind that mean nothing: each is refused by name, and nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest

import mini_attn.torch as mt
from mini_attn import stories
from mini_attn.caching import Blocks, Prefixes, Scheduler
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    ExpertConfig,
    KeepHeavyHitters,
    Pattern,
)
from mini_attn.errors import CacheStateError, ConfigError
from mini_attn.stories.inside import attention_maps
from tests.backends.small import decoder_of, small

SIZES = (1, 2, 4)  # batch, n_kv_heads, head_dim


def rows(lib, count, seed=0):
    return lib.array(np.random.default_rng(seed).standard_normal((1, 2, count, 4)).astype("f4"))


@pytest.mark.parametrize("norm", [float("nan"), -1.0])
def test_norms_are_numbers_from_0(lib, norm):
    weight, norms = lib.array(np.ones((3, 2))), lib.array(np.array([1.0, norm]))
    with pytest.raises(ConfigError, match="norms"):
        lib.wanda_scores(weight, norms)
    model = lib.GatedMLP(2, 4)
    given = {"gate_proj": norms, "up_proj": norms, "down_proj": lib.array(np.ones(4))}
    for share in (0.5, Pattern(1, 2)):
        with pytest.raises(ConfigError, match=r"up_proj|gate_proj"):
            lib.prune_weights(model, share, norms=given)


def test_a_pattern_compares_within_a_row(lib):
    with pytest.raises(ConfigError, match="within='matrix'"):
        lib.prune_weights(lib.GatedMLP(4, 8), Pattern(2, 4), within="matrix")


@pytest.mark.parametrize("option", ["swiglu_alpha", "swiglu_limit"])
def test_what_an_activation_does_not_read_is_refused(option):
    with pytest.raises(ConfigError, match=option):
        ExpertConfig(4, 2, 8, activation="silu", **{option: 3.0})
    assert ExpertConfig(4, 2, 8, activation="clamped_swiglu", **{option: 3.0})


@pytest.mark.parametrize("weight", [-0.1, float("inf"), float("nan")])
def test_observed_weights_are_numbers_from_0(lib, weight):
    cache = lib.EvictingCache(*SIZES, budget=2, policy=KeepHeavyHitters(recent=1))
    cache.append(rows(lib, 3), rows(lib, 3))
    weights = np.full((1, 2, 3, 3), 1 / 3)
    weights[0, 0, 1, 1] = weight
    with pytest.raises(ConfigError, match="weights"):
        cache.observe(lib.array(weights))
    cache.observe(lib.array(np.full((1, 2, 3, 3), 1 / 3)))
    assert cache.slots == 3


@pytest.mark.parametrize("positions", [[0, 2, 1], [0, 1, 1], [3, -1, 2]])
def test_positions_of_keys_grow(lib, positions):
    scores = lib.array(np.array([0.1, 0.2, 0.3]))
    with pytest.raises(ConfigError, match="positions"):
        lib.kept_keys(scores, lib.array(np.array(positions)), 2)
    assert lib.kept_keys(scores, lib.array(np.array([-1, 0, 5])), 2).tolist() == [1, 2]


def decoder(lib):
    return lib.Decoder(DecoderConfig(16, 1, AttentionConfig(8, 2, 4), d_ff=8, max_positions=8))


def test_a_step_is_callable(lib):
    model, tokens = decoder(lib), lib.array(np.array([[3, 1]]))
    caches = model.new_caches(1, 4)
    with pytest.raises(ConfigError, match="step"):
        lib.generate(model, tokens, max_new_tokens=1, caches=caches, step=3)
    assert caches[0].slots == 0


def scheduler():
    return Scheduler(Blocks(4, 2), token_budget=8)


@pytest.mark.parametrize(
    ("chosen", "ended", "word"),
    [(None, (), "chosen"), ({"a": 1, "b": 1}, None, "ended"), ({"a": 1, "b": 1}, "ab", "ended")],
)
def test_finish_takes_a_mapping_and_names(chosen, ended, word):
    plan = scheduler()
    plan.add("a", [1], max_new_tokens=2)
    plan.add("b", [2], max_new_tokens=2)
    step = plan.plan()
    with pytest.raises(ConfigError, match=word):
        plan.finish(step, chosen, ended=ended)
    plan.finish(step, {"a": 1, "b": 1}, ended=["b"])
    assert [piece.name for piece in plan.plan().pieces] == ["a"]


def test_a_token_beyond_64_bits_blocks_nobody():
    plan = scheduler()
    with pytest.raises(ConfigError, match="token"):
        plan.add("a", [2**70, 1], max_new_tokens=1)
    plan.add("b", [1], max_new_tokens=1)
    assert [piece.name for piece in plan.plan().pieces] == ["b"]


def test_a_chosen_token_beyond_64_bits_blocks_nobody():
    plan = scheduler()
    plan.add("a", [1, 2], max_new_tokens=3)
    step = plan.plan()
    with pytest.raises(ConfigError, match="token"):
        plan.finish(step, {"a": 2**70})
    plan.finish(step, {"a": 2**63 - 1})
    for _ in range(2):  # its block is full then, and hashed
        plan.finish(plan.plan(), {"a": 1})
    assert plan.plan().pieces == ()


def test_prefixes_know_the_blocks_that_there_are():
    prefixes = Prefixes(n_blocks=4, block_size=2)
    for block in (9, -1):
        with pytest.raises(ConfigError, match="blocks 0 to 3"):
            prefixes.learn([1, 2, 3, 4], [0, block])
    assert prefixes.find([1, 2, 3]) == []


def test_a_member_has_a_name():
    with pytest.raises(ConfigError, match="unknown member"):
        stories.load(["mha"])


@pytest.mark.parametrize("kind", ["ring", "ring with first tokens", "quantised"])
@pytest.mark.parametrize("padded", [False, True])
def test_everything_can_be_forgotten_whatever_was_overwritten(lib, kind, padded):
    if kind == "quantised":
        sizes = {"capacity": 16, "group_size": 2, "residual": 2}
        made = [lib.QuantizedKVCache(*SIZES, **sizes) for _ in range(2)]
    else:
        options = {"capacity": 16, "window": 3, "sink_tokens": 2 if "first" in kind else 0}
        made = [lib.SlidingWindowCache(*SIZES, **options) for _ in range(2)]
    used, fresh = made
    given = {"positions": lib.array(np.array([[-1, 0]]))} if padded else {}
    for seed in range(5):
        used.append(rows(lib, 2, seed), rows(lib, 2, seed), **given)
        given = {}
    used.crop(0)
    assert used.slots == 0
    for cache in made:
        cache.append(rows(lib, 4, 9), rows(lib, 4, 9))
        cache.append(rows(lib, 1, 8), rows(lib, 1, 8))
    for one, other in zip(used.view(), fresh.view(), strict=True):
        np.testing.assert_array_equal(lib.numpy(one), lib.numpy(other))
    assert used.used_bytes == fresh.used_bytes


@pytest.mark.parametrize("tokens", [[1.5, 2.5], [2**70, 1], ["a", "b"]])
def test_prefixes_are_of_whole_numbers(tokens):
    prefixes = Prefixes(n_blocks=2, block_size=1)
    with pytest.raises(ConfigError, match="64 bits"):
        prefixes.find(tokens)
    with pytest.raises(ConfigError, match="64 bits"):
        prefixes.learn(tokens, [0, 1])
    assert prefixes.holds(0) is None


def test_codes_of_four_columns_are_not_those_of_three(lib):
    stored = lib.encode_weight(lib.array(np.array([[6.0, -0.7, 0.2, 1.0]])), "mxfp4")
    with pytest.raises(ConfigError, match="4 columns, not 3"):
        lib.decode_weight(stored, "mxfp4", 3)


def test_norms_belong_to_the_model(lib):
    model = lib.GatedMLP(2, 4)
    norms = {name: lib.array(np.ones(size)) for name, size in
             (("gate_proj", 2), ("up_proj", 2), ("down_proj", 4))}  # fmt: skip
    with pytest.raises(ConfigError, match=r"no 'layers\.0"):
        lib.prune_weights(model, 0.5, norms={**norms, "layers.0.mlp.up_proj": norms["up_proj"]})
    del norms["down_proj"]
    with pytest.raises(ConfigError, match="down_proj: norms lack it"):
        lib.prune_weights(model, 0.5, norms=norms)


def test_maps_are_of_the_numpy_decoder():
    with pytest.raises(ConfigError, match=r"mini_attn\.torch\.\S+Decoder"):
        attention_maps(decoder_of(mt, small("gqa")), np.array([[1, 2]]))


@pytest.mark.parametrize("use", ["look", "add"])
def test_a_choice_that_uses_the_scheduler_is_named(lib, use):
    def choose(name, logits):
        if use == "look":
            return len(server.scheduler.running)
        server.add("b", [1], max_new_tokens=1)
        return 1

    server = lib.Server(decoder_of(lib, small("gqa")), 8, block_size=2, choose=choose)
    server.add("a", [1, 2], max_new_tokens=2)
    with pytest.raises(CacheStateError, match="choose from the logits alone"):
        server.step()
    server.choose = None
    assert len(server.run()["a"]) == 4
