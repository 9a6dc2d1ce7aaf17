"""Learned sinks: a logit of each head that joins the softmax and brings no value."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.torch as mt
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.torch.attention._sinks import fits_a_key
from mini_attn.torch.kernels import _fused
from mini_attn.weights import from_gpt2
from tests.backends.small import decoder_of, small
from tests.backends.test_attention import draw

INF = float("inf")
SINKS = np.array([0.3, -2.0, 4.0, 0.0])
HALF = RopeConfig("half")
CONFIGS = {
    "grouped": AttentionConfig(8, 4, 4, n_kv_heads=2, v_head_dim=3, rope=HALF, sinks=True),
    "shared": AttentionConfig(8, 4, 4, n_kv_heads=1, softcap=2.0, alibi=True, sinks=True),
    "window": AttentionConfig(8, 4, 4, n_kv_heads=4, window=3, bias=True, sinks=True),
    "latent": LatentConfig(8, 4, 5, 3, 4, 6, rope=RopeConfig("interleaved"), sinks=True),
}
FORMS = [(name, None) for name in CONFIGS] + [("latent", "expanded"), ("latent", "absorbed")]


def arrays_of(lib, *arrays):
    return [lib.array(a) for a in arrays]


def by_hand(q, k, v, sinks, seen=None, *, scale=None, softcap=None):
    """Weights, output and log-sum-exp, one query at a time, the sink a term of each sum."""
    group = q.shape[1] // k.shape[1]
    scale = q.shape[3] ** -0.5 if scale is None else scale
    weights, lse = np.zeros((*q.shape[:3], k.shape[2])), np.zeros(q.shape[:3])
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, i in np.ndindex(*q.shape[:3]):
        terms = {}
        for j in range(k.shape[2]):
            if seen is None or np.broadcast_to(seen, weights.shape)[b, h, i, j]:
                score = scale * float(q[b, h, i] @ k[b, h // group, j])
                score = score if softcap is None else softcap * math.tanh(score / softcap)
                terms[j] = math.exp(score)
        total = math.exp(sinks[h]) + sum(terms.values())
        lse[b, h, i] = math.log(total) if total else -INF
        for j, term in terms.items():
            weights[b, h, i, j] = term / total
            out[b, h, i] += term / total * v[b, h // group, j]
    return out, weights, lse


def layer_of(lib, config, seed=3):
    kind = "MultiHeadLatentAttention" if isinstance(config, LatentConfig) else None
    layer = getattr(lib, kind or "GroupedQueryAttention")(config, dtype="float64")
    rng = np.random.default_rng(seed)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


def with_sinks(lib, layer, sinks):
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    layer.load_state_dict(state | {"sinks": np.asarray(sinks, float)})
    return layer


# ---- The functions ----


@given(
    seed=st.integers(0, 2**31),
    q_len=st.sampled_from([1, 2, 3, 7]),
    more=st.sampled_from([0, 1, 4]),
    n_kv_heads=st.sampled_from([1, 2, 4]),
    equal=st.booleans(),
    softcap=st.sampled_from([None, None, 2.0]),
    who=st.sampled_from(["all", "causal", "mask", "positions"]),
)
def test_every_way_is_the_loop(lib, seed, q_len, more, n_kv_heads, equal, softcap, who):
    """Whole and tiled, with and without the weights: each goes another way through torch."""
    rng = np.random.default_rng(seed)
    width = 4 if equal else 6  # as wide as a key, torch's kernel takes the values
    q, k, v = draw(rng, 2, 4, n_kv_heads, q_len, q_len + more, 4, width)
    sinks = np.append(2 * rng.standard_normal(3), -INF)
    options, seen = {"softcap": softcap, "scale": 0.7}, None
    at = np.arange(q_len + more)
    if who == "causal":
        options["causal"], seen = True, at <= at[more:, None]
    elif who == "mask":
        seen = rng.random((2, 4, q_len, q_len + more)) < 0.5
        seen[:, :, -1] = False
        options["mask"] = lib.array(seen)
    elif who == "positions":
        at = np.where(at % 2 == 1, -1, at)
        options["kv_positions"], seen = lib.array(at), at >= 0
    expected = by_hand(q, k, v, sinks, seen, scale=0.7, softcap=softcap)
    given_arrays = arrays_of(lib, q, k, v)
    options["sinks"] = lib.array(sinks)
    alone = lib.scaled_dot_product_attention(*given_arrays, **options)
    np.testing.assert_allclose(lib.numpy(alone), expected[0], atol=1e-12)
    full = lib.scaled_dot_product_attention(
        *given_arrays, **options, return_weights=True, return_lse=True
    )
    for found, wanted in zip(full, expected, strict=True):
        np.testing.assert_allclose(lib.numpy(found), wanted, atol=1e-12)
    tiled = lib.online_attention(*given_arrays, **options, block_q=2, block_k=3)
    for found, wanted in zip(tiled, (expected[0], expected[2]), strict=True):
        np.testing.assert_allclose(lib.numpy(found), wanted, atol=1e-12)


@pytest.mark.parametrize("q_len", [1, 3])
def test_a_bias_too(lib, rng, q_len):
    q, k, v = draw(rng, q_len=q_len)
    bias = rng.standard_normal((q_len, 5))
    given_arrays = arrays_of(lib, q, k, v)
    options = {"bias": lib.array(bias), "sinks": lib.array(SINKS)}
    out = lib.numpy(lib.scaled_dot_product_attention(*given_arrays, **options))
    scores = np.einsum("bhid,bhjd->bhij", q, np.repeat(k, 2, 1)) / 2 + bias
    terms = np.exp(scores)
    weights = terms / (np.exp(SINKS)[:, None, None] + terms.sum(-1, keepdims=True))
    np.testing.assert_allclose(out, weights @ np.repeat(v, 2, 1), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"softcap": 2.0}], ids=str)
@pytest.mark.parametrize("q_len", [1, 5])
def test_the_ends_of_the_scale(lib, rng, q_len, options):
    """-inf is no sink, a large one and inf gather nothing, NaN is seen where a key is."""
    q, k, v = arrays_of(lib, *draw(rng, q_len=q_len, v_head_dim=4))
    kinds = ("scaled_dot_product_attention", "online_attention")
    sinks = lib.array(np.array([-INF, 90.0, INF, np.nan]))
    for name in kinds:
        out, plain = (
            getattr(lib, name)(q, k, v, **options, **more) for more in ({"sinks": sinks}, {})
        )
        if name == "online_attention":
            out, plain = out[0], plain[0]
        out, plain = lib.numpy(out), lib.numpy(plain)
        np.testing.assert_allclose(out[:, 0], plain[:, 0], atol=1e-15, rtol=1e-15)
        assert abs(out[:, 1]).max() < 1e-30
        assert (out[:, 2] == 0).all()
        assert np.isnan(out[:, 3]).all()


@pytest.mark.parametrize("value", [0.5, -INF, INF, np.nan])
@pytest.mark.parametrize("kwargs", [{}, {"return_weights": True}, {"softcap": 2.0}])
def test_a_row_that_sees_nothing_gives_zeros(lib, rng, value, kwargs):
    q, k, v = arrays_of(lib, *draw(rng, q_len=5))
    mask = np.tri(5, dtype=bool)
    mask[2] = False
    options = {"mask": lib.array(mask), "sinks": lib.array(np.full(4, value)), **kwargs}
    out = lib.scaled_dot_product_attention(q, k, v, **options)
    for found in out if isinstance(out, tuple) else (out,):
        assert (lib.numpy(found)[:, :, 2] == 0).all()
    options.pop("return_weights", None)
    out, lse = lib.online_attention(q, k, v, **options)
    assert (lib.numpy(out)[:, :, 2] == 0).all()
    np.testing.assert_array_equal(lib.numpy(lse)[:, :, 2], value)
    none = lib.scaled_dot_product_attention(q, k[:, :, :0], v[:, :, :0], sinks=options["sinks"])
    assert (lib.numpy(none) == 0).all()


@pytest.mark.parametrize("which", [0, 1])
def test_a_sink_counts_once_where_parts_are_merged(lib, rng, which):
    """Given to one part, whichever, and right even where that part shows nothing."""
    q, k, v = arrays_of(lib, *draw(rng, kv_len=8))
    mask = np.random.default_rng(2).random((3, 8)) < 0.6
    mask[1, :3], mask[2, 3:], mask[0] = False, False, True
    sinks = {"sinks": lib.array(SINKS)}
    parts = []
    for number, some in enumerate((slice(0, 3), slice(3, 8))):
        more = sinks if number == which else {}
        parts += lib.online_attention(
            q, k[:, :, some], v[:, :, some], mask=lib.array(mask[:, some]), **more
        )
    found = lib.merge_attention(*parts)
    whole = lib.scaled_dot_product_attention(
        q, k, v, mask=lib.array(mask), return_lse=True, **sinks
    )
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_allclose(lib.numpy(one), lib.numpy(other), atol=1e-12)


def test_hidden_garbage_counts_nothing(lib, rng):
    q, k, v = draw(rng, q_len=4)
    mask = np.ones((4, 5), bool)
    mask[:, 1] = False
    options = {"mask": lib.array(mask), "sinks": lib.array(SINKS)}
    clean = lib.scaled_dot_product_attention(*arrays_of(lib, q, k, v), **options)
    k[:, :, 1], v[:, :, 1] = np.nan, INF
    dirty = lib.scaled_dot_product_attention(*arrays_of(lib, q, k, v), **options)
    np.testing.assert_allclose(lib.numpy(dirty), lib.numpy(clean), atol=1e-15)
    d_out = lib.array(rng.standard_normal((2, 4, 4, 6)))
    grads = lib.attention_backward(d_out, *arrays_of(lib, q, k, v), **options)
    assert all(np.isfinite(lib.numpy(grad)).all() for grad in grads)


@pytest.mark.parametrize("masked", [False, True])
def test_long_single_query(lib, rng, masked):
    """Past 8 MB of keys torch takes another path; it must be the same attention."""
    q = rng.standard_normal((1, 4, 1, 64)).astype("float32")
    k, v = rng.standard_normal((2, 1, 2, 18000, 64)).astype("float32")
    start = 9000 if masked else 0
    mask = lib.array(np.arange(18000)[None] >= start) if masked else None
    sinks = np.array([9.0, 11.0, -INF, 10.0])
    out = lib.scaled_dot_product_attention(
        *arrays_of(lib, q, k, v), mask=mask, sinks=lib.array(sinks)
    )
    scores = np.einsum("hd,hkd->hk", q[0, :, 0], np.repeat(k[0], 2, 0)[:, start:]) / 8
    terms = np.exp(scores)
    weights = terms / (np.exp(sinks)[:, None] + terms.sum(1, keepdims=True))
    expected = np.einsum("hk,hkd->hd", weights, np.repeat(v[0], 2, 0)[:, start:])
    np.testing.assert_allclose(lib.numpy(out)[0, :, 0], expected, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_dtypes(lib, rng, dtype, kind):
    """The output is the queries'; sinks may be of another type, and keep it as gradients."""
    arrays = [a.astype(dtype) for a in draw(rng)]
    sinks = SINKS.astype(kind)
    given_arrays = arrays_of(lib, *arrays)
    expected, _, _ = by_hand(*(a.astype(float) for a in arrays), sinks.astype(float))
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}[dtype]
    out = lib.numpy(lib.scaled_dot_product_attention(*given_arrays, sinks=lib.array(sinks)))
    tiled, lse = lib.online_attention(*given_arrays, sinks=lib.array(sinks))
    for found in (out, lib.numpy(tiled)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, atol=tolerance)
    assert lib.numpy(lse).dtype == ("float64" if dtype == "float64" else "float32")
    grads = lib.attention_backward(lib.array(out), *given_arrays, sinks=lib.array(sinks))
    assert [lib.numpy(grad).dtype.name for grad in grads] == [dtype] * 3 + [kind]


