"""Writes the files of a run, and leaves alone what is not its own.

A record says which texts the run wrote. A file that holds another one is the teacher's: a remark
in a page of feedback, a table with a column more. It is set aside, never written over or removed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from classroom.atomic import free_name, replace_file
from classroom.grading.resume import write_data

__all__ = ["write_kept"]

RECORD = ".written.json"
Record = dict[str, list[str]]  # digests of the texts that may stand in a file of ours


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_record(out: Path) -> Record:
    """What earlier runs wrote; nothing if there is no record, and every file is the teacher's."""
    try:
        found = json.loads((out / RECORD).read_text(encoding="utf-8"))
        return {str(name): [str(one) for one in digests] for name, digests in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _is_ours(path: Path, digests: list[str]) -> bool:
    try:
        return _digest(path.read_bytes()) in digests
    except OSError:
        return False


def _set_aside(path: Path) -> None:
    """Rename a file of the teacher's; no student's file has a dot in its name."""
    target = free_name(path.with_name(f"{path.stem}.kept{path.suffix}"))
    path.rename(target)
    print(f"[grade] {path.name} was not as it had been written; kept as {target}", file=sys.stderr)


def write_kept(out: Path, files: dict[str, str]) -> None:
    """Write the files of a run, and remove those of an earlier one that are no more.

    Parameters
    ----------
    out : Path
        The folder of the run.
    files : dict of str to str
        Texts by name. A file of the teacher's that has such a name gets another one.
    """
    earlier = _read_record(out)
    now = {name: [_digest(text.encode())] for name, text in files.items()}
    both = {name: sorted({*earlier.get(name, []), *now.get(name, [])}) for name in {*earlier, *now}}
    write_data(out / RECORD, both)  # first: of a run that is killed here, each file is known
    for name, digests in both.items():
        path = out / name
        if name in files and path.exists() and not _is_ours(path, digests):
            _set_aside(path)
        elif name not in files and _is_ours(path, digests):
            path.unlink()
    for name, text in files.items():
        replace_file(out / name, text, private=True)
    write_data(out / RECORD, now)
