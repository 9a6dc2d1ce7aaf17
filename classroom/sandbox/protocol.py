"""What the grader and the worker of an answer say to each other: numbers and names, no objects.

A message is one line of JSON and the bytes of the arrays behind it. Both sides use this module;
what comes from an answer is taken as data of unknown origin: sizes, shapes and data types are
checked before anything is made of them, and nothing is ever unpickled.
"""

from __future__ import annotations

import json
import math
import re
from typing import IO, Any

import numpy as np

__all__ = ["ProtocolError", "decode", "encode", "receive", "send"]

LINE_BYTES = 2**22  # a job holds a student's cells
REPLY_BYTES = 2**18  # line of an answer: a few texts of 2,000 characters
BLOB_BYTES = 2**23  # larger arrays travel without their numbers: no exercise asks for one
ALL_BLOBS_BYTES = 2**25  # of a message
TUPLE = 16
TUPLES = 2  # tuples in tuples
AXES = 64  # what NumPy allows
# All data types with numbers; and those that an answer may be told about, of which an element
# is small: what has no numbers here is made with one element.
NUMBERS = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|16)|c(?:8|16|32))")
OTHERS = re.compile(r"[<>|=]?(?:O8?|[SUV]\d{0,3}|[Mm]8(?:\[\w{1,4}\])?)")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


class ProtocolError(Exception):
    """The other side said something that is no message."""


def send(stream: IO[bytes], message: dict[str, Any], blobs: list[bytes]) -> None:
    """Write one message."""
    line = json.dumps({**message, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(line + b"\n" + b"".join(blobs))
    stream.flush()


def receive(stream: IO[bytes], line_bytes: int = LINE_BYTES) -> tuple[dict[str, Any], list[bytes]]:
    """Read one message, whose line has at most so many bytes.

    Raises
    ------
    EOFError
        If the other side has gone.
    ProtocolError
        If it is too long or no message.
    """
    line = stream.readline(line_bytes)
    if not line:
        raise EOFError
    try:
        message = json.loads(line)
        sizes = [int(size) for size in message["blobs"]]
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError) as error:
        raise ProtocolError("no message") from error
    if len(sizes) > 2 * TUPLE or any(not 0 <= size <= BLOB_BYTES for size in sizes):
        raise ProtocolError("too large")
    if sum(sizes) > ALL_BLOBS_BYTES:
        raise ProtocolError("too large together")
    blobs = [stream.read(size) for size in sizes]
    if [len(blob) for blob in blobs] != sizes:
        raise EOFError
    return message, blobs


def _kind(dtype: np.dtype[Any]) -> str:
    """Return how a data type is named to the other side; the size of a large text is left out."""
    known = NUMBERS.fullmatch(dtype.str) or OTHERS.fullmatch(dtype.str)
    return dtype.str if known else dtype.kind if dtype.kind in "SV" else "U"


def _numbers(array: np.ndarray[Any, Any], blobs: list[bytes]) -> dict[str, Any]:
    """Return an array as data; without its numbers where it has none, or too many."""
    entry: dict[str, Any] = {"shape": list(array.shape), "dtype": _kind(array.dtype)}
    room = min(BLOB_BYTES, ALL_BLOBS_BYTES - sum(map(len, blobs)))
    if array.dtype.kind in "biufc" and array.nbytes <= room and len(blobs) < 2 * TUPLE:
        entry["blob"] = len(blobs)
        blobs.append(array.tobytes())
    return entry


def encode(value: Any, blobs: list[bytes], *, depth: int = 0) -> dict[str, Any]:
    """Return a value as data; the numbers of arrays are appended to ``blobs``."""
    if isinstance(value, np.ndarray | np.generic):
        return _numbers(np.asarray(value), blobs)
    if type(value) is tuple and len(value) <= TUPLE:
        if depth == TUPLES:  # said on this side, as the other takes it for no value
            raise RecursionError
        return {"tuple": [encode(item, blobs, depth=depth + 1) for item in value]}
    if value is None or value is ... or type(value) is bool:
        return {"constant": str(value)}
    if type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond every float
            number = math.inf
        return {"number": repr(number), "whole": type(value) is int}
    kind = type(value)
    return {"foreign": [str(kind.__module__)[:200], str(kind.__name__)[:200]]}


def _array(entry: dict[str, Any], blobs: list[bytes]) -> np.ndarray[Any, Any]:
    shape, dtype = tuple(entry["shape"]), entry["dtype"]
    if len(shape) > AXES or any(type(n) is not int or not 0 <= n < 2**63 for n in shape):
        raise ProtocolError("no shape")
    numbers = NUMBERS.fullmatch(dtype)
    if not numbers and not OTHERS.fullmatch(dtype):  # before NumPy makes anything of it
        raise ProtocolError("no data type")
    kind = np.dtype(dtype)
    if "blob" not in entry:
        return np.broadcast_to(np.zeros((), kind), shape)  # takes no memory, whatever its shape
    data = blobs[entry["blob"]]
    if not numbers or len(data) != math.prod(shape) * kind.itemsize:
        raise ProtocolError("bytes that do not fit the shape")
    return np.frombuffer(data, kind).reshape(shape)


def _opaque(names: Any) -> Any:
    """Return an object of which only its type's name and module are known."""
    module, name = (text if isinstance(text, str) else "" for text in names)
    kind = type(name if WORD.fullmatch(name) else "object", (), {})
    kind.__module__ = module if WORD.fullmatch(module.split(".")[0]) else "unknown"
    return kind()


def decode(entry: Any, blobs: list[bytes], *, depth: int = 0) -> Any:
    """Return the value that an entry stands for; other objects become one in name only.

    Raises
    ------
    ProtocolError
        If the entry is none.
    """
    try:
        if "shape" in entry:
            return _array(entry, blobs)
        if "tuple" in entry and depth < TUPLES and len(entry["tuple"]) <= TUPLE:
            return tuple(decode(item, blobs, depth=depth + 1) for item in entry["tuple"])
        if "number" in entry:
            number = float(entry["number"])
            return int(number) if entry["whole"] and abs(number) < 2**53 else number
        if "constant" in entry:
            constants = {"None": None, "Ellipsis": ..., "True": True, "False": False}
            return constants[entry["constant"]]
        return _opaque(entry["foreign"])
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError) as e:
        raise ProtocolError("no value") from e