def test_bfloat16_in_torch(rng):
    """torch's kernel gets the sink in two numbers, of which one alone would be off by 0.4 %."""
    q, k, v = (torch.from_numpy(a).bfloat16() for a in draw(rng, v_head_dim=4))
    sinks, scale = torch.from_numpy(SINKS) * 20 + 0.77, 0.3
    out = mt.scaled_dot_product_attention(
        q * 0, k, torch.ones_like(v), sinks=sinks, scale=scale, causal=False
    )
    expected = 5 / (5 + sinks.exp())
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double()[0, :, 0, 0], expected.double(), rtol=6e-3, atol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 1e-30, -0.4, 1e6])
def test_any_factor_of_the_scores(lib, rng, scale):
    q, k, v = draw(rng)
    expected, _, _ = by_hand(q * 1e-6, k, v, SINKS, scale=scale)
    out = lib.scaled_dot_product_attention(
        *arrays_of(lib, q * 1e-6, k, v), sinks=lib.array(SINKS), scale=scale
    )
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)


def test_torchs_kernel_serves_prefill_and_no_key_is_copied_for_one_query(rng, monkeypatch):
    q, k, v = (torch.from_numpy(a).float() for a in draw(rng))
    seen = []
    monkeypatch.setattr(
        _fused, "as_first_key", lambda *a, square, own=_fused.as_first_key: (
            seen.append(square), own(*a, square=square))[1]
    )  # fmt: skip
    sinks = torch.from_numpy(SINKS)
    for kwargs in ({}, {"causal": True}):
        mt.scaled_dot_product_attention(q, k[:, :, :3], v[:, :, :3], sinks=sinks, **kwargs)
    assert seen == [False, True]
    mt.scaled_dot_product_attention(q[:, :, :1], k, v, sinks=sinks)
    mt.scaled_dot_product_attention(q, k, v)
    assert seen == [False, True]
    assert not fits_a_key(q.half(), 1.0)
    assert not fits_a_key(q, 0.0)


