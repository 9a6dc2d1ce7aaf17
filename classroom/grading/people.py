"""Which student of a run a teacher's table means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from classroom.reports.report import student_names
from classroom.reports.sanitize import clean, folded
from classroom.submissions.collect import Submission

__all__ = ["named_one", "names_of"]


def names_of(
    sent: Sequence[Submission], pseudonyms: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """All ways to name each student: as found, as shown, by every attempt, by a pseudonym."""
    places: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for one in sent:
        places.setdefault(one.student, []).extend([*one.files, *one.problems])
        others.setdefault(one.student, []).extend(one.aliases)
    for student, name in (pseudonyms or {}).items():
        others[student].append(name)
    names = student_names(places.items())
    return {student: [*forms, *others[student]] for student, forms in names.items()}


def named_one(names: Mapping[str, Sequence[str]], written: str) -> str | None:
    """The one student whom a name fits: as it stands in the table of grades, or nearly so."""
    for same in (str, lambda name: folded(clean(name, 300))):
        fits = [s for s, forms in names.items() if same(written) in map(same, forms)]
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None
