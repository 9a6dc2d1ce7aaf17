"""Codes of 8 to 2 bits, by channel or token, with scales in half precision: by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError

BATCH, HEADS, DIM, V_DIM = 2, 3, 6, 11
PAIRS = [(8, 8), (4, 2), (3, 8), (2, 3), (3, 3), (2, 2)]
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
HALVES = np.unique(HALVES[np.isfinite(HALVES)].astype(np.float64))


def quantized(lib, k_bits=3, v_bits=3, *, capacity=40, **options):
    sizes = {"group_size": 8, "residual": 0, "v_head_dim": V_DIM, "dtype": "float64"}
    options = {"k_bits": k_bits, "v_bits": v_bits, **sizes, **options}
    return lib.QuantizedKVCache(BATCH, HEADS, DIM, capacity, **options)


def tokens(rng, new, dtype="float64"):
    shape = (BATCH, HEADS, new)
    return [rng.normal(size=(*shape, width)).astype(dtype) for width in (DIM, V_DIM)]


def append(lib, cache, k, v):
    return [lib.numpy(array) for array in cache.append(lib.array(k), lib.array(v))]


def held(lib, cache):
    return [lib.numpy(array) for array in cache.view()[:2]]


def sealed_arrays(lib, cache):
    """Codes, scales and zeros of the keys, then of the values."""
    arrays = [lib.numpy(array) for array in cache._state.arrays[2:]]
    return arrays[:3], arrays[3:]


def groups_of(shape, size, axis):
    """Where each group of (batch, heads, tokens, width) lies, and its scale."""
    for b, h, first in itertools.product(*map(range, shape[:2]), range(0, shape[2], size)):
        if axis == "channel":
            for c in range(shape[3]):
                yield (b, h, slice(first, first + size), c), (b, h, first // size, 0, c)
        else:
            for t, part in itertools.product(range(size), range(0, shape[3], size)):
                yield (
                    (b, h, first + t, slice(part, part + size)),
                    (b, h, first // size, t, part // size),
                )


def kept(number, scale_dtype, *, up):
    """The next number of that type that is not below, or not above; searched among all."""
    if scale_dtype == "float16":
        at = np.searchsorted(HALVES, number, "left" if up else "right")
        return HALVES[at if up else at - 1]
    if scale_dtype == "float32":
        near = np.float32(number)
        if (near < number) if up else (near > number):
            near = np.nextafter(near, np.float32(np.inf if up else -np.inf))
        return float(near)
    return number


# --- by brute force ----------------------------------------------------------------------------


@pytest.mark.parametrize(("k_bits", "v_bits"), PAIRS)
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize("scale_dtype", [None, "float32", "float16"])
def test_scales_zeros_and_numbers_are_those_of_a_plain_loop(
    lib, rng, k_bits, v_bits, key_axis, scale_dtype
):
    cache = quantized(lib, k_bits, v_bits, key_axis=key_axis, scale_dtype=scale_dtype)
    given_arrays = [3 + array for array in tokens(rng, 16)]
    append(lib, cache, *given_arrays)
    assert cache.sealed == 16
    for x, got, (codes, scales, zeros), bits, axis in zip(
        given_arrays, held(lib, cache), sealed_arrays(lib, cache),
        (k_bits, v_bits), (key_axis, "token"), strict=True,
    ):  # fmt: skip
        assert codes.dtype == np.uint8
        assert scales.dtype == zeros.dtype == (scale_dtype or "float64")
        seen = np.zeros(x.shape, bool)
        for at, place in groups_of(x.shape, 8, axis):
            zero = kept(x[at].min(), scale_dtype, up=False)
            scale = kept((x[at].max() - zero) / (2**bits - 1), scale_dtype, up=True)
            assert (scales[place], zeros[place]) == (scale, zero)
            code = [round(number) for number in (x[at] - zero) / scale]
            assert (min(code) >= 0) & (max(code) <= 2**bits - 1)
            np.testing.assert_allclose(got[at], zero + scale * np.array(code), rtol=1e-13)
            assert (np.abs(got[at] - x[at]) <= scale / 2 * (1 + 1e-12)).all()
            seen[at] = True
        assert seen.all()


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
@pytest.mark.parametrize("size", [8, 16])
def test_codes_fill_their_bytes(lib, rng, bits, size):
    """Code i of a word is that of part i of the tokens; a word's lowest byte comes first."""
    codes = rng.integers(0, 2**bits, (1, 1, size, 3))
    codes[:, :, 0], codes[:, :, 1] = 0, 2**bits - 1  # zero 0, scale 1: a number is its code
    x = codes.astype("float32")
    cache = lib.QuantizedKVCache(1, 1, 3, size, bits=bits, group_size=size, residual=0)
    append(lib, cache, x, x)
    found = sealed_arrays(lib, cache)[0][0][0, 0, 0]
    assert found.nbytes == size * 3 * bits // 8
    per_word = {8: 1, 4: 2, 3: 8, 2: 4}[bits]
    n_words, n_bytes = size // per_word, per_word * bits // 8
    for word, channel in itertools.product(range(n_words), range(3)):
        number = sum(int(codes[0, 0, i * n_words + word, channel]) << bits * i
                     for i in range(per_word))  # fmt: skip
        expected = list(number.to_bytes(n_bytes, "little"))
        assert found[word::n_words, channel].tolist() == expected
    assert (held(lib, cache)[0] == x).all()


