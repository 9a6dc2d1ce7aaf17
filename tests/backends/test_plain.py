"""The plain text: it is plain, it is right by brute force, and both backends agree with it.

Generic over the registry: an entry without a plain form fails and says so.
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mini_attn import plain
from mini_attn.config import DecoderConfig, ExpertConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.plain import later
from mini_attn.variants import REGISTRY
from tests.backends.test_variants import D_MODEL, SIZES, layer_of, new_cache, run, sizes_of
from tests.forms import Form, form_of

LINES = 300  # of a text, at the most
COLUMNS = 84  # of a page of the book
# Each text builds on those before; that of tokens has no arrays.
ALONE = {
    "numpy",
    "re",
    "collections",
    "itertools",
    *(f"mini_attn.plain{text}" for text in ("", ".later", ".serving", ".state")),
}
LAYOUTS = ("half", "interleaved")
OPTIONS = [
    {},
    *({"rope": RopeConfig(layout=layout)} for layout in LAYOUTS),
    {"q_lora_rank": None},
    {"window": 1},
    {"window": 20},
    {"window": 2, "sink_tokens": 1},
    {"window": 3, "sink_tokens": 2, "rope": RopeConfig(layout="half")},
    {"negative_eigenvalues": True},
    {"scale": 1.0},
]
INFINITY = float("inf")


def config_of(name: str, size: Any, **options: Any) -> Any:
    """The variant's configuration, or None where it has no such option or the sizes forbid it."""
    windows = {"window": options.pop("window")} if "window" in options else {}
    if windows and "window" not in REGISTRY[name].sizes:
        return None
    sizes = sizes_of(size, **windows)
    known = {field.name for field in fields(type(REGISTRY[name].configure(sizes)))}
    turns_heads = "rope" in options and "head_dim" in known
    if not options.keys() <= known or (turns_heads and size[3] % 2):
        return None
    if "scale" in options and REGISTRY[name].length_rule != "state":
        return None  # plain attention has the usual one
    try:
        return REGISTRY[name].configure(sizes, **options)
    except ConfigError as refusal:
        if not any(f"{option} has no meaning" in str(refusal) for option in options):
            raise
        return None


def cases() -> Any:
    """Variant, sizes and configuration, wherever they go together."""
    for name in REGISTRY:
        for size in SIZES:
            for number, options in enumerate(OPTIONS):
                config = config_of(name, size, **options)
                if config is not None:
                    words = f"{name}-{size[1]}x{size[3]}-{number}"
                    yield pytest.param(name, size, config, id=words)


each_case = pytest.mark.parametrize(("name", "size", "config"), list(cases()))


def state_of(lib: Any, layer: Any) -> dict[str, Any]:
    return {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}


def in_chunks(sizes: list[int], step: Callable[[slice], Any]) -> Any:
    ends = np.cumsum(sizes)
    return np.concatenate([step(slice(e - n, e)) for e, n in zip(ends, sizes, strict=True)], axis=1)


# ---- Both backends against it ----


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_entry_has_a_plain_form(lib, name):
    config = config_of(name, SIZES[1])
    form = form_of(REGISTRY[name], config, state_of(lib, layer_of(lib, name, config)))
    assert form.ways


def test_an_entry_without_a_plain_form_is_named():
    with pytest.raises(AssertionError, match=r"'gated' has no plain form: write it in mini_attn/"):
        form_of(replace(REGISTRY["gqa"], name="gated", stem="gated_{backend}"), None, {})


def test_most_options_are_tried():
    for name in REGISTRY:
        tried = [param for param in cases() if param.values[0] == name]
        assert len(tried) >= 2 * len(SIZES)


@each_case
def test_the_full_pass(lib, rng, name, size, config):
    layer = layer_of(lib, name, config)
    form = form_of(REGISTRY[name], config, state_of(lib, layer))
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    for options, attend in form.ways:
        expected = attend(x, form.weights, np.arange(size[5]))
        assert expected.shape == x.shape
        np.testing.assert_allclose(run(lib, layer, x, **options), expected, atol=1e-11)


