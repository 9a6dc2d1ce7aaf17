"""The predictions of the chapter on longer contexts that ask for planes and bases."""

from __future__ import annotations

import math

from mini_attn.config import DynamicNTK
from mini_attn.models import MODELS
from mini_attn.numpy.positions.rope import rope_frequencies
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

SIZE, THETA, TRAINED = MODELS["llama-2-7b"].head_dim, 10_000, 4096
PAIRS = SIZE // 2
POWER = SIZE / (SIZE - 2)


def _never_round() -> Question:
    waves = math.tau / rope_frequencies(SIZE, theta=float(THETA))[0]
    slow = int((waves > TRAINED).sum())
    return Question(
        key="rope-scaling/never-round",
        text=f"A {SIZE}-dimensional head has {PAIRS} planes, and plane i needs 2π · "
        f"{THETA:,}^(i/{PAIRS}) tokens for a full rotation. How many of them didn't complete one "
        f"in the {TRAINED:,} tokens of training?",
        answer=slow,
        unit="planes",
        kind="count",
        explanation=f"2π · {THETA:,}^(i/{PAIRS}) exceeds {TRAINED:,} from i = {PAIRS - slow} on, "
        f"and the planes are numbered 0 to {PAIRS - 1}: {slow} of them.",
        mistakes=(
            Mistake(PAIRS - slow, "Those are the planes that did complete a rotation."),
            Mistake(slow - 1, f"The planes are numbered from 0 to {PAIRS - 1}, both included."),
            Mistake(
                int((waves / math.tau > TRAINED).sum()),
                "A full rotation is 2π radians. You left that factor out of the wavelength.",
            ),
            Mistake(
                int((waves / 2 > TRAINED).sum()),
                "That's half a rotation. A plane has shown every angle after a full one.",
            ),
            Mistake(2 * slow, "You counted dimensions of the head. Two of them make a plane."),
            Mistake(
                PAIRS, "The fast planes complete a rotation after a few tokens. The first needs 2π."
            ),
        ),
    )


def _ntk_base(factor: int = 8) -> Question:
    base = THETA * factor**POWER
    return Question(
        key="rope-scaling/ntk-base",
        text=f"Which base slows the slowest of {PAIRS} planes {factor} times, if the base was "
        f"{THETA:,} before? The slowest plane rotates by base^(−{SIZE - 2}/{SIZE}) per token.",
        answer=round(base),
        unit="units",
        kind="formula",
        tolerance=0.01,
        explanation=f"base^({SIZE - 2}/{SIZE}) has to grow {factor} times, so the base grows by "
        f"{factor}^({SIZE}/{SIZE - 2}): {THETA:,} becomes {base:,.0f}.",
        mistakes=(
            Mistake(
                THETA * factor,
                "Close. The exponent of the slowest plane isn't quite 1, so the base has to grow a "
                "little more.",
            ),
            Mistake(
                THETA * factor ** (1 / POWER),
                f"You inverted the exponent. It's {SIZE}/{SIZE - 2}, not {SIZE - 2}/{SIZE}.",
            ),
            Mistake(THETA, "That's the old base."),
            Mistake(
                THETA * factor**2,
                f"That slows the slowest plane by the square of the factor, {factor**2}.",
            ),
            Mistake(THETA / factor, "A smaller base makes the planes rotate faster."),
        ),
    )


def _dynamic_base() -> Question:
    factor, tokens = 2, 8192
    growth = factor * tokens / TRAINED - (factor - 1)
    slow = rope_frequencies(
        SIZE, theta=float(THETA), scaling=DynamicNTK(float(factor), TRAINED), seq_len=tokens
    )[0][-1]
    base = float(slow) ** -POWER
    return Question(
        key="rope-scaling/dynamic-base",
        text=f"Dynamic NTK multiplies the base by (factor · tokens / trained − (factor − 1)) to "
        f"the power {SIZE}/{SIZE - 2}. A model was trained with {TRAINED:,} tokens and base "
        f"{THETA:,}. With factor {factor}, what's the base after {tokens:,} tokens?",
        answer=round(base),
        unit="units",
        kind="formula",
        tolerance=0.005,
        explanation=f"{factor} · {tokens:,} / {TRAINED:,} − {factor - 1} = {growth:g}, and "
        f"{THETA:,} · {growth:g}^({SIZE}/{SIZE - 2}) = {base:,.0f}.",
        mistakes=(
            Mistake(
                THETA * growth, f"You left out the power {SIZE}/{SIZE - 2}. It adds a little more."
            ),
            Mistake(
                THETA * factor**POWER,
                "That's the NTK-aware base for this factor. Here, the growth follows the length.",
            ),
            Mistake(
                THETA * (growth + 1) ** POWER,
                "Subtract factor − 1, so nothing changes at the training context.",
            ),
            Mistake(
                THETA, "The base only stays up to the training context. This is twice as long."
            ),
            Mistake(
                THETA * (factor * tokens) ** POWER,
                "Count the tokens in multiples of the training context.",
            ),
        ),
    )


def _swing() -> Question:
    head_dim, plane, lowest, length = 16, 4, 150, 256
    speed = float(rope_frequencies(head_dim, theta=float(THETA))[0][plane])
    half = math.pi / speed
    return Question(
        key="rope-scaling/swing",
        text=f"Plane {plane} rotates by {speed:g} radians per word, and its part of the score is a "
        f"cosine of the distance. At distance {lowest} it's lowest. At which distance is it "
        "highest?",
        answer=round(lowest + half),
        unit="words",
        kind="formula",
        tolerance=0.01,
        explanation=f"Half a rotation later: {lowest} + π/{speed:g} = {lowest + half:.0f}. "
        f"Training only showed distances below {length}, so nothing kept the plane from lifting "
        "keys out there.",
        mistakes=(
            Mistake(
                2 * lowest,
                f"At {2 * lowest} it's back to where it was at distance 0. It rises further.",
            ),
            Mistake(
                round(lowest + 2 * half), "A full rotation later, it's lowest again. Take half."
            ),
            Mistake(
                round(lowest + half / 2),
                "A quarter of a rotation later, the cosine is 0. It's still rising.",
            ),
            Mistake(round(half), f"That's half a rotation from distance 0. Count from {lowest}."),
            Mistake(
                round(2 * half),
                f"That's the wavelength, 2π/{speed:g}. Where in the wave is distance {lowest}?",
            ),
            Mistake(length, "That's the training context. The plane doesn't know where it ends."),
        ),
    )


ALL = (_never_round(), _ntk_base(), _dynamic_base(), _swing())
AGAIN = (
    _ntk_base(4),
    _ntk_base(2),
    _ntk_base(16),
)
