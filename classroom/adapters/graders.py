"""The environment of nbgrader and otter-grader: ``make graders``, safe to repeat.

Both fit into one environment, ``.venv-grading``. It is none of the book's own, so that their
extensions do not appear in a student's JupyterLab.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from classroom import ROOT

__all__ = ["BIN", "VENV", "main", "make_environment"]

VENV = ROOT / ".venv-grading"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PINS = Path(__file__).with_name("requirements-grading.txt")


def _pip(*arguments: str) -> None:
    """Run the environment's own pip; a failure ends the command with pip's words."""
    pip = [str(BIN / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    command = [*pip, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"[graders] pip failed: {done.stderr[-2000:].strip()}")


def make_environment() -> bool:
    """Make .venv-grading as requirements-grading.txt says, unless it is so already.

    Returns
    -------
    bool
        Whether there was something to do.
    """
    wanted = hashlib.sha256(PINS.read_bytes() + str(ROOT).encode()).hexdigest()
    mark = VENV / "requirements.sha256"
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return False
    print("[graders] making .venv-grading (about 180 MB to download)", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    venv.create(VENV, with_pip=True)
    # Compiling all of it would take longer than importing what is used.
    _pip("--no-compile", "--requirement", str(PINS))
    # From the checkout and not a copy: what is graded with is what is there.
    _pip("--no-build-isolation", "--editable", str(ROOT))
    mark.write_text(wanted, encoding="utf-8")
    return True


def main() -> int:
    """The command; its exit status."""
    make_environment()
    print(f"[graders] {BIN / 'nbgrader'}")
    print(f"[graders] {BIN / 'otter'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
