"""Run every check in turn, each with its name and seconds; stop at the first that fails.

The book must be built before (``make test`` does that).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTEST = [BIN / "pytest", "--quiet"]
NBVAL = ["-p", "no:python", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout", "60"]

STEPS: list[tuple[str, list[object]]] = [
    ("a Chromium for the browser tests", [sys.executable, "tests/chromium.py", "--install"]),
    ("style", [BIN / "ruff", "check", "."]),
    ("formatting", [BIN / "ruff", "format", "--check", "."]),
    ("types", [BIN / "mypy"]),
    ("notebooks", [*PYTEST, *NBVAL, "book"]),
    ("nbgrader and otter-grader", [sys.executable, "-m", "classroom.adapters.graders"]),
    (
        "package, widgets, exercises, classroom, pages",
        [*PYTEST, "-n", "2", "--dist", "loadscope", "-m", "not browser and not lite"],
    ),
    (
        "the book in a real browser",
        [*PYTEST, "-n", "2", "--dist", "loadfile", "-m", "browser"],
    ),
    ("Python in the browser", [*PYTEST, "-m", "lite"]),
]


def main() -> None:
    """Run the steps; the exit status is that of the first failure."""
    began = time.monotonic()
    # Two workers on two cores: a thread each, so that they do not fight over them.
    # And nobody's progress is read or written.
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MINI_ATTN_PROGRESS": "off",
    }
    for number, (name, command) in enumerate(STEPS, 1):
        print(f"\n[test {number}/{len(STEPS)}] {name}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        print(f"[test {number}/{len(STEPS)}] {time.monotonic() - start:.0f} s", flush=True)
        if status:
            sys.exit(f"[test] failed: {name}")
    print(f"\n[test] all passed in {(time.monotonic() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
