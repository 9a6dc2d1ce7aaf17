"""Other names for students: the same at every run, and known to the teacher alone.

A secret beside the grades makes them; whoever has it, or ``names.csv``, has the way back.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from classroom.grading.resume import write_data
from classroom.reports.sanitize import clean, for_spreadsheet
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["KEY", "name_table", "pseudonyms", "read_key", "secret_key"]

KEY = "pseudonyms.json"
LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"  # that make no words and are not taken for each other
LENGTH = 8


def read_key(out: Path) -> bytes | None:
    """The secret of a folder of grades; None if it has none.

    Raises
    ------
    ConfigError
        If the file is broken: other pseudonyms would be made.
    """
    path = out / KEY
    try:
        key = json.loads(path.read_text(encoding="utf-8"))["secret"]
        return bytes.fromhex(key) or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        words = "holds no secret. Put back the file of the earlier run, or move it away"
        raise ConfigError(f"{str(path)!r} is broken: it {words} for new pseudonyms") from None


def secret_key(out: Path) -> bytes:
    """The secret of a folder of grades, made where there is none."""
    key = read_key(out)
    if key is None:
        key = secrets.token_bytes(32)
        write_data(out / KEY, {"secret": key.hex()})
    return key


def _letters(key: bytes, name: str, length: int) -> str:
    """So many letters that only the secret gives for a name."""
    text = name.encode("utf-8", "surrogatepass")
    number = int.from_bytes(hmac.new(key, text, hashlib.sha256).digest(), "big")
    letters = []
    for _ in range(length):
        number, place = divmod(number, len(LETTERS))
        letters.append(LETTERS[place])
    return "".join(letters)


def pseudonyms(key: bytes, sent: Sequence[Submission]) -> dict[str, str]:
    """Another name for each student.

    Parameters
    ----------
    key : bytes
        The secret.
    sent : sequence of Submission
        Of a student with several attempts any of them.

    Returns
    -------
    dict of str to str
        By student. It depends on the name of the first attempt, so that a later one keeps it;
        two that would be alike are longer.
    """
    first = {one.student: min([one.student, *one.aliases]) for one in sent}
    short = {student: _letters(key, name, LENGTH) for student, name in first.items()}
    count = Counter(short.values())
    return {
        s: t if count[t] == 1 else _letters(key, first[s], 2 * LENGTH) for s, t in short.items()
    }


def name_table(names: Mapping[str, str]) -> str:
    """The way back, as a table."""
    out = io.StringIO(newline="")
    out.write("\ufeff")
    table = csv.writer(out)
    table.writerow(["pseudonym", "student"])
    rows = sorted((other, student) for student, other in names.items())
    table.writerows((other, for_spreadsheet(clean(student, 300))) for other, student in rows)
    return out.getvalue()
