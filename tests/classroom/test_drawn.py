"""Numbers by student: one verdict in notebook and grader, on paper too, for nobody else."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from classroom.drawing import asked_students, seal, students_of
from classroom.grading.drawn import borrowed, number_in
from classroom.grading.grade import grade_folder
from classroom.results import Answer
from classroom.sheets import handout, release
from classroom.sheets.key import number
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import chosen, sheet_of_file
from classroom.sheets.students import Student
from classroom.submissions.collect import Submission
from mini_attn import __version__
from mini_attn.errors import ConfigError
from mini_attn.exercises import check, exercise, exercise_ids, hint, variant
from tests.classroom.test_grade import tree
from tests.classroom.test_judge import reference

IDS = ("cache_budget", "half_temperature", "tiled_heads", "expand_heads")
SHEET = chosen(exercises=" ".join(IDS), name="own")[0]
ROSTER = ["Ada Lovelace", "bo", "Çelik Ömer"]
SEED = "autumn"
ADA, BO, CELIK = CLASS = students_of(ROSTER, SEED)
DRAWN = ("cache_budget", "half_temperature")


@pytest.fixture(autouse=True)
def book_again() -> Iterator[None]:
    """A notebook of these tests is not the next one's."""
    yield
    variant("")


def right(exercise_id: str, student: Student) -> float:
    task = exercise(exercise_id).for_student(student.key)
    return task.question.answer


def handed_in(of: Student, answers: Student) -> dict[str, Any]:
    """A notebook with one student's tasks and another's answers."""
    data: dict[str, Any] = json.loads(nbformat.writes(student_notebook(SHEET, of)))
    cells = {i: reference(i) for i in IDS}
    cells |= {i: f"answer = {right(i, answers)!r}" for i in DRAWN}
    for cell in data["cells"]:
        tag = cell["metadata"].get("exercise", {})
        if tag.get("role") == "starter":
            cell["source"] = cells[tag["id"]]
    return data


