"""Codes against PyTorch's fake quantization and casts, and against every number of E2M1.

With a zero point that is no whole number it does what the cache does,
``(round(x / scale + zero_point) - zero_point) * scale`` with ``zero_point = -zero / scale`` and
half-way codes to the even one. Two things differ: it multiplies by ``1 / scale`` in float32, so
that a number within rounding of half-way may fall to the other side; and with a whole zero
point it rounds ``x / scale`` alone, so that half-way means even before an odd one is added.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

SIZE, GROUPS, DIM = 16, 6, 32


def rows_of(x, axis):
    """Each group of (1, 1, tokens, channels) as a row."""
    x = np.asarray(x).reshape(-1, SIZE, x.shape[3])
    if axis == "channel":
        return x.transpose(0, 2, 1).reshape(-1, SIZE)
    return x.reshape(-1, SIZE)


def sealed(lib, x, **options):
    """What comes back of keys and of values, with scales and zeros, a group a row."""
    tokens, width = x.shape[2:]
    cache = lib.QuantizedKVCache(1, 1, width, tokens, group_size=SIZE, residual=0, **options)
    cache.append(lib.array(x), lib.array(x))
    assert cache.sealed == tokens
    arrays = [lib.numpy(array).reshape(-1) for array in cache._state.arrays[2:]]
    axes = (cache.key_axis, "token")
    return [
        (axis, rows_of(lib.numpy(array), axis), *arrays[3 * i + 1 : 3 * i + 3])
        for i, (axis, array) in enumerate(zip(axes, cache.view()[:2], strict=True))
    ]


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize("scale_dtype", ["float32", "float16"])
def test_numbers_are_those_of_fake_quantisation(lib, rng, bits, key_axis, scale_dtype):
    x = rng.normal(size=(1, 1, SIZE * GROUPS, DIM)).astype("float32")
    options = {"bits": bits, "key_axis": key_axis, "scale_dtype": scale_dtype}
    for axis, got, scale, zero in sealed(lib, x, **options):
        rows = torch.from_numpy(rows_of(x, axis))
        scales, zeros = (torch.from_numpy(each.astype("float32")) for each in (scale, zero))
        expected = torch.fake_quantize_per_channel_affine(
            rows, scales, -zeros / scales, 0, 0, 2**bits - 1
        )
        steps = scales.double()[:, None].numpy()
        off = np.abs(got - expected.numpy())
        other = off > 1e-3 * steps
        code = (rows.double() - zeros[:, None]).numpy() / steps
        assert (np.abs(code % 1 - 0.5)[other] < 1e-3).all()  # half-way but for rounding
        np.testing.assert_allclose((off / steps)[other], 1, rtol=1e-3)
        assert other.mean() < 2e-3


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize("scale_dtype", ["float32", "float16"])
@pytest.mark.parametrize("zero_point", [0, 1, 2])
def test_half_way_goes_to_the_even_code(lib, rng, bits, key_axis, scale_dtype, zero_point):
    """Scales that are powers of 2, so that nothing is rounded but to a code."""
    levels, scale = 2**bits - 1, 0.25
    codes = rng.integers(0, 2 * levels + 1, (SIZE * GROUPS, DIM)) / 2  # half of them half-way
    diagonal = np.arange(SIZE)
    for token, channel in np.ndindex(GROUPS, DIM // SIZE):
        block = codes[token * SIZE :, channel * SIZE :][:SIZE, :SIZE]
        block[diagonal, diagonal], block[diagonal, (diagonal + 1) % SIZE] = 0, levels
    x = ((codes - zero_point) * scale).astype("float32")[None, None]
    options = {"bits": bits, "key_axis": key_axis, "scale_dtype": scale_dtype}
    for axis, got, scales, zeros in sealed(lib, x, **options):
        assert (scales == scale).all()
        assert (zeros == -zero_point * scale).all()
        rows = torch.from_numpy(rows_of(x, axis))
        steps = torch.full((len(rows),), scale)
        points = torch.full((len(rows),), float(zero_point))
        limits = (0, 0, levels)
        expected = torch.fake_quantize_per_channel_affine(rows, steps, points, *limits)
        assert (got == expected.numpy()).all()
        whole = torch.fake_quantize_per_channel_affine(rows, steps, points.int(), *limits)
        differs = (got != whole.numpy()).any()
        assert differs == (zero_point == 1)  # even before an odd one is added


# --- small floats ------------------------------------------------------------------------------

E2M1 = [sign * number for sign in (1, -1) for number in (0, 0.5, 1, 1.5, 2, 3, 4, 6)]


def cast(x):
    """Numbers after PyTorch's cast to E4M3; what is too large is cut first, as a server does."""
    return x.clamp(-448, 448).to(torch.float8_e4m3fn).float()


