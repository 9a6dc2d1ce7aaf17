"""One answer, run in its own process and judged here, says what the notebook says."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classroom.grading import process
from classroom.grading.judge import Judged, judge, probe
from classroom.grading.process import end_all
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise
from mini_attn.exercises.checker import SEED as LEARNERS
from mini_attn.exercises.checker import judge_answer
from mini_attn.exercises.spec import GROUPS, checked_ids
from tests.sampling import sampled

SEED = 7


def judged(key: str, *cells: str, **limits: Any) -> Judged:
    asked = exercise(key)
    return judge(asked, list(cells), asked.name, seed=SEED, **limits)


def reference(key: str) -> str:
    """A cell that a student who has solved it may have written."""
    module = importlib.import_module(f"solutions.{key}")
    asked = exercise(key)
    if asked.kind == "pencil":
        return f"answer = {module.REFERENCE!r}"
    source = inspect.getsource(module).split("\nREFERENCE", 1)[0]
    return f"{source}\n{asked.name} = {module.REFERENCE.__name__}"


@pytest.mark.parametrize("key", sampled(checked_ids(), lambda key: exercise(key).kind, 8))
def test_references_earn_everything(key: str) -> None:
    report = judged(key, reference(key)).report
    assert report.failed is None, report.message
    assert report.notes == []
    assert report.points == exercise(key).points


@pytest.mark.parametrize("key", sampled(checked_ids(), lambda key: exercise(key).kind, 4))
def test_starters_earn_nothing(key: str) -> None:
    found = judged(key, exercise(key).starter)
    assert found.report.points == 0
    assert not found.stopped


@pytest.mark.parametrize("key", ["chunk_mask", "expand_heads", "tiled_heads"])
def test_a_wrong_answer_hears_the_same_words_as_in_the_notebook(key: str) -> None:
    module = importlib.import_module(f"solutions.{key}")
    source = inspect.getsource(module)
    for number, (name, wrong, _, words) in enumerate(module.WRONG):
        here = judge_answer(key, wrong, seed=SEED)
        # In a namespace of its own: a wrong answer may call the right one by its name.
        cell = (
            f"own = {{}}\nexec({source!r}, own)\n{exercise(key).name} = own['WRONG'][{number}][1]"
        )
        there = judged(key, cell).report
        assert there.failed == here.failed, name
        assert words in there.message, name


def test_an_error_in_a_trial_line_does_not_lose_the_answer() -> None:
    cells = ["print(no_such_name)\n1 / 0\n", reference("expand_heads") + "\nexpand_heads(1, 2)"]
    found = judged("expand_heads", *cells)
    assert found.report.failed is None
    assert [note.split(":")[1].strip() for note in found.notes] == [
        "It raised NameError", "It raised ZeroDivisionError", "It raised AttributeError",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("def expand_heads(k, n_heads:\n    pass", "cannot be read: .* in line 1"),
        ("x = 1", "no function called expand_heads"),
        ("x = 1\n\x00", "cannot be read: source code .*null bytes$"),
        ("x = " + "-" * 80_000 + "1", "cannot be read: it is nested too deeply"),
        ("x = '\ud800'", "cannot be read: it holds half of a character"),
        ("expand_heads = 3", "should be a function; it is a int"),
        ("def expand_heads(k, n_heads):\n    import mini_attn", "mini_attn is not there"),
        ("def expand_heads(k, n_heads): return ma.softmax(k)", "mini_attn is not there"),
        ("from torch import nn", "torch is not there"),
        ("import solutions.expand_heads", "solutions is not there .* .line 1 of"),
        ("def expand_heads(k, n_heads): return [1]", "NumPy array; it is a list"),
        ("def expand_heads(k, n_heads): return k.astype(object)", "shape|dtype|floating"),
        ("def expand_heads(k, n_heads): open('x')", "no files where an answer is graded"),
    ],
)
def test_what_is_wrong_is_said(cell: str, words: str) -> None:
    report = judged("expand_heads", cell).report
    assert report.points == 0
    assert re.search(words, report.message), report.message


def test_lines_for_the_notebook_alone_are_left_out() -> None:
    cell = "%matplotlib inline\n" + reference("expand_heads") + "\n!ls\n"
    assert judged("expand_heads", cell).report.failed is None


@pytest.mark.parametrize(
    "line",
    [
        "np.random.default_rng(0).normal()", "np.ma.masked_array([1.0])", "np.fft.fft(k[0, 0])",
        "np.testing.assert_allclose(k, k)", "np.polynomial.Polynomial([1])", "np.linalg.norm(k)",
        "from concurrent.futures import Future", "import collections, dataclasses, typing",
        "import random, statistics, decimal, fractions, itertools, functools, operator, copy, time",
        "import json, re, string, textwrap, warnings, math, heapq, bisect, enum, abc",
        "print(np.array2string(k), repr(k))", "warnings = __import__('warnings').warn('careful')",
    ],
)  # fmt: skip
def test_honest_tools_are_there(line: str) -> None:
    cell = reference("expand_heads") + (
        "\nright = expand_heads\ndef expand_heads(k, n_heads):\n"
        f"    {line}\n    return right(k, n_heads)"
    )
    report = judged("expand_heads", cell).report
    assert report.failed is None, report.message


def test_what_the_task_forbids_fails_here_too() -> None:
    cell = reference("rope_rotate") + (
        "\nright = rope_rotate\ndef rope_rotate(x, positions, theta):\n"
        "    x[:] = right(x, positions, theta)\n    return x"
    )
    report = judged("rope_rotate", cell).report
    assert (report.failed, report.points) == ("repeatable", 0)
    assert "writes into x" in report.message


def test_who_ends_the_process_after_a_fault_hears_of_the_fault() -> None:
    cell = (
        "import os\ncalls = []\ndef expand_heads(k, n_heads):\n    calls.append(1)\n"
        "    if len(calls) > 2: os._exit(0)\n"
        "    return np.tile(k, (1, n_heads // k.shape[1], 1, 1))"
    )
    found = judged("expand_heads", cell)
    assert (found.report.failed, found.report.points) == ("by hand", 0)


def test_calls_of_check_and_hint_in_a_cell_are_harmless() -> None:
    cell = 'hint("expand_heads")\n' + reference("expand_heads")
    assert judged("expand_heads", cell + "\nprogress()").notes == []


def test_what_an_answer_printed_and_changed_is_noted() -> None:
    cell = reference("expand_heads") + (
        "\nright = expand_heads\ndef expand_heads(k, n_heads):\n    out = right(k, n_heads).copy()"
        "\n    k += 1\n    print('hello')\n    return out"
    )
    report = judged("expand_heads", cell).report
    assert report.failed is None
    assert any("changed its input k" in note for note in report.notes)
    assert any("it printed: hello" in note for note in report.notes)


@pytest.mark.parametrize(
    "line",
    ["print({'a', 'b', 'c'}, hash('a'))", "print(object())", "raise ValueError(object())",
     "print(np.random.normal())", "import random; print(random.random())"],
)  # fmt: skip
def test_the_same_answer_is_told_the_same_words(line: str) -> None:
    cell = f"def expand_heads(k, n_heads):\n    {line}\n    return k"
    one, other = (judged("expand_heads", cell).report for _ in range(2))
    assert (one.message, one.notes) == (other.message, other.notes)
    assert one.notes or "ValueError" in one.message


LEAKS = {
    "an exception": "raise ValueError(str(k.ravel()[:3]))",
    "a lookup": "return {}[str(k.ravel()[:3])]",
    "its kind": "raise type('E' + k.tobytes().hex()[:40], (Exception,), {})()",
    "a print": "print(k.ravel()[:3]); return k",
    "a warning": "import warnings; warnings.warn(str(k.ravel()[:3])); return k",
    "a shape": "return np.zeros([int(1000 * abs(x)) for x in k.ravel()[:3]] + [0])",
    "a kind of object": "return type('T' + k.tobytes().hex()[:40], (), {})()",
    "NaN at a place": "return k * np.where(k == k.max(), np.nan, 1)",
}


@pytest.mark.parametrize("first", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("leak", LEAKS)
def test_no_text_carries_what_was_asked(leak: str, first: bool) -> None:
    """Neither of an answer that always speaks, nor of one that knows the learner's cases."""
    cases = exercise("expand_heads").cases(np.random.default_rng(LEARNERS))
    sums = [round(float(case["k"].sum()), 6) for group in cases.values() for case in group]
    known = "k.size == 12" if first else f"round(float(k.sum()), 6) in {sums}"
    cell = (
        f"{reference('expand_heads')}\nright = expand_heads\ndef expand_heads(k, n_heads):\n"
        f"    if {known}: return right(k, n_heads)\n    {LEAKS[leak]}"
    )
    told = [judge(exercise("expand_heads"), [cell], "expand_heads", seed=n) for n in (1, 2)]
    assert all(one.report.failed for one in told)
    if told[0].report.failed not in GROUPS:
        assert told[0].report.message == told[1].report.message
    assert told[0].report.notes == told[1].report.notes
    if not first and told[0].report.failed not in GROUPS:
        assert "the notebook's own check does not have" in told[0].report.message


