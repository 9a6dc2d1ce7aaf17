"""Checkpoints whose matrices are codes and scales: their weights as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import POWERS_OF_TWO, SMALL_FLOATS
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_count
from mini_attn.weights.state import as_array

__all__ = ["dequantised"]

BLOCKS, SCALES, SCALE = "_blocks", "_scales", "_scale_inv"


def dequantised(state: Mapping[str, Any], *, block_size: int = 128) -> dict[str, Any]:
    """The weights that codes of 8 or 4 bits and their scales stand for.

    ``weight = scale of its block * number of the code``

    Parameters
    ----------
    state : mapping of str to array
        Weights by name. Those of DeepSeek-V3, a float of 8 bits (E4M3, or its codes as uint8)
        ``name`` (rows, columns) with ``name_scale_inv`` for squares of it; and those of gpt-oss,
        ``name_blocks`` (..., rows, groups, 16), two codes in a byte, with ``name_scales`` (...,
        rows, groups), both uint8.
    block_size : int
        Rows and columns of a square, ``weight_block_size`` of a configuration.

    Returns
    -------
    dict of str to array
        float32 NumPy arrays in place of codes and scales, (rows, columns) or (..., rows, 32 *
        groups), for ``load_state_dict`` of either backend; all others are those that came.

    Raises
    ------
    ConfigError
        If scales have no codes or codes no scales, or a code or scale is no number.
    ShapeError
        If scales do not fit their codes.
    DTypeError
        If codes or scales are of another type.

    Notes
    -----
    Nothing is rounded but the product, once, to float32. A matrix takes four to eight times the
    bytes that it had: leave layers out of ``state`` that are not wanted.

    References
    ----------
    deepseek2024v3, section 3.3.2
    openai2025gptoss, section 2.1

    Examples
    --------
    >>> import numpy as np
    >>> codes, scale = np.array([[0x38, 0xB8]], np.uint8), np.array([[0.5]], np.float32)
    >>> dequantised({"a.weight": codes, "a.weight_scale_inv": scale})
    {'a.weight': array([[ 0.5, -0.5]], dtype=float32)}
    """
    check_count("block_size", block_size)
    found, used = {}, set()
    for name, value in state.items():
        stem = name.removesuffix(BLOCKS)
        if name.endswith(BLOCKS):
            used.add(stem + SCALES)
            found[stem] = _of_four_bits(stem, value, state.get(stem + SCALES))
        elif name + SCALE in state:
            used.add(name + SCALE)
            found[name] = _of_eight_bits(name, value, state[name + SCALE], block_size)
        elif not name.endswith((SCALE, SCALES)):
            found[name] = value
    lonely = {name for name in state if name.endswith((SCALE, SCALES))} - used
    if lonely:
        raise ConfigError(f"scales without codes: {sorted(lonely)[:4]}")
    return found


def _of_eight_bits(name: str, codes: Any, scale: Any, size: int) -> Any:
    """A matrix of E4M3 whose squares have a scale each."""
    import numpy as np

    kind = str(getattr(codes, "dtype", type(codes).__name__))
    if kind == "torch.float8_e4m3fn":
        numbers = as_array(name, codes.float())
    elif kind.removeprefix("torch.") == "uint8":
        numbers = np.asarray(SMALL_FLOATS["e4m3"].values, np.float32)[as_array(name, codes)]
    else:
        raise DTypeError(f"{name} must be float8_e4m3fn, or uint8 codes of it, got {kind}")
    scales = as_array(name + SCALE, scale)
    if scales.dtype.kind != "f":
        raise DTypeError(f"{name}{SCALE} must be floating point, got {scales.dtype}")
    squares = tuple(-(-side // size) for side in numbers.shape)
    if numbers.ndim != 2 or scales.shape != squares:
        raise ShapeError(
            f"{name}{SCALE} must be {squares} for {numbers.shape} in squares of {size}, "
            f"got {scales.shape}"
        )
    rows, columns = numbers.shape
    scales = np.repeat(scales.astype(np.float32), size, axis=0)[:rows]
    return _finite(name, numbers * np.repeat(scales, size, axis=1)[:, :columns])


def _of_four_bits(name: str, blocks: Any, scales: Any) -> Any:
    """Matrices of E2M1 in groups of 32, each with a power of two."""
    import numpy as np

    if scales is None:
        raise ConfigError(f"{name}{BLOCKS} has no {name}{SCALES} beside it")
    codes, powers = as_array(name + BLOCKS, blocks), as_array(name + SCALES, scales)
    for end, array in ((BLOCKS, codes), (SCALES, powers)):
        if array.dtype != np.uint8:
            raise DTypeError(f"{name}{end} must be uint8, got {array.dtype}")
    if codes.ndim < 3 or codes.shape[-1] != 16 or powers.shape != codes.shape[:-1]:
        raise ShapeError(
            f"{name}{BLOCKS} must be (..., rows, groups, 16) and {name}{SCALES} the same without "
            f"its last axis, got {codes.shape} and {powers.shape}"
        )
    pairs = np.stack([codes & 15, codes >> 4], axis=-1)  # (..., groups, 16, 2)
    numbers = np.asarray(SMALL_FLOATS["e2m1"].values, np.float32)[pairs]
    numbers = numbers * np.asarray(POWERS_OF_TWO, np.float32)[powers][..., None, None]
    return _finite(name, numbers.reshape(*codes.shape[:-2], 32 * codes.shape[-2]))


def _finite(name: str, numbers: Any) -> Any:
    import numpy as np

    if not np.isfinite(numbers).all():
        raise ConfigError(f"{name}: a code or a scale stands for no finite number")
    return numbers
