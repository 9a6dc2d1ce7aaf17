"""Copies are found whatever was changed on the surface; honest answers of one idea are not."""

from __future__ import annotations

import csv
import inspect
import io
import re
import textwrap
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import likeness
from classroom.grading.grade import grade_folder
from classroom.grading.likeness import NEAR, alike
from classroom.sheets.sheet import chosen
from classroom.submissions.collect import Submission
from mini_attn.exercises import exercise
from mini_attn.exercises.judging import judge_function
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import checked_ids
from tests.classroom.test_submissions import notebook, save

KEY = "masked_attention"
FUNCTIONS = [i for i in checked_ids() if exercise(i).kind != "pencil"]

# Right answers by five roads, as five students may write them.
ROADS = {
    "shifted": """
def masked_attention(q, k, v, mask):
    d = q.shape[-1]
    s = (q @ k.T) / np.sqrt(d)
    s = np.where(mask, s, -np.inf)
    m = np.max(s, axis=-1, keepdims=True)
    m = np.where(np.isfinite(m), m, 0.0)
    e = np.exp(s - m)
    z = e.sum(axis=-1, keepdims=True)
    w = np.divide(e, z, out=np.zeros_like(e), where=z > 0)
    return w @ v
""",
    "row by row": """
def masked_attention(q, k, v, mask):
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        seen = np.flatnonzero(mask[i])
        if len(seen) == 0:
            continue
        scores = k[seen] @ q[i] / np.sqrt(len(q[i]))
        weights = np.exp(scores - scores.max())
        out[i] = weights / weights.sum() @ v[seen]
    return out
""",
    "einsum": """
def masked_attention(q, k, v, mask):
    scores = np.einsum("id,jd->ij", q, k) * q.shape[1] ** -0.5
    hidden = ~mask
    scores[hidden] = -np.inf
    highest = scores.max(1)
    highest[~mask.any(1)] = 0
    powers = np.exp(scores - highest[:, np.newaxis])
    powers[hidden] = 0
    total = powers.sum(1)
    total[total == 0] = 1
    return np.einsum("ij,jd->id", powers, v) / total[:, np.newaxis]
""",
    "a helper": """
def softmax(x, keep):
    if not keep.any():
        return np.zeros(len(x))
    top = max(x[keep])
    powers = np.array([np.exp(a - top) if b else 0.0 for a, b in zip(x, keep)])
    return powers / powers.sum()

def masked_attention(q, k, v, mask):
    rows = []
    for query, keep in zip(q, mask):
        scores = np.array([query @ key for key in k]) / np.sqrt(len(query))
        rows.append(softmax(scores, keep) @ v)
    return np.array(rows)
""",
    "masked arrays": """
def masked_attention(q, k, v, mask):
    scale = 1 / np.sqrt(k.shape[1])
    logits = np.ma.masked_array(scale * np.dot(q, k.transpose()), mask=~mask)
    best = logits.max(axis=1).filled(0)
    unnormalized = np.exp(logits - best[:, None]).filled(0)
    norm = unnormalized.sum(axis=1)
    result = np.zeros((q.shape[0], v.shape[1]))
    alive = norm > 0
    result[alive] = unnormalized[alive] @ v / norm[alive, None]
    return result
""",
}
EINSUM = ROADS["einsum"]


def sent(texts: dict[str, str], key: str = KEY) -> list[Submission]:
    return [Submission(student, cells={key: [text]}) for student, text in sorted(texts.items())]


def pairs(texts: dict[str, str], key: str = KEY) -> list[list[str]]:
    return [list(pair.students) for pair in alike(sent(texts, key), [key])]


def renamed(text: str) -> str:
    names = {"scores": "a", "hidden": "verdeckt", "highest": "mx", "powers": "e", "total": "norm"}
    return re.sub(r"\b(" + "|".join(names) + r")\b", lambda found: names[found[1]], text)


def commented(text: str) -> str:
    lines = text.strip().splitlines()
    lines[1:1] = ['    """My own work."""', "", "    # first the scores"]
    return "\n\n".join(f"{line}  # step {n}" if n > 3 else line for n, line in enumerate(lines))


def reordered(text: str) -> str:
    lines = text.strip().splitlines()
    lines[1], lines[2] = lines[2], lines[1]  # hidden before scores
    lines[8:8] = ["    total = powers.sum(1)", "    powers[hidden] = 0"]
    return "\n".join([*lines[:7], *lines[8:10], *lines[10:]])