@given(
    bits=st.tuples(st.sampled_from([8, 4, 3, 2]), st.sampled_from([8, 4, 3, 2])),
    key_axis=st.sampled_from(["channel", "token"]),
    scale_dtype=st.sampled_from([None, "float32", "float16"]),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    size=st.sampled_from([8, 16]),
    spread=st.integers(-9, 3),
    middle=st.sampled_from([0.0, 1e-6, 0.3, -7.0, 1000.0, -40000.0]),
    seed=st.integers(0, 999),
)
def test_every_number_comes_back_within_half_its_scale(
    lib, bits, key_axis, scale_dtype, dtype, size, spread, middle, seed
):
    """Also where the spread is far below the last digit of the numbers, or below all scales."""
    rng = np.random.default_rng(seed)
    options = {"key_axis": key_axis, "scale_dtype": scale_dtype}
    cache = quantized(lib, *bits, dtype=dtype, group_size=size, **options)
    given_arrays = [
        (middle + np.clip(array, -3, 3) * 10.0**spread).astype(dtype) for array in tokens(rng, 32)
    ]
    append(lib, cache, *given_arrays)
    eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).smallest_subnormal
    for x, got, (_, scales, _), axis in zip(
        given_arrays, held(lib, cache), sealed_arrays(lib, cache), (key_axis, "token"), strict=True
    ):
        x, got = x.astype(float), got.astype(float)
        for at, place in groups_of(x.shape, size, axis):
            room = eps * np.abs(x[at]).max() + tiny
            half = float(scales[place]) / 2 * (1 + 1e-4)  # a float32 quotient is rounded too
            assert (np.abs(got[at] - x[at]) <= half + room).all()


# --- scales in half precision ------------------------------------------------------------------


def one_group(lib, numbers, *, scale_dtype="float16", dtype="float32", bits=4, key_axis="channel"):
    """A cache that has sealed one group of keys, its numbers, scale and zero."""
    x = np.resize(np.array(numbers, dtype), 8)
    x = x.reshape((1, 1, 8, 1)) if key_axis == "channel" else np.tile(x, (1, 1, 8, 1))
    cache = lib.QuantizedKVCache(
        1, 1, x.shape[3], 8, bits=bits, group_size=8, residual=0, key_axis=key_axis,
        scale_dtype=scale_dtype, dtype=dtype,
    )  # fmt: skip
    append(lib, cache, x, x)
    _, scale, zero = sealed_arrays(lib, cache)[0]
    return x, held(lib, cache)[0], scale.ravel()[0], zero.ravel()[0]


