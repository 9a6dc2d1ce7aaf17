"""The lock file has the pins of requirements.txt, a hash for each file, and names no host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import ROOT, lock

LOCKED = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PINNED = (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_pins_are_those_of_requirements() -> None:
    assert lock.pins(LOCKED) == lock.pins(PINNED), "run python -m tools.lock"
    assert len(lock.pins(PINNED)) > 150
    assert "torch" not in lock.pins(LOCKED)
    marked = re.compile(r"^(\w+)==\S+ ; (.+?)(?: +#.*)?(?: \\)?$", re.M)
    assert marked.search(PINNED)
    assert marked.findall(LOCKED) == marked.findall(PINNED)


def test_every_pin_has_hashes_and_no_line_names_a_host() -> None:
    found = lock.hashes(LOCKED)
    assert found.keys() == lock.pins(LOCKED).keys()
    assert all(found.values())
    assert len(found["numpy"]) > 10, "files for other systems, too"
    assert "://" not in LOCKED
    lines = [line for line in LOCKED.splitlines() if not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==\S+( ; .+?)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text("# pins\na_b==1\ntorch==2\nc==2 ; x == 'y'\n-e .\n")
    (tmp_path / "requirements.lock").write_text("before")
    return tmp_path


def answer(*blocks: tuple[str, int]) -> str:
    """What the index gives: names with versions, each with so many hashes."""
    lines = [
        f"{pin} \\\n" + " \\\n".join(["    --hash=sha256:" + "0" * 64] * n) for pin, n in blocks
    ]
    return "\n".join(lines) + "\n"


def test_it_asks_for_the_pins_alone(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    got = answer(("a-b==1", 2), ("c==2 ; x == 'y'", 1))
    monkeypatch.setattr(lock, "ask", lambda lines: asked.extend(lines) or got)
    lock.main(tree)
    assert asked == ["a_b==1", "c==2 ; x == 'y'"]
    assert (tree / "requirements.lock").read_text() == lock.HEAD + got


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (answer(("a-b==1", 0), ("c==2", 1)), "without a hash: a-b"),
        (answer(("a-b==1", 1)), "not as pinned, or without a hash: c"),
        (answer(("a-b==3", 1), ("c==2", 1)), "not as pinned, or without a hash: a-b"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_changes_nothing(
    tree: Path, monkeypatch: pytest.MonkeyPatch, got: str, words: str
) -> None:
    monkeypatch.setattr(lock, "ask", lambda lines: got)
    with pytest.raises(SystemExit, match=words):
        lock.main(tree)
    assert (tree / "requirements.lock").read_text() == "before"
    assert len(list(tree.iterdir())) == 2


def test_without_uv_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"pip install '\.\[release\]'"):
        lock.ask(["a==1"])
