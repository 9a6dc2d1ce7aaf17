"""Scaled dot-product attention against a loop over single numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, ShapeError


def by_hand(q, k, v, *, seen=None, bias=None, scale=None, softcap=None):
    """Attention with loops, one query at a time: slow, and with nothing shared with the package."""
    batch, n_heads, q_len, head_dim = q.shape
    group = n_heads // k.shape[1]
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    out = np.zeros((batch, n_heads, q_len, v.shape[3]))
    weights, lse = np.zeros((batch, n_heads, q_len, k.shape[2])), np.full(q.shape[:3], -np.inf)
    for b, h, i in np.ndindex(batch, n_heads, q_len):
        total, terms = 0.0, {}
        for j in range(k.shape[2]):
            if seen is not None and not seen[b, h, i, j]:
                continue
            score = scale * float(q[b, h, i] @ k[b, h // group, j])
            if softcap is not None:
                score = softcap * math.tanh(score / softcap)
            score += 0.0 if bias is None else bias[b, h, i, j]
            terms[j] = math.exp(score)
            total += terms[j]
        for j, term in terms.items():
            weights[b, h, i, j] = term / total
            out[b, h, i] += term / total * v[b, h // group, j]
        if terms:
            lse[b, h, i] = math.log(total)
    return out, weights, lse


def draw(rng, batch=2, n_heads=4, n_kv_heads=2, q_len=3, kv_len=5, head_dim=4, v_head_dim=6):
    q = rng.standard_normal((batch, n_heads, q_len, head_dim))
    k = rng.standard_normal((batch, n_kv_heads, kv_len, head_dim))
    return q, k, rng.standard_normal((batch, n_kv_heads, kv_len, v_head_dim))


sizes = st.tuples(
    st.integers(1, 3),  # batch
    st.integers(1, 3),  # n_kv_heads
    st.integers(1, 3),  # group
    st.sampled_from([1, 2, 3, 7]),  # q_len
    st.sampled_from([0, 1, 4, 11]),  # more keys than queries
    st.sampled_from([1, 3, 8]),  # head_dim
    st.sampled_from([1, 3, 8]),  # v_head_dim
    st.integers(0, 2**31),
)


@given(
    sizes=sizes, causal=st.booleans(), window=st.integers(1, 9) | st.none(),
    sinks=st.integers(0, 4),
)  # fmt: skip
def test_attention_equals_the_loop(lib, sizes, causal, window, sinks):
    batch, n_kv_heads, group, q_len, more, head_dim, v_head_dim, seed = sizes
    window = window if causal else None
    sinks = 0 if window is None else sinks
    q, k, v = draw(
        np.random.default_rng(seed), batch, n_kv_heads * group, n_kv_heads, q_len, q_len + more,
        head_dim, v_head_dim,
    )  # fmt: skip
    seen = np.ones((*q.shape[:3], k.shape[2]), bool)
    if causal:
        i, j = np.arange(q_len)[:, None] + more, np.arange(q_len + more)
        seen &= (j <= i) & (True if window is None else (i - j < window) | (j < sinks))
    expected, weights, lse = by_hand(q, k, v, seen=seen)
    given_arrays = [lib.array(a) for a in (q, k, v)]
    options = {"causal": causal, "window": window, "sink_tokens": sinks}
    out = lib.scaled_dot_product_attention(*given_arrays, **options)
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)
    explicit = lib.scaled_dot_product_attention(
        *given_arrays, **options, return_weights=True, return_lse=True
    )
    for got, wanted in zip(explicit, (expected, weights, lse), strict=True):
        np.testing.assert_allclose(lib.numpy(got), wanted, atol=1e-12)


@pytest.mark.parametrize("q_len", [1, 3])
def test_mask_bias_scale_and_softcap_together(lib, rng, q_len):
    q, k, v = draw(rng, q_len=q_len)
    mask = rng.random((2, 4, q_len, 5)) < 0.5
    mask[0, 1, 0] = False
    bias = rng.standard_normal((2, 4, q_len, 5))
    options = {"scale": 0.7, "softcap": 1.5}
    expected, _, lse = by_hand(q, k, v, seen=mask, bias=bias, **options)
    out, got_lse = lib.scaled_dot_product_attention(
        *(lib.array(a) for a in (q, k, v)),
        mask=lib.array(mask),
        bias=lib.array(bias),
        return_lse=True,
        **options,
    )
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)
    np.testing.assert_allclose(lib.numpy(got_lse), lse, atol=1e-12)
    assert (lib.numpy(out)[0, 1, 0] == 0).all()
    assert lib.numpy(got_lse)[0, 1, 0] == -np.inf


@pytest.mark.parametrize(
    "shape", [(3, 5), (2, 3, 5), (1, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5), (1, 5)]
)
def test_every_shape_of_mask(lib, rng, shape):
    q, k, v = draw(rng)
    mask = rng.random(shape) < 0.6
    four = mask[:, None] if len(shape) == 3 else mask
    seen = np.broadcast_to(four, (2, 4, 3, 5))
    expected, _, _ = by_hand(q, k, v, seen=seen)
    out = lib.scaled_dot_product_attention(*(lib.array(a) for a in (q, k, v)), mask=lib.array(mask))
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)


@pytest.mark.parametrize("kwargs", [{}, {"return_weights": True}])
@pytest.mark.parametrize("garbage", [1e30, -1e30])
def test_empty_slots_with_large_garbage_change_nothing(lib, rng, garbage, kwargs):
    q, k, v = draw(rng)
    kv_positions = np.array([[0, 1, 2, 3, -1], [-1, -1, 0, 1, 2]])
    q_positions = np.array([[1, 2, 3], [0, 1, 2]])
    clean = [lib.array(a) for a in (q, k, v)]
    options = {"causal": True, "q_positions": lib.array(q_positions)}
    options["kv_positions"] = lib.array(kv_positions)
    first = lib.scaled_dot_product_attention(*clean, **options, **kwargs)
    for array in (k, v):
        array[0, :, 4] = array[1, :, :2] = garbage
    second = lib.scaled_dot_product_attention(
        *(lib.array(a) for a in (q, k, v)), **options, **kwargs
    )
    if not kwargs:
        first, second = [first], [second]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(lib.numpy(a), lib.numpy(b))


def test_positions_alone_hide_empty_slots_without_causal(lib, rng):
    q, k, v = draw(rng, q_len=7)
    kv_positions = lib.array([0, -1, 1, -1, 2])
    out = lib.scaled_dot_product_attention(
        *(lib.array(a) for a in (q, k, v)), kv_positions=kv_positions
    )
    expected, _, _ = by_hand(q, k[:, :, [0, 2, 4]], v[:, :, [0, 2, 4]])
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)


@pytest.mark.parametrize("kv_len", [0, 3])
def test_nothing_to_see_gives_zeros(lib, rng, kv_len):
    q, k, v = (lib.array(a) for a in draw(rng, kv_len=kv_len))
    out, lse = lib.scaled_dot_product_attention(
        q, k, v, kv_positions=lib.array(np.full(kv_len, -1)), return_lse=True
    )
    assert (lib.numpy(out) == 0).all()
    assert (lib.numpy(lse) == -np.inf).all()
    plain = lib.scaled_dot_product_attention(q, k, v, kv_positions=lib.array(np.full(kv_len, -1)))
    assert (lib.numpy(plain) == 0).all()


def test_a_query_head_reads_its_own_group(lib, rng):
    q, k, v = draw(rng)
    v[:, 0], v[:, 1] = 1.0, 2.0
    out = lib.numpy(lib.scaled_dot_product_attention(*(lib.array(a) for a in (q, k, v))))
    assert np.allclose(out[:, :2], 1.0)
    assert np.allclose(out[:, 2:], 2.0)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("group", [1, 3])
def test_long_single_query(lib, rng, group, masked):
    """Past 8 MB of keys torch takes another path; it must be the same attention."""
    q = rng.standard_normal((1, 2 * group, 1, 64)).astype("float32")
    k, v = rng.standard_normal((2, 1, 2, 18000, 64)).astype("float32")
    mask = np.ones((1, 18000), bool)
    if masked:
        mask[:, :9000] = False
    got = lib.scaled_dot_product_attention(
        *(lib.array(a) for a in (q, k, v)), mask=lib.array(mask) if masked else None
    )
    start = 9000 if masked else 0
    scores = np.einsum("hd,hkd->hk", q[0, :, 0], np.repeat(k[0], group, 0)[:, start:]) / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    expected = np.einsum("hk,hkd->hd", weights, np.repeat(v[0], group, 0)[:, start:])
    np.testing.assert_allclose(lib.numpy(got)[0, :, 0], expected, atol=2e-6)


@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("group", [1, 2])
def test_backward_equals_finite_differences(lib, rng, softcap, group):
    q, k, v = draw(rng, batch=1, n_heads=2 * group, head_dim=3, v_head_dim=2)
    d_out = rng.standard_normal((1, 2 * group, 3, 2))
    mask = np.ones((3, 5), bool)
    mask[1] = False
    bias = lib.array(rng.standard_normal((3, 5)))
    options = {"mask": lib.array(mask), "causal": True, "softcap": softcap, "bias": bias}

    def loss(*arrays):
        out = lib.scaled_dot_product_attention(*(lib.array(a) for a in arrays), **options)
        return float((lib.numpy(out) * d_out).sum())

    grads = lib.attention_backward(*(lib.array(a) for a in (d_out, q, k, v)), **options)
    for which, grad in enumerate(grads):
        arrays = [q, k, v]
        numeric = np.zeros_like(arrays[which])
        for index in np.ndindex(numeric.shape):
            step = np.zeros_like(numeric)
            step[index] = 1e-6
            up, down = list(arrays), list(arrays)
            up[which], down[which] = up[which] + step, down[which] - step
            numeric[index] = (loss(*up) - loss(*down)) / 2e-6
        np.testing.assert_allclose(lib.numpy(grad), numeric, atol=1e-8)
    assert (lib.numpy(grads[0])[:, :, 1] == 0).all()


@pytest.mark.parametrize("extra", [{}, {"softcap": 3.0}, {"return_weights": True}])
def test_autograd_equals_the_formula_and_has_no_nan(rng, extra):
    import torch

    import mini_attn.torch as mt

    q, k, v = (torch.from_numpy(a).requires_grad_() for a in draw(rng))
    d_out = torch.from_numpy(rng.standard_normal((2, 4, 3, 6)))
    options = {"causal": True, "kv_positions": torch.tensor([[0, 1, 2, 3, 4], [-1, -1, -1, -1, 0]])}
    softcap = extra.get("softcap")
    out = mt.scaled_dot_product_attention(q, k, v, **options, **extra)
    out = out[0] if "return_weights" in extra else out
    grads = torch.autograd.grad(out, (q, k, v), d_out)
    formula = mt.attention_backward(
        d_out, *(a.detach() for a in (q, k, v)), **options, softcap=softcap
    )
    for got, expected in zip(grads, formula, strict=True):
        assert torch.isfinite(got).all()
        torch.testing.assert_close(got, expected, atol=1e-12, rtol=0)
    assert (grads[0][1, :, :2] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_dtype_is_kept_and_sums_are_wide(lib, rng, dtype):
    q, k, v = draw(rng, q_len=1, kv_len=400)
    arrays = [lib.array(a, dtype) for a in (q, k, v)]
    out, weights = lib.scaled_dot_product_attention(*arrays, return_weights=True)
    expected, _, _ = by_hand(*(lib.numpy(a).astype("float64") for a in arrays))
    assert lib.numpy(out).dtype == lib.numpy(weights).dtype == np.dtype(dtype)
    tolerance = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(lib.numpy(out), expected, atol=tolerance)


@pytest.mark.parametrize("kwargs", [{}, {"return_lse": True}])
def test_scores_of_half_precision_are_wide(lib, rng, kwargs):
    """Scores near 40 would be rounded by 0.016, and weights by as much for a hundredth."""
    q, k, v = draw(rng, q_len=3, kv_len=20)
    arrays = [lib.array(a, "float16") for a in (q * 20, k * 2, v)]
    out = lib.scaled_dot_product_attention(*arrays, **kwargs)
    expected, _, _ = by_hand(*(lib.numpy(a).astype("float64") for a in arrays))
    np.testing.assert_allclose(lib.numpy(out[0] if kwargs else out), expected, atol=1.5e-3)


def test_bfloat16_in_torch(rng):
    import torch

    import mini_attn.torch as mt

    q, k, v = (torch.from_numpy(a).bfloat16() for a in draw(rng))
    out = mt.scaled_dot_product_attention(q, k, v, softcap=5.0)
    wide = mt.scaled_dot_product_attention(q.double(), k.double(), v.double(), softcap=5.0)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double(), wide, atol=2e-2, rtol=0)


REFUSALS = {
    "three axes": (ShapeError, "4 axes", {"q": np.zeros((4, 3, 4))}),
    "another head_dim": (ShapeError, "head_dim = 5", {"k": np.zeros((2, 2, 5, 5))}),
    "another kv_len": (ShapeError, "kv_len = 4", {"v": np.zeros((2, 2, 4, 6))}),
    "another batch": (ShapeError, "batch = 3", {"k": np.zeros((3, 2, 5, 4))}),
    "heads that do not divide": (
        ConfigError,
        "n_heads = 4 and n_kv_heads = 3",
        {"k": np.zeros((2, 3, 5, 4)), "v": np.zeros((2, 3, 5, 6))},
    ),
    "mixed dtypes": (DTypeError, "float32", {"k": np.zeros((2, 2, 5, 4), "float32")}),
    "integers": (DTypeError, "floating-point", {"q": np.zeros((2, 4, 3, 4), int)}),
    "an additive mask": (DTypeError, "boolean", {"mask": np.zeros((3, 5))}),
    "a mask of another shape": (ShapeError, "mask must fit", {"mask": np.ones((3, 4), bool)}),
    "a bias of another shape": (ShapeError, "bias must fit", {"bias": np.ones((2, 2, 3, 5))}),
    "a window without causal": (ConfigError, "causal", {"window": 2}),
    "a window of zero": (ConfigError, "window", {"window": 0, "causal": True}),
    "first tokens without a window": (
        ConfigError,
        "sink_tokens = 2 needs a window",
        {"causal": True, "sink_tokens": 2},
    ),
    "fewer than no first tokens": (
        ConfigError,
        "sink_tokens must be at least 0, got -1",
        {"causal": True, "window": 2, "sink_tokens": -1},
    ),
    "an infinite scale": (ConfigError, "scale", {"scale": float("inf")}),
    "a negative softcap": (ConfigError, "softcap", {"softcap": -1.0}),
    "too few positions": (ShapeError, "positions", {"kv_positions": np.arange(4)}),
    "positions of another batch": (
        ShapeError,
        "positions",
        {"kv_positions": np.zeros((3, 5), int), "causal": True},
    ),
    "fractional positions": (DTypeError, "kv_positions", {"kv_positions": np.zeros(5)}),
    "query positions that do not fit": (
        ShapeError,
        "positions",
        {"q_positions": np.arange(2), "causal": True},
    ),
    "query positions that do not fit, and are not compared": (
        ShapeError,
        "positions",
        {"q_positions": np.arange(2)},
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(lib, rng, case):
    error, words, changes = REFUSALS[case]
    arguments = dict(zip("qkv", draw(rng), strict=True)) | changes
    arguments = {
        name: lib.array(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    with pytest.raises(error, match=words):
        lib.scaled_dot_product_attention(**arguments)
    d_out = lib.array(np.zeros((2, 4, 3, 6)))
    with pytest.raises(error, match=words):
        lib.attention_backward(d_out, **arguments)


def test_gradients_reach_first_tokens_behind_a_window(lib, rng):
    q, k, v = (lib.array(a) for a in draw(rng, q_len=5))
    d_out = lib.array(rng.standard_normal((2, 4, 5, 6)))
    i, j = np.arange(5)[:, None], np.arange(5)
    mask = lib.array((j <= i) & ((i - j < 2) | (j < 1)))
    found = lib.attention_backward(d_out, q, k, v, causal=True, window=2, sink_tokens=1)
    expected = lib.attention_backward(d_out, q, k, v, mask=mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(lib.numpy(one), lib.numpy(other), atol=1e-12)


def test_more_causal_queries_than_keys_need_positions(lib, rng):
    q, k, v = (lib.array(a) for a in draw(rng, q_len=6))
    with pytest.raises(ShapeError, match="6 causal queries"):
        lib.scaled_dot_product_attention(q, k, v, causal=True)
    out = lib.scaled_dot_product_attention(
        q, k, v, causal=True, q_positions=lib.array(np.arange(-1, 5))
    )
    assert (lib.numpy(out)[:, :, 0] == 0).all()


def test_a_gradient_of_another_shape_or_dtype_is_refused(lib, rng):
    q, k, v = (lib.array(a) for a in draw(rng))
    with pytest.raises(ShapeError, match="d_out has"):
        lib.attention_backward(lib.array(np.zeros((2, 4, 3, 5))), q, k, v)
    with pytest.raises(DTypeError, match="d_out"):
        lib.attention_backward(lib.array(np.zeros((2, 4, 3, 6), "float32")), q, k, v)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("batch", "q_len", "kv_len"), [(0, 3, 5), (0, 1, 1), (2, 0, 0), (2, 0, 5)])
def test_nothing_comes_of_nothing(lib, rng, batch, q_len, kv_len, masked):
    q, k, v = (lib.array(a) for a in draw(rng, batch=batch, q_len=q_len, kv_len=kv_len))
    options = {"causal": True}
    if masked:
        options["mask"] = lib.array(np.ones((q_len, kv_len), bool))
    for attention in (lib.scaled_dot_product_attention, lib.online_attention):
        for cap in (None, 2.0):
            out = attention(q, k, v, softcap=cap, **options)
            out = out[0] if isinstance(out, tuple) else out
            assert tuple(out.shape) == (batch, 4, q_len, 6)
    gradients = lib.attention_backward(out, q, k, v, **options)
    assert [d.shape for d in gradients] == [a.shape for a in (q, k, v)]