# ---- Gradients ----


@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("group", [1, 2])
def test_backward_equals_finite_differences(lib, rng, softcap, group):
    arrays = [*draw(rng, batch=2, n_heads=2 * group, head_dim=3, v_head_dim=2)]
    arrays.append(rng.standard_normal(2 * group))
    d_out = rng.standard_normal((2, 2 * group, 3, 2))
    mask = np.ones((3, 5), bool)
    mask[1] = False
    options = {"mask": lib.array(mask), "causal": True, "softcap": softcap}

    def loss(q, k, v, sinks):
        q, k, v, sinks = arrays_of(lib, q, k, v, sinks)
        out = lib.scaled_dot_product_attention(q, k, v, sinks=sinks, **options)
        return float((lib.numpy(out) * d_out).sum())

    *given_arrays, sinks = arrays_of(lib, *arrays)
    grads = lib.attention_backward(lib.array(d_out), *given_arrays, sinks=sinks, **options)
    assert len(grads) == 4
    for which, grad in enumerate(grads):
        numeric = np.zeros_like(arrays[which])
        for index in np.ndindex(numeric.shape):
            step = np.zeros_like(numeric)
            step[index] = 1e-6
            up, down = list(arrays), list(arrays)
            up[which], down[which] = up[which] + step, down[which] - step
            numeric[index] = (loss(*up) - loss(*down)) / 2e-6
        np.testing.assert_allclose(lib.numpy(grad), numeric, atol=1e-8)
    assert (lib.numpy(grads[0])[:, :, 1] == 0).all()
    assert len(lib.attention_backward(lib.array(d_out), *given_arrays, **options)) == 3