def save(path: Path, data: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def said(data: dict[str, Any]) -> dict[str, str]:
    """What the notebook's own checks print, by exercise."""
    names: dict[str, Any] = {}
    printed = {}
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec("".join(cell["source"]), names)
            tag = cell["metadata"].get("exercise", {})
            if tag.get("role") == "check":
                printed[tag["id"]] = out.getvalue()
    return printed


def graded(folder: Path, out: Path, **more: Any) -> dict[str, dict[str, Answer]]:
    given = {"sheet": SHEET, "seed": "a", "roster": ROSTER, "draw": SEED} | more
    results = grade_folder(folder, out, **given)
    return {r.student: {a.id: a for a in r.answers} for r in results}


# Who gets what


def test_everybody_gets_numbers_of_their_own_and_always_the_same() -> None:
    assert [s.name for s in CLASS] == ROSTER
    assert len({s.key for s in CLASS}) == 3
    assert students_of(["ADA  LOVELACE", "Bo"], SEED)[0].key == ADA.key
    assert students_of(ROSTER, "spring")[0].key != ADA.key
    texts = {exercise("cache_budget").for_student(s.key).text for s in CLASS}
    assert len(texts) == 3


@pytest.mark.parametrize(
    ("roster", "seed", "words"),
    [
        ([], SEED, "nobody stands on the roster"),
        (["ada", "ADA "], SEED, "names that cannot be told apart"),
        (["ada"], " ", "the seed of the numbers is empty"),
    ],
)
def test_a_roster_that_cannot_decide_is_refused(roster: list[str], seed: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        students_of(roster, seed)


@pytest.mark.parametrize("given", [{"roster": None, "draw": "a"}, {"roster": "x", "draw": None}])
def test_names_and_a_seed_come_together(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="give both ROSTER= and DRAW="):
        asked_students(argparse.Namespace(**given))


# The notebook


@pytest.mark.parametrize("student", CLASS, ids=lambda s: s.file)
def test_notebook_and_grader_judge_the_same_numbers(student: Student, tmp_path: Path) -> None:
    data = handed_in(student, student)
    assert all(": solved" in text for text in said(data).values())
    save(tmp_path / "in" / f"{student.file}.ipynb", data)
    (answers,) = graded(tmp_path / "in", tmp_path / "out").values()
    assert {a.state for a in answers.values()} == {"solved"}


def test_a_neighbours_number_is_wrong_in_both(tmp_path: Path) -> None:
    data = handed_in(ADA, BO)
    printed = said(data)
    assert [i for i in IDS if ": solved" in printed[i]] == ["tiled_heads", "expand_heads"]
    save(tmp_path / "in/ada lovelace/x.ipynb", data)
    answers = graded(tmp_path / "in", tmp_path / "out")["ada lovelace"]
    for key in DRAWN:
        assert answers[key].state == "not yet"
        assert answers[key].message in " ".join(printed[key].split())
        assert "not yours" not in answers[key].message


def test_a_neighbours_notebook_is_named_as_such(tmp_path: Path) -> None:
    save(tmp_path / "in/bo.ipynb", handed_in(ADA, ADA))
    save(tmp_path / "in/Ada-Lovelace (1).ipynb", handed_in(ADA, ADA))
    answers = graded(tmp_path / "in", tmp_path / "out")
    assert {a.state for a in answers["Ada-Lovelace (1)"].values()} == {"solved"}
    for key in DRAWN:
        assert answers["bo"][key].points == 0
        assert answers["bo"][key].message.startswith("These numbers are not yours")
    assert answers["bo"]["tiled_heads"].state == "solved"
    for kind in ("md", "html"):
        summary = (tmp_path / "out" / f"summary.{kind}").read_text()
        assert "bo has the notebook of Ada Lovelace" in summary
        assert "notebook of Ada" not in (tmp_path / "out/feedback" / f"bo.{kind}").read_text()
    assert "drawn for somebody else" in (tmp_path / "out/grades.csv").read_text()


def test_a_single_number_of_somebody_else_is_named_if_nothing_else_explains_it(
    tmp_path: Path,
) -> None:
    """Ada answers with Bo's number, Bo with a mistake that gives hers by chance, Çelik rightly."""
    task = exercise("cache_budget").for_student(BO.key)
    (mistake, *_) = task.question.mistakes
    made = {"Ada-Lovelace": (ADA, right("cache_budget", BO)), "bo": (BO, float(mistake.value)),
            "Çelik-Ömer": (CELIK, right("cache_budget", CELIK))}  # fmt: skip
    for file, (student, value) in made.items():
        data = handed_in(student, student)
        for cell in data["cells"]:
            if cell["metadata"].get("exercise") == {"id": "cache_budget", "role": "starter"}:
                cell["source"] = f"answer = {value!r}  # as I found"
        save(tmp_path / "in" / f"{file}.ipynb", data)
    graded(tmp_path / "in", tmp_path / "out")
    summary = (tmp_path / "out/summary.html").read_text()
    assert "Ada-Lovelace answers cache_budget with the number of bo<" in summary
    assert summary.count("with the number of") == 1
    assert "the number of bo" not in (tmp_path / "out/feedback/Ada-Lovelace.md").read_text()


def test_a_mistake_that_a_check_names_is_nobodys_number() -> None:
    """Bo's mistake gives what Ada should find: the check knows whence it came."""
    foreign = next(
        student
        for student in students_of([f"s{n}" for n in range(3_000)], SEED)
        if exercise("cache_budget")
        .for_student(BO.key)
        .question.mistake_at(right("cache_budget", student))
    )
    value = right("cache_budget", foreign)
    bo = Submission("bo", cells={"cache_budget": [f"answer = {value}"]}, key=BO.key)
    assert borrowed([bo], [BO, foreign], ["cache_budget"]) == []
    ada = Submission("ada", cells=bo.cells, key=ADA.key)
    assert len(borrowed([ada], [ADA, foreign], ["cache_budget"])) == 1


@pytest.mark.parametrize(
    ("cell", "value"),
    [("answer = 30", 30), ("answer = -1_0.5e2 # x", -1050), ("answer=.5", None),
     ("answer = 3 * 10", None), ("answer = 1e999", None), ("x", None), ("", None),
     ("answer = 1\nprint(answer)", None)],
)  # fmt: skip
def test_a_number_is_read_and_never_computed(cell: str, value: float | None) -> None:
    assert number_in([cell]) == value


def test_the_notebooks_own_word_is_not_believed(tmp_path: Path) -> None:
    """Ada's numbers, with Bo's key written over hers: judged as Bo's all the same."""
    text = json.dumps(handed_in(ADA, ADA)).replace(ADA.key, BO.key)
    save(tmp_path / "in/bo.ipynb", json.loads(text))
    without = handed_in(ADA, ADA)
    del without["metadata"]["mini_attn"]["student"]
    save(tmp_path / "in/Çelik-Ömer.ipynb", without)
    answers = graded(tmp_path / "in", tmp_path / "out")
    for student in answers.values():
        assert [student[i].points for i in DRAWN] == [0, 0]


def test_who_is_not_on_the_roster_is_told_and_costs_nobody_else(tmp_path: Path) -> None:
    save(tmp_path / "in/bo.ipynb", handed_in(BO, BO))
    save(tmp_path / "in/nobody.ipynb", handed_in(BO, BO))
    answers = graded(tmp_path / "in", tmp_path / "out")
    assert {a.state for a in answers["bo"].values()} == {"solved"}
    stranger = answers["nobody"]
    assert "nobody on the list is called like" in stranger["cache_budget"].message
    assert [stranger[i].state for i in IDS[2:]] == ["solved", "solved"]
    assert "nobody on the roster" in (tmp_path / "out/summary.md").read_text()


def test_whose_numbers_they_are_is_not_passed_on(tmp_path: Path) -> None:
    save(tmp_path / "in/bo.ipynb", handed_in(ADA, ADA))
    graded(tmp_path / "in", tmp_path / "out", nameless=True)
    whose = "bo has the notebook of Ada Lovelace"
    assert whose in (tmp_path / "out/summary.md").read_text()
    for kind in ("md", "html"):
        assert "Lovelace" not in (tmp_path / f"out/anonymous/summary.{kind}").read_text()


def test_moodles_folders_are_found_by_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "in/Çelik Ömer_123_assignsubmission_file"
    save(folder / "x.ipynb", handed_in(CELIK, CELIK))
    save(tmp_path / "in/Bo_7_assignsubmission_file/x.ipynb", handed_in(BO, BO))
    for answers in graded(tmp_path / "in", tmp_path / "out").values():
        assert {a.state for a in answers.values()} == {"solved"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"draw": None}, "give the ROSTER= and the DRAW= of its release"),
        ({"draw": "spring", "sheet": "sealed"}, "were drawn with another DRAW="),
        ({"draw": None, "sheet": "sealed"}, "give the ROSTER= and the DRAW= of its release"),
        ({"roster": []}, "nobody stands on the roster"),
    ],
)
def test_a_seed_that_is_missing_or_another_stops_before_grading(
    tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    save(tmp_path / "in/bo.ipynb", handed_in(BO, BO))
    if more.get("sheet") == "sealed":
        data = SHEET.as_data() | {"drawn": seal(SEED)}
        (tmp_path / "own.json").write_text(json.dumps(data))
        more = more | {"sheet": sheet_of_file(tmp_path / "own.json")}
    with pytest.raises(ConfigError, match=words):
        graded(tmp_path / "in", tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()


def test_resumed_marked_and_in_part_it_is_as_before(tmp_path: Path) -> None:
    for student in CLASS:
        save(tmp_path / "in" / f"{student.file}.ipynb", handed_in(student, student))
    save(tmp_path / "in/bo.ipynb", handed_in(ADA, ADA))
    graded(tmp_path / "in", tmp_path / "out")
    first = tree(tmp_path / "out")
    for path in sorted((tmp_path / "out/work").glob("*.json"))[:2]:
        path.unlink()  # as after a kill
    graded(tmp_path / "in", tmp_path / "out")
    assert tree(tmp_path / "out") == first
    table = tmp_path / "out/marks.csv"
    table.write_text("student,exercise,points,comment\nbo,cache_budget,1,the working is right\n")
    answers = graded(tmp_path / "in", tmp_path / "out", partial=True)
    assert answers["bo"]["cache_budget"].points == 1
    assert answers["bo"]["half_temperature"].points == 0
    assert "the working is right" in (tmp_path / "out/feedback/bo.md").read_text()


def test_check_and_hint_go_by_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    variant(ADA.key)
    check("cache_budget", right("cache_budget", ADA))
    hint("longest_context", 2)
    task = exercise("longest_context").for_student(ADA.key)
    assert task.hints[1] in (out := capsys.readouterr().out)
    assert "solved" in out
    variant("")
    check("cache_budget", right("cache_budget", ADA))
    assert "not yet" in capsys.readouterr().out


@pytest.mark.parametrize("bad", ["ada", "0123456789a", "0123456789aB", None, 3, "0" * 13])
def test_a_key_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(ConfigError, match="is no key to drawn numbers"):
        variant(bad)


# The release


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def instead(folder: Path) -> Path:
        path = folder / f"mini_attn-{__version__}-py3-none-any.whl"
        path.write_bytes(b"a wheel")
        return path

    monkeypatch.setattr(release, "build_wheel", instead)


def released(tmp_path: Path, *more: str) -> int:
    (tmp_path / "class.csv").write_text("student\n" + "\n".join(ROSTER), encoding="utf-8")
    options = ["--roster", str(tmp_path / "class.csv"), "--draw", SEED]
    which = ["--exercises", " ".join(IDS), "--name", "own"]
    return release.main([*which, *options, "--out", str(tmp_path / "out"), *more])


@pytest.mark.usefixtures("quick")
def test_release_writes_one_notebook_a_student_for_their_eyes_alone(tmp_path: Path) -> None:
    assert released(tmp_path) == 0
    (folder,) = (tmp_path / "out").iterdir()
    own = folder / "own-students"
    assert sorted(p.name for p in own.iterdir()) == sorted(f"{s.file}.ipynb" for s in CLASS)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    before = {p: p.read_bytes() for p in own.iterdir()}
    for student in CLASS:
        path = own / f"{student.file}.ipynb"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        assert notebook == student_notebook(sheet_of_file(folder / "own.json"), student)
        assert f"**Name:** {student.name}" in [c.source for c in notebook.cells]
        assert not [s for s in CLASS if s != student and s.key in path.read_text()]
    # Nothing that all of them get holds a key, a name or the seed.
    for path in folder.glob("*.*"):
        text = path.read_bytes()
        assert not [s for s in CLASS if s.key.encode() in text]
        assert "Çelik".encode() not in text
        assert SEED.encode() not in text
    assert not (folder / "own.ipynb").exists()
    assert released(tmp_path) == 0
    assert {p: p.read_bytes() for p in own.iterdir()} == before


@pytest.mark.usefixtures("quick")
def test_a_student_s_notebook_that_is_another_one_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert released(tmp_path) == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()}
    assert released(tmp_path, "--draw", "spring") == 2
    assert "is another one: move it away" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()} == before


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--exercises", "late_mask"], "has no pencil exercise whose numbers can be drawn"),
        ([], "numbers are drawn for one chapter or one list"),
    ],
)
def test_what_cannot_be_drawn_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (tmp_path / "names.txt").write_text("ada")
    own = ["--roster", str(tmp_path / "names.txt"), "--draw", SEED, "--out", str(tmp_path / "out")]
    for command in (release.main, handout.main):
        assert command([*arguments, *own]) == 2
        assert words in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.html"))


