"""Normalization, activations and the MLPs against formulas written out here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mini_attn.errors import ConfigError, DTypeError, ShapeError


def test_norms_equal_their_formulas(lib, rng):
    x, weight, bias = rng.standard_normal((2, 3, 5)), rng.standard_normal(5), rng.standard_normal(5)
    given = [lib.array(a) for a in (x, weight, bias)]
    rms = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-2) * weight
    np.testing.assert_allclose(lib.numpy(lib.rms_norm(*given[:2], eps=1e-2)), rms, atol=1e-12)
    layer = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-2)
    got = lib.layer_norm(*given, eps=1e-2)
    np.testing.assert_allclose(lib.numpy(got), layer * weight + bias, atol=1e-12)
    got = lib.layer_norm(*given[:2], eps=1e-2)
    np.testing.assert_allclose(lib.numpy(got), layer * weight, atol=1e-12)


def test_norms_take_wide_means_of_half_precision(lib):
    x = lib.array(np.full((1, 4), 300.0), "float16")
    ones = lib.array(np.ones(4), "float16")
    assert (lib.numpy(lib.rms_norm(x, ones)) == 1).all()
    assert np.abs(lib.numpy(lib.layer_norm(x, ones))).max() < 2e-3


FORMULAS = {
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else 0.0,
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: (
        x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_activations_equal_their_formulas(lib, name):
    x = np.concatenate([np.linspace(-6, 6, 49), [-1e3, 1e3, 0.0]])
    expected = [FORMULAS[name](value) for value in x]
    np.testing.assert_allclose(lib.numpy(lib.activate(lib.array(x), name)), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["MLP", "GatedMLP"])
def test_mlps_equal_their_formulas(lib, rng, name):
    layer = getattr(lib, name)(3, 7, activation="relu", bias=True, dtype="float64")
    state = {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    x = rng.standard_normal((2, 4, 3))
    up = x @ state["up_proj.weight"].T + state["up_proj.bias"]
    hidden = np.maximum(up, 0)
    if name == "GatedMLP":
        hidden = np.maximum(x @ state["gate_proj.weight"].T + state["gate_proj.bias"], 0) * up
    expected = hidden @ state["down_proj.weight"].T + state["down_proj.bias"]
    np.testing.assert_allclose(lib.numpy(layer(lib.array(x))), expected, atol=1e-12)


def test_weights_depend_on_the_seed_only(lib):
    for make in (
        lambda seed: lib.Linear(3, 4, seed=seed),
        lambda seed: lib.Embedding(3, 4, seed=seed),
        lambda seed: lib.MLP(3, 4, seed=seed),
    ):
        first, again, other = (make(seed).state_dict() for seed in (1, 1, 2))
        for key in first:
            assert (lib.numpy(first[key]) == lib.numpy(again[key])).all()
        assert any((lib.numpy(first[key]) != lib.numpy(other[key])).any() for key in first)


def test_seeding_leaves_the_global_generators_alone():
    import torch

    import mini_attn.torch as mt

    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    mt.MLP(3, 4)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (1, 16), (3, 5), (2, 20)])
@pytest.mark.parametrize("width", [208, 211])
def test_few_rows_are_cut_into_parts_of_the_same_product(threads, batch, seq, width):
    import torch

    import mini_attn.torch as mt

    layer = mt.Linear(192, width, bias=True, dtype="float64")
    torch.nn.init.normal_(layer.bias)
    x = torch.randn(batch, seq, 192, dtype=torch.float64, requires_grad=True)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        out = layer(x)
        (d_weight,) = torch.autograd.grad(out.square().sum(), layer.weight)
    finally:
        torch.set_num_threads(before)
    expected = x @ layer.weight.T + layer.bias
    torch.testing.assert_close(out, expected)
    (d_expected,) = torch.autograd.grad(expected.square().sum(), layer.weight)
    torch.testing.assert_close(d_weight, d_expected)


def test_a_product_of_few_rows_is_one_graph():
    """A compiled decode step cannot ask how many threads there are."""
    import torch

    import mini_attn.torch as mt

    layer, x = mt.Linear(192, 208, dtype="float64"), torch.randn(1, 1, 192, dtype=torch.float64)
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), layer(x))


def test_refusals(lib):
    x, ones = lib.array(np.ones((1, 2, 3))), lib.array(np.ones(3))
    with pytest.raises(ShapeError, match=r"weight must be \(d,\)"):
        lib.rms_norm(x, lib.array(np.ones(2)))
    with pytest.raises(ShapeError, match="bias"):
        lib.layer_norm(x, ones, lib.array(np.ones((1, 3))))
    with pytest.raises(DTypeError, match="float32"):
        lib.rms_norm(x, lib.array(np.ones(3), "float32"))
    with pytest.raises(DTypeError, match="floating-point"):
        lib.layer_norm(lib.array([1, 2, 3]), ones)
    with pytest.raises(ConfigError, match="swish"):
        lib.activate(x, "swish")
    with pytest.raises(DTypeError, match="floating-point"):
        lib.activate(lib.array([1]), "relu")
    with pytest.raises(ConfigError, match="swish"):
        lib.MLP(3, 4, activation="swish")
    with pytest.raises(ConfigError, match="d_model must be at least 1, got 0"):
        lib.GatedMLP(0, 4)
    with pytest.raises(ConfigError, match="whole number"):
        lib.Linear(3, 4.0)
    with pytest.raises(ConfigError, match="rows"):
        lib.Embedding(0, 4)
    for index, words in (([0, -1], "0 … 2, got -1"), ([3], "0 … 2, got 3")):
        with pytest.raises(ConfigError, match=words):
            lib.Embedding(3, 4)(lib.array(index))
    with pytest.raises(DTypeError, match="index must be an integer"):
        lib.Embedding(3, 4)(lib.array([True]))
    with pytest.raises(ConfigError, match="batch_norm"):
        lib.Norm(3, "batch_norm")
    with pytest.raises(ShapeError, match="4 features"):
        lib.Linear(3, 4, dtype="float64")(lib.array(np.ones((1, 1, 4))))
    with pytest.raises(DTypeError, match="weights are"):
        lib.Linear(3, 4)(x)
    with pytest.raises(DTypeError, match="float128"):
        lib.Linear(3, 4, dtype="float128")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["gelu_tanh", "gelu", "silu", "relu"])
def test_activations_of_half_precision_are_the_wide_ones_rounded(lib, name):
    x = np.concatenate([np.linspace(-9, 9, 97), [-6e4, -300, 300, 6e4]]).astype(np.float16)
    found = lib.numpy(lib.activate(lib.array(x), name))
    assert found.dtype == np.float16
    exact = lib.numpy(lib.activate(lib.array(x.astype(np.float64)), name))
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=3e-6)
