"""A configuration file as a model with costs: the listed ones, those that run, and broken ones."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from mini_attn.config import LinearAttentionConfig
from mini_attn.cost import active_parameter_count, cache_bytes, parameter_count
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.weights import FAMILIES, config_from_hf, model_from_hf, unknown_keys
from mini_attn.weights.families._fields import BASE, FIELDS
from mini_attn.weights.hf_model import BIASES, COMPRESSED, COPIED, EXPERTS, LATENT
from tests.cost.described import described
from tests.cost.published import PUBLISHED

COST_SIZES = (*COPIED, *LATENT, *COMPRESSED, *EXPERTS, "spans", "compress", "attention",
              "n_kv_heads", "biases", "window", "full_every", "full_layers",
              "n_dense_layers")  # fmt: skip
STATE_SIZES = ("d_model", "n_heads", "head_dim", "v_head_dim", "n_key_heads", "conv_kernel",
               "conv_bias", "bias", "out_bias", "norm_over", "decay")  # fmt: skip
SMALL = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 6, "num_attention_heads": 4,
         "intermediate_size": 32, "max_position_embeddings": 128}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_listed_sizes(name):
    read, listed = model_from_hf(PUBLISHED[name], name=name), MODELS[name]
    assert {size: getattr(read, size) for size in COST_SIZES} == {
        size: getattr(listed, size) for size in COST_SIZES
    }
    assert read.name == name
    assert parameter_count(read) == parameter_count(listed)
    assert active_parameter_count(read) == active_parameter_count(listed)
    assert unknown_keys(PUBLISHED[name]) == []


def same_layers(config, read):
    """Compare a decoder's layers with the sizes that costs are counted from."""
    for layer, attention in enumerate(config.attentions):
        theirs = read.linear_of(layer)
        assert isinstance(attention, LinearAttentionConfig) == (theirs is not None)
        if theirs:
            assert [getattr(attention, name) for name in STATE_SIZES] == [
                getattr(theirs, name) for name in STATE_SIZES
            ]
            continue
        sizes = SimpleNamespace(**read.named_sizes | read.kind_sizes(layer))
        assert getattr(attention, "window", None) == read.window_of(layer)
        assert attention.n_heads == read.n_heads
        assert attention.head_dim == sizes.head_dim
        assert attention.v_head_dim == sizes.v_head_dim
        assert attention.bias == (read.biases in ("qkv", "attention", "all"))
        if read.attention != "mla":
            assert attention.n_kv_heads == sizes.n_kv_heads
            assert attention.out_bias == (read.biases in ("attention", "all"))
            assert attention.sinks == read.sinks
            assert attention.out_gate == read.out_gate


@pytest.mark.parametrize("family", FAMILIES)
def test_costs_are_those_of_the_decoder_that_would_run(family):
    draw, runs = Random(family), 0
    for _ in range(100):
        given = described(family, draw)
        try:
            config = config_from_hf(given)
        except ConfigError:
            continue
        runs, read = runs + 1, model_from_hf(given)
        same_layers(config, read)
        assert (config.d_model, config.vocab_size) == (read.d_model, read.vocab_size)
        assert config.layer_d_ff == tuple(map(read.d_ff_of, range(read.n_layers)))
        assert config.tie_embeddings == read.tied_embeddings
        assert config.norm_placement == read.norm_placement or family == "olmo_hybrid"
        for norms in config.layer_norms:
            assert sum(norm is not None for norm in norms) == read.norms_per_layer
        experts = [layer for layer in config.layer_experts if layer is not None]
        assert len(experts) == (read.n_layers - read.n_dense_layers if read.n_experts else 0)
        for each in experts[:1]:
            assert (each.n_experts, each.d_ff) == (read.n_experts, read.expert_d_ff)
            assert (each.shared_d_ff, each.shared_gate) == (read.shared_d_ff, read.shared_gate)
        assert cache_bytes(read, batch=1, context=7) > 0
    assert runs > 4


def test_every_family_that_runs_has_its_fields_and_no_key_twice():
    assert set(FAMILIES) <= set(FIELDS)
    for family, specs in FIELDS.items():
        if "states" in specs:
            continue  # its decoder has sizes of its own, which no costs ask for
        assert {*specs} - {"also"} <= {
            *BASE,
            "n_layers",
            "d_model",
            "n_heads",
            "n_kv_heads",
            "head_dim",
            "d_ff",
            "vocab_size",
            "max_context",
        }, family
        also = specs["also"].split()
        assert len(set(also)) == len(also), family
    assert set(BIASES.values()) | {"qkv"} == {"none", "qkv", "attention", "mlp", "all"}


def test_the_text_part_of_a_file_for_images_is_read():
    whole = {"model_type": "gemma3", "text_config": PUBLISHED["gemma-3-4b"], "vision_config": {}}
    assert model_from_hf(whole).attention == "sliding_window"
    assert unknown_keys({**whole, "logit_scale": 3}) == []  # of the whole, not of the text
    with pytest.raises(ConfigError, match=r"model_type must be one of llama.*got 'gemma3'"):
        model_from_hf({**whole, "text_config": {"model_type": ["llama"]}})


@pytest.mark.parametrize(("change", "said"), [
    ({"model_type": None}, "model_type"),
    ({"model_type": "mamba"}, "mamba"),
    ({"hidden_size": None}, "no 'hidden_size'"),
    ({"hidden_size": "16"}, "hidden_size"),
    ({"num_hidden_layers": 10**9}, "more than any model has"),
    ({"num_hidden_layers": 2**70}, "larger than any array"),
    ({"num_key_value_heads": 3}, "n_kv_heads"),
    ({"hidden_size": 3}, "hidden_size // num_attention_heads"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
])  # fmt: skip
def test_broken_numbers_are_named(change, said):
    with pytest.raises(ConfigError, match=said):
        model_from_hf({"model_type": "llama", **SMALL, **change})


def test_layers_that_no_turn_describes_are_listed():
    kinds = ["full_attention", *["sliding_attention"] * 4, "full_attention"]
    model = model_from_hf({"model_type": "gemma2", **SMALL, "num_key_value_heads": 2,
                           "layer_types": kinds})  # fmt: skip
    assert (model.full_layers, model.full_every, model.n_full_layers) == ((0, 5), 0, 2)
    assert [model.window_of(i) is None for i in range(6)] == [kind == kinds[0] for kind in kinds]


@pytest.mark.parametrize(
    "change", [{"full_layers": (3, 1)}, {"full_layers": (32,)}, {"full_layers": (-1,)},
               {"full_layers": (1,), "full_every": 2}],
)  # fmt: skip
def test_a_list_of_layers_that_makes_no_sense_is_refused(change):
    sizes = MODELS["mistral-7b"].named_sizes
    own = {name: sizes[name] for name in ("window",)}
    plain = {name: value for name, value in sizes.items() if name in COPIED or name == "n_kv_heads"}
    with pytest.raises(ConfigError, match="full_layers must rise"):
        type(MODELS["gpt2"])("x", "x", "x", "sliding_window", **plain, **own, **change)