@each_case
def test_cached_one_by_one_and_in_chunks(lib, rng, name, size, config):
    """Rings too: the longest chunk is longer than most windows."""
    layer = layer_of(lib, name, config)
    form = form_of(REGISTRY[name], config, state_of(lib, layer))
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    one_by_one = [1] * size[5]
    uneven = [n for n in (size[5] // 4, 1, size[5] - size[5] // 4 - 1) if n]
    whole = form.ways[0][1](x, form.weights, np.arange(size[5]))
    for options, attend in form.ways:
        for chunks in (one_by_one, uneven):
            kept, ours = form.new_cache(size[0], size[5]), new_cache(lib, layer, size[0], size[5])

            def plain_step(some, attend=attend, kept=kept):
                return attend(x[:, some], form.weights, np.arange(size[5])[some], kept)

            def step(some, options=options, ours=ours):
                return run(lib, layer, x[:, some], cache=ours, **options)

            np.testing.assert_allclose(in_chunks(chunks, plain_step), whole, atol=1e-11)
            np.testing.assert_allclose(in_chunks(chunks, step), whole, atol=1e-11)


@each_case
def test_what_a_cache_holds(lib, rng, name, size, config):
    """The same numbers in the same slots, so that a ring is a ring."""
    layer = layer_of(lib, name, config)
    form = form_of(REGISTRY[name], config, state_of(lib, layer))
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    kept, ours = form.new_cache(size[0], size[5]), new_cache(lib, layer, size[0], size[5])
    for t in range(size[5]):
        now = slice(t, t + 1)
        form.ways[0][1](x[:, now], form.weights, np.arange(t, t + 1), kept)
        run(lib, layer, x[:, now], cache=ours)
    *arrays, positions = (lib.numpy(array) for array in ours.view())
    if form.shown is not None:
        *expectations, places = form.shown(kept, size[5])
        np.testing.assert_array_equal(positions, np.tile(places, (size[0], 1)))
        for array, expected in zip(arrays, expectations, strict=True):
            np.testing.assert_allclose(array, expected, atol=1e-11)
        return
    held = kept[2] >= 0
    np.testing.assert_array_equal(positions, np.tile(kept[2][held], (size[0], 1)))
    expectations = [array[:, :, held] for array in (*kept[:2], *kept[3:])]
    expectations += form.derived(expectations)
    for array, expected in zip(arrays, expectations, strict=True):
        np.testing.assert_allclose(array.reshape(expected.shape), expected, atol=1e-11)


@each_case
def test_left_padding(lib, rng, name, size, config):
    layer = layer_of(lib, name, config)
    form = form_of(REGISTRY[name], config, state_of(lib, layer))
    x = rng.standard_normal((2, size[5] + 3, D_MODEL))
    count = np.arange(size[5] + 3)
    positions = np.stack([count, np.maximum(count - 3, -1)])
    for options, attend in form.ways:
        expected = attend(x, form.weights, positions[:, None])
        ours = run(lib, layer, x, positions=positions, **options)
        np.testing.assert_allclose(ours, expected, atol=1e-11)


def grouped(rng: np.random.Generator, size: Any) -> tuple[Any, Any, Any]:
    batch, n_heads, n_kv_heads, head_dim, v_head_dim, seq = size
    q = rng.standard_normal((batch, n_heads, seq, head_dim))
    k = rng.standard_normal((batch, n_kv_heads, seq + 2, head_dim))
    return q, k, rng.standard_normal((batch, n_kv_heads, seq + 2, v_head_dim))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("window", [None, 1, 3])
def test_the_functions_of_the_backends(lib, rng, size, window):
    q, k, v = grouped(rng, size)
    arrays = [lib.array(a) for a in (q, k, v)]
    kv_positions = np.where(np.arange(size[5] + 2) % 3 == 1, -1, np.arange(size[5] + 2))
    q_positions = np.arange(size[5])
    seen = plain.visible(q_positions, kv_positions, INFINITY if window is None else window)
    who = {
        "causal": True,
        "window": window,
        "q_positions": lib.array(q_positions),
        "kv_positions": lib.array(kv_positions),
    }
    ours = lib.visible(who["q_positions"], who["kv_positions"], causal=True, window=window)
    np.testing.assert_array_equal(lib.numpy(ours), seen)
    expected = plain.attention(q, k, v, seen, size[3] ** -0.5)
    out = lib.scaled_dot_product_attention(*arrays, **who)
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)
    tiled, lse = lib.online_attention(*arrays, **who, block_q=2, block_k=3)
    expected, expected_lse = plain.online_attention(q, k, v, seen, size[3] ** -0.5, block=2)
    np.testing.assert_allclose(lib.numpy(tiled), expected, atol=1e-12)
    np.testing.assert_allclose(lib.numpy(lse), expected_lse, atol=1e-12)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("window", [None, 3])
def test_sinks_of_the_backends(lib, rng, size, window):
    q, k, v = grouped(rng, size)
    sinks, at = 2 * rng.standard_normal(size[1]), np.arange(size[5] + 2)
    seen = plain.visible(at[2:], at, INFINITY if window is None else window)
    expected = later.attention_with_sinks(q, k, v, seen, size[3] ** -0.5, sinks)
    arrays, who = [lib.array(a) for a in (q, k, v)], {"causal": True, "window": window}
    who["sinks"] = lib.array(sinks)
    out = lib.scaled_dot_product_attention(*arrays, **who)
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)
    tiled, _ = lib.online_attention(*arrays, **who, block_q=2, block_k=3)
    np.testing.assert_allclose(lib.numpy(tiled), expected, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("theta", [10000.0, 100.0])
def test_rope_of_the_backends(lib, rng, layout, theta):
    x, positions = rng.standard_normal((2, 3, 5, 8)), np.array([0, 1, 7, 100, 5000])
    inv_freq, _, _ = lib.rope_frequencies(8, theta=theta)
    cos, sin = lib.rope_table(lib.array(positions), inv_freq, dtype="float64")
    ours = lib.numpy(lib.apply_rope(lib.array(x), cos, sin, layout=layout))
    np.testing.assert_allclose(ours, plain.rope(x, positions, layout, theta), atol=1e-11)


@pytest.mark.parametrize("activation", ["silu", "clamped_swiglu"])
@pytest.mark.parametrize(
    "routing", ["softmax_of_chosen", "softmax_normalised", "sigmoid_normalised"]
)
@pytest.mark.parametrize(("n_experts", "taken"), [(1, 1), (5, 1), (5, 3), (5, 5)])
def test_experts_of_the_backends(lib, rng, n_experts, taken, routing, activation):
    read = {"swiglu_alpha": 0.9, "swiglu_limit": 1.5} if activation == "clamped_swiglu" else {}
    config = ExpertConfig(
        n_experts, taken, 7, routing=routing, activation=activation, bias=True, router_bias=True,
        **read,
    )  # fmt: skip
    layer = lib.MixtureOfExperts(6, config, dtype="float64")
    state = {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    W = {"router": state["router.weight"].T, "router_bias": state["router.bias"]}
    for name in ("gate", "up", "down"):
        W[name] = state[f"{name}_proj"].swapaxes(1, 2)
        W[f"{name}_bias"] = state[f"{name}_proj_bias"]
    x = 2 * rng.standard_normal((2, 5, 6))
    clamped = partial(later.clamped_unit, alpha=0.9, limit=1.5)
    unit = later.silu_unit if activation == "silu" else clamped
    router = later.route_by_sigmoid if routing == "sigmoid_normalised" else later.route
    expected = later.mixture_of_experts(x, W, taken, unit, router)
    np.testing.assert_allclose(lib.numpy(layer(lib.array(x))), expected, atol=1e-12)


# ---- The decoder ----


def decoder_of(lib: Any, name: str) -> tuple[Any, dict[str, Any], Form]:
    """A small decoder with weights of size 1, and the same weights in plain."""
    config = config_of(name, SIZES[2], rope=RopeConfig(layout="interleaved"))
    config = config or config_of(name, SIZES[2])
    model = lib.Decoder(
        DecoderConfig(
            19, 2, config, d_ff=11, max_positions=32, mlp="gated", mlp_bias=False,
            activation="silu", norm="rms_norm", positions="none", eps=1e-6,
        ),
        dtype="float64",
    )  # fmt: skip
    rng = np.random.default_rng(3)
    model.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in model.state_dict().items()}
    )
    state, layers = state_of(lib, model), []
    for i in range(2):
        own = {
            key.removeprefix(f"layers.{i}."): weight
            for key, weight in state.items()
            if key.startswith(f"layers.{i}.")
        }
        attention = {k.removeprefix("self_attn."): w for k, w in own.items() if "self_attn" in k}
        form = form_of(REGISTRY[name], config, attention)
        layers.append(
            form.weights
            | {part: own[f"mlp.{part}_proj.weight"].T for part in ("gate", "up", "down")}
            | {
                "attention_norm": own["input_layernorm.weight"],
                "mlp_norm": own["post_attention_layernorm.weight"],
            }
        )
    weights = {"embedding": state["embed_tokens.weight"], "norm": state["norm.weight"]}
    return model, weights | {"layers": layers}, form


