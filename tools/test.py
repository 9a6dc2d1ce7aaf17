"""Run checks in turn, each with its name and seconds; stop at the first that fails.

``check`` is what one runs while working. ``test`` proves every kind of promise, ``test-all`` adds
each case that a sample in ``test`` stands for, and ``soak`` repeats. All but ``check`` read the
built book, which the command builds first.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tools import BIN, EXE, ROOT

Step = list[str | Path]
PYTEST: Step = [BIN / f"pytest{EXE}", "--quiet", "-n", "2"]
NBVAL: Step = ["-p", "no:python", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=60"]
# A file or a class stays on one worker, which shares its fixtures. The longest rooms come first:
# at the end, when one worker has nothing left to take, only short ones are left.
LONGEST = {"classroom", "oracles", "backends"}
SPREAD: Step = ["--dist", "loadscope", "--no-loadscope-reorder"]
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/*/test_*.py"))
FILES.sort(key=lambda path: path.split("/")[1] not in LONGEST)

# To import them all takes half a minute of each worker. What only some runs select lies in files
# that say so themselves, which `tests/conftest.py` sees to.
SELECTS = {"browser": r"\bmark\.browser\b", "lite": r"\bmark\.lite\b",
           "exhaustive": r"\bmark\.exhaustive\b|\bsampled\("}  # fmt: skip


def holding(*marks: str) -> list[str]:
    """The files of tests in which one of these marks stands."""
    words = "|".join(SELECTS[mark] for mark in marks)
    return [path for path in FILES if re.search(words, (ROOT / path).read_text("utf-8"))]


DRIVEN, SAMPLED = holding("browser", "lite"), holding("exhaustive")
# The rooms whose tests need neither the built book nor other programs, whole.
FAST = [
    path for path in FILES if re.match("tests/(backends|cost|exercises|stories|widgets)/", path)
]
LEFT_OUT = "soak or exhaustive"  # of make test
UNITS: Step = [*PYTEST, *SPREAD, "-m"]
BROWSER: Step = [*PYTEST, "--dist", "loadfile", "-m"]
NOTHING_COLLECTED = 5  # pytest's exit status
STYLE: list[tuple[str, Step]] = [
    ("style", [BIN / f"ruff{EXE}", "check", "."]),
    ("formatting", [BIN / f"ruff{EXE}", "format", "--check", "."]),
    ("types", [BIN / f"mypy{EXE}"]),
]
CHECK: list[tuple[str, Step]] = [
    *STYLE,
    (
        "fast units",
        [*UNITS, f"not (slow or site or browser or lite or {LEFT_OUT})", *FAST],
    ),
]
CHROMIUM: tuple[str, Step] = (
    "a Chromium for the browser tests",
    [sys.executable, "-m", "tools.browser", "--install"],
)
GRADERS: tuple[str, Step] = (
    "nbgrader and otter-grader",
    [sys.executable, "-m", "classroom.adapters.graders"],
)
TEST: list[tuple[str, Step]] = [
    CHROMIUM,
    *STYLE,
    # A notebook's cells stay together, as each has one kernel.
    ("notebooks", [*PYTEST, "--dist", "loadscope", *NBVAL, "book"]),
    (
        "package, widgets, exercises, classroom, pages",
        [*UNITS, f"not (browser or lite or {LEFT_OUT})", *FILES],
    ),
    (
        "the book in a real browser, and Python in it",
        [*BROWSER, f"(browser or lite) and not ({LEFT_OUT})", *DRIVEN],
    ),
]
TEST_ALL: list[tuple[str, Step]] = [
    CHROMIUM,
    GRADERS,
    (
        "each case of package, widgets, exercises, classroom, pages",
        [*UNITS, "exhaustive and not (browser or lite or soak)", *SAMPLED],
    ),
    (
        "each case in a real browser",
        [*BROWSER, "exhaustive and (browser or lite) and not soak", *DRIVEN],
    ),
]
SOAK: list[tuple[str, Step]] = [
    CHROMIUM,
    GRADERS,
    (
        "every exercise of the built book by keyboard, and each case in a real browser",
        [*BROWSER, f"(browser or lite) and ({LEFT_OUT})", *DRIVEN],
    ),
    (
        "random cases by the thousand, and each case that a sample stood for",
        [
            *PYTEST,
            "--hypothesis-profile=soak",
            "-m",
            f"(hypothesis or {LEFT_OUT}) and not (browser or lite)",
            "tests",
        ],
    ),
    (
        "one fault after another in copies of the package",
        [sys.executable, "-m", "tests.mutation.run"],
    ),
]
ALL = {"check": CHECK, "test": TEST, "test-all": TEST_ALL, "soak": SOAK}


def main(which: str) -> None:
    """Run the steps; the exit status is that of the first failure."""
    steps, began = ALL[which], time.monotonic()
    # Two workers on two cores: a thread each, so that they do not fight over them.
    # And nobody's progress is read or written.
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MINI_ATTN_PROGRESS": "off",
    }
    for number, (name, command) in enumerate(steps, 1):
        print(f"\n[{which} {number}/{len(steps)}] {name}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        print(f"[{which} {number}/{len(steps)}] {time.monotonic() - start:.0f} s", flush=True)
        if status and not (which == "test-all" and status == NOTHING_COLLECTED):
            sys.exit(f"[{which}] failed: {name}")
    print(f"\n[{which}] all passed in {(time.monotonic() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main(sys.argv[1])
