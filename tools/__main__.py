"""Run a command of the book on any system: ``python -m tools NAME``; ``make NAME`` calls this.

Words such as ``DIR=submissions/`` are the same in both. Other words go to the command's program:
``python -m tools grade submissions/ --due 2026-10-12``.
"""

from __future__ import annotations

import difflib
import glob
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools import CALLED, HTML, ROOT
from tools.commands import COMMANDS, EVERYWHERE, GROUPS, Command, Variable
from tools.setup import PYTHON, VENV

INTERRUPTED, ENDED, WRONG = 130, 143, 2
HELP = {"help", "-h", "--help"}
WORD = re.compile(r"([A-Z][A-Z_]*)=(.*)", re.DOTALL)
FROM_MAKE = "TOOLS_FROM_MAKE"  # the variables of make's command line, as the Makefile gives them
READY = VENV / ".ready"
SOURCES = [ROOT / name for name in ("requirements.txt", "pyproject.toml", "tools/setup.py")]


class WordsError(Exception):
    """What was typed makes no command; the message says why."""


def near(word: str, known: Iterable[str]) -> str:
    """Return a question with the nearest name, if one is near."""
    found = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {found[0]}?" if found else ""


def from_make(quoted: str) -> dict[str, str]:
    """Return the variables of make's command line.

    Make quotes blanks there with backslashes. The values themselves come through the environment,
    where nothing is quoted.
    """
    words = re.findall(r"(?:\\.|[^\\\s])+", quoted, re.DOTALL)
    names = [word.partition("=")[0].rstrip(":+?!") for word in words]
    return {name: os.environ.get(name, "") for name in names if name != "PYTHON"}


