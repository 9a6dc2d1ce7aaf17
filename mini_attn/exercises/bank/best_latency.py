"""Pencil: the least time for a token of a model that several devices hold together."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn, in_words
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, foreseen, near

DEVICE = cost.DEVICES["h100"]
TOLERANCE = 0.02  # with or without the embedding's rows
PARTS = {4: "a quarter", 8: "an eighth", 16: "a sixteenth"}
LLAMA = ("Llama-3-70B", cost.parameter_count(MODELS["llama-3-70b"]))
CHOICES = {
    "model": [("a dense model", n * 10**8) for n in (342, 526, 678, 820, 916, 1048, 1236)],
    "devices": tuple(PARTS),
}


class Numbers(NamedTuple):
    """A model with its parameters, and the devices that hold it."""

    model: tuple[str, int] = LLAMA
    devices: int = 8

    @property
    def billions(self) -> str:
        """Of parameters."""
        return f"{self.model[1] / 1e9:.4g}"

    @property
    def part(self) -> str:
        """Of one device."""
        return PARTS[self.devices]

    @property
    def right(self) -> float:
        """The answer, in milliseconds."""
        return 1e3 * 2 * self.model[1] / (self.devices * DEVICE.bytes_per_second)


def _text(n: Numbers) -> str:
    every = in_words(n.devices)
    return f"""
With pencil and paper: {n.model[0]} has {n.billions} billion parameters in bfloat16.
{every.capitalize()} H100s each hold {n.part} of them, and all {every} read at 3.35 TB/s at once.
What's the least time for one token of one short sequence, in milliseconds?
"""


def _factors(n: Numbers) -> dict[float, str]:
    """Mistakes that multiply the answer."""
    every, part = in_words(n.devices).capitalize(), n.part.split()[1]
    return {
        n.devices: f"That's one device alone. {every} devices read their {_many(part)} at once.",
        1 / n.devices: (
            f"You took the {part} twice. Each device holds {n.part} and reads it at its full rate."
        ),
        1 / 2: "You've counted one byte per weight. In bfloat16, it has 2.",
        2: "You've counted 4 bytes per weight. In bfloat16, it has 2.",
        1e-3: "That's seconds.",
        1e3: "That's microseconds.",
        1e12 / 2**40: "A TB is 1e12 bytes, not 2^40.",
    }


def _many(part: str) -> str:
    return f"{part}s"


def _mistakes(n: Numbers) -> dict[float, str]:
    every, part = in_words(n.devices).capitalize(), n.part.split()[1]
    work = 2 * n.model[1] / (n.devices * DEVICE.flops_per_second["bfloat16"])
    alone = "That's one device alone"
    return {
        **{n.right * factor: idea for factor, idea in _factors(n).items()},
        n.devices * n.right: (
            f"{alone}{', or bits for bytes' * (n.devices == 8)}. {every} devices read their "
            f"{_many(part)} at once."
        ),
        1e3 / n.right: "That's tokens per second. We ask for the time of one.",
        1e3 * work: "That's the arithmetic. The weights take longer to arrive.",
        n.right * n.devices**2: "You multiplied the bytes by the devices. Each reads its own "
        f"{part}.",
    }


def _pairs(n: Numbers) -> dict[float, str]:
    """Two of them at once."""
    return {
        n.right * one * other: f"Two things. {idea} And: {also}"
        for (one, idea), (other, also) in combinations(_factors(n).items(), 2)
        if abs(one * other - 1) > 0.5
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="ms",
        mistakes=foreseen(_mistakes(n)),
        tolerance=TOLERANCE,
        otherwise=(
            *(near(value, idea, TOLERANCE) for value, idea in _pairs(n).items()),
            Remark("A time is above 0.", high=0),
            Remark(
                "{value:,.4g} ms is {ratio:,.3g} times the least time. Divide the bytes of all "
                f"weights by the bytes that {in_words(n.devices)} devices read per second."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="best_latency",
        page="decoding-roofline",
        title="As fast as the weights arrive",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="transfer",
        assessed=True,
        section="The step-time bound",
        text=_text(n),
        starter="answer = ...  # milliseconds",
        number=_number(n),
        hints=(
            "One short sequence takes hardly any arithmetic, and its cache is tiny. What does a "
            f"token have to read, and how fast do {in_words(n.devices)} devices read?",
            f"Divide the parameters times 2 bytes by {n.devices} times the rate of one device. "
            "Then convert to milliseconds.",
        ),
        common_errors=(
            "Dividing by the rate of one device.",
            "Using the arithmetic rate, which is hundreds of times too optimistic here.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
