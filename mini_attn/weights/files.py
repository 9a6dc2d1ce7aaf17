"""Weights in files: safetensors for every tool, npz where only NumPy is installed.

A file is written beside its place, one weight at a time, and moved there when it is whole.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.shapes import check_choice
from mini_attn.weights.state import as_array

__all__ = ["load_npz", "load_safetensors", "read_metadata", "save_npz", "save_safetensors"]

# The format's name of each data type; BF16 has none in NumPy.
KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
NAMES = {kind: name for name, kind in KINDS.items()}
WORDS = "__metadata__"  # the header's one entry that is no weight


def save_safetensors(
    path: str | os.PathLike[str],
    state: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write weights of either backend to a safetensors file.

    ``file = length of header, header, bytes of each weight``

    Parameters
    ----------
    path : path
        The file; an old one stays whole until the new one is.
    state : mapping of str to array
        Arrays or tensors of any memory layout and device.
    metadata : mapping of str to str, or None
        Words about the weights, kept in the header.

    Raises
    ------
    DTypeError
        If a value is no array, the format has no name for its type, or metadata is no text.

    Notes
    -----
    Only one weight is copied at a time, so that the transposed matrices of the PyTorch layers
    need no second copy of the model.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(f"{folder}/a.safetensors", {"weight": np.ones((2, 3))})
    ...     load_safetensors(f"{folder}/a.safetensors")["weight"].shape
    (2, 3)
    """
    words = dict(metadata or {})
    if not all(isinstance(text, str) for pair in words.items() for text in pair):
        raise DTypeError(f"metadata must map text to text, got {words!r:.80}")
    header: dict[str, Any] = {WORDS: words} if words else {}
    end = 0
    for name, value in state.items():
        kind, size = _kind_and_size(name, value)
        shape = list(value.shape)
        begin, end = end, end + size
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the weights start at a multiple of 8, as readers like it
    with _replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, value in state.items():
            file.write(_stored(name, value))


def load_safetensors(path: str | os.PathLike[str], *, backend: str = "numpy") -> dict[str, Any]:
    """Read the weights of a safetensors file.

    ``weights[name] = bytes of the file from data_offsets[0] to data_offsets[1]``

    Parameters
    ----------
    path : path
        The file, or the index (``*.safetensors.index.json``) of several.
    backend : {"numpy", "torch"}
        Arrays or tensors.

    Returns
    -------
    dict of str to array
        Mapped from the file, so that a page of it is read when it is needed. For NumPy, bfloat16
        is widened to float32 of equal value, which needs memory of twice the file's size.

    Raises
    ------
    ConfigError
        If the backend is unknown, the file is no safetensors file, or it was cut.
    DTypeError
        If NumPy has no type for a weight.

    Notes
    -----
    PyTorch's side is read by the ``safetensors`` package (extra ``weights``); NumPy's needs
    nothing else.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(f"{folder}/a.safetensors", {"weight": np.ones(2)})
    ...     load_safetensors(f"{folder}/a.safetensors")
    {'weight': array([1., 1.])}
    """
    check_choice("backend", backend, ("numpy", "torch"))
    path = Path(path)
    if path.suffix == ".json":
        parts = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
        weights: dict[str, Any] = {}
        for part in parts:
            weights |= load_safetensors(path.with_name(part), backend=backend)
        return weights
    header, start = _read_header(path)
    if backend == "torch":
        from safetensors.torch import load_file

        return load_file(path)
    return _mapped(path, header, start)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """What a safetensors file says about its weights.

    ``metadata = header["__metadata__"]``

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of str to str
        Empty if it says nothing.

    Raises
    ------
    ConfigError
        If the file is no safetensors file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_safetensors(f"{folder}/a", {"weight": np.ones(2)}, {"trained on": "nothing"})
    ...     read_metadata(f"{folder}/a")
    {'trained on': 'nothing'}
    """
    header, _ = _read_header(Path(path))
    return dict(header.get(WORDS, {}))