def split(words: Sequence[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Return commands, variables and what else goes to the command's program."""
    found = [WORD.fullmatch(word) for word in words]
    given = {one[1]: one[2] for one in found if one}
    names = [word for word, one in zip(words, found, strict=True) if not one]
    if names and names[0] in COMMANDS and COMMANDS[names[0]].own:
        return names[:1], given, names[1:]
    return names, given, []  # several commands, as make takes them


def listed(value: str) -> list[str]:
    """Return the words of a list as a shell would, with the files that patterns stand for."""
    windows = os.name == "nt"  # where a backslash is part of a path
    words = shlex.split(value, posix=not windows)
    plain = [word.strip("\"'") for word in words] if windows else words
    return [name for word in plain for name in sorted(glob.glob(word)) or [word]]


def argument(variable: Variable, value: str) -> list[str]:
    """Return a variable as its program wants it."""
    if variable.kind == "environment":
        return []
    if variable.kind == "words":
        return [*([variable.flag] if variable.flag else []), *listed(value)]
    if variable.kind == "switch":
        return [] if value == "0" else [variable.flag]
    return [f"{variable.flag}={value}" if variable.flag else value]


def arguments(name: str, given: Mapping[str, str], rest: Sequence[str]) -> list[str]:
    """Return what a command's program is called with.

    Raises
    ------
    WordsError
        If a word is missing.
    """
    found: list[str] = []
    for variable in COMMANDS[name].variables:
        if value := given.get(variable.name):
            found += argument(variable, value)
        elif variable.missing and not rest:
            raise WordsError(f"[{name}] {variable.missing}")
    return [*found, *rest]


def known_to(names: Sequence[str]) -> list[Variable]:
    """Return the variables that these commands know."""
    return [one for name in names for one in (*COMMANDS[name].variables, *EVERYWHERE)]


def to_environment(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that programs read from the environment."""
    asked = [one.name for one in known_to(names) if one.kind == "environment"]
    return {name: given[name] for name in asked if given.get(name)}


def check(names: Sequence[str], given: Mapping[str, str]) -> None:
    """Refuse commands and variables that there are none of."""
    for name in names:
        if name not in COMMANDS:
            asked = f"there is no command {name!r}{near(name, [*COMMANDS, 'help'])}"
            raise WordsError(f"{asked} (`{CALLED} help` lists them)")
    known = [one.name for one in known_to(names)]
    for word in given:
        if word not in known:
            told = " and ".join(names)
            asked = f"{told} takes no {word}={near(word, known)}"
            raise WordsError(f"{asked} (`{CALLED} help {names[0]}` lists what it takes)")


def overview() -> str:
    """Return all commands, by who needs them."""
    lines = [f"usage: {CALLED} NAME [WORD=value …]"]
    for group, title in GROUPS.items():
        lines += ["", title]
        lines += [f"  {n:<11} {c.about}" for n, c in COMMANDS.items() if c.group == group]
    lines += ["", f"`{CALLED} help NAME` lists the words that a command takes."]
    return "\n".join(lines)


def help_on(name: str) -> str:
    """Return what one command does and the words that it takes."""
    command = COMMANDS[name]
    lines = [f"{name}: {command.about}"]
    if command.more:
        lines += ["", *textwrap.wrap(command.more, 78)]
    lines += [""] + [f"  {v.name + '=':<12} {v.about}" for v in (*command.variables, *EVERYWHERE)]
    if command.own:
        program = command.steps[-1][0]
        lines += ["", f"With `python -m tools`, other words go to {program}."]
    return "\n".join(lines)


def told(names: Sequence[str], rest: Sequence[str]) -> str | None:
    """Return the help that is asked for, if it is."""
    if names and HELP.isdisjoint([*names, *rest]):
        return None
    topics = [name for name in names if name not in HELP]
    check(topics, {})
    return "\n\n".join(map(help_on, topics)) or overview()


def run(command: Sequence[str | Path]) -> int:
    """Run a program and return its exit status.

    Ctrl-C reaches the program as well, which may have something to finish or to ask: it's waited
    for. Whoever ends this process ends the program too.
    """
    status, interrupted = None, False
    child = subprocess.Popen(command, env={**os.environ, "PYTHONUTF8": "1"})
    try:
        while status is None:
            try:
                status = child.wait()
            except KeyboardInterrupt:
                interrupted = True
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    return INTERRUPTED if interrupted else status if status >= 0 else 128 - status


def is_ready() -> bool:
    """Return whether .venv is as the project's files say."""
    if not (READY.exists() and PYTHON.exists()):
        return False
    return all(path.stat().st_mtime <= READY.stat().st_mtime for path in SOURCES)


def prepare(command: Command, done: set[str]) -> int:
    """Make what a command needs, once, and return the exit status."""
    if command.needs and command.needs != "pages" and "environment" not in done:
        if not is_ready():
            if status := run([sys.executable, "-m", "tools.setup"]):
                return status
            READY.touch()
        done.add("environment")
    there = command.needs == "pages" and (HTML / "index.html").exists()
    if command.needs in ("book", "pages") and not there and "book" not in done:
        return perform("book", [], done)
    return 0


def perform(name: str, more: Sequence[str], done: set[str]) -> int:
    """Run a command after what it needs, and return the exit status of the first that fails."""
    command = COMMANDS[name]
    if name in done:
        return 0
    if status := prepare(command, done):
        return status
    python = PYTHON if command.needs in ("environment", "book") else sys.executable
    *first, last = command.steps
    for step in (*first, (*last, *more)):
        if status := run([python, "-m", *step]):
            return status
    done.add(name)
    return 0


def main(words: Sequence[str]) -> int:
    """Do what the words say and return the exit status."""
    quoted = os.environ.pop(FROM_MAKE, None)
    try:
        names, given, rest = split(words)
        if quoted is not None:
            names, given, rest = list(words), from_make(quoted), []
        if (text := told(names, rest)) is not None:
            print(text)
            return 0
        check(names, given)
        calls = {name: arguments(name, given, rest) for name in names}
    except WordsError as error:
        print(error, file=sys.stderr)
        return WRONG
    os.environ.update(to_environment(names, given))
    done: set[str] = set()
    for name, more in calls.items():
        if status := perform(name, more, done):
            return status
    return 0


def end(*_: object) -> None:
    """Being asked to end, end the program that runs as well."""
    sys.exit(ENDED)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # Windows would write its own code page
    signal.signal(signal.SIGTERM, end)
    if hasattr(signal, "SIGPIPE"):  # `… help | head` reads no further
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
