"""Files of weights with their checksums; what the package at hand leaves out is fetched."""

from __future__ import annotations

import hashlib
import importlib
import json
from importlib import metadata
from pathlib import Path

from mini_attn.errors import ConfigError

__all__ = ["LIST", "fetched", "listed", "note"]

LIST = "checksums.json"  # SHA-256 of each file of weights, here or beside the site's Python
SECONDS = 30  # the longest wait for the site


def listed(folder: Path) -> dict[str, str]:
    """Files of weights by name, with their SHA-256.

    Parameters
    ----------
    folder : Path
        Where they lie, or would lie if the browser's package had them.

    Returns
    -------
    dict
        Empty where there is no list.

    Raises
    ------
    ConfigError
        If the list cannot be read.
    """
    path = folder / LIST
    if not path.exists():
        return {}
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{LIST} is damaged: {error}") from error
    return found


def note(folder: Path, *names: str) -> None:
    """Put the checksums of files just written into the list; entries without a file leave it.

    Parameters
    ----------
    folder : Path
        Of the package.
    names : str
        Their names in it.
    """
    sums = listed(folder) | {name: _sum((folder / name).read_bytes()) for name in names}
    kept = {name: sums[name] for name in sorted(sums) if (folder / name).exists()}
    fresh = folder / f"{LIST}.new"
    fresh.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    fresh.replace(folder / LIST)


def _sum(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _site() -> str:
    """Address of the published book, if the installed package says one."""
    try:
        urls = metadata.metadata("mini_attn").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    homes = [url.partition(", ")[2] for url in urls if url.startswith("Homepage, ")]
    return homes[0].rstrip("/") if homes else ""


def _from_site(path: Path, name: str, version: str) -> bytes:
    """A file of the published book, for an installed package."""
    from urllib.request import urlopen  # slow to import, and hardly ever needed

    there = f"copy it from a checkout's mini_attn/stories/weights to {path}"
    if not (site := _site()):
        raise ConfigError(
            f"{name} is missing: {LIST} lists it; install the package anew or {there}"
        )
    address = f"{site}/lite/weights/{name}?v={version}"
    try:
        with urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (OSError, ValueError) as reason:
        raise ConfigError(
            f"{name} could not be fetched from {address}: {reason}; {there}"
        ) from None
    return content


def _download(path: Path, name: str, version: str) -> bytes:
    """A file of the site: that the browser's Python came from, or the published one."""
    try:
        pyodide, js = importlib.import_module("pyodide_js"), importlib.import_module("js")
    except ImportError:  # no browser
        return _from_site(path, name, version)
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
    """Return a file's path, once it is there and holds what was written.

    Parameters
    ----------
    folder : Path
        Of the package.
    name : str
        The file's name in it.

    Returns
    -------
    Path
        The file; it may be missing where the list does not name it.

    Raises
    ------
    ConfigError
        If it is damaged or the list does not name it; if it lies elsewhere and does not come, or
        not as it is listed: nothing is kept then.
    """
    path, digest = folder / name, listed(folder).get(name)
    if path.exists():
        _check(name, path.read_bytes(), digest)
    elif digest:
        content = _download(path, name, digest[:8])
        came = _sum(content)
        if came != digest:
            raise ConfigError(f"{name} came with sha256 {came[:12]}…, listed is {digest[:12]}…")
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        except OSError as reason:
            path.unlink(missing_ok=True)
            raise ConfigError(f"{name} came, and cannot be kept: {reason}") from None
    return path


def _check(name: str, content: bytes, digest: str | None) -> None:
    """A file that is here must be the one that was written."""
    if digest is None:
        raise ConfigError(f"{name} has no checksum in {LIST}: what is in it cannot be trusted")
    found = _sum(content)
    if found != digest:
        raise ConfigError(
            f"{name} is damaged: its sha256 is {found[:12]}…, {LIST} says {digest[:12]}…; "
            "install the package anew"
        )
