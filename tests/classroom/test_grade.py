"""A folder of submissions is graded: every grade as expected, resumed, repeated, never half."""

from __future__ import annotations

import csv
import errno
import functools
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classroom.grading.batch import grade_student
from classroom.grading.grade import grade_folder, main
from classroom.grading.infer_sheet import sheet_of_all
from classroom.grading.people import read_roster
from classroom.grading.run_folder import Settings
from classroom.results import Result
from classroom.sheets.sheet import chosen, sheet_of_file
from classroom.submissions.collect import Submission, read
from mini_attn.errors import ConfigError
from solutions import expand_heads
from tests.classroom.test_judge import reference
from tests.classroom.test_submissions import notebook, save

ROOT = Path(__file__).resolve().parents[2]
SHEET = chosen(exercises="expand_heads tiled_heads", name="pair")[0]


def hand_in(folder: Path, students: int = 4) -> Path:
    """A class: one right, one wrong, one untouched, one broken; then more right ones."""
    right = {key: reference(key) for key in SHEET.exercises}
    save(folder / "ada.ipynb", notebook(**right))
    save(folder / "bo/x.ipynb", notebook(tiled_heads="answer = 3", expand_heads="1 / 0"))
    save(folder / "cy.ipynb", notebook())
    (folder / "di.ipynb").write_text("{")
    for number in range(students - 4):
        save(folder / f"more{number:02}.ipynb", notebook(**right))
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """All that a teacher reads."""
    paths = [p for p in folder.rglob("*") if p.is_file() and p.name not in (".lock", "seed.json")]
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if "work" not in p.parts}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "classroom.grading.grade", *map(str, arguments)]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Result]]:
    folder = hand_in(tmp_path_factory.mktemp("class"))
    out = tmp_path_factory.mktemp("grades") / "out"
    return folder, out, grade_folder(folder, out, sheet=SHEET, seed="a")


def test_everybody_gets_what_is_theirs(graded: Any) -> None:
    _, _, results = graded
    states = {r.student: [a.state for a in r.answers] for r in results}
    assert states == {
        "ada": ["solved", "solved"],
        "bo": ["not yet", "not yet"],
        "cy": ["not attempted", "not attempted"],
        "di": ["not handed in", "not handed in"],
    }
    assert [r.points for r in results] == [SHEET.points, 0, 0, 0]
    assert {r.of for r in results} == {SHEET.points}
    bo = results[1].answers
    assert "define no function called expand_heads" in bo[0].message
    assert "ZeroDivisionError" in bo[0].message
    assert "broken" in results[3].problems[0]


HELPED = "def expand_heads(k, n_heads): return copied(k, n_heads)\n"
HELPER = inspect.getsource(expand_heads.REFERENCE).replace("expand_heads", "copied")


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({"import": HELPER, "starter": HELPED}, "copied is defined in cell # of ada.ipynb"),
        ({"import": "from os import path as copied", "starter": HELPED}, "copied is defined in"),
        ({"starter": HELPED}, "NameError"),
        ({"starter": HELPER, "check": 'check("expand_heads", copied)'},
         "The check in the notebook was given copied: keep the name expand_heads."),
        ({"starter": "def expand_heads(k, n_heads): return ma.softmax(k)"}, "with NumPy"),
    ],
)  # fmt: skip
def test_the_feedback_says_where_a_missing_name_stands(
    tmp_path: Path, edits: dict[str, str], words: str
) -> None:
    """What the notebook's own check calls solved, and a cell alone does not."""
    data = notebook()
    for cell in data["cells"]:
        tag = cell["metadata"].get("exercise", {})
        if tag.get("id") == "expand_heads" and tag["role"] in edits:
            cell["source"] = edits[tag["role"]]
    if "import" in edits:
        first_code = next(c for c in data["cells"] if c["cell_type"] == "code")
        first_code["source"] += f"\n{edits['import']}"
        words = words.replace("#", str(data["cells"].index(first_code) + 1))
    save(tmp_path / "in/ada.ipynb", data)
    (sent,) = read(tmp_path / "in")
    settings = Settings("pair", SHEET.exercises, "a", "")
    (first, _) = grade_student(sent, settings).answers
    assert first.state == "not yet"
    assert words in first.message
    assert ("is defined in" in first.message) == ("is defined in" in words)


