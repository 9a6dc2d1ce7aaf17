"""Adds help to the pages' exercises: hints, common errors and, for practice, the solution.

They are added when a page is built and exist nowhere else: not in a notebook, not in a source
copy, not in the package. A solution that does not pass its own check fails the build.

A closed build, which is what one gets, has no solution of an assessed exercise. An open one, for
people who learn alone, has them as the last step of the help (``assessed_solutions`` in
``_config.yml``, or ``SOLUTIONS=open`` in the environment of one build).
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import os
import sys
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError, ExtensionError
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
CLOSED, OPEN = "closed", "open"
ALONE = "I'm not in a class: show a solution"  # js/progress/tries.js covers it at first
sys.path.insert(0, str(ROOT))  # solutions/ is in the repository, not in the package

from mini_attn.exercises.checker import judge_answer  # noqa: E402
from mini_attn.exercises.spec import Exercise, exercise  # noqa: E402
from mini_attn.widgets.questions import inline as prose  # noqa: E402

logger = logging.getLogger(__name__)


def ladder(steps: list[tuple[str, str]], last: str = "") -> str:
    """Steps, each in a box inside the one before: they open one by one, also without JavaScript.

    ``last`` is what stands in the last one's tag.
    """
    inside = ""
    for title, body in reversed(steps):
        own = "" if inside else last
        inside = (
            f'<details class="exercise-more"{own}><summary>{escape(title)}</summary>'
            f"{body}{inside}</details>"
        )
    return inside


def with_what_it_uses(source: str, name: str) -> str:
    """Return a module's definition together with the module's other definitions that it uses.

    NumPy is left out: each starter imports it as ``np``.
    """
    made: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            made[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made |= {part.asname or part.name: node for part in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            # Its targets alone: a comprehension's variable on the right is no definition.
            for target in getattr(node, "targets", None) or [node.target]:
                made |= {part.id: node for part in ast.walk(target) if isinstance(part, ast.Name)}
    used, todo = set(), [name]
    while todo:
        node = made[todo.pop()]
        if node not in used:
            used.add(node)
            read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            todo += sorted(read & made.keys() - {"np"})
    lines, parts = source.splitlines(), sorted(used, key=lambda node: node.lineno)
    shown = ("\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in parts)
    return "\n\n\n".join(shown) + "\n"


def solution_of(task: Exercise) -> ModuleType:
    """Return what the teacher's checkout has of an exercise."""
    try:
        return import_module(f"solutions.{task.id}")
    except ModuleNotFoundError:
        raise ExtensionError(
            f"there's no solutions/{task.id}.py to show: a copy without assessed solutions builds "
            f"closed pages only (assessed_solutions: {CLOSED})"
        ) from None


def solution_code(task: Exercise) -> str:
    """The reference as it is run here, once it has passed its own check."""
    module = solution_of(task)
    report = judge_answer(task.id, module.REFERENCE)
    if report.failed:
        raise ExtensionError(f"the solution of {task.id} fails its check: {report.message}")
    if callable(module.REFERENCE):
        return with_what_it_uses(inspect.getsource(module), module.REFERENCE.__name__)
    lines = inspect.getsource(module).split('"""\n', 1)[1].split("\nWRONG", 1)[0]
    return f"{lines.replace('REFERENCE', 'answer').strip()}\n# {module.REFERENCE}\n"


def last_step(task: Exercise) -> tuple[str, str]:
    """Return the solution, or a model answer, which scripts hide until one was written or tried."""
    if task.kind == "open":
        title = "Compare with a model answer"
        model = MarkdownIt("commonmark", {"html": False}).render(solution_of(task).MODEL)
        body = f"<div>{model}</div>"
    else:
        title = "Solution (it passed the check when this page was built)"
        code = highlight(solution_code(task), PythonLexer(), HtmlFormatter(nowrap=True))
        body = f'<div class="highlight"><pre tabindex="0">{code}</pre></div>'
    return ALONE if task.assessed else title, body


def more(task: Exercise, solutions: str = CLOSED) -> str:
    """Return the help to an exercise: what to think of, then how, then what goes wrong.

    The last step is the solution of practice and, where ``solutions`` are open, of all.
    """
    idea, way = (f"<p>{prose(text)}</p>" for text in task.hints)
    errors = "".join(f"<li>{prose(text)}</li>" for text in task.common_errors)
    steps = [
        ("Help", f'<p class="exercise-idea">Hint 1: the idea</p>{idea}'),
        ("Hint 2: the steps", way),
        ("Common errors", f"<ul>{errors}</ul>"),
    ]
    last = ""
    if not task.assessed or solutions == OPEN:
        steps.append(last_step(task))
        covered = task.kind == "open" or task.assessed
        last = f' id="model-{task.id}"' if covered else ""
        last += " data-assessed" if task.assessed else ""
    return f'<div class="exercise-boxes">{ladder(steps, last)}</div>'