@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize(
    ("numbers", "scale", "zero"),
    [
        ([0.0, 15 * 65504.0], 65504.0, 0.0),  # the largest scale
        ([-65504.0, 65504.0], 8736.0, -65504.0),  # 8733.9, up
        ([0.0, 15e-5], 2.0**-24 * 168, 0.0),  # 1e-5 is 167.8 times the smallest
        ([0.0, 1e-9], 2.0**-24, 0.0),  # below all scales
        ([-1e-9, 0.0], 2.0**-24, -(2.0**-24)),
        ([1000.25, 1000.75], 0.05002, 1000.0),  # halves stand 0.5 apart there
        ([-1000.3, -1000.3], 0.01334, -1000.5),
        ([2.5, 2.5], 0.0, 2.5),
        ([-0.0, 0.0], 0.0, 0.0),
    ],
)
def test_scales_of_half_precision_are_rounded_up(lib, numbers, scale, zero, key_axis):
    x, got, found_scale, found_zero = one_group(lib, numbers, key_axis=key_axis)
    assert found_zero == zero
    np.testing.assert_allclose(float(found_scale), scale, rtol=1e-3 if scale < 1e-1 else 0)
    assert (np.abs(got - x) <= scale / 2 + 1e-7 * np.abs(x)).all()
    assert zero <= got.min()


def test_the_largest_half_precision_numbers_stay_finite(lib):
    """A scale rounded up reaches 65,536 from -65,504: that would be infinity."""
    for bits in (2, 3, 4, 8):
        x, got, scale, _ = one_group(lib, [-65504, 1000, 65504], dtype="float16", bits=bits)
        assert np.isfinite(got).all()
        assert got.max() == 65504
        assert (np.abs(got.astype(float) - x) <= float(scale) / 2 + 32).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
def test_equal_numbers_come_back_exactly_where_their_zero_is_exact(lib, dtype, key_axis):
    for value in (0.0, -7.25, 65504.0, 2.0**-24):
        x, got, scale, _ = one_group(lib, [value], dtype=dtype, key_axis=key_axis)
        assert (got == x).all()
        assert scale == 0
    if dtype != "float16":
        for value in (1e30, -3e38):
            x, got, _, _ = one_group(
                lib, [value], dtype=dtype, key_axis=key_axis, scale_dtype="float32"
            )
            np.testing.assert_allclose(got, x, rtol=1e-7)


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
def test_large_numbers_keep_within_half_a_step(lib, bits):
    numbers = [-1e30, 3e29, 7.7e29, 1e30]
    x, got, scale, _ = one_group(lib, numbers, scale_dtype="float32", bits=bits)
    assert scale == np.float32(np.float32(2e30) / np.float32(2**bits - 1))
    assert (np.abs(got - x) <= scale / 2 * (1 + 1e-5)).all()


NOT_SEALED = {
    "a NaN": ([1.0, np.nan], "float32", "from nan to nan"),
    "infinity": ([1.0, np.inf], "float32", "from 1 to inf"),
    "minus infinity": ([-np.inf, 1.0], None, "from -inf to 1"),
    "too far apart": ([-3e38, 3e38], "float32", r"from -3e\+38 to 3e\+38"),
    "a scale": ([0.0, 2e6], "float16", r"from 0 to 2e\+06 .* scales in float16"),
    "a zero": ([-70000.0, 0.0], "float16", "from -70000 to 0 .* scales in float16"),
    "large": ([1e30], "float16", r"from 1e\+30 to 1e\+30"),
}


