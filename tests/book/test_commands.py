"""What make calls: short targets with a line of help, and steps that leave no test out."""

from __future__ import annotations

import re

from tools import ROOT, test

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):([^=\n]*)\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)


def test_every_target_is_short_and_explained():
    assert {"check", "test", "soak", "gpu", "book"} <= {name for name, _, _ in TARGETS}
    for name, head, recipe in TARGETS:
        assert " ## " in head, name
        assert 1 <= len(recipe.splitlines()) <= 3, name
        assert re.search(rf"^\.PHONY:.* {name}\b", MAKEFILE, re.MULTILINE), name


def test_every_file_of_tests_lies_in_a_room_that_is_run():
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert len(files) > 80
    assert {path.rsplit("/", 1)[0] for path in files} == set(test.ROOMS)
    assert set(test.FAST) < set(test.ROOMS)


def test_no_marker_falls_between_the_steps():
    """What units leave out is what the browser's step and the soak name."""
    asked = [command for _, command in test.TEST if "-m" in command and "-n" in command]
    marks = [command[command.index("-m") + 1] for command in asked]
    assert marks == ["not (browser or lite or soak)", "(browser or lite) and not soak"]
    soaked = [command[command.index("-m") + 1] for _, command in test.SOAK if "-n" in command]
    assert soaked == [
        "(browser or lite) and soak",
        "(hypothesis or soak) and not (browser or lite)",
    ]
    assert re.search(r"^soak: book ", MAKEFILE, re.MULTILINE)  # the first reads its pages
    assert "-m 'not soak'" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
