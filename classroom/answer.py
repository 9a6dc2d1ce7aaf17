"""Runs one answer in a process of its own and judges it here."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mini_attn.exercises
from classroom import wire
from mini_attn.errors import ConfigError
from mini_attn.exercises.judging import examine_function, examine_number
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import Run
from mini_attn.exercises.spec import Exercise, Inputs

__all__ = ["WALL_SECONDS", "Judged", "end_all", "judge", "probe"]

WALL_SECONDS = 30.0
TEXT = 2_000  # characters of a text that a process may send
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
FORGED = "It wrote where only the grader reads: return the answer instead."
RUNNER = Path(mini_attn.exercises.__file__).parent
CHILD = Path(__file__).with_name("child.py")
# One thread each, and nothing else of the teacher's environment.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
if os.name == "nt":
    ENVIRONMENT["SYSTEMROOT"] = os.environ["SYSTEMROOT"]


@dataclass
class Judged:
    """How one answer did.

    Parameters
    ----------
    report : Report
        The checks, as in the notebook.
    stopped : bool
        Whether its process was ended or ended itself.
    notes : list of str
        What its cells complained about.
    """

    report: Report
    stopped: bool = False
    notes: list[str] = field(default_factory=list)


_running: set[_Process] = set()


def _told(text: Any) -> str:
    """A text of an answer's, cut, without addresses, which differ from run to run."""
    return ADDRESS.sub("0x…", str(text)[:TEXT])


class _Stopped(Exception):
    """The process is gone; the message says why."""


class _Process:
    """The process of one answer."""

    def __init__(self, wall_seconds: float) -> None:
        packages = Path(np.__file__).parents[1]
        # As -I does, but with the environment, which is ours: it fixes the order of sets.
        command = [sys.executable, "-s", "-P", "-S", str(CHILD), str(packages), str(RUNNER)]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=CHILD.anchor,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        _running.add(self)
        self.late = False
        self.timer = threading.Timer(wall_seconds, self._end_late)
        self.timer.daemon = True
        self.timer.start()

    def _end_late(self) -> None:
        self.late = True
        self.kill()

    def kill(self) -> None:
        """End it and what it may have started."""
        if os.name == "posix" and self.child.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, signal.SIGKILL)
        self.child.kill()

    def close(self) -> None:
        """End it, whatever it is doing."""
        _running.discard(self)
        self.timer.cancel()
        self.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):  # what was to be written has nobody to read it
                pipe.close()  # type: ignore[union-attr]

    def _why(self) -> str:
        """Why it has gone."""
        if hasattr(os, "waitid"):  # first look, so that its group is still its own when it ends
            os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        status = self.child.wait()
        # One sentence for both limits of time: which comes first depends on the machine.
        if self.late or status in (-24, -9):  # SIGXCPU, SIGKILL
            return "It did not come to an end: does a loop stop, does it wait for something?"
        if status < 0:
            return f"Its process crashed ({signal.Signals(-status).name})."
        return "It ended its own process: return the answer instead."

    def ask(self, message: dict[str, Any] | None, blobs: list[bytes]) -> Any:
        """Send a message, if there is one, and wait for what comes back."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            if message is not None:
                wire.send(self.child.stdin, message, blobs)
            return wire.receive(self.child.stdout)
        except (EOFError, BrokenPipeError, OSError):
            raise _Stopped(self._why()) from None
        except wire.WireError:
            raise _Stopped(FORGED) from None

    def start(self) -> dict[str, bool]:
        """Wait until it has locked itself; gives the layers that are in force."""
        hello, _ = self.ask(None, [])
        return {layer: held is True for layer, held in hello["in_force"].items()}

    def prepare(self, cells: list[str], name: str) -> dict[str, Any]:
        """Let it run the cells; gives what they define under the name."""
        message, blobs = self.ask({"cells": cells, "name": name}, [])
        try:
            value = wire.decode(message["value"], blobs)
            notes = [_told(note) for note in list(message["notes"])[:3]]
            known, function = message["known"] is True, message["callable"] is True
        except (wire.WireError, LookupError, TypeError):
            raise _Stopped(FORGED) from None
        return {"known": known, "callable": function, "value": value, "notes": notes}

    def call(self, inputs: Inputs) -> Run:
        """One case."""
        blobs: list[bytes] = []
        entries = {name: wire.encode(value, blobs) for name, value in inputs.items()}
        message, back = self.ask({"inputs": entries}, blobs)
        try:
            problem = message["problem"]
            return Run(
                value=None if problem else wire.decode(message["value"], back),
                problem=None if problem is None else _told(problem),
                attempted=bool(message["attempted"]),
                printed=_told(message["printed"]),
                complaints=_told(message["complaints"]),
                mutated=[name for name in inputs if name in list(message["mutated"])],
            )
        except (wire.WireError, LookupError, TypeError):
            raise _Stopped(FORGED) from None


def _examine(task: Exercise, process: _Process, cells: list[str], name: str, *,
             seed: int) -> tuple[Report, list[str]]:  # fmt: skip
    """The report on an answer, and what its cells complained about."""
    process.start()
    found = process.prepare(cells, name)
    notes, value = found["notes"], found["value"]
    if not found["known"]:
        kind = "number" if task.kind == "pencil" else "function"
        why = f": {notes[0]}" if notes else "."
        return Report(task, "runs", f"The cells define no {kind} called {name}{why}"), notes
    if task.kind == "pencil":
        return examine_number(task, value), notes
    if not found["callable"]:
        kind = type(value).__name__
        return Report(task, "type", f"{name} should be a function; it is a {kind}."), notes
    return examine_function(task, process.call, seed=seed), notes


def judge(
    task: Exercise, cells: list[str], name: str, *, seed: int, wall_seconds: float = WALL_SECONDS
) -> Judged:
    """Run an answer's cells and judge what they define.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    cells : list of str
        Sources of the student's cells, in order.
    name : str
        What they should define: a function, or the number of a pencil exercise.
    seed : int
        Seeds the cases. They are drawn here, one by one, after the answer asked for them.
    wall_seconds : float
        When its process is ended, whatever it does.

    Returns
    -------
    Judged
        Never raises because of what an answer does.
    """
    process = _Process(wall_seconds)
    judged = Judged(Report(task))
    try:
        judged.report, judged.notes = _examine(task, process, cells, name, seed=seed)
    except _Stopped as stopped:
        judged.report, judged.stopped = Report(task, "runs", str(stopped)), True
    finally:
        process.close()
    return judged


def probe() -> dict[str, bool]:
    """See whether an answer can be run here at all, and how well it is locked up.

    Returns
    -------
    dict of str to bool
        Layers of isolation: ``limits``, ``landlock``, ``seccomp``, ``hook``.

    Raises
    ------
    ConfigError
        If an honest answer does not run: every grade would be wrong.
    """
    process = _Process(WALL_SECONDS)
    try:
        in_force = process.start()
        found = process.prepare(["answer = float(np.arange(5).sum())"], "answer")
    except _Stopped as stopped:
        raise ConfigError(f"answers cannot be run on this machine: {stopped}") from None
    finally:
        process.close()
    if found["value"] != 10:
        raise ConfigError(f"answers cannot be run on this machine: {found['notes']}")
    return in_force


def end_all() -> None:
    """End the processes of all answers that are being graded."""
    for process in list(_running):
        process.kill()
