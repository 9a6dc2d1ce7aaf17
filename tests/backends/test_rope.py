"""Rotary embeddings: what turns, what stays, and how exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.config import (
    AttentionConfig,
    DynamicNTK,
    LongRoPE,
    PositionInterpolation,
    RopeConfig,
    YaRN,
)
from mini_attn.errors import ConfigError, DTypeError, ShapeError

LAYOUTS = ["half", "interleaved"]


def turn(lib, x, positions, *, layout, rotary_dim=None, dtype="float64", **options):
    """Rotate an array (batch, heads, seq, head_dim) and give an array back."""
    frequencies = lib.rope_frequencies(rotary_dim or x.shape[-1], **options)
    cos, sin = lib.rope_table(lib.array(positions), frequencies, dtype=dtype)
    return lib.numpy(lib.apply_rope(lib.array(x), cos, sin, layout=layout))


def by_hand(x, positions, layout, theta=10000.0):
    """Every pair as one complex number, turned by its angle."""
    pairs = x.shape[-1] // 2
    angle = np.asarray(positions)[:, None] * theta ** (-np.arange(pairs) / pairs)
    if layout == "half":
        turned = (x[..., :pairs] + 1j * x[..., pairs:]) * np.exp(1j * angle)
        return np.concatenate([turned.real, turned.imag], axis=-1)
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("head_dim", [2, 6, 8])
def test_a_pair_is_a_complex_number_that_turns(lib, rng, layout, head_dim):
    x, positions = rng.standard_normal((2, 3, 5, head_dim)), np.array([0, 1, 7, 100, 4096])
    found = turn(lib, x, positions, layout=layout)
    np.testing.assert_allclose(found, by_hand(x, positions, layout), atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_sign_is_plus(lib, layout):
    """A quarter turn of (1, 0) is (0, 1)."""
    x = np.array([1.0, 0.0]).reshape(1, 1, 1, 2)
    cos, sin = (lib.array(np.array([[value]])) for value in (0.0, 1.0))
    assert lib.numpy(lib.apply_rope(lib.array(x), cos, sin, layout=layout)).ravel().tolist() == [
        0.0,
        1.0,
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@given(q=st.integers(0, 500), k=st.integers(0, 500), shift=st.integers(0, 5000))
def test_scores_depend_on_the_distance_only(lib, layout, q, k, shift):
    rng = np.random.default_rng(q)
    pair = rng.standard_normal((2, 1, 1, 1, 16))
    scores = []
    for moved in (0, shift):
        a = turn(lib, pair[0], np.array([q + moved]), layout=layout)
        b = turn(lib, pair[1], np.array([k + moved]), layout=layout)
        scores.append((a * b).sum())
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lengths_stay(lib, rng, layout):
    x = rng.standard_normal((1, 2, 9, 8))
    found = turn(lib, x, np.arange(9) * 1000, layout=layout)
    np.testing.assert_allclose((found**2).sum(-1), (x**2).sum(-1), rtol=1e-12)
    assert (found[:, :, 0] == x[:, :, 0]).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_factor_makes_vectors_longer(lib, rng, layout):
    """Of cosines and of sines alike, at every position; what does not turn keeps its length."""
    x = rng.standard_normal((1, 2, 9, 8))
    inv_freq = lib.rope_frequencies(6)[0]
    cos, sin = lib.rope_table(lib.array(np.arange(9)), inv_freq, rope_factor=1.5, dtype="float64")
    found = lib.numpy(lib.apply_rope(lib.array(x), cos, sin, layout=layout))
    squares, before = found**2, x**2
    np.testing.assert_allclose(squares[..., :6].sum(-1), 2.25 * before[..., :6].sum(-1))
    assert (found[..., 6:] == x[..., 6:]).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_partial_rotation_leaves_the_rest(lib, rng, layout):
    x, positions = rng.standard_normal((1, 2, 4, 10)), np.arange(4)
    found = turn(lib, x, positions, layout=layout, rotary_dim=4)
    assert (found[..., 4:] == x[..., 4:]).all()
    np.testing.assert_allclose(found[..., :4], by_hand(x[..., :4], positions, layout), atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_offset_is_a_position(lib, rng, layout):
    """What a cache needs: the second part of a text is turned as in the whole text."""
    x = rng.standard_normal((2, 1, 7, 6))
    whole = turn(lib, x, np.arange(7), layout=layout)
    part = turn(lib, x[:, :, 4:], np.arange(4, 7), layout=layout)
    assert (whole[:, :, 4:] == part).all()
    rows = turn(lib, x, np.stack([np.arange(7), np.arange(3, 10)]), layout=layout)
    assert (rows[0] == whole[0]).all()
    np.testing.assert_array_equal(rows[1], turn(lib, x[1:], np.arange(3, 10), layout=layout)[0])


@given(heads=st.integers(1, 4), pairs=st.integers(1, 4), rest=st.integers(0, 3), bias=st.booleans())
def test_converted_weights_score_the_same(lib, heads, pairs, rest, bias):
    head_dim, d_model, rng = 2 * pairs + rest, 5, np.random.default_rng(pairs)
    x = rng.standard_normal((6, d_model))
    weights = rng.standard_normal((2, heads * head_dim, d_model))
    biases = rng.standard_normal((2, heads * head_dim)) * bias

    def scores(layout, weights, biases):
        q, k = (
            (x @ w.T + b).reshape(1, 6, heads, head_dim).swapaxes(1, 2)
            for w, b in zip(weights, biases, strict=True)
        )
        q, k = (
            turn(lib, part, np.arange(6), layout=layout, rotary_dim=2 * pairs) for part in (q, k)
        )
        return q @ k.swapaxes(-1, -2)

    def convert(rows, source, target):
        out = lib.convert_rope_layout(
            lib.array(rows), heads, source=source, target=target, rotary_dim=2 * pairs
        )
        return lib.numpy(out)

    for source, target in (LAYOUTS, LAYOUTS[::-1]):
        moved = [[convert(rows, source, target) for rows in kind] for kind in (weights, biases)]
        np.testing.assert_allclose(
            scores(target, *moved), scores(source, weights, biases), atol=1e-10
        )
        for rows, back in zip(weights, moved[0], strict=True):
            assert (convert(back, target, source) == rows).all()


def test_a_layer_is_converted_with_its_biases_and_the_gains_of_its_norms(lib, rng):
    """Nothing that acts before the rotation may be left behind; values and output stay."""
    x, sizes = rng.standard_normal((1, 5, 6)), {"q": 4, "k": 2}

    def layer_in(layout):
        config = AttentionConfig(
            6, 4, 8, n_kv_heads=2, bias=True, qk_norm=True, rope=RopeConfig(layout, rotary_dim=6)
        )
        return lib.GroupedQueryAttention(config, dtype="float64")

    layer = layer_in("interleaved")
    state = {name: lib.array(rng.standard_normal(lib.numpy(value).shape))
             for name, value in layer.state_dict().items()}  # fmt: skip
    layer.load_state_dict(state)
    expected = lib.numpy(layer(lib.array(x)))
    moved = dict(state)
    for kind, heads in sizes.items():
        for name in (f"{kind}_proj.weight", f"{kind}_proj.bias", f"{kind}_norm.weight"):
            moved[name] = lib.convert_rope_layout(
                state[name], 1 if "norm" in name else heads,
                source="interleaved", target="half", rotary_dim=6,
            )  # fmt: skip
    other = layer_in("half")
    for left in (None, "q_proj.bias", "k_norm.weight"):
        other.load_state_dict({**moved, **({left: state[left]} if left else {})})
        found = lib.numpy(other(lib.array(x)))
        assert np.allclose(found, expected, atol=1e-10) == (left is None), left


def test_the_wrong_layout_is_right_at_position_0_only(lib, rng):
    """The failure to know: the first token is right, the rest is not."""
    x = rng.standard_normal((1, 1, 3, 8))
    half, other = (turn(lib, x, np.arange(3), layout=layout) for layout in LAYOUTS)
    assert (half[:, :, 0] == other[:, :, 0]).all()
    assert np.abs(half[:, :, 1:] - other[:, :, 1:]).max() > 0.5


def test_angles_are_exact_where_float32_is_not(lib):
    """At position 131,071 an angle in float32 is off by up to 0.008; a table is not."""
    positions = np.array([1000, 32768, 131071])
    inv_freq = lib.rope_frequencies(128)[0]
    exact = np.cos(positions[:, None] * 10000.0 ** (-np.arange(64) / 64))
    cos, _ = lib.rope_table(lib.array(positions), inv_freq)
    assert lib.numpy(cos).dtype == np.float32
    assert np.abs(lib.numpy(cos) - exact).max() < 1e-7
    low = positions[:, None].astype(np.float32) * (10000.0 ** (-np.arange(64) / 64)).astype("f4")
    assert np.abs(np.cos(low) - exact).max() > 1e-3


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_half_precision_rounds_once(lib, rng, layout, dtype):
    x = rng.standard_normal((1, 1, 50, 16)).astype(dtype)
    positions = np.arange(50) * 997
    found = turn(lib, x, positions, layout=layout, dtype="float32")
    assert found.dtype == dtype
    exact = by_hand(x.astype("float64"), positions, layout)
    np.testing.assert_allclose(found, exact, atol={"float16": 2e-3, "float32": 1e-6}[dtype])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_half_precision_is_the_wide_result_rounded(lib, rng, layout):
    """Bit by bit: no product or sum on the way is in half precision."""
    x = rng.standard_normal((1, 2, 30, 20)).astype("float16")
    positions = np.arange(30) * 1013
    narrow = turn(lib, x, positions, layout=layout, rotary_dim=16, dtype="float32")
    wide = turn(lib, x.astype("float32"), positions, layout=layout, rotary_dim=16, dtype="float32")
    assert narrow.dtype == "float16"
    assert (narrow == wide.astype("float16")).all()


@pytest.mark.parametrize(
    ("position", "error"), [(1023, 3e-5), (4095, 1e-4), (32767, 9e-4), (131071, 3e-3)]
)
def test_float32_angles_drift_and_tables_do_not(lib, position, error):
    """Why angles are float64: rounding the speeds alone costs more with every token."""
    positions = np.arange(position - 999, position + 1)
    speeds = lib.numpy(lib.rope_frequencies(128)[0])
    exact = positions[:, None] * 10000.0 ** (-np.arange(64) / 64)
    drift = positions[:, None].astype("float32") * speeds.astype("float32") - exact
    assert np.abs(drift).max() > error
    for table, wave in zip(
        lib.rope_table(lib.array(positions), lib.array(speeds)), (np.cos, np.sin), strict=True
    ):
        np.testing.assert_allclose(lib.numpy(table), wave(exact), rtol=0, atol=6.1e-8)


def test_backends_agree(backends, rng):
    x = rng.standard_normal((2, 2, 5, 8))
    for layout in LAYOUTS:
        first, second = (
            turn(lib, x, np.arange(5) * 99, layout=layout, theta=500.0) for lib in backends
        )
        np.testing.assert_allclose(first, second, atol=1e-14)


def convert(lib, weight, n_heads, *, target="half", **options):
    return lib.convert_rope_layout(weight, n_heads, source="half", target=target, **options)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ConfigError, lambda lib, t: lib.rope_frequencies(5)),
        (ConfigError, lambda lib, t: lib.rope_frequencies(0)),
        (ConfigError, lambda lib, t: lib.rope_frequencies(4, theta=0.0)),
        (DTypeError, lambda lib, t: lib.rope_table(t["x"][0, 0, :, 0], t["inv_freq"])),
        (ShapeError, lambda lib, t: lib.rope_table(t["positions"][None, None], t["inv_freq"])),
        (DTypeError, lambda lib, t: lib.rope_table(t["positions"], t["inv32"])),
        (DTypeError, lambda lib, t: lib.rope_table(t["positions"], t["inv_freq"], dtype="float16")),
        (ConfigError, lambda lib, t: lib.apply_rope(t["x"], t["cos"], t["sin"], layout="neox")),
        (ShapeError, lambda lib, t: lib.apply_rope(t["short"], t["cos"], t["sin"], layout="half")),
        (ShapeError, lambda lib, t: lib.apply_rope(t["thin"], t["cos"], t["sin"], layout="half")),
        (DTypeError, lambda lib, t: lib.apply_rope(t["x"], t["half"], t["half"], layout="half")),
        (ConfigError, lambda lib, t: convert(lib, t["w"], 2, target="neox")),
        (ShapeError, lambda lib, t: convert(lib, t["w"], 5)),
        (ConfigError, lambda lib, t: convert(lib, t["w"], 2, rotary_dim=3)),
        (ShapeError, lambda lib, t: convert(lib, t["w"], 2, rotary_dim=6)),
    ],
)  # fmt: skip
def test_refusals(lib, error, call):
    things = {
        "x": np.zeros((1, 1, 3, 4)),
        "short": np.zeros((1, 1, 2, 4)),
        "thin": np.zeros((1, 1, 3, 2)),
        "positions": np.arange(3),
        "inv_freq": np.ones(2),
        "inv32": np.ones(2, "float32"),
        "cos": np.ones((3, 2)),
        "sin": np.ones((3, 2)),
        "half": np.ones((3, 2), "float16"),
        "w": np.ones((8, 3)),
    }
    things = {name: lib.array(value) for name, value in things.items()}
    with pytest.raises(error):
        call(lib, things)


def test_configurations_refuse():
    for options in ({"theta": -1.0}, {"rotary_dim": 3}, {"scaling": 2.0}):
        with pytest.raises(ConfigError):
            RopeConfig("half", **options)
    with pytest.raises(ConfigError, match="half, interleaved"):
        RopeConfig("gptj")
    with pytest.raises(ConfigError, match="at least 1"):
        PositionInterpolation(0.5)


class TestTorch:
    """What only PyTorch has: lower precision of whole models, autocast, compilation."""

    def test_a_model_in_bfloat16_keeps_exact_tables(self):
        import torch

        from mini_attn.config import AttentionConfig
        from mini_attn.torch import GroupedQueryAttention

        config = AttentionConfig(8, 2, 64, rope=RopeConfig("half"))
        layer = GroupedQueryAttention(config)
        before = layer._rotary.tables(torch.tensor([131071]), torch.float32)
        after = layer.to(torch.bfloat16)._rotary.tables(torch.tensor([131071]), torch.bfloat16)
        for one, other in zip(before, after, strict=True):
            assert other.dtype == torch.float32
            assert torch.equal(one, other)

    def test_autocast_changes_nothing(self):
        import torch

        import mini_attn.torch as mt

        x = torch.randn(1, 2, 5, 8)
        positions = torch.arange(65536, 65541)

        def run():
            cos, sin = mt.rope_table(positions, mt.rope_frequencies(8)[0])
            return mt.apply_rope(x, cos, sin, layout="half")

        plain = run()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = run()
        assert inside.dtype == torch.float32
        assert torch.equal(plain, inside)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_it_is_one_graph_and_has_gradients(self, layout):
        import torch

        import mini_attn.torch as mt

        def run(x, positions, inv_freq):
            cos, sin = mt.rope_table(positions, inv_freq, dtype="float64")
            return mt.apply_rope(x, cos, sin, layout=layout)

        inv_freq = mt.rope_frequencies(4)[0]
        x, positions = torch.randn(1, 2, 3, 6, dtype=torch.float64), torch.arange(3)
        graph = torch.compile(run, fullgraph=True, backend="eager")
        assert torch.equal(graph(x, positions, inv_freq), run(x, positions, inv_freq))
        assert torch.autograd.gradcheck(lambda x: run(x, positions, inv_freq), [x.requires_grad_()])

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_nothing_waits_for_a_value(self, layout):
        """Tensors without storage: whatever read a number from the device would raise."""
        import torch

        import mini_attn.torch as mt

        inv_freq = mt.rope_frequencies(4)[0].to("meta")
        positions = torch.arange(6, device="meta").view(2, 3)
        cos, sin = mt.rope_table(positions, inv_freq)
        x = torch.empty(2, 1, 3, 6, device="meta", dtype=torch.bfloat16)
        assert mt.apply_rope(x, cos, sin, layout=layout).shape == x.shape
        weight = torch.empty(12, 5, device="meta")
        options = {"source": layout, "target": "half", "rotary_dim": 4}
        assert mt.convert_rope_layout(weight, 2, **options).shape == weight.shape

    def test_another_length_is_not_another_graph(self):
        """One compilation for the first length, one for all others."""
        import torch

        import mini_attn.torch as mt

        graphs = []

        def count(graph, _):
            graphs.append(graph)
            return graph.forward

        @torch.compile(fullgraph=True, backend=count)
        def run(x, positions, inv_freq):
            return mt.apply_rope(x, *mt.rope_table(positions, inv_freq), layout="half")

        torch._dynamo.reset()
        for seq in (3, 5, 8, 13):
            run(torch.ones(1, 2, seq, 6), torch.arange(seq), mt.rope_frequencies(4)[0])
        assert 1 <= len(graphs) <= 2

    def test_bfloat16(self):
        import torch

        import mini_attn.torch as mt

        cos, sin = mt.rope_table(torch.arange(50), mt.rope_frequencies(16)[0])
        x = torch.randn(1, 1, 50, 16).bfloat16()
        found = mt.apply_rope(x, cos, sin, layout="half")
        exact = mt.apply_rope(x.float(), cos, sin, layout="half")
        assert found.dtype == torch.bfloat16
        torch.testing.assert_close(found.float(), exact, atol=0.02, rtol=0.008)


@pytest.mark.parametrize("length", [3, 4, 5, 9])
def test_a_rule_that_asks_is_told_the_number_of_tokens(lib, rng, length):
    """A layer's rule against the same layer with the speeds of that length."""
    from mini_attn.config import AttentionConfig, LongRoPE

    growth = max(2.0 * length / 4 - 1, 1.0)
    longer = 10000.0 * growth ** (8 / 6)
    short, long = (1.0, 1.1, 1.2, 1.3), (2.0, 3.0, 4.0, 5.0)
    asked = short if length <= 4 else long
    pairs = [
        (RopeConfig("half", scaling=DynamicNTK(2.0, 4)), RopeConfig("half", theta=longer)),
        (
            RopeConfig("half", scaling=LongRoPE(short, long, 4, 8)),
            RopeConfig("half", scaling=LongRoPE(asked, asked, 4, 8)),
        ),
    ]
    x = lib.array(rng.standard_normal((1, length, 6)))
    for rule, fixed in pairs:
        first, second = (
            lib.GroupedQueryAttention(AttentionConfig(6, 2, 8, rope=rope), dtype="float64")
            for rope in (rule, fixed)
        )
        state = {n: rng.standard_normal(tuple(w.shape)) for n, w in first.state_dict().items()}
        first.load_state_dict(state)
        second.load_state_dict(state)
        np.testing.assert_allclose(lib.numpy(first(x)), lib.numpy(second(x)), atol=1e-11)


