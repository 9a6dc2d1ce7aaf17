"""What is kept of a learner's work: in this session, in a file, and from one tier to the other."""

from __future__ import annotations

import copy
import importlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import (
    check,
    export_progress,
    grade,
    import_progress,
    progress,
    progress_file,
    progress_store,
    progress_transfer,
    reset_progress,
)
from mini_attn.exercises.progress_format import as_text, parse
from mini_attn.exercises.progress_record import Record, entries, merged
from tests import javascript

OUTSIDE = os.environ.get("MINI_ATTN_PROGRESS")  # as tests/conftest.py has set it
ROOT = Path(__file__).resolve().parents[2]
SOLVED = {"state": "solved", "points": 2}
RIGHT = {"attempt": "5,050", "verdict": "right", "shown": False}
SAMPLE: Record = {
    "kv-cache": {"predictions": {"passes": RIGHT}, "exercises": {"cache_budget": SOLVED}}
}


def solution(exercise_id: str) -> Any:
    """The reference of an exercise."""
    return importlib.import_module(f"solutions.{exercise_id}").REFERENCE


def unwritten(**_: Any) -> None:
    """A starter that nobody has touched."""
    raise NotImplementedError


def begin() -> None:
    """As if the interpreter had just started."""
    progress_store.attempts.clear()
    progress_store._waiting.clear()
    progress_file._said.clear()


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session of its own that keeps nothing in a file."""
    monkeypatch.setenv("MINI_ATTN_PROGRESS", "off")
    begin()
    yield
    begin()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this session keeps its progress; the folder does not exist yet."""
    path = tmp_path / "state" / "progress.json"
    monkeypatch.setenv("MINI_ATTN_PROGRESS", str(path))
    return path


def said(capsys: pytest.CaptureFixture[str], chapter: str | None = None) -> list[str]:
    """The lines that `progress` prints."""
    capsys.readouterr()
    progress(chapter)
    return capsys.readouterr().out.splitlines()


def held(path: Path) -> Record:
    """What a file holds."""
    return parse(path.read_bytes())


def document(**changes: Any) -> dict[str, Any]:
    """A whole file, with some of its keys changed."""
    return {**json.loads(as_text(SAMPLE)), **changes}


# ---------------------------------------------------------------- one session


def test_a_session_says_what_is_solved_and_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """What was checked, chapter by chapter; other exercises are not listed."""
    assert said(capsys) == ["No exercise was checked in this session yet."]
    check("chunk_mask", lambda **_: None)
    check("half_temperature", ...)
    check("cache_budget", solution("cache_budget"))
    lines = [line.split("  ") for line in said(capsys)]
    assert [line[0] or line[-1].strip() for line in lines] == [
        "kv-cache", "missing: type", "solved", "start", "not attempted",
        "2 of 8 points in this session",
    ]  # fmt: skip


def test_what_is_solved_stays_solved(capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, solution("cache_budget"), 1, ...):
        check("cache_budget", number)
    assert said(capsys)[-1] == "2 of 2 points in this session"


def test_tests_keep_out_of_the_readers_file() -> None:
    assert OUTSIDE == "off"


def test_a_grader_leaves_no_trace(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grade("cache_budget", solution("cache_budget"))
    assert said(capsys) == ["No exercise was checked yet."]
    assert not file.parent.exists()


def test_one_chapter_lists_all_its_exercises(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "kv-cache")
    assert lines[0] == "kv-cache"
    states = [line.split("  ")[-1] for line in lines[1:-1]]
    assert states == ["not attempted", "6 points, marked by people", *["not attempted"] * 3]
    assert lines[-1] == "0 of 14 points in this session"
    for bad in ("kv_cache", "", "../start", 3):
        with pytest.raises(ConfigError, match="there are attention, attention-cost"):
            progress(bad)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="there is no chapter"):
            reset_progress(bad)  # type: ignore[arg-type]


# ---------------------------------------------------------------- from visit to visit


