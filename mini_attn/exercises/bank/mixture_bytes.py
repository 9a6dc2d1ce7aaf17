"""Pencil: what a model keeps whose layers are of two kinds."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

CHOICES = {
    "layers": (24, 32, 40),
    "heads": (20, 28),
    "tokens": (3_072, 6_144, 10_240),
    "wide": (64, 192),
}


class Numbers(NamedTuple):
    """Layers, heads of a state, tokens, and the size of a head that attends."""

    layers: int = 48
    heads: int = 32
    tokens: int = 4_096
    wide: int = 256

    @property
    def full(self) -> int:
        """One layer in four attends."""
        return self.layers // 4

    @property
    def state(self) -> int:
        """Bytes of a layer's state."""
        return self.heads * 128 * 128 * 4

    @property
    def cache(self) -> int:
        """Bytes of a layer's cache."""
        return self.tokens * 2 * 2 * self.wide * 2

    @property
    def right(self) -> int:
        """The answer."""
        return (self.layers - self.full) * self.state + self.full * self.cache


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a model has {n.layers} layers. Every fourth one attends, with 2 key/value
heads of dimension {n.wide}, and its cache is in bfloat16. Each of the others keeps a state in
float32: {n.heads} heads, keys and values of dimension 128. How many bytes do all caches and states
together take for one text of {n.tokens:,} tokens? Don't count what short convolutions keep.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    states, caches = n.layers - n.full, n.full * n.cache
    return {
        caches: "Those are the caches alone. The other layers keep a state each.",
        states * n.state: "Those are the states alone. Every fourth layer has a cache.",
        states * n.state // 2 + caches: (
            "Your states have 2 bytes per number. They're in float32, the cache isn't."
        ),
        states * n.state + 2 * caches: (
            "Your caches have 4 bytes per number. They're in bfloat16, the states aren't."
        ),
        n.layers * n.cache: "That's a cache in every layer. Only one layer in four attends.",
        states * n.state + caches // 2: "A token leaves a key *and* a value in a cache.",
        2 * states * n.state + caches: (
            "You counted each state twice. Keys and values aren't kept apart in it: it's one "
            "matrix per head."
        ),
        states * n.state // n.heads + caches: (
            f"You counted one matrix per layer. Each of the {n.heads} heads has its own."
        ),
        states * n.heads * 128 * 4 + caches: (
            "A state isn't a vector per head. It's a matrix of 128 × 128 numbers."
        ),
        n.full * n.state + states * n.cache: (
            "You swapped the two kinds: three layers in four keep a state."
        ),
        n.layers * n.state + caches: "A layer that attends keeps no state.",
        states * n.state * n.tokens + caches: (
            "You multiplied the states by the tokens. A state is rewritten, it doesn't grow."
        ),
        n.state + n.cache: "That's one layer of each kind.",
        states * n.state // 4 + caches // 2: (
            "You counted numbers, not bytes. A number of a state takes 4, one of a cache takes 2."
        ),
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="bytes",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.005,
        otherwise=(
            Remark(
                "The answer should be in bytes. Write the number out, or as 1.23e8.",
                low=above(0),
                high=below(1e4),
            ),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. First count the layers of "
                "each kind, then what one of each keeps."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="mixture_bytes",
        page="state",
        title="What a mixture keeps",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="What a step keeps and reads",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "How many layers are there of each kind? Which of the two depends on the tokens?",
            f"{n.layers - n.full} states of {n.heads} · 128 · 128 numbers with 4 bytes, and "
            f"{n.full} caches of {n.tokens:,} · 2 · 2 · {n.wide} numbers with 2 bytes.",
        ),
        common_errors=(
            "Letting the states grow with the tokens.",
            "Giving both the same bytes per number.",
            "Counting a state as a vector per head.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
