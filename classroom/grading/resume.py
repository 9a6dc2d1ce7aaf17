"""What a run keeps, so that one that was interrupted goes on: its seed, and each result.

A result is kept as soon as it is there, under a name that depends on everything that could
change it: a second run repeats nothing, and what was graded otherwise is not taken up.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from classroom import ROOT
from classroom.atomic import replace_file
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["Settings", "digest", "digest_of_graders", "kept_results", "read_result",
           "result_path", "secret_seed", "write_data"]  # fmt: skip

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
        """All students of a run get the same cases, and others at each attempt."""
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
    """The seed of an earlier run, if there was one."""
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
    """The seed of the run: as asked for, as in an earlier run, or new."""
    path = out / "seed.json"
    kept = _kept_seed(path)
    seed = given or kept or secrets.token_hex(16)
    if seed != kept:
        write_data(path, {"seed": seed})  # who knows it knows the cases
    return seed


def result_path(folder: Path, settings: Settings, sent: Submission) -> Path:
    """Where the result of a student is kept."""
    return folder / f"{digest(asdict(settings), sent.graded())}.json"


def kept_results(folder: Path) -> list[Path]:
    """All results that are kept there; what else lies in the folder is the teacher's."""
    return [path for path in folder.glob("*.json") if RESULT.fullmatch(path.name)]


def read_result(path: Path) -> dict[str, Any] | None:
    """A result of an earlier run, if it is whole."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found if found["student"] is not None else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
