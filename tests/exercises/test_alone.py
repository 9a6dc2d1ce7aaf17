"""What a teacher's run will miss is said beside a check that is passed."""

from __future__ import annotations

import inspect
import linecache
import re
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from classroom.grading.judge import judge
from mini_attn.exercises import check, exercise, on_page
from mini_attn.exercises.alone import defined_alone, what_lacks
from solutions import expand_heads

TASK = exercise("expand_heads")
RIGHT = inspect.getsource(expand_heads.REFERENCE)  # not written here: a public copy has the tests
HELPED = re.sub("return .*", "return copied(k, n_heads)", RIGHT)
HELPER = RIGHT.replace("expand_heads", "copied")
ALIAS = RIGHT.replace("return ", "ma.softmax(k)\n    return ")

# A cell, its verdict where a teacher grades, and what a learner is told.
CELLS = {
    "right": (RIGHT, True, ""),
    "a helper of its own": (HELPER + HELPED, True, ""),
    "a helper elsewhere": (HELPED, False, "copied is not defined in this cell"),
    "the package": (ALIAS, False, "ma is not there where your teacher grades"),
    "an import of it": ("import mini_attn.numpy as ma\n" + ALIAS, False, "ma is not there"),
    "an import within": (RIGHT.replace("return", "import torch\n    return"), False,
                         "torch is not"),
    "an import that is not used": ("from mini_attn.exercises import check\n" + RIGHT, True, ""),
    "a trial line": (RIGHT + "print(ma, copied)\n", True, ""),
    "another function": (RIGHT + "def other(): return ma, copied\n", True, ""),
    "magic": ("%matplotlib inline\n" + RIGHT, True, ""),
    "magic within": (RIGHT.replace("return", "%time 3\n    return"), True, ""),
    "magic that is kept": (RIGHT + "a, b = %timeit -o 3\nfiles = !ls\n", True, ""),
    "questions": (RIGHT + "expand_heads?\n?np.repeat\nnp.r*??\n", True, ""),
    "a wait": (RIGHT + "await expand_heads\n", True, ""),
    "a return in no function": (RIGHT + "return 3\n", True, ""),
    "a default": (RIGHT.replace("n_heads)", "n_heads, by=LIMIT)", 1), False, "LIMIT is not"),
    "a comprehension": (RIGHT.replace("return", "_ = [i for i in range(3)]\n    return"), True, ""),
    "a class": ("class A:\n    x = 1\n    y = x\n" + RIGHT.replace("return", "A()\n    return"),
                True, ""),
}  # fmt: skip

# Lines that Jupyter runs, or says a word about, and Python does not.
JUPYTER_S = re.compile(r"\s*(%|print|await |return 3$|.*= [%!]|.*\?)")


def in_notebook(*cells: str) -> dict[str, Any]:
    """Run cells as Jupyter does: in one namespace, each with a file name that is on no disk."""
    space: dict[str, Any] = {}
    cells = ("import numpy as np\nimport mini_attn.numpy as ma\nLIMIT = 3", *cells)
    for number, source in enumerate(cells):
        file = f"/tmp/ipykernel_0/{hash(cells)}{number}.py"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        lines = [line for line in source.splitlines() if not JUPYTER_S.match(line)]
        exec(compile("\n".join(lines), file, "exec"), space)
    return space


@pytest.mark.slow
@pytest.mark.parametrize("kind", CELLS)
def test_the_check_says_what_the_teacher_s_run_says(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a notebook and on a page: passed here, and a note just where it would fail there."""
    source, passes, words = CELLS[kind]
    space = in_notebook(HELPER, source)
    check("expand_heads", space["expand_heads"])
    said = capsys.readouterr().out
    assert "3 of 3 points" in said
    assert ("note:" in said) == (not passes)
    assert words in " ".join(said.split())
    check("expand_heads", space["expand_heads"], alone=True)
    alone = capsys.readouterr().out
    there = judge(TASK, [source], TASK.name, seed=7).report
    assert ("solved" in alone) == passes == (there.failed is None), (alone, there.message)


def test_a_helper_s_cell_counts_if_it_is_handed_in_with_the_answer() -> None:
    assert judge(TASK, [HELPED, HELPER], TASK.name, seed=7).report.failed is None


def test_a_renamed_function_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    source = RIGHT.replace("expand_heads", "mine")
    space = in_notebook(source)
    check("expand_heads", space["mine"])
    assert "looks for the answer as expand_heads" in " ".join(capsys.readouterr().out.split())
    check("expand_heads", space["mine"], alone=True)
    assert "defines no function called expand_heads" in " ".join(capsys.readouterr().out.split())


def test_a_page_says_it_too() -> None:
    on_page.run("import mini_attn.numpy as ma\n" + HELPER, "cell", lambda kind, text: None)
    for source, words in ((RIGHT, ""), (HELPED, "copied is not"), (ALIAS, "ma is not there")):
        report = on_page.check("expand_heads", source, lambda kind, text: None)["report"]
        assert report["state"] == "solved"
        assert words in " ".join(report["notes"])
        assert bool(report["notes"]) == bool(words)


def test_what_is_in_no_cell_has_no_note(capsys: pytest.CaptureFixture[str]) -> None:
    """A function of a module, and one whose source nobody keeps."""
    space: dict[str, Any] = {}
    exec("import numpy as np\n" + RIGHT, space)
    check("expand_heads", space["expand_heads"])
    assert "note" not in capsys.readouterr().out
    check("expand_heads", space["expand_heads"], alone=True)
    assert "cell cannot be found" in " ".join(capsys.readouterr().out.split())
    check("tiled_heads", 3, alone=True)
    assert "not yet" in capsys.readouterr().out


def test_references_need_nothing_from_elsewhere() -> None:
    from tests.classroom.test_judge import reference

    for key in ("cached_step", "rope_rotate", "attention_gradient", "ring_slots", "expand_heads"):
        assert what_lacks(exercise(key), reference(key)) == []
    assert inspect.signature(check).parameters["alone"].kind.name == "KEYWORD_ONLY"


@pytest.mark.parametrize("source", ["", "def (", "(" * 300, "\x00", "x = 1", "return 3"])
def test_odd_cells_are_read(source: str) -> None:
    assert len(what_lacks(TASK, source)) == (source in ("x = 1", "return 3"))
    found, notes = defined_alone(TASK, source)
    assert found is None
    assert bool(notes) == (source not in ("", "x = 1"))


def test_jupyter_s_own_shell_keeps_the_cells(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell()
    for source in ("import numpy as np\nfrom mini_attn.exercises import check\n" + HELPER, HELPED,
                   'check("expand_heads", expand_heads)',
                   'check("expand_heads", expand_heads, alone=True)'):  # fmt: skip
        shell.run_cell(source)
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("copied is not defined in this cell") == 2
    assert "NameError: name 'copied' is not defined" in said
