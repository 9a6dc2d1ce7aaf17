"""Tables and plans for teachers, made from the chapters and the bank of exercises.

``{chapter-map}``, ``{chapter-goals}`` and ``{exercise-table}`` take nothing, nor does
``{misconceptions}``: its rows ``what is thought | what is so | where it shows`` are in the
metadata of the chapters' notebooks. ``{plan}`` takes rows ``when | minutes of talk | what happens
| exercises`` and adds the exercises' own minutes. A row names exercises by their ids, or chapters:
then a sheet holds what is assessed in them and any other row the practice, without what a row
names by its id. ``rest`` stands for the chapters that no row names. What does not add up or does
not exist is an error of the build.

``{routes}`` takes rows ``for whom | chapters that are the goal`` and lists, for each, all chapters
that these build on. ``{totals}`` says how long the road and the book take, ``{factor-map}`` which
chapter shrinks which factor of a cache's bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import wrap

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # solutions/, to know what is wrong

from chapter_facts import ROAD, ROOT, Chapter, before, hours, read_chapters
from chapter_map import draw, factors
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mini_attn.exercises.spec import Exercise, exercise
from mini_attn.widgets.questions import QUESTIONS

Chapters = dict[str, Chapter]


def amount(count: int, thing: str) -> str:
    """A count with its word: 1 exercise, 3 exercises."""
    return f"{count} {thing}" + ("" if count == 1 else "s")


def goals(chapters: Chapters) -> list[str]:
    """Chapter by chapter: minutes, what it needs, what one can do after it."""
    lines = []
    for stem, chapter in chapters.items():
        tasks = chapter.exercises
        needs, helps = (
            ", ".join(f"[{chapters[s].title}]({s}.ipynb)" for s in stems)
            for stems in (chapter.needs, chapter.helps)
        )
        whole = sum(chapters[s].visit for s in before(chapters, stem))
        built = f", {whole} with all that it builds on" if chapter.needs else ""
        lines += [
            f"**{chapter.number}. [{chapter.title}]({stem}.ipynb)** · {chapter.reading} minutes to "
            f"read, {chapter.trying} for predictions and pictures{built} · "
            f"{amount(len(tasks), 'exercise')}, {chapter.working} minutes, "
            f"{sum(t.points for t in tasks)} points",
            "",
            f"*Needs:* {needs or 'no other chapter'}." + (f" *Helpful:* {helps}." if helps else ""),
            "",
            *(f"- {goal}" for goal in chapter.goals),
            "",
        ]  # fmt: skip
    return lines


def routes(chapters: Chapters, rows: Iterable[str]) -> list[str]:
    """List for each row what its goals build on, in the order of the book, with the minutes.

    Raises
    ------
    KeyError
        If a goal is no chapter.
    """
    lines = []
    for row in rows:
        name, goals = (cell.strip() for cell in row.split("|"))
        needed = {stem for goal in goals.split() for stem in before(chapters, goal)}
        stems = [stem for stem in chapters if stem in needed]
        links = " · ".join(
            f"[{chapters[s].number}. {chapters[s].title}](/book/{s}.ipynb)" for s in stems
        )
        lines.append(f"- **{name}** ({sum(chapters[s].visit for s in stems)} minutes): {links}")
    return lines


def totals(chapters: Chapters) -> list[str]:
    """Say in a sentence how long the road takes, and the whole book."""
    road = sum(c.visit for c in chapters.values() if c.part == ROAD)
    opened = sum(c.visit for c in chapters.values())
    folded = sum(c.deeper for c in chapters.values())
    tasks = sum(c.working for c in chapters.values())
    return [
        f"**The road takes {hours(road)} hours** ({road} minutes, predictions included). The open "
        f"text of all {len(chapters)} chapters takes {hours(opened)} hours, the folded sections "
        f"another {hours(folded)}, and the exercises {hours(tasks)}."
    ]


def idea(task: Exercise) -> str:
    """Return an exercise's idea in one line."""
    text = import_module(f"mini_attn.exercises.bank.{task.id}").__doc__ or ""
    return text.strip().split("\n")[0]


def exercise_table(chapters: Chapters) -> list[str]:
    """All exercises, by chapter, with sums."""
    lines = ["| exercise | level | min | points | solution |", "|---|---|--:|--:|---|"]
    every = [t for c in chapters.values() for t in c.exercises]
    for chapter in chapters.values():
        tasks = chapter.exercises
        lines.append(
            f"| **{chapter.number}. {chapter.title}** | | **{chapter.working}** "
            f"| **{sum(t.points for t in tasks)}** | |"
        )
        lines += [
            f"| {chapter.link(t.id)} `{t.id}`<br>{idea(t)} | {t.dots} | {t.minutes} | {t.points} "
            f"| {'teacher' if t.assessed else 'page'} |"
            for t in tasks
        ]
    kept = [t for t in every if t.assessed]
    return [
        *lines,
        f"| **{len(every)} exercises, {len(kept)} of them assessed** | | "
        f"**{sum(t.minutes for t in every)}** | **{sum(t.points for t in every)}** | |",
    ]