@pytest.mark.parametrize("name", list(REGISTRY))
def test_the_greedy_loop(lib, name):
    model, weights, form = decoder_of(lib, name)
    prompt = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    for options, attend in form.ways:
        caches = [form.new_cache(2, 12) for _ in range(2)]
        words = plain.generate(prompt, 8, weights, attend, caches)
        assert words.shape == (2, 13)
        assert (words[:, :5] == prompt).all()
        assert len(set(words[:, 5:].ravel())) > 2, "a decoder that repeats itself proves little"
        ours = lib.generate(
            model, lib.array(prompt), max_new_tokens=8, caches=model.new_caches(2, 12)
        )
        np.testing.assert_array_equal(lib.numpy(ours), words, err_msg=str(options))
        logits = plain.logits_of(words, weights, attend, np.arange(13), [None, None])
        np.testing.assert_allclose(lib.numpy(model(lib.array(words))), logits, atol=1e-9)


PLACES = {
    "after": later.layer_with_norms_after,
    "both": later.layer_with_norms_around,
}
NORM_OF = {
    "before_attention": "attention_norm",
    "after_attention": "attention_norm_after",
    "before_mlp": "mlp_norm",
    "after_mlp": "mlp_norm_after",
}


@pytest.mark.parametrize("placement", PLACES)
def test_norms_in_other_places_scaled_embeddings_and_bounded_logits(lib, placement):
    config = config_of("gqa", SIZES[2], rope=RopeConfig(layout="half"))
    model = lib.Decoder(
        DecoderConfig(
            19, 2, config, d_ff=11, max_positions=32, mlp="gated", mlp_bias=False,
            activation="silu", norm="rms_norm", positions="none", eps=1e-6,
            norm_placement=placement, embed_scale=config.d_model**0.5, logit_softcap=1.5,
        ),
        dtype="float64",
    )  # fmt: skip
    rng, names = np.random.default_rng(3), model.config.norm_names._asdict()
    model.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in model.state_dict().items()}
    )
    state, layers = state_of(lib, model), []
    for i in range(2):
        own = {k.removeprefix(f"layers.{i}."): w for k, w in state.items() if f"layers.{i}." in k}
        attention = {k.removeprefix("self_attn."): w for k, w in own.items() if "self_attn" in k}
        form = form_of(REGISTRY["gqa"], config, attention)
        layers.append(
            form.weights
            | {part: own[f"mlp.{part}_proj.weight"].T for part in ("gate", "up", "down")}
            | {NORM_OF[at]: own[f"{name}.weight"] for at, name in names.items() if name}
        )
    weights = {"embedding": state["embed_tokens.weight"], "norm": state["norm.weight"]}
    tokens, attend = rng.integers(0, 19, (2, 9)), form.ways[0][1]
    given = (tokens, weights | {"layers": layers}, PLACES[placement], attend, np.arange(9))
    logits = later.bounded_logits(*given, [None, None], 1.5)
    assert 1 < np.abs(logits).max() < 1.5
    np.testing.assert_allclose(lib.numpy(model(lib.array(tokens))), logits, atol=1e-9)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_one_norm_of_all_heads(lib, rng, size):
    config = config_of("gqa", size, qk_norm=True, qk_norm_over="width")
    layer = layer_of(lib, "gqa", config)
    state = state_of(lib, layer)
    weights = {name: state[f"{name}_proj.weight"].T for name in "qk"}
    weights |= {name: state[f"{name}.weight"] for name in ("q_norm", "k_norm")}
    x = rng.standard_normal((2, 5, D_MODEL))
    q, k, _ = (lib.numpy(part) for part in layer.project(lib.array(x), lib.array(x)))
    expected = later.normed_as_one(x, weights, config.n_heads, config.n_kv_heads)
    np.testing.assert_allclose(q, expected[0], atol=1e-12)
    np.testing.assert_allclose(k, expected[1], atol=1e-12)