@pytest.mark.parametrize("extra", [{}, {"softcap": 3.0}, {"return_weights": True}, {"tiled": 1}])
@pytest.mark.parametrize("placed", [False, True])
def test_autograd_equals_the_formula_and_has_no_nan(rng, extra, placed):
    q, k, v = draw(rng, kv_len=3)
    arrays = [torch.from_numpy(a).requires_grad_() for a in (q, k, v, SINKS.copy())]
    with torch.no_grad():
        arrays[3][1] = -INF
    d_out = torch.from_numpy(rng.standard_normal((2, 4, 3, 6)))
    options = {"causal": True, "softcap": extra.get("softcap"), "sinks": arrays[3]}
    if placed:
        options["kv_positions"] = torch.tensor([[0, 1, 2], [-1, -1, 0]])
    if "tiled" in extra:
        out, _ = mt.online_attention(*arrays[:3], **options, block_k=2)
    else:
        out = mt.scaled_dot_product_attention(*arrays[:3], **options | extra)
        out = out[0] if "return_weights" in extra else out
    grads = torch.autograd.grad(out, arrays, d_out)
    fixed = [a.detach() for a in arrays]
    formula = mt.attention_backward(d_out, *fixed[:3], **options | {"sinks": fixed[3]})
    for got, expected in zip(grads, formula, strict=True):
        assert torch.isfinite(got).all()
        torch.testing.assert_close(got, expected, atol=1e-12, rtol=0)
    assert grads[3][1] == 0


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_layer_trains_its_sinks(rng, name, form):
    """torch's gradient of a whole layer's sinks is the difference quotient."""
    layer = layer_of_torch(name)
    x = torch.from_numpy(rng.standard_normal((2, 5, 8)))
    more = {} if form is None else {"form": form}
    aim = torch.from_numpy(rng.standard_normal((2, 5, 8)))
    (layer(x, **more) * aim).sum().backward()
    assert layer.sinks.grad is not None
    with torch.no_grad():
        for head in range(4):
            layer.sinks[head] += 1e-6
            up = (layer(x, **more) * aim).sum()
            layer.sinks[head] -= 2e-6
            down = (layer(x, **more) * aim).sum()
            layer.sinks[head] += 1e-6
            assert float(layer.sinks.grad[head]) == pytest.approx(float(up - down) / 2e-6, abs=1e-7)


