"""Facts of the package: how fast it imports, how long its modules are, what a variant adds."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mini_attn"
CLOCK = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds_to_import(name: str, rounds: int = 5) -> float:
    """Shortest time of an import in a fresh interpreter, whose own start is not counted."""
    command = [sys.executable, "-c", CLOCK.format(name)]
    runs = [
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
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


def code_lines(source: str) -> int:
    """Lines that are neither blank nor comment nor docstring."""
    tree = ast.parse(source)
    texts: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            texts |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in texts
        for number, line in lines
    )


def modules() -> dict[str, Any]:
    """Median and largest module of the package, in lines of code without docstrings."""
    lines = {
        path.relative_to(PACKAGE).as_posix(): code_lines(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__init__.py" and "node_modules" not in path.parts
    }
    largest = max(lines, key=lambda name: lines[name])
    return {
        "sizes": f"{len(lines)} modules without __init__.py",
        "median_lines": statistics.median(lines.values()),
        "largest_lines": lines[largest],
        "largest_module": largest,
        "total_lines": sum(lines.values()),
    }


def variant_files() -> dict[str, Any]:
    """Files to touch for a variant: two modules, the registry, a page."""
    touched = ["numpy/<stem>.py", "torch/<stem>.py", "variants.py", "book/<page>.ipynb"]
    return {
        "sizes": "one variant with a module of its own",
        "files": touched,
        "count": len(touched),
        "goals": {"count": ["<=", 4]},
    }
