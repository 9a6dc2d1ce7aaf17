"""The header of a safetensors file, believed only after every number in it was checked."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from mini_attn._json import LARGEST_BYTES, json_object
from mini_attn.errors import ConfigError

WORDS = "__metadata__"  # the header's one entry that is no weight
MOST_AXES, MOST_NUMBERS = 64, 2**63 - 1  # what an array can have

# The format's name of each data type; BF16 has none in NumPy.
KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
    "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "C64": 8,
    "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
}  # fmt: skip


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, str], int]:
    """The weights' entries, what is said about them, and where their bytes start."""
    with open(path, "rb") as file:
        whole = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if whole < 8 or length > min(whole - 8, LARGEST_BYTES):
            raise ConfigError(
                f"{path.name} is no safetensors file: no header in it (its length would be "
                f"{length} of {whole} bytes, at most {LARGEST_BYTES} are allowed)"
            )
        text = file.read(length)
    try:
        header = json_object(text, path.name, unique=True)
    except ConfigError as fault:
        raise ConfigError(f"{path.name} is no safetensors file: no header in it: {fault}") from None
    words = header.pop(WORDS, {})
    if not isinstance(words, dict) or not all(isinstance(text, str) for text in words.values()):
        raise ConfigError(f"{path.name}: {WORDS} must map text to text, got {words!r:.60}")
    for name, entry in header.items():
        _check_entry(path.name, name, entry)
    _check_spans(path.name, header, whole - 8 - length)
    return header, words, 8 + length


def _check_entry(file: str, name: str, entry: Any) -> None:
    """Refuse an entry that is no type, shape and span, or whose span has another size."""
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise ConfigError(f"{file}: {name} has no data type: {entry!r:.80}")
    shape: Any = entry.get("shape")
    span: Any = entry.get("data_offsets")
    if not _wholes(shape) or len(shape) > MOST_AXES or math.prod(shape) > MOST_NUMBERS:
        raise ConfigError(f"{file}: {name} has no shape that an array can have: {shape!r:.60}")
    if not _wholes(span) or len(span) != 2 or span[0] > span[1]:
        raise ConfigError(
            f"{file}: data_offsets of {name} must be a begin and an end, got {span!r:.60}"
        )
    size = ITEM_BYTES.get(entry["dtype"])
    if size is not None and span[1] - span[0] != math.prod(shape) * size:
        raise ConfigError(f"{file} gives {name} {span[1] - span[0]} bytes: {entry!s:.200}")


def _wholes(numbers: Any) -> bool:
    """Return whether it is a list of sizes."""
    return isinstance(numbers, list) and all(
        type(number) is int and 0 <= number <= MOST_NUMBERS for number in numbers
    )


def _check_spans(file: str, header: dict[str, Any], room: int) -> None:
    """Refuse weights that overlap, leave a hole, or do not end with the file."""
    end, before = 0, "the header"
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, last = entry["data_offsets"]
        if begin != end:
            fault = "overlap" if begin < end else "leave a hole"
            raise ConfigError(f"{file}: {before} and {name} {fault}: {end} is followed by {begin}")
        end, before = last, name
    if end != room:
        raise ConfigError(f"{file} has {room} bytes of weights, its header says {end}: was it cut?")