def layer_of_torch(name):
    kind = mt.MultiHeadLatentAttention if name == "latent" else mt.GroupedQueryAttention
    layer = kind(CONFIGS[name], dtype="float64")
    rng = np.random.default_rng(3)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


# ---- Layers ----


@pytest.mark.parametrize("name", CONFIGS)
def test_a_layer_has_one_sink_a_head_that_its_seed_draws(lib, name):
    kind = lib.MultiHeadLatentAttention if name == "latent" else lib.GroupedQueryAttention
    for dtype in ("float32", "float64"):
        layers = [kind(CONFIGS[name], seed=seed, dtype=dtype) for seed in (0, 0, 1)]
        first, again, other = (lib.numpy(layer.state_dict()["sinks"]) for layer in layers)
        assert first.shape == (4,)
        assert first.dtype == dtype
        assert (first == again).all()
        assert (first != other).all()
        assert 0 < abs(first).max() < 4
    bare = kind(dataclasses.replace(CONFIGS[name], sinks=False))
    assert "sinks" not in bare.state_dict()
    assert bare.sinks is None


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_the_ends_of_a_layers_sinks(lib, rng, name, form):
    """Without sinks and with -inf it is the same layer; large ones leave the output's bias."""
    config, more = CONFIGS[name], {} if form is None else {"form": form}
    layer, bare = layer_of(lib, config), layer_of(lib, dataclasses.replace(config, sinks=False))
    state = {key: lib.numpy(w) for key, w in layer.state_dict().items()}
    bare.load_state_dict({key: state[key] for key in bare.state_dict()})
    x = lib.array(rng.standard_normal((2, 6, 8)))
    plain = lib.numpy(bare(x, **more))
    assert (lib.numpy(layer(x, **more)) != plain).all()
    off = with_sinks(lib, layer, [-INF] * 4)
    np.testing.assert_allclose(lib.numpy(off(x, **more)), plain, atol=1e-12)
    silent = lib.numpy(with_sinks(lib, layer, [1e4] * 4)(x, **more))
    bias = state.get("o_proj.bias", np.zeros(8))
    np.testing.assert_allclose(silent, np.broadcast_to(bias, silent.shape), atol=1e-12)


