"""Layers and models whose matrices are codes: what they compute, keep, save and refuse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import (
    WEIGHT_FORMATS,
    AttentionConfig,
    DecoderConfig,
    LatentConfig,
    RopeConfig,
    WeightFormat,
)
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError
from mini_attn.weights import load_safetensors, save_safetensors
from tests.backends.devices import DEVICES

EACH = pytest.mark.parametrize("name", WEIGHT_FORMATS)
HEADS = AttentionConfig(16, 4, 4, n_kv_heads=2, rope=RopeConfig("half"), qk_norm=True)
LATENT = LatentConfig(16, 2, 8, 4, 4, 4, rope=RopeConfig("interleaved"))
CONFIGS = {
    "heads": DecoderConfig(19, 2, HEADS, d_ff=24, max_positions=16, positions="learned"),
    "latent": DecoderConfig(19, 2, LATENT, d_ff=24, max_positions=16, mlp="gated"),
    "untied": DecoderConfig(19, 1, HEADS, d_ff=24, max_positions=16, tie_embeddings=False),
}
MODELS = pytest.mark.parametrize("config", CONFIGS)


def decoder(lib, config, dtype="float64"):
    """Weights of size 1 that are the same in both backends."""
    model, rng = lib.Decoder(CONFIGS[config], dtype=dtype), np.random.default_rng(5)
    state = model.state_dict()
    model.load_state_dict({name: rng.standard_normal(tuple(w.shape)) for name, w in state.items()})
    return model


def matrices(lib, model):
    """Names of what a model multiplies its tokens with, in a state dict's way."""
    kept = [name for name, w in model.state_dict().items() if w.ndim == 2 and "embed" not in name]
    assert kept
    return kept


def rounded_state(lib, model, form, names):
    """The weights in floating point, with the named ones rounded and read back."""
    state = dict(model.state_dict())
    for name in names:
        stored = lib.encode_weight(state[name], form)
        kind = {"dtype": str(state[name].dtype).removeprefix("torch.")}
        state[name] = lib.decode_weight(stored, form, state[name].shape[1], **kind)
    return state


@EACH
@MODELS
def test_a_model_is_that_of_the_matrices_read_back(lib, config, name):
    model, tokens = decoder(lib, config), lib.array(np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]))
    rounded = lib.quantize_weights(model, name)
    other = lib.Decoder(CONFIGS[config], dtype="float64")
    other.load_state_dict(rounded_state(lib, model, name, matrices(lib, model)))
    before, expected = lib.numpy(model(tokens)), lib.numpy(other(tokens))
    np.testing.assert_array_equal(lib.numpy(rounded(tokens)), expected)
    assert np.abs(expected - before).max() > 1e-3
    np.testing.assert_array_equal(lib.numpy(model(tokens)), before)  # it stays as it was


@MODELS
def test_tables_are_rounded_where_that_is_asked_for(lib, config):
    model, tokens = decoder(lib, config), lib.array(np.array([[3, 1, 4, 1, 5]]))
    rounded = lib.quantize_weights(model, "nvfp4", embeddings=True)
    tables = [name for name in model.state_dict() if "embed" in name]
    other = lib.Decoder(CONFIGS[config], dtype="float64")
    other.load_state_dict(rounded_state(lib, model, "nvfp4", matrices(lib, model) + tables))
    np.testing.assert_array_equal(lib.numpy(rounded(tokens)), lib.numpy(other(tokens)))
    left = [name for name, w in rounded.state_dict().items() if w.ndim == 2 and "weight" in name]
    assert left == []


@MODELS
def test_it_generates_with_its_caches(lib, config):
    rounded = lib.quantize_weights(decoder(lib, config), "int4", group_size=8)
    prompt = lib.array(np.array([[3, 1, 4]]))
    caches = rounded.new_caches(1, 12)
    words = lib.generate(rounded, prompt, max_new_tokens=6, caches=caches)
    logits = lib.numpy(rounded(words))
    np.testing.assert_array_equal(lib.numpy(words)[0, 3:], logits[0, 2:-1].argmax(-1))