# Paper


def test_paper_for_each_by_name_and_a_key_with_everybodys_numbers(tmp_path: Path) -> None:
    paths = handout.write([SHEET], tmp_path, students=CLASS)
    assert [p.name for p in paths] == ["own-key.html", "own.html"]
    key, paper = (p.read_text(encoding="utf-8") for p in paths)
    assert {stat.S_IMODE(p.stat().st_mode) for p in paths} == {0o600}
    papers = paper.split("<h1>")[1:]
    assert len(papers) == len(CLASS)
    for student, page in zip(CLASS, papers, strict=True):
        assert f"<b><bdi>{student.name}</bdi></b>" in page
        task = exercise("cache_budget").for_student(student.key)
        memory = task.text.partition(" GB")[0].rpartition(" ")[2]
        assert f"{memory} GB" in page
        row = key.split(f"<bdi>{student.name}</bdi></td>")[1].split("</tr>")[0]
        assert f"<b>{number(right('cache_budget', student))}</b>" in row
        assert all(number(float(one.value)) in row for one in task.question.mistakes)
    plain = handout.sheet_page(SHEET)
    assert "<bdi>" not in plain
    assert "Everybody" not in handout.key_page(SHEET)


def test_letters_of_the_key_are_enough() -> None:
    asked = [task.number for task in map(exercise, exercise_ids()) if task.number]
    assert max(len(question.mistakes) for question in asked) <= 26
