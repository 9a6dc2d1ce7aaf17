"""What a process says is data of unknown origin: every message is read safely or refused."""

from __future__ import annotations

import io
import json
import math
import resource
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from classroom.sandbox import protocol

KINDS = arrays.boolean_dtypes() | arrays.integer_dtypes() | arrays.floating_dtypes()


def there_and_back(value: Any) -> Any:
    """A value as the other side gets it."""
    stream, blobs = io.BytesIO(), []
    entry = protocol.encode(value, blobs)
    protocol.send(stream, {"value": entry}, blobs)
    stream.seek(0)
    message, back = protocol.receive(stream)
    return protocol.decode(message["value"], back)


@given(arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, min_side=0)))
def test_arrays_arrive_as_they_are(array: Any) -> None:
    got = there_and_back(array)
    assert (got.shape, got.dtype) == (array.shape, array.dtype)
    assert got.tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [0, -7, 2**52, 1.5, -0.0, math.inf, True, False, None, ...])
def test_numbers_and_constants_arrive(value: Any) -> None:
    got = there_and_back(value)
    assert (got, type(got)) == (value, type(value))
    assert math.isnan(there_and_back(math.nan))
    assert there_and_back(10**400) == math.inf


def test_tuples_arrive_and_long_ones_only_by_name() -> None:
    pair = there_and_back((np.arange(3), 4))
    assert pair[0].tolist() == [0, 1, 2]
    assert pair[1] == 4
    assert not isinstance(there_and_back(tuple(range(100))), tuple | int)


@pytest.mark.parametrize(
    ("value", "name"),
    [([1], "list"), ("text", "str"), ({}, "dict"), (len, "builtin_function_or_method"),
     (np.random.default_rng(0), "Generator"), (type("a b<script>", (), {})(), "object")],
)  # fmt: skip
def test_other_objects_arrive_in_name_only(value: Any, name: str) -> None:
    assert type(there_and_back(value)).__name__ == name