def test_a_dynamic_rule_follows_the_longest_position(lib, rng):
    """Keys that are cached keep the speed of their own step: a full pass at the end differs."""
    from mini_attn.config import AttentionConfig

    config = AttentionConfig(6, 2, 8, rope=RopeConfig("half", scaling=DynamicNTK(2.0, 4)))
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    x = lib.array(rng.standard_normal((1, 9, 6)))
    layer.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    )
    cache = layer.new_cache(1, 9)
    steps = np.concatenate(
        [lib.numpy(layer(x[:, i : i + 1], cache=cache)) for i in range(9)], axis=1
    )
    full = lib.numpy(layer(x))
    short = lib.numpy(layer(x[:, :4]))
    np.testing.assert_allclose(steps[:, :4], short, atol=1e-11)  # within the trained context
    assert np.abs(steps[:, 8] - full[:, 8]).max() > 1e-3


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 4), LongRoPE((1.0, 2.0), (1.0, 4.0), 4, 16)])
def test_a_rule_that_asks_takes_a_chunk_of_padding_alone(lib, rng, scaling):
    """Left padding fills a whole first chunk: its last position is -1, and so its length none."""
    from mini_attn.config import AttentionConfig

    config = AttentionConfig(6, 2, 4, rope=RopeConfig("half", scaling=scaling))
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    x, places = lib.array(rng.standard_normal((1, 5, 6))), lib.array([[-1, -1, -1, 0, 1]])
    cache = layer.new_cache(1, 5)
    parts = [(x[:, :2], places[:, :2]), (x[:, 2:], places[:, 2:])]
    outs = [lib.numpy(layer(part, cache=cache, positions=at)) for part, at in parts]
    assert (outs[0] == 0).all()
    np.testing.assert_allclose(outs[1][:, 1:], lib.numpy(layer(x[:, 3:])), atol=1e-12)
    assert lib.numpy(layer(x[:, :0])).shape == (1, 0, 6)


def test_frequencies_go_into_the_table_with_their_factor(lib):
    """And unpack as before: the factor of cosine and sine cannot be forgotten."""
    frequencies = lib.rope_frequencies(8, scaling=YaRN(4.0, original_max_positions=16))
    inv_freq, rope_factor, logit_factor = frequencies
    assert (frequencies.inv_freq is inv_freq, frequencies.logit_factor) == (True, logit_factor)
    assert rope_factor == frequencies.rope_factor > 1
    positions = lib.array(np.arange(5))
    whole = lib.rope_table(positions, frequencies)
    apart = lib.rope_table(positions, inv_freq, rope_factor=rope_factor)
    own = lib.rope_table(positions, frequencies, rope_factor=1.0)
    plain = lib.rope_table(positions, inv_freq)
    for a, b in zip((*whole, *own), (*apart, *plain), strict=True):
        np.testing.assert_array_equal(lib.numpy(a), lib.numpy(b))
    assert float(whole[0][0, 0]) == np.float32(rope_factor)
