"""What is known of a learner's work: two records become one, what is in one, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from mini_attn.exercises.spec import exercise, exercise_ids

__all__ = [
    "ANSWERS", "KINDS", "RETURNS", "RUNGS", "STATES", "VERDICTS", "Entry", "Record", "entries",
    "merged", "only_known", "words",
]  # fmt: skip

KINDS = ("predictions", "exercises")
ANSWERS = "answers"  # a third kind, where there is one: the code that a reader wrote on a page
RETURNS = "returns"  # a fourth: the day of an answer, and how often it has come back since
RUNGS = 4  # three times at most; on the last one it's done
VERDICTS = ("wrong", "mistake", "right")
STATES = ("tried", "done", "solved")  # each outlasts those before it

Entry = dict[str, Any]
Record = dict[str, dict[str, dict[str, Entry]]]


def entries(record: Record) -> Iterator[tuple[str, str, str, Entry]]:
    """Everything in a record, as (page, kind, name, entry).

    Parameters
    ----------
    record : Record
        What `parse` gives.

    Yields
    ------
    tuple
        One for each prediction and exercise.
    """
    for page, kinds in record.items():
        for kind, named in kinds.items():
            for name, entry in named.items():
                yield page, kind, name, entry


def _rank(kind: str, entry: Entry) -> int:
    if kind == ANSWERS:
        return 0
    if kind == RETURNS:  # the later day counts, and of one day the higher rung
        return date.fromisoformat(entry["day"]).toordinal() * RUNGS + int(entry["rung"])
    if kind == "exercises":
        return STATES.index(entry["state"])
    return int(entry["verdict"] == "right")


def merged(older: Record, newer: Record) -> Record:
    """Both records in one: what was solved once stays solved, else the newer counts.

    Parameters
    ----------
    older, newer : Record
        Neither is changed.

    Returns
    -------
    Record
        The chapters of both, those of the older first. Of two dates the later counts.
    """
    result: Record = {}
    for record in (older, newer):
        for page, kind, name, entry in entries(record):
            kinds = result.setdefault(page, {k: {} for k in KINDS})
            named = kinds.setdefault(kind, {})
            if name not in named or _rank(kind, entry) >= _rank(kind, named[name]):
                named[name] = entry
    return result


def only_known(record: Record) -> tuple[Record, int]:
    """A record without exercises that this book does not have.

    Parameters
    ----------
    record : Record
        Perhaps of a book that has others.

    Returns
    -------
    Record
        What this book has; it knows its exercises only, so predictions stay.
    int
        How many exercises were left out.
    """
    ids = set(exercise_ids())
    known: Record = {}
    left_out = 0
    for page, kind, name, entry in entries(record):
        if kind not in ("predictions", RETURNS) and (
            name not in ids or exercise(name).page != page
        ):
            left_out += 1
        else:
            known = merged(known, {page: {kind: {name: entry}}})
    return known, left_out


def words(record: Record) -> str:
    """Return how much is in a record: ``2 exercises (1 solved) and 1 prediction (1 right)``.

    Parameters
    ----------
    record : Record
        What `parse` gives.

    Returns
    -------
    str
        Words for a sentence; "nothing" for an empty record.
    """
    parts = []
    for kind, good in (("exercises", "solved"), ("predictions", "right")):
        found = [entry for _, k, _, entry in entries(record) if k == kind]
        best = sum(good in (entry.get("state"), entry.get("verdict")) for entry in found)
        if found:
            noun = kind if len(found) > 1 else kind[:-1]
            parts.append(f"{len(found)} {noun} ({best} {good})")
    if answers := sum(kind == ANSWERS for _, kind, _, _ in entries(record)):
        parts.append(f"the code of {answers} answer{'s' if answers > 1 else ''}")
    return " and ".join(parts) or "nothing"
