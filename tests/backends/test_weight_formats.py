"""Matrices in few bits: what comes back, how far off it is, and the bytes that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.config import WEIGHT_FORMATS, Pattern, WeightFormat, weight_format
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.plain import serving

OWN = {
    "int8-zero-7": WeightFormat("int8", 7, scales="float16", zero_point=True),
    "int4-matrix": WeightFormat("int4", "matrix"),
    "int4-zero-matrix": WeightFormat("int4", "matrix", zero_point=True),
    "int4-zero-5": WeightFormat("int4", 5, zero_point=True),
    "e2m1-7": WeightFormat("e2m1", 7),
    "e2m1-row-e4m3": WeightFormat("e2m1", "row", scales="e4m3"),
    "e4m3-3": WeightFormat("e4m3", 3),
    "mxfp4-matrix": WeightFormat("e2m1", "matrix", scales="e8m0"),
}
FORMATS = WEIGHT_FORMATS | OWN
EACH = pytest.mark.parametrize("name", FORMATS)
SHAPES = [(1, 1), (3, 5), (4, 32), (5, 77), (2, 64)]


def round_trip(lib, weight, form, dtype=None):
    stored = lib.encode_weight(lib.array(weight), form)
    dtype = dtype or weight.dtype.name
    return stored, lib.numpy(lib.decode_weight(stored, form, weight.shape[1], dtype=dtype))


def groups_of(matrix, form):
    """Weights that share a scale, as a list of arrays."""
    if form.group_size == "matrix":
        return [matrix.ravel()]
    width = form.width(matrix.shape[1])
    return [row[start : start + width] for row in matrix for start in range(0, len(row), width)]


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_both_backends_keep_the_same_bytes(backends, rng, name, shape):
    form = FORMATS[name]
    for size in (0.0, 1e-7, 1.0, 300.0):
        for dtype in ("float16", "float32", "float64"):
            weight = (size * rng.standard_normal(shape)).astype(dtype)
            (ours, one), (theirs, other) = (round_trip(lib, weight, form) for lib in backends)
            assert ours.keys() == theirs.keys() == form.shapes(*shape).keys()
            for key, array in ours.items():
                there = backends[1].numpy(theirs[key])
                assert array.dtype == there.dtype == form.kinds[key]
                assert array.shape == there.shape == form.shapes(*shape)[key]
                np.testing.assert_array_equal(array, there)
            assert sum(array.nbytes for array in ours.values()) == form.stored_bytes(*shape)
            assert one.dtype == other.dtype == dtype
            np.testing.assert_array_equal(one, other)
            assert np.isfinite(one).all()


def error_bound(form, group):
    """How far a weight of a group can be off, but for the rounding of the scale."""
    largest = np.abs(group).max()
    if form.whole_numbers:
        low, high = min(group.min(), 0), max(group.max(), 0)
        span = high - low if form.zero_point else largest
        # With a whole zero point the ends of the range move by half a step.
        return span / form.largest * (1 if form.zero_point else 0.5)
    if form.scales == "e8m0":  # up to 2 ** (1 + greatest) stands for the largest number
        return largest * {"e2m1": 1 / 4, "e4m3": 1 / 8}[form.numbers]
    return largest * {"e2m1": 1 / 6, "e4m3": 16 / 448}[form.numbers]


@EACH
def test_a_weight_comes_back_near(lib, rng, name):
    form = FORMATS[name]
    weight = rng.standard_normal((6, 77))
    weight[0] *= 30
    _, found = round_trip(lib, weight, form)
    slack = {"float32": 1e-6, "float16": 2e-3, "e4m3": 0.08, "e8m0": 1e-9}[form.scales]
    for before, after in zip(groups_of(weight, form), groups_of(found, form), strict=True):
        off = np.abs(before - after).max()
        assert off <= error_bound(form, before) + slack * np.abs(before).max()


@EACH
def test_what_came_back_stays(lib, rng, name):
    """Rounding a second time changes no more than the scale's own rounding."""
    weight = rng.standard_normal((4, 40)).astype("float32")
    _, once = round_trip(lib, weight, FORMATS[name])
    _, twice = round_trip(lib, once, FORMATS[name])
    tight = FORMATS[name].scales in ("float32", "e8m0")
    bound = 1e-6 if tight else 2e-3 if FORMATS[name].scales == "float16" else 0.2
    np.testing.assert_allclose(twice, once, atol=bound * np.abs(once).max())


@EACH
def test_zeros_stay_zeros(lib, rng, name):
    weight = rng.standard_normal((4, 40))
    weight[1], weight[0, 3:20], weight[2, ::2] = 0, 0, 0
    _, found = round_trip(lib, weight, FORMATS[name])
    assert (found[weight == 0] == 0).all()
    assert found[0].any()


@EACH
@pytest.mark.parametrize("value", [0.0, 3.0, -0.7])
def test_a_group_of_equal_weights(lib, name, value):
    """A range of zero width divides nothing by zero."""
    weight = np.full((3, 33), value)
    _, found = round_trip(lib, weight, FORMATS[name])
    slack = 0.15 if FORMATS[name].two_scales else 0.001
    if FORMATS[name].scales == "e8m0":
        slack = 0.25
    np.testing.assert_allclose(found, weight, rtol=slack, atol=0)