def test_an_answer_that_waits_is_ended() -> None:
    cell = "import time\ndef expand_heads(k, n_heads): time.sleep(1000)"
    found = judged("expand_heads", cell, wall_seconds=3)
    assert found.stopped
    assert "did not come to an end" in found.report.message


def test_all_answers_can_be_ended_at_once() -> None:
    found: list[Judged] = []
    cell = "import time\ndef expand_heads(k, n_heads): time.sleep(1000)"
    thread = threading.Thread(target=lambda: found.append(judged("expand_heads", cell)))
    thread.start()
    while thread.is_alive():
        end_all()
        thread.join(0.1)
    assert found[0].stopped
    assert not process._running


def test_a_machine_that_cannot_run_answers_is_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "RUNNER", process.RUNNER / "nowhere")
    with pytest.raises(ConfigError, match="cannot be run on this machine"):
        probe()


# Stands in for the worker: says hello, waits for the cells and dies, or says something.
DIES = """\
import os, signal, sys
out = os.fdopen(1, "wb", 0)
out.write(b'{{"in_force": {{}}, "blobs": []}}\\n')
sys.stdin.buffer.readline()
{dies}
"""


def of_stand_in(
    monkeypatch: pytest.MonkeyPatch, folder: Path, dies: str, key: str = "tiled_heads"
) -> Judged:
    """What is judged of a worker that ends in this way."""
    (folder / "worker.py").write_text(DIES.format(dies=dies))
    monkeypatch.setattr(process, "WORKER", folder / "worker.py")
    return judged(key, "answer = 1")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [1, 6, 9, 11, 14, 24, 34, 40, 63, 64])
