"""List the parts of a release with versions, checksums and licenses, as CycloneDX 1.6 reads them.

These are the package, NumPy, which is all that it needs, and what others wrote and we hand on: in
the package's scripts, in the pages, and as Python in the browser.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
import tomllib
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tools import ROOT

__all__ = ["bill"]

Part = dict[str, Any]

# Of the packages for Python in the browser. Their wheels say it in many ways, or not at all.
LICENSES = {
    "anywidget": "MIT", "asttokens": "Apache-2.0", "comm": "BSD-3-Clause",
    "contourpy": "BSD-3-Clause", "cycler": "BSD-3-Clause", "decorator": "BSD-2-Clause",
    "executing": "MIT", "fonttools": "MIT", "ipython": "BSD-3-Clause",
    "ipywidgets": "BSD-3-Clause", "jedi": "MIT", "jupyterlab-widgets": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause", "matplotlib": "PSF-2.0", "matplotlib-inline": "BSD-3-Clause",
    "matplotlib-pyodide": "MPL-2.0", "micropip": "MPL-2.0", "numpy": "BSD-3-Clause",
    "openssl": "OpenSSL", "packaging": "Apache-2.0 OR BSD-2-Clause", "parso": "MIT",
    "Pillow": "HPND", "prompt_toolkit": "BSD-3-Clause", "psygnal": "BSD-3-Clause",
    "pure-eval": "MIT", "Pygments": "BSD-2-Clause", "pyparsing": "MIT",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause", "pytz": "MIT", "six": "MIT",
    "sqlite3": "PSF-2.0", "ssl": "PSF-2.0", "stack-data": "MIT", "traitlets": "BSD-3-Clause",
    "typing-extensions": "PSF-2.0", "wcwidth": "MIT",
    "jupyterlite-core": "BSD-3-Clause", "jupyterlite-pyodide-kernel": "BSD-3-Clause",
}  # fmt: skip

# Folders of files in the pages: whose, how the folder's own README says the version, and which.
VENDORED = [
    ("katex", "KaTeX", r"KaTeX ([\d.]+\d)", "MIT", "*"),
    ("fonts", "Source Serif 4", r"source-serif-4` ([\d.]+\d)", "OFL-1.1", "source-serif-4-*"),
    ("fonts", "Source Sans 3", r"source-sans-3` ([\d.]+\d)", "OFL-1.1", "source-sans-3-*"),
    ("icons", "Font Awesome Free", r"Font Awesome Free ([\d.]*\d)", "OFL-1.1", "*"),
]


def licensed(license_: str) -> list[Part]:
    """Return a license as the format wants it: one by its name, several as an expression."""
    return [{"expression": license_} if " " in license_ else {"license": {"id": license_}}]


def part(name: str, version: str, license_: str, where: str, **more: Any) -> Part:
    """Return one component; ``where`` says what it comes in."""
    return {
        "type": "library", "bom-ref": f"{where}/{name}@{version}", "name": name,
        "version": version, "licenses": licensed(license_),
        "properties": [{"name": "where", "value": where}], **more,
    }  # fmt: skip


def hashed(algorithm: str, digest: str) -> list[Part]:
    """Return a checksum as the format wants it."""
    return [{"alg": algorithm, "content": digest}]


def files(paths: Iterable[Path], root: Path) -> list[Part]:
    """Return files as components with their checksums."""
    return [
        {"type": "file", "name": path.relative_to(root).as_posix(),
         "hashes": hashed("SHA-256", hashlib.sha256(path.read_bytes()).hexdigest())}
        for path in sorted(paths)
    ]  # fmt: skip


def assets(root: Path) -> list[Part]:
    """Return the fonts, icons and formulas' style that the pages carry."""
    found = []
    for folder, name, told, license_, pattern in VENDORED:
        here = root / "book/assets" / folder
        version = re.search(told, (here / "README.md").read_text(encoding="utf-8"))
        if version is None:
            raise ValueError(f"book/assets/{folder}/README.md doesn't say the version of {name}")
        own = [p for p in here.rglob(pattern) if p.is_file() and p.suffix not in {".md", ""}]
        found.append(part(name, version[1], license_, "pages", components=files(own, root)))
    return found


def scripts(root: Path) -> list[Part]:
    """Return the JavaScript packages that are bundled into the figures' scripts."""
    lock = json.loads((root / "mini_attn/widgets/js/package-lock.json").read_text(encoding="utf-8"))
    found = []
    for place, package in lock["packages"].items():
        if not place or package.get("dev"):
            continue
        digest = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
        name = place.removeprefix("node_modules/")
        found.append(part(name, package["version"], package["license"], "scripts",
                          hashes=hashed("SHA-512", digest)))  # fmt: skip
    return found


def browser(root: Path) -> list[Part]:
    """Return Python in the browser: Pyodide, its packages, and JupyterLite, which shows them."""
    lite = root / "book/_lite"
    listed = json.loads((lite / "files.json").read_text(encoding="utf-8"))
    lock = json.loads((lite / "pyodide-lock.json").read_text(encoding="utf-8"))
    own = [
        {"type": "file", "name": name, "hashes": hashed("SHA-256", digest)}
        for name, digest in listed["files"].items()
    ]
    found = [part("pyodide", listed["version"], "MPL-2.0", "browser", components=own)]
    for package in [*lock["packages"].values(), *listed["wheels"].values()]:
        found.append(part(package["name"], package["version"], LICENSES[package["name"]],
                          "browser", hashes=hashed("SHA-256", package["sha256"])))  # fmt: skip
    pins = (lite / "requirements.txt").read_text(encoding="utf-8")
    for name, version in re.findall(r"^(jupyterlite-[\w-]+)==(\S+)$", pins, re.M):
        found.append(part(name, version, LICENSES[name], "browser"))
    return found


def needed(root: Path) -> list[Part]:
    """Return what the package needs, in the versions that it's tested with."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (root / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lines, re.M))
    found = []
    for requirement in map(Requirement, project["dependencies"]):
        asked = {"name": "asked for", "value": str(requirement)}
        one = part(requirement.name, pins[requirement.name], LICENSES[requirement.name], "package")
        found.append(one | {"properties": [*one["properties"], asked]})
    return found


def bill(version: str, seconds: int, wheel: Path, root: Path = ROOT) -> Part:
    """Return the list of parts of a release.

    Parameters
    ----------
    version : str
        Of the package.
    seconds : int
        When its commit was made, since 1970: the same commit gives the same list.
    wheel : Path
        The built wheel.
    root : Path
        The tree that it was built from.

    Returns
    -------
    dict
        As CycloneDX 1.6 describes it.

    Raises
    ------
    KeyError
        If a package for the browser has no license in `LICENSES`.
    ValueError
        If a folder of vendored files doesn't say its version.
    """
    needs = needed(root)
    parts = [*needs, *scripts(root), *assets(root), *browser(root)]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = {
        "type": "library", "bom-ref": f"mini_attn@{version}", "name": "mini_attn",
        "version": version, "licenses": licensed("MIT"), "hashes": hashed("SHA-256", digest),
    }  # fmt: skip
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, digest).urn,
        "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": own},
        "components": parts,
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [one["bom-ref"] for one in needs]},
            *({"ref": one["bom-ref"]} for one in parts),
        ],
    }  # fmt: skip
