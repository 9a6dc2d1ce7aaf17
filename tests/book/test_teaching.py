"""The page for teachers: its plans add up, what it names exists, its map says what is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from classroom.grading import judge
from classroom.sandbox import lock, protocol
from classroom.sheets import public
from classroom.sheets.sheet import chapters, tasks_of
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise, exercise_ids
from solutions import late_mask, soft_choice
from tests.scripts import script
from tools import HTML, ROOT
from tools.commands import COMMANDS

PAGE = "\n".join(
    (ROOT / f"book/{name}.md").read_text(encoding="utf-8") for name in ("teaching", "grading")
)
BLOCK = re.compile(r"^```\{([\w-]+)\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def make() -> Any:
    """The extension's modules by name."""
    tables = script("book/_ext/teaching.py")
    return SimpleNamespace(
        tables=tables, facts=sys.modules["chapter_facts"], map=sys.modules["chapter_map"],
        chapters=tables.read_chapters(),
    )  # fmt: skip


def blocks(name: str) -> list[tuple[dict[str, int], list[str]]]:
    """Options and rows of the directives with a name, in the order of the page."""
    found = []
    for kind, body in BLOCK.findall(PAGE):
        if kind == name:
            options = {key: int(value) for key, value in re.findall(r"^:(\w+): (\d+)$", body, re.M)}
            rows = [line for line in body.splitlines() if line.strip() and line[0] != ":"]
            found.append((options, rows))
    return found


def ids(make: Any, rows: list[str], begins: str = "") -> list[str]:
    """Exercises of the rows whose first cell begins so."""
    shared = make.tables.shared_out(make.chapters, rows)
    return [i for cells, found in shared if cells[0].startswith(begins) for i in found]


def minutes(lines: list[str]) -> list[int]:
    """The last column of a plan."""
    cells = [line.rstrip("| ").rsplit("|", 1)[1] for line in lines if line.startswith("|")]
    return [int(found[1]) for cell in cells if (found := re.match(r" (\d+)", cell))]


def test_the_plans_add_up(make: Any) -> None:
    """Ninety minutes for a lecture, five times for a week, ten times for five weeks."""
    lecture, week, month = blocks("plan")
    assert lecture[0] == {"total": 90}
    assert sum(minutes(make.tables.plan(make.chapters, lecture[1], total=90))) == 90
    for (options, rows), meetings in ((week, 5), (month, 10)):
        assert options == {"each": 90}
        lines = make.tables.plan(make.chapters, rows, each=90)
        assert minutes(lines).count(90) == meetings
        shared = make.tables.shared_out(make.chapters, rows)
        home = [i for cells, found in shared if int(cells[1]) == 0 for i in found]
        assert sum(minutes(lines)) == 90 * meetings + sum(exercise(i).minutes for i in home)


def test_the_month_uses_every_exercise_once(make: Any) -> None:
    """Sheets hold the assessed ones, everything else is practice; the lecture gives none away."""
    lecture, week, month = (rows for _, rows in blocks("plan"))
    assert sorted(ids(make, month)) == exercise_ids()
    assert {i for i in ids(make, month) if exercise(i).assessed} == set(ids(make, month, "Sheet"))
    for rows in (lecture, week):
        kept = set(ids(make, rows, "Sheet"))
        assert not [i for i in ids(make, rows) if exercise(i).assessed and i not in kept]


def test_a_row_takes_what_its_chapters_have_and_no_row_names(make: Any) -> None:
    rows = ["Day 1 | 9 | | late_mask", "at home | 0 | | attention", "Sheet | 0 | | attention",
            "at home | 0 | | rest"]  # fmt: skip
    day, home, sheet, rest = (found for _, found in make.tables.shared_out(make.chapters, rows))
    assert day == ["late_mask"]
    own = set(tasks_of("attention")) - {"late_mask"}
    assert {i for i in own if exercise(i).assessed} == set(sheet)
    assert set(home) == own - set(sheet)
    assert {exercise(i).page for i in rest} == set(chapters()) - {"attention"}
    assert not [i for i in rest if exercise(i).assessed]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("Day 1 | 80 | talk | late_mask", None),
        ("Day 1 | 80 | talk | late_mask late_mask", "100 minutes instead of 90"),
        ("Day 1 | 81 | talk | late_mask", "91 minutes instead of 90"),
        ("Day 1 | 80 | talk | no_such_exercise", "there is no exercise"),
        ("Sheet | 0 | | late_mask\nSheet | 0 | | late_mask", "comes twice: late_mask"),
        ("Day 1 | 90 | talk", "not enough values"),
    ],
)
def test_a_wrong_plan_is_refused(make: Any, row: str, words: str | None) -> None:
    if words is None:
        line = make.tables.plan(make.chapters, [row], each=90)[2]
        assert line.startswith("| Day\u00a01 | talk *Exercises:* ")
        return
    with pytest.raises((ValueError, ConfigError), match=words):
        make.tables.plan(make.chapters, row.split("\n"), each=90)