@pytest.mark.parametrize("case", NOT_SEALED)
@pytest.mark.parametrize("which", ["k", "v"])
def test_what_no_scale_fits_is_refused_and_nothing_is_written(lib, rng, case, which):
    numbers, scale_dtype, message = NOT_SEALED[case]
    cache = quantized(lib, 4, 4, scale_dtype=scale_dtype, dtype="float32")
    append(lib, cache, *tokens(rng, 11, "float32"))
    cache.crop(8)
    k, v = tokens(rng, 8, "float32")
    if which == "k":
        k[1, 2] = np.resize(np.array(numbers, "float32"), (8, 1))
    else:
        v[1, 2] = np.resize(np.array(numbers, "float32"), (1, V_DIM))
    before = [array.copy() for array in held(lib, cache)]
    state = (cache.slots, cache.sealed, cache.used_bytes)
    with pytest.raises(ConfigError, match=f"^{which} reaches {message}"):
        append(lib, cache, k, v)
    assert (cache.slots, cache.sealed, cache.used_bytes) == state
    for one, other in zip(held(lib, cache), before, strict=True):
        assert (one == other).all()
    append(lib, cache, *tokens(rng, 8, "float32"))
    assert cache.sealed == 16


@pytest.mark.parametrize("case", NOT_SEALED)
def test_on_a_device_what_no_scale_fits_comes_back_as_nan(rng, monkeypatch, case):
    """Nobody waits for a device to refuse it; the other groups are as they were."""
    import torch

    import mini_attn.torch as mt
    from mini_attn.torch.caches import _codes

    numbers, scale_dtype, _ = NOT_SEALED[case]
    monkeypatch.setattr(_codes, "_at_hand", lambda x: False)
    cache, clean = (quantized(mt, 4, 4, scale_dtype=scale_dtype, dtype="float32") for _ in "ab")
    k, v = (torch.from_numpy(array) for array in tokens(rng, 8, "float32"))
    clean.append(k, v)
    bad = k.clone()
    bad[1, 2, :, 3] = torch.from_numpy(np.resize(np.array(numbers, "float32"), 8))
    cache.append(bad, v)
    got, expected = cache.view()[0].clone(), clean.view()[0].clone()
    assert got[1, 2, :, 3].isnan().all()
    got[1, 2, :, 3] = expected[1, 2, :, 3] = 0
    assert torch.equal(got, expected)
    assert torch.equal(cache.view()[1], clean.view()[1])


@pytest.mark.parametrize("scale_dtype", ["float32", "float16"])
def test_bfloat16_comes_back_within_half_a_scale(rng, scale_dtype):
    import torch

    import mini_attn.torch as mt

    options = {"dtype": "bfloat16", "scale_dtype": scale_dtype, "key_axis": "token"}
    cache = quantized(mt, 3, 2, **options)
    k, v = (torch.from_numpy(array).bfloat16() for array in tokens(rng, 16))
    cache.append(k, v)
    for x, got, at in ((k, cache.view()[0], 3), (v, cache.view()[1], 6)):
        assert got.dtype == torch.bfloat16
        assert cache._state.arrays[at].dtype == getattr(torch, scale_dtype)
        scale = cache._state.arrays[at].float().amax()
        error = (got.float() - x.float()).abs()
        assert error.max() <= scale / 2 + 2.0**-8 * x.float().abs().max()
        assert error.max() > scale / 4


def test_such_numbers_may_wait_unsealed(lib, rng):
    """The newest tokens are as they came; the append that would seal them says so."""
    cache = quantized(lib, 4, 4, residual=2)
    k, v = tokens(rng, 9)
    k[0, 0, 0, 0] = np.nan
    append(lib, cache, k, v)
    assert np.isnan(held(lib, cache)[0][0, 0, 0, 0])
    for _ in range(2):
        with pytest.raises(ConfigError, match="k reaches from nan"):
            append(lib, cache, *tokens(rng, 1))
    cache.crop(0)
    append(lib, cache, *tokens(rng, 12))
    assert np.isfinite(held(lib, cache)[0]).all()


