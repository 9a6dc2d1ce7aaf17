"""Pencil: the least time for a token of a model that eight devices hold together."""

from __future__ import annotations

from itertools import combinations

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: Llama-3-70B has 70.55 billion parameters in bfloat16. Eight H100s hold an
eighth of them each and read 3.35 TB/s each, all eight at once. What is the least time for one
token of one short conversation, in milliseconds?
"""

MODEL, DEVICE, DEVICES = MODELS["llama-3-70b"], cost.DEVICES["h100"], 8
PARAMETERS = cost.parameter_count(MODEL)
ANSWER = 1e3 * 2 * PARAMETERS / (DEVICES * DEVICE.bytes_per_second)  # milliseconds

_WORK = 2 * PARAMETERS / (DEVICES * DEVICE.flops_per_second["bfloat16"])
_FACTORS = {
    DEVICES: "That is one device alone. Eight devices read their eighths at once.",
    1 / DEVICES: (
        "The eighth is taken twice: each device holds an eighth, and reads it at its full rate."
    ),
    1 / 2: "Half of the bytes are missing: a weight in bfloat16 has 2.",
    2: "Twice too long: a weight in bfloat16 has 2 bytes, not 4.",
    1e-3: "That is seconds.",
    1e3: "That is microseconds.",
    1e12 / 2**40: "A TB is 1e12 bytes, not 2^40.",
}
MISTAKES = {
    **{ANSWER * factor: idea for factor, idea in _FACTORS.items()},
    DEVICES * ANSWER: (
        "That is one device alone, or bits for bytes. Eight devices read their eighths at once."
    ),
    1e3 / ANSWER: "That is tokens a second: the question is the time of one.",
    1e3 * _WORK: "That is the arithmetic. The weights take longer to arrive.",
    ANSWER * DEVICES**2: "The bytes are multiplied by the devices. Each reads its own eighth.",
}
PAIRS = {
    ANSWER * one * other: f"Two things. {idea} And: {also}"
    for (one, idea), (other, also) in combinations(_FACTORS.items(), 2)
    if abs(one * other - 1) > 0.5
}


def _near(value: float, number: float) -> bool:
    """With or without the embedding's rows."""
    return abs(value / number - 1) < 0.02


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, [*MISTAKES.items(), *PAIRS.items()], _near):
        return idea
    if value <= 0:
        return "A time is above 0."
    return (
        f"{value:,.4g} ms is {value / ANSWER:,.3g} times the least time. Bytes of all weights, "
        "over the bytes that eight devices read in a second."
    )


EXERCISE = Exercise(
    id="best_latency",
    page="decoding-roofline",
    title="As fast as the weights arrive",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    assessed=True,
    section="The step-time bound",
    text=TEXT,
    starter="answer = ...  # milliseconds",
    unit="ms",
    mistakes=MISTAKES,
    hints=(
        "One sequence: hardly any arithmetic, and no cache to speak of. What has to be read for a "
        "token, and how fast do eight devices read?",
        "Parameters times 2 bytes, divided by 8 times the rate of one device. Then milliseconds.",
    ),
    common_errors=(
        "Dividing by the rate of one device.",
        "Using the arithmetic rate, which is hundreds of times too optimistic here.",
    ),
    judge=judge,
)