def test_every_misconception_shows_somewhere(make: Any) -> None:
    """Each chapter has some, and each exercise named has the wrong answer that is meant."""
    thoughts = {stem: chapter.misconceptions for stem, chapter in make.chapters.items()}
    lines = make.tables.misconceptions(make.chapters, thoughts)
    rows = [row for told in thoughts.values() for row in told]
    assert len(lines) - 2 == len(rows) + len(thoughts)
    assert min(map(len, thoughts.values())) >= 3
    named = [source for row in rows for source in row.split("|")[2].split(";")]
    exercises = [s.strip() for s in named if "/" not in s and "claim" not in s]
    assert len(exercises) > 35
    assert sum(":" in source for source in exercises) > 30


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("late_mask: no such answer", "has no wrong answer"),
        ("no_such_exercise", "there is no exercise"),
        ("start/no-such-prediction", "no prediction"),
        ("rope/partner", "no prediction 'rope/partner' in start"),
    ],
)
def test_a_wrong_place_is_refused(make: Any, source: str, words: str) -> None:
    none: dict[str, list[str]] = {stem: [] for stem in make.chapters}
    with pytest.raises((ValueError, ConfigError), match=words):
        make.tables.misconceptions(make.chapters, none | {"start": [f"thought | so | {source}"]})
    thoughts = none | {"start": ["thought | so | soft_lookup"]}
    with pytest.raises(ValueError, match="no misconception for attention, "):
        make.tables.misconceptions(make.chapters, thoughts)


def test_chapters_say_what_they_need(make: Any) -> None:
    """The parser leaves out no chapter that the sentence names; needs come earlier in the book."""
    order = list(make.chapters)
    assert order == chapters()
    for stem, chapter in make.chapters.items():
        linked = set(re.findall(r"\]\(([\w-]+)\.ipynb\)", chapter.need))
        told = set(chapter.needs) | set(chapter.helps)
        assert told <= linked
        assert linked - told <= ({"attention"} if stem == "start" else set())  # "go on with"
        assert all(order.index(need) < order.index(stem) for need in chapter.needs)
        assert len(chapter.goals) >= 4
        assert 5 <= chapter.reading <= chapter.limit
        assert [task.id for task in chapter.exercises] == list(tasks_of(stem))


def test_a_route_holds_what_its_goals_build_on(make: Any) -> None:
    """All of it, in the order of the book, once; a goal that is no chapter is refused."""
    (line,) = make.tables.routes(make.chapters, ["To serve | mla paged"])
    stems = re.findall(r"\]\(/book/([\w-]+)\.ipynb\)", line)
    needed = {s for goal in ("mla", "paged") for s in make.facts.before(make.chapters, goal)}
    assert stems == [stem for stem in make.chapters if stem in needed]
    assert f"({sum(make.chapters[s].visit for s in stems)} minutes)" in line
    with pytest.raises(KeyError, match="no-such-page"):
        make.tables.routes(make.chapters, ["To serve | no-such-page"])


@pytest.mark.parametrize(("minutes", "told"), [(150, "2½"), (134, "2"), (29, "½"), (596, "10")])
def test_hours_are_told_to_the_half(make: Any, minutes: int, told: str) -> None:
    assert make.facts.hours(minutes) == told


def test_the_map_draws_what_chapters_say(make: Any) -> None:
    """A box for each chapter with its name, none over another; the arrows imply all needs."""
    root = ElementTree.fromstring(make.map.draw(make.chapters))
    links = list(root.iter("a"))
    assert [link.get("href") for link in links] == [f"{stem}.html" for stem in make.chapters]
    words = [" ".join(str(t.text) for t in link.iter("tspan")) for link in links]
    titles = [f"{c.number}. {c.title}" for c in make.chapters.values()]
    assert [text.replace("- ", "-") for text in words] == titles  # broken behind a hyphen
    corners = [(float(r.get("x")), float(r.get("y"))) for r in root.iter("rect")]
    width, height = make.map.BOX
    for n, (x, y) in enumerate(corners):
        for u, v in corners[:n]:
            assert abs(x - u) >= width or abs(y - v) >= height
    arrows = list(make.map.arrows(make.chapters))
    assert len(list(root.iter("path"))) == len(arrows) + 1  # and the arrows' tip
    drawn: dict[str, set[str]] = {stem: set() for stem in make.chapters}
    for start, end, needed in arrows:
        if needed:
            drawn[end] |= {start} | drawn[start]
    for stem in make.chapters:
        assert drawn[stem] | {stem} == set(make.facts.before(make.chapters, stem))


