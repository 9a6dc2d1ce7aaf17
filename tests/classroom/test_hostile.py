"""Hostile answers and files, tried on the real grader: none earns a point or stops the run."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from classroom import ROOT
from classroom.grading.judge import Judged, judge
from classroom.sheets.sheet import chosen
from classroom.submissions.files import find
from mini_attn.exercises.spec import exercise
from tests.classroom.hostile import CALL, CELL, SHEET, Hostile, hostile, right
from tests.classroom.hostile.files import FILES, HostileFile
from tests.classroom.hostile.notebooks import NOTEBOOKS, HostileNotebook
from tests.classroom.simulate import answers_to, notebook_of
from tests.classroom.test_judge import DONE, SAYS
from tests.sampling import sampled

CANARY = "canary-7f3a91"
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
SECRETS = (CANARY, "root:", "REFERENCE", str(ROOT / "solutions"))
WALL_SECONDS = 12.0  # instead of 30
SHORT_SECONDS = 3.0  # for those that have no end; these two meet the limit of computing time
LONG = ("an endless loop in C", "a loop inside NumPy")


@dataclass
class Tried:
    """What the hostile answers did, and what was left behind."""

    judged: dict[str, Judged] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    connected: bool = False
    scratch: dict[str, str] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)


def children() -> set[int]:
    """Living processes of which this one is the parent, by adoption too."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(stat.parent.name))
    return found


def chosen_of(request: pytest.FixtureRequest, kind: str) -> set[str]:
    """The names of those of a kind that this run asks for."""
    ours = [item for item in request.session.items if item.path == request.path]
    specs = [getattr(item, "callspec", None) for item in ours]
    return {spec.params[kind].name for spec in specs if spec and kind in spec.params}


@pytest.fixture(scope="module")
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tried]:
    """All hostile answers, two at a time, each judged as `make grade` judges it."""
    base, result = tmp_path_factory.mktemp("hostile"), Tried()
    for folder, file in (("scratch", "keep.txt"), ("home", "canary.txt")):
        (base / folder).mkdir()
        (base / folder / file).write_text(CANARY)
    if sys.platform == "linux":  # whatever outlives its parent becomes a child of this process
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = children() if sys.platform == "linux" else set()
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as server:
        patch.setenv("MINI_ATTN_CANARY", CANARY)
        patch.setenv("HOME", str(base / "home"))
        server.setblocking(False)
        port = server.getsockname()[1]

        def run(one: Hostile) -> Judged:
            asked = exercise(one.exercise)
            cells = [one.source(scratch=base / "scratch", port=port, canary=CANARY)]
            endless = "come to an end" in one.words and one.name not in LONG
            wall = SHORT_SECONDS if endless else WALL_SECONDS
            return judge(asked, cells, asked.name, seed=7, wall_seconds=wall)

        names = chosen_of(request, "one")
        wanted = [one for one in hostile() if one.name in names]
        with ThreadPoolExecutor(2) as pool:
            judged = pool.map(run, wanted)
            result.judged = {one.name: done for one, done in zip(wanted, judged, strict=True)}
        try:
            server.accept()
            result.connected = True
        except BlockingIOError:
            pass
    after = children() if sys.platform == "linux" else set()
    result.left = [Path(f"/proc/{pid}/cmdline").read_text() for pid in after - before]
    result.scratch = {p.name: p.read_text() for p in (base / "scratch").iterdir()}
    places = [Path("/"), Path.cwd(), ROOT, base, base / "home"]
    result.strays = [str(p / n) for p in places for n in ("new", "link.py") if (p / n).exists()]
    yield result
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# In a sample one of each group and way to fail.
TRIED = sampled(hostile(), lambda one: (one.group, one.failed))


@pytest.mark.parametrize("one", TRIED, ids=lambda one: f"{one.group}-{one.name}")
def test_no_hostile_answer_earns_a_point(one: Hostile, tried: Tried) -> None:
    judged = tried.judged[one.name]
    report = judged.report
    if one.failed:
        assert report.points == 0
        assert report.failed in one.failed, report.message
        assert any(word in report.message for word in one.words), report.message
    else:
        assert report.failed is None, report.message
        notes = " ".join([*report.notes, *judged.notes])
        assert any(word in notes for word in one.words), notes
    said = [report.message, *report.notes, *judged.notes]
    assert not [secret for secret in SECRETS if secret in json.dumps(said)]
    assert all(len(text) <= 2_500 for text in said)