def test_any_signal_is_that_answer_s_result(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that Python has no name for, too."""
    restored = f"number = {number}\nif number != 9: signal.signal(number, 0)\n"
    found = of_stand_in(monkeypatch, tmp_path, restored + "os.kill(os.getpid(), number)")
    assert (found.stopped, found.report.failed, found.report.points) == (True, "runs", 0)
    late = number in process.TIME_SIGNALS
    assert ("come to an end" if late else "process crashed (") in found.report.message
    if number == 40:
        assert "(signal 40)" in found.report.message


@pytest.mark.parametrize("number", [32, 33])
def test_the_signals_of_the_c_library_are_told_by_number(number: int) -> None:
    """What they do to a process that sends them to itself depends on who started it."""
    assert process._ending(-number, late=False) == f"Its process crashed (signal {number})."


@pytest.mark.parametrize("code", [0, 1, 2, 42, 120, 126, 127, 128, 137, 255])
def test_any_exit_code_is_that_answer_s_result(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of_stand_in(monkeypatch, tmp_path, f"os._exit({code})")
    assert found.stopped
    assert found.report.message == process.ENDED_ITSELF


SAYS = {"known": True, "callable": True, "value": {"constant": "None"}, "notes": [], "blobs": []}
DONE: dict[str, Any] = {
    "value": {"constant": "None"}, "problem": None, "attempted": True, "mutated": [],
    "printed": "", "complaints": "", "peak": 0, "blobs": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "odd",
    [{"peak": math.inf}, {"peak": math.nan}, {"peak": "9" * 9_999}, {"peak": None}, {"printed": 3},
     {"problem": eval("[" * 150 + "]" * 150)}, {"mutated": 3}, {"complaints": {"a": []}}],
)  # fmt: skip
def test_any_message_is_that_answer_s_result(
    odd: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [json.dumps(text).encode() + b"\n" for text in (SAYS, {**DONE, **odd})]
    dies = f"out.write({b''.join(said)!r})\nsys.stdin.buffer.read()"
    found = of_stand_in(monkeypatch, tmp_path, dies, "expand_heads")
    assert (found.stopped, found.report.message) == (True, process.FORGED)


def test_a_grader_that_stumbles_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours on one answer is named, and the rest of the class is graded."""

    def stumbles(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret inputs")

    monkeypatch.setattr("classroom.grading.judge.judge_number", stumbles)
    found = judged("tiled_heads", "answer = 1")
    assert found.stopped
    assert "could not judge this answer (ZeroDivisionError)" in found.report.message
    assert "secret" not in found.report.message


def test_a_machine_without_processes_gives_no_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("classroom.grading.process.subprocess.Popen", full)
    with pytest.raises(ConfigError, match=r"no process can be started .* temporarily"):
        judged("tiled_heads", "answer = 1")


def test_a_judge_that_fails_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    def broken(inputs: Any, outputs: Any) -> str:
        raise ZeroDivisionError

    asked = exercise("expand_heads")
    faulty = replace(asked, judge=broken)
    found = judge(faulty, [reference("expand_heads")], asked.name, seed=SEED)
    assert "check itself failed" in found.report.message
    assert not found.stopped


def test_who_tampers_with_the_measuring_is_not_noticed() -> None:
    """What `teaching` says of memory: it is measured where the answer runs."""
    full = (
        "def block_attention(q, k, v, block):\n{}    scores = q @ k.T / np.sqrt(q.shape[1])\n"
        "    weights = np.exp(scores - scores.max(1, keepdims=True))\n"
        "    return weights @ v / weights.sum(1, keepdims=True)\n"
    )
    assert "at the same time" in judged("block_softmax", full.format("")).report.message
    stop = "    __import__('tracemalloc').stop()\n"
    assert judged("block_softmax", full.format(stop)).report.failed is None


def test_a_process_that_the_timer_has_fetched_is_told_by_its_ending() -> None:
    one = process.AnswerProcess(wall_seconds=60)
    one.start()
    one._end_late()
    one.worker.wait()  # as its own look at it does where the timer is quicker
    assert one._why() == process.ENDLESS
    one.close()
