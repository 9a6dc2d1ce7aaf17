"""What make calls: short targets with a line of help, and steps that leave no test out."""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import pytest_collection_modifyitems
from tools import ROOT, test

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):([^=\n]*)\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
BROWSER = {"browser", "lite"}
MARKERS = ["browser", "lite", "slow", "site", "exhaustive", "soak", "gpu", "hypothesis"]


def test_every_target_is_short_and_explained():
    assert {"check", "test", "test-all", "soak", "gpu", "book"} <= {name for name, _, _ in TARGETS}
    for name, head, recipe in TARGETS:
        assert " ## " in head, name
        assert 1 <= len(recipe.splitlines()) <= 3, name
        assert re.search(rf"^\.PHONY:.* {name}\b", MAKEFILE, re.MULTILINE), name


def test_every_file_of_tests_lies_in_a_room_that_is_run():
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert len(files) > 80
    assert files == set(test.FILES)
    longest = [path.split("/")[1] in test.LONGEST for path in test.FILES]
    assert longest == sorted(longest, reverse=True)
    assert any(longest)


@pytest.mark.parametrize("mark", test.SELECTS)
def test_a_mark_by_which_runs_choose_stands_in_the_file(mark: str, tmp_path: Path) -> None:
    """Else the runs that look for it there would leave its tests out."""
    path = tmp_path / "test_it.py"
    item = SimpleNamespace(path=path, iter_markers=lambda: [getattr(pytest.mark, mark).mark])
    path.write_text("from kinds import MARKED as test_it")
    with pytest.raises(pytest.UsageError, match=f"mark.{mark} stands in no line"):
        pytest_collection_modifyitems([item])
    path.write_text(f"@pytest.mark.{mark}\ndef test_it(): pass")
    pytest_collection_modifyitems([item])


def selections(steps: list) -> list[str]:
    """The markers that each run of tests asks for."""
    return [step[step.index("-m") + 1] for _, step in steps if "-n" in step and "-m" in step]


def chosen(steps: list, marks: set[str]) -> int:
    """How many of the steps run a test with these marks."""
    names = {name: name in marks for name in MARKERS}
    return sum(eval(asked, {"__builtins__": {}}, names) for asked in selections(steps))


def test_no_marker_falls_between_the_steps():
    """Whatever marks a test has, one step runs it: of test, else of test-all, else of soak."""
    for count in range(len(MARKERS) + 1):
        for marks in map(set, itertools.combinations(MARKERS, count)):
            times = [chosen(steps, marks) for steps in (test.TEST, test.TEST_ALL, test.SOAK)]
            left_out = marks & {"soak", "exhaustive"}
            assert times[0] == (not left_out), marks
            assert times[1] == (left_out == {"exhaustive"}), marks
            assert times[2] == bool(left_out or ("hypothesis" in marks and not marks & BROWSER))
            assert chosen(test.CHECK, marks) == (marks <= {"hypothesis", "gpu"}), marks


def test_the_book_is_built_before_its_tests():
    for name in ("test", "test-all", "soak"):
        assert re.search(rf"^{name}: book ", MAKEFILE, re.MULTILINE), name


def test_bare_pytest_runs_what_make_test_runs():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert options["tool"]["pytest"]["ini_options"]["addopts"].endswith(
        "-m 'not (soak or exhaustive)'"
    )


def test_continuous_integration_runs_test_and_what_it_leaves_out():
    for path in (".ci/run", ".github/workflows/tests.yml"):
        assert re.search(r"^.*\bmake test test-all$", (ROOT / path).read_text(), re.MULTILINE), path


@pytest.mark.parametrize(
    ("which", "status", "ends"),
    [("test-all", 5, None), ("test", 5, "failed"), ("test-all", 1, "failed"), ("test", 0, None)],
)
def test_only_what_adds_cases_may_find_none(
    which: str, status: int, ends: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pytest's exit status is 5 where no test was selected."""
    steps = {which: [("a step", [sys.executable, "-c", f"raise SystemExit({status})"])]}
    monkeypatch.setattr(test, "ALL", steps)
    with pytest.raises(SystemExit, match=ends) if ends else contextlib.nullcontext():
        test.main(which)
