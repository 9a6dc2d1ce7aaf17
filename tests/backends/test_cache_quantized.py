"""Caches of 8 and 4 bits: how near the numbers come back, how they are laid out and taken back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn.config import AttentionConfig
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)

BATCH, HEADS, DIM, V_DIM = 2, 3, 4, 5


def quantized(lib, capacity=40, *, bits=8, group_size=4, residual=3, dtype="float64"):
    options = {"bits": bits, "group_size": group_size, "residual": residual, "dtype": dtype}
    return lib.QuantizedKVCache(BATCH, HEADS, DIM, capacity, v_head_dim=V_DIM, **options)


def tokens(rng, new, dtype="float64"):
    shape = (BATCH, HEADS, new)
    return [rng.normal(size=(*shape, width)).astype(dtype) for width in (DIM, V_DIM)]


def held(lib, cache):
    return [lib.numpy(array) for array in cache.view()]


def append(lib, cache, k, v, **options):
    answer = cache.append(lib.array(k), lib.array(v), **options)
    return [lib.numpy(array) for array in answer]


def steps(x, group_size, bits, axis):
    """Size of one step for each number: of its channel's tokens, or its token's channels."""
    found = np.empty_like(x)
    for start in range(0, x.shape[axis], group_size):
        at = [slice(None)] * x.ndim
        at[axis] = slice(start, start + group_size)
        group = x[tuple(at)]
        spread = group.max(axis=axis, keepdims=True) - group.min(axis=axis, keepdims=True)
        found[tuple(at)] = spread / (2**bits - 1)
    return found


# --- how near ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("group_size", [2, 4, 6])
@pytest.mark.parametrize("residual", [0, 1, 7])
def test_every_number_is_within_half_a_step(lib, rng, bits, group_size, residual):
    """Keys by channel over tokens, values by token over channels; the residual is exact."""
    cache = quantized(lib, bits=bits, group_size=group_size, residual=residual)
    k, v = tokens(rng, 23)
    append(lib, cache, k, v)
    sealed = (23 - residual) // group_size * group_size
    assert cache.sealed == sealed > 0
    for given_array, got, axis in ((k, held(lib, cache)[0], 2), (v, held(lib, cache)[1], 3)):
        old = given_array[:, :, :sealed]
        half = steps(old, group_size, bits, axis) / 2
        error = np.abs(got[:, :, :sealed] - old)
        assert (error <= half * (1 + 1e-9) + 1e-15).all()
        if group_size > 2:  # of two numbers each is an end
            assert error.max() > 0.5 * half.max()  # the bound is no idle one
        assert (got[:, :, sealed:] == given_array[:, :, sealed:]).all()


@pytest.mark.parametrize("bits", [8, 4])
def test_ends_of_a_group_come_back_exactly(lib, bits):
    """Least and largest are the first and the last code."""
    k = np.array([-3.0, 0.25, 1.0, 5.0]).reshape(1, 1, 4, 1)
    cache = lib.QuantizedKVCache(1, 1, 1, 4, bits=bits, group_size=4, residual=0, dtype="float64")
    append(lib, cache, k, k)
    got = held(lib, cache)[0].ravel()
    assert got[0] == -3.0
    assert got[3] == pytest.approx(5.0, abs=1e-12)
    step = 8.0 / (2**bits - 1)
    expected = -3.0 + np.rint((k.ravel() + 3.0) / step) * step
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, -7.25, 1e-30, 3e30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_group_without_spread_is_exact(lib, value, dtype):
    cache = quantized(lib, bits=4, residual=0, dtype=dtype)
    k, v = (np.full((BATCH, HEADS, 8, width), value, dtype) for width in (DIM, V_DIM))
    append(lib, cache, k, v)
    assert cache.sealed == 8
    assert (held(lib, cache)[0] == k).all()
    assert (held(lib, cache)[1] == v).all()


def test_an_outlier_channel_harms_keys_less_by_channel(lib, rng):
    """Why keys go by channel: beside two large channels one scale a token would lose the rest."""
    cache = lib.QuantizedKVCache(
        1, 1, 8, 64, bits=4, group_size=8, residual=0, v_head_dim=8, dtype="float64"
    )
    x = rng.normal(size=(1, 1, 64, 8))
    x[..., :2] *= 15
    append(lib, cache, x, x)
    by_channel, by_token = (np.abs(got - x)[..., 2:].mean() for got in held(lib, cache)[:2])
    assert by_channel < by_token / 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_come_back_in_the_type_they_came_in(lib, rng, dtype):
    cache = quantized(lib, dtype=dtype)
    k, v = tokens(rng, 20, dtype)
    for got in append(lib, cache, k, v)[:2] + held(lib, cache)[:2]:
        assert got.dtype == dtype
    error = np.abs(held(lib, cache)[0].astype(float) - k)
    half = steps(k.astype(float)[:, :, : cache.sealed], 4, 8, 2).max() / 2
    assert error.max() <= half + {"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}[dtype]


def test_bfloat16_keeps_its_scales_in_float32(rng):
    import torch

    import mini_attn.torch as mt

    cache = mt.QuantizedKVCache(1, 1, 64, 64, bits=8, group_size=32, residual=0, dtype="bfloat16")
    x = torch.from_numpy(rng.normal(size=(1, 1, 64, 64))).bfloat16()
    cache.append(x, x)
    got = cache.view()[0]
    assert got.dtype == torch.bfloat16
    spread = x.float().amax() - x.float().amin()
    error = (got.float() - x.float()).abs().max()
    assert error <= spread / 255 / 2 + 2.0**-8 * x.float().abs().max()
    assert (got.amax(dim=2) == x.amax(dim=2)).all()  # a rounded scale would miss a group's end


def test_float16_keeps_its_scales_in_float32(lib, rng):
    cache = lib.QuantizedKVCache(1, 1, 64, 64, bits=8, group_size=32, residual=0, dtype="float16")
    x = rng.normal(size=(1, 1, 64, 64)).astype("float16")
    append(lib, cache, x, x)
    got = held(lib, cache)[0]
    assert got.dtype == np.float16
    ends = np.concatenate([group.max(axis=2) for group in np.split(x, 2, axis=2)])
    found = np.concatenate([group.max(axis=2) for group in np.split(got, 2, axis=2)])
    assert (found == ends).all()  # a rounded scale would miss a group's end


def test_backends_hold_the_same_codes(backends, rng):
    numpy_lib, torch_lib = backends
    k, v = tokens(rng, 31, "float32")
    for bits in (8, 4):
        caches = [quantized(lib, bits=bits, dtype="float32") for lib in backends]
        for lib, cache in zip((numpy_lib, torch_lib), caches, strict=True):
            append(lib, cache, k[:, :, :9], v[:, :, :9])
            append(lib, cache, k[:, :, 9:], v[:, :, 9:])
        one, other = caches
        for ours, theirs in zip(one._state.arrays, other._state.arrays, strict=True):
            np.testing.assert_array_equal(ours, torch_lib.numpy(theirs))


# --- what is given and kept --------------------------------------------------------------------


@given(
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    bits=st.sampled_from([8, 4]),
    group_size=st.sampled_from([2, 4]),
    residual=st.integers(0, 6),
)
def test_any_chunks_seal_the_same(lib, chunks, bits, group_size, residual):
    """How the tokens come in changes nothing: codes are made of what came, once."""
    options = {"bits": bits, "group_size": group_size, "residual": residual}
    cache, whole = quantized(lib, 70, **options), quantized(lib, 70, **options)
    k, v = tokens(np.random.default_rng(3), sum(chunks))
    start = 0
    for new in chunks:
        past = [array.copy() for array in held(lib, cache)]
        part = slice(start, start + new)
        k_all, v_all, positions = append(lib, cache, k[:, :, part], v[:, :, part])
        start += new
        assert (k_all[:, :, part] == k[:, :, part]).all()  # the new ones as they came
        assert (v_all[:, :, part] == v[:, :, part]).all()
        assert (k_all[:, :, : start - new] == past[0]).all()
        assert positions.tolist() == [list(range(start))] * BATCH
        assert start - cache.sealed < residual + group_size
        assert start - cache.sealed >= min(residual, start)
    append(lib, whole, k, v)
    for one, other in zip(held(lib, cache), held(lib, whole), strict=True):
        assert (one == other).all()
    assert cache.sealed == whole.sealed
    assert lib.numpy(cache.length).tolist() == [start] * BATCH
    assert cache.contiguous
    assert cache.last_sees_all


def test_padding_and_positions(lib, rng):
    cache = quantized(lib, residual=0)
    positions = np.array([[-1, -1, 0, 1, 2], [0, 1, 2, 3, 4]])
    append(lib, cache, *tokens(rng, 5), positions=lib.array(positions))
    assert lib.numpy(cache.length).tolist() == [3, 5]
    assert not cache.contiguous
    assert not cache.last_sees_all
    assert lib.numpy(cache.next_positions(2)).tolist() == [[3, 4], [5, 6]]
    *_, after = append(lib, cache, *tokens(rng, 4))
    assert after[:, 5:].tolist() == [[3, 4, 5, 6], [5, 6, 7, 8]]
    assert cache.sealed == 8


def test_no_memory_is_shared_with_what_comes_in(lib, rng):
    cache = quantized(lib, residual=4)
    k, v = tokens(rng, 6)
    append(lib, cache, k, v)
    before = [array.copy() for array in held(lib, cache)]
    k[:], v[:] = 1e9, 1e9
    for one, other in zip(held(lib, cache), before, strict=True):
        assert (one == other).all()


# --- bytes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("size", "residual", "capacity"), [(4, 3, 40), (2, 0, 9), (32, 32, 20)])
def test_bytes_are_those_of_the_arrays(lib, rng, bits, size, residual, capacity):
    cache = quantized(lib, capacity, bits=bits, group_size=size, residual=residual, dtype="float32")
    rows, parts = BATCH * HEADS, -(-V_DIM // size)
    codes = size * bits // 8 * (DIM + V_DIM)
    group = rows * (codes + 2 * 4 * (DIM + size * parts))
    token = rows * (DIM + V_DIM) * 4
    groups = max(0, capacity - residual) // size
    assert cache.allocated_bytes == groups * group + min(capacity, residual + size - 1) * token
    for slots in range(1, capacity + 1):
        append(lib, cache, *tokens(rng, 1, "float32"))
        sealed = max(0, slots - residual) // size
        assert cache.used_bytes == sealed * group + (slots - sealed * size) * token
    assert cache.used_bytes <= cache.allocated_bytes


def test_four_bits_take_six_with_their_scales(lib):
    """Groups of 32: half a byte each, and 8 bytes of scale and zero for 32 numbers."""
    small, plain = (
        kind(1, 8, 128, 4096, **options)
        for kind, options in (
            (lib.QuantizedKVCache, {"bits": 4, "group_size": 32, "residual": 0}),
            (lib.KVCache, {}),
        )
    )
    numbers = plain.allocated_bytes // 4
    residual = 31 * 8 * 256 * 4
    assert 8 * (small.allocated_bytes - residual) == 6 * numbers


# --- taking back, copies, rows -----------------------------------------------------------------


@given(
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    residual=st.integers(0, 5),
    padding=st.booleans(),
)
def test_the_latest_append_can_be_taken_back(lib, chunks, residual, padding):
    """Done again with other tokens, nothing of the first try is left."""
    rng = np.random.default_rng(5)
    cache, twin = (quantized(lib, 60, bits=4, residual=residual) for _ in range(2))
    for number, new in enumerate(chunks):
        options = {}
        if padding and not number:
            options["positions"] = lib.array(np.maximum(np.arange(new) - 1, -1))
        before = cache.slots
        append(lib, cache, *tokens(rng, new), **options)
        cache.crop(before)
        k, v = tokens(rng, new)
        for one, other in zip(
            append(lib, cache, k, v, **options), append(lib, twin, k, v, **options), strict=True
        ):
            assert (one == other).all()
        for one, other in zip(held(lib, cache), held(lib, twin), strict=True):
            assert (one == other).all()
        assert (cache.sealed, cache.slots) == (twin.sealed, twin.slots)
        assert (cache.contiguous, cache.last_sees_all) == (twin.contiguous, twin.last_sees_all)


def test_crops_into_the_residual(lib, rng):
    cache = quantized(lib, residual=5)
    for new in (12, 1, 1):
        append(lib, cache, *tokens(rng, new))
    assert cache.sealed == 8  # by the second of these
    cache.crop(13)
    cache.crop(9)
    assert cache.slots == 9
    with pytest.raises(CacheStateError, match="only 9 are filled"):
        cache.crop(10)
    with pytest.raises(CacheStateError, match="cannot keep 7 of 9 slots: the first 8 are sealed"):
        cache.crop(7)
    assert (cache.slots, cache.sealed) == (9, 8)  # a refusal changes nothing
    with pytest.raises(ConfigError, match="n must be at least 0"):
        cache.crop(-1)
    cache.crop(8)
    append(lib, cache, *tokens(rng, 2))
    assert cache.slots == 10


def test_an_append_that_sealed_can_be_taken_back_further(lib, rng):
    """Back before it, and from there into what was the residual then; never twice."""
    cache = quantized(lib, residual=3)
    append(lib, cache, *tokens(rng, 9))
    assert cache.sealed == 4
    kept = [array.copy() for array in held(lib, cache)]
    append(lib, cache, *tokens(rng, 8))
    assert cache.sealed == 12
    with pytest.raises(CacheStateError, match="cannot keep 10 of 17"):
        cache.crop(10)
    with pytest.raises(CacheStateError, match="cannot keep 3 of 17"):
        cache.crop(3)
    cache.crop(7)
    assert (cache.slots, cache.sealed) == (7, 4)
    for one, other in zip(held(lib, cache)[:2], kept[:2], strict=True):
        assert (one == other[:, :, :7]).all()
    with pytest.raises(CacheStateError, match="the first 4 are sealed"):
        cache.crop(3)


def test_a_fork_shares_nothing(lib, rng):
    cache = quantized(lib)
    append(lib, cache, *tokens(rng, 14))
    twin = cache.fork()
    before = [array.copy() for array in held(lib, twin)]
    append(lib, cache, *tokens(rng, 9))
    cache.crop(14)
    append(lib, cache, *tokens(rng, 12))
    for one, other in zip(held(lib, twin), before, strict=True):
        assert (one == other).all()
    k, v = tokens(rng, 9)
    append(lib, twin, k, v)
    twin.crop(14)
    assert twin.slots == 14


def test_rows_move_with_codes_scales_and_what_can_be_taken_back(lib, rng):
    """Row by row as if each had been its own cache; repeated rows do not share memory."""
    cache = quantized(lib, bits=4)
    positions = lib.array(np.array([[-1, *range(8)], [*range(9)]]))
    append(lib, cache, *tokens(rng, 9), positions=positions)
    kept = [array.copy() for array in held(lib, cache)]
    append(lib, cache, *tokens(rng, 6))
    before = [array.copy() for array in held(lib, cache)]
    index = np.array([1, 1])
    cache.reorder(lib.array(index))
    for one, other in zip(held(lib, cache), before, strict=True):
        assert (one == other[index]).all()
    cache.crop(9)
    for one, other in zip(held(lib, cache), kept, strict=True):
        assert (one == other[index]).all()
    append(lib, cache, *tokens(rng, 1))
    last = held(lib, cache)[0]
    assert (last[0, :, -1] != last[1, :, -1]).any()
    with pytest.raises(ConfigError, match="index must lie in 0 … 1"):
        cache.reorder(lib.array(np.array([0, 2])))


# --- in a layer --------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "bound"), [(8, 0.02), (4, 0.4)])
def test_a_layer_decodes_within_a_bound(lib, rng, bits, bound):
    """Scores and values are off by half steps at the most, so outputs stay near the exact ones."""
    config = AttentionConfig(d_model=24, n_heads=4, head_dim=8, n_kv_heads=2)
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    x = lib.array(rng.normal(size=(2, 40, 24)))
    exact = lib.numpy(layer(x))
    cache = lib.QuantizedKVCache(2, 2, 8, 40, bits=bits, group_size=8, residual=8, dtype="float64")
    parts = [layer(x[:, :20], cache=cache)]
    parts += [layer(x[:, i : i + 1], cache=cache) for i in range(20, 40)]
    got = np.concatenate([lib.numpy(part) for part in parts], axis=1)
    assert cache.sealed == 32
    np.testing.assert_allclose(got[:, :20], exact[:, :20], atol=1e-12)  # a prompt sees itself
    error = np.abs(got - exact).max() / np.abs(exact).max()
    assert 0 < error < bound


def test_unused_codes_are_never_read(lib, rng):
    cache, clean = quantized(lib, bits=4), quantized(lib, bits=4)
    for array in cache._state.arrays:
        array[...] = float("nan") if "float" in str(array.dtype) else 255
    k, v = tokens(rng, 17)
    for part in (slice(0, 11), slice(11, 17)):
        for one, other in zip(
            append(lib, cache, k[:, :, part], v[:, :, part]),
            append(lib, clean, k[:, :, part], v[:, :, part]),
            strict=True,
        ):
            assert (one == other).all()


# --- bad input ---------------------------------------------------------------------------------

BAD_SIZES = {
    "five bits": ({"bits": 5}, "bits must be 8, 4, 3 or 2, got 5"),
    "true bits": ({"bits": "8"}, "bits must be a whole number, got '8'"),
    "odd group": ({"bits": 4, "group_size": 3}, "group_size 3 must be even"),
    "no group": ({"group_size": 0}, "group_size must be at least 1, got 0"),
    "residual": ({"residual": -1}, "residual must be at least 0, got -1"),
    "capacity": ({"capacity": 0}, "capacity must be at least 1, got 0"),
}


@pytest.mark.parametrize("case", BAD_SIZES)
def test_bad_sizes_are_refused(lib, case):
    options, message = BAD_SIZES[case]
    with pytest.raises(ConfigError, match=message):
        quantized(lib, **options)


def test_a_refused_append_writes_nothing(lib, rng):
    cache = quantized(lib, 12, residual=2)
    append(lib, cache, *tokens(rng, 9))
    before = [array.copy() for array in held(lib, cache)]
    state = (cache.slots, cache.sealed, cache.used_bytes, cache.contiguous)
    k, v = tokens(rng, 2)
    bad = [
        (CacheOverflowError, tokens(rng, 4), {}),
        (ShapeError, [k[:, :2], v], {}),
        (ShapeError, [k, k], {}),
        (DTypeError, [k.astype("float32"), v], {}),
        (ConfigError, [k, v], {"positions": lib.array(np.array([3, 4]))}),
        (ShapeError, [k[:, :, :0], v[:, :, :0]], {}),
    ]
    for error, given_arrays, options in bad:
        with pytest.raises(error):
            append(lib, cache, *given_arrays, **options)
        assert (cache.slots, cache.sealed, cache.used_bytes, cache.contiguous) == state
        for one, other in zip(held(lib, cache), before, strict=True):
            assert (one == other).all()
    with pytest.raises(CacheOverflowError):
        cache.next_positions(4)
    append(lib, cache, k, v)


def test_a_view_cannot_be_written():
    """In NumPy; PyTorch cannot forbid it."""
    cache = ma.QuantizedKVCache(1, 1, 2, 8, group_size=2, residual=0)
    rows = np.ones((1, 1, 5, 2), np.float32)
    for answer in (cache.append(rows, rows), cache.view()):
        for array in answer:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_no_gradient_is_carried(rng):
    import torch

    import mini_attn.torch as mt

    cache = quantized(mt, dtype="float32")
    k, v = (torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in tokens(rng, 12))
    for array in (*cache.append(k, v)[:2], *cache.view()[:2]):
        assert not array.requires_grad
