"""Codes against PyTorch's fake quantization, per group of a channel and of a token.

With a zero point that is no whole number it does what the cache does,
``(round(x / scale + zero_point) - zero_point) * scale`` with ``zero_point = -zero / scale`` and
half-way codes to the even one. Two things differ: it multiplies by ``1 / scale`` in float32, so
that a number within rounding of half-way may fall to the other side; and with a whole zero
point it rounds ``x / scale`` alone, so that half-way means even before an odd one is added.
"""

from __future__ import annotations

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