def test_numbers_that_are_there_come_back_to_the_bit(lib):
    weight = np.array([[0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 6]])
    for name in ("mxfp4", "nvfp4"):
        np.testing.assert_array_equal(round_trip(lib, weight / 4, name)[1], weight / 4)
    whole = np.arange(-127.0, 128)[None] / 8
    np.testing.assert_array_equal(round_trip(lib, whole, "int8")[1], whole)
    span = np.arange(-3.0, 13)[None] / 4  # 16 codes, of which the fourth is 0
    form = WeightFormat("int4", 16, zero_point=True)
    stored, found = round_trip(lib, span, form)
    np.testing.assert_array_equal(found, span)
    assert lib.numpy(stored["zeros"]).tolist() == [[3]]


def test_the_bytes_of_a_code(lib):
    """Two to a byte, the first in the low half; below zero in two's complement."""
    stored = lib.encode_weight(lib.array(np.array([[7.0, -7.0, 1.0]])), WeightFormat("int4"))
    assert lib.numpy(stored["codes"]).tolist() == [[0x97, 0x01]]
    stored = lib.encode_weight(lib.array(np.array([[6.0, -6.0, 0.5]])), "mxfp4")
    assert lib.numpy(stored["codes"]).tolist() == [[0xF7, 0x01]]
    assert lib.numpy(stored["scales"]).tolist() == [[127]]
    stored = lib.encode_weight(lib.array(np.array([[2688.0], [6.0]])), "nvfp4")
    assert lib.numpy(stored["scales"]).tolist() == [[0x7E], [0x38]]  # 448 and 1
    assert lib.numpy(stored["matrix_scale"]).tolist() == [[1.0]]


def test_one_large_weight_spoils_its_group_and_no_other(lib, rng):
    weight = rng.standard_normal((1, 64))
    weight[0, 0] = 1000
    for size, spoiled in ((32, 32), ("row", 64)):
        _, found = round_trip(lib, weight, weight_format("int4", group_size=size))
        off = np.abs(found - weight)[0]
        assert (found[0, 1:spoiled] == 0).all()
        assert (off[spoiled:] < 0.5).all()


def test_scales_that_are_too_small_give_zeros(lib):
    weight = np.full((2, 16), 1e-9)
    weight[0] = 1
    _, found = round_trip(lib, weight, "nvfp4")
    assert found[0].all()
    assert not found[1].any()
    _, found = round_trip(lib, weight[1:], "int4")
    assert not found.any()


def test_what_is_refused(lib):
    def array(values, dtype="float64"):
        return lib.array(np.array(values, dtype))

    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ConfigError, match="weight holds what is not finite"):
            lib.encode_weight(array([[1.0, bad]]), "int8")
    with pytest.raises(ConfigError, match=r"a scale of 1\.42857e\+08 is beyond float16"):
        lib.encode_weight(array([[1e9]]), "int4")
    with pytest.raises(DTypeError, match="weight must be floating point"):
        lib.encode_weight(array([[1]], "int64"), "int8")
    with pytest.raises(DTypeError, match="weight must be"):
        lib.encode_weight([[1.0]], "int8")
    with pytest.raises(ShapeError, match=r"weight should have 2 axes \(rows, columns\)"):
        lib.encode_weight(array([1.0]), "int8")
    with pytest.raises(ShapeError, match=r"weight must not be empty, got shape \(0, 3\)"):
        lib.encode_weight(array(np.zeros((0, 3))), "int8")
    for bad in ("int3", None, 4, ["int8"]):
        with pytest.raises(ConfigError, match="format must be a WeightFormat or one of int8, int4"):
            lib.encode_weight(array([[1.0]]), bad)


def test_what_does_not_belong_together_is_refused(lib):
    stored = lib.encode_weight(lib.array(np.ones((3, 5))), "int4-zero")
    with pytest.raises(ConfigError, match="such weights have codes, scales; got codes, scales, ze"):
        lib.decode_weight(stored, "int4", 5)
    with pytest.raises(ConfigError, match="such weights have codes, scales, zeros; got scales"):
        lib.decode_weight({"scales": stored["scales"]}, "int4-zero", 5)
    with pytest.raises(ShapeError, match=r"codes must have shape \(3, 4\) for 7 columns"):
        lib.decode_weight(stored, "int4-zero", 7)
    wide = lib.encode_weight(lib.array(np.ones((3, 5))), WeightFormat("int4", zero_point=True))
    with pytest.raises(DTypeError, match=r"scales must be float16, got .*float32"):
        lib.decode_weight(stored | {"scales": wide["scales"]}, "int4-zero", 5)
    with pytest.raises(DTypeError, match="codes must be"):
        lib.decode_weight(stored | {"codes": stored["codes"].tolist()}, "int4-zero", 5)
    with pytest.raises(ConfigError, match="columns must be at least 1, got 0"):
        lib.decode_weight(stored, "int4-zero", 0)
    with pytest.raises(DTypeError, match="dtype must be"):
        lib.decode_weight(stored, "int4-zero", 5, dtype="int8")