# ---- By brute force ----


def attention_in_loops(q, k, v, seen, scale, sinks=None):
    """One number after the other, with Python's own arithmetic."""
    out, lse = np.zeros((*q.shape[:3], v.shape[3])), np.full(q.shape[:3], -INFINITY)
    for b, h, i in np.ndindex(*q.shape[:3]):
        reads = h * k.shape[1] // q.shape[1]
        keys = [j for j in range(k.shape[2]) if seen[i, j]]
        scores = [
            scale * sum(x * y for x, y in zip(q[b, h, i], k[b, reads, j], strict=True))
            for j in keys
        ]
        total = sum(math.exp(score) for score in scores)
        total += 0 if sinks is None else math.exp(sinks[h])
        if keys:
            lse[b, h, i] = math.log(total)
        for score, j in zip(scores, keys, strict=True):
            out[b, h, i] += math.exp(score) / total * v[b, reads, j]
    return out, lse


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_attention_is_the_loop(rng, size):
    q, k, v = grouped(rng, size)
    seen = rng.random((size[5], size[5] + 2)) < 0.5
    seen[0] = False
    expected, expected_lse = attention_in_loops(q, k, v, seen, 0.7)
    np.testing.assert_allclose(plain.attention(q, k, v, seen, 0.7), expected, atol=1e-12)
    assert (expected[:, :, 0] == 0).all()
    for block in (1, 2, 3, size[5] + 2, 99):
        out, lse = plain.online_attention(q, k, v, seen, 0.7, block)
        np.testing.assert_allclose(out, expected, atol=1e-12)
        np.testing.assert_allclose(lse, expected_lse, atol=1e-12)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("least", [-INFINITY, -1.0, 200.0, 1e4])
