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


# --- small floats ------------------------------------------------------------------------------

FORMS = ["fp8", "nvfp4"]


def floats(lib, form, capacity=40, **options):
    sizes = {"v_head_dim": 20, "dtype": "float64"} | options
    return lib.QuantizedKVCache(BATCH, HEADS, 16, capacity, format=form, **sizes)


def wide_tokens(rng, new, v_dim=20):
    return [rng.normal(size=(BATCH, HEADS, new, width)) for width in (16, v_dim)]


@given(
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    form=st.sampled_from(FORMS),
    residual=st.sampled_from([None, 1, 5]),
    scale=st.sampled_from([None, 0.03, [0.5, 1.0, 7.0]]),
    data=st.data(),
)
def test_a_format_takes_any_crop_and_seals_the_same_again(lib, chunks, form, residual, scale, data):
    """Each token is sealed by itself: cropped anywhere, nothing of what was there is left."""
    rng = np.random.default_rng(11)
    options = {"residual": residual, "k_scale": scale, "v_scale": scale}
    cache, whole = (floats(lib, form, 60, **options) for _ in range(2))
    k, v = wide_tokens(rng, sum(chunks))
    end = 0
    for new in chunks:
        append(lib, cache, *wide_tokens(rng, new))
        fork = cache.fork()
        n = data.draw(st.integers(0, end))
        cache.crop(n)
        assert cache.sealed <= cache.slots == n
        part = slice(n, end := end + new)
        append(lib, cache, k[:, :, part], v[:, :, part])
        append(lib, fork, *wide_tokens(rng, 1))  # shows nowhere else
    append(lib, whole, k[:, :, :end], v[:, :, :end])
    if residual is None:
        assert cache.sealed == whole.sealed == end
        for one, other in zip(held(lib, cache), held(lib, whole), strict=True):
            assert (one == other).all()
    index = np.array([1, 1])
    before = [array.copy() for array in held(lib, cache)]
    cache.reorder(lib.array(index))
    for one, other in zip(held(lib, cache), before, strict=True):
        assert (one == other[index]).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_scale_of_each_head_is_that_head_s(lib, rng, form):
    """As if each head had a cache of its own, and scales are no bytes of the cache."""
    k, v = wide_tokens(rng, 7)
    scales = {"k_scale": lib.array(np.array([0.2, 1.0, 30.0])), "v_scale": [2.0, 0.125, 5]}
    cache = floats(lib, form, **scales)
    append(lib, cache, k, v)
    assert (cache.k_scale, cache.v_scale) == ((0.2, 1.0, 30.0), (2.0, 0.125, 5.0))
    assert cache.used_bytes == floats_bytes(form) * 7 * BATCH * HEADS
    for head in range(HEADS):
        one = lib.QuantizedKVCache(
            BATCH, 1, 16, 40, v_head_dim=20, dtype="float64", format=form,
            k_scale=cache.k_scale[head], v_scale=cache.v_scale[head],
        )  # fmt: skip
        append(lib, one, k[:, [head]], v[:, [head]])
        for ours, theirs in zip(held(lib, cache)[:2], held(lib, one)[:2], strict=True):
            assert (ours[:, [head]] == theirs).all()


def floats_bytes(form):
    """Of a token of one head: 16 numbers and 20."""
    return 16 + 20 if form == "fp8" else 8 + 1 + 10 + 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("scale", [1.0, 1e36])
def test_what_is_too_large_becomes_the_largest(lib, form, dtype, scale):
    """Infinity too; and nothing leaves the range of the cache's own type."""
    x = np.full((1, 1, 1, 16), 1e4, dtype)
    x[..., 0], x[..., 1] = np.inf, -np.inf
    cache = lib.QuantizedKVCache(1, 1, 16, 4, format=form, dtype=dtype, k_scale=scale)
    append(lib, cache, x, x)
    largest = {"fp8": 448, "nvfp4": 2688}[form]
    end = min(float(np.float32(scale)) * largest, float(np.finfo(dtype).max))
    got = held(lib, cache)[0][0, 0, 0].astype(float)
    np.testing.assert_allclose(got[:2], [end, -end], rtol=1e-6)
    assert (got[2:] == (largest if scale == 1 else 0)).all()


def test_nan_stays_nan_in_fp8_and_is_refused_in_nvfp4(lib, rng):
    k, v = wide_tokens(rng, 3)
    bad = k.copy()
    bad[0, 1, 2, 5] = np.nan
    cache = floats(lib, "fp8")
    append(lib, cache, bad, v)
    got, clean = held(lib, cache)[0], floats(lib, "fp8")
    append(lib, clean, k, v)
    assert np.isnan(got[0, 1, 2, 5])
    assert (np.isnan(got).sum()) == 1
    same = ~np.isnan(got)
    assert (got[same] == held(lib, clean)[0][same]).all()
    cache = floats(lib, "nvfp4")
    append(lib, cache, k, v)
    before = [array.copy() for array in held(lib, cache)]
    for which, given_arrays in (("k", (bad, v)), ("v", (k, np.full_like(v, np.nan)))):
        with pytest.raises(ConfigError, match=f"^{which} holds NaN, for which e2m1 has no code"):
            append(lib, cache, *given_arrays)
    for one, other in zip(held(lib, cache), before, strict=True):
        assert (one == other).all()
    assert (cache.slots, cache.sealed) == (3, 3)


