"""Outputs never outlive the code that made them.

The notebook cache looks at the cells only. Here a change of the package empties the cache
and makes Sphinx read every notebook again.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SUFFIXES = {".py", ".json", ".js", ".css", ".svg", ".png", ".safetensors"}


def digest(folder: Path) -> str:
    """SHA-256 of the package's files, names included."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and "node_modules" not in path.parts:
            total.update(path.relative_to(folder).as_posix().encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def outdated_notebooks(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Notebooks to read again; before that, drop the outputs of another package state."""
    now = digest(Path(app.confdir, "mini_attn"))
    # _build/.jupyter_cache, beside the folder of the pages
    cache = Path(app.outdir).parent / ".jupyter_cache"
    mark = cache / "mini_attn.sha256"
    if mark.exists() and mark.read_text(encoding="utf-8") == now:
        return []
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    mark.write_text(now, encoding="utf-8")
    return [name for name in env.found_docs if str(env.doc2path(name)).endswith(".ipynb")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Look before the notebooks are read."""
    app.connect("env-get-outdated", outdated_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
