"""The predictions of the chapter on rotary embeddings: angles, planes and wavelengths."""

from __future__ import annotations

import math

import numpy as np

from mini_attn.numpy.positions.rope import rope_frequencies, rope_table
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _difference() -> Question:
    size, step, query, key = 2, 20, 10, 7
    turn = np.array([math.radians(step)])
    cos, sin = rope_table(np.array([query, key]), turn, dtype="float64")
    score = round(float(size**2 * (cos[0, 0] * cos[1, 0] + sin[0, 0] * sin[1, 0])))

    def product(degrees: float) -> float:
        return round(size**2 * math.cos(math.radians(degrees)), 2)

    apart = step * (query - key)
    return Question(
        key="rope/difference",
        text=f"One plane rotates by {step}° per position. Query and key are both ({size}, 0) "
        f"before they're rotated. The query is at position {query}, the key at position {key}. "
        "What's their dot product after rotating?",
        answer=score,
        unit="units",
        kind="formula",
        signed=True,
        tolerance=0.005,
        explanation=f"The hands are {query} − {key} = {query - key} positions apart, and "
        f"{size} × {size} × cos({query - key} × {step}°) = {size**2} × cos {apart}° = {score}. "
        "The positions themselves don't matter.",
        mistakes=(
            Mistake(size**2, "That's the dot product before rotating. The hands no longer agree."),
            Mistake(
                product(step * (query + key)),
                "You added the angles. Both hands rotate the same way, so only the difference is "
                "left between them.",
            ),
            Mistake(
                round(size**2 * math.sin(math.radians(apart)), 2),
                f"You took the sine of {apart}°. A dot product is the lengths times the cosine "
                "of the angle between them.",
            ),
            Mistake(
                score / size**2,
                f"That's cos {apart}°. Both hands have length {size}.",
            ),
            Mistake(apart, f"That's the angle in degrees. The dot product has cos {apart}°."),
            Mistake(
                round(float(size**2 * cos[0, 0] * cos[1, 0]), 2),
                "You multiplied only the first values. The second ones, the sines, are no longer 0 "
                "after rotating.",
            ),
        ),
    )


def _partner(head_dim: int = 128, number: int = 5) -> Question:
    away = head_dim // 2
    return Question(
        key="rope/partner",
        text=f"A head has {head_dim} dimensions, numbered from 0, and all of them rotate. In the "
        f"layout `half`, how many places after dimension {number} is the one that rotates with "
        "it?",
        answer=away,
        unit="places",
        kind="place",
        explanation=f"In `half`, the pairs are (i, i + {away}), so dimension {number} rotates with "
        f"dimension {number + away}. In `interleaved`, neighbors would rotate together.",
        mistakes=(
            Mistake(1, "Neighbors rotate together in `interleaved`. This is `half`."),
            Mistake(number + away, "That's the partner's number. How far away is it?"),
            Mistake(
                away - 1,
                f"That's one too few. The second half begins at {away}, the partner of 0.",
            ),
            Mistake(
                head_dim - 1 - 2 * number,
                "You folded the head in the middle. The second half is shifted onto the first, not "
                "mirrored.",
            ),
            Mistake(head_dim, f"The head ends at dimension {head_dim - 1}."),
            Mistake(away // 2, "That's a quarter of the head. The partner is half a head away."),
        ),
    )


def _wavelength() -> Question:
    head_dim, theta = 128, 10000
    slowest = float(rope_frequencies(head_dim, theta=theta)[0][-1])
    answer = 2 * math.pi / slowest
    return Question(
        key="rope/wavelength",
        text=f"`head_dim` = {head_dim}, `theta` = {theta:,}. The slowest plane rotates by "
        f"{theta:,}^(−126/128) radians per position. After how many positions is it back where "
        "it began?",
        answer=round(answer),
        unit="positions",
        kind="formula",
        tolerance=0.02,
        explanation=f"A full rotation is 2π radians: 2π × {theta:,}^(126/128) = {answer:,.0f} "
        "positions, more than most texts have.",
        mistakes=(
            Mistake(
                round(1 / slowest),
                "By then it has rotated by one radian. A full rotation is 2π.",
            ),
            Mistake(
                round(2 * math.pi * theta),
                f"That's 2π × {theta:,}. The exponent of the last plane is 126/128, not 1.",
            ),
            Mistake(theta, "That's the base. Divide 2π by the angle."),
            Mistake(
                round(2 * math.pi, 2),
                "That's the fastest plane, which rotates by 1 radian per position.",
            ),
            Mistake(
                round(math.pi / slowest),
                "That's half a rotation. The hand points the other way.",
            ),
            Mistake(
                round(360 / slowest),
                "The angle is in radians, and a full rotation is 2π of them, not 360.",
            ),
        ),
    )


ALL = (_difference(), _partner(), _wavelength())
AGAIN = (
    _partner(64, 3),
    _partner(256, 10),
    _partner(96, 7),
)
