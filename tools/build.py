"""Build the book: the pages first, then the notebooks that run in the browser beside them."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tools import BIN, CALLED, EXE, HTML, ROOT

STEPS: list[tuple[str, list[str | Path]]] = [
    (
        "pages (each chapter is executed)",
        [BIN / f"jupyter-book{EXE}", "build", ".", "-W", "-n", "-q"],
    ),
    ("Python in the browser", [sys.executable, "book/_lite/build.py"]),
]


def main() -> None:
    """Run the steps with their seconds; the first failure ends the build."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for number, (name, command) in enumerate(STEPS, 1):
        print(f"[book {number}/{len(STEPS)}] {name}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status:
            sys.exit(f"[book] failed: {name}")
        print(f"[book {number}/{len(STEPS)}] {time.monotonic() - start:.0f} s", flush=True)
    page = (HTML / "index.html").relative_to(ROOT)
    print(f"[book] open {page}, or run `{CALLED} serve` (the browser notebooks need it)")


if __name__ == "__main__":
    main()