def test_both_backends_round_alike(backends, rng):
    outs = []
    for lib in backends:
        model = lib.quantize_weights(decoder(lib, "latent"), "mxfp4", embeddings=True)
        outs.append(lib.numpy(model(lib.array(np.array([[3, 1, 4]])))))
    np.testing.assert_allclose(*outs, rtol=1e-9, atol=1e-9)


@EACH
@MODELS
def test_the_bytes_are_those_of_the_format(lib, config, name):
    model, form = decoder(lib, config, "float32"), WEIGHT_FORMATS[name]
    state = model.state_dict()
    assert lib.stored_bytes(model) == sum(4 * int(np.prod(w.shape)) for w in state.values())
    inside = matrices(lib, model)
    rest = sum(4 * int(np.prod(w.shape)) for key, w in state.items() if key not in inside)
    expected = rest + sum(form.stored_bytes(*state[key].shape) for key in inside)
    assert lib.stored_bytes(lib.quantize_weights(model, name)) == expected


@pytest.mark.parametrize("name", ["int4-zero", "nvfp4", "fp8"])
def test_codes_are_saved_and_loaded(lib, tmp_path, name):
    model, tokens = decoder(lib, "heads"), lib.array(np.array([[3, 1, 4]]))
    rounded = lib.quantize_weights(model, name, embeddings=True)
    save_safetensors(tmp_path / "codes.safetensors", rounded.state_dict())
    state = load_safetensors(tmp_path / "codes.safetensors", backend=lib.name)
    other = lib.quantize_weights(lib.Decoder(CONFIGS["heads"], dtype="float64"), name,
                                 embeddings=True)  # fmt: skip
    assert not np.array_equal(lib.numpy(other(tokens)), lib.numpy(rounded(tokens)))
    other.load_state_dict(state)
    np.testing.assert_array_equal(lib.numpy(other(tokens)), lib.numpy(rounded(tokens)))
    before = lib.numpy(other(tokens))
    key = "layers.0.mlp.up_proj.codes"
    wrong = {**state, key: lib.array(np.ones(tuple(state[key].shape)))}
    with pytest.raises(DTypeError, match=rf"{key} must be .*uint8, got .*float64"):
        other.load_state_dict(wrong)
    with pytest.raises(ShapeError, match="weights are missing"):
        other.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(lib.numpy(other(tokens)), before)


def test_one_layer(lib, rng):
    weight, bias = lib.array(rng.standard_normal((3, 8))), lib.array(rng.standard_normal(3))
    x = lib.array(rng.standard_normal((2, 5, 8)))
    layer = lib.QuantizedLinear(weight, "int8", bias=bias)
    kept = lib.decode_weight(lib.encode_weight(weight, "int8"), "int8", 8, dtype="float64")
    np.testing.assert_array_equal(lib.numpy(layer.weight), lib.numpy(kept))
    expected = lib.numpy(x) @ lib.numpy(kept).T + lib.numpy(bias)
    np.testing.assert_allclose(lib.numpy(layer(x)), expected, atol=1e-12)
    table = lib.QuantizedEmbedding(weight, WeightFormat("int8", 3))
    index = lib.array(np.array([[2, 0]]))
    rows = lib.numpy(table.weight)[[2, 0]]
    np.testing.assert_array_equal(lib.numpy(table(index))[0], rows)
    with pytest.raises(ConfigError, match="an index must lie in 0 … 2, got 3"):
        table(lib.array(np.array([3])))
    with pytest.raises(DTypeError, match=r"x is .*float32, the weights are .*float64"):
        layer(lib.array(np.ones((1, 1, 8), "float32")))