def test_on_a_device_a_block_with_nan_comes_back_as_nan(rng, monkeypatch):
    import torch

    import mini_attn.torch as mt
    from mini_attn.torch.caches import _codes

    monkeypatch.setattr(_codes, "_at_hand", lambda x: False)
    cache, clean = (floats(mt, "nvfp4") for _ in "ab")
    k, v = (torch.from_numpy(array) for array in wide_tokens(rng, 3))
    clean.append(k, v)
    bad = v.clone()
    bad[1, 2, 0, 17] = torch.nan  # in the second block, of 4 channels
    cache.append(k, bad)
    got, expected = cache.view()[1].clone(), clean.view()[1].clone()
    assert got[1, 2, 0, 16:].isnan().all()
    got[1, 2, 0, 16:] = expected[1, 2, 0, 16:] = 0
    assert torch.equal(got, expected)


@pytest.mark.parametrize("options", [{"format": "fp8"}, {"format": "nvfp4"}, {"bits": 4}])
def test_after_a_rotation_an_outlier_costs_whole_numbers_less(lib, rng, options):
    """Small floats have steps that grow with the number: there is nothing to gain in one block."""
    x = rng.normal(size=(1, 2, 64, 16))
    x[..., 3] *= 30
    sizes = {"dtype": "float64", "key_axis": "token", "residual": 0} | options
    plain, turned = (
        lib.QuantizedKVCache(1, 2, 16, 64, **sizes, rotation=rotation)
        for rotation in (None, "hadamard")
    )
    for cache in (plain, turned):
        append(lib, cache, x, x)
    assert plain.used_bytes == turned.used_bytes  # a rotation takes none
    assert plain.allocated_bytes == turned.allocated_bytes
    others = np.arange(16) != 3
    off, less = (np.abs(held(lib, cache)[0] - x)[..., others].mean() for cache in (plain, turned))
    assert less < 0.8 * off if "bits" in options else less > off


def test_a_rotation_does_not_change_scores(lib, rng):
    """Products of two rotated vectors are those of the vectors; a second one takes it back."""
    x = rng.normal(size=(2, 3, 5, 8))
    turned = lib.numpy(lib.hadamard_rotation(lib.array(x)))
    q = rng.normal(size=(2, 3, 4, 8))
    turned_q = lib.numpy(lib.hadamard_rotation(lib.array(q)))
    np.testing.assert_allclose(turned_q @ turned.swapaxes(2, 3), q @ x.swapaxes(2, 3), atol=1e-12)
    np.testing.assert_allclose(lib.numpy(lib.hadamard_rotation(lib.array(turned))), x, atol=1e-13)
    matrix = np.ones((1, 1))
    for _ in range(3):  # Sylvester's construction
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    np.testing.assert_allclose(turned, x @ matrix / 8**0.5, atol=1e-13)
    half = lib.numpy(lib.hadamard_rotation(lib.array(x.astype("float16"))))
    assert half.dtype == np.float16
    for wrong in (np.ones(6), np.ones(()), np.ones((2, 0))):
        with pytest.raises(ConfigError, match="a last axis that is a power of 2, got"):
            lib.hadamard_rotation(lib.array(wrong))


def test_backends_hold_the_same_floats(backends, rng):
    k, v = ((array * 50).astype("float32") for array in wide_tokens(rng, 9, 32))
    for form in FORMS:
        for rotation in (None, "hadamard"):
            options = {"k_scale": [0.1, 0.3, 2.0], "rotation": rotation, "v_head_dim": 32}
            caches = [floats(lib, form, dtype="float32", **options) for lib in backends]
            for lib, cache in zip(backends, caches, strict=True):
                append(lib, cache, k, v)
            for ours, theirs in zip(*(cache._state.arrays for cache in caches), strict=True):
                np.testing.assert_array_equal(ours, backends[1].numpy(theirs))


BAD_FLOATS = {
    "format": ({"format": "e5m2"}, "format must be one of fp8, nvfp4, got 'e5m2'"),
    "bits": ({"bits": 8}, "fp8 has bits, groups and scales of its own: leave out bits = 8"),
    "groups": ({"group_size": 16}, "leave out group_size = 16"),
    "scales": ({"scale_dtype": "float16"}, "leave out scale_dtype = 'float16'"),
    "two heads' scales": (
        {"k_scale": [1.0, 2.0]},
        "k_scale must be one scale or 3, one a head, got 2",
    ),
    "no scale": ({"v_scale": 0}, "v_scale must be a finite number above 0, got 0"),
    "nan": ({"v_scale": np.nan}, "v_scale must be a finite number above 0, got nan"),
    "small": ({"k_scale": 1e-40}, r"k_scale = 1e-40 is beyond float32"),
    "word": ({"k_scale": "auto"}, "k_scale must be a finite number above 0, got 'auto'"),
    "no format": ({"format": None, "k_scale": 2.0}, "k_scale go with a format"),
    "rotation": ({"rotation": "random"}, "rotation must be one of hadamard, got 'random'"),
    "20 channels": ({"rotation": "hadamard"}, "that are powers of 2, got 20"),
    "residual": ({"residual": -1}, "residual must be at least 0, got -1"),
}


@pytest.mark.parametrize("case", BAD_FLOATS)
def test_bad_options_of_floats_are_refused(lib, case):
    options, message = BAD_FLOATS[case]
    with pytest.raises(ConfigError, match=message):
        floats(
            lib,
            **({"form": "fp8"} | {"form" if k == "format" else k: v for k, v in options.items()}),
        )


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