# ---- Formats ----


def test_bits_are_computed():
    bits = {name: form.bits for name, form in WEIGHT_FORMATS.items()}
    assert bits == {
        "int8": 8, "int4": 4.5, "int4-zero": 4.625, "fp8": 8, "fp8-row": 8,
        "mxfp8": 8.25, "nvfp4": 4.5, "mxfp4": 4.25,
    }  # fmt: skip
    assert weight_format("int4", group_size=128).bits == 4.125
    assert weight_format(WEIGHT_FORMATS["int4"], group_size="row").bits == 4


@EACH
def test_bits_are_what_a_large_matrix_takes(name):
    size = 2520 * 64  # a multiple of every group here
    form = FORMATS[name]
    bits = 8 * form.stored_bytes(1 if form.group_size != "matrix" else 4, size) / size
    assert bits / (4 if form.group_size == "matrix" else 1) == pytest.approx(form.bits, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"numbers": "int3"}, "numbers must be one of int8, int4, e4m3, e2m1, got 'int3'"),
        ({"numbers": "int4", "scales": "bfloat16"}, "scales must be one of float32, float16"),
        ({"numbers": "int4", "scales": "e8m0"}, "scales in e8m0 go with e4m3 or e2m1"),
        ({"numbers": "int4", "scales": "e4m3"}, "scales in e4m3 go with e4m3 or e2m1"),
        ({"numbers": "e2m1", "zero_point": True}, "a zero point needs whole numbers"),
        ({"numbers": "int4", "zero_point": "yes"}, "zero_point must be True or False"),
        ({"numbers": "int4", "group_size": 0}, "group_size must be at least 1, got 0"),
        ({"numbers": "int4", "group_size": 3.5}, "group_size must be a whole number"),
        ({"numbers": "int4", "group_size": True}, "group_size must be a whole number"),
        ({"numbers": "int4", "group_size": "column"}, "group_size must be one of row, matrix"),
    ],
)
def test_formats_that_are_none(options, words):
    with pytest.raises(ConfigError, match=words):
        WeightFormat(**options)


def test_patterns():
    assert Pattern().bits(16) == 9
    assert Pattern(1, 4).bits(16) == 4.5
    assert Pattern(4, 8).bits(8) == 5.5
    assert Pattern(2, 4).stored_bytes(3, 8, 2) == 3 * (4 * 2 + 1)
    for n, m in ((0, 4), (4, 4), (5, 4), (2.5, 4), (1, "4")):
        with pytest.raises(ConfigError):
            Pattern(n, m)


# ---- Plain ----


@given(
    numbers=st.lists(st.floats(-1e3, 1e3, width=32), min_size=64, max_size=64),
)
def test_the_plain_forms_are_bounded_by_their_grids(numbers):
    groups = np.array(numbers).reshape(2, 32)
    found = serving.mxfp4(groups)
    scales = 2.0 ** np.floor(np.log2(np.abs(groups).max(axis=1, keepdims=True) + 1e-300)) / 4
    ratio = np.abs(np.where(scales > 1e-100, found / scales, 0))
    assert np.isin(ratio, serving.E2M1).all()


@pytest.mark.parametrize("outlier", [1.0, 40.0])
def test_plain(lib, rng, outlier):
    weight = rng.standard_normal((6, 64))
    weight[2, 5], weight[4, 32:] = outlier, 0

    def packed(form):
        return round_trip(lib, weight, form)[1]

    def as_plain(rounding, size, *options):
        return rounding(weight.reshape(-1, size), *options).reshape(weight.shape)

    near = {"rtol": 1e-6, "atol": 1e-9}
    whole = as_plain(serving.whole_numbers, 64, 127)
    np.testing.assert_allclose(packed("int8"), whole, **near)
    whole = as_plain(serving.whole_numbers, 16, 7)
    np.testing.assert_allclose(packed(WeightFormat("int4", 16)), whole, **near)
    whole = as_plain(serving.whole_numbers_from_zero, 16, 15)
    np.testing.assert_allclose(packed(WeightFormat("int4", 16, zero_point=True)), whole, **near)
    np.testing.assert_array_equal(packed("mxfp4"), as_plain(serving.mxfp4, 32))
    np.testing.assert_allclose(packed("nvfp4"), as_plain(serving.nvfp4, 16), **near)
    codes = lib.decode_float(lib.encode_float(lib.array(weight), "e4m3"), "e4m3", dtype="float64")
    nearest = serving.nearest(weight, serving.E4M3)
    np.testing.assert_array_equal(lib.numpy(codes), nearest)


def test_half_way_in_plain():
    sizes = serving.E2M1
    between = (sizes[1:] + sizes[:-1]) / 2
    expected = sizes[[0, 2, 2, 4, 4, 6, 6]]
    np.testing.assert_array_equal(serving.nearest(between, sizes), expected)
    np.testing.assert_array_equal(serving.nearest(-between, sizes), -expected)