def laid_out(text: str) -> str:
    return text.replace("(", "(\n        ").replace(", ", " ,  ")


CHANGES = {
    "nothing": str,
    "names": renamed,
    "comments": commented,
    "order": reordered,
    "layout": laid_out,
    "all": lambda text: laid_out(commented(renamed(reordered(text)))),
    "a line more": lambda text: text.replace(
        "    hidden", "    assert q.ndim == k.ndim\n    hidden", 1
    ),
}


@pytest.mark.parametrize("road", ROADS)
def test_every_road_is_right(road: str) -> None:
    names: dict[str, object] = {}
    exec("import numpy as np\n" + ROADS[road], names)
    answer = names[KEY]
    report = judge_function(exercise(KEY), lambda inputs: run(answer, inputs), seed=1)  # type: ignore[arg-type]
    assert report.failed is None, report.message


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_is_found_whatever_was_changed(change: str) -> None:
    copy = CHANGES[change](EINSUM)
    assert (copy == EINSUM) == (change == "nothing")
    assert pairs({**ROADS, "x": copy}) == [["einsum", "x"]]
    (found,) = alike(sent({"a": EINSUM, "b": copy}), [KEY])
    assert found.exercises[KEY] == 1
    names: dict[str, object] = {}
    exec(f"import numpy as np\n{copy}", names)
    answer = names[KEY]
    report = judge_function(exercise(KEY), lambda inputs: run(answer, inputs), seed=1)  # type: ignore[arg-type]
    assert report.failed is None, report.message


def test_near_is_near_and_far_is_not_said() -> None:
    lines = EINSUM.strip().splitlines()
    own = {
        3: "    np.putmask(scores, ~mask, float('-inf') + 0 * scores.sum())",
        6: "    powers = np.array([[2.7 ** (x - y) for x in s] for s, y in zip(scores, highest)])",
        8: "    total = np.add.reduce(powers, axis=-1, initial=0.0, dtype=float)",
        9: "    total = np.where(np.equal(total, 0.0), np.ones_like(total), total)",
        10: "    return (powers / total.reshape(-1, 1)).dot(np.asarray(v, dtype=float))",
    }
    shares = []
    for number, line in own.items():
        lines[number] = line
        found = alike(sent({"a": EINSUM, "b": "\n".join(lines)}), [KEY])
        shares.append(found[0].exercises[KEY] if found else 0)
    assert shares == sorted(shares, reverse=True)
    assert NEAR <= shares[0] < 1
    assert shares[-1] == 0


def test_roads_of_ones_own_are_not_paired() -> None:
    assert pairs(ROADS) == []
    others = {f"{name} {n}": text for n in range(2) for name, text in ROADS.items()}
    assert len(pairs(others)) == len(ROADS)  # the test can fail


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_wrong_answers_of_the_bank_are_not_paired(exercise_id: str) -> None:
    """Written by one hand, and most of them the solution with one thing changed."""
    bank = import_module(f"solutions.{exercise_id}")
    texts = {
        f"{number}": textwrap.dedent(inspect.getsource(answer)).strip().rstrip(",")
        for number, (_, answer, *_) in enumerate(bank.WRONG)
        if inspect.isfunction(answer)
    }
    assert pairs(texts, exercise_id) == []


def test_what_is_forced_or_published_says_nothing() -> None:
    reference = inspect.getsource(import_module(f"solutions.{KEY}").REFERENCE)
    assert pairs({"a": reference, "b": renamed(reference)}) == []
    starter = exercise("block_softmax").starter
    assert pairs({"a": starter, "b": starter}, "block_softmax") == []
    line = "def masked_attention(q, k, v, mask): return softmax(np.where(mask, q @ k.T, -9)) @ v"
    assert pairs({"a": line, "b": line}) == []


def test_what_many_share_says_nothing() -> None:
    class_ = {f"s{n:02}": EINSUM for n in range(9)} | {f"t{n:02}": "x = 1" for n in range(40)}
    assert pairs(class_) == []
    del class_["s00"]
    assert len(pairs(class_)) == len(list(combinations(range(8), 2)))
    # In a small class a few are many.
    small = {f"s{n}": EINSUM for n in range(3)} | dict(list(ROADS.items())[:2])
    assert pairs(small) == []


