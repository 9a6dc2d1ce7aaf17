"""Read goals, needs, minutes, exercises and their places from the chapters themselves.

Nothing is kept beside the notebooks: the pages for teachers are drawn from here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
import yaml
from myst_parser.mdit_to_docutils.base import default_slugify

from mini_attn.exercises.spec import Exercise, exercise

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([\w-]+)\.ipynb\)")
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
GOALS = "After this page you can"
# What readers needed, not what they hoped: prose with formulas, and code that one follows.
WORDS_A_MINUTE, LINES_A_MINUTE = 150, 12
MINUTES_A_TRY = 1.5  # to guess at a prediction, or to move a picture and look
ROAD = "The road"  # the part of the contents that everybody needs
ROAD_MINUTES, OTHER_MINUTES, WHOLE_ROAD_MINUTES = 20, 30, 150  # of open path, at most
FACTORS = {  # of the bytes of a cache, by the name that a chapter's metadata gives them
    "layers": "layers that keep",
    "entries": "entries kept",
    "values": "values per entry",
    "bits": "bits per value",
}
TRIED = {"widget", "living-plot", "prediction"}
UNREAD = {"import", "hide-input", "remove-input", "remove-cell", "widget", "prediction"}
DEEPER = "deeper"  # tag of a heading whose section the rest of the chapter does not need
OPEN_TRIES = -2  # in the place of a fold: a prediction or a picture that stands open
NEW_SECTION = re.compile(r"^(?=#{2,3} )", re.MULTILINE)
EXERCISE = re.compile(r"Exercise (\d+): ")


def minutes_of_words(text: str) -> float:
    """Return the minutes that prose takes to read."""
    return len(text.split()) / WORDS_A_MINUTE


def hours(minutes: int) -> str:
    """Minutes as hours, to the nearest half: 150 is 2½."""
    halves = round(minutes / 30)
    return f"{halves // 2 or ''}{'½' if halves % 2 else ''}"


@dataclass(frozen=True)
class Chapter:
    """A chapter, read from its notebook.

    Parameters
    ----------
    stem, part : str
        Its page, and the caption of its part in the contents.
    number : int
        Its place in the book, from 1.
    """

    stem: str
    part: str
    number: int

    @property
    def path(self) -> Path:
        """Its notebook."""
        return ROOT / f"book/{self.stem}.ipynb"

    @cached_property
    def notebook(self) -> nbformat.NotebookNode:
        """The notebook as its file has it."""
        return nbformat.read(self.path, as_version=4)

    @property
    def cells(self) -> list[nbformat.NotebookNode]:
        """The notebook's cells."""
        return list(self.notebook.cells)

    @property
    def misconceptions(self) -> list[str]:
        """Students' misconceptions, for teachers: rows of the notebook's metadata."""
        return list(self.notebook.metadata.get("mini_attn", {}).get("misconceptions", []))

    @cached_property
    def title(self) -> str:
        """The heading of the page."""
        return str(self.cells[0].source.split("\n")[0].removeprefix("# "))

    @cached_property
    def about(self) -> str:
        """The cell that says what the chapter is for."""
        return next(str(cell.source) for cell in self.cells if GOALS in cell.source)

    @cached_property
    def goals(self) -> list[str]:
        """The reader's new skills, from the list that begins with `GOALS`."""
        listed = self.about.split(f"{GOALS}\n\n")[1].split("\n\n")[0]
        return [line.removeprefix("- ").rstrip(";.") for line in listed.split("\n")]

    @cached_property
    def need(self) -> str:
        """The paragraph that says what the chapter needs."""
        paragraphs = self.about.split("\n\n")
        return next(p for p in paragraphs if p.startswith(("You need", "It helps")))

    def parts(self) -> Iterator[tuple[int, nbformat.NotebookNode, str]]:
        """Yield the passages outside of exercises: folding heading's cell or -1, cell and text."""
        fold, level, task = -1, 0, False
        for number, cell in enumerate(self.cells):
            if "exercise" in cell.metadata:
                continue
            if cell.cell_type == "code":
                yield fold, cell, cell.source
                continue
            for text in NEW_SECTION.split(cell.source.split(GOALS)[0]):  # the rest is in a box
                depth = len(text) - len(text.lstrip("#"))
                if depth:
                    task = bool(EXERCISE.match(text.lstrip("# ")))
                if task:  # its minutes are told apart
                    continue
                if 0 < depth <= level:
                    fold, level = -1, 0
                if depth and DEEPER in cell.metadata.get("tags", []):
                    heading, lead, *behind = text.split("\n\n", 2)
                    yield -1, cell, f"{heading}\n\n{lead}"
                    fold, level, text = number, depth, "".join(behind)
                yield fold, cell, text

    def passages(self) -> Iterator[tuple[int, float]]:
        """Yield minutes of each passage, with the cell of the heading that folds it, or -1.

        A picture in a fold is of its minutes; those that stand open are told apart.
        """
        for fold, cell, text in self.parts():
            tags = set(cell.metadata.get("tags", []))
            if tags & TRIED:
                yield fold if fold >= 0 else OPEN_TRIES, MINUTES_A_TRY
            if tags & UNREAD:
                continue
            if cell.cell_type == "code":
                yield fold, len(re.findall(r"^.*\S", text, re.MULTILINE)) / LINES_A_MINUTE
            else:
                yield fold, minutes_of_words(text)

    @cached_property
    def minutes(self) -> dict[int, int]:
        """Minutes to read what stands open, at -1, and each folded section, at its heading."""
        found: dict[int, float] = defaultdict(float)
        for fold, minutes in self.passages():
            if fold != OPEN_TRIES:
                found[fold] += minutes
        return {fold: max(1, round(minutes)) for fold, minutes in found.items()}

    @cached_property
    def trying(self) -> int:
        """Minutes for the predictions and pictures of what stands open."""
        return round(sum(minutes for fold, minutes in self.passages() if fold == OPEN_TRIES))

    @cached_property
    def reading(self) -> int:
        """Minutes to read what stands open: no predictions, no pictures, no exercises."""
        return self.minutes[-1]

    @cached_property
    def visit(self) -> int:
        """Minutes for what stands open, with its predictions and pictures."""
        return self.reading + self.trying

    @cached_property
    def deeper(self) -> int:
        """Minutes that its folded sections take together."""
        return sum(self.minutes.values()) - self.reading

    @property
    def limit(self) -> int:
        """Minutes that its open path may take."""
        return ROAD_MINUTES if self.part == ROAD else OTHER_MINUTES

    @property
    def factor(self) -> str | None:
        """The factor of the cache's bytes that it shrinks, a key of `FACTORS`, if it shrinks one.

        Raises
        ------
        ValueError
            If its metadata names another.
        """
        named = self.notebook.metadata.get("mini_attn", {}).get("factor")
        if named is not None and named not in FACTORS:
            raise ValueError(f"{self.stem} shrinks {named!r}; expected one of {', '.join(FACTORS)}")
        return named

    @cached_property
    def working(self) -> int:
        """Minutes that its exercises take."""
        return sum(task.minutes for task in self.exercises)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Chapters that it builds on."""
        sentences = [s for s in self.need.split(". ") if s.startswith("You need")]
        return tuple(LINK.findall("".join(sentences).split("for one section")[0]))

    @cached_property
    def helps(self) -> tuple[str, ...]:
        """Chapters of which it repeats what it needs, or which one section needs."""
        told = [s for s in self.need.split(". ") if s.startswith(("You need", "It helps", "["))]
        return tuple(p for p in LINK.findall(". ".join(told)) if p not in self.needs)

    @cached_property
    def places(self) -> dict[str, str]:
        """Headings by what stands under them: exercises and predictions by their keys."""
        found, heading = {}, ""
        for cell in self.cells:
            if cell.cell_type == "markdown":
                heading = ([heading, *HEADING.findall(cell.source)])[-1]
            elif tag := cell.metadata.get("exercise"):
                found[tag["id"]] = heading
            elif asked := re.match(r'Prediction\("([\w/-]+)"\)', cell.source):
                found[asked[1]] = heading
        return found

    @cached_property
    def exercises(self) -> tuple[Exercise, ...]:
        """Its exercises, in the order of the page."""
        return tuple(exercise(key) for key in self.places if "/" not in key)

    def link(self, key: str, words: str | None = None) -> str:
        """A Markdown link to the heading above an exercise or a prediction."""
        heading = self.places[key]
        words = words or EXERCISE.sub("", heading)
        return f"[{words}]({self.stem}.ipynb#{default_slugify(heading)})"


def read_chapters(root: Path = ROOT) -> dict[str, Chapter]:
    """The chapters in the order of the book, by their pages."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    pages = [(Path(c["file"]).name, p["caption"]) for p in toc["parts"] for c in p["chapters"]]
    chapters = [(stem, part) for stem, part in pages if part != "Back matter"]
    return {s: Chapter(s, part, n) for n, (s, part) in enumerate(chapters, 1)}


def chapter_at(source: Path) -> Chapter | None:
    """The chapter that a page's source is, if it is one."""
    return read_chapters().get(source.stem) if source.suffix == ".ipynb" else None


def by_part(root: Path = ROOT) -> dict[str, list[Chapter]]:
    """The chapters in the order of the book, under the captions of their parts."""
    found: dict[str, list[Chapter]] = {}
    for chapter in read_chapters(root).values():
        found.setdefault(chapter.part, []).append(chapter)
    return found


def before(chapters: dict[str, Chapter], stem: str) -> list[str]:
    """Everything that a chapter builds on, in the order of the book, itself last."""
    found, todo = {stem}, [stem]
    while todo:
        new = set(chapters[todo.pop()].needs) - found
        found |= new
        todo += new
    return [s for s in chapters if s in found]
