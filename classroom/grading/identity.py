"""Who is who over several sheets: a platform gives the same student other numbers each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from classroom.reports.sanitize import clean, folded
from classroom.submissions.attempts import ATTEMPT, NUMBERED, canvas_ids
from mini_attn.errors import ConfigError

__all__ = ["Person", "same_students"]

Person = dict[str, str]  # the name in each sheet's table of grades, by sheet


def _titled(names: Sequence[str]) -> str:
    """What Blackboard writes before the user names of one sheet: its title."""
    before = {name[: found.start()] for name in names if (found := ATTEMPT.search(name))}
    first, last = min(before, default=""), max(before, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: first.rfind("_", 0, same) + 1]


def _plain(name: str, title: str) -> tuple[str, bool]:
    """A name without what changes from sheet to sheet, and whether a platform wrote that."""
    if found := ATTEMPT.search(name):
        return name[: found.start()].removeprefix(title), True
    if ids := canvas_ids(name):
        before = name[: name.index(f"_{ids[0]}_{ids[1]}")]
        return f"{before.removesuffix('_late')}_{ids[0]}", True
    numbered = NUMBERED.fullmatch(name)
    return (numbered[1] if numbered else name), False


def _refuse_twins(plain: str, sheets: Mapping[str, set[str]]) -> None:
    """Two of one name whose numbers differ from sheet to sheet cannot be told apart."""
    for (one, first), (other, second) in combinations(sheets.items(), 2):
        if not first & second:
            words = f"{clean(plain, 60)!r} are several students: who of {one} is who of {other}?"
            raise ConfigError(f"{words} Make the names alike in both tables, grades.csv")


def same_students(sheets: Mapping[str, Sequence[str]]) -> dict[str, Person]:
    """The students of all sheets.

    Parameters
    ----------
    sheets : dict of str to sequence of str
        Names in the table of grades, by sheet.

    Returns
    -------
    dict of str to dict
        By the name to show, sorted: without Moodle's number, and with Canvas's and Blackboard's
        as in the last sheet, by which the platform finds the student.

    Raises
    ------
    ConfigError
        If two students of one name cannot be told apart.
    """
    found: dict[str, dict[str, Person]] = {}  # names by plain name, sheet, and exact form
    for sheet, names in sheets.items():
        title = _titled(names)
        for name in names:
            plain, platform = _plain(name, title)
            exact_forms = found.setdefault(folded(plain), {}).setdefault(sheet, {})
            exact_forms[folded(name)] = name
    people: dict[str, Person] = {}
    single = {key: by for key, by in found.items() if all(len(n) == 1 for n in by.values())}
    # Numbers that differ between sheets are Moodle's; those that do not are part of a name.
    moved = any(len({exact for n in by.values() for exact in n}) > 1 for by in single.values())
    for key, by_sheet in found.items():
        if key not in single:
            name = next(name for names in by_sheet.values() for name in names.values())
            _refuse_twins(
                _plain(name, "")[0], {sheet: {*names} for sheet, names in by_sheet.items()}
            )
        groups: dict[str, Person] = {}
        for sheet, exact_names in by_sheet.items():
            for exact, name in exact_names.items():
                groups.setdefault(key if key in single else exact, {})[sheet] = name
        for person in groups.values():
            last = list(person.values())[-1]
            plain, platform = _plain(last, "")
            strip = key in single and moved and not platform
            people[plain if strip else last] = person
    return dict(sorted(people.items(), key=lambda item: (item[0].casefold(), item[0])))
