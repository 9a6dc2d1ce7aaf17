"""Facts of the package: how fast it imports, how long its modules are, what a variant adds."""

from __future__ import annotations

import inspect
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from mini_attn import config
from mini_attn.variants import REGISTRY, Variant
from tools.lines import code_lines

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mini_attn"
# The time of the processor: other work on the machine does not count.
CLOCK = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def seconds_to_import(name: str, rounds: int = 5) -> float:
    """Least processor time of an import in a fresh interpreter, whose own start is not counted."""
    command = [sys.executable, "-c", CLOCK.format(name)]
    runs = [
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
        for _ in range(rounds)
    ]
    return min(float(text) for text in runs)


def imports() -> dict[str, Any]:
    """Seconds of each import, and what the package adds to NumPy's and to PyTorch's own."""
    names = ("numpy", "torch", "mini_attn", "mini_attn.numpy", "mini_attn.torch")
    seconds = {name: seconds_to_import(name) for name in names}
    return {
        "sizes": "fresh interpreter, files in the system's cache, minimum of 5",
        "seconds": seconds,
        "seconds_beyond_numpy": seconds["mini_attn.numpy"] - seconds["numpy"],
        "seconds_beyond_torch": seconds["mini_attn.torch"] - seconds["torch"],
        "goals": {"seconds_beyond_numpy": ["<=", 0.2]},
    }


def modules() -> dict[str, Any]:
    """Median and largest module of the package, in lines of code without docstrings and tables."""
    names = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
    lines = {
        name: code_lines((PACKAGE / name).read_text(encoding="utf-8"), name)[name]
        for name in names
        if not name.endswith("__init__.py") and "questions" not in name  # prose
    }
    largest = max(lines, key=lambda name: lines[name])
    return {
        "sizes": f"{len(lines)} modules without __init__.py",
        "median_lines": statistics.median(lines.values()),
        "largest_lines": lines[largest],
        "largest_module": largest,
        "total_lines": sum(lines.values()),
        "goals": {"largest_lines": ["<=", 150]},
    }


def variant_files() -> dict[str, Any]:
    """Files that each variant of the registry touches, by what its entry names."""
    touched = {name: files_of(entry) for name, entry in REGISTRY.items()}
    return {
        "sizes": "modules of both backends, the registry's entry, a page; a configuration of its "
        "own where the shared one does not fit",
        "count": {name: len(files) for name, files in touched.items()},
        "files": {name: ", ".join(files) for name, files in touched.items()},
    }


def files_of(entry: Variant) -> list[str]:
    """Files that a variant's entry names, each of which must exist."""
    page = entry.page.split("#")[0]
    names = [f"mini_attn/{side}/{entry.stem.replace('.', '/')}.py" for side in ("numpy", "torch")]
    names += ["mini_attn/variants.py", f"book/{page}.ipynb"]
    if sum(other.config_class == entry.config_class for other in REGISTRY.values()) == 1:
        source = inspect.getsourcefile(getattr(config, entry.config_class))
        names.append(Path(str(source)).relative_to(ROOT).as_posix())
    gone = [name for name in names if not (ROOT / name).exists()]
    if gone:
        raise FileNotFoundError(f"{entry.name}: {', '.join(gone)}")
    return names
