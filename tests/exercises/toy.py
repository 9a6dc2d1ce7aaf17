"""An exercise that asks for twice a number, and how answers to it are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises import Exercise
from mini_attn.exercises.checker import SEED
from mini_attn.exercises.judging import judge_function
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import run


def doubled(inputs: Any) -> Any:
    return 2 * inputs["x"]


def slips(inputs: Any) -> list[tuple[Any, str]]:
    x = inputs["x"]
    return [
        (x, "It is not doubled."),
        (3 * x, "That is three times as much."),
        (None if x.size > 2 else 2 * x[::-1], "It is turned round."),
        (np.abs(2 * x), "The signs are lost."),
        (x, "A rarer mistake with the same result."),
    ]


TOY = Exercise(
    id="toy", page="kv-cache", title="Toy", kind="write", groups={"edges": 2}, minutes=1,
    difficulty=1, assessed=False, section="The ring", hints=("", ""), common_errors=("",),
    text="Double it.", starter="def double(x):\n    raise NotImplementedError", right=doubled,
    slips=slips,
    cases=lambda rng: {
        "by hand": [{"x": np.array([1.0, 2.0])}],
        "random": [{"x": np.array([3.0, -4.0, 5.0])}, {"x": np.array([-6.0])}],
        "edges": [{"x": np.array([0.0])}],
    },
    expected=lambda inputs: {"out": (inputs["x"].shape, "f")},
)  # fmt: skip


def told(answer: Any, task: Exercise = TOY) -> Report:
    return judge_function(task, lambda inputs: run(answer, inputs), seed=SEED)


def all_cases(task: Exercise) -> list[tuple[str, Any]]:
    drawn = task.cases(np.random.default_rng(SEED))
    return [(group, inputs) for group, rows in drawn.items() for inputs in rows]
