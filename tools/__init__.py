"""What ``make`` and ``python -m tools`` run: set up, build, test, print, draw, count.

Not part of the package. An older Python reads this file first, so up to the check it has to be
able to.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - any Python may call this
    sys.exit(
        "This needs Python 3.11 or newer, and you started Python %s: say a newer one, as in "  # noqa: UP031
        "`python3.12 -m tools book` or `make PYTHON=python3.12 book`." % sys.version.split()[0]
    )

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build/html"
BIN = Path(sys.executable).parent
EXE = ".exe" if os.name == "nt" else ""  # how its programs end there
CALLED = "make" if "MAKELEVEL" in os.environ else "python -m tools"  # how commands are named