def test_the_files_are_there_and_agree(graded: Any) -> None:
    _, out, results = graded
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == ["ada", "bo", "cy", "di"]
    assert [float(row["total"]) for row in rows] == [r.points for r in results]
    assert len(list((out / "feedback").glob("*.md"))) == 4
    assert len(list((out / "feedback").glob("*.html"))) == 4
    assert (out / "summary.html").exists()


def test_the_seed_is_kept_from_others(graded: Any) -> None:
    _, out, _ = graded
    assert (out / "seed.json").stat().st_mode & 0o077 == 0
    seed = json.loads((out / "seed.json").read_text())["seed"]
    assert seed == "a"


def test_a_second_run_grades_nothing_and_changes_nothing(
    graded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out, results = graded
    before = tree(out)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("graded again")

    monkeypatch.setattr("classroom.grading.batch.judge", never)
    assert grade_folder(folder, out, sheet=SHEET) == results
    assert tree(out) == before


def test_the_same_seed_gives_the_same_files_elsewhere(graded: Any, tmp_path: Path) -> None:
    folder, out, results = graded
    assert grade_folder(folder, tmp_path / "out", sheet=SHEET, seed="a", jobs=1) == results
    assert tree(tmp_path / "out") == tree(out)


def test_a_changed_answer_is_graded_again_and_old_feedback_goes(tmp_path: Path) -> None:
    folder, out = hand_in(tmp_path / "in"), tmp_path / "out"
    grade_folder(folder, out, sheet=SHEET, seed="a")
    save(folder / "cy.ipynb", notebook(tiled_heads=reference("tiled_heads")))
    (folder / "di.ipynb").unlink()
    results = {r.student: r.points for r in grade_folder(folder, out, sheet=SHEET)}
    assert results == {"ada": SHEET.points, "bo": 0, "cy": 2}
    assert sorted(p.stem for p in (out / "feedback").glob("*.md")) == ["ada", "bo", "cy"]
    assert len(list((out / "work").glob("*.json"))) == 3


def without_points(text: str) -> str:
    """A result whose first answer says nothing of its points, as of another version."""
    data = json.loads(text)
    del data["answers"][0]["of"]
    return json.dumps(data)


@pytest.mark.parametrize("spoil", [lambda text: text[:20], without_points], ids=["half", "other"])
def test_a_result_that_is_not_whole_is_made_again(
    tmp_path: Path, spoil: Callable[[str], str]
) -> None:
    folder, out = hand_in(tmp_path / "in"), tmp_path / "out"
    results = grade_folder(folder, out, sheet=SHEET, seed="a")
    for path in (out / "work").glob("*.json"):
        path.write_text(spoil(path.read_text()))
    assert grade_folder(folder, out, sheet=SHEET) == results


OPTIONS = ["--exercises", " ".join(SHEET.exercises), "--seed", "a", "--jobs", "2"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A class, and what a teacher reads after a run that nothing interrupts."""
    folder, out = hand_in(tmp_path_factory.mktemp("class"), 8), tmp_path_factory.mktemp("grades")
    subprocess.run(command(folder, "--out", out / "out", *OPTIONS), cwd=ROOT, check=True,
                   capture_output=True)  # fmt: skip
    return folder, tree(out / "out")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive)]
)
def test_killed_half_way_and_resumed(
    tmp_path: Path, whole: tuple[Path, dict[str, bytes]], how: signal.Signals
) -> None:
    (folder, wanted), out = whole, tmp_path / "out"
    # What runs in a shell's background ignores Ctrl-C, and what it starts does so too.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    run = subprocess.Popen(command(folder, "--out", out, *OPTIONS), cwd=ROOT, preexec_fn=heed,
                           stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)  # fmt: skip
    while len(list((out / "work").glob("*.json"))) < 3:
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(how)
    _, said = run.communicate(timeout=60)
    kept = len(list((out / "work").glob("*.json")))
    assert 3 <= kept < 8
    assert not (out / "grades.csv").exists()
    if how == signal.SIGINT:
        assert b"goes on" in said
    again = subprocess.run(command(folder, "--out", out, *OPTIONS), cwd=ROOT, check=True,
                           capture_output=True, text=True)  # fmt: skip
    assert f"{kept} of 8" in again.stderr or kept * 10 // 8 > 0
    assert tree(out) == wanted


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda t: [t / "nowhere"], "no folder"),
        (lambda t: [(t / "empty").mkdir() or t / "empty"], "no notebook and no zip"),
        (lambda t: [hand_in(t / "in"), "--out", t / "in/out"], "among the submissions"),
        (lambda t: [hand_in(t / "in"), "--exercises", "no_such"], "no exercise 'no_such'"),
        (lambda t: [hand_in(t / "in"), "--chapter", "no-such"], "no chapter 'no-such'"),
        (lambda t: [hand_in(t / "in"), "--sheet", t / "no.json"], "not the file of a sheet"),
        (lambda t: [hand_in(t / "in"), "--chapter", "mla", "--exercises", "x"], "not several"),
    ],
)
def test_bad_questions_get_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any, words: str
) -> None:
    arguments = make(tmp_path)
    if "--out" not in arguments:
        arguments += ["--out", tmp_path / "out"]
    monkeypatch.setattr(sys, "argv", command(*arguments)[2:])
    with pytest.raises(SystemExit) as ended:
        main()
    said = str(ended.value.code)  # Python prints it and ends with status 1
    assert words in said
    assert "\n" not in said
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "in/out").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_roster_is_read_as_editors_save_it(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("Jörg\r\n\r\n  Zoë \r\n".encode(encoding))
    assert read_roster(path) == ["Jörg", "Zoë"]


@pytest.mark.parametrize(
    ("content", "words"), [(None, "No such file"), (b"\x81\x8d", "save it as text in UTF-8")]
)
def test_a_roster_that_is_none_gets_one_line(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "names.txt"
    if content:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        read_roster(path)


# Grades, one folder after another, as somebody whom rights on files hold back, root too, and with
# so much room on the disk.
AS_ANYBODY = """
import contextlib, io, json, resource, signal, sys
from classroom.grading.grade import main
from classroom.sandbox import linux
linux.drop_capabilities(linux.load_libc())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ended = []
for room, *arguments in json.load(sys.stdin):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room or -1, -1))
    sys.argv[1:], status = arguments, 0
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else print(end.code, file=said) or 1
    ended.append((status, said.getvalue()))
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
print(json.dumps(ended))
"""


def _without_rights(out: Path) -> None:
    out.mkdir()
    out.chmod(0)


def _read_only(out: Path) -> None:
    out.mkdir()
    out.chmod(0o500)


def _with(name: str, content: str) -> Callable[[Path], None]:
    def make(out: Path) -> None:
        out.mkdir()
        (out / name).write_text(content)

    return make


TROUBLES: dict[str, tuple[Callable[[Path], Any], int, str]] = {
    "no rights": (_without_rights, 0, "Permission denied"),
    "read only": (_read_only, 0, "Permission denied"),
    "a file": (lambda out: out.write_text("mine"), 0, "File exists"),
    "a file for work": (_with("work", "mine"), 0, "File exists"),
    "a file for feedback": (_with("feedback", "mine"), 0, "File exists"),
    "no room": (lambda out: out.mkdir(), 1_000, "File too large"),
    "an empty seed": (_with("seed.json", ""), 0, "holds no seed"),
    "half a seed": (_with("seed.json", "{"), 0, "holds no seed"),
    "a deep seed": (_with("seed.json", "[" * 10**5), 0, "holds no seed"),
    "a number": (_with("seed.json", '{"seed": 3}'), 0, "holds no seed"),
    "a list": (_with("seed.json", '["seed"]'), 0, "holds no seed"),
    "an empty text": (_with("seed.json", '{"seed": ""}'), 0, "holds no seed"),
}


def kept_by(out: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in (out, *out.glob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, bool, int, str]]:
    """By trouble: the folder, whether what lay there is as it was, the exit status, the words."""
    base = tmp_path_factory.mktemp("disk")
    save(base / "in/ada.ipynb", notebook(tiled_heads="answer = 1"))
    asked, before = [], {}
    for name, (make, room, _) in TROUBLES.items():
        out = base / name
        make(out)
        before[out] = kept_by(out)
        asked.append([room, str(base / "in"), "--out", str(out), "--exercises", "tiled_heads"])
    done = subprocess.run(
        [sys.executable, "-c", AS_ANYBODY], cwd=ROOT, input=json.dumps(asked),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    ended = json.loads(done.stdout.splitlines()[-1])
    (base / "no rights").chmod(0o700)
    (base / "read only").chmod(0o700)
    return {
        out.name: (out, before[out].items() <= kept_by(out).items(), status, said)
        for out, (status, said) in zip(before, ended, strict=True)
    }


@pytest.mark.skipif(sys.platform != "linux", reason="root of other systems may write everything")
@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_with_the_disk_gets_one_line(name: str, troubled: dict[str, Any]) -> None:
    """And what the teacher has there is as it was."""
    out, untouched, status, told = troubled[name]
    assert status == 1
    *progress, said = told.strip().split("\n")
    assert all(line.startswith("[grade] ") for line in (*progress, said)), told
    assert TROUBLES[name][2] in said
    assert str(out) in said
    assert untouched


def test_a_full_disk_gets_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("classroom.grading.grade.write_data", full)
    with pytest.raises(ConfigError, match=r"grades cannot be kept in .*: No space left on device"):
        grade_folder(hand_in(tmp_path / "in"), tmp_path / "out", sheet=SHEET)


# Layers that a machine lacks, and what it can't keep an answer from without them.
LACKING = {
    "an older Linux": (["landlock"], ["your files (Landlock"]),
    "another processor": (["seccomp"], ["the network, programs and other processes (seccomp"]),
    "macOS": (["landlock", "seccomp"], ["your files", "the network"]),
    "Windows": (["landlock", "seccomp", "limits"], ["your files", "the network"]),
}


@pytest.mark.parametrize("machine", LACKING)
def test_a_machine_that_cannot_lock_answers_up_grades_only_if_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    """It names what is missing, and writes nothing."""
    layers, words = LACKING[machine]
    in_force = {name: name not in layers for name in ("limits", "landlock", "seccomp", "hook")}
    monkeypatch.setattr("classroom.grading.grade.probe", lambda: in_force)
    save(tmp_path / "in/ada.ipynb", notebook())
    with pytest.raises(ConfigError, match="UNISOLATED=1") as refused:
        grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET)
    assert [w for w in words if w not in str(refused.value)] == []
    assert ("from your files" in str(refused.value)) is ("landlock" in layers)
    assert not (tmp_path / "out").exists()
    grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, unisolated=True)
    for name in ("summary.md", "summary.html"):
        assert "all the same, with UNISOLATED=1" in (tmp_path / "out" / name).read_text("utf-8")


def test_the_command_hands_the_word_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("classroom.grading.grade.probe", lambda: {"hook": True, "landlock": False})
    save(tmp_path / "in/ada.ipynb", notebook())
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), *OPTIONS]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match=r"^\[grade\] nothing was graded: .*UNISOLATED=1$"):
        main()
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(sys, "argv", [*words, "--unisolated"])
    main()
    assert (tmp_path / "out/grades.csv").exists()


@pytest.mark.parametrize("kernel", [True, False])
def test_the_isolation_is_said_before_grading_and_stands_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, kernel: bool
) -> None:
    """Loudly where only the hook inside Python holds."""
    in_force = {"limits": True, "landlock": kernel, "seccomp": kernel, "hook": True}
    monkeypatch.setattr("classroom.grading.grade.probe", lambda: in_force)
    save(tmp_path / "in/ada.ipynb", notebook())
    grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, unisolated=not kernel)
    said = capsys.readouterr().err
    layers = "landlock, seccomp, limits, hook" if kernel else "limits, hook"
    assert said.startswith(f"[grade] isolation in force: {layers}\n")
    before = said.split("[grade] 0 of 1 students")[0].split("[grade] 1 of 1 students")[0]
    assert before.count("WARNING") == (0 if kernel else 4)
    for name in ("summary.md", "summary.html"):
        text = (tmp_path / "out" / name).read_text()
        assert ("does not promise" in text) is not kernel
        assert ("Without Landlock" in text) is not kernel
        assert ("without network" in text) is not kernel
        assert ("UNISOLATED" in text) is not kernel


@pytest.mark.parametrize(
    "text",
    [
        "Identifier,Full name,Email address\nP 1,Ada L,a@x.org\nP 2,Jörg,b@x.org\n",
        '"Last name";"First name";ID\nL;Ada;1\n"";Jörg;2\n',
        "id,first_name,last_name\n1,Ada,L\n2,Jörg,\n",
        "Name\tStudent\nx\tAda L\ny\tJörg\n",
        "student\nAda L\nJörg\n",
        '"student","written name","total"\n"Ada L","",3\n\n"Jörg","",0\n',
    ],
)
def test_a_table_is_read_by_its_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "names.csv"
    path.write_text(text, encoding="utf-8")
    assert read_roster(path) == ["Ada L", "Jörg"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "1,Ada,a@x.org\n2,Bo,b@x.org", r"several columns \(1, Ada, a@x.org\)"),
        ("a.csv", "Lovelace,Ada\nHopper,Grace", "one name on each line"),
        ("a.txt", "Ada;3", "several columns"),
        ("a.txt", "Ada,a@x.org", "several columns"),
        ("a.csv", "student,of\nAda,3\n,4", "no name in row 3"),
        ("a.csv", "student,of\n" + "x" * 200_000, "field larger"),
    ],
)
def test_a_table_that_names_nobody_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_roster(tmp_path / name)


def test_a_list_may_have_commas_in_its_names(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("Lovelace, Ada\nHopper, Grace\n")
    assert read_roster(path) == ["Lovelace, Ada", "Hopper, Grace"]
    path.write_text("")
    assert read_roster(path) == []


def test_two_runs_into_one_folder_are_refused(graded: Any) -> None:
    from filelock import FileLock

    folder, out, _ = graded
    with FileLock(out / ".lock"), pytest.raises(ConfigError, match="another run"):
        grade_folder(folder, out, sheet=SHEET)


def with_extras(folder: Path, students: int, *extra: str) -> list[Submission]:
    """What students hand in of whom some have a chapter that nobody asked for."""
    chapter = json.loads((ROOT / "book/mla.ipynb").read_text())
    for number in range(students):
        save(folder / f"s{number}/a.ipynb", notebook())
    for student in extra:
        save(folder / f"{student}/more.ipynb", chapter)
    return read(folder)


def test_without_a_sheet_what_the_class_handed_in_counts(tmp_path: Path) -> None:
    """A chapter that one student adds makes nobody's sheet longer, and earns nothing."""
    folder = hand_in(tmp_path / "in")
    extra = json.loads((ROOT / "book/mla.ipynb").read_text())
    for cell in extra["cells"]:
        tag = cell["metadata"].get("exercise", {})
        if tag == {"id": "latent_tokens", "role": "starter"}:
            cell["source"] = reference("latent_tokens")
    save(folder / "ada/more.ipynb", extra)
    save(folder / "ed.ipynb", notebook())
    results = grade_folder(folder, tmp_path / "out", seed="a")
    assert {tuple(a.id for a in r.answers) for r in results} == {SHEET.exercises}
    assert {r.of for r in results} == {SHEET.points}
    assert results[0].points == SHEET.points
    assert "not counted, as few handed it in: " in results[0].problems[-1]
    assert "latent_tokens" in results[0].problems[-1]
    assert [r.problems for r in results[1:3]] == [[], []]


