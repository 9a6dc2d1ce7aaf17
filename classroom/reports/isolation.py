"""What keeps the answers of a run apart, in words: said before grading, and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from classroom.reports.feedback import LINE
from classroom.reports.sanitize import clean

__all__ = ["measures", "refusal", "spoken"]

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
# What students' code must be kept from, and the layer that does it.
INDISPENSABLE = {
    "landlock": "your files (Landlock, in Linux from 5.13 on)",
    "seccomp": "the network, programs and other processes (seccomp, in Linux)",
}
ALL_THE_SAME = "You had this run all the same, with UNISOLATED=1."
ADVICE = "Grade such a class in a virtual machine or a container without network."


def _missing(isolation: Mapping[str, Any]) -> list[str]:
    """Return what nothing but Python itself keeps the answers from."""
    return [words for layer, words in INDISPENSABLE.items() if not isolation.get(layer, True)]


def refusal(isolation: Mapping[str, Any]) -> str | None:
    """Return why a class is not graded on this machine, unless the teacher wants it all the same.

    Parameters
    ----------
    isolation : dict of str to bool
        Layers, as `classroom.grading.judge.probe` gives them.

    Returns
    -------
    str or None
        None where the kernel keeps answers from files, the network and other processes.
    """
    open_to = " and from ".join(_missing(isolation))
    if not open_to:
        return None
    return (
        f"nothing was graded: this machine can't keep students' code from {open_to}. Grade on "
        "a Linux machine that can or, in a virtual machine or a container that holds nothing "
        "else and has no network, with UNISOLATED=1"
    )


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
    left += [ALL_THE_SAME] if _missing(isolation) else []
    return {"measures": words[True], "lacking": words[False], "open": left}


def spoken(isolation: dict[str, bool]) -> list[str]:
    """Return the same in short, for whoever starts a run."""
    held = ", ".join(name for name in MEASURES if isolation.get(name))
    return [f"isolation in force: {held}",
            *(f"WARNING: {text}" for text in measures(isolation)["open"])]  # fmt: skip
