"""Remove folders of the project that were built: ``python -m tools.clean _build dist``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools import ROOT


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it; of a link, the link alone."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        remove(ROOT / name)
