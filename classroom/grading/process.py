"""The worker of one answer, as the grader sees it: started, asked, and ended in any case."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mini_attn.exercises
from classroom.sandbox import protocol
from mini_attn.errors import ConfigError
from mini_attn.exercises.runner import Run
from mini_attn.exercises.spec import Inputs

__all__ = ["AnswerProcess", "Defined", "Stopped", "end_all"]

TEXT = 2_000  # characters of a text that a worker may send
NOTES = 3
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
# What reading a message raises that is not as the worker writes it.
NO_ANSWER = (protocol.ProtocolError, LookupError, TypeError, ValueError, OverflowError)
FORGED = "It wrote where only the grader reads: return the answer instead."
ENDLESS = (
    "It did not come to an end in time: it is too slow, a loop never stops, or it waits for "
    "something."
)
ENDED_ITSELF = "It ended its own process: return the answer instead."
RUNNER = Path(mini_attn.exercises.__file__).parent
WORKER = Path(protocol.__file__).with_name("worker.py")
# Signals of both limits of time by number, as Windows has no names for them: SIGKILL, SIGXCPU.
TIME_SIGNALS = (9, 24)
# One thread each, and nothing else of the teacher's environment.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
if os.name == "nt":
    ENVIRONMENT["SYSTEMROOT"] = os.environ["SYSTEMROOT"]

_running: set[AnswerProcess] = set()


def _told(text: Any) -> str:
    """Return a text of an answer's, cut, without addresses, which differ from run to run."""
    if not isinstance(text, str):  # to write a deep list as text takes more stack than there is
        raise TypeError
    return ADDRESS.sub("0x…", text[:TEXT])


def _signal(number: int) -> str:
    """Return the name of a signal, or its number: Python has no names for some."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _ending(status: int, late: bool) -> str:
    """Return what to say of a process that ended with this status."""
    # One sentence for both limits of time: which comes first depends on the machine.
    if late or -status in TIME_SIGNALS:
        return ENDLESS
    if status < 0:
        return f"Its process crashed ({_signal(-status)})."
    return ENDED_ITSELF


class Stopped(Exception):
    """The process is gone; the message says why."""


@dataclass(frozen=True)
class Defined:
    """What the cells of an answer define under its name.

    Parameters
    ----------
    known : bool
        Whether they define anything.
    callable : bool
        Whether it can be called.
    value : Any
        The number of a pencil exercise; of a function its kind says enough.
    notes : list of str
        What the cells complained about.
    """

    known: bool
    callable: bool
    value: Any
    notes: list[str]


class AnswerProcess:
    """The process of one answer."""

    def __init__(self, wall_seconds: float) -> None:
        packages = Path(np.__file__).parents[1]
        # As -I does, but with the environment, which is ours: it fixes the order of sets.
        command = [sys.executable, "-s", "-P", "-S", str(WORKER), str(packages), str(RUNNER)]
        try:
            self.worker = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=WORKER.anchor,
                env=ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:  # the machine's trouble: no answer must get 0 for it
            words = f"no process can be started for an answer: {error.strerror}"
            raise ConfigError(words) from None
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
        if os.name == "posix" and self.worker.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.worker.pid, signal.SIGKILL)
        self.worker.kill()

    def close(self) -> None:
        """End it, whatever it is doing."""
        _running.discard(self)
        self.timer.cancel()
        self.kill()
        self.worker.wait()
        for pipe in (self.worker.stdin, self.worker.stdout):
            with contextlib.suppress(OSError):  # what was to be written has nobody to read it
                pipe.close()  # type: ignore[union-attr]

    def _why(self) -> str:
        """Return why it has gone."""
        if hasattr(os, "waitid"):  # first look, so that its group is still its own when it ends
            with contextlib.suppress(ChildProcessError):  # the timer has ended and fetched it
                os.waitid(os.P_PID, self.worker.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        return _ending(self.worker.wait(), self.late)

    def ask(self, message: dict[str, Any] | None, blobs: list[bytes]) -> Any:
        """Send a message, if there is one, and wait for what comes back."""
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        try:
            if message is not None:
                protocol.send(self.worker.stdin, message, blobs)
            return protocol.receive(self.worker.stdout, protocol.REPLY_BYTES)
        except (EOFError, BrokenPipeError, OSError):
            raise Stopped(self._why()) from None
        except protocol.ProtocolError:
            raise Stopped(FORGED) from None

    def start(self) -> dict[str, bool]:
        """Wait until it has locked itself; gives the layers that are in force."""
        hello, _ = self.ask(None, [])
        return {layer: held is True for layer, held in hello["in_force"].items()}

    def prepare(self, cells: list[str], name: str) -> Defined:
        """Let it run the cells; gives what they define under the name."""
        message, blobs = self.ask({"cells": cells, "name": name}, [])
        try:
            value = protocol.decode(message["value"], blobs)
            notes = [_told(note) for note in list(message["notes"])[:NOTES]]
            known, function = message["known"] is True, message["callable"] is True
        except NO_ANSWER:
            raise Stopped(FORGED) from None
        return Defined(known, function, value, notes)

    def call(self, inputs: Inputs, *, measured: bool = False) -> Run:
        """Return one case."""
        blobs: list[bytes] = []
        entries = {name: protocol.encode(value, blobs) for name, value in inputs.items()}
        message, back = self.ask({"inputs": entries, "measured": measured}, blobs)
        try:
            problem = message["problem"]
            return Run(
                value=None if problem else protocol.decode(message["value"], back),
                problem=None if problem is None else _told(problem),
                attempted=bool(message["attempted"]),
                printed=_told(message["printed"]),
                complaints=_told(message["complaints"]),
                mutated=[name for name in inputs if name in list(message["mutated"])],
                peak=int(message["peak"]),
            )
        except NO_ANSWER:
            raise Stopped(FORGED) from None


def end_all() -> None:
    """End the processes of all answers that are being graded."""
    for process in list(_running):
        process.kill()