def shared_out(chapters: Chapters, rows: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each row's cells and the ids of its exercises, those of named chapters among them."""
    split = [[cell.strip() for cell in row.split("|")] for row in rows]
    named = {word for *_, words in split for word in words.split()}
    rest = [stem for stem in chapters if stem not in named]
    for *cells, words in split:
        found: list[str] = []
        for word in words.split():
            pages = rest if word == "rest" else [word] if word in chapters else []
            found += [] if pages else [word]
            found += [
                t.id for page in pages for t in chapters[page].exercises
                if t.id not in named and t.assessed == cells[0].startswith("Sheet")
            ]  # fmt: skip
        yield cells, found


def plan(
    chapters: Chapters, rows: Iterable[str], *, each: int | None = None, total: int | None = None
) -> list[str]:
    """A time plan; a row without a name gets the minutes since the beginning.

    Raises
    ------
    ValueError
        If a row is no row, an exercise does not exist or comes twice, or the minutes do not add
        up to what was promised, of each row with talk in it or of all.
    """
    lines = ["| when | what | min |", "|---|---|--:|"]
    commands, clock, seen = [], 0, set()
    for (when, talk, text), ids in shared_out(chapters, rows):
        tasks = [exercise(i) for i in ids]
        minutes = int(talk) + sum(t.minutes for t in tasks)
        if each and int(talk) and minutes != each:
            raise ValueError(f"{minutes} minutes instead of {each}: {when}")
        if twice := seen & {t.id for t in tasks}:
            raise ValueError(f"comes twice: {', '.join(sorted(twice))}")
        seen |= {t.id for t in tasks}
        listed = ", ".join(f"{chapters[t.page].link(t.id)} ({t.minutes})" for t in tasks)
        text += f" *Exercises:* {listed}." if tasks else ""
        name = when.replace(" ", "\u00a0", 1) if "," not in when else when
        lines.append(f"| {name or f'{clock // 60}:{clock % 60:02}'} | {text} | {minutes} |")
        clock += minutes
        if when.startswith("Sheet"):
            lines[-1] = f"{lines[-1][:-2].rstrip(' |')}<br>{sum(t.points for t in tasks)} points |"
            name, all_of_it = when.lower().replace(" ", ""), " ".join(ids)
            command = f'make release EX="{all_of_it}" NAME={name}'
            commands += " \\\n".join(wrap(command, 68, subsequent_indent="  ")).splitlines()
    if total and clock != total:
        raise ValueError(f"the plan takes {clock} minutes instead of {total}")
    return [*lines, "", *(["```sh", *commands, "```"] if commands else [])]


def wrong_answers(exercise_id: str) -> list[str]:
    """Their names; none in a published copy, which has no solutions of assessed exercises."""
    if not (ROOT / f"solutions/{exercise_id}.py").exists():
        return []
    return [answer[0] for answer in import_module(f"solutions.{exercise_id}").WRONG]


def shown(chapters: Chapters, chapter: Chapter, source: str) -> str:
    """One place where a misconception shows, as a link; it has to exist."""
    key, _, wrong = (part.strip() for part in source.partition(":"))
    if key.startswith("claim "):
        return f"[claim {key[6:]}](#claim-{key[6:]})"
    if "/" in key:
        if key not in QUESTIONS or key not in chapter.places:
            raise ValueError(f"no prediction {key!r} in {chapter.stem}")
        return f"predict in {chapter.link(key)}"
    task = exercise(key)
    names = wrong_answers(key)
    if wrong and names and wrong not in names:
        raise ValueError(f"{key} has no wrong answer {wrong!r}; it has {', '.join(names)}")
    return chapters[task.page].link(key)


def misconceptions(chapters: Chapters, thoughts: Mapping[str, Iterable[str]]) -> list[str]:
    """The table of misconceptions, from rows by chapter.

    Raises
    ------
    ValueError
        If a chapter has no row, or a row names an exercise, a wrong answer of it or a prediction
        that does not exist.
    """
    lines = ["| what is thought | what is so | where it shows |", "|---|---|---|"]
    for stem, chapter in chapters.items():
        lines.append(f"| **{chapter.number}. {chapter.title}** | | |")
        for row in thoughts[stem]:
            thought, so, sources = (cell.strip() for cell in row.split("|"))
            places = dict.fromkeys(shown(chapters, chapter, s) for s in sources.split(";"))
            lines.append(f"| {thought} | {so} | {'; '.join(places)} |")
    if without := [stem for stem in chapters if not thoughts[stem]]:
        raise ValueError(f"no misconception for {', '.join(without)}")
    return lines


class Teaching(SphinxDirective):
    """One of the tables, as Markdown that the page's own parser reads."""

    has_content = True
    option_spec = {"each": directives.positive_int, "total": directives.positive_int}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Make the lines and parse them in place."""
        chapters = read_chapters()
        for kind in ("book/*.ipynb", "mini_attn/exercises/bank/*.py"):
            for path in ROOT.glob(kind):
                self.env.note_dependency(str(path))
        rows = [line for line in self.content if line.strip()]
        if self.name == "chapter-map":
            return [nodes.raw("", draw(chapters), format="html")]
        if self.name == "factor-map":
            return [nodes.raw("", factors(chapters, folder="book/"), format="html")]
        try:
            lines = {
                "chapter-goals": lambda: goals(chapters),
                "routes": lambda: routes(chapters, rows),
                "totals": lambda: totals(chapters),
                "exercise-table": lambda: exercise_table(chapters),
                "misconceptions": lambda: misconceptions(
                    chapters, {stem: c.misconceptions for stem, c in chapters.items()}
                ),
                "plan": lambda: plan(chapters, rows, each=self.options.get("each"),
                                     total=self.options.get("total")),
            }[self.name]()  # fmt: skip
        except (KeyError, ValueError) as error:
            raise self.error(f"{self.name}: {error}") from error
        box = nodes.container(classes=[self.name])
        self.state.nested_parse(
            StringList(lines, self.get_source_info()[0]), self.content_offset, box
        )
        return [box]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    for name in ("chapter-map", "factor-map", "chapter-goals", "exercise-table", "misconceptions",
                 "plan", "routes", "totals"):  # fmt: skip
        app.add_directive(name, Teaching)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