@pytest.mark.parametrize(("name", "form"), FORMS)
@pytest.mark.parametrize("chunks", [[1] * 9, [4, 1, 4], [2, 7]], ids=str)
def test_cached_is_uncached_however_it_is_cut(lib, rng, name, form, chunks):
    layer, more = layer_of(lib, CONFIGS[name]), {} if form is None else {"form": form}
    x = rng.standard_normal((2, 9, 8))
    whole = lib.numpy(layer(lib.array(x), **more))
    cache, start, parts = layer.new_cache(2, 9), 0, []
    for new in chunks:
        part = layer(lib.array(x[:, start : start + new]), cache=cache, **more)
        parts.append(lib.numpy(part))
        start += new
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-11)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_both_backends_and_both_forms_agree(backends, rng, name, form):
    x, answers = rng.standard_normal((2, 6, 8)), []
    positions = np.array([[0, 1, 2, 3, 4, 5], [-1, -1, 0, 1, 2, 3]])
    more = {} if form is None else {"form": form}
    for lib in backends:
        layer = layer_of(lib, CONFIGS[name])
        out = layer(lib.array(x), positions=lib.array(positions), **more)
        answers.append(lib.numpy(out))
    if form is not None:
        layer = layer_of(backends[0], CONFIGS[name])
        answers.append(layer(x, positions=positions, form="absorbed"))
    for other in answers[1:]:
        np.testing.assert_allclose(answers[0], other, atol=1e-11)


def test_attention_to_a_context_has_sinks_too(lib, rng):
    config = dataclasses.replace(CONFIGS["grouped"], rope=None)
    layer = layer_of(lib, config)
    x, context = arrays_of(lib, rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 7, 8)))
    q, k, v = (lib.numpy(a) for a in layer.project(x, context))
    out, _, _ = by_hand(q, k, v, lib.numpy(layer.state_dict()["sinks"]))
    merged = out.swapaxes(1, 2).reshape(2, 3, 12)
    expected = merged @ lib.numpy(layer.state_dict()["o_proj.weight"]).T
    np.testing.assert_allclose(lib.numpy(layer(x, context=context)), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["grouped", "latent"])
def test_a_decoder_generates_the_same_with_and_without_a_cache(lib, name):
    model = lib.Decoder(
        DecoderConfig(19, 2, CONFIGS[name], d_ff=11, max_positions=32), dtype="float64"
    )
    rng = np.random.default_rng(5)
    model.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    )
    assert {f"layers.{i}.self_attn.sinks" for i in (0, 1)} <= model.state_dict().keys()
    prompt = lib.array(np.array([[3, 1, 4], [1, 5, 9]]))
    words = lib.numpy(lib.generate(model, prompt, max_new_tokens=8, caches=model.new_caches(2, 12)))
    again = lib.numpy(lib.generate(model, prompt, max_new_tokens=8))
    np.testing.assert_array_equal(words, again)


