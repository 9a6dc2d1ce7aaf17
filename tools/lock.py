"""Write ``requirements.lock``: each pin of ``requirements.txt`` with the hash of each of its files.

The index says the hashes for all systems at once. PyTorch isn't among the pins: which build a
machine takes, and so which file, is its owner's choice (``TORCH=``).
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tools import ROOT

__all__ = ["hashes", "pins"]

PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.M)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")
HEAD = """\
# Written by python -m tools.lock from requirements.txt. To install these files and no others:
#   pip install --no-deps --require-hashes -r requirements.lock
# and then a build of PyTorch and, with --no-deps, this package.
"""


def pins(text: str) -> dict[str, str]:
    """Return versions by normalized names, without PyTorch's."""
    found = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PIN.findall(text)}
    found.pop("torch", None)
    return found


def hashes(text: str) -> dict[str, list[str]]:
    """Return the hashes of a locked list by normalized names."""
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
    return {next(iter(pins(block))): HASH.findall(block) for block in blocks}


def ask(lines: list[str]) -> str:
    """Return pins with their hashes, as uv gets them from the index."""
    if find_spec("uv") is None:
        sys.exit("[lock] needs uv: pip install '.[release]'")
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "pins.txt")
        asked.write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", str(asked), "--no-deps", "--universal",
             "--python-version", platform.python_version(), "--generate-hashes", "--no-header",
             "--no-annotate", "--no-emit-index-url", "--quiet"],
            capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
    if done.returncode:
        sys.exit(f"[lock] the index doesn't have every pin: {done.stderr.strip()}")
    return done.stdout


def main(root: Path = ROOT) -> None:
    """Write the file, once every pin has come back with a hash."""
    wanted = (root / "requirements.txt").read_text(encoding="utf-8")
    lines = [line for line in wanted.splitlines() if PIN.match(line) and pins(line)]
    got = ask(lines)
    lacking = [name for name, found in hashes(got).items() if not found]
    if lacking or pins(got) != pins(wanted):
        other = sorted(dict(pins(got).items() ^ pins(wanted).items()))
        sys.exit(f"[lock] not as pinned, or without a hash: {', '.join(lacking + other)}")
    fresh = root / "requirements.lock.new"
    fresh.write_text(HEAD + got, encoding="utf-8")
    fresh.replace(root / "requirements.lock")
    print(f"[lock] requirements.lock: {len(lines)} pins, {len(HASH.findall(got))} hashes")


if __name__ == "__main__":
    main()
