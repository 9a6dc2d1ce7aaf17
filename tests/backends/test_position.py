"""Positions that are added: sinusoids, trained vectors, ALiBi, T5's buckets, Shaw's vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, ShapeError


def test_sinusoids_are_those_of_the_paper(lib):
    found = lib.numpy(lib.sinusoidal_positions(lib.array(np.arange(50)), 6, dtype="float64"))
    for pos in (0, 1, 49):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            np.testing.assert_allclose(
                found[pos, 2 * i : 2 * i + 2], [np.sin(angle), np.cos(angle)]
            )


@given(shift=st.integers(-40, 40))
def test_a_shift_is_a_linear_map(lib, shift):
    positions = np.arange(50, 60)
    here, there = (
        lib.numpy(lib.sinusoidal_positions(lib.array(p), 8, dtype="float64"))
        for p in (positions, positions + shift)
    )
    angle = shift / 10000 ** (np.arange(4) / 4)
    turned = np.empty_like(here)
    turned[:, 0::2] = here[:, 0::2] * np.cos(angle) + here[:, 1::2] * np.sin(angle)
    turned[:, 1::2] = here[:, 1::2] * np.cos(angle) - here[:, 0::2] * np.sin(angle)
    np.testing.assert_allclose(turned, there, atol=1e-12)


def test_sinusoids_take_a_batch_and_give_float32(lib):
    rows = np.array([[0, 1], [5, 6]])
    found = lib.numpy(lib.sinusoidal_positions(lib.array(rows), 4))
    assert found.shape == (2, 2, 4)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(
        found[1], lib.numpy(lib.sinusoidal_positions(lib.array(rows[1]), 4))
    )
    for bad in ({"d_model": 5}, {"d_model": 0}, {"d_model": 4, "theta": 0.0}):
        with pytest.raises(ConfigError):
            lib.sinusoidal_positions(lib.array(rows), **bad)
    with pytest.raises(DTypeError):
        lib.sinusoidal_positions(lib.array(rows), 4, dtype="float16")
    with pytest.raises(DTypeError):
        lib.sinusoidal_positions(lib.array(rows * 1.0), 4)
    with pytest.raises(ShapeError):
        lib.sinusoidal_positions(lib.array(rows[None]), 4)


def test_learned_positions_end_where_the_table_ends(lib):
    table = lib.LearnedPositions(4, 6, dtype="float64")
    found = lib.numpy(table(lib.array(np.array([[-1, 0, 3]]))))
    weight = lib.numpy(table.state_dict()["weight"])
    np.testing.assert_array_equal(found[0], weight[[0, 0, 3]])
    with pytest.raises(ConfigError, match="0 … 3, got 4"):
        table(lib.array(np.array([4])))


def test_slopes_are_in_the_published_order(lib):
    assert lib.numpy(lib.alibi_slopes(8)).tolist() == [2.0**-i for i in range(1, 9)]
    twelve = lib.numpy(lib.alibi_slopes(12))
    np.testing.assert_allclose(twelve[:8], [2.0**-i for i in range(1, 9)])
    np.testing.assert_allclose(twelve[8:], [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5])
    assert lib.numpy(lib.alibi_slopes(1)).tolist() == [2.0**-8]
    with pytest.raises(ConfigError):
        lib.alibi_slopes(0)


def test_bias_of_a_lone_query_behind_a_cache(lib):
    slopes = lib.alibi_slopes(2)
    whole = lib.numpy(lib.alibi_bias(slopes, *(lib.array(np.arange(6)),) * 2))
    last = lib.numpy(lib.alibi_bias(slopes, lib.array(np.array([5])), lib.array(np.arange(6))))
    np.testing.assert_array_equal(last, whole[:, 5:])
    assert (last[:, 0, :-1] < 0).all()  # a bias made from the query's length would be zero here
    rows = lib.array(np.array([[5], [3]]))
    keys = lib.array(np.array([[5, 3, 4, -1], [0, 1, 2, 3]]))
    found = lib.numpy(lib.alibi_bias(slopes, rows, keys))
    assert found.shape == (2, 2, 1, 4)
    np.testing.assert_allclose(found[0, 0, 0, :3], -np.array([0, 2, 1]) * 2.0**-4)
    with pytest.raises(ShapeError, match="batch"):
        lib.alibi_bias(slopes, rows, lib.array(np.zeros((3, 4), int)))
    with pytest.raises(DTypeError):
        lib.alibi_bias(slopes, rows, lib.array(np.zeros((2, 4))))


def test_a_key_ahead_gets_no_bias(lib):
    """Nor does it get a reward, where no causal mask hides it."""
    where = lib.array(np.arange(5))
    bias = lib.numpy(lib.alibi_bias(lib.alibi_slopes(3), where, where))
    behind = np.tril(np.ones((5, 5), bool), -1)
    assert (bias[:, behind] < 0).all()
    assert (bias[:, ~behind] == 0).all()


def test_near_distances_have_a_bucket_each(lib):
    behind = -np.arange(200)
    buckets = lib.numpy(lib.relative_position_bucket(lib.array(behind), bidirectional=False))
    assert buckets[:16].tolist() == list(range(16))
    assert (np.diff(buckets) >= 0).all()
    assert buckets[127] == buckets[199] == 31
    ahead = lib.numpy(lib.relative_position_bucket(lib.array(-behind), bidirectional=False))
    assert (ahead == 0).all()
    two = lib.numpy(
        lib.relative_position_bucket(lib.array(np.arange(-200, 201)), bidirectional=True)
    )
    assert (two[201:] == two[:200][::-1] + 16).all()
    assert two[200] == 0


def test_buckets_refuse(lib):
    some = lib.array(np.arange(3))
    for options in ({"num_buckets": 3}, {"num_buckets": 5}, {"max_distance": 16}):
        with pytest.raises(ConfigError):
            lib.relative_position_bucket(some, bidirectional=False, **options)
    with pytest.raises(DTypeError):
        lib.relative_position_bucket(lib.array(np.zeros(3)), bidirectional=False)


def shaw(q, k, v, keys, values, q_positions, kv_positions):
    """Pair by pair, as the equations are written."""
    most, out = len(keys) // 2, np.zeros((*q.shape[:3], v.shape[3]))
    for b, h, i in np.ndindex(q.shape[:3]):
        rows = [np.clip(j - q_positions[i], -most, most) + most for j in kv_positions]
        scores = np.array([q[b, h, i] @ (k[b, h, j] + keys[r]) for j, r in enumerate(rows)])
        weights = np.exp(scores * q.shape[3] ** -0.5)
        weights /= weights.sum()
        out[b, h, i] = sum(
            w * (v[b, h, j] + values[r]) for j, (w, r) in enumerate(zip(weights, rows, strict=True))
        )
    return out  # fmt: skip


def test_relative_vectors_are_those_of_the_equations(lib, rng):
    q, k = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((2, 3, 6, 5))
    v = rng.standard_normal((2, 3, 6, 2))
    relative = lib.RelativePositions(5, 2, v_head_dim=2, dtype="float64")
    state = {n: rng.standard_normal(tuple(w.shape)) for n, w in relative.state_dict().items()}
    relative.load_state_dict(state)
    places = np.arange(2, 6), np.arange(6)
    arrays, where = [lib.array(a) for a in (q, k, v)], [lib.array(p) for p in places]
    bias = relative.score_bias(arrays[0], *where)
    out, weights = lib.scaled_dot_product_attention(*arrays, bias=bias, return_weights=True)
    found = lib.numpy(out) + lib.numpy(relative.value_sum(weights, *where))
    expected = shaw(q, k, v, state["keys"], state["values"], *places)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_relative_vectors_take_positions_of_each_row(lib, rng):
    relative = lib.RelativePositions(4, 3, seed=2, dtype="float64")
    q = lib.array(rng.standard_normal((2, 1, 2, 4)))
    rows = np.array([[3, 4], [0, 1]]), np.array([[0, 1, 2, 3], [-1, -1, 0, 1]])
    together = lib.numpy(relative.score_bias(q, *(lib.array(r) for r in rows)))
    for i in range(2):
        alone = relative.score_bias(q[i : i + 1], *(lib.array(r[i]) for r in rows))
        np.testing.assert_allclose(together[i : i + 1], lib.numpy(alone), rtol=1e-12, atol=1e-15)
    weights = lib.array(np.full((2, 1, 2, 4), 0.25))
    assert lib.numpy(relative.value_sum(weights, *(lib.array(r) for r in rows))).shape == (
        2,
        1,
        2,
        4,
    )
    with pytest.raises(ShapeError, match="positions"):
        relative.score_bias(q, lib.array(np.arange(3)), lib.array(np.arange(4)))
    with pytest.raises(ShapeError, match="kv_len"):
        relative.value_sum(weights, lib.array(np.arange(2)), lib.array(np.arange(3)))
    three = lib.array(np.zeros((3, 2), int))
    for call, array in ((relative.score_bias, q), (relative.value_sum, weights)):
        with pytest.raises(ShapeError, match="batch = 3, not 2"):
            call(array, three, lib.array(np.arange(4)))
        with pytest.raises(DTypeError):
            call(lib.array(np.ones((2, 1, 2, 4), int)), *(lib.array(r) for r in rows))
    with pytest.raises(DTypeError, match="the vectors are"):
        relative.score_bias(lib.array(np.ones((2, 1, 2, 4), "f4")), *(lib.array(r) for r in rows))
    with pytest.raises(ConfigError):
        lib.RelativePositions(4, 0)


@pytest.mark.parametrize("seed", [0, 3])
def test_relative_vectors_are_drawn_as_said(lib, seed):
    """Standard deviation 0.02, mean 0: 64,000 numbers tell it to a hundredth."""
    relative = lib.RelativePositions(64, 500, v_head_dim=70, seed=seed, dtype="float64")
    for name, width in (("keys", 64), ("values", 70)):
        table = lib.numpy(relative.state_dict()[name])
        assert table.shape == (1001, width)
        assert table.std() == pytest.approx(0.02, rel=0.02)
        assert abs(table.mean()) < 0.0005
    other = lib.RelativePositions(64, 500, v_head_dim=70, seed=seed + 1, dtype="float64")
    assert not np.allclose(lib.numpy(other.keys), lib.numpy(relative.keys))


def test_the_scale_of_relative_scores(lib, rng):
    relative = lib.RelativePositions(4, 2, dtype="float64")
    q, where = lib.array(rng.standard_normal((1, 2, 3, 4))), lib.array(np.arange(3))
    own, plain, twice = (
        lib.numpy(relative.score_bias(q, where, where, scale=scale)) for scale in (None, 1.0, 2)
    )
    np.testing.assert_allclose(own, plain / 2, rtol=1e-12)  # 4 ** -0.5
    np.testing.assert_allclose(twice, plain * 2, rtol=1e-12)
    for scale in ("1", float("nan"), True, [1.0]):
        with pytest.raises(ConfigError, match="scale must be a finite number"):
            relative.score_bias(q, where, where, scale=scale)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("head_dim", {"head_dim": 0}),
        ("head_dim", {"head_dim": "4"}),
        ("max_distance", {"max_distance": 0}),
        ("v_head_dim", {"v_head_dim": 0}),
        ("v_head_dim", {"v_head_dim": 2.0}),
        ("seed", {"seed": -1}),
    ],
)
def test_sizes_of_relative_vectors_are_named(lib, name, arguments):
    with pytest.raises(ConfigError, match=f"^{name} must be"):
        lib.RelativePositions(**{"head_dim": 4, "max_distance": 2, **arguments})


def test_what_positions_refuse_beside_arrays(lib):
    where = lib.array(np.arange(3))
    with pytest.raises(ConfigError, match="bidirectional must be True or False, got 'false'"):
        lib.relative_position_bucket(where, bidirectional="false")
    for theta in (None, "1", float("nan"), -1.0):
        with pytest.raises(ConfigError, match="theta must be a finite number above 0"):
            lib.sinusoidal_positions(where, 4, theta=theta)
    with pytest.raises(DTypeError, match=r"slopes must be floating point, got .*int"):
        lib.alibi_bias(lib.array(np.ones(2, int)), where, where)


def test_far_keys_add_up_in_half_precision(lib):
    """8,192 weights of 2 ** -13 share a vector; one by one in half precision they stop short."""
    relative = lib.RelativePositions(4, 2, seed=1, dtype="float16")
    weights = lib.array(np.full((1, 1, 1, 8192), 2.0**-13, "float16"))
    where = lib.array(np.array([10000])), lib.array(np.arange(8192))
    found = lib.numpy(relative.value_sum(weights, *where))
    assert found.dtype == "float16"
    assert (found[0, 0, 0] == lib.numpy(relative.values)[0]).all()


def test_a_bias_by_positions_ignores_padding(lib, rng):
    """A row behind padding attends as the same row alone, with ALiBi and with Shaw's vectors."""
    q, k, v = rng.standard_normal((3, 1, 4, 6, 4))
    relative = lib.RelativePositions(4, 2, dtype="float64")
    padded, alone = np.array([-1, -1, 0, 1, 2, 3]), np.arange(4)

    def run(arrays, positions):
        where = lib.array(positions)
        bias = lib.alibi_bias(lib.alibi_slopes(4), where, where)
        bias = bias + relative.score_bias(lib.array(arrays[0]), where, where)
        out, weights = lib.scaled_dot_product_attention(
            *(lib.array(a) for a in arrays), bias=bias, causal=True, q_positions=where,
            kv_positions=where, return_weights=True,
        )  # fmt: skip
        return lib.numpy(out + relative.value_sum(weights, where, where))

    behind = run((q, k, v), padded)[:, :, 2:]
    np.testing.assert_allclose(behind, run([a[:, :, 2:] for a in (q, k, v)], alone), atol=1e-13)


