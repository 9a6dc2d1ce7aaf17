"""Build a release into ``dist/``: wheel and source archive, checked, with sums and a list of parts.

The last commit is what's built, so uncommitted changes are refused. The same commit gives the same
bytes, as long as setuptools is the same.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from classroom.sheets.leaks import leaks
from classroom.sheets.wheel import EPOCH
from tools import ROOT, parts

MOST_BYTES = 4_500_000  # of the wheel: with NumPy, all that a browser or a classroom fetches
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.M)
CITED = re.compile(r'^version: (\S+)$.*?^date-released: "([\d-]+)"$', re.M | re.S)
TOPS = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md",
        "mini_attn", "mini_attn.egg-info", "pyproject.toml", "setup.cfg"}  # fmt: skip
# Without these the package would not work; that it has no more is asked of the tops and the size.
MUST = ("__init__.py", "py.typed", "stored.json", "plain/__init__.py", "numpy/__init__.py",
        "torch/__init__.py", "exercises/bank/late_mask.py", "stories/weights/checksums.json",
        "stories/weights/mha.safetensors", "stories/weights/film/film.json",
        "widgets/static/living.jupyter.js", "widgets/static/living.css",
        "widgets/static/home_model.svg", "widgets/js/home_model/schema.json")  # fmt: skip


class ReleaseError(Exception):
    """What keeps a tree from being released."""


def git(root: Path, *arguments: str) -> str:
    """Return what git says about a tree."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True,
                              encoding="utf-8", check=True)  # fmt: skip
    except FileNotFoundError:
        raise ReleaseError("git isn't installed, and a release is made of a commit") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        raise ReleaseError(f"{root} isn't a repository with a commit: {said}") from None
    return done.stdout.strip()


def read_version(root: Path) -> str:
    """Return the version, once package, citation and changelog agree on it."""
    found = VERSION.search((root / "mini_attn/__init__.py").read_text(encoding="utf-8"))
    cited = CITED.search((root / "CITATION.cff").read_text(encoding="utf-8"))
    if found is None or cited is None:
        raise ReleaseError("mini_attn/__init__.py or CITATION.cff doesn't say version and date")
    version, date = cited.groups()
    if version != found[1]:
        raise ReleaseError(f"mini_attn is {found[1]}, and CITATION.cff says {version}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## {version} ({date})\n" not in changes:
        raise ReleaseError(f"CHANGELOG.md has no heading `## {version} ({date})`")
    return version


def build(root: Path, seconds: int, folder: Path) -> tuple[Path, Path]:
    """Build wheel and source archive of the last commit into a folder."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place, "tree")
        archive = subprocess.run(["git", "-C", str(root), "archive", "HEAD"], capture_output=True,
                                 check=True).stdout  # fmt: skip
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            opened.extractall(tree, filter="data")
        done = subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(tree)],
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},  # as build_wheel
            capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
    if done.returncode:
        raise ReleaseError(f"the build failed: {(done.stdout + done.stderr)[-800:].strip()}")
    source = next(folder.glob("*.tar.gz"))
    settle(source, seconds)
    return next(folder.glob("*.whl")), source


def settle(source: Path, seconds: int) -> None:
    """Pack a source archive anew: its files in order, with one time, and nobody's name."""
    fresh = io.BytesIO()
    with tarfile.open(source) as old, tarfile.open(fileobj=fresh, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    source.write_bytes(gzip.compress(fresh.getvalue(), mtime=seconds))


def faults(wheel: Path, source: Path) -> list[str]:
    """Return what's wrong with the contents of wheel and source archive."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    inside = {name.removeprefix("mini_attn/") for name in names}
    found = [f"{wheel.name} lacks mini_attn/{name}" for name in MUST if name not in inside]
    tops = {name.split("/")[0] for name in names}
    others = {top for top in tops if top != "mini_attn" and not top.endswith(".dist-info")}
    found += [f"{wheel.name} holds {top}, which isn't the package's" for top in sorted(others)]
    if (size := wheel.stat().st_size) > MOST_BYTES:
        found.append(f"{wheel.name} has {size:,} bytes, and may have {MOST_BYTES:,}")
    with tarfile.open(source) as opened:
        paths = [PurePosixPath(name).parts[1:] for name in opened.getnames()]
        texts = {m.name: opened.extractfile(m) for m in opened.getmembers() if m.isfile()}
        others = {path[0] for path in paths if path} - TOPS
        found += [f"{source.name} holds {top}, which isn't the package's" for top in sorted(others)]
        for name, file in texts.items():
            found += leaks(Path(name), file.read() if file else b"")
    return found + leaks(wheel)


def main(root: Path = ROOT, out: Path | None = None) -> None:
    """Build, check and write everything, or say why not and leave ``dist/`` as it was."""
    out = out or root / "dist"
    if changed := git(root, "status", "--porcelain"):
        first, *more = changed.splitlines()
        others = f" and {len(more)} more" if more else ""
        raise ReleaseError(f"commit or remove {first.split(maxsplit=1)[1]}{others} first: "
                           "a release is made of a commit")  # fmt: skip
    version, seconds = read_version(root), int(git(root, "log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as place:
        wheel, source = build(root, seconds, Path(place))
        if wrong := faults(wheel, source):
            raise ReleaseError("; ".join(wrong))
        listed = Path(place, f"mini_attn-{version}.cdx.json")
        bill = parts.bill(version, seconds, wheel, root)
        listed.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        made = sorted((wheel, source, listed))
        lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in made]
        sums = Path(place, "SHA256SUMS")
        sums.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        for path in (*made, sums):
            shutil.copy(path, out)
            print(f"[release] {out.name}/{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    try:
        main()
    except ReleaseError as error:
        sys.exit(f"[release] {error}")