def test_one_student_is_asked_all_that_came(tmp_path: Path) -> None:
    assert len(sheet_of_all(with_extras(tmp_path, 1, "s0")).exercises) == 8


@pytest.mark.parametrize("extra", [["s0"], ["s0", "s1"]])
def test_where_students_disagree_nothing_is_guessed(tmp_path: Path, extra: list[str]) -> None:
    sent = with_extras(tmp_path, len(extra) * 2, *extra)
    with pytest.raises(ConfigError, match=r"what was asked\? .*latent.*SHEET="):
        sheet_of_all(sent)
    assert all(one.problems == [] for one in sent)


def test_the_line_between_few_and_many(tmp_path: Path) -> None:
    """One of four is few, one of three is a question, two of three are most."""
    assert sheet_of_all(with_extras(tmp_path / "a", 4, "s0")).exercises == SHEET.exercises
    assert len(sheet_of_all(with_extras(tmp_path / "b", 3, "s0", "s1")).exercises) == 8
    with pytest.raises(ConfigError, match="3 students"):
        sheet_of_all(with_extras(tmp_path / "c", 3, "s0"))


def test_a_released_chapter_is_a_sheet(tmp_path: Path) -> None:
    """Its file has the chapter's name, which no other sheet may have."""
    from classroom.sheets.release import manifest

    for sheet in chosen()[:2]:
        path = tmp_path / f"{sheet.name}.json"
        path.write_text(json.dumps(manifest(sheet, b"")))
        assert sheet_of_file(path) == sheet
    with pytest.raises(ConfigError, match="is a chapter"):
        chosen(exercises="tiled_heads", name="mla")