class TestTorch:
    """What only PyTorch has: gradients, graphs, devices, autocast."""

    def test_relative_vectors_train(self):
        import torch

        import mini_attn.torch as mt

        relative = mt.RelativePositions(3, 2, dtype="float64")
        q = torch.randn(1, 2, 4, 3, dtype=torch.float64, requires_grad=True)
        places = torch.arange(4), torch.arange(5)

        out = relative.value_sum(relative.score_bias(q, *places).softmax(-1), *places)
        (out**2).sum().backward()
        for weight in (relative.keys, relative.values, q):
            assert weight.grad is not None
            assert (weight.grad != 0).any()

    def test_nothing_waits_for_a_value(self):
        """Tensors without storage: whatever read a number from the device would raise."""
        import torch

        import mini_attn.torch as mt

        positions = torch.arange(8, device="meta").view(2, 4)
        relative = mt.RelativePositions(3, 2, device="meta")
        weights = relative.score_bias(torch.empty(2, 5, 4, 3, device="meta"), positions, positions)
        assert relative.value_sum(weights, positions, positions).shape == (2, 5, 4, 3)
        slopes = mt.alibi_slopes(5).to("meta")
        assert mt.alibi_bias(slopes, positions, positions).shape == (2, 5, 4, 4)
        assert mt.sinusoidal_positions(positions, 6).shape == (2, 4, 6)
        assert mt.relative_position_bucket(positions, bidirectional=True).shape == (2, 4)

    def test_biases_are_one_graph(self):
        import torch

        import mini_attn.torch as mt

        relative, slopes = mt.RelativePositions(3, 2), mt.alibi_slopes(2)

        def run(q, positions):
            weights = relative.score_bias(q, positions, positions)
            weights = (weights + mt.alibi_bias(slopes, positions, positions)).softmax(-1).float()
            buckets = mt.relative_position_bucket(positions, bidirectional=False)
            return relative.value_sum(weights, positions, positions), buckets

        q, positions = torch.randn(1, 2, 4, 3), torch.arange(4)
        graph = torch.compile(run, fullgraph=True, backend="eager")
        for found, expected in zip(graph(q, positions), run(q, positions), strict=True):
            assert torch.equal(found, expected)

    def test_autocast_takes_what_layers_give(self):
        import torch

        import mini_attn.torch as mt

        relative, places = mt.RelativePositions(3, 2), (torch.arange(4),) * 2
        q = torch.randn(1, 2, 4, 3).bfloat16()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            weights = relative.score_bias(q, *places).softmax(-1)
            found = relative.value_sum(weights, *places)
        exact = relative.score_bias(q.float(), *places).softmax(-1)
        torch.testing.assert_close(weights.float(), exact, atol=0.01, rtol=0.01)
        exact = relative.value_sum(exact, *places)
        torch.testing.assert_close(found.float(), exact, atol=1e-3, rtol=0.02)


def test_backends_agree(backends, rng):
    state = {name: rng.standard_normal((7, 4)) for name in ("keys", "values")}
    q = rng.standard_normal((1, 2, 3, 4))
    outs = []
    for lib in backends:
        relative = lib.RelativePositions(4, 3, dtype="float64")
        relative.load_state_dict(state)
        places = [lib.array(np.arange(3)), lib.array(np.arange(5))]
        outs.append(lib.numpy(relative.score_bias(lib.array(q), *places)))
    np.testing.assert_allclose(outs[0], outs[1], atol=1e-14)
