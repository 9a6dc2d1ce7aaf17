"""Weights that lie elsewhere: fetched once, checked, and never half there."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mini_attn.errors import ConfigError
from mini_attn.stories import family, fetching
from tests.scripts import script
from tools.site import serve

NAME = "mha.safetensors"
HERE = family.FOLDER


class Request:
    """A browser's request, as far as it is used."""

    status = 200
    content = b""
    asked: list[str] = []  # noqa: RUF012

    def open(self, method: str, address: str, waits: bool) -> None:
        assert (method, waits) == ("GET", False)
        self.asked.append(address)

    def overrideMimeType(self, kind: str) -> None:
        assert kind == "text/plain; charset=x-user-defined"

    def send(self) -> None:
        if self.status == 0:
            raise RuntimeError("NetworkError")

    @property
    def responseText(self) -> str:
        """Bytes from 128 on come in a private area."""
        return "".join(chr(byte if byte < 128 else 0xF700 + byte) for byte in self.content)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without weights, on a site that has them."""
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    content = (HERE / NAME).read_bytes()
    listed = {NAME: hashlib.sha256(content).hexdigest(), "film/00050.safetensors": "0" * 64}
    (tmp_path / fetching.LIST).write_text(json.dumps(listed))
    monkeypatch.setattr(Request, "content", content)
    monkeypatch.setattr(Request, "asked", [])
    address = SimpleNamespace(new=lambda path, base: SimpleNamespace(href=f"{base}|{path}"))
    browser = {
        "js": SimpleNamespace(URL=address, XMLHttpRequest=SimpleNamespace(new=Request)),
        "pyodide_js": SimpleNamespace(_api=SimpleNamespace(config=SimpleNamespace(indexURL="at/"))),
    }
    monkeypatch.setattr(fetching.importlib, "import_module", browser.__getitem__)
    return tmp_path


def test_what_is_listed_counts_as_shipped_and_comes_once(site: Path) -> None:
    assert family.shipped() == ("mha",)
    for _ in range(2):
        family.stored("mha")
    assert (site / NAME).read_bytes() == Request.content
    digest = hashlib.sha256(Request.content).hexdigest()
    assert Request.asked == [f"at/|../../weights/{NAME}?v={digest[:8]}"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 404}, "answers 404"),
        ({"status": 0}, "could not be fetched from at/.*NetworkError"),
        ({"content": b"something else"}, "came with sha256"),
    ],
)
def test_what_does_not_come_as_listed_is_not_kept(
    site: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], words: str
) -> None:
    for name, value in answer.items():
        monkeypatch.setattr(Request, name, value)
    with pytest.raises(ConfigError, match=words):
        family.stored("mha")
    assert not (site / NAME).exists()


def test_a_member_that_nothing_says_of_is_not_asked_for(site: Path) -> None:
    with pytest.raises(ConfigError, match="gqa has not been trained"):
        family.stored("gqa")
    assert Request.asked == []


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that lists a member and does not carry it, and the book's site beside it."""
    package = tmp_path / "package"
    package.mkdir()
    content = (HERE / NAME).read_bytes()
    (package / fetching.LIST).write_text(json.dumps({NAME: hashlib.sha256(content).hexdigest()}))
    (tmp_path / "site/lite/weights").mkdir(parents=True)
    (tmp_path / "site/lite/weights" / NAME).write_bytes(content)
    monkeypatch.setattr(family, "FOLDER", package)
    return package


def says(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    """Let the installed package's metadata name these addresses."""
    found = SimpleNamespace(get_all=lambda key: list(urls) if key == "Project-URL" else None)
    monkeypatch.setattr(fetching.metadata, "metadata", lambda name: found)


def test_an_installed_package_gets_a_member_from_the_published_book(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(installed.parent / "site") as address:
        says(monkeypatch, "Repository, http://example.org/code", f"Homepage, {address}/")
        family.stored("mha")
    assert (installed / NAME).read_bytes() == (HERE / NAME).read_bytes()
    says(monkeypatch)
    family.stored("mha")  # the second time, nothing is asked


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("no address", r"is missing: checksums\.json lists it.*copy it from a checkout's .* to "),
        ("no network", "could not be fetched from http://.*refused.*; copy it from a checkout's"),
        ("not there", "could not be fetched from http://.*404"),
        ("another file", "came with sha256"),
        ("no room", "came, and cannot be kept: .*disk is full"),
    ],
)
def test_a_member_that_does_not_come_says_what_helps(
    installed: Path, monkeypatch: pytest.MonkeyPatch, damage: str, words: str
) -> None:
    there = installed.parent / "site/lite/weights" / NAME
    if damage == "not there":
        there.unlink()
    elif damage == "another file":
        there.write_bytes(b"something else")
    elif damage == "no room":
        monkeypatch.setattr(Path, "write_bytes", full)
    with serve(installed.parent / "site") as address:
        homes = {"no address": [], "no network": ["Homepage, http://127.0.0.1:9"]}
        says(monkeypatch, *homes.get(damage, [f"Homepage, {address}"]))
        with pytest.raises(ConfigError, match=words):
            family.stored("mha")
    assert [path.name for path in installed.iterdir()] == [fetching.LIST]


def full(path: Path, content: bytes) -> int:
    """Write half of it, like a disk that has no more room."""
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError("the disk is full")


def test_the_browsers_package_list_names_what_was_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "book/_lite"))
    build = script("book/_lite/build.py")
    monkeypatch.setattr(build, "WORK", tmp_path / "work")
    package = tmp_path / "mini_attn"
    shutil.copytree(HERE, package / "stories/weights")
    build.lighten(package)
    assert not list(package.rglob("*.safetensors"))
    listed = fetching.listed(package / "stories/weights")
    assert listed == fetching.listed(HERE)
    assert set(listed) == {
        path.relative_to(HERE).as_posix() for path in HERE.rglob("*.safetensors")
    }
    for name, digest in listed.items():
        moved = tmp_path / "work/weights" / name
        assert hashlib.sha256(moved.read_bytes()).hexdigest() == digest
