"""Layers of experts: who is chosen and with which weight, and the sum over the chosen."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError

ROUTINGS = ("softmax", "softmax_normalised", "softmax_of_chosen", "sigmoid_normalised")
SMALL = ExpertConfig(5, 2, 7, routing="softmax")
BIASED = ExpertConfig(
    4, 3, 6, activation="clamped_swiglu", bias=True, router_bias=True, swiglu_limit=1.0
)
SIGMOID = ExpertConfig(5, 2, 7, routing="sigmoid_normalised", router_bias=True)
INFINITY = float("inf")


def route(lib, logits, taken, routing):
    weights, chosen = lib.route(lib.array(logits), taken, routing=routing)
    return lib.numpy(weights), lib.numpy(chosen)


def layer_of(lib, config, d_model=6, dtype="float64", seed=3):
    layer = lib.MixtureOfExperts(d_model, config, dtype=dtype)
    rng = np.random.default_rng(seed)
    layer.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    )
    return layer


def run(lib, layer, x):
    return lib.numpy(layer(lib.array(x)))


# ---- Who is chosen ----


def routed_in_words(row, taken, routing):
    """One token's experts, by the definition, with Python's own arithmetic."""
    chosen = sorted(range(len(row)), key=lambda e: (-row[e], e))[:taken]
    if routing == "sigmoid_normalised":
        weights = [1 / (1 + math.exp(-row[e])) for e in chosen]
    else:
        total = sum(math.exp(v) for v in row)
        weights = [math.exp(row[e]) / total for e in chosen]
    if routing != "softmax":
        weights = [weight / sum(weights) for weight in weights]
    return weights, chosen


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize(("n_experts", "taken"), [(1, 1), (7, 1), (7, 3), (7, 7)])
def test_the_largest_are_chosen(lib, rng, n_experts, taken, routing):
    logits = 2 * rng.standard_normal((3, 4, n_experts))
    weights, chosen = route(lib, logits, taken, routing)
    assert weights.shape == chosen.shape == (3, 4, taken)
    for place in np.ndindex(3, 4):
        expected, which = routed_in_words(logits[place].tolist(), taken, routing)
        np.testing.assert_array_equal(chosen[place], which)
        np.testing.assert_allclose(weights[place], expected, atol=1e-14)


def test_a_softmax_of_the_chosen_is_the_whole_one_normalised(lib, rng):
    logits = rng.standard_normal((9, 8))
    first, second = (route(lib, logits, 3, routing) for routing in ROUTINGS[1:3])
    np.testing.assert_allclose(first[0], second[0], atol=1e-15)
    np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize("routing", ROUTINGS)
@given(row=st.lists(st.integers(-2, 2), min_size=1, max_size=40), data=st.data())
def test_of_equal_ones_the_first_wins(lib, row, data, routing):
    taken = data.draw(st.integers(1, len(row)))
    _, chosen = route(lib, np.array([row], "float32"), taken, routing)
    expected = sorted(range(len(row)), key=lambda e: (-row[e], e))[:taken]
    np.testing.assert_array_equal(chosen[0], expected)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_nan_stays_with_its_token(lib, routing):
    logits = np.array([[1.0, math.nan, 0.0], [1.0, 2.0, 0.0], [math.nan] * 3])
    weights, chosen = route(lib, logits, 2, routing)
    assert np.isnan(weights[[0, 2]]).all()
    assert np.isfinite(weights[1]).all()
    assert ((chosen >= 0) & (chosen < 3)).all()
    assert all(len(set(row)) == 2 for row in chosen.tolist())


@pytest.mark.parametrize("routing", ROUTINGS)
def test_experts_that_are_ruled_out_have_no_weight(lib, routing):
    logits = np.array([[-INFINITY, 0.5, -INFINITY], [-INFINITY] * 3])
    weights, chosen = route(lib, logits, 2, routing)
    np.testing.assert_array_equal(weights, [[1, 0], [0, 0]])
    np.testing.assert_array_equal(chosen, [[1, 0], [0, 1]])


def test_logits_far_apart_keep_their_order_where_they_are_compared_first(lib):
    """Their exponentials are both 0: after the softmax nobody knows which was larger."""
    logits = np.array([[0.0, -2000.0, -1000.0]])
    assert route(lib, logits, 2, "softmax_of_chosen")[1].tolist() == [[0, 2]]
    assert route(lib, logits, 2, "softmax")[1].tolist() == [[0, 1]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("routing", ROUTINGS)
def test_weights_of_half_precision_are_wide(lib, routing):
    logits = np.array([[60000.0, 59968.0, -60000.0, 3.0]], "float16")
    weights, _ = route(lib, logits, 2, routing)
    assert weights.dtype == np.float32
    expected, _ = route(lib, logits.astype("float64"), 2, routing)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    for dtype in ("float32", "float64"):
        assert route(lib, logits.astype(dtype), 2, routing)[0].dtype == dtype


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_bias_of_the_choice_reaches_no_weight(lib, rng, routing):
    logits, bias = rng.standard_normal((40, 6)), np.array([0, 0, 9.0, 0, -9.0, 0])
    found = lib.route(lib.array(logits), 2, routing=routing, bias=lib.array(bias))
    weights, chosen = (lib.numpy(part) for part in found)
    assert (chosen[:, 0] == 2).all()
    assert not (chosen == 4).any()
    assert len(set(chosen[:, 1])) == 4
    for row, taken, got in zip(logits, chosen, weights, strict=True):
        if routing == "softmax":
            whole = np.exp(row) / np.exp(row).sum()
            expected = whole[taken]
        else:
            odds = np.exp(row[taken])
            parts = odds / (1 + odds) if routing == "sigmoid_normalised" else odds
            expected = parts / parts.sum()
        np.testing.assert_allclose(got, expected, atol=1e-14)


@pytest.mark.filterwarnings("error")
def test_sigmoids_far_below_zero_keep_their_ratio(lib):
    logits = np.array([[-30.0, -31.0, -700.0, -800.0], [900.0, 800.0, -9.0, 0.0]])
    weights, chosen = route(lib, logits, 2, "sigmoid_normalised")
    assert chosen.tolist() == [[0, 1], [0, 1]]
    whole = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(weights, [[whole, 1 - whole], [0.5, 0.5]], rtol=1e-12)


# ---- The gated unit of gpt-oss ----


@pytest.mark.parametrize(("alpha", "limit"), [(1.702, 7.0), (0.5, 1.0)])
def test_the_clamped_unit_is_its_formula(lib, alpha, limit):
    gates, ups = (a.ravel() for a in np.meshgrid(np.linspace(-9, 9, 13), np.linspace(-9, 9, 11)))
    gates, ups = np.append(gates, [-1e4, 1e4]), np.append(ups, [1e4, -1e4])
    expected = []
    for gate, up in zip(gates, ups, strict=True):
        gate, up = min(gate, limit), max(-limit, min(up, limit))
        opened = 0 if alpha * gate < -700 else 1 / (1 + math.exp(-alpha * gate))
        expected.append(gate * opened * (up + 1))
    found = lib.clamped_swiglu(lib.array(gates), lib.array(ups), alpha=alpha, limit=limit)
    np.testing.assert_allclose(lib.numpy(found), expected, atol=1e-13)


def test_the_clamped_unit_lets_nan_through(lib):
    given = lib.array(np.array([math.nan, 1.0])), lib.array(np.array([1.0, math.nan]))
    assert np.isnan(lib.numpy(lib.clamped_swiglu(*given))).all()


# ---- The layer ----


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("activation", ["silu", "gelu_tanh", "relu"])
def test_the_layer_is_its_formula(lib, rng, routing, activation):
    config = dataclasses.replace(SMALL, routing=routing, activation=activation, bias=True)
    layer, x = layer_of(lib, config), rng.standard_normal((2, 3, 6))
    state = {k: lib.numpy(w) for k, w in layer.state_dict().items()}
    expected = np.zeros_like(x)
    for place in np.ndindex(2, 3):
        row = (state["router.weight"] @ x[place]).tolist()
        for weight, e in zip(*routed_in_words(row, 2, routing), strict=True):
            gate, up = (
                state[f"{n}_proj"][e] @ x[place] + state[f"{n}_proj_bias"][e]
                for n in ("gate", "up")
            )
            inside = lib.numpy(lib.activate(lib.array(gate), activation)) * up
            down = state["down_proj"][e] @ inside + state["down_proj_bias"][e]
            expected[place] += weight * down
    np.testing.assert_allclose(run(lib, layer, x), expected, atol=1e-12)


@pytest.mark.parametrize(
    "config", [SMALL, BIASED, SIGMOID, dataclasses.replace(SMALL, activation="relu")]
)
def test_each_token_is_on_its_own(lib, rng, config):
    layer, x = layer_of(lib, config), rng.standard_normal((3, 5, 6))
    whole = run(lib, layer, x)
    for b, s in np.ndindex(3, 5):
        alone = run(lib, layer, x[b : b + 1, s : s + 1])
        np.testing.assert_allclose(alone[0, 0], whole[b, s], atol=1e-13)
    order = rng.permutation(5)
    np.testing.assert_allclose(run(lib, layer, x[:, order]), whole[:, order], atol=1e-13)


def test_an_expert_without_tokens_changes_nothing(lib, rng):
    """Nor is it computed: what it would give is NaN."""
    config = dataclasses.replace(SMALL, router_bias=True)
    layer = layer_of(lib, config)
    state = {k: lib.numpy(w).copy() for k, w in layer.state_dict().items()}
    state["router.bias"][3] = -1e4
    layer.load_state_dict(state)
    x = rng.standard_normal((2, 4, 6))
    before = run(lib, layer, x)
    for name in ("gate_proj", "up_proj", "down_proj"):
        state[name][3] = math.nan
    layer.load_state_dict(state)
    np.testing.assert_array_equal(run(lib, layer, x), before)


@pytest.mark.parametrize("config", [SMALL, BIASED])
def test_all_experts_evenly_are_their_mean(lib, rng, config):
    """A router of zeros ties: with every expert taken the layer is the mean of its MLPs."""
    layer = layer_of(lib, dataclasses.replace(config, experts_per_token=config.n_experts))
    state = {k: lib.numpy(w).copy() for k, w in layer.state_dict().items()}
    for name in state:
        if name.startswith("router"):
            state[name][:] = 0
    layer.load_state_dict(state)
    x, total = rng.standard_normal((2, 3, 6)), 0
    for e in range(config.n_experts):
        one = lib.MixtureOfExperts(
            6, dataclasses.replace(config, n_experts=1, experts_per_token=1), dtype="float64"
        )
        one.load_state_dict({name: w[e : e + 1] for name, w in state.items()})
        total = total + run(lib, one, x)
    np.testing.assert_allclose(run(lib, layer, x), total / config.n_experts, atol=1e-13)


def test_nan_of_one_token_reaches_no_other(lib, rng):
    layer, x = layer_of(lib, SMALL), rng.standard_normal((2, 4, 6))
    expected = run(lib, layer, x)
    x[0, 2, 1] = math.nan
    found = run(lib, layer, x)
    assert np.isnan(found[0, 2]).all()
    found[0, 2] = expected[0, 2]
    np.testing.assert_array_equal(np.isnan(found), False)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_no_tokens_and_one(lib):
    layer = layer_of(lib, SMALL)
    assert run(lib, layer, np.zeros((1, 0, 6))).shape == (1, 0, 6)
    assert run(lib, layer, np.zeros((0, 3, 6))).shape == (0, 3, 6)
    assert run(lib, layer, np.ones((1, 1, 6))).shape == (1, 1, 6)


@pytest.mark.parametrize("config", [SMALL, BIASED, SIGMOID])
def test_half_precision_is_the_wide_layer_rounded(lib, rng, config):
    wide = layer_of(lib, config)
    state = {k: lib.numpy(w).astype("float16") for k, w in wide.state_dict().items()}
    x = rng.standard_normal((2, 4, 6)).astype("float16")
    results = []
    for dtype in ("float16", "float64"):
        layer = lib.MixtureOfExperts(6, config, dtype=dtype)
        layer.load_state_dict(state)
        results.append(run(lib, layer, x.astype(dtype)))
    assert results[0].dtype == np.float16
    np.testing.assert_allclose(results[0], results[1], atol=0.05, rtol=0.01)


def test_both_backends_have_the_same_weights(rng):
    for config in (SMALL, BIASED, SIGMOID, dataclasses.replace(SMALL, bias=True)):
        ours, theirs = (module.MixtureOfExperts(6, config).state_dict() for module in (ma, mt))
        shapes = [{k: tuple(w.shape) for k, w in state.items()} for state in (ours, theirs)]
        assert shapes[0] == shapes[1]
        assert ("router.bias" in ours) is config.router_bias
        assert ("down_proj_bias" in ours) is config.bias


def test_weights_depend_on_the_seed_only(lib):
    first, again, other = (lib.MixtureOfExperts(6, SMALL, seed=s).state_dict() for s in (1, 1, 2))
    for name, weight in first.items():
        assert (lib.numpy(weight) == lib.numpy(again[name])).all()
        assert (lib.numpy(weight) != lib.numpy(other[name])).any()
    for e in range(1, SMALL.n_experts):
        assert (lib.numpy(first["gate_proj"])[e] != lib.numpy(first["gate_proj"])[0]).any()


@pytest.mark.parametrize("tokens", [1, 4, 40])
def test_a_step_reads_as_many_experts_as_the_cost_says(lib, monkeypatch, tokens):
    """The experts that a layer computes, counted; random routers are fair on average."""
    config, counts = ExpertConfig(16, 3, 2), []
    for seed in range(60):
        layer, computed = layer_of(lib, config, d_model=8, seed=seed), []
        answer = layer._answer
        monkeypatch.setattr(
            layer, "_answer", lambda *a, f=answer, c=computed: (c.append(1), f(*a))[1]
        )
        run(lib, layer, np.random.default_rng(seed + 1000).standard_normal((1, tokens, 8)))
        counts.append(len(computed))
    least, most = cost.expert_bounds(16, 3, tokens)
    assert least <= min(counts) <= max(counts) <= most
    expected = cost.expected_experts(16, 3, tokens)
    # A router that favors some, as every drawn one does a little, wakes fewer.
    assert 0.8 * expected <= np.mean(counts) <= 1.02 * expected


# ---- PyTorch alone ----


@pytest.mark.parametrize("config", [SMALL, BIASED, SIGMOID, ExpertConfig(19, 3, 4, bias=True)])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_static_step_is_the_layer(config, batch, rng):
    layer, x = layer_of(mt, config), torch.from_numpy(rng.standard_normal((batch, 1, 6)))
    torch.testing.assert_close(layer._static_step(x), layer(x), atol=1e-13, rtol=0)


@pytest.mark.parametrize("config", [SMALL, BIASED, SIGMOID])
def test_gradients_are_those_of_finite_differences(config, rng):
    layer = layer_of(mt, config, d_model=3)
    x = torch.from_numpy(rng.standard_normal((1, 4, 3))).requires_grad_()
    names = list(dict(layer.named_parameters()))

    def answer(x, *weights):
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))

    assert torch.autograd.gradcheck(answer, (x, *layer.parameters()), atol=1e-6)


def test_experts_that_nobody_took_have_no_gradient(rng):
    layer = layer_of(mt, SMALL)
    layer(torch.from_numpy(rng.standard_normal((1, 1, 6)))).sum().backward()
    moved = [e for e in range(5) if layer.gate_proj.grad[e].abs().max() > 0]
    assert len(moved) == SMALL.experts_per_token


def test_a_layer_in_bfloat16_and_under_autocast(rng):
    layer = layer_of(mt, BIASED, dtype="float32")
    x = torch.from_numpy(rng.standard_normal((2, 3, 6)).astype("float32"))
    expected = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=0.3, rtol=0.1)
    narrow = layer.to(torch.bfloat16)(x.to(torch.bfloat16))
    assert narrow.dtype == torch.bfloat16


# ---- In a decoder ----


def decoder_of(lib):
    attention = AttentionConfig(8, 2, 4)
    config = DecoderConfig(
        13, 3, attention, d_ff=6, max_positions=20, experts=[None, SMALL, BIASED]
    )
    return lib.Decoder(config, dtype="float64")


def test_a_decoder_mixes_layers_with_and_without(lib):
    model = decoder_of(lib)
    kinds = [type(layer.mlp).__name__ for layer in model.layers]
    assert kinds == ["MLP", "MixtureOfExperts", "MixtureOfExperts"]
    assert model.layers[2].mlp.config == BIASED
    tokens = lib.array(np.array([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]]))
    caches = model.new_caches(2, 6)
    parts = [model(tokens[:, :4], caches=caches), model(tokens[:, 4:], caches=caches)]
    parts = np.concatenate([lib.numpy(part) for part in parts], axis=1)
    np.testing.assert_allclose(parts, lib.numpy(model(tokens)), atol=1e-12)


def test_an_interrupted_step_has_never_happened(lib, monkeypatch):
    model, tokens = decoder_of(lib), lib.array(np.array([[3, 1, 4, 1]]))
    caches = model.new_caches(1, 9)
    model(tokens, caches=caches)

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(model.layers[2].mlp, "_answer", stopped)
        with pytest.raises(KeyboardInterrupt):
            model(tokens, caches=caches)
    assert [cache.slots for cache in caches] == [4, 4, 4]
    twice = lib.numpy(model(tokens, caches=caches))
    again = model.new_caches(1, 9)
    model(tokens, caches=again)
    np.testing.assert_array_equal(twice, lib.numpy(model(tokens, caches=again)))


# ---- Refusals ----


def test_refusals(lib):
    logits, x = lib.array(np.ones((2, 3))), lib.array(np.ones((1, 2, 6)))
    with pytest.raises(ConfigError, match="cannot take experts_per_token = 4 of 3 experts"):
        lib.route(logits, 4, routing="softmax")
    for taken in (0, 1.0, True, None):
        with pytest.raises(ConfigError, match="experts_per_token must be"):
            lib.route(logits, taken, routing="softmax")
    with pytest.raises(ConfigError, match=r"routing must be one of softmax, .*, got 'top'"):
        lib.route(logits, 1, routing="top")
    with pytest.raises(ConfigError, match="of 0 experts"):
        lib.route(lib.array(np.ones((2, 0))), 1, routing="softmax")
    with pytest.raises(ShapeError, match=r"logits must be \(\.\.\., n_experts\)"):
        lib.route(lib.array(np.float64(1.0)), 1, routing="softmax")
    for shape in ((2,), (2, 3), ()):
        with pytest.raises(ShapeError, match="bias must be one number for each of 3 experts, got"):
            lib.route(logits, 1, routing="softmax", bias=lib.array(np.ones(shape)))
    with pytest.raises(DTypeError, match="bias must be floating point"):
        lib.route(logits, 1, routing="softmax", bias=lib.array(np.ones(3, int)))
    with pytest.raises(DTypeError, match="logits must be floating point"):
        lib.route(lib.array(np.ones((2, 3), int)), 1, routing="softmax")
    with pytest.raises(ShapeError, match=r"one shape, got \(2, 3\) and \(1, 2, 6\)"):
        lib.clamped_swiglu(logits, x)
    with pytest.raises(DTypeError, match=r"gate is .*float64, up is .*float32"):
        lib.clamped_swiglu(logits, lib.array(np.ones((2, 3)), "float32"))
    for option in ("alpha", "limit"):
        with pytest.raises(ConfigError, match=f"{option} must be a finite number above 0"):
            lib.clamped_swiglu(logits, logits, **{option: 0.0})
    with pytest.raises(ConfigError, match="config must be an ExpertConfig, got 8"):
        lib.MixtureOfExperts(6, 8)
    with pytest.raises(ConfigError, match="d_model must be at least 1"):
        lib.MixtureOfExperts(0, SMALL)
    with pytest.raises(DTypeError, match="float8"):
        lib.MixtureOfExperts(6, SMALL, dtype="float8")
    layer = lib.MixtureOfExperts(6, SMALL, dtype="float64")
    with pytest.raises(ShapeError, match="x has 5 features, the layer takes 6"):
        layer(lib.array(np.ones((1, 2, 5))))
    with pytest.raises(DTypeError, match=r"x is .*float32, the weights are .*float64"):
        layer(lib.array(np.ones((1, 2, 6)), "float32"))


@pytest.mark.parametrize("gate", [False, True])
def test_an_expert_that_every_token_takes_is_added(lib, rng, gate):
    config = ExpertConfig(5, 2, 6, shared_d_ff=7, shared_gate=gate, routed_scale=1.5)
    layer = lib.MixtureOfExperts(8, config, dtype="float64")
    alone = lib.MixtureOfExperts(
        8, dataclasses.replace(config, shared_d_ff=0, shared_gate=False), dtype="float64"
    )
    state = {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    alone.load_state_dict({key: w for key, w in state.items() if not key.startswith("shared")})
    x = rng.standard_normal((2, 3, 8))
    up, down = state["shared_expert.up_proj.weight"], state["shared_expert.down_proj.weight"]
    inner = x @ state["shared_expert.gate_proj.weight"].T
    shared = (inner / (1 + np.exp(-inner)) * (x @ up.T)) @ down.T
    if gate:
        shared = shared / (1 + np.exp(-x @ state["shared_expert_gate.weight"].T))
    expected = lib.numpy(alone(lib.array(x))) + shared
    np.testing.assert_allclose(lib.numpy(layer(lib.array(x))), expected, atol=1e-11)
    whole = dataclasses.replace(alone.config, routed_scale=1.0)
    plain = lib.MixtureOfExperts(8, whole, dtype="float64")
    plain.load_state_dict(alone.state_dict())
    np.testing.assert_allclose(
        1.5 * lib.numpy(plain(lib.array(x))), lib.numpy(alone(lib.array(x))), atol=1e-11
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shared_gate": True}, "shared_gate needs an expert that every token takes"),
        ({"shared_d_ff": 4, "activation": "clamped_swiglu"}, "is a gated MLP, got activation"),
        ({"routed_scale": 0}, "routed_scale must be"),
    ],
)
def test_a_shared_expert_that_cannot_be_is_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        ExpertConfig(5, 2, 6, **options)
