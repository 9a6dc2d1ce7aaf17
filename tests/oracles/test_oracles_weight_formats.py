"""Small floats and weights of few bits against PyTorch's own types and Hugging Face's readers.

PyTorch 2.13's cast to ``float8_e4m3fn`` saturates as ours does; versions that give NaN beyond
464, where the next number would have been nearer, are allowed here too.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers.integrations import mxfp4
from transformers.integrations.finegrained_fp8 import Fp8Dequantize, _dequantize_fp8_weight

from mini_attn.config import WEIGHT_FORMATS, WeightFormat, weight_format
from mini_attn.weights import dequantised, load_safetensors, save_safetensors

CODES = np.arange(256, dtype=np.uint8)


def eight_bit(codes):
    """Codes as PyTorch's own type."""
    return torch.from_numpy(codes).view(torch.float8_e4m3fn)


def test_each_of_the_256_codes(lib):
    ours = lib.numpy(lib.decode_float(lib.array(CODES), "e4m3"))
    np.testing.assert_array_equal(ours, eight_bit(CODES).float().numpy())
    back = lib.encode_float(lib.array(eight_bit(CODES).float().numpy()), "e4m3")
    np.testing.assert_array_equal(lib.numpy(back), CODES)


def cast(x):
    """Codes of PyTorch's cast, and where it may be asked: not where it might give NaN."""
    codes = torch.from_numpy(x).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    return codes, np.isnan(x) | (np.abs(x) <= 464)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_random_and_half_way_numbers(lib, rng, dtype):
    values = eight_bit(CODES[:127]).double().numpy()
    between = (values[1:] + values[:-1]) / 2
    spread = rng.standard_normal(50_000) * np.exp(rng.uniform(-12, 7, 50_000))
    x = np.concatenate([spread, between, np.nextafter(between, 0), np.nextafter(between, 999)])
    x = np.concatenate([x, -x, [0.0, -0.0, np.nan, 448, 464, 2.0**-10, 2.0**-30]]).astype(dtype)
    if dtype == "float64":  # PyTorch rounds to float32 on the way, a second time
        x = x.astype("float32").astype("float64")
    expected, sure = cast(x)
    ours = lib.numpy(lib.encode_float(lib.array(x), "e4m3"))
    np.testing.assert_array_equal(ours[sure], expected[sure])


def test_all_bit_patterns_of_float16(lib):
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    expected, sure = cast(x)
    ours = lib.numpy(lib.encode_float(lib.array(x), "e4m3"))
    # A NaN's sign is nobody's concern.
    np.testing.assert_array_equal(ours[sure] & 127, expected[sure] & 127)
    number = sure & ~np.isnan(x)
    np.testing.assert_array_equal(ours[number], expected[number])


def test_the_table_of_four_bits(lib):
    codes = lib.array(np.arange(16, dtype=np.uint8))
    assert lib.numpy(lib.decode_float(codes, "e2m1")).tolist() == mxfp4.FP4_VALUES


@pytest.mark.parametrize("columns", [32, 96])
def test_mxfp4_as_gpt_oss_is_read(lib, rng, columns):
    """Our bytes, taken for a checkpoint's, are the same matrix to Hugging Face."""
    weight = rng.standard_normal((10, columns)).astype("float32")
    weight[3] *= 1e-6
    stored = {k: lib.numpy(a) for k, a in lib.encode_weight(lib.array(weight), "mxfp4").items()}
    blocks = torch.from_numpy(stored["codes"]).reshape(1, 10, columns // 32, 16)
    scales = torch.from_numpy(stored["scales"])[None]
    theirs = mxfp4.convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    back = {key: lib.array(array) for key, array in stored.items()}
    ours = lib.numpy(lib.decode_weight(back, "mxfp4", columns))
    np.testing.assert_array_equal(ours, theirs[0].T.numpy())  # it gives (in, out)


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "fp8-row"])
def test_blocks_as_hugging_face_spreads_their_scales(lib, rng, name):
    weight, form = rng.standard_normal((8, 64)).astype("float32"), WEIGHT_FORMATS[name]
    stored = {k: lib.numpy(a) for k, a in lib.encode_weight(lib.array(weight), name).items()}
    codes, scales = (torch.from_numpy(stored[key]) for key in ("codes", "scales"))
    codes = codes.view(torch.float8_e4m3fn if form.code_bits == 8 else torch.int8)
    theirs = Fp8Dequantize(None)._dequantize_one(codes, scales, torch.float32)
    back = {key: lib.array(array) for key, array in stored.items()}
    np.testing.assert_array_equal(lib.numpy(lib.decode_weight(back, name, 64)), theirs.numpy())