def spread_out(rng, *shape):
    """Numbers of many sizes, some beyond 448, some below the smallest code."""
    x = rng.normal(size=shape) * np.exp(rng.uniform(-9, 9, size=shape))
    return x.astype("float32")


@pytest.mark.parametrize("scales", [(1.0,), (0.037,), (0.037, 1.0, 11.0)])
@pytest.mark.parametrize("rotation", [None, "hadamard"])
def test_fp8_is_a_cast(lib, rng, scales, rotation):
    """By a scale per tensor or per head: ``cast(x / scale) * scale``."""
    x = spread_out(rng, 2, 3, 50, 32)
    options = {"format": "fp8", "k_scale": scales, "v_scale": scales[:1], "rotation": rotation}
    cache = lib.QuantizedKVCache(2, 3, 32, 50, **options)
    cache.append(lib.array(x), lib.array(x))
    given = torch.from_numpy(x)
    if rotation:
        given = torch.from_numpy(lib.numpy(lib.hadamard_rotation(lib.array(x))))
    for got, scale in zip(cache.view()[:2], (scales, scales[:1]), strict=True):
        step = torch.tensor(scale, dtype=torch.float32).view(-1, 1, 1)
        expected = cast(given / step) * step
        if rotation:
            expected = torch.from_numpy(
                lib.numpy(lib.hadamard_rotation(lib.array(expected.numpy())))
            )
        np.testing.assert_array_equal(lib.numpy(got), expected.numpy())


def nearest_of_all(number):
    """The nearest of all numbers of E2M1 and, half-way, the one with the even code."""
    order = sorted(range(8), key=lambda code: (abs(abs(number) - E2M1[code]), code % 2))
    return np.copysign(E2M1[order[0]], number)


@pytest.mark.parametrize("scales", [(1.0,), (0.037,), (0.037, 1.0)])
@pytest.mark.parametrize("width", [16, 40])
def test_nvfp4_is_the_nearest_of_all_numbers(lib, rng, scales, width):
    """Blocks of 16, whose scale is PyTorch's cast of their largest over 6; the last is narrower."""
    x = spread_out(rng, 1, 2, 40, width)
    x[0, 0, 0] = 0
    cache = lib.QuantizedKVCache(1, 2, width, 40, format="nvfp4", k_scale=scales)
    cache.append(lib.array(x), lib.array(x))
    got = lib.numpy(cache.view()[0])
    for head, token, first in itertools.product(range(2), range(40), range(0, width, 16)):
        at = (0, head, token, slice(first, first + 16))
        scale = np.float32(scales[head % len(scales)])
        block = x[at] / scale
        step = cast(torch.tensor(np.abs(block).max() / np.float32(6))).numpy()
        codes = block / step if step else 0 * block
        expected = [np.float32(nearest_of_all(code)) * step * scale for code in codes]
        np.testing.assert_allclose(got[at], expected, rtol=3e-7)


def test_nvfp4_half_way_goes_to_the_even_code(lib):
    """A block whose scale is 1: each point between two numbers, with either sign."""
    ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
    x = np.array([6.0, *ties, *(-np.array(ties)), -6.0], "float32").reshape(1, 1, 1, 16)
    cache = lib.QuantizedKVCache(1, 1, 16, 1, format="nvfp4")
    cache.append(lib.array(x), lib.array(x))
    even = [0, 1, 1, 2, 2, 4, 4]
    assert lib.numpy(cache.view()[0]).ravel().tolist() == [6, *even, *(-np.array(even)), -6]
