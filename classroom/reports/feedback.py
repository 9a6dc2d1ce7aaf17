"""Feedback for one student: what is solved, and for the rest the idea that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from classroom.reports.sanitize import clean, shown_names
from classroom.results import Answer, ByHand, Result, Run
from classroom.sheets.chapter import chapter_title
from mini_attn.exercises.spec import exercise, exercise_ids

__all__ = ["COMMENT", "CREDIT", "DEFAULT", "LINE", "MESSAGE", "NAME", "OPEN_STATES", "STATES",
           "by_hand", "feedback", "late_words", "place_of", "shortened"]  # fmt: skip

# In the order of every legend, bar and table.
STATES = ("solved", "not yet", "stopped", "not attempted", "not handed in")
OPEN_STATES = ("to mark", "marked")  # of answers in words, on sheets that ask for some
NAME, LINE, MESSAGE = 80, 200, 500  # characters that are shown
COMMENT = 2_000  # characters of a teacher's comment: all that a mark may have
CHANGED = "The answer has changed since then."
MANY = 20  # entries of a list that are shown
CREDIT = {
    True: "Each group of checks that an answer passes, in their order, earns its share.",
    False: "An answer earns all points of its exercise or none.",
}
# What is right already, by the check that was not passed; a number is right or not.
SO_FAR = {
    "type": "It runs.",
    "shape": "It runs and returns arrays.",
    "dtype": "It runs, and the shapes are right.",
    "finite": "It runs, and shapes and types are right.",
    "repeatable": "It runs, and its result has the right form.",
    "by hand": "It runs, and its result has the right form.",
    "random": "The small case, worked by hand, is right already.",
    "property": "The small case and the random ones are right already.",
    "edges": "Nearly: ordinary cases are right. What is left is an edge.",
}
DEFAULT = {
    "solved": "",
    "not yet": "The answer is not right yet.",
    "stopped": "The answer was stopped before it came to an end.",
    "to mark": "A person reads this answer. Its points are not in the total yet.",
    "marked": "",
    "not attempted": "This one still waits for your answer.",
    "not handed in": "No answer to this exercise was found in what you handed in.",
}


def place_of(exercise_id: str, page: str) -> dict[str, str]:
    """Chapter and section that explain an exercise; the section may be empty."""
    section = exercise(exercise_id).section if exercise_id in exercise_ids() else ""
    return {"chapter": clean(chapter_title(page), LINE), "section": section}


def shortened(texts: Sequence[str], limit: int = LINE, many: int | None = MANY) -> list[str]:
    """Return the first entries of a list, and how many there are more; None shows them all."""
    shown = [clean(text, limit) for text in texts[:many]]
    more = len(texts) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _criteria(answer: Answer) -> str:
    """Return what each criterion of an open question earned, where the teacher said so."""
    parts = answer.mark.parts if answer.mark else ()
    rubric = exercise(answer.id).rubric if parts else {}
    pairs = zip(parts, rubric.items(), strict=False)
    return " ".join(f"{got} of {most}: {says}" for got, (says, most) in pairs)


def _hand(mark: ByHand | None, of: float, words: str = "") -> dict[str, str] | None:
    """Return what the teacher decided, as it is shown; None where that is nothing."""
    if mark is None:
        return None
    before = "" if mark.first else f" instead of {mark.was}"
    points = f"{mark.points} of {of} points{before}. {words}".strip()
    return {
        "points": "" if mark.points is None else points,
        "comment": clean(mark.comment, COMMENT),
        "changed": CHANGED if mark.changed else "",
    }


def by_hand(result: Result, *, ids: bool = False) -> list[str]:
    """Return what the teacher decided about a student, an entry for each exercise and sheet."""
    found = [(a.id if ids else a.title, _hand(a.mark, a.of, _criteria(a))) for a in result.answers]
    found.append(("whole sheet", _hand(result.remark, 0)))
    return [f"{about}: {' '.join(filter(None, said.values()))}" for about, said in found if said]


def late_words(result: Result) -> str:
    """Return when it was handed in, and the points left; empty if no due date was set."""
    late = result.late
    if late is None:
        return ""
    words = clean(late.words, 2 * LINE)
    left = f": {late.raw} points become {result.points}" if late.off else ""
    return f"{words[:1].upper()}{words[1:]}{left}."


def _item(answer: Answer) -> dict[str, Any]:
    """Return one exercise as it is shown."""
    state = answer.state
    open_still = state in ("not yet", "stopped")
    message = clean(answer.message, MESSAGE)
    return {
        "id": clean(answer.id, NAME),
        "title": clean(answer.title, LINE),
        "state": state,
        "points": answer.points,
        "of": answer.of,
        "so_far": SO_FAR.get(answer.failed or "", "")
        if state == "not yet" and answer.kind != "pencil"
        else "",
        "lacks": "What is missing" if state == "not yet" else "What happened",
        "message": message if open_still and message else f"{DEFAULT[state]} {message}".strip(),
        "open": open_still,
        "notes": shortened(answer.notes),
        "hand": _hand(answer.mark, answer.of, _criteria(answer)),
        **place_of(answer.id, answer.page),
    }


def _headline(solved: int, n: int, attempted: int, read: bool) -> tuple[str, str]:
    """Return where the student stands, and what to do next, as far as checks decide it."""
    if solved == n:
        return "Everything is solved.", "Nothing is left to do on this sheet."
    if not attempted:
        return "No answer was found yet.", (
            "If you did hand one in, look at the list of files below, and talk to your teacher."
            if read
            else "The reason is below. Hand in the notebook as you saved it, the file that "
            "ends in .ipynb, or talk to your teacher."
        )
    words = f"{solved} of {n} exercises {'is' if solved == 1 else 'are'} solved."
    return (
        words if solved else "No exercise is solved yet.",
        "For each of the others you read below what is missing next. In the notebook, the check "
        "cell tells you at once whether a change was the right one.",
    )


def _standing(items: list[dict[str, Any]], read: bool) -> tuple[str, str]:
    """Return the same with the answers in words, which people mark."""
    if not items:
        return "This sheet has no exercises.", ""
    states = [item["state"] for item in items]
    to_mark, marked = (states.count(state) for state in OPEN_STATES)
    checked = len(items) - to_mark - marked
    waiting = states.count("not attempted") + states.count("not handed in")
    # An answer in words is an answer, also where all the others are missing.
    attempted = checked - waiting + to_mark + marked
    headline, advice = _headline(states.count("solved"), checked, attempted, read)
    if not checked:
        headline, advice = "", ""
    elif to_mark + marked and states.count("solved") == checked:
        headline, advice = "Everything that a check can decide is solved.", ""
    said = [f"{to_mark} still to be marked by hand"] * bool(to_mark)
    said += [f"{marked} marked by hand"] * bool(marked)
    words = f"Answers in words: {', '.join(said)}." if said else ""
    return f"{headline} {words}".strip(), advice


def feedback(run: Run, result: Result) -> dict[str, Any]:
    """Return what a student's page shows.

    Parameters
    ----------
    run, result
        As the grader writes them.

    Returns
    -------
    dict
        For the templates; every text is one cleaned line, none is escaped.
    """
    items = [_item(answer) for answer in result.answers]
    headline, advice = _standing(items, bool(result.files))
    name, written = result.student, clean(result.written_name, NAME)
    student = shown_names([name], NAME)[name]
    return {
        "sheet": clean(run.sheet, NAME),
        "version": clean(run.version, NAME),
        "name": written or student,
        "student": student,
        "points": result.points,
        "of": result.of,
        "headline": headline,
        "credit": CREDIT[True] if run.partial else "",
        "advice": advice,
        "items": items,
        "late": late_words(result),
        "attempts": shortened(result.attempts, 2 * LINE),
        "remark": _hand(result.remark, result.of),
        "files": shortened(result.files),
        "problems": shortened(result.problems, 2 * LINE),
    }