@pytest.mark.parametrize("numbers", ["int8", "int4"])
@pytest.mark.parametrize("zero_point", [False, True])
@pytest.mark.parametrize("size", [16, 64])
def test_whole_numbers_are_those_of_fake_quantisation(lib, rng, numbers, zero_point, size):
    """Scales and zero points are ours; what is made of them, PyTorch's.

    It multiplies by ``1 / scale``, so that a number within rounding of half-way may fall to the
    other side.
    """
    form = WeightFormat(numbers, size, zero_point=zero_point)
    weight = (rng.standard_normal((24, 64)) + 0.3).astype("float32")
    stored = lib.encode_weight(lib.array(weight), form)
    rows = torch.from_numpy(weight.reshape(-1, size))
    scales = torch.from_numpy(lib.numpy(stored["scales"]).reshape(-1).copy())
    points = torch.zeros(len(rows), dtype=torch.int32)
    least, most = (0, 2**form.code_bits - 1) if zero_point else (-int(form.largest),) * 2
    if zero_point:
        packed = lib.numpy(stored["zeros"])
        halves = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1)
        each = (packed if numbers == "int8" else halves)[:, : 64 // size]
        points = torch.from_numpy(each.reshape(-1).astype("int32"))
    else:
        most = -least
    expected = torch.fake_quantize_per_channel_affine(rows, scales, points, 0, least, most)
    ours = lib.numpy(lib.decode_weight(stored, form, 64)).reshape(-1, size)
    steps = scales[:, None].numpy()
    off = np.abs(ours - expected.numpy()) / steps
    other = off > 1e-3
    fraction = np.abs(rows.double().numpy() / steps % 1 - 0.5)
    assert (fraction[other] < 1e-3).all()
    assert other.mean() < 2e-3


def test_e8m0_are_pytorchs_powers(lib):
    codes = np.arange(255, dtype=np.uint8)[:, None]
    theirs = torch.from_numpy(codes).view(torch.float8_e8m0fnu).float().numpy()
    ones = np.full((255, 1), 0x02, np.uint8)  # the code of 1
    stored = {"codes": lib.array(ones), "scales": lib.array(codes)}
    ours = lib.numpy(lib.decode_weight(stored, weight_format("mxfp4"), 1))
    np.testing.assert_array_equal(ours, theirs)


# ---- Checkpoints ----


@pytest.mark.parametrize(("shape", "size"), [((10, 12), 4), ((8, 8), 8), ((130, 200), 128)])
def test_squares_of_eight_bits_as_hugging_face_reads_them(rng, shape, size):
    weight = torch.from_numpy(rng.standard_normal(shape)).float().to(torch.float8_e4m3fn)
    squares = tuple(-(-side // size) for side in shape)
    scale = torch.from_numpy(rng.uniform(0.1, 2, squares)).float()
    theirs = _dequantize_fp8_weight(weight, scale, [size, size], torch.float32).numpy()
    other = np.ones(3, "float16")
    for codes in (weight, weight.view(torch.uint8), weight.view(torch.uint8).numpy()):
        state = {"a.weight": codes, "a.weight_scale_inv": scale, "b": other}
        ours = dequantised(state, block_size=size)
        assert ours.keys() == {"a.weight", "b"}
        assert ours["b"] is other
        np.testing.assert_array_equal(ours["a.weight"], theirs)


def test_blocks_of_four_bits_as_hugging_face_reads_them(rng, tmp_path):
    blocks = rng.integers(0, 256, (3, 10, 2, 16), dtype=np.uint8)
    scales = rng.integers(100, 140, (3, 10, 2), dtype=np.uint8)
    theirs = mxfp4.convert_moe_packed_tensors(
        torch.from_numpy(blocks), torch.from_numpy(scales), dtype=torch.float32
    )
    state = {"experts.down_proj_blocks": blocks, "experts.down_proj_scales": scales}
    save_safetensors(tmp_path / "a.safetensors", state)
    for read in (state, load_safetensors(tmp_path / "a.safetensors")):
        ours = dequantised(read)
        assert ours.keys() == {"experts.down_proj"}
        ours = ours["experts.down_proj"]
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours, theirs.swapaxes(1, 2).numpy())  # it gives (in, out)