# --- bytes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "by_16", "by_32"), [(2, 3, 4), (3, 4, 5), (4, 5, 6), (8, 9, 10)])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
def test_bits_of_a_number_with_its_scales(lib, bits, by_16, by_32, key_axis):
    """Groups of 32 that divide both widths: as many scales along either axis."""
    for scale_dtype, total in (("float16", by_16), ("float32", by_32)):
        cache = lib.QuantizedKVCache(
            2, 4, 64, 320, bits=bits, residual=0, key_axis=key_axis, scale_dtype=scale_dtype,
            v_head_dim=96,
        )  # fmt: skip
        residual = 31 * 2 * 4 * 160 * 4
        assert 8 * (cache.allocated_bytes - residual) == total * 2 * 4 * 320 * 160
        x = [np.ones((2, 4, 320, width), "float32") for width in (64, 96)]
        append(lib, cache, *x)
        assert 8 * cache.used_bytes == total * 2 * 4 * 320 * 160


@pytest.mark.parametrize(("k_bits", "v_bits"), PAIRS)
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize(("scale_dtype", "size"), [("float16", 2), ("float32", 4), (None, 8)])
def test_bytes_are_those_held(lib, rng, k_bits, v_bits, key_axis, scale_dtype, size):
    cache = quantized(lib, k_bits, v_bits, key_axis=key_axis, scale_dtype=scale_dtype, residual=3)
    k_scales = DIM if key_axis == "channel" else 8 * 1
    codes = k_bits * DIM + v_bits * V_DIM  # bytes of 8 tokens
    group = BATCH * HEADS * (codes + 2 * size * (k_scales + 8 * 2))
    token = BATCH * HEADS * (DIM + V_DIM) * 8
    assert cache.allocated_bytes == 4 * group + 10 * token
    assert cache.allocated_bytes == sum(array.nbytes for array in cache._state.arrays)
    for slots in range(1, 30):
        append(lib, cache, *tokens(rng, 1))
        sealed = max(0, slots - 3) // 8
        assert cache.used_bytes == sealed * group + (slots - 8 * sealed) * token


def test_what_was_chosen_can_be_read(lib):
    cache = quantized(lib, 3, 2, key_axis="token", scale_dtype="float16")
    assert (cache.bits, cache.k_bits, cache.v_bits) == (None, 3, 2)
    assert (cache.key_axis, cache.scale_dtype) == ("token", "float16")
    plain = lib.QuantizedKVCache(1, 1, 2, 8)
    assert (plain.bits, plain.k_bits, plain.v_bits) == (8, 8, 8)
    assert (plain.key_axis, plain.scale_dtype) == ("channel", "float32")
    one = lib.QuantizedKVCache(1, 1, 2, 8, v_bits=4, dtype="float64")
    assert (one.bits, one.k_bits, one.v_bits, one.scale_dtype) == (None, 8, 4, "float64")


# --- as a cache --------------------------------------------------------------------------------


@pytest.mark.parametrize(("k_bits", "v_bits"), PAIRS)
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize("scale_dtype", [None, "float16"])
def test_backends_hold_the_same_codes(backends, rng, k_bits, v_bits, key_axis, scale_dtype):
    k, v = (2 + array for array in tokens(rng, 19, "float32"))
    options = {"key_axis": key_axis, "scale_dtype": scale_dtype, "dtype": "float32"}
    caches = [quantized(lib, k_bits, v_bits, **options) for lib in backends]
    for lib, cache in zip(backends, caches, strict=True):
        append(lib, cache, k[:, :, :9], v[:, :, :9])
        append(lib, cache, k[:, :, 9:], v[:, :, 9:])
    for ours, theirs in zip(*(cache._state.arrays for cache in caches), strict=True):
        np.testing.assert_array_equal(ours, backends[1].numpy(theirs))