def test_attention_with_sinks_is_the_loop(rng, size, least):
    q, k, v = grouped(rng, size)
    seen = rng.random((size[5], size[5] + 2)) < 0.5
    seen[0] = False
    sinks = least + rng.standard_normal(size[1])
    found = later.attention_with_sinks(q, k, v, seen, 0.7, sinks)
    # The largest would overflow without the maximum taken out: there everything is gone.
    expected = 0 * found if least == 1e4 else attention_in_loops(q, k, v, seen, 0.7, sinks)[0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found[:, :, 0] == 0).all()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("cut", [1, 2])
def test_parts_merge_to_the_whole(rng, size, cut):
    q, k, v = grouped(rng, size)
    seen = rng.random((size[5], size[5] + 2)) < 0.5
    seen[0] = False
    parts = []
    for some in (slice(0, cut), slice(cut, None)):
        parts += plain.online_attention(q, k[:, :, some], v[:, :, some], seen[:, some], 1.0, 2)
    expected, expected_lse = attention_in_loops(q, k, v, seen, 1.0)
    out, lse = plain.merge_attention(*parts)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_neither_overflows_nor_gives_nan(dtype):
    rows = np.array([[1e4, 1e4 - 1, -INFINITY], [-1e4, -1e4, -1e4], [-INFINITY] * 3], dtype)
    e = math.exp(-1)
    expected = [[1 / (1 + e), e / (1 + e), 0], [1 / 3] * 3, [0, 0, 0]]
    out = plain.softmax(rows)
    assert out.dtype == dtype
    np.testing.assert_allclose(out, expected, atol=1e-7)