def test_pruned_heads_take_their_sinks_with_them(lib, rng):
    config = dataclasses.replace(CONFIGS["grouped"], n_kv_heads=4)
    layer = layer_of(lib, config)
    state, smaller = lib.prune_heads(layer.state_dict(), config, [1, 2])
    sinks = lib.numpy(layer.state_dict()["sinks"])
    np.testing.assert_array_equal(lib.numpy(state["sinks"]), sinks[[0, 3]])
    left = lib.GroupedQueryAttention(smaller, dtype="float64")
    left.load_state_dict(state)
    x = lib.array(rng.standard_normal((2, 5, 8)))
    silenced = with_sinks(lib, layer, [sinks[0], 1e4, 1e4, sinks[3]])
    np.testing.assert_allclose(lib.numpy(left(x)), lib.numpy(silenced(x)), atol=1e-12)
    pooled, _ = lib.pool_kv_heads(layer.state_dict(), config, 2)
    np.testing.assert_array_equal(
        lib.numpy(pooled["sinks"]), lib.numpy(layer.state_dict()["sinks"])
    )
    state = {key: w for key, w in layer.state_dict().items() if key != "sinks"}
    with pytest.raises(ConfigError, match="no sinks: is it one attention layer's"):
        lib.prune_heads(state, config, [1])


# ---- What it costs, and what is refused ----


@pytest.mark.parametrize("kind", ["gqa", "mla"])
def test_parameters_are_those_of_a_decoder(kind):
    latent = {
        "n_kv_heads": 6, "head_dim": 7, "kv_lora_rank": 11, "qk_nope_head_dim": 3,
        "qk_rope_head_dim": 4, "rope": HALF,
    }  # fmt: skip
    model = small(kind, sinks=True, **(latent if kind == "mla" else {}))
    held = sum(w.numel() for w in decoder_of(mt, model).parameters())
    assert cost.parameter_count(model) == held
    bare, step = dataclasses.replace(model, sinks=False), {"q_len": 2, "kv_len": 7, "batch": 5}
    with_them, without = (cost.elementwise_ops(m, **step)["softmax"] for m in (model, bare))
    assert with_them - without == 3 * (5 * 2 * model.n_heads) * model.n_layers
    assert held - cost.parameter_count(bare) == model.n_layers * model.n_heads


BAD = {
    "too few": (np.zeros(3), ShapeError, r"sinks must be \(4,\), one for each query head, got"),
    "key heads": (np.zeros(2), ShapeError, r"sinks must be \(4,\).*\(2,\)"),
    "a column": (np.zeros((4, 1)), ShapeError, r"sinks must be \(4,\).*\(4, 1\)"),
    "a number": (np.zeros(()), ShapeError, r"sinks must be \(4,\)"),
    "whole": (np.zeros(4, int), DTypeError, "sinks must be floating point, got .*int64"),
    "flags": (np.zeros(4, bool), DTypeError, "sinks must be floating point, got .*bool"),
    "complex": (np.zeros(4, complex), DTypeError, "sinks must be floating point, got .*complex"),
}


@pytest.mark.parametrize("case", BAD)
def test_sinks_that_do_not_fit(lib, rng, case):
    sinks, error, words = BAD[case]
    q, k, v = arrays_of(lib, *draw(rng))
    d_out = lib.array(np.zeros((2, 4, 3, 6)))
    sinks = lib.array(sinks)
    for call, given_arrays in (
        (lib.scaled_dot_product_attention, (q, k, v)),
        (lib.online_attention, (q, k, v)),
        (lib.attention_backward, (d_out, q, k, v)),
    ):
        with pytest.raises(error, match=words):
            call(*given_arrays, sinks=sinks)


def test_the_other_backends_sinks(lib, rng):
    q, k, v = arrays_of(lib, *draw(rng))
    other = torch.zeros(4) if lib.name == "numpy" else np.zeros(4)
    for call in (lib.scaled_dot_product_attention, lib.online_attention):
        for wrong in (other, [0.0] * 4, 0.0, "sinks"):
            with pytest.raises(DTypeError, match="sinks must be a"):
                call(q, k, v, sinks=wrong)


def test_gpt2_has_no_sinks():
    attention = AttentionConfig(8, 2, 4, bias=True, sinks=True)
    with pytest.raises(ConfigError, match="GPT-2 needs sinks=False"):
        from_gpt2({}, DecoderConfig(16, 1, attention, d_ff=32, max_positions=8))