@given(
    chunks=st.lists(st.integers(1, 13), min_size=1, max_size=5),
    bits=st.sampled_from(PAIRS),
    key_axis=st.sampled_from(["channel", "token"]),
    scale_dtype=st.sampled_from([None, "float16"]),
    residual=st.integers(0, 5),
)
def test_any_chunks_taken_back_and_given_again_seal_the_same(
    lib, chunks, bits, key_axis, scale_dtype, residual
):
    rng = np.random.default_rng(7)
    options = {"key_axis": key_axis, "scale_dtype": scale_dtype, "residual": residual}
    cache, whole = (quantized(lib, *bits, capacity=70, **options) for _ in range(2))
    k, v = tokens(rng, sum(chunks))
    start = 0
    for new in chunks:
        append(lib, cache, *tokens(rng, new))
        cache.crop(start)
        fork = cache.fork()
        part = slice(start, start + new)
        append(lib, cache, k[:, :, part], v[:, :, part])
        append(lib, fork, *tokens(rng, new))  # shows nowhere else
        start += new
    append(lib, whole, k, v)
    index = np.array([1, 1])
    whole_before = [array.copy() for array in held(lib, whole)]
    for one, other in zip(held(lib, cache), whole_before, strict=True):
        assert (one == other).all()
    cache.reorder(lib.array(index))
    for one, other in zip(held(lib, cache), whole_before, strict=True):
        assert (one == other[index]).all()


def test_keys_by_channel_are_nearer_at_equal_bytes(lib, rng):
    """One large channel: by token it sets every scale. The metadata are equally many bytes."""
    x = rng.normal(size=(1, 1, 64, 16)).astype("float32")
    x[..., 3] += 30
    errors, held_bytes = [], []
    for key_axis in ("channel", "token"):
        cache = lib.QuantizedKVCache(
            1, 1, 16, 64, k_bits=2, v_bits=8, group_size=16, residual=0, key_axis=key_axis,
            scale_dtype="float16",
        )  # fmt: skip
        append(lib, cache, x, x)
        others = np.arange(16) != 3
        errors.append(np.abs(held(lib, cache)[0] - x)[..., others].mean())
        held_bytes.append(cache.used_bytes)
    assert held_bytes[0] == held_bytes[1]
    assert errors[0] < errors[1] / 2


BAD = {
    "both": ({"bits": 4, "k_bits": 2}, "give it or them, got bits = 4 and k_bits = 2"),
    "both alike": (
        {"bits": 4, "k_bits": 4, "v_bits": 4},
        "got bits = 4 and k_bits = 4 and v_bits = 4",
    ),
    "k_bits": ({"k_bits": 5}, "k_bits must be 8, 4, 3 or 2, got 5"),
    "v_bits": ({"v_bits": 16}, "v_bits must be 8, 4, 3 or 2, got 16"),
    "no bits": ({"k_bits": 0}, "k_bits must be at least 1, got 0"),
    "true": ({"v_bits": True}, "v_bits must be a whole number, got True"),
    "half": ({"v_bits": 2.0}, "v_bits must be a whole number, got 2.0"),
    "3 bits": (
        {"v_bits": 3, "group_size": 12},
        "3 bits put eight tokens into 3 bytes: group_size 12 must be a multiple of 8",
    ),
    "2 bits": (
        {"k_bits": 2, "group_size": 6},
        "2 bits put four tokens into a byte: group_size 6 must be a multiple of 4",
    ),
    "axis": ({"key_axis": "head"}, "key_axis must be one of channel, token, got 'head'"),
    "no axis": ({"key_axis": None}, "key_axis must be one of channel, token, got None"),
    "scales": (
        {"scale_dtype": "bfloat16"},
        "scale_dtype must be one of float32, float16, got 'bfloat16'",
    ),
    "scales of a type too wide": (
        {"scale_dtype": np.float64},
        "scale_dtype must be one of float32",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused(lib, case):
    options, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        lib.QuantizedKVCache(1, 1, 4, 64, **options)