def test_a_tensor_is_known_by_its_module() -> None:
    import torch

    assert type(there_and_back(torch.zeros(2))).__module__.split(".")[0] == "torch"


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.broadcast_to(np.zeros(()), (10**5, 10**5, 10**4)),
        np.zeros((0, 2**40)),
        np.zeros([1] * 64),
    ],
    ids=["objects", "text", "fields", "dates", "huge", "empty", "axes"],
)
def test_arrays_without_numbers_keep_shape_and_kind_and_take_no_memory(array: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    got = there_and_back(array)
    assert got.shape == array.shape
    assert got.dtype.kind == array.dtype.kind
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


@pytest.mark.parametrize(
    "entry",
    [
        {"shape": [2], "dtype": "<f8", "blob": 0},  # eight bytes for two numbers
        {"shape": [-1], "dtype": "<f8"},
        {"shape": [2**62], "dtype": "<f8"},
        {"shape": [2**80], "dtype": "|b1"},
        {"shape": [2**39, 2**39, 2**39], "dtype": "<f8"},
        {"shape": [1] * 70, "dtype": "<f8"},
        {"shape": [1.0], "dtype": "<f8"},
        {"shape": [True], "dtype": "<f8"},
        {"shape": 3, "dtype": "<f8"},
        {"shape": [1], "dtype": "O", "blob": 0},
        {"shape": [1], "dtype": "i4,i4"},
        {"shape": [1], "dtype": "('f8', (10**9,))"},
        {"shape": [1], "dtype": "V999999999999"},
        {"shape": [1], "dtype": ["<f8"]},
        {"shape": [1], "dtype": "<f8", "blob": 7},
        {"shape": [1], "dtype": "<f8", "blob": "0"},
        {"tuple": [{"tuple": [{"tuple": [{"tuple": []}]}]}]},
        {"tuple": [{"number": "1", "whole": True}] * 100},
        {"number": "one", "whole": True},
        {"number": "1"},
        {"constant": "__import__"},
        {"foreign": ["one"]},
        {"foreign": 3},
        {},
        [],
        None,
        3,
    ],
)
def test_what_is_no_value_is_refused(entry: Any) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(entry, [b"12345678"])


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON\n", b"[1]\n", b'{"a": 1}\n', b'{"blobs": 3}\n', b'{"blobs": ["x"]}\n',
        b'{"blobs": [-1]}\n', b'{"blobs": [99999999999]}\n', b'{"blobs": [1e999]}\n',
        b'{"blobs": ' + b"[" * 90_000 + b"\n", json.dumps({"blobs": [0] * 99}).encode() + b"\n",
        b"x" * (protocol.LINE_BYTES + 5),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.receive(io.BytesIO(line))


@pytest.mark.parametrize("rest", [b"", b'{"blobs": [5]}\nabc'])
def test_an_end_is_an_end(rest: bytes) -> None:
    with pytest.raises(EOFError):
        protocol.receive(io.BytesIO(rest))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["shape", "dtype", "blob", "tuple", "number", "whole", "foreign"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_data_is_a_value_or_refused(entry: Any) -> None:
    """No other error comes out, and what was taken can be said again in JSON."""
    try:
        value = protocol.decode(entry, [b"12345678", b""])
    except protocol.ProtocolError:
        return
    assert json.loads(json.dumps(protocol.encode(value, [])))


@pytest.mark.parametrize(
    "dtype",
    ["V999999999", "|V999999999", "S999999999", "<U99999999", "V1000", "f99", "i3", "u16", "b8",
     "c64", "f12", "O16", "M8[1000s]", "m8[s/2]", "M9", "a9", "i8,i8", "(9,)i8", "T16", "<f8 ",
     "float64", "V-1", "VV", "9V9", ""],
)  # fmt: skip
def test_types_are_allowed_by_list_before_anything_is_made(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No element of such a type is made, nor does NumPy read its name."""

    def never(*_: Any) -> None:
        raise AssertionError("NumPy was asked")

    monkeypatch.setattr(protocol.np, "dtype", never)
    for entry in ({"shape": [], "dtype": dtype}, {"shape": [1], "dtype": dtype, "blob": 0}):
        with pytest.raises(protocol.ProtocolError, match="no data type"):
            protocol.decode(entry, [b"12345678"])


def test_a_large_element_travels_as_a_small_one() -> None:
    """The kind is what an answer is told about; its size would be the grader's memory."""
    for dtype, kind in (("V99999", "V"), ("S99999", "S"), ("U99999", "U")):
        got = there_and_back(np.zeros((2, 3), dtype))
        assert (got.shape, got.dtype.kind) == ((2, 3), kind)
        assert got.dtype.itemsize <= 4_000
    texts = np.array(["a"], dtype=np.dtypes.StringDType())
    assert there_and_back(texts).dtype.kind == "U"


def test_the_arrays_of_a_message_share_a_budget() -> None:
    """Past it they travel without their numbers, and a message that ignores it is refused."""
    large = np.ones(protocol.BLOB_BYTES // 8)
    blobs: list[bytes] = []
    protocol.encode(((large,) * 16,) * 16, blobs)
    assert sum(map(len, blobs)) <= protocol.ALL_BLOBS_BYTES
    small: list[bytes] = []
    got = protocol.decode(protocol.encode(((1, np.ones(1)),) * 16, small), small)
    assert got[15][1].tolist() == [1.0]
    sizes = [protocol.BLOB_BYTES] * 32
    with pytest.raises(protocol.ProtocolError, match="together"):
        protocol.receive(io.BytesIO(json.dumps({"blobs": sizes}).encode() + b"\n"))


def test_tuples_in_tuples_in_tuples_are_refused_where_they_are_made() -> None:
    """So that an honest answer is told what it returned, and is not called a forger."""
    assert there_and_back(((1,), (2, 3))) == ((1,), (2, 3))
    with pytest.raises(RecursionError):
        there_and_back((((1,),),))


def test_a_reply_s_line_is_shorter_than_a_job_s() -> None:
    line = json.dumps({"text": "x" * protocol.REPLY_BYTES, "blobs": []}).encode() + b"\n"
    assert protocol.receive(io.BytesIO(line))[1] == []
    with pytest.raises(protocol.ProtocolError):
        protocol.receive(io.BytesIO(line), protocol.REPLY_BYTES)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    """No other error comes out, and what was taken holds no more bytes than came."""
    try:
        message, blobs = protocol.receive(io.BytesIO(data))
    except (protocol.ProtocolError, EOFError):
        return
    assert [int(size) for size in message["blobs"]] == [len(blob) for blob in blobs]
    assert sum(map(len, blobs)) < len(data)
