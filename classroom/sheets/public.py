"""Copy the repository without the assessed solutions, to publish it.

The copy has no history, as the history has the solutions. It builds the same pages and opens on
Binder; grading and the tests need the whole.
"""

from __future__ import annotations

import argparse
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from classroom import ROOT
from classroom.sheets.leaks import code_lines, flat, telling_line
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise, exercise_ids

__all__ = ["main", "publish"]

READ = {".ipynb", ".js", ".json", ".md", ".py", ".toml", ".txt", ".yml"}


def _tracked(root: Path) -> list[str]:
    """Paths of the files in the repository."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise ConfigError(f"{root} is no git repository: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]


@cache
def _solution(exercise_id: str) -> list[str]:
    """Return the lines of a reference that are long enough to be its own, or the one that tells."""
    reference = getattr(import_module(f"solutions.{exercise_id}"), "REFERENCE", None)
    if not callable(reference):
        return [telling_line(exercise_id)]
    lines = code_lines(inspect.getsource(reference))[1:]
    return [line for line in lines if len(line) > 20] or [telling_line(exercise_id)]


def _told(path: Path) -> list[str]:
    """Assessed exercises whose solution stands in a file."""
    if path.suffix not in READ:
        return []
    text = flat(path.read_text(encoding="utf-8", errors="ignore"))
    kept = [key for key in exercise_ids() if exercise(key).assessed]
    return [k for k in kept if all(flat(line) in text for line in _solution(k))]


def publish(out: Path, root: Path = ROOT) -> int:
    """Write the copy.

    Parameters
    ----------
    out : Path
        A folder that does not exist or is empty.
    root : Path
        The repository.

    Returns
    -------
    int
        The number of files.

    Raises
    ------
    ConfigError
        If the folder holds something, or a file outside ``solutions`` holds an assessed
        solution; then nothing is written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not empty: name a new folder")
    kept = {f"solutions/{key}.py" for key in exercise_ids() if exercise(key).assessed}
    names = [name for name in _tracked(root) if name not in kept]
    told = {name: found for name in names if (found := _told(root / name))}
    if told:
        listed = ", ".join(f"{name} ({', '.join(keys)})" for name, keys in told.items())
        raise ConfigError(f"nothing was copied: an assessed solution stands in {listed}")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".unfinished-") as folder:
        copy = Path(folder, "copy")
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, copy / name)
        os.replace(copy, out)
    return len(names)


def main(arguments: list[str] | None = None) -> int:
    """Return the command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m classroom.sheets.public", description=__doc__)
    parser.add_argument("out", type=Path, help="a new folder")
    asked = parser.parse_args(arguments)
    try:
        count = publish(asked.out)
    except ConfigError as error:
        print(f"[public] {error}", file=sys.stderr)
        return 2
    print(f"[public] {count} files in {asked.out}, no assessed solution among them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