def test_a_later_session_knows_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("cache_budget", solution("cache_budget"))
    check("half_temperature", 7)
    check("cached_step", unwritten)  # what was not attempted is not kept
    begin()
    assert said(capsys) == [
        "kv-cache: 1 exercise (1 solved) of an earlier visit",
        "start: 1 exercise (0 solved) of an earlier visit",
        f"2 of 4 points ({file})",
    ]
    assert said(capsys, "start")[1].endswith("missing: by hand")
    check("cache_budget", ...)  # the chapter is opened again, unsolved
    assert said(capsys)[1].endswith("2 of 2  solved")
    assert set(held(file)["kv-cache"]["exercises"]) == {"cache_budget"}


def test_an_unattempted_chapter_writes_nothing(file: Path) -> None:
    """So running the book's own notebooks, with their starters, leaves no file."""
    check("cache_budget", ...)
    assert not file.parent.exists()


def test_the_file_is_the_readers_own(file: Path) -> None:
    check("cache_budget", 1)
    assert [path.name for path in file.parent.iterdir() if path.suffix != ".lock"] == [file.name]
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("value", ["off", "OFF", "0", "", " no "])
def test_it_can_be_turned_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINI_ATTN_PROGRESS", value)
    assert progress_store.place() is None


def test_the_usual_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MINI_ATTN_PROGRESS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    name = progress_store.NAME
    assert progress_store.place() == tmp_path / "state/mini_attn" / name
    monkeypatch.delenv("XDG_STATE_HOME")
    assert progress_store.place() == tmp_path / ".local/state/mini_attn" / name
    monkeypatch.setattr(sys, "platform", "darwin")
    assert progress_store.place() == tmp_path / "Library/Application Support/mini_attn" / name


# ---------------------------------------------------------------- what may go wrong


