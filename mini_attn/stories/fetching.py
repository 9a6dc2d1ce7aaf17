"""Weights that the browser's package leaves out: each is fetched when it is first used."""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path

from mini_attn.errors import ConfigError

__all__ = ["LIST", "fetched", "listed"]

LIST = "elsewhere.json"  # SHA-256 of each file that lies beside the site's Python


def listed(folder: Path) -> dict[str, str]:
    """Files that lie elsewhere, by name, with their SHA-256.

    Parameters
    ----------
    folder : Path
        Where they would lie.

    Returns
    -------
    dict
        Empty where the package is whole.
    """
    path = folder / LIST
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _download(name: str, version: str) -> bytes:
    """A file of the site that the browser's Python was loaded from."""
    js, pyodide = importlib.import_module("js"), importlib.import_module("pyodide_js")
    address = js.URL.new(f"../../weights/{name}?v={version}", pyodide._api.config.indexURL).href
    request = js.XMLHttpRequest.new()
    request.open("GET", address, False)
    # Bytes as characters: a page's own thread may wait for text, but not for an array.
    request.overrideMimeType("text/plain; charset=x-user-defined")
    try:
        request.send()
    except Exception as reason:  # the browser's own kind
        raise ConfigError(f"{name} could not be fetched from {address}: {reason}") from None
    if request.status != 200:
        raise ConfigError(f"{name} could not be fetched: {address} answers {request.status}")
    text: str = request.responseText
    return text.encode("utf-16-le")[::2]


def fetched(folder: Path, name: str) -> Path:
    """Where a file lies, once it is there.

    Parameters
    ----------
    folder : Path
        Of the package.
    name : str
        The file's name in it.

    Returns
    -------
    Path
        The file; it may be missing where nothing is said of it.

    Raises
    ------
    ConfigError
        If it lies elsewhere and does not come, or not as it is listed; nothing is kept then.
    """
    path = folder / name
    digest = None if path.exists() else listed(folder).get(name)
    if digest:
        content = _download(name, digest[:8])
        came = hashlib.sha256(content).hexdigest()
        if came != digest:
            raise ConfigError(f"{name} came with sha256 {came[:12]}…, listed is {digest[:12]}…")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return path