def test_pairs_come_by_how_much_they_share() -> None:
    class_ = sent(ROADS | {"x": EINSUM, "y": ROADS["a helper"]})
    other = "\n".join(f"    a{n} = q[{n}] * {n} + np.sin(k[{n}]) ** {n}" for n in range(9))
    for one in class_:
        if one.student in ("a helper", "y"):
            one.cells["cached_step"] = [f"def cached_step(q, k):\n{other}\n"]
    found = alike(class_, [KEY, "cached_step"])
    assert [list(pair.students) for pair in found] == [["a helper", "y"], ["einsum", "x"]]
    assert set(found[0].exercises) == {KEY, "cached_step"}


HOSTILE = {
    "no Python": "def (",
    "deep brackets": "x = " + "(" * 5_000 + "1" + ")" * 5_000,
    "deep signs": "x = " + "-" * 15_000 + "1",
    "deep blocks": "".join(" " * n + "if x:\n" for n in range(90)) + " " * 90 + "x = 1",
    "long": "x = [" + "1," * 200_000 + "]",
    "wide": "x = [" + "1," * 9_000 + "]",
    "a large number": "x = " + "9" * 15_000,
    "zeros": "x = 1\x00",
    "half a letter": "x = '\ud800'",
    "a chain": "x = a" + ".b" * 8_000,
    "": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_costs_little_and_pairs_nobody_else(name: str) -> None:
    class_ = ROADS | {"x": EINSUM, "y": HOSTILE[name], "z": HOSTILE[name]}
    assert ["einsum", "x"] in pairs(class_)
    assert not [pair for pair in pairs(class_) if len({*pair} & {"y", "z"}) == 1]
    assert len(likeness._runs(HOSTILE[name])) <= likeness.TOKENS


def test_a_class_of_one_answer_is_no_square(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []

    def counting(students: list[str], size: int) -> list[tuple[str, ...]]:
        counted.append(len(students))
        return list(combinations(students, size))

    monkeypatch.setattr(likeness, "combinations", counting)
    texts = {
        f"s{n:03}": f"{EINSUM}\n    a = {n // 2} * q.sum() + k[{n // 2}]\n" for n in range(300)
    }
    assert pairs(texts) == []
    assert max(counted) <= likeness.MANY


def test_the_teacher_sees_it_and_no_student(tmp_path: Path) -> None:
    sheet = chosen(exercises=KEY, name="alike")[0]
    for student, text in {**ROADS, "=copy": renamed(EINSUM)}.items():
        data = notebook(expand_heads="")
        data["cells"] = [
            {"cell_type": "code", "metadata": {"exercise": {"id": KEY, "role": "starter"}},
             "source": text, "outputs": [], "execution_count": None}
        ]  # fmt: skip
        save(tmp_path / f"in/{student}.ipynb", data)
    asked: dict[str, Any] = {"sheet": sheet, "seed": "a", "nameless": True}
    results = grade_folder(tmp_path / "in", tmp_path / "out", **asked)
    assert {r.points for r in results} == {sheet.points}
    passed_on = tmp_path / "out/anonymous"
    assert not (passed_on / "likeness.csv").exists()
    assert "proves nothing" not in (passed_on / "summary.md").read_text()
    text = (tmp_path / "out/likeness.csv").read_text(encoding="utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["student", "other student", "exercise", "alike in percent"]
    assert rows == [["'=copy", "einsum", KEY, "100"]]
    assert (tmp_path / "out/likeness.csv").stat().st_mode & 0o777 == 0o600
    for kind in ("md", "html"):
        assert "einsum" in (summary := (tmp_path / f"out/summary.{kind}").read_text())
        assert "a hint and proves nothing" in summary
        for path in (tmp_path / "out/feedback").glob(f"*.{kind}"):
            assert "alike" not in path.read_text().replace("Sheet alike", "").replace(
                "<title>", ""
            ).replace("· alike", "")
    (tmp_path / "in/=copy.ipynb").unlink()
    grade_folder(tmp_path / "in", tmp_path / "out", sheet=sheet, seed="a")
    assert not (tmp_path / "out/likeness.csv").exists()
    assert "proves nothing" not in (tmp_path / "out/summary.md").read_text()
