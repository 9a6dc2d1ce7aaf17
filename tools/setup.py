"""Make the environment .venv that builds and tests everything; safe to repeat.

An installed PyTorch is never replaced: its exact version becomes a constraint of the rest.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

from tools import CALLED, ROOT

VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
TORCH = os.environ.get("TORCH") or "torch==2.13.0"


def say(step: str) -> None:
    """Print one line of progress at once, also when the output is a file."""
    print(f"[setup] {step}", flush=True)


def pip(*arguments: str) -> None:
    """Run the environment's own pip; a failure ends the set-up with pip's words."""
    command: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"[setup] failed: pip {' '.join(arguments)}")


def installed_torch() -> str | None:
    """Version of PyTorch in the environment, or None."""
    code = "from importlib.metadata import version; print(version('torch'))"
    found = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def download_bytes(requirement: list[str]) -> int | None:
    """Bytes that pip would fetch for a requirement; None where the index does not tell."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command: list[str | Path] = [PYTHON, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--report", report, *requirement]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        urls = [item["download_info"]["url"] for item in json.loads(report.read_text())["install"]]
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
    torch = installed_torch()
    if torch is None:
        install_torch()
        torch = installed_torch()
    else:
        say(f"2/3 PyTorch {torch} is installed and stays")
    say("3/3 pinned packages (about 250 MB the first time)")
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    rest = [line for line in pins if not line.startswith("torch==")]
    with tempfile.TemporaryDirectory() as folder:
        lists = Path(folder) / "requirements.txt"
        lists.write_text("\n".join([*rest, f"torch=={torch}"]) + "\n")
        pip("install", "-qq", "--requirement", str(lists))


if __name__ == "__main__":
    main()