def test_nothing_is_left_behind_or_reached(tried: Tried) -> None:
    """Of all hostile answers together: no process, no file, no connection, no signal."""
    assert tried.judged
    assert tried.left == []
    assert tried.scratch == {"keep.txt": CANARY}
    assert tried.strays == []
    assert not tried.connected


def test_every_group_and_every_form_is_there() -> None:
    assert len(hostile()) > 250
    assert {one.group for one in hostile()} == {
        "checker", "endings", "machine", "outputs", "package", "prints",
    }  # fmt: skip
    assert {one.exercise for one in hostile()} == set(SHEET)


# Attacks that only read, or write into their own folder. Where nothing stops them they succeed,
# so their failure above is the grader's doing.
WORKING = (
    "the checkout is put on the path", "a loader is given the file", "a file is read with open",
    "a file is read with os.open", "a file is mapped with NumPy", "system calls open the file",
    "the parent's folder is entered through proc", "a program prints the file",
    "the C library opens the file", "a file is written", "an array is saved", "a file is deleted",
    "the environment is read by the C library", "a connection is made", "a pair of sockets",
    "the grader is signalled", "the grader is signalled through a pipe", "a program is started",
    "the hook's paths are bent", "a daemon is left behind", "threads are started",
    "an interpreter without a hook", "an interpreter from a library under another name",
    "a module of the system is made anew",
)  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the attacks are written for Linux")
def test_the_attacks_work_where_nothing_stops_them(tmp_path: Path) -> None:
    """The same cells in a plain process earn their points."""
    by_name = {one.name: one for one in hostile()}
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def succeeds(name: str) -> bool:
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            (folder / "keep.txt").write_text("keep")
            source = by_name[name].source(scratch=folder, port=port)
            if by_name[name].exercise == CALL:
                source += "\nchunk_mask(np.arange(3), np.arange(3))"
            done = subprocess.run(
                [sys.executable, "-c", f"import numpy as np\n{source}\nprint('THROUGH')\n"
                 "import os, sys; sys.stdout.flush(); os._exit(0)"],
                cwd=ROOT, env={**os.environ, "MINI_ATTN_CANARY": CANARY}, capture_output=True,
                text=True, check=False, timeout=60,
            )  # fmt: skip
            return "THROUGH" in done.stdout

        with ThreadPoolExecutor(2) as pool:
            assert [
                n for n, ok in zip(WORKING, pool.map(succeeds, WORKING), strict=True) if not ok
            ] == []


@pytest.mark.parametrize("exercise_id", SHEET)
def test_who_gets_through_earns_the_points(exercise_id: str) -> None:
    """The right answer behind each attack is the right answer."""
    asked = exercise(exercise_id)
    judged = judge(asked, [right(exercise_id)], asked.name, seed=7)
    assert judged.report.points == exercise(exercise_id).points
    assert judged.report.notes + judged.notes == []