def scrambled(text: str, key: str) -> str:
    """Return a text that nobody reads by looking; ``readable`` in pencil/question.js undoes it."""
    state = sum(key.encode())
    mixed = bytearray()
    for byte in text.encode():
        state = (state * 75 + 74) % 65537
        mixed.append(byte ^ (state & 255))
    return base64.b64encode(mixed).decode()


def page_data(task: Exercise) -> str:
    """Return what the page needs to judge a pencil exercise, as JSON.

    The numbers of an assessed one are scrambled, so a look at the page's source doesn't give them
    away. That's no secret, and no digest would be one where a loop can try all numbers: the
    question is in the package too, and what earns a grade is checked by the teacher.
    """
    question: Any = task.question.data()
    if task.assessed:
        question = scrambled(json.dumps(question), task.id)
    data = {
        "id": task.id, "page": task.page, "title": task.title, "points": task.points,
        "unit": task.question.unit, "question": question,
    }  # fmt: skip
    # "</script>" inside the data would end the element that carries it.
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")


def answer_place(task: Exercise) -> str:
    """Return the place for a pencil exercise's number, empty until the script fills it."""
    data = f'<script type="application/json">{page_data(task)}</script>'
    return f'<div class="pencil" hidden>{data}</div>'


def words_place(task: Exercise) -> str:
    """Return the place for an answer in words, which also shows its rubric."""
    facts = {name: getattr(task, name) for name in ("id", "page", "title", "points", "assessed")}
    rubric = [[prose(says), points] for says, points in task.rubric.items()]
    data = json.dumps(facts | {"rubric": rubric}).replace("<", "\\u003c")
    return f'<div class="in-words" hidden><script type="application/json">{data}</script></div>'


def place_of(task: Exercise) -> str:
    """Return the place on the page where the exercise is done."""
    if task.kind == "open":
        return words_place(task)
    return answer_place(task) if task.kind == "pencil" else here(task)


def notebook_link(task: Exercise) -> str:
    """The way to this exercise in the browser notebook; its address comes with the page's."""
    return (
        f'<p class="exercise-elsewhere"><a class="run-exercise" href="notebook:{task.id}" '
        f'target="living-{task.page}">In the browser notebook</a> '
        f'<span class="run-note">in a tab of its own</span>{clinic_link(task)}</p>'
    )


def clinic_link(task: Exercise) -> str:
    """The way to the same exercise among all repairs, if it is one."""
    if task.kind != "bug":
        return ""
    return f' <a class="exercise-ward" href="clinic.html#case-{task.id}">In the bug clinic</a>'


def here(task: Exercise, title: str = "") -> str:
    """Return the same place on a page that runs Python, where it may go by another title."""
    data = json.dumps(
        {"id": task.id, "page": task.page, "title": title or task.title, "starter": task.starter}
    ).replace("<", "\\u003c")
    return (
        '<div class="here" hidden><script type="application/json">'
        f'{data}</script><div class="here-place"></div></div>'
    )


def add_boxes(app: Sphinx, doctree: nodes.document) -> None:
    """Put a place to do it and its help in the place of every check cell.

    What the cell of a question in words prints is its rubric, for paper. The table of a session's
    progress is for notebooks too: a page has its own.
    """
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") != "cell_code":
            continue
        if cell.children and cell[0].astext().strip() == "progress()":
            cell.parent.remove(cell)
            continue
        tag: dict[str, Any] = cell.get("cell_metadata", {}).get("exercise", {})
        if tag:
            cell["classes"] += ["exercise-cell", f"exercise-cell-{tag['id']}"]
        if tag.get("role") != "check":
            continue
        task = exercise(tag["id"])
        for source in (f"mini_attn/exercises/bank/{task.id}.py", f"solutions/{task.id}.py"):
            app.env.note_dependency(str(ROOT / source))
        help_ = more(task, app.config.assessed_solutions)
        added = place_of(task) + notebook_link(task) + help_
        rubric = [part for part in cell if part.get("nb_element") != "cell_code_source"]
        cell.children = rubric if task.kind == "open" else []
        kept = [cell] if cell.children else []
        cell.parent.replace(cell, [*kept, nodes.raw("", added, format="html")])


def set_solutions(app: Sphinx, config: Config) -> None:
    """Take the setting for this build from the environment, if it's there, and refuse a third."""
    chosen = os.environ.get("SOLUTIONS") or config.assessed_solutions
    if chosen not in (CLOSED, OPEN):
        raise ConfigError(f"assessed_solutions (SOLUTIONS) is {chosen!r}: say {CLOSED} or {OPEN}")
    config.assessed_solutions = chosen
    if chosen == OPEN:
        logger.info("[exercises] an open build: pages show solutions of assessed exercises")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    # "env": a page is read again when this changes, as its help is part of what was read.
    app.add_config_value("assessed_solutions", CLOSED, "env", str)
    app.connect("config-inited", set_solutions)
    app.connect("doctree-read", add_boxes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
