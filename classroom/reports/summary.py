"""The class at a glance: what each exercise lacks most often, and what to teach again."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from classroom.reports.feedback import (
    CREDIT,
    DEFAULT,
    LINE,
    MESSAGE,
    NAME,
    OPEN_STATES,
    STATES,
    place_of,
)
from classroom.reports.isolation import measures
from classroom.reports.likeness import likeness
from classroom.reports.persons import handed_in, persons
from classroom.reports.sanitize import clean
from classroom.results import Answer, Result, Run

__all__ = ["summary"]

TOP = 5  # ideas that are listed
SHARE = 20  # an idea is worth a lesson if one student in so many misses it, and at least two
# Checks whose messages are about the matter; the others are about Python.
MATTER = ("finite", "by hand", "random", "property", "edges")
PLACE = re.compile(r" \(line \d+ of the cell, in [^)]*\)")
NUMBER = re.compile(r"[-−+]?\d[\d.,]*(?:e[-+]?\d+)?")
BARS = (13, 9)  # of the distribution, at most: with totals of two digits, of three


def _ideas(answers: list[Answer]) -> list[dict[str, Any]]:
    """Messages with how often they came, the most frequent first.

    Two messages that differ in numbers, or in the line that failed, are one idea.
    """
    wordings: dict[str, Counter[str]] = defaultdict(Counter)
    matter: dict[str, bool] = {}
    for answer in answers:
        said = answer.message or DEFAULT[answer.state]
        text = clean(PLACE.sub("", said[: 4 * MESSAGE]), MESSAGE)
        key = NUMBER.sub("…", text)
        wordings[key][text] += 1
        matter[key] = answer.state == "not yet" and answer.failed in MATTER
    found = []
    for key, texts in wordings.items():
        often = min(texts, key=lambda text: (-texts[text], text))
        found.append({"text": often, "count": texts.total(), "varied": len(texts) > 1,
                      "matter": matter[key]})  # fmt: skip
    return sorted(found, key=lambda idea: (-idea["count"], idea["text"]))


def _exercise(number: int, exercise_id: str, answers: list[Answer]) -> dict[str, Any]:
    """Return one exercise over the whole class."""
    states = Counter(answer.state for answer in answers)
    ideas = _ideas([a for a in answers if a.state in ("not yet", "stopped")])
    rest = ideas[TOP:]
    first = answers[0]
    tried = sum(states[state] for state in ("solved", "not yet", "stopped", *OPEN_STATES))
    return {
        "number": number,
        "title": clean(first.title, LINE),
        "states": [(s, states[s]) for s in STATES + OPEN_STATES if s in STATES or states[s]],
        "kind": first.kind,
        "n": len(answers),
        "solved": states["solved"],
        "tried": tried,
        "mean": sum(a.points for a in answers) / len(answers),
        "of": first.of,
        "all_ideas": ideas,
        "ideas": ideas[:TOP],
        "others": len(rest),
        "others_count": sum(idea["count"] for idea in rest),
        **place_of(exercise_id, first.page),
    }


def _exercises(run: Run, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return all exercises of the sheet that anybody was graded for, in its order."""
    answers: dict[str, list[Answer]] = defaultdict(list)
    for result in results:
        for answer in result.answers:
            answers[answer.id].append(answer)
    given = [key for key in run.exercises if key in answers]
    return [_exercise(number, key, answers[key]) for number, key in enumerate(given, 1)]


def _highlights(exercises: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a lesson should come back to, and the two ends of the sheet."""
    again = [
        {**idea, "exercise": e["title"], "n": e["n"], "chapter": e["chapter"],
         "section": e["section"]}
        for e in exercises for idea in e["all_ideas"]
        if idea["matter"] and idea["count"] >= max(2, e["n"] / SHARE)
    ]  # fmt: skip
    again.sort(key=lambda idea: -idea["count"])
    checked = [e for e in exercises if e["kind"] != "open"]
    ranked = sorted(checked, key=lambda e: e["solved"])
    differ = checked and ranked[0]["solved"] < ranked[-1]["solved"]
    ends = {"hardest": ranked[0], "easiest": ranked[-1]} if differ else {"hardest": None}
    return {"again": again[:TOP], **ends}


def _distribution(totals: list[float], worth: list[float]) -> list[dict[str, Any]]:
    """Return how many students have which totals: a bar for each, or for a few together."""
    possible: set[float] = {0}
    for points in worth:
        possible |= {total + points for total in possible}
    steps = sorted(possible | set(totals))
    size = -(-len(steps) // BARS[steps[-1] > 99])
    bars = []
    for first in range(0, len(steps), size):
        together = steps[first : first + size]
        low, high = together[0], together[-1]
        label = str(low) if high == low else f"{low}–{high}"
        count = sum(low <= total <= high for total in totals)
        bars.append({"low": low, "label": label, "count": count, "together": len(together)})
    return bars


def summary(
    run: Run,
    results: Sequence[Result],
    names: dict[str, str],
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the teacher's page shows.

    Parameters
    ----------
    run, results
        As the grader writes them; the results in the order of the names.
    names : dict of str to str
        File of each student's feedback, without its ending.
    missing : sequence of str
        Names of the roster from whom nothing came.

    Returns
    -------
    dict
        For the templates; every text is one cleaned line, none is escaped.
    """
    exercises = _exercises(run, results)
    totals = [result.points for result in results]
    shown = {state for e in exercises for state, _ in e["states"]}
    bars = _distribution(totals, [e["of"] for e in exercises])
    return {
        "sheet": clean(run.sheet, NAME),
        "version": clean(run.version, NAME),
        "n": len(results),
        "handed_in": handed_in(results, missing),
        "of": run.of,
        "mean": statistics.fmean(totals) if totals else 0,
        "median": statistics.median(totals) if totals else 0,
        "full": sum(total == run.of for total in totals),
        "zero": sum(total == 0 for total in totals),
        "credit": CREDIT[run.partial],
        "bars": bars,
        "together": bars[0]["together"] if bars[0]["together"] > 1 else 0,
        "states": [state for state in STATES + OPEN_STATES if state in {*STATES, *shown}],
        "exercises": exercises,
        **_highlights(exercises),
        "missing": [clean(name, NAME) for name in missing],
        "unfit": [clean(words, MESSAGE) for words in run.unfit],
        "borrowed": [clean(words, MESSAGE) for words in run.borrowed],
        **likeness(run.alike),
        **measures(run.isolation),
        **persons(run, results, names),
    }