def test_a_write_that_fails_leaves_the_file_whole(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check("half_temperature", 7)
    before = file.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        for _ in range(2):
            check("cache_budget", solution("cache_budget"))
    assert capsys.readouterr().out.count("cannot be written (disk full)") == 1
    assert file.read_bytes() == before
    assert not [path for path in file.parent.iterdir() if path.suffix == ".part"]
    assert said(capsys)[-1].startswith("2 of 4 points")  # in memory
    check("half_temperature", 7)  # the disk is back: nothing was lost
    assert held(file)["kv-cache"]["exercises"]["cache_budget"] == SOLVED


@pytest.mark.parametrize(
    "content", [b"{", b"[1]", b"\xff\xfe", b'{"format": "other"}', b"x" * 1_000_001]
)
def test_a_broken_file_is_set_aside(
    file: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        begin()
        check("cache_budget", solution("cache_budget"))
        aside = file.with_name(f"progress-unreadable-{number}.json")
        assert aside.read_bytes() == content
        assert f"The file was kept as {aside}." in capsys.readouterr().out
        assert held(file)["kv-cache"]["exercises"] == {"cache_budget": SOLVED}


def test_an_empty_file_is_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.parent.mkdir()
    file.write_bytes(b"")
    assert said(capsys) == ["No exercise was checked yet."]


def test_a_file_of_another_version_stays(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.parent.mkdir()
    content = json.dumps(document(version=4)).encode()
    file.write_bytes(content)
    check("cache_budget", solution("cache_budget"))
    assert "for this session only" in capsys.readouterr().out
    assert "2 of 2 points" in said(capsys)[-1]
    assert file.read_bytes() == content


@pytest.mark.parametrize("obstacle", ["a file for a folder", "a folder for a file", "no name"])
def test_without_a_place_it_goes_on_in_memory(
    obstacle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.json").mkdir()
    places = {"a file for a folder": tmp_path / "file/x.json",
              "a folder for a file": tmp_path / "folder.json", "no name": "\0"}  # fmt: skip
    if obstacle == "no name":  # the environment takes no such text
        monkeypatch.setattr(progress_store, "place", lambda: Path(str(places[obstacle])))
    else:
        monkeypatch.setenv("MINI_ATTN_PROGRESS", str(places[obstacle]))
    for _ in range(2):
        check("cache_budget", solution("cache_budget"))
    printed = capsys.readouterr()
    assert printed.out.count("Progress lasts for this session only") == 1
    assert printed.err == ""
    assert said(capsys)[-1].startswith("2 of 2 points")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_is_read_only(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    check("half_temperature", 7)
    before = file.read_bytes()
    for name in ("mkdir", "open", "replace"):
        monkeypatch.setattr(os, name, refuse)
    check("cache_budget", solution("cache_budget"))
    assert "cannot be written (Read-only file system)" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="cannot be written"):
        reset_progress("start")
    monkeypatch.undo()
    assert file.read_bytes() == before


ANSWERS = """
import sys
from mini_attn.exercises import exercise, progress_store
for exercise_id in sys.argv[1:]:
    progress_store.remember(exercise(exercise_id), None)
"""


def test_several_notebooks_at_once_lose_nothing(file: Path) -> None:
    """Each process adds its exercises one by one to the same file."""
    ids = kept_ids = [path.stem for path in sorted((ROOT / "solutions").glob("[a-z]*.py"))][:24]
    shares = [ids[start::3] for start in range(3)]
    command = [sys.executable, "-c", ANSWERS]
    running = [subprocess.Popen([*command, *share], cwd=ROOT) for share in shares]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    found = [name for _, _, name, _ in entries(held(file))]
    assert sorted(found) == sorted(kept_ids)


@pytest.mark.skipif(os.name == "nt", reason="takes the lock as POSIX does")
def test_a_lock_that_is_held_delays_a_check_and_loses_nothing(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import fcntl

    check("half_temperature", 7)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check("cache_budget", solution("cache_budget"))
        assert "kv-cache" not in held(file)
        assert said(capsys)[-1].startswith("2 of 4 points")
    progress_store._flush()  # as at the end of the session
    assert held(file)["kv-cache"]["exercises"]["cache_budget"] == SOLVED


# ---------------------------------------------------------------- export, import, reset


def test_what_is_exported_comes_back(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("cache_budget", solution("cache_budget"))
    export_progress(tmp_path)  # into a folder, under the usual name
    copied = tmp_path / progress_transfer.NAME
    assert f"Written to {copied}: 1 exercise (1 solved)." in capsys.readouterr().out
    reset_progress()
    assert said(capsys) == ["No exercise was checked yet."]
    check("cache_budget", 1)  # tried again, without success
    import_progress(copied)
    assert "Together with yours: 1 exercise (1 solved)." in capsys.readouterr().out
    assert said(capsys)[-1].startswith("2 of 2 points")


def test_a_reset_says_how_to_undo_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("cache_budget", solution("cache_budget"))
    check("half_temperature", 7)
    capsys.readouterr()
    reset_progress("kv-cache")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Forgotten: 1 exercise (1 solved)."
    assert set(held(file)) == {"start"}
    exec(lines[1].removesuffix(" brings it back."), {"import_progress": import_progress})
    assert held(file)["kv-cache"]["exercises"]["cache_budget"] == SOLVED
    assert "start" in held(file)


def test_without_a_file_import_and_reset_work_in_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "page.json"
    source.write_text(as_text(SAMPLE), encoding="utf-8")
    import_progress(source)
    assert said(capsys, "kv-cache")[-2:] == [
        "  1 prediction answered, 1 right", "2 of 14 points in this session"
    ]  # fmt: skip
    reset_progress("kv-cache")
    assert said(capsys) == ["No exercise was checked in this session yet."]


def test_an_export_adds_to_an_export_and_spares_other_files(tmp_path: Path) -> None:
    earlier, other = tmp_path / "earlier.json", tmp_path / "notes.json"
    earlier.write_text(as_text(SAMPLE), encoding="utf-8")
    other.write_text('{"mine": 1}')
    check("half_temperature", 7)
    export_progress(earlier)
    assert set(held(earlier)) == {"kv-cache", "start"}
    for target in (other, tmp_path / "no folder/x.json"):
        with pytest.raises(ConfigError, match=r"x\.json|notes\.json"):
            export_progress(target)
    assert other.read_text() == '{"mine": 1}'


def test_exercises_of_another_book_are_left_out(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = copy.deepcopy(SAMPLE)
    foreign["kv-cache"]["exercises"]["no_such"] = SOLVED
    source = tmp_path / "foreign.json"
    source.write_text(as_text(foreign), encoding="utf-8")
    import_progress(source)
    assert "Left out, because this book has no such exercise: 1." in capsys.readouterr().out
    assert set(held(file)["kv-cache"]["exercises"]) == {"cache_budget"}


# ---------------------------------------------------------------- the format, in both languages


def chapter(**kinds: Any) -> dict[str, Any]:
    return document(chapters={"kv-cache": kinds})


def answered(entry: Any) -> dict[str, Any]:
    """A file with what a reader wrote on a page."""
    kinds = {"answers": {"cached_step": entry}}
    return document(version=2, chapters={"kv-cache": kinds})


BAD: dict[str, Any] = {
    "no object": [],
    "null": None,
    "another format": document(format="living-attention"),
    "another version": document(version=4),
    "a version in words": document(version="1"),
    "a version that is true": document(version=True),
    "an unknown key": document(owner="me"),
    "no chapters": {key: value for key, value in document().items() if key != "chapters"},
    "a list of chapters": document(chapters=[]),
    "a hostile chapter": document(chapters={"<img src=x onerror=alert(1)>": {}}),
    "a prototype": document(chapters={"__proto__": {}}),
    "a path": document(chapters={"../../etc": {}}),
    "an unknown kind": chapter(answers={}),
    "a number for entries": chapter(exercises=3),
    "null for entries": chapter(exercises={"cached_step": None}),
    "a hostile name": chapter(exercises={"<b>": SOLVED}),
    "an unknown state": chapter(exercises={"cached_step": {"state": "won", "points": 1}}),
    "no points": chapter(exercises={"cached_step": {"state": "solved"}}),
    "points in words": chapter(exercises={"cached_step": {"state": "solved", "points": "4"}}),
    "points that are true": chapter(exercises={"cached_step": {"state": "solved", "points": True}}),
    "too many points": chapter(exercises={"cached_step": {"state": "solved", "points": 101}}),
    "half a point": chapter(exercises={"cached_step": {"state": "solved", "points": 0.5}}),
    "unearned points": chapter(exercises={"cached_step": {"state": "done", "points": 4}}),
    "a hostile check": chapter(
        exercises={"cached_step": {"state": "tried", "points": 0, "missing": "<b>"}}
    ),
    "an unknown key of an exercise": chapter(exercises={"cached_step": {**SOLVED, "by": "me"}}),
    "a hostile attempt": chapter(predictions={"passes": {**RIGHT, "attempt": "<script>"}}),
    "no attempt": chapter(predictions={"passes": {"verdict": "right"}}),
    "a long attempt": chapter(predictions={"passes": {**RIGHT, "attempt": "5" * 41}}),
    "half a character": chapter(predictions={"passes": {**RIGHT, "attempt": "\ud800"}}),
    "an unknown verdict": chapter(predictions={"passes": {**RIGHT, "verdict": "unread"}}),
    "shown in words": chapter(predictions={"passes": {**RIGHT, "shown": "no"}}),
    "an unknown key of a prediction": chapter(predictions={"passes": {**RIGHT, "x": 1}}),
    "no code": answered({}),
    "empty code": answered({"code": ""}),
    "long code": answered({"code": "x" * 8001}),
    "code in lines": answered({"code": ["x"]}),
    "half a character of code": answered({"code": "x\ud800"}),
    "an unknown key of an answer": answered({"code": "x", "by": "me"}),
}
TEXTS = {name: json.dumps(data) for name, data in BAD.items()} | {
    "nothing": "",
    "no JSON": "{",
    "not a number": '{"format": NaN}',
    "deep": "[" * 200_000,
    "huge": json.dumps(document()) + " " * 1_000_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_does_not_fit_changes_nothing(name: str, file: Path, tmp_path: Path) -> None:
    check("half_temperature", 7)
    before = file.read_bytes()
    source = tmp_path / "bad.json"
    source.write_text(TEXTS[name], encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.json: (this is no|the) progress") as refusal:
        import_progress(source)
    assert len(str(refusal.value)) < 300 + len(str(source))
    assert file.read_bytes() == before


def test_the_page_refuses_what_python_refuses() -> None:
    refused = javascript.run("return input.map((text) => living.parseProgress(text));",
                             list(TEXTS.values()))  # fmt: skip
    for name, answer in zip(TEXTS, refused, strict=True):
        assert set(answer) == {"error"}, name
        assert "progress" in answer["error"], name


def test_missing_files_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            import_progress(path)


ENTRIES = {
    "exercises": [{"state": "tried", "points": 0, "missing": "by hand"},
                  {"state": "tried", "points": 0}, {"state": "done", "points": 0}, SOLVED],
    "predictions": [{"attempt": "1.2e3", "verdict": "wrong", "shown": True},
                    {"attempt": "7 MB", "verdict": "mistake", "shown": False}, RIGHT],
    "answers": [{"code": "x = '</script>'\n\t\"é\"  # 🙂"}, {"code": "x" * 8000}],
    "returns": [{"day": "2026-11-28", "rung": 2}, {"day": "2026-12-01", "rung": 0}],
}  # fmt: skip
PAIRS = [
    ({"start": {kind: {"x": a}}}, {"start": {kind: {"x": b, "y": a}}, "rope": {kind: {"x": b}}})
    for kind, found in ENTRIES.items() for a in found for b in found
]  # fmt: skip


def test_code_makes_version_2_and_travels(file: Path, tmp_path: Path) -> None:
    """A book that knows version 1 alone is not given what it would refuse for another reason."""
    assert json.loads(as_text(SAMPLE))["version"] == 1
    record = merged(SAMPLE, {"kv-cache": {"answers": {"cached_step": {"code": "x = 1"}}}})
    assert json.loads(as_text(record))["version"] == 2
    assert parse(as_text(record).encode()) == record
    source = tmp_path / "page.json"
    source.write_text(as_text(record), encoding="utf-8")
    import_progress(source)
    check("half_temperature", 7)
    assert held(file)["kv-cache"] == record["kv-cache"]
    export_progress(tmp_path)
    assert held(tmp_path / progress_transfer.NAME)["kv-cache"] == record["kv-cache"]
    reset_progress("kv-cache")
    assert "kv-cache" not in held(file)


def test_the_words_for_code(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "page.json"
    foreign = {"kv-cache": {"answers": {n: {"code": "x"} for n in ("cached_step", "chunk_mask")}}}
    source.write_text(as_text(merged(SAMPLE, foreign)), encoding="utf-8")
    import_progress(source)
    words = "1 exercise (1 solved) and 1 prediction (1 right) and the code of 2 answers."
    assert capsys.readouterr().out.startswith(f"{source} holds {words}")


def test_both_languages_merge_and_write_alike() -> None:
    body = """return input.map(([a, b]) => {
      const [one, two] = [a, b].map((text) => living.parseProgress(text).record);
      return living.progressText(living.mergeProgress(one, two));
    });"""
    texts = [[as_text(older), as_text(newer)] for older, newer in PAIRS]
    python = [as_text(merged(*map(parse, map(str.encode, pair))))
              for pair in texts]  # fmt: skip
    assert javascript.run(body, texts) == python


@pytest.mark.parametrize(("older", "newer"), PAIRS)
def test_a_merge_keeps_the_better_and_else_the_newer(older: Record, newer: Record) -> None:
    kind = next(iter(older["start"]))
    found = ENTRIES[kind]
    one, two = older["start"][kind]["x"], newer["start"][kind]["x"]
    result = merged(older, newer)["start"][kind]["x"]
    good = [SOLVED, RIGHT]
    assert result == (one if one in good and two not in good else result)
    if found.index(two) >= found.index(one):
        assert result == two
    assert merged(newer, newer) == merged(newer, {})
