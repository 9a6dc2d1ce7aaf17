"""Make the environment .venv that builds and tests everything; safe to repeat.

An installed PyTorch is never replaced: its exact version becomes a constraint of the rest.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Iterable
from pathlib import Path

from tools import CALLED, ROOT

VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PINNED = re.compile(r"([\w.-]+)\s*\(?==")  # a package of which one version alone will do
TORCH = os.environ.get("TORCH") or "torch==2.13.0"


def say(step: str) -> None:
    """Print one line of progress at once, also when the output is a file."""
    print(f"[setup] {step}", flush=True)


def pip(*arguments: str) -> None:
    """Run the environment's own pip; a failure ends the set-up with pip's words."""
    command: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"[setup] failed: pip {' '.join(arguments)}")


def installed_torch() -> list[str]:
    """Return PyTorch's version in the environment and its own requirements, or nothing."""
    code = "from importlib.metadata import requires, version\n"
    code += "print(version('torch'), *(requires('torch') or ()), sep='\\n')"
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, encoding="utf-8", check=False)
    return found.stdout.splitlines()


def pins(version: str, requirements: Iterable[str]) -> list[str]:
    """Return the project's pins beside this PyTorch.

    A build for a GPU asks for one version of Triton, and which one differs from build to build.
    """
    theirs = {found[1] for line in requirements if (found := PINNED.match(line))}
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    ours = [line for line in lines if line.partition("==")[0] not in {"torch", *theirs}]
    return [*ours, f"torch=={version}"]


def download_bytes(requirement: list[str]) -> int | None:
    """Bytes that pip would fetch for a requirement; None where the index does not tell."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command: list[str | Path] = [PYTHON, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--report", report, *requirement]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        urls = [
            item["download_info"]["url"]
            for item in json.loads(report.read_text("utf-8"))["install"]
        ]
    try:
        total = 0
        for url in urls:
            request = urllib.request.Request(url, method=None if url[:5] == "file:" else "HEAD")
            with urllib.request.urlopen(request, timeout=10) as answer:
                total += int(answer.headers["Content-Length"])
        return total
    except (OSError, TypeError, ValueError):
        return None


def install_torch() -> None:
    """Install the PyTorch build that TORCH names, after saying how much that downloads."""
    size = download_bytes(shlex.split(TORCH))
    amount = f"{size / 1e6:,.0f} MB to download" if size is not None else "size not told"
    say(f"2/3 PyTorch ({TORCH}): {amount}; another build: {CALLED} book TORCH=…")
    pip("install", "-qq", *shlex.split(TORCH))


def main() -> None:
    """Create the environment, PyTorch first, then the pinned rest."""
    if not PYTHON.exists():
        say("1/3 making .venv")
        venv.create(VENV, with_pip=True)
    if not installed_torch():
        install_torch()
    else:
        say(f"2/3 PyTorch {installed_torch()[0]} is installed and stays")
    torch, *requirements = installed_torch()
    say("3/3 pinned packages (about 250 MB the first time)")
    with tempfile.TemporaryDirectory() as folder:
        lists = Path(folder) / "requirements.txt"
        lists.write_text("\n".join(pins(torch, requirements)) + "\n", encoding="utf-8")
        pip("install", "-qq", "--requirement", str(lists))


if __name__ == "__main__":
    main()
