"""Put one fault after another into a copy of the package and ask the tests.

``python -m tests.mutation.run`` tries all of them and prints which were noticed, and by which
test; words after it choose the faults that have one of them in their name. The working tree is
only read. The exit status is 1 if a fault that nobody argued away was not noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mutation.faults import ROOT, Fault, all_faults, changed

COPIED = ("mini_attn", "tests", "solutions", "classroom", "benchmarks", "tools", "book",
          "pyproject.toml", "_toc.yml")  # fmt: skip
RESULTS = ROOT / "benchmarks/results/mutation"
IMPORTED = ("numpy", "torch")  # once, for all faults; pytest wants its plugins for itself
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # no test of the package needs one; each takes a while
}
ASK = Path(__file__).with_name("ask.py")


class Copy:
    """A copy of the tree, and a process that runs tests in it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        (folder / ".cache").mkdir(parents=True)  # in it, tests find a folder for what they write
        leave = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "node_modules")
        for name in COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, folder / name, ignore=leave)
            elif (root / name).exists():
                shutil.copy2(root / name, folder / name)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(ASK), *IMPORTED],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, tests: Sequence[str], seconds: int, *, keep: bool = False) -> tuple[str, str]:
        """What the tests say: a word, and the first that failed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([tests, seconds, keep]), file=self.process.stdin, flush=True)
        word, by = json.loads(self.process.stdout.readline())
        return word, by

    def end(self) -> None:
        """Let the process go."""
        self.process.communicate()


def try_one(copy: Copy, fault: Fault, seconds: int) -> dict[str, Any]:
    """Put the fault in, ask, and take it out again."""
    began = time.monotonic()
    where, wrong = changed(fault, copy.folder)
    path = copy.folder / where
    source, times = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(wrong, encoding="utf-8")
        # Else a fault as long as what it replaces, put in within the second in which that was
        # compiled, would be taken for it.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**10))
        word, by = copy.ask(fault.tests, seconds)
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if word == "passed":
        word, by = ("argued", fault.argued) if fault.argued else ("survived", "")
    taken = round(time.monotonic() - began, 1)
    return {"fault": fault.name, "verdict": word, "by": by, "seconds": taken}


@contextmanager
def copies(root: Path, count: int) -> Iterator[queue.Queue[Copy]]:
    """So many copies of the tree, to be taken and given back."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as place:
        made = [Copy(root, Path(place) / str(number)) for number in range(count)]
        free: queue.Queue[Copy] = queue.Queue()
        for copy in made:
            free.put(copy)
        try:
            yield free
        finally:
            for copy in made:
                copy.end()


def try_all(
    faults: Sequence[Fault], *, root: Path = ROOT, jobs: int = 2, seconds: int = 300
) -> list[dict[str, Any]]:
    """The verdict on each fault; refuses to begin where a test fails without any fault."""
    for fault in faults:  # all that does not fit is refused before the first is tried
        changed(fault, root)
    with copies(root, jobs) as free, ThreadPoolExecutor(jobs) as workers:

        def judged(fault: Fault) -> dict[str, Any]:
            copy = free.get()
            try:
                return try_one(copy, fault, seconds)
            finally:
                free.put(copy)

        def sound(test: str) -> str:
            copy = free.get()
            try:
                word, by = copy.ask([test], 2 * seconds, keep=True)
            finally:
                free.put(copy)
            return "" if word == "passed" else f"{test}: {word} {by}"

        tests = sorted({test for fault in faults for test in fault.tests})
        failing = [words for words in workers.map(sound, tests) if words]
        if failing:
            raise SystemExit("without any fault these fail already:\n" + "\n".join(failing))
        found = []
        for verdict in workers.map(judged, faults):
            found.append(verdict)
            print("| {fault} | {verdict} | {by} |".format(**verdict), flush=True)
    return found


def keep(found: list[dict[str, Any]], counts: Counter[str]) -> Path:
    """Write the table with machine, versions, date and command."""
    from benchmarks import machine

    record = {**machine.describe(), "command": "make mutate", "counts": counts, "faults": found}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{record['date']}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def main() -> None:
    """Try the faults that the words choose; keep the table if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of names; none means all faults")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=300, help="limit of one fault's tests")
    parser.add_argument("--store", action="store_true", help="keep the table with the results")
    options = parser.parse_args()
    chosen = [
        fault
        for fault in all_faults()
        if not options.words or any(word in fault.name for word in options.words)
    ]
    print("| fault | verdict | by |\n|---|---|---|", flush=True)
    found = try_all(chosen, jobs=options.jobs, seconds=options.seconds)
    counts = Counter(verdict["verdict"] for verdict in found)
    print(f"\n{len(found)} faults: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    if options.store:
        print(f"kept in {keep(found, counts).relative_to(ROOT)}")
    sys.exit(counts["survived"] + counts["broken"] > 0)


if __name__ == "__main__":
    main()
