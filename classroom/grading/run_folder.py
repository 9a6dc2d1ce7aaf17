"""Keeps what a run leaves in its folder, so that the next one goes on there.

A result is kept as soon as it's there, under a name that depends on everything that could change
it: a second run repeats nothing, and what was graded otherwise isn't taken up. One record says how
a class was graded, for when some students alone are graded again. Another says which texts a run
wrote: a file that holds another one is the teacher's, a remark in a page of feedback or a table
with a column more. It's set aside, never written over or removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from classroom import ROOT
from classroom.atomic import free_name, replace_file
from classroom.drawing import seal
from classroom.grading.late import Late
from classroom.grading.people import named_one
from classroom.reports.sanitize import clean
from classroom.results import Result, as_data, from_data
from classroom.sheets.sheet import Sheet
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["ASKED", "Settings", "as_asked", "digest", "digest_of_graders", "kept_results",
           "read_result", "result_path", "secret_seed", "to_grade_again", "write_data",
           "write_kept", "write_result"]  # fmt: skip

RESULT = re.compile(r"[0-9a-f]{64}\.json")


@dataclass(frozen=True)
class Settings:
    """What every grade of a run depends on, besides the answer."""

    sheet: str
    exercises: tuple[str, ...]
    seed: str
    graders: str  # digest of the code that grades
    drawn: bool = False  # whether pencil exercises have numbers by student

    def case_seed(self, exercise_id: str, attempt: int = 1) -> int:
        """Return all students of a run get the same cases, and others at each attempt."""
        more = [attempt] if attempt > 1 else []
        return int(digest(self.seed, exercise_id, *more)[:16], 16)


def digest(*values: Any) -> str:
    """Digest of data, the same for the same data."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def digest_of_graders() -> str:
    """Digest of all code that a grade depends on."""
    total = hashlib.sha256()
    folders = [ROOT / "classroom", ROOT / "book", *(ROOT / "mini_attn").glob("*/")]
    files = [p for f in folders if f.name not in ("torch", "widgets") for p in f.rglob("*.py")]
    files += [*(ROOT / "mini_attn").glob("*.py"), *(ROOT / "book").glob("*.ipynb")]
    for path in sorted(set(files)):
        total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.hexdigest()


def write_data(path: Path, data: Any) -> None:
    """Data as JSON, the same text for the same data: for the grader alone."""
    replace_file(path, json.dumps(data, indent=1, sort_keys=True) + "\n", private=True)


def _kept_seed(path: Path) -> str | None:
    """Return the seed of an earlier run, if there was one."""
    if not path.exists():
        return None
    try:
        seed = json.loads(path.read_text(encoding="utf-8"))["seed"]
    except (ValueError, TypeError, LookupError, RecursionError):
        seed = None
    if not isinstance(seed, str) or not seed:
        raise ConfigError(
            f"{str(path)!r} is broken: it holds no seed. Put back the file of the earlier run, "
            "or move it away to grade all answers again with a new seed"
        )
    return seed


def secret_seed(out: Path, given: str | None) -> str:
    """Return the seed of the run: as asked for, as in an earlier run, or new."""
    path = out / "seed.json"
    kept = _kept_seed(path)
    seed = given or kept or secrets.token_hex(16)
    if seed != kept:
        write_data(path, {"seed": seed})  # who knows it knows the cases
    return seed


def result_path(folder: Path, settings: Settings, sent: Submission) -> Path:
    """Return where the result of a student is kept."""
    return folder / f"{digest(asdict(settings), sent.graded())}.json"


def kept_results(folder: Path) -> list[Path]:
    """Return all results that are kept there; what else lies in the folder is the teacher's."""
    return [path for path in folder.glob("*.json") if RESULT.fullmatch(path.name)]


def write_result(path: Path, result: Result) -> None:
    """Keep a result."""
    write_data(path, as_data(result))


def read_result(path: Path) -> Result | None:
    """Return a result of an earlier run, if it is whole."""
    try:
        found = from_data(json.loads(path.read_text(encoding="utf-8")))
        return found if found.student is not None else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


ASKED = ".run.json"


def as_asked(
    sheet: Sheet, *, partial: bool, attempts: str | None, late: Late | None, draw: str | None
) -> dict[str, str]:
    """Return the choices on which everybody's points depend, under the names of ``make``."""
    return {
        "SHEET": json.dumps(sheet.as_data(), sort_keys=True),
        "PARTIAL": "1" if partial else "",
        "ATTEMPTS": attempts or "",
        "DUE": late.due if late else "",
        "LATE": late.rule.text if late else "",
        "DRAW": seal(draw) if draw else "",
    }


def _before(path: Path) -> dict[str, str]:
    """Return the choices of the last run; nothing if none came to its end."""
    try:
        return {str(key): str(value) for key, value in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def to_grade_again(
    written: Sequence[str], names: Mapping[str, Sequence[str]], out: Path, now: Mapping[str, str]
) -> frozenset[str]:
    """Return the students who are to be graded again.

    Parameters
    ----------
    written : sequence of str
        Their names, as the teacher writes them.
    names : dict of str to sequence of str
        What students are called.
    out : Path
        The folder of the run.
    now : dict of str to str
        The choices of this run.

    Raises
    ------
    ConfigError
        If a name fits nobody or several, or the last run had other choices or there was none:
        then the others' points would change too.
    """
    found = set()
    for name in written:
        student = named_one(names, name)
        if student is None:
            raise ConfigError(f"AGAIN: no student, or several, called {clean(name, 80)!r} here")
        found.add(student)
    before = _before(out / ASKED) if written else dict(now)
    if not before:
        raise ConfigError(f"AGAIN: nothing was graded in {str(out)!r} yet: leave it out first")
    other = [key for key, value in now.items() if before.get(key) != value]
    if other:
        words = f"the last run had another {' and '.join(other)}"
        raise ConfigError(f"AGAIN: {words}; repeat its choices, or grade all without AGAIN=")
    return frozenset(found)


WRITTEN = ".written.json"
Record = dict[str, list[str]]  # digests of the texts that may stand in a file of ours


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_record(out: Path) -> Record:
    """Return what earlier runs wrote; without a record, every file is the teacher's."""
    try:
        found = json.loads((out / WRITTEN).read_text(encoding="utf-8"))
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
    write_data(out / WRITTEN, both)  # first: of a run that is killed here, each file is known
    for name, digests in both.items():
        path = out / name
        if name in files and path.exists() and not _is_ours(path, digests):
            _set_aside(path)
        elif name not in files and _is_ours(path, digests):
            path.unlink()
    for name, text in files.items():
        replace_file(out / name, text, private=True)
    write_data(out / WRITTEN, now)
