"""Files and archives that try to be read wrongly, to be written elsewhere, or to stop the run."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mini_attn.exercises.progress_format import as_text
from mini_attn.exercises.progress_record import ANSWERS
from mini_attn.exercises.spec import exercise

__all__ = ["FILES", "HostileFile"]

Entries = Iterable[tuple[str, bytes]]
STAMP = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class HostileFile:
    """Something that a student sends.

    Parameters
    ----------
    name : str
        What it tries.
    place : str
        Its name in the folder of submissions; ``{}`` stands for the student.
    make : callable (path, notebook) -> None
        Makes it, given a path and a notebook with right answers.
    earns : bool
        Whether all points are earned; if not, none is.
    words : str
        What its author must be told; empty for nothing.
    """

    name: str
    place: str
    make: Callable[[Path, bytes], object]
    earns: bool
    words: str = ""


def _zipped(entries: Entries, level: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file; the same entries give the same bytes."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", level) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, level)
    return kept.getvalue()


def _zip(name: str) -> Callable[[Path, bytes], object]:
    """A zip file with one notebook of this name."""
    return lambda path, notebook: path.write_bytes(_zipped([(name, notebook)]))


def _link_in_zip(path: Path, notebook: bytes) -> None:
    entry = zipfile.ZipInfo("week1.ipynb", STAMP)
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, "/etc/passwd")


def _encrypted(path: Path, notebook: bytes) -> None:
    """The bit that says so is set in both headers."""
    data = bytearray(_zipped([("week1.ipynb", notebook)]))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def _claims(path: Path, notebook: bytes) -> None:
    """An entry that claims to hold 4 GB."""
    data = bytearray(_zipped([("week1.ipynb", notebook)]))
    for at in (22, data.index(b"PK\x01\x02") + 24):
        struct.pack_into("<I", data, at, 2**32 - 2)
    path.write_bytes(data)


def _claims_packed(path: Path, notebook: bytes) -> None:
    """An entry whose list of contents claims 4 GB of packed bytes, where there are two thousand."""
    data = bytearray(_zipped([("week1.ipynb", notebook)]))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 20, 0xFFFFFFF0)
    path.write_bytes(data)


def _unnamed(first: bytes) -> Callable[[Path, bytes], object]:
    """A second entry, whose name begins like this; with nothing else it has no name at all."""

    def make(path: Path, notebook: bytes) -> None:
        data = _zipped([("week1.ipynb", notebook), ("XX.ipynb", notebook)])
        path.write_bytes(data.replace(b"XX.ipynb", first.ljust(8, b"\0")))

    return make


def _bomb(path: Path, notebook: bytes) -> None:
    """300 kB that inflate to 300 MB."""
    path.write_bytes(_zipped([("week1.ipynb", b" " * 300_000_000)]))


def _bomb_of_many(path: Path, notebook: bytes) -> None:
    """2,000 notebooks that stand in one piece of the file: 5 MB each, 10 GB in all."""
    data = _zipped([("week1.ipynb", b'{"cells": [' + b" " * 5_000_000 + b"]}")])
    start = data.index(b"PK\x01\x02")
    central = data[start : data.index(b"PK\x05\x06")]
    many = central * 2_000
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2_000, 2_000, len(many), start, 0)
    path.write_bytes(data[:start] + many + end)


def _long_list(path: Path, notebook: bytes) -> None:
    """150 MB of names in an archive, which is 0.5 MB in another."""
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *[20] * 2, *[0] * 7, 7, *[0] * 6) + b"a.ipynb"
    many = entry * (150_000_000 // len(entry))
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 9, 9, len(many), 0, 0)
    path.write_bytes(_zipped([("in.zip", many + end)]))


def _long_claim(path: Path, notebook: bytes) -> None:
    """The end of the archive claims a list of 2**60 bytes."""
    large = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**60, 0)
    place = struct.pack("<4sIQI", b"PK\x06\x07", 0, 0, 1)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, *[2**16 - 1] * 2, *[2**32 - 1] * 2, 0)
    path.write_bytes(large + place + end)


def _ends(path: Path, notebook: bytes) -> None:
    """A zip file whose comment is made of ends of zip files."""
    data = bytearray(_zipped([("week1.ipynb", notebook)]))
    comment = (b"PK\x05\x06" + b"\xff" * 18) * 2_900
    struct.pack_into("<H", data, len(data) - 2, len(comment))
    path.write_bytes(bytes(data) + comment)


def _broken_often(path: Path, notebook: bytes) -> None:
    """10,000 names of one entry, which turns out to be broken after 15 MB."""
    data = bytearray(_zipped([("a.ipynb", b" " * 15_000_000)]))
    start = data.index(b"PK\x01\x02")
    central = data[start : data.index(b"PK\x05\x06")]
    central[16] ^= 1
    many = bytes(central) * 10_000
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 10_000, 10_000, len(many), start, 0)
    path.write_bytes(bytes(data[:start]) + many + end)


def _packed(method: int) -> Callable[[Path, bytes], object]:
    return lambda path, notebook: path.write_bytes(_zipped([("week1.ipynb", notebook)], method))


def _linked(path: Path, notebook: bytes) -> None:
    """300 names of one file of 15 MB, in a folder."""
    path.mkdir()
    (path / "0.ipynb").write_bytes(b" " * 15_000_000)
    for number in range(1, 300):
        os.link(path / "0.ipynb", path / f"{number}.ipynb")


def _many(path: Path, notebook: bytes) -> None:
    path.write_bytes(_zipped(((f"{n}.ipynb", b"") for n in range(20_001)), zipfile.ZIP_STORED))


def _nested(depth: int) -> Callable[[Path, bytes], object]:
    def make(path: Path, notebook: bytes) -> None:
        data = _zipped([("week1.ipynb", notebook)])
        for _ in range(depth):
            data = _zipped([("in.zip", data)])
        path.write_bytes(data)

    return make


def _folder(*names: str) -> Callable[[Path, bytes], object]:
    """A folder with the notebook under these names."""

    def make(path: Path, notebook: bytes) -> None:
        for name in names:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(notebook)

    return make


def _loop(path: Path, notebook: bytes) -> None:
    path.mkdir()
    (path / "again").symlink_to(path, target_is_directory=True)
    (path / "week1.ipynb").write_bytes(notebook)


def _holes(path: Path, notebook: bytes) -> None:
    with path.open("wb") as file:
        file.truncate(2**27)


def _progress(change: Callable[[bytes], bytes] = bytes) -> Callable[[Path, bytes], object]:
    """The answers as a page exports them."""

    def make(path: Path, notebook: bytes) -> None:
        chapters: dict[str, Any] = {}
        for cell in json.loads(notebook)["cells"]:
            tag = cell["metadata"].get("exercise", {})
            if tag.get("role") == "starter":
                source = "".join(cell["source"]).encode("utf-8", "replace").decode()
                page = chapters.setdefault(exercise(tag["id"]).page, {ANSWERS: {}})
                page[ANSWERS][tag["id"]] = {"code": source}
        path.write_bytes(change(as_text(chapters).encode()))

    return make


def _plain(path: Path, notebook: bytes) -> None:
    path.write_bytes(notebook)


LINK, BROKEN, NO = "link or a device", "zip file is broken", "no notebook"
FILES = tuple(
    HostileFile(*row)
    for row in (
        ("a zip file", "{}.zip", _zip("week1.ipynb"), True),
        ("a zip file in capitals", "{}.ZIP", _zip("WEEK1.IPYNB"), True),
        ("a zip file with a path upwards", "{}.zip", _zip("../../up.ipynb"), True),
        ("a zip file with a path of Windows", "{}.zip", _zip("C:\\up\\..\\..\\up.ipynb"), True),
        ("a zip file with an absolute path", "{}.zip", _zip("/tmp/mini_attn_up.ipynb"), True),
        ("a zip file with a long name", "{}.zip", _zip("x" * 300 + ".ipynb"), True),
        ("a zip file with an odd name", "{}.zip", _zip("\x1b[2J\n=cmd|<b>'\".ipynb"), True),
        ("a zip file with a link", "{}.zip", _link_in_zip, False, "a link"),
        ("a zip file that is encrypted", "{}.zip", _encrypted, False, "encrypted"),
        ("a zip file that claims 4 GB", "{}.zip", _claims, True),
        ("a zip file that claims 4 GB of packed bytes", "{}.zip", _claims_packed, True),
        ("a zip file with a name of nothing", "{}.zip", _unnamed(b""), True),
        ("a zip file with a name behind its end", "{}.zip", _unnamed(b"\0x.ipynb"), True),
        ("a zip file that grows", "{}.zip", _bomb, False, "larger than"),
        ("a zip file that grows by copies", "{}.zip", _bomb_of_many, False, ""),
        ("a zip file of many files", "{}.zip", _many, False, "more than"),
        ("a zip file with a list of 150 MB", "{}.zip", _long_list, False, "list of contents"),
        ("a zip file that claims a list", "{}.zip", _long_claim, False, BROKEN),
        ("a zip file with many ends", "{}.zip", _ends, False, BROKEN),
        ("a zip file that is broken often", "{}.zip", _broken_often, False, "too much"),
        ("a zip file packed with LZMA", "{}.zip", _packed(zipfile.ZIP_LZMA), False, "ordinary"),
        ("a zip file packed with bzip2", "{}.zip", _packed(zipfile.ZIP_BZIP2), False, "ordinary"),
        ("one file with many names", "{}", _linked, False, "too much in one folder"),
        ("a zip file in zip files", "{}.zip", _nested(2), True),
        ("a zip file in many zip files", "{}.zip", _nested(9), False, "too deep"),
        ("a zip file of nothing", "{}.zip", lambda p, n: p.write_bytes(_zipped([])), False, ""),
        ("a zip file cut off", "{}.zip", lambda p, n: p.write_bytes(_zipped([("a", n)])[:-9]),
         False, BROKEN),
        ("a notebook called zip", "{}.zip", _plain, False, BROKEN),
        ("a zip file called notebook", "{}.ipynb", _zip("week1.ipynb"), False, "no notebook"),
        ("a folder called notebook", "{}.ipynb", _folder("week1.ipynb"), True),
        ("a notebook that a browser called a text", "{}.ipynb.txt", _plain, True),
        ("a notebook that a browser called JSON", "{}", _folder("week1.ipynb.JSON"), True),
        ("a zip file with a notebook called a text", "{}.zip", _zip("week1.ipynb.txt"), True),
        ("a zip file behind a program", "{}.zip", lambda p, n: p.write_bytes(
            b"MZ" + bytes(1000) + _zipped([("week1.ipynb", n)])), True),
        ("the page's progress", "{}.json", _progress(), True),
        ("the page's progress in a zip file", "{}.zip", lambda p, n: (
            _progress()(p, n), p.write_bytes(_zipped([("x.json", p.read_bytes())]))), True),
        ("progress that claims points", "{}.json", _progress(lambda text: text.replace(
            b'"answers"', b'"exercises"').replace(b'"code"', b'"points": 4, "x"')), False,
         "no progress that can be read"),
        ("progress of another version", "{}.json", _progress(lambda text: text.replace(
            b'"version": 2', b'"version": 9')), False, "has version 9"),
        ("progress without code", "{}.json", _progress(lambda text: text[:text.index(b"{", 9)]
            + b"{}}"), False, "holds no answer"),
        ("progress that is cut off", "{}.json", _progress(lambda text: text[:-9]), False,
         "it is not JSON text"),
        ("progress that is deep", "{}.json", _progress(lambda text: text[:-9] + b"[" * 10**5),
         False, "it is not JSON text"),
        ("progress that is large", "{}.json", _progress(lambda text: text + b" " * 10**7), False,
         "expected at most"),
        ("a notebook saved as JSON", "{}.json", _plain, True),
        ("a socket", "{}.ipynb", lambda p, n: os.mknod(p, stat.S_IFSOCK | 0o600), False, LINK),
        ("a file of holes", "{}.ipynb", _holes, False, "larger than"),
        ("a deep folder", "{}", _folder("/".join("abcdefgh") + "/week1.ipynb"), True),
        ("a folder that is too deep", "{}", _folder("a/" * 200 + "week1.ipynb"), False, "too deep"),
        ("a folder that holds itself", "{}", _loop, True),
        ("copies of the system", "{}", _folder("week1.ipynb", ".ipynb_checkpoints/week1.ipynb",
         "__MACOSX/week1.ipynb", "._week1.ipynb"), True),
        ("the same twice", "{}", _folder("a/week1.ipynb", "b/week1.ipynb"), True),
        ("a folder that looks hidden", ".{}", _folder("week1.ipynb"), True),
        ("a hidden folder in a folder", "{}", _folder(".week1/week1.ipynb"), False, NO),
        ("a report and no notebook", "{}", _folder("report.pdf", "more.rar"), False, NO),
        ("a report", "{}.pdf", _plain, False, NO),
        ("a zip file of a program", "{}.zip", _zip("week1.py"), False, NO),
        ("an empty folder", "{}", lambda p, n: p.mkdir(), False, ""),
        ("a link to the password file", "{}.ipynb", lambda p, n: p.symlink_to("/etc/passwd"),
         False, LINK),
        ("a link to nothing", "{}.ipynb", lambda p, n: p.symlink_to("/nowhere"), False, LINK),
        ("a pipe", "{}.ipynb", lambda p, n: os.mkfifo(p), False, LINK),
        ("a name with a new line", "{}\nx.ipynb", _plain, True),
        ("a name with quotes", "{}'\"`$(true).ipynb", _plain, True),
        ("a name like a formula", "=cmd|' {}'!A0.ipynb", _plain, True),
        ("a name with markup", "<img src=x onerror=alert(1)>{}.ipynb", _plain, True),
        ("a name that is long", "{}" + "x" * 230 + ".ipynb", _plain, True),
        ("a name that turns round", "{}\u202egpj.ipynb", _plain, True),
        ("a name of the command line", "--out={}.ipynb", _plain, True),
        ("a name that is no text", "{}\udcff\udcfe.ipynb", _plain, True),
        ("a name that is not there", "{} .ipynb", _plain, True),
    )
)  # fmt: skip
