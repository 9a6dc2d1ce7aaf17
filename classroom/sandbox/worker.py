"""The process of one answer: locks itself, runs the student's cells, calls what they define.

Started as ``python -s -P -S worker.py NUMPY RUNNER`` in an empty environment: without installed
packages. It gets inputs and gives back what the answer returned; it holds no check, no expected
value and no solution. Nothing it says is believed: the grader judges the arrays.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
TEXT = 2_000  # characters of a text that goes back


def add_package(name: str, folder: Path) -> None:
    """A package whose modules lie in a folder, without its own code or that of those above it.

    No folder of ours is ever on the path.
    """
    above = name.split(".")
    for n in range(1, len(above) + 1):
        sys.modules[".".join(above[:n])] = types.ModuleType(".".join(above[:n]))
    sys.modules[name].__path__ = [str(folder)]


def forget(package: str) -> None:
    """Take a package and its modules out of reach of an import."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def load_notebook(folder: Path) -> tuple[Any, Callable[..., Any]]:
    """Return how a notebook runs cells and answers, so that the words here are the same."""
    add_package("mini_attn.exercises", folder)
    budget, cells, runner = (
        importlib.import_module(f"mini_attn.exercises.{n}") for n in ("budget", "cells", "runner")
    )
    # An error names the last line of the student's, and none of these modules.
    budget._INSTALLED = (*budget._INSTALLED, f"{HERE}{os.sep}")  # type: ignore[attr-defined]
    forget("mini_attn")
    return cells, runner.run


def load_sandbox() -> tuple[Any, Any]:
    """Return the modules that lock this process, and that speak for it."""
    add_package("classroom.sandbox", HERE)
    lock, protocol = (
        importlib.import_module(f"classroom.sandbox.{n}") for n in ("lock", "protocol")
    )
    forget("classroom")
    return lock, protocol


class NoPackage:
    """Says why an import of these packages fails."""

    def __init__(self, packages: tuple[str, ...], why: str) -> None:
        self.packages, self.why = packages, why

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse them; others are looked for as usual."""
        if name.split(".")[0] in self.packages:
            raise ModuleNotFoundError(f"{name} {self.why}", name=name)


def short(text: Any) -> str:
    """Return a text of the answer's, cut."""
    return str(text)[:TEXT]


class Worker:
    """Answers the grader's messages until it has no more."""

    def __init__(
        self, protocol: Any, run: Callable[..., Any], source: IO[bytes], sink: IO[bytes]
    ) -> None:
        self.protocol, self.run, self.source, self.sink = protocol, run, source, sink

    def say(self, message: dict[str, Any], blobs: list[bytes] | None = None) -> None:
        """Send one message."""
        self.protocol.send(self.sink, message, blobs or [])

    def prepare(self, np: Any, notebook: Any) -> Any:
        """Run the cells; gives the answer that they define."""
        job, _ = self.protocol.receive(self.source)
        space = notebook.namespace()
        # What an answer draws without a seed of its own is the same in every run.
        random.seed(0)
        np.random.seed(0)
        notes = notebook.run_cells(self.run, job["cells"], space)
        name = job["name"]
        blobs: list[bytes] = []
        answer = space.get(name)
        entry = self.protocol.encode(answer, blobs)
        known = name in space
        self.say({"known": known, "callable": callable(answer), "value": entry, "notes": notes},
                 blobs)  # fmt: skip
        return answer

    def call(self, answer: Any) -> None:
        """One case: inputs in, what was returned out."""
        message, blobs = self.protocol.receive(self.source)
        inputs = {k: self.protocol.decode(v, blobs) for k, v in message["inputs"].items()}
        # Arrays made of what was received cannot be written to, and an answer may try.
        inputs = {k: v.copy() if hasattr(v, "copy") else v for k, v in inputs.items()}
        done = self.run(answer, inputs, measured=message["measured"])
        out: list[bytes] = []
        value, problem = None, done.problem
        try:
            value = self.protocol.encode(done.value, out)
        except BaseException as error:  # a type of the answer's own may do anything here
            problem, out = f"What it returned cannot be read: {type(error).__name__}.", []
        texts = {"printed": short(done.printed), "complaints": short(done.complaints)}
        self.say({
            "value": value, "problem": problem and short(problem), "attempted": done.attempted,
            "mutated": [str(name) for name in done.mutated], "peak": done.peak, **texts,
        }, out)  # fmt: skip


def main() -> None:
    """Load, lock, and only then look at the student's cells."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    packages, folder = sys.argv[1:3]
    sys.path.append(packages)
    import numpy as np  # with its libraries, before reading is limited

    for name in ("fft", "linalg", "ma", "polynomial", "random", "testing"):
        importlib.import_module(f"numpy.{name}")

    sys.path.remove(packages)
    sys.argv = [""]
    notebook, run = load_notebook(Path(folder))
    lock, protocol = load_sandbox()
    numpy = Path(np.__file__).parent
    sys.meta_path.insert(0, NoPackage(notebook.ABSENT, notebook.WHERE))
    in_force = lock.lock([str(numpy), str(numpy.with_name("numpy.libs"))])
    worker = Worker(protocol, run, source, sink)
    worker.say({"in_force": in_force})
    answer = worker.prepare(np, notebook)
    while True:
        worker.call(answer)


if __name__ == "__main__":
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        main()
    os._exit(0)  # nothing that an answer left behind runs at the end