def test_tables_hold_the_banks_numbers(make: Any) -> None:
    lines = make.tables.exercise_table(make.chapters)
    rows = [line for line in lines if "`" in line]
    assert [re.findall(r"`(\w+)`<br>", row)[0] for row in rows] == [
        i for page in chapters() for i in tasks_of(page)
    ]
    for row in rows:
        task = exercise(re.findall(r"`(\w+)`<br>", row)[0])
        cells = [cell.strip() for cell in row.strip("| ").split("|")]
        assert cells[1].count("●") == task.difficulty
        kept = "teacher" if task.assessed else "page"
        assert cells[2:] == [str(task.minutes), str(task.points), kept]
    every = [exercise(i) for i in exercise_ids()]
    assert f"**{sum(t.minutes for t in every)}** | **{sum(t.points for t in every)}**" in lines[-1]
    text = "\n".join(make.tables.goals(make.chapters))
    assert text.count("\n- ") == sum(len(c.goals) for c in make.chapters.values())


def worker_text() -> int:
    """What the process that runs an answer lets through; it is not imported here."""
    text = (ROOT / "classroom/sandbox/worker.py").read_text(encoding="utf-8")
    return int(re.findall(r"^TEXT = ([\d_]+)", text, re.MULTILINE)[0])


def test_numbers_in_the_text_are_those_of_the_code() -> None:
    """Limits of the grader and of the hub, and commands that exist."""
    config = (ROOT / "classroom/adapters/jupyterhub_config.py").read_text(encoding="utf-8")
    value = {k: int(v) for k, v in re.findall(r"^([A-Z_]+) = (\d+)", config, re.MULTILINE)}
    assert f"{value['MEMORY_GIB']} GiB of memory per process" in PAGE
    assert f"{value['PROCESSES']} processes per student" in PAGE
    assert f"{value['AT_ONCE']} servers at a time" in PAGE
    assert set(re.findall(r"(?:^|`)make ([a-z]+)\b", PAGE, re.MULTILINE)) <= COMMANDS.keys()
    limits = (
        f"{lock.MEMORY_BYTES // 2**30} GiB of memory and {lock.CPU_SECONDS} s of computing",
        f"{judge.WALL_SECONDS:.0f} s of waiting, {worker_text():,} characters of printed text",
        f"{protocol.BLOB_BYTES // 10**6} MB per array",
    )
    assert [text for text in limits if text not in PAGE] == []


def test_the_built_page_links_to_every_exercise() -> None:
    page = HTML / "book/teaching.html"
    assert page.exists(), "no built page: run `make book` first"
    text = page.read_text(encoding="utf-8")
    for stem in chapters():
        linked = set(re.findall(rf'href="{stem}\.html#(exercise-\d+-[^"]+)"', text))
        assert len(linked) == len(tasks_of(stem)), stem
        target = (HTML / f"book/{stem}.html").read_text(encoding="utf-8")
        assert all(f'id="{place}"' in target for place in linked)


def repository(folder: Path, **more: str) -> Path:
    """A small repository with one practice and one assessed solution."""
    files = {
        "README.md": "read me", "solutions/late_mask.py": "assessed",
        "solutions/soft_choice.py": Path(soft_choice.__file__).read_text(), **more,
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "untracked.md").write_text("mine")
    for command in (["init", "-q"], ["add", *files]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.slow
def test_this_repository_has_a_copy_to_publish(tmp_path: Path) -> None:
    """No file outside of solutions holds an assessed one."""
    assert public.publish(tmp_path / "copy") > 500
    assert not (tmp_path / "copy/solutions/late_mask.py").exists()
    assert (tmp_path / "copy/solutions/soft_choice.py").exists()


def test_a_published_copy_holds_no_assessed_solution(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    assert public.publish(tmp_path / "copies/copy", root) == 2
    found = {p.relative_to(tmp_path / "copies/copy").as_posix()
             for p in (tmp_path / "copies/copy").rglob("*") if p.is_file()}  # fmt: skip
    assert found == {"README.md", "solutions/soft_choice.py"}
    with pytest.raises(ConfigError, match="not empty"):
        public.publish(tmp_path / "copies/copy", root)
    told = Path(late_mask.__file__).read_text()
    leaky = repository(tmp_path / "leaky", **{"book/page.md": f"```python\n{told}\n```"})
    with pytest.raises(ConfigError, match=r"stands in book/page\.md \(late_mask\)"):
        public.publish(tmp_path / "copies/other", leaky)
    assert [p.name for p in (tmp_path / "copies").iterdir()] == ["copy"]
    with pytest.raises(ConfigError, match="no git repository"):
        public.publish(tmp_path / "copies/third", tmp_path / "copies")
