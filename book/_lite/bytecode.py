"""Lay out what Python in a page starts with; ``bytecode.mjs`` runs this in the served Python.

Half of a start from sources is their compilation. So the page gets three files of its own, made
here by the very Python that reads them: the standard library, NumPy and ``mini_attn``, with
bytecode for each module that a start imports. The browser notebooks keep the files as they came.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

SERVED = Path("/served")  # the folder that bytecode.mjs was given
LIBRARY = "/lib/python{}{}.zip/".format(*sys.version_info)
LEFT_OUT = {  # beginnings and endings of names
    # What a C or Fortran compiler and a type checker read: a page has neither.
    "numpy": ("numpy/f2py/", ".pyi", ".pxd", ".h", ".a", ".c"),
    # What Jupyter shows: on a page the pictures are the page's own.
    "mini-attn": ("mini_attn/widgets/static/",),
}
UNCHECKED = (1).to_bytes(4, "little")  # PEP 552: bytecode by hash, taken without a look at it


def imported() -> set[str]:
    """Files of the modules of a start: one check, one run, and what a chapter's cells import."""
    on_page = importlib.import_module("mini_attn.exercises.on_page")
    on_page.check("cached_step", "def cached_step(*args):\n    return 1", lambda *told: None)
    on_page.run("1 / 0", "cell", lambda *told: None)
    for name in ("mini_attn.numpy", "pyodide.code"):
        importlib.import_module(name)
    return {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}


def bytecode(source: bytes, path: str) -> bytes:
    """Return the content of a ``.pyc`` file."""
    code = compile(source, path, "exec", dont_inherit=True)
    head = importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source)
    return head + marshal.dumps(code)


def files(archive: ZipFile, root: str, wanted: set[str], keep: bool) -> Iterator[tuple[str, bytes]]:
    """Names and contents; a module that is wanted comes as bytecode, with its source if kept."""
    for name in archive.namelist():
        data, path = archive.read(name), PurePosixPath(name)
        if name.endswith(".py") and root + name in wanted:
            tag = f"__pycache__/{path.stem}.{sys.implementation.cache_tag}.pyc"
            place = path.parent / tag if keep else path.with_suffix(".pyc")
            yield str(place), bytecode(data, root + name)
            if not keep:
                continue
        yield name, data


def rewrite(
    source: Path, target: Path, root: str, wanted: set[str], *,
    keep: bool = False, without: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Write an archive anew; Python would look for its modules below ``root``."""
    with ZipFile(source) as archive, ZipFile(target, "w") as new:
        for name, data in files(archive, root, wanted, keep):
            if not name.startswith(without) and not name.endswith(without):
                new.writestr(ZipInfo(name), data, ZIP_DEFLATED, 9)


def main() -> None:
    """Write the three files, and name the two that are packages in the page's lock file."""
    wanted = imported()
    rewrite(SERVED / "python_stdlib.zip", SERVED / "page-stdlib.zip", LIBRARY, wanted)
    lock = json.loads((SERVED / "page-lock.json").read_text(encoding="utf-8"))
    site = f"{Path(importlib.import_module('numpy').__file__ or '').parents[1]}/"
    for name, without in LEFT_OUT.items():
        entry = lock["packages"][name]
        source = SERVED / entry["file_name"]
        first, version, *_, python, abi, system = source.name.split("-")
        tagged = f"{first}-{version}-1page-{python}-{abi}-{system}"  # a wheel's build tag
        target = source.with_name(tagged)
        # A reader may ask for the source of what is ours.
        rewrite(source, target, site, wanted, keep=name == "mini-attn", without=without)
        entry.update(file_name=target.name, sha256=hashlib.sha256(target.read_bytes()).hexdigest())
    (SERVED / "page-lock.json").write_text(json.dumps(lock), encoding="utf-8")


if __name__ == "__main__":
    main()