@pytest.mark.parametrize("window", [INFINITY, 1, 3])
def test_who_sees_whom_is_the_rule(window):
    q_positions, kv_positions = np.array([-1, 0, 3, 9]), np.array([4, -1, 0, 9, 3, -1, 2])
    expected = [
        [0 <= key <= query and key > query - window for key in kv_positions]
        for query in q_positions
    ]
    np.testing.assert_array_equal(plain.visible(q_positions, kv_positions, window), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rope_is_a_product_of_complex_numbers(rng, layout):
    x, positions = rng.standard_normal((2, 3, 4, 6)), np.array([0, 2, 3, 50])
    turned = plain.rope(x, positions, layout, theta=500.0)
    for b, h, s in np.ndindex(2, 3, 4):
        for i in range(3):
            one, two = (i, i + 3) if layout == "half" else (2 * i, 2 * i + 1)
            angle = cmath.exp(1j * int(positions[s]) * 500.0 ** (-2 * i / 6))
            pair = complex(x[b, h, s, one], x[b, h, s, two]) * angle
            there = complex(turned[b, h, s, one], turned[b, h, s, two])
            assert there == pytest.approx(pair, abs=1e-12)


@pytest.mark.parametrize("chunks", [[1] * 9, [3, 5, 1], [7, 2], [9]])
@pytest.mark.parametrize("window", [1, 3, 4])
def test_a_ring_holds_the_last_tokens(chunks, window):
    """Every token's key and value is its position: whoever reads one sees whose it is."""
    ring, start = plain.new_cache(1, 1, window, 1, 1), 0
    for new in chunks:
        positions = np.arange(start, start + new)
        rows = positions.reshape(1, 1, new, 1).astype(float)
        k, v, kv_positions = plain.append_to_ring(ring, rows, -rows, positions)
        offered = {int(p) for p in kv_positions if p >= 0}
        assert offered >= set(range(max(0, start - window + 1), start + new))
        tokens = kv_positions >= 0
        np.testing.assert_array_equal(k[0, 0, tokens, 0], kv_positions[tokens])
        np.testing.assert_array_equal(v[0, 0, tokens, 0], -kv_positions[tokens])
        start += new
        slots = [max((p for p in range(start) if p % window == s), default=-1)
                 for s in range(window)]  # fmt: skip
        np.testing.assert_array_equal(ring[2], slots)
        held = ring[2] >= 0
        np.testing.assert_array_equal(ring[0][0, 0, held, 0], ring[2][held])


@pytest.mark.parametrize("chunks", [[1] * 11, [3, 5, 3], [7, 4], [11]])
@pytest.mark.parametrize(("sinks", "window"), [(2, 3), (1, 1), (4, 2), (3, 9)])
def test_first_tokens_stay_before_a_ring(chunks, sinks, window):
    cache, start = plain.new_cache(1, 1, sinks + window, 1, 1), 0
    for new in chunks:
        positions = np.arange(start, start + new)
        rows = positions.reshape(1, 1, new, 1).astype(float)
        k, v, kv_positions = later.append_behind_sinks(cache, rows, -rows, positions, sinks)
        seen = {j for i in positions for j in range(i + 1) if i - j < window or j < sinks}
        tokens = kv_positions >= 0
        assert seen <= {int(p) for p in kv_positions[tokens]}
        np.testing.assert_array_equal(k[0, 0, tokens, 0], kv_positions[tokens])
        np.testing.assert_array_equal(v[0, 0, tokens, 0], -kv_positions[tokens])
        start += new
        slots = [s if s < start else -1 for s in range(sinks)]
        slots += [
            max((p for p in range(sinks, start) if (p - sinks) % window == s), default=-1)
            for s in range(window)
        ]
        np.testing.assert_array_equal(cache[2], slots)
        held = cache[2] >= 0
        np.testing.assert_array_equal(cache[0][0, 0, held, 0], cache[2][held])


def test_heads_are_columns(rng):
    x = rng.standard_normal((2, 3, 8))
    heads = plain.split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    for h in range(4):
        np.testing.assert_array_equal(heads[:, h], x[..., 2 * h : 2 * h + 2])
    np.testing.assert_array_equal(plain.merge_heads(heads), x)


# ---- It is plain ----


def not_plain(source: str, most_lines: int) -> list[str]:
    """Sentences, one for each rule that a plain text breaks."""
    lines = source.splitlines()
    found = [f"line {n} is too wide" for n, line in enumerate(lines, 1) if len(line) > COLUMNS]
    if len(lines) > most_lines:
        found.append(f"{len(lines)} lines, at most {most_lines}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            modules = [node.module] if isinstance(node, ast.ImportFrom) else names
            found += [f"imports {name}" for name in modules if name not in ALONE]
        elif isinstance(node, ast.Raise | ast.Assert | ast.Try):
            found.append(f"checks in line {node.lineno}")
        elif isinstance(node, ast.ClassDef):
            found.append(f"has the class {node.name}")
        elif isinstance(node, ast.FunctionDef) and not ast.get_docstring(node):
            found.append(f"{node.name} has no docstring")
    return found


def test_the_texts_are_plain():
    folder = Path(plain.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert {"__init__.py", "later.py", "serving.py"} <= texts.keys()
    for name, text in texts.items():
        assert not_plain(text, 200 if name == "later.py" else LINES) == [], name


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n" * 4, "4 lines"),
        (f"x = {'1' * COLUMNS}", "line 1 is too wide"),
        ("import math\n", "imports math"),
        ("from mini_attn import shapes\n", "imports mini_attn"),
        ("def f(x):\n    '''F.'''\n    assert x\n", "checks in line 3"),
        ("if 1:\n    raise ValueError\n", "checks in line 2"),
        ("class A:\n    '''A.'''\n", "class A"),
        ("def f(x):\n    return x\n", "f has no docstring"),
    ],
)
def test_the_plainness_check_can_fail(source, words):
    found = not_plain(source, 3)
    assert len(found) == 1
    assert words in found[0]
