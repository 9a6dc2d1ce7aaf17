"""The wheel of ``mini_attn`` that students install: the same sources give the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from classroom import ROOT
from mini_attn.errors import MiniAttnError

__all__ = ["EPOCH", "build_wheel"]

EPOCH = "315532800"  # 1980-01-01, the first date that a zip file can hold


def build_wheel(
    folder: Path,
    python: str | Path = sys.executable,
    prepare: Callable[[Path], object] = lambda package: None,
) -> Path:
    """Build the wheel from a clean copy of what belongs in it.

    Parameters
    ----------
    folder : Path
        Where it goes.
    python : str or Path
        An interpreter with pip and setuptools.
    prepare : callable (Path)
        Gets the folder of the package's copy before the wheel is made of it.

    Returns
    -------
    Path
        The wheel.

    Raises
    ------
    MiniAttnError
        With pip's last lines, if it cannot be built.
    """
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / "mini_attn", Path(copy, "mini_attn"), ignore=ignored)
        prepare(Path(copy, "mini_attn"))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
        done = subprocess.run(
            [str(python), "-m", "pip", "wheel", *options, copy],
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise MiniAttnError(f"the wheel was not built: {done.stderr[-600:].strip()}")
    return next(folder.glob("mini_attn-*.whl"))