def save_npz(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write weights of either backend to an npz file, in the browser too.

    ``file = zip of one npy file per weight``

    Parameters
    ----------
    path : path
        The file; an old one stays whole until the new one is.
    state : mapping of str to array
        Arrays or tensors; bfloat16 becomes float32 of equal value.

    Raises
    ------
    DTypeError
        If a value is no array of numbers.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(f"{folder}/a.npz", {"weight": np.ones(2)})
    ...     load_npz(f"{folder}/a.npz")
    {'weight': array([1., 1.])}
    """
    import zipfile

    from numpy.lib import format as npy

    with _replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, value in state.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, as_array(name, value), allow_pickle=False)


def load_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the weights of an npz file; nothing in it is run.

    ``weights[name] = array stored as name.npy``

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of str to numpy.ndarray
        For ``load_state_dict`` of either backend.

    Raises
    ------
    ConfigError
        If the file is no npz file, was cut, or holds pickled objects.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(f"{folder}/a.npz", {"layers.0.weight": np.ones(2)})
    ...     list(load_npz(f"{folder}/a.npz"))
    ['layers.0.weight']
    """
    import zipfile

    from numpy.lib import format as npy

    weights = {}
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                with archive.open(name) as member:
                    array = npy.read_array(member, allow_pickle=False)
                weights[name.removesuffix(".npy")] = array
    except (ValueError, EOFError, zipfile.BadZipFile) as fault:
        raise ConfigError(f"{Path(path).name} is no npz file of plain arrays: {fault}") from None
    return weights


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file beside ``path`` that takes its place when all is written, and goes if not."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _kind_and_size(name: str, value: Any) -> tuple[str, int]:
    """The format's word for a weight's type, and the weight's bytes."""
    found = getattr(value, "dtype", type(value).__name__)
    dtype = str(getattr(found, "name", found)).removeprefix("torch.")  # in either byte order
    if dtype not in KINDS or not hasattr(value, "shape"):
        raise DTypeError(f"{name} must be an array of {', '.join(KINDS)}, got {dtype}")
    if name == WORDS:
        raise ConfigError(f"{WORDS} names what is said about the weights, not a weight")
    return KINDS[dtype], int(value.nbytes)


def _stored(name: str, value: Any) -> bytes:
    """A weight's bytes, row by row, the lowest byte of each number first."""
    array = as_array(name, value)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if str(value.dtype) == "torch.bfloat16":  # bfloat16 is the upper half of a float32
        array = (array.view("<u4") >> 16).astype("<u2")
    return array.tobytes()


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header, checked against the file's size, and where the weights start."""
    with open(path, "rb") as file:
        whole = os.fstat(file.fileno()).st_size
        start = 8 + int.from_bytes(file.read(8), "little")
        try:
            header = dict(json.loads(file.read(start - 8) if start <= whole else b""))
            spans = [entry["data_offsets"] for name, entry in header.items() if name != WORDS]
            end = start + max((last for _, last in spans), default=0)
        except (ValueError, AttributeError, KeyError, TypeError):
            raise ConfigError(f"{path.name} is no safetensors file: no header in it") from None
    if end != whole:
        raise ConfigError(f"{path.name} has {whole} bytes, its header says {end}: was it cut?")
    return header, start


def _mapped(path: Path, header: Mapping[str, Any], start: int) -> dict[str, Any]:
    """Arrays over the file's bytes; writing into one does not reach the file."""
    import numpy as np

    raw, weights = np.asarray(np.memmap(path, np.uint8, "c")), {}
    for name, entry in header.items():
        if name == WORDS:
            continue
        dtype, (first, last) = NAMES.get(entry["dtype"]), entry["data_offsets"]
        if dtype is None:
            raise DTypeError(f"{name} is stored as {entry['dtype']}, which NumPy has not")
        stored = np.dtype("u2" if dtype == "bfloat16" else dtype).newbyteorder("<")
        if last - first != math.prod(entry["shape"]) * stored.itemsize:
            raise ConfigError(f"{path.name} gives {name} {last - first} bytes: {entry}")
        array = raw[start + first : start + last].view(stored).reshape(entry["shape"])
        if dtype == "bfloat16":  # the upper half of a float32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        weights[name] = array
    return weights