def test_what_is_refused(lib, rng):
    weight = lib.array(rng.standard_normal((3, 8)))
    with pytest.raises(ShapeError, match=r"bias must be \(3,\), got shape \(8,\)"):
        lib.QuantizedLinear(weight, "int8", bias=lib.array(np.ones(8)))
    with pytest.raises(DTypeError, match="bias must be"):
        lib.QuantizedLinear(weight, "int8", bias=[1.0, 2.0, 3.0])
    model = decoder(lib, "heads")
    once = lib.quantize_weights(model, "int8")
    with pytest.raises(ConfigError, match=r"layers\.0\.self_attn\.q_proj: .* is rounded already"):
        lib.quantize_weights(once, "int4")
    with pytest.raises(ConfigError, match="format must be a WeightFormat or one of"):
        lib.quantize_weights(model, "int5")
    with pytest.raises(ConfigError, match="group_size must be"):
        lib.quantize_weights(model, "int4", group_size=0)
    with pytest.raises(ConfigError, match="embeddings must be True or False"):
        lib.quantize_weights(model, "int4", embeddings=1)
    with pytest.raises(ConfigError, match="a Norm has no matrix product"):
        lib.quantize_weights(lib.Norm(4, "rms_norm"), "int4")
    for call in (lambda m: lib.quantize_weights(m, "int4"), lib.stored_bytes):
        for wrong in (None, {"weight": weight}, torch.nn.Linear(2, 2)):
            with pytest.raises(DTypeError, match="model must be a"):
                call(wrong)
    state = {name: lib.numpy(w).copy() for name, w in model.state_dict().items()}
    state["layers.1.mlp.up_proj.weight"][0, 0] = np.nan
    model.load_state_dict(state)
    with pytest.raises(ConfigError, match=r"layers\.1\.mlp\.up_proj: weight holds what is not"):
        lib.quantize_weights(model, "int8")


def test_every_error_is_one_of_the_package(lib):
    with pytest.raises(MiniAttnError):
        lib.QuantizedEmbedding(lib.array(np.ones(3)), "int8")


# ---- PyTorch ----


def test_a_change_of_type_leaves_the_scales():
    model = decoder(mt, "heads", "float32")
    rounded = mt.quantize_weights(model, "int8")
    scales = rounded.layers[0].mlp.up_proj.scales.clone()
    half = rounded.to(torch.bfloat16)
    layer = half.layers[0].mlp.up_proj
    assert layer.scales.dtype == torch.float32
    assert layer.scales.equal(scales)
    assert layer.weight.dtype == layer.bias.dtype == torch.bfloat16
    assert half(torch.tensor([[3, 1, 4]])).dtype == torch.bfloat16


def test_gradients_pass_through_and_the_codes_stay():
    rounded = mt.quantize_weights(mt.GatedMLP(8, 16, bias=True), "mxfp4").train()
    assert {name for name, _ in rounded.named_parameters()} == {
        "gate_proj.bias", "up_proj.bias", "down_proj.bias",
    }  # fmt: skip
    x = torch.ones(1, 2, 8, requires_grad=True)
    rounded(x).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().max() > 0
    assert rounded.up_proj.bias.grad is not None
    assert rounded.up_proj.training


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WEIGHT_FORMATS)
def test_codes_on_a_device_are_those_of_the_host(device, name):
    model, tokens = decoder(mt, "heads", "float32"), torch.tensor([[3, 1, 4, 1, 5]])
    there = mt.quantize_weights(model.to(device), name, embeddings=True)
    host = mt.quantize_weights(decoder(mt, "heads", "float32"), name, embeddings=True)
    for key, tensor in host.state_dict().items():
        assert there.state_dict()[key].device.type == device
        assert there.state_dict()[key].cpu().equal(tensor), key
    moved = host.to(device)
    for one in (there, moved):
        logits = one(tokens.to(device)).cpu()
        torch.testing.assert_close(logits, host.cpu()(tokens), atol=1e-4, rtol=1e-4)
        host.to(device)


@pytest.mark.parametrize("device", DEVICES)
def test_scores_on_a_device_are_those_of_the_host(device):
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    found = []
    for place in ("cpu", device):
        model = decoder(mt, "heads").to(place)
        norms = mt.feature_norms(model, tokens.to(place))
        pruned = mt.prune_weights(model, 0.5, norms=norms)
        found.append((mt.head_scores(model, tokens.to(place)), pruned(tokens.to(place)).cpu()))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)
