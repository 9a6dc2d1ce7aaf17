"""What keeps the answers of a run apart, in words: said before grading, and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from classroom.reports.feedback import LINE
from classroom.reports.sanitize import clean

__all__ = ["measures", "spoken"]

MEASURES = {
    "landlock": "the kernel gives the answers no files (Landlock)",
    "seccomp": "the kernel refuses network, new processes and signals (seccomp)",
    "limits": "limits of time and memory",
    "hook": "Python itself refuses files, network and processes (audit hook)",
}
# What a layer that is not in force leaves open.
OPEN = {
    "landlock": "Without Landlock, only a hook inside the answer's own Python keeps it from "
    "files; who gets round it reads and writes what you can, solutions and grades too.",
    "seccomp": "Without seccomp, only a hook inside the answer's own Python keeps it from the "
    "network, programs and other processes; who gets round it acts in your name.",
    "limits": "Without limits, only 30 s of waiting end an answer; it can fill the memory.",
}
ADVICE = "Grade such a class in a virtual machine or a container without network."


def measures(isolation: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what was in force, what was not to be had, and what is not promised therefore.

    Parameters
    ----------
    isolation : dict of str to bool
        Layers, as `classroom.grading.judge.probe` gives them; others are shown by their names.

    Returns
    -------
    dict of str to list of str
        Lines under ``measures``, ``lacking`` and ``open``.
    """
    words: dict[bool, list[str]] = {True: [], False: []}
    for name, value in sorted(isolation.items()):
        text = MEASURES.get(name, clean(name.replace("_", " "), LINE))
        if not isinstance(value, bool) and value:
            text += f": {clean(value, LINE)}"
        words[bool(value)].append(text)
    left = [text for name, text in OPEN.items() if not isolation.get(name, True)]
    left += [ADVICE] if left else []
    return {"measures": words[True], "lacking": words[False], "open": left}


def spoken(isolation: dict[str, bool]) -> list[str]:
    """Return the same in short, for whoever starts a run."""
    held = ", ".join(name for name in MEASURES if isolation.get(name))
    return [f"isolation in force: {held}",
            *(f"WARNING: {text}" for text in measures(isolation)["open"])]  # fmt: skip