def digest(folder: Path) -> dict[str, str]:
    """What lies in a folder, links and pipes by their kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kept = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = f"{path.lstat().st_mode} {hashlib.sha256(kept).hexdigest()}"
    return found


HONEST = "honest"


@dataclass
class Graded:
    """A folder of hostile files after `make grade`."""

    results: dict[str, dict[str, Any]]
    changed: bool
    around: set[str]
    printed: str


@pytest.fixture(scope="module")
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """The hostile files and notebooks, and one honest student, in one run of the real command."""
    base = tmp_path_factory.mktemp("files")
    folder, out = base / "a" / "submissions", base / "a" / "grades"
    folder.mkdir(parents=True)
    sheet = chosen(exercises=" ".join(SHEET), name="week1")[0]
    content = notebook_of(sheet, [answers_to(i)[0] for i in SHEET], "ada")
    (folder / f"{HONEST}.ipynb").write_bytes(content)
    notebooks, files = (chosen_of(request, kind) for kind in ("notebook", "file"))
    for number, one in enumerate(NOTEBOOKS):
        if one.name in notebooks:
            (folder / f"n{number:03d}.ipynb").write_bytes(one.content(content))
    for number, file in enumerate(FILES):
        if file.name in files:
            file.make(folder / file.place.format(f"f{number:03d}"), content)
    before = digest(folder)
    done = subprocess.run(
        [sys.executable, "-m", "classroom.grading.grade", str(folder), "--out", str(out),
         "--exercises", CELL, "--jobs", "2"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(path.read_text()) for path in (out / "work").glob("*.json")]
    around = {p.name for p in (*base.iterdir(), *(base / "a").iterdir())}
    for result in found:
        result |= {key: sum(a[key] for a in result["answers"]) for key in ("points", "of")}
    results = {result["student"]: result for result in found}
    return Graded(results, digest(folder) != before, around, done.stdout + done.stderr)


def of_number(graded: Graded, mark: str) -> dict[str, Any]:
    """The result of the student whose name holds this mark."""
    (found,) = [result for name, result in graded.results.items() if mark in name]
    return found


def told(result: dict[str, Any]) -> str:
    """All that a student is told."""
    return " ".join([*result["problems"], *(a["state"] for a in result["answers"])])


def some_of(items: Sequence[HostileNotebook | HostileFile]) -> list[Any]:
    """In a sample two of those that are told the same and earn alike."""
    return sampled(items, lambda one: (one.earns, one.words), 2)


@pytest.mark.parametrize("notebook", some_of(NOTEBOOKS), ids=[one.name for one in NOTEBOOKS])
def test_a_hostile_notebook_costs_its_author_alone(
    notebook: HostileNotebook, graded: Graded
) -> None:
    result = of_number(graded, f"n{NOTEBOOKS.index(notebook):03d}")
    assert result["points"] == (result["of"] if notebook.earns else 0), told(result)
    assert notebook.words in told(result)


@pytest.mark.parametrize("file", some_of(FILES), ids=[one.name for one in FILES])
def test_a_hostile_file_costs_its_author_alone(file: HostileFile, graded: Graded) -> None:
    result = of_number(graded, f"f{FILES.index(file):03d}")
    assert result["points"] == (result["of"] if file.earns else 0), told(result)
    assert file.words in told(result)
    assert file.earns or result["problems"]


def test_the_rest_of_the_class_is_unharmed(request: pytest.FixtureRequest, graded: Graded) -> None:
    assert graded.results[HONEST]["points"] == exercise(CELL).points
    assert graded.results[HONEST]["problems"] == []
    sent = chosen_of(request, "notebook") | chosen_of(request, "file")
    assert len(graded.results) == 1 + len(sent)


def test_submissions_are_only_read(graded: Graded) -> None:
    assert not graded.changed
    assert graded.around == {"a", "submissions", "grades"}
    assert not Path("/tmp/mini_attn_up.ipynb").exists()
    assert "Traceback" not in graded.printed


def test_names_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    """Two students whose names differ only in bytes that are no text."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    sheet = chosen(exercises=CELL)[0]
    for name, answer in ((b"\xff", answers_to(CELL)[0]), (b"\xfe", answers_to(CELL)[1])):
        path = os.path.join(os.fsencode(folder), name + b".ipynb")
        with open(path, "wb") as file:
            file.write(notebook_of(sheet, [answer], "x"))
    from classroom.grading.grade import grade_folder

    results = grade_folder(folder, tmp_path / "grades", sheet=sheet)
    assert sorted(result.points for result in results) == [0, exercise(CELL).points]


def message(data: dict[str, Any], *blobs: bytes) -> bytes:
    """What a process of an answer could say to the grader."""
    return json.dumps({**data, "blobs": [len(b) for b in blobs]}).encode() + b"\n" + b"".join(blobs)


