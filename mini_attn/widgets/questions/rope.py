"""The predictions of the chapter on rotary embeddings: angles, planes and wavelengths."""

from __future__ import annotations

import math

import numpy as np

from mini_attn.numpy.positions.rope import rope_frequencies, rope_table
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


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
        text=f"One plane rotates by {step}° a position. Query and key are both ({size}, 0) before "
        f"they are rotated; the query stands at position {query}, the key at position {key}. What "
        "is their dot product after rotating?",
        answer=score,
        unit="units",
        kind="formula",
        signed=True,
        tolerance=0.005,
        explanation=f"The hands are {query} − {key} = {query - key} positions apart, and "
        f"{size} × {size} × cos({query - key} × {step}°) = {size**2} × cos {apart}° = {score}. "
        "The positions themselves do not matter.",
        mistakes=(
            Mistake(size**2, "That is the dot product before rotating: the hands no longer agree."),
            Mistake(
                product(step * (query + key)),
                "That adds the angles. Both rotate the same way, so it is the difference that is "
                "left between them.",
            ),
            Mistake(
                round(size**2 * math.sin(math.radians(apart)), 2),
                f"That takes the sine of {apart}°. A dot product is the lengths times the cosine "
                "of the angle between them.",
            ),
            Mistake(
                score / size**2,
                f"That is cos {apart}°. The hands have length {size}, both of them.",
            ),
            Mistake(apart, f"That is the angle in degrees. The dot product has cos {apart}°."),
            Mistake(
                round(float(size**2 * cos[0, 0] * cos[1, 0]), 2),
                "That multiplies the first numbers alone. The second numbers, the sines, are no "
                "longer 0 after rotating.",
            ),
        ),
    )


def _partner() -> Question:
    head_dim, number = 128, 5
    away = head_dim // 2
    return Question(
        key="rope/partner",
        text=f"A head has {head_dim} numbers, counted from 0, and all rotate. In the layout "
        f"`half`, how many places after number {number} stands the number that rotates with it?",
        answer=away,
        unit="places",
        kind="place",
        explanation=f"In `half` the pairs are (i, i + {away}), so number {number} rotates with "
        f"number {number + away}; in `interleaved` neighbours would rotate together.",
        mistakes=(
            Mistake(1, "Neighbours rotate together in `interleaved`. This is `half`."),
            Mistake(number + away, "That is the number of the partner. How far away is that?"),
            Mistake(
                away - 1,
                f"That is one too few: the second half begins at number {away}, the partner of 0.",
            ),
            Mistake(
                head_dim - 1 - 2 * number,
                "That folds the head in the middle. The second half is laid on the first, not "
                "mirrored.",
            ),
            Mistake(head_dim, f"The head ends at number {head_dim - 1}."),
            Mistake(away // 2, "That is a quarter of the head; the partner is half a head away."),
        ),
    )


def _wavelength() -> Question:
    head_dim, theta = 128, 10000
    slowest = float(rope_frequencies(head_dim, theta=theta)[0][-1])
    answer = 2 * math.pi / slowest
    return Question(
        key="rope/wavelength",
        text=f"`head_dim` = {head_dim}, `theta` = {theta:,}. The slowest plane rotates by "
        f"{theta:,}^(−126/128) radians a position. After how many positions is it back where it "
        "began?",
        answer=round(answer),
        unit="positions",
        kind="formula",
        tolerance=0.02,
        explanation=f"A full rotation is 2π radians: 2π × {theta:,}^(126/128) = {answer:,.0f} "
        "positions, more than most texts have.",
        mistakes=(
            Mistake(
                round(1 / slowest),
                "After so many positions it has rotated by one radian. All the way round is 2π.",
            ),
            Mistake(
                round(2 * math.pi * theta),
                f"That is 2π × {theta:,}. The exponent of the last plane is 126/128, not 1.",
            ),
            Mistake(theta, "That is the base. What is asked is 2π divided by the angle."),
            Mistake(
                round(2 * math.pi, 2),
                "That is the fastest plane, which rotates by 1 radian a position.",
            ),
            Mistake(
                round(math.pi / slowest),
                "That is half a rotation: the hand points the other way.",
            ),
            Mistake(
                round(360 / slowest),
                "The angle is in radians, and a full rotation has 2π of them, not 360.",
            ),
        ),
    )


ALL = (_difference(), _partner(), _wavelength())
