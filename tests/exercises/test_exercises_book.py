"""Where solutions may be seen: practice in the page, and nowhere else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from classroom.sheets.leaks import telling_line
from mini_attn.exercises import exercise, exercise_ids
from tools import HTML, ROOT

pytestmark = pytest.mark.site

PRACTICE = [i for i in exercise_ids() if not exercise(i).assessed]
ASSESSED = [i for i in exercise_ids() if exercise(i).assessed]


@cache
def texts(*patterns: str) -> dict[Path, str]:
    """Files of the built site and the book's sources, as text."""
    files = [path for pattern in patterns for path in HTML.glob(pattern) if path.is_file()]
    assert files, f"no {patterns} in {HTML}: run `make book` first"
    return {path: path.read_text(encoding="utf-8", errors="ignore") for path in files}


@cache
def plain(html: str) -> str:
    """Text without tags, as a reader sees it."""
    import html as entities
    import re

    return entities.unescape(re.sub(r"<[^>]+>", "", html))


@pytest.mark.parametrize("exercise_id", PRACTICE)
def test_practice_solution_stands_in_the_page(exercise_id: str) -> None:
    page = texts(f"book/{exercise(exercise_id).page}.html")
    assert any(telling_line(exercise_id) in plain(text) for text in page.values())


@pytest.mark.parametrize("exercise_id", ASSESSED)
def test_assessed_solution_is_nowhere_in_the_site(exercise_id: str) -> None:
    line = telling_line(exercise_id)
    for path, text in texts("**/*.html", "**/*.ipynb", "**/*.js", "**/*.txt").items():
        assert line not in text, path
        assert path.suffix != ".html" or line not in plain(text), path


@pytest.mark.parametrize("exercise_id", exercise_ids())
def test_no_notebook_holds_a_solution(exercise_id: str) -> None:
    line = telling_line(exercise_id)
    notebooks = [*(ROOT / "book").glob("*.ipynb"), *texts("**/*.ipynb")]
    for path in notebooks:
        assert line not in path.read_text(encoding="utf-8"), path


def test_no_sources_are_published() -> None:
    assert not (HTML / "_sources").exists()