FORGED_VALUES: list[Any] = [
    5, None, "shape", [], {"number": "nan", "whole": True}, {"number": [1], "whole": 0},
    {"constant": ["x"]}, {"foreign": ["torch", "Tensor"]}, {"foreign": [1, 2]}, {"tuple": 5},
    {"tuple": [{"tuple": [{"tuple": []}]}]}, {"shape": [2**39] * 3, "dtype": "<f8"},
    {"shape": [], "dtype": "V999999999"}, {"shape": [-1], "dtype": "<f8"},
    {"shape": [1], "dtype": "<f8", "blob": "x"}, {"shape": [1], "dtype": "O", "blob": 0},
    {"shape": [1], "dtype": "f99", "blob": 0}, {"shape": [1] * 99, "dtype": "|b1"},
]  # fmt: skip
FORGED = [  # for a number and for a function
    *((CELL, message({**SAYS, "callable": False, "value": v}, b"x" * 8)) for v in FORGED_VALUES),
    *((CALL, message(SAYS) + message({**DONE, "value": v}, b"x" * 8) * 9) for v in FORGED_VALUES),
    *((CALL, message(SAYS) + message({**DONE, **odd}) * 9)
      for odd in ({"problem": {"a": 1}}, {"problem": "x" * 10**6}, {"mutated": 5},
                  {"printed": ["\n"]}, {"complaints": "\r\n\x00"}, {"attempted": None})),
    *((CELL, message({**SAYS, "notes": notes})) for notes in (5, None, {"a": 1}, ["x" * 10**6])),
    *((CALL, data) for data in (
        b"[]\n", b"null\n", b'"blobs"\n', b'{"blobs": {}}\n', b'{"blobs": [-1]}\n',
        b'{"blobs": [1e400]}\n', b"[" * 10**5 + b"\n", b"9" * 10**5 + b"\n", b"\xff\xfe\n",
        b"x" * 3 * 10**6 + b"\n", b"\n", b'{"blobs": []}\n')),
]  # fmt: skip
WRITES = """\
import os

data = {data}
for fd in range(3, 32):
    try:
        os.write(fd, data)
    except OSError:
        pass
answer = 0.5


def chunk_mask(q_positions, kv_positions):
    return np.zeros((len(q_positions), len(kv_positions)), bool)
"""


def test_forged_messages_earn_nothing_and_stop_nothing() -> None:
    """Well-formed or not, in the grader's own language, from a process that has gone over."""

    def run(job: tuple[str, bytes]) -> list[str]:
        asked = exercise(job[0])
        cell = WRITES.format(data=repr(job[1]) if len(job[1]) < 10**5 else shortened(job[1]))
        judged = judge(asked, [cell], asked.name, seed=7, wall_seconds=WALL_SECONDS)
        assert judged.report.points == 0
        return [judged.report.message, *judged.report.notes, *judged.notes]

    def shortened(data: bytes) -> str:
        """A million equal bytes as an expression."""
        middle = bytes([data[len(data) // 2]])
        first, last = data.find(middle * 1000), data.rfind(middle * 1000) + 1000
        return f"{data[:first]!r} + {middle!r} * {last - first} + {data[last:]!r}"

    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(run, FORGED)
        assert max(len(text) for said in texts for text in said) <= 2_500


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one layer only")
@pytest.mark.parametrize("without", ["hook", pytest.param("kernel", marks=pytest.mark.exhaustive)])
def test_each_layer_holds_alone(
    without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacks that work anywhere else, with one of the two layers taken out."""
    line, instead = {
        "hook": ("    audit.add_hook(paths)\n", "    pass\n"),
        "kernel": ('    if sys.platform == "linux":\n', "    if False:\n"),
    }[without]
    for path in (ROOT / "classroom/sandbox").glob("*.py"):
        source = path.read_text()
        assert path.name != "lock.py" or source.count(line) == 1
        (tmp_path / path.name).write_text(source.replace(line, instead))
    monkeypatch.setattr("classroom.grading.process.WORKER", tmp_path / "worker.py")
    monkeypatch.setenv("MINI_ATTN_CANARY", CANARY)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "keep.txt").write_text("keep")

    def run(one: Hostile) -> tuple[str, Judged]:
        asked = exercise(one.exercise)
        cells = [one.source(scratch=tmp_path / "scratch", port=9)]
        return one.name, judge(asked, cells, asked.name, seed=7, wall_seconds=WALL_SECONDS)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, [one for one in hostile() if one.name in WORKING]))
    assert {name for name, _ in done} == set(WORKING)
    assert [name for name, judged in done if judged.report.points] == []
    assert [p.name for p in (tmp_path / "scratch").iterdir()] == ["keep.txt"]


def test_folders_in_folders_end_nothing(tmp_path: Path) -> None:
    """Deeper than Python calls functions; pathlib and shutil cannot even take it away."""
    depth, folder = 1_500, tmp_path / "submissions"
    folder.mkdir()
    (folder / "honest.ipynb").write_bytes(b"{}")
    place = str(folder / "deep")
    try:
        for _ in range(depth):
            os.mkdir(place)
            place += "/a"
        found = list(find(folder))
        assert {one.parts[0] for one in found} == {"honest.ipynb", "deep"}
        (deep,) = [one for one in found if one.parts[0] == "deep"]
        assert deep.problem
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)
