"""What a page shows of an assessed solution, in a closed and in an open build."""

from __future__ import annotations

import re
from html import unescape
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from sphinx.config import Config
from sphinx.errors import ConfigError, ExtensionError

from classroom.adapters.page import without_the_book
from classroom.sheets.leaks import code_lines, telling_line
from mini_attn.exercises import exercise, exercise_ids
from tests.scripts import script

EXTENSION = script("book/_ext/exercises.py")
ASSESSED = [i for i in exercise_ids() if exercise(i).assessed]
IN_CODE = [i for i in ASSESSED if exercise(i).kind != "open"]


def shown(exercise_id: str, solutions: str) -> str:
    """Return the text of the help to an exercise."""
    return BeautifulSoup(EXTENSION.more(exercise(exercise_id), solutions), "html.parser").get_text()


@pytest.mark.parametrize("exercise_id", ASSESSED)
def test_a_closed_build_has_no_byte_of_an_assessed_solution(exercise_id: str) -> None:
    task, line = exercise(exercise_id), telling_line(exercise_id)
    closed = EXTENSION.more(task)
    assert closed == EXTENSION.more(task, "closed")
    assert line not in unescape(re.sub(r"<[^>]+>", "", closed))
    assert "data-assessed" not in closed
    assert line in shown(exercise_id, "open")


@pytest.mark.parametrize("exercise_id", ASSESSED)
def test_an_open_build_ends_its_help_with_the_solution(exercise_id: str) -> None:
    """The last step, inside the others, where a script can cover it."""
    place = BeautifulSoup(EXTENSION.more(exercise(exercise_id), "open"), "html.parser")
    titles = [one.get_text() for one in place.find_all("summary")]
    assert titles[:3] == ["Help", "Hint 2: the steps", "Common errors"]
    assert titles[3:] == ["I'm not in a class: show a solution"]
    (last,) = place.find_all(attrs={"data-assessed": True})
    assert last["id"] == f"model-{exercise_id}"
    assert len(list(last.parents)) == 5  # three steps, the boxes and the text


def test_practice_is_the_same_in_both() -> None:
    practice = [i for i in exercise_ids() if i not in ASSESSED]
    for exercise_id in practice:
        task = exercise(exercise_id)
        assert EXTENSION.more(task, "open") == EXTENSION.more(task)
    assert practice


@pytest.mark.parametrize("exercise_id", IN_CODE)
def test_a_solution_begins_by_saying_why(exercise_id: str) -> None:
    """The first line inside the function, or above a number, is a comment of some words."""
    task = exercise(exercise_id)
    lines = EXTENSION.solution_code(task).splitlines()
    start = 0
    if task.kind != "pencil":
        name = script(f"solutions/{exercise_id}.py").REFERENCE.__name__
        start = next(n for n, line in enumerate(lines) if line.startswith(f"def {name}(")) + 1
    words = lines[start].split()
    assert words[0] == "#", lines[start]
    assert len(words) > 5
    assert all(len(line) <= 72 for line in lines if line.lstrip().startswith("#"))
    assert telling_line(exercise_id) in "\n".join(code_lines("\n".join(lines)))


def test_a_comment_is_never_the_line_that_tells() -> None:
    """Who copies code may drop the comments."""
    assert code_lines("def f():\n    # why\n    return 1  # what\n") == [
        "def f():", "return 1  # what",
    ]  # fmt: skip


def test_a_copy_without_the_solutions_can_only_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(EXTENSION, "import_module", absent)
    assert "Hint 2" in EXTENSION.more(exercise("late_mask"), "closed")
    with pytest.raises(ExtensionError, match=r"no solutions/late_mask\.py to show.*closed"):
        EXTENSION.more(exercise("late_mask"), "open")


@pytest.mark.parametrize(
    ("setting", "said", "used"),
    [("closed", None, "closed"), ("open", None, "open"), ("closed", "open", "open"),
     ("open", "closed", "closed"), ("closed", "", "closed")],
)  # fmt: skip
def test_the_environment_decides_over_the_setting(
    setting: str, said: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = SimpleNamespace(assessed_solutions=setting)
    monkeypatch.delenv("SOLUTIONS", raising=False)
    if said is not None:
        monkeypatch.setenv("SOLUTIONS", said)
    EXTENSION.set_solutions(None, config)
    assert config.assessed_solutions == used


def test_a_third_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLUTIONS", "yes")
    with pytest.raises(ConfigError, match="'yes': say closed or open"):
        EXTENSION.set_solutions(None, Config())


@pytest.mark.parametrize("exercise_id", ASSESSED)
def test_a_package_for_a_class_takes_nothing_from_an_open_build(exercise_id: str) -> None:
    """SCORM is made from the built pages."""
    page = f"<article>{EXTENSION.more(exercise(exercise_id), 'open')}<p>after</p></article>"
    kept = without_the_book(page, python=True)
    assert kept == f"<article>{EXTENSION.more(exercise(exercise_id))}<p>after</p></article>"
