"""What is checked at the door: wrong kinds by the caller's names, and nothing half-done."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError

ROPE = AttentionConfig(8, 4, 2, n_kv_heads=2, rope=RopeConfig("half"))
CONFIGS = {
    "gqa": AttentionConfig(8, 4, 2, n_kv_heads=2),
    "rope": ROPE,
    "alibi": AttentionConfig(8, 4, 2, alibi=True),
    "window": AttentionConfig(8, 4, 2, window=3),
    "mla": LatentConfig(8, 2, 4, 2, 2, 3, rope=RopeConfig("interleaved")),
}
LAYERS = pytest.mark.parametrize("name", CONFIGS)


def layer_of(lib, name):
    kind = lib.MultiHeadLatentAttention if name == "mla" else lib.GroupedQueryAttention
    return kind(CONFIGS[name], dtype="float64")


def ones(lib, *shape, dtype="float64"):
    return lib.array(np.ones(shape), dtype)


def foreign(lib, *shape):
    """An array of the other backend."""
    return torch.ones(shape) if lib.name == "numpy" else np.ones(shape, np.float32)


BIASES = {
    "boolean": np.ones((3, 3), bool),
    "integers": np.ones((3, 3), np.int64),
    "complex": np.ones((3, 3), np.complex128),
}


@pytest.mark.parametrize("name", BIASES)
def test_a_bias_is_a_floating_point_array(lib, name):
    """A boolean mask given as bias was added as 0 and 1."""
    q, bias = ones(lib, 1, 2, 3, 4), lib.array(BIASES[name])
    for call in (lib.scaled_dot_product_attention, lib.online_attention):
        with pytest.raises(DTypeError, match=f"bias must be a floating-point .*{bias.dtype}"):
            call(q, q, q, bias=bias)
    with pytest.raises(DTypeError, match="bias must be a floating-point"):
        lib.attention_backward(q, q, q, q, bias=bias)


def test_a_bias_of_another_kind_is_named(lib):
    q = ones(lib, 1, 2, 3, 4)
    for bias in ("bias", [[0.0]], 1.0, foreign(lib, 3, 3), np.full((3, 3), None)):
        with pytest.raises(DTypeError, match="bias must be"):
            lib.scaled_dot_product_attention(q, q, q, bias=bias)
    with pytest.raises(DTypeError, match=r"pass a boolean .* as mask"):
        lib.scaled_dot_product_attention(q, q, q, bias=lib.array(np.ones((3, 3), bool)))
    wide = lib.scaled_dot_product_attention(
        *(ones(lib, 1, 2, 3, 4, dtype="float32"),) * 3, bias=ones(lib, 3, 3)
    )
    assert "float32" in str(wide.dtype)  # a wider bias is no mistake: ALiBi's is float64


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_queries_keys_and_values_of_another_kind_are_named(lib, name):
    for wrong in ("q", None, 3, foreign(lib, 1, 2, 3, 4)):
        arrays = {n: ones(lib, 1, 2, 3, 4, dtype="float32") for n in "qkv"} | {name: wrong}
        for call in (lib.scaled_dot_product_attention, lib.online_attention):
            with pytest.raises(MiniAttnError, match=rf"\b{name}\b"):
                call(**arrays)


def test_other_arrays_of_another_kind_are_named(lib):
    x, four = ones(lib, 1, 3, 8), ones(lib, 1, 2, 3, 4)
    cos, sin = lib.rope_table(lib.array(np.arange(3)), lib.rope_frequencies(4)[0])
    linear = lib.Linear(8, 2, dtype="float64")
    calls = {
        "x": [
            lambda a: lib.split_heads(a, 2), linear, lib.GatedMLP(8, 4, dtype="float64"),
            lambda a: lib.rms_norm(a, ones(lib, 8)), lambda a: lib.activate(a, "relu"),
        ],
        "positions": [
            lambda a: lib.rope_table(a, lib.rope_frequencies(4)[0]),
            lambda a: lib.sinusoidal_positions(a, 4),
        ],
        "cos": [lambda a: lib.apply_rope(four, a, sin, layout="half")],
        "q_positions": [lambda a: lib.visible(a, lib.array(np.arange(3)))],
        "out_b": [lambda a: lib.merge_attention(four, four[..., 0], a, four[..., 0])],
        "slopes": [lambda a: lib.alibi_bias(a, *(lib.array(np.arange(3)),) * 2)],
    }  # fmt: skip
    for name, doors in calls.items():
        for door in doors:
            for wrong in ("x", None, foreign(lib, 1, 3, 8), foreign(lib, 3)):
                with pytest.raises(MiniAttnError, match=rf"\b{name}\b"):
                    door(wrong)
    with pytest.raises(MiniAttnError, match="x"):
        lib.merge_heads(foreign(lib, 1, 2, 3, 4))
    assert lib.numpy(lib.apply_rope(four, cos, sin, layout="half")).shape == (1, 2, 3, 4)
    assert lib.numpy(lib.split_heads(x, 2)).shape == (1, 2, 3, 4)


@LAYERS
def test_a_layers_arguments_of_another_kind_are_named(lib, name):
    layer, x = layer_of(lib, name), ones(lib, 1, 3, 8)
    for wrong in ("x", None, [1.0], foreign(lib, 1, 3, 8)):
        with pytest.raises(MiniAttnError, match=r"\bx\b"):
            layer(wrong)
    for wrong in ("left", 3, [0, 1, 2], np.arange(3.0), foreign(lib, 3)):
        with pytest.raises(MiniAttnError, match="positions must be"):
            layer(x, positions=wrong)
    for wrong in ("cache", 3, x, layer):
        with pytest.raises(ConfigError, match="cache must be a cache or None"):
            layer(x, cache=wrong)
    for wrong in ("mask", np.ones((3, 3)), foreign(lib, 3, 3)):
        with pytest.raises(DTypeError, match="mask must be boolean"):
            layer(x, mask=wrong)
    with pytest.raises(ConfigError, match="causal"):
        layer(x, causal="false")


@LAYERS
def test_positions_that_do_not_fit_are_called_positions(lib, name):
    """Not the tables or the bias that would have been made of them."""
    layer, x = layer_of(lib, name), ones(lib, 2, 3, 8)
    for shape in ((2,), (4,), (1, 3), (3, 3), (2, 2), (2, 3, 1)):
        with pytest.raises(ShapeError, match=r"^positions must be \(seq,\)"):
            layer(x, positions=lib.array(np.zeros(shape, int)))


@LAYERS
def test_of_no_tokens_come_none_but_a_cache_takes_at_least_one(lib, name):
    layer = layer_of(lib, name)
    none = ones(lib, 2, 0, 8)
    assert tuple(layer(none).shape) == (2, 0, 8)
    cache = layer.new_cache(2, 4)
    with pytest.raises(ShapeError, match="at least one token"):
        layer(none, cache=cache)
    assert cache.slots == 0


def decoder(lib, **options):
    config = DecoderConfig(16, 2, ROPE, d_ff=8, max_positions=12, **options)
    return lib.Decoder(config, dtype="float64")


def test_a_layer_of_a_decoder_that_does_not_exist_is_refused(lib):
    config = DecoderConfig(16, 2, ROPE, d_ff=8, max_positions=12)
    for layer, words in ((-1, "layer must be at least 0, got -1"), (2, r"0 … 1, got 2")):
        with pytest.raises(ConfigError, match=words):
            lib.DecoderLayer(config, layer=layer)


def test_the_last_sinusoidal_position_is_max_positions_less_one(lib):
    model = decoder(lib, positions="sinusoidal")
    tokens, last = lib.array([[3]]), lib.array([11])
    assert tuple(model(tokens, positions=last).shape) == (1, 1, 16)
    with pytest.raises(ConfigError, match=r"max_positions = 12\), got 12"):
        model(tokens, positions=last + 1)


@LAYERS
def test_a_cache_of_another_type_is_refused(lib, name):
    layer, x = layer_of(lib, name), ones(lib, 1, 3, 8)
    sizes = {"capacity": 4, "dtype": "float32"}
    if name == "mla":
        cache = lib.LatentCache(1, 4, 2, **sizes)
    else:
        cache = lib.KVCache(1, layer.config.n_kv_heads, 2, **sizes)
    words = "the cache holds .*float32, the layer works in .*float64"
    with pytest.raises(DTypeError, match=words):
        layer(x, cache=cache)
    assert cache.slots == 0


def test_flags_are_no_words(lib):
    q, tokens = ones(lib, 1, 2, 3, 4), lib.array([[3]])
    for option in ("causal", "return_weights", "return_lse"):
        with pytest.raises(ConfigError, match=option):
            lib.scaled_dot_product_attention(q, q, q, **{option: "false"})
    with pytest.raises(ConfigError, match="last_only"):
        decoder(lib)(tokens, last_only="no")


def outsider(lib, fail):
    """A layer that knows nothing but the public contract; `fail` may raise after its append."""
    door = "__call__" if lib.name == "numpy" else "forward"

    def call(self, x, *, cache=None, positions=None):
        out = getattr(lib.GroupedQueryAttention, door)(self, x, cache=cache, positions=positions)
        fail()
        return out * 2

    return type("Outsider", (lib.GroupedQueryAttention,), {door: call})


def test_a_layer_from_outside_is_called_by_its_public_form_within_the_pass(lib):
    model, tokens = decoder(lib), lib.array([[3, 1, 4]])
    plain, stop = lib.numpy(model(tokens)), []

    def fail():
        if stop:
            raise KeyboardInterrupt

    layer = outsider(lib, fail)(ROPE, dtype="float64")
    layer.load_state_dict(model.layers[1].self_attn.state_dict())
    model.layers[1].self_attn = layer
    doubled = lib.numpy(model(tokens))
    assert np.abs(doubled - plain).max() > 1e-3
    caches = model.new_caches(1, 8)
    np.testing.assert_allclose(lib.numpy(model(tokens, caches=caches)), doubled, atol=1e-12)
    stop.append(True)
    with pytest.raises(KeyboardInterrupt):
        model(tokens, caches=caches)
    assert [cache.slots for cache in caches] == [3, 3]


def test_a_layer_that_knows_the_public_cache_alone_appends_within_the_pass(lib):
    model, tokens = decoder(lib), lib.array([[3, 1, 4, 1, 5]])
    door = "__call__" if lib.name == "numpy" else "forward"
    told, stop, held = [], [], []

    def call(self, x, *, cache=None, positions=None):
        told.append(lib.numpy(cache.next_positions(x.shape[1])).tolist())
        row = ones(lib, 1, 2, x.shape[1], 2)
        k, v, kv_positions = cache.append(row, row)
        assert k.shape == v.shape == (1, 2, kv_positions.shape[1], 2)
        held.append(cache.slots)  # what it has appended is there for it, and for nobody else
        if len(told) in stop:
            raise KeyboardInterrupt
        return x

    own = type("Own", (lib.GroupedQueryAttention,), {door: call})
    model.layers[1].self_attn = own(ROPE, dtype="float64")
    caches = model.new_caches(1, 8)
    stop.append(3)
    with pytest.raises(KeyboardInterrupt):
        lib.prefill(model, tokens, caches, chunk=2)
    assert [cache.slots for cache in caches] == [0, 0]
    lib.prefill(model, tokens, caches, chunk=2)
    assert told == [[0, 1], [2, 3], [4]] * 2
    assert held == [2, 4, 5] * 2
    assert [cache.slots for cache in caches] == [5, 5]


def test_hooks_and_patches_of_a_module_are_heeded():
    model, tokens = mt.Decoder(DecoderConfig(16, 2, ROPE, d_ff=8, max_positions=12)), [[3, 1]]
    seen = []
    for module in (model.layers[0], model.layers[0].self_attn, model.layers[1].self_attn.q_proj):
        module.register_forward_hook(lambda module, *_: seen.append(type(module).__name__))
    attention = model.layers[1].self_attn
    forward = attention.forward

    def patched(*arguments, **options):
        seen.append("patched")
        return forward(*arguments, **options)

    attention.forward = patched
    model(torch.tensor(tokens), caches=model.new_caches(1, 4))
    assert seen == ["GroupedQueryAttention", "DecoderLayer", "patched", "Linear"]
