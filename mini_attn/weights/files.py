"""Weights in files: safetensors for every tool, npz where only NumPy is installed.

A file is written beside its place, one weight at a time, and moved there when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import IO, Any

from mini_attn._json import json_file
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.shapes import check_choice
from mini_attn.weights._header import KINDS, WORDS, read_header
from mini_attn.weights.state import as_array

__all__ = ["load_npz", "load_safetensors", "read_metadata", "save_npz", "save_safetensors"]

NAMES = {kind: name for name, kind in KINDS.items()}


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
        If the backend is unknown, the file is no safetensors file or was cut, its header tells
        of weights that overlap, leave a hole, come twice or have another size, or an index
        lists a file that is missing or not beside it. No weight is read before all was checked.
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
        return _all_parts(path, backend)
    header, _, start = read_header(path)
    if backend == "torch":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path)
        except (SafetensorError, KeyError, ValueError, RuntimeError) as fault:
            raise ConfigError(f"{path.name} cannot be read: {fault!s:.200}") from None
    return _mapped(path, header, start)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read what a safetensors file says about its weights.

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
    return read_header(Path(path))[1]


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
    import zlib

    from numpy.lib import format as npy

    weights = {}
    broken = (ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, KeyError)
    absurd = (MemoryError, OverflowError, TypeError, SyntaxError)  # what a header may make of it
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                with archive.open(name) as member:
                    array = npy.read_array(member, allow_pickle=False)
                weights[name.removesuffix(".npy")] = array
    except (*broken, *absurd) as fault:
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


def _mapped(path: Path, header: Mapping[str, Any], start: int) -> dict[str, Any]:
    """Arrays over the file's bytes; writing into one does not reach the file."""
    import numpy as np

    raw, weights = np.asarray(np.memmap(path, np.uint8, "c")), {}
    for name, entry in header.items():
        dtype, (first, last) = NAMES.get(entry["dtype"]), entry["data_offsets"]
        if dtype is None:
            raise DTypeError(
                f"{path.name}: {name} is stored as {entry['dtype']}, which NumPy has not: if the "
                "weights are quantized, convert them first"
            )
        stored = np.dtype("u2" if dtype == "bfloat16" else dtype).newbyteorder("<")
        try:
            array = raw[start + first : start + last].view(stored).reshape(entry["shape"])
        except (ValueError, OverflowError):  # no numbers in it, but axes too long to multiply
            raise ConfigError(f"{path.name}: no array can be {name}: {entry!s:.80}") from None
        if dtype == "bfloat16":  # the upper half of a float32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        weights[name] = array
    return weights


def _parts(index: Path) -> dict[str, set[str]]:
    """The names of weights in each file that an index lists, all of them beside it."""
    listed = json_file(index, unique=True).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ConfigError(f"{index.name} has no weight_map of names and files")
    parts: dict[str, set[str]] = {}
    for name, part in listed.items():
        # Neither a path of this system nor one of another may lead out of the folder.
        if not isinstance(part, str) or part in ("", "..") or PureWindowsPath(part).name != part:
            raise ConfigError(f"{index.name}: {name} must be in a file beside it, got {part!r:.80}")
        parts.setdefault(part, set()).add(name)
    for part in parts:
        if not os.path.isfile(index.with_name(part)):
            raise ConfigError(f"{index.name} lists {part!r:.80}, which is not there")
    return parts


def _all_parts(index: Path, backend: str) -> dict[str, Any]:
    """The weights of all files that an index lists."""
    weights: dict[str, Any] = {}
    for part, names in sorted(_parts(index).items()):
        found = load_safetensors(index.with_name(part), backend=backend)
        missing, twice = sorted(names - found.keys()), sorted(weights.keys() & found.keys())
        if missing:
            raise ConfigError(f"{part} lacks what {index.name} says it has: {missing[:4]}")
        if twice:
            raise ConfigError(f"{part} has weights that a file before it has too: {twice[:4]}")
        weights |= found
    return weights
