"""Invent rotary embeddings for tokens with two coordinates: decided by what they have to do."""

from __future__ import annotations

import math

import numpy as np

from mini_attn.exercises.rotation_moves import Speeds, undone
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs

TEXT = """
The cells of a spreadsheet have two coordinates. Invent rotary embeddings for them: rotate each
token `x[t]` of `x`, `(tokens, head_dim)`, to its cell in row `rows[t]` and column `columns[t]`,
integers that count from 0. Neighbors make a plane, $(2i, 2i+1)$; what each plane rotates by is up
to you. `head_dim` is a multiple of 4 and at least 8. The demands:

- A score depends on the two vectors and on the differences of their rows and of their columns. A \
token in row 0 and column 0 isn't rotated.
- No move up or down, over any number of rows, can be undone by a move to the left or right, or \
nearly undone: the frequencies of the rows in all planes and those of the columns are two vectors, \
and their cosine must be between −0.99 and 0.99.
- From each row to the next, some plane rotates by at least 0.05 radians. Some plane that moves \
with the rows doesn't complete a rotation within 500 of them. The same goes for the columns.
"""
STARTER = '''
def grid_rope(x, rows, columns):
    """Tokens x (tokens, head_dim), rotated to their cells."""
    raise NotImplementedError
'''
FAST, FAR = 0.05, 500  # radians from one to the next, and rows without a full rotation
ROUGH = 1e-4  # of the angles in float32 far out: nothing can be said about slow planes
Array = np.ndarray


def _case(rng: np.random.Generator, head_dim: int, top: int = 0, left: int = 0) -> Inputs:
    """Some cells, among them a corner with the cells below it and next to it, in any order."""
    corner = np.array([top, left]) + rng.integers(1, 6, size=2)
    others = np.array([top, left]) + rng.integers(0, 24, size=(5, 2))
    cells = rng.permutation(np.concatenate([corner + np.array([[0, 0], [1, 0], [0, 1]]), others]))
    x = 1.5 + rng.random((len(cells), head_dim))
    return {
        "x": x * rng.choice([-1.0, 1.0], size=x.shape),
        "rows": cells[:, 0],
        "columns": cells[:, 1],
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a corner of a sheet and its neighbours. The property: far from the first cell."""
    hand = {"x": np.tile([1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0], (4, 1)),
            "rows": np.array([0, 1, 0, 2]), "columns": np.array([0, 0, 1, 3])}  # fmt: skip
    first = {"x": rng.standard_normal((1, 8)), "rows": np.array([0]), "columns": np.array([0])}
    return {
        "by hand": [hand],
        "random": [_case(rng, 16), _case(rng, 32)],
        "property": [_case(rng, 16, 900, 40), _case(rng, 64, 30, 2000), _case(rng, 12, 3000, 3000)],
        "edges": [first, _case(rng, 8), _case(rng, 128)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The rows, rotated."""
    return {"rotated": (inputs["x"].shape, "f")}


def _planes(x: Array) -> Array:
    """Each plane as a complex number."""
    return np.asarray(x[:, 0::2] + 1j * x[:, 1::2])


def _of_the_lengths(x: Array, rotated: Array) -> str | None:
    """Return what is wrong if the planes are not rotated at all."""
    before, after = np.abs(_planes(x)), np.abs(_planes(rotated))
    if np.allclose(before, after, rtol=1e-5):
        return None
    half = x.shape[1] // 2
    first, now = (np.hypot(y[:, :half], y[:, half:]) for y in (x, rotated))
    if np.allclose(first, now, rtol=1e-5):
        return "You rotate i and i + head_dim/2 together. Here, neighbors make a plane."
    if np.allclose(np.linalg.norm(x, axis=1), np.linalg.norm(rotated, axis=1), rtol=1e-5):
        return "You mix values of different planes. Neighbors make a plane, (2i, 2i + 1)."
    return "A rotation doesn't change the length in a plane, √(a² + b²). Your lengths change."


def _neighbours(inputs: Inputs) -> tuple[int, int, int] | None:
    """A token with the one below it and the one next to it."""
    at = {cell: t for t, cell in enumerate(zip(inputs["rows"], inputs["columns"], strict=True))}
    return next(
        (
            (t, at[r + 1, c], at[r, c + 1])
            for (r, c), t in at.items()
            if (r + 1, c) in at and (r, c + 1) in at
        ),
        None,
    )


def _of_the_speeds(speeds: Speeds, rounding: float) -> str | None:
    """Return which of the demands the speeds of the planes do not meet."""
    for name, step in zip(("row", "column"), speeds, strict=True):
        if np.abs(step - 1).max() < rounding:
            return f"From {name} to {name}, nothing rotates. Both coordinates count."
    if idea := undone(speeds, rounding):
        return idea
    angles = {"row": np.abs(np.angle(speeds.down)), "column": np.abs(np.angle(speeds.right))}
    for name, of in angles.items():
        if of.max() < FAST * (1 - 1e-6):
            return (
                f"From one {name} to the next, your fastest plane rotates by {of.max():.2g} "
                f"radians, so neighboring {name}s look alike. Do the {name}s have only slow "
                "planes?"
            )
    for name, of in angles.items():
        slowest = of[of > rounding].min()
        if slowest * FAR >= 2 * math.pi:
            return (
                f"Every plane that moves with the {name}s completes a rotation within "
                f"{2 * math.pi / slowest:.0f} of them. Some plane has to be slower."
            )
    return None


def _of_the_cells(
    inputs: Inputs, turns: Array, here: int, speeds: Speeds, rounding: float
) -> str | None:
    """Return whether equal moves are equal rotations, and where they are counted from."""
    down, right = speeds
    rows, columns = inputs["rows"], inputs["columns"]
    moved = down ** (rows - rows[here])[:, None] * right ** (columns - columns[here])[:, None]
    far = 1 + np.ptp(rows) + np.ptp(columns)
    if np.abs(turns - turns[here] * moved).max() > rounding * far:
        return (
            "Equal moves aren't equal rotations: the same number of rows and columns rotates by "
            "one angle here and by another there."
        )
    if max(rows.max(), columns.max()) > 100:  # too far for a power to be exact
        return None
    start = turns[here] / (down ** rows[here] * right ** columns[here])
    if np.abs(start - 1).max() > rounding * (far + 100):
        return (
            "You'd rotate a token in row 0 and column 0. Count from the first row and column "
            "of the sheet, not of the given tokens."
        )
    return None


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The first demand that is not met."""
    x, rotated = inputs["x"], outputs["rotated"]
    if idea := _of_the_lengths(x, rotated):
        return idea
    single = rotated.dtype != np.float64
    largest = 1 + float(max(inputs["rows"].max(), inputs["columns"].max()))
    rounding = 2e-6 * largest if single else 1e-8
    turns = _planes(rotated) / _planes(x)
    turns /= np.abs(turns)
    still = (inputs["rows"] == 0) & (inputs["columns"] == 0)
    if still.any() and np.abs(turns[still] - 1).max() > rounding:
        return "You rotate the token in row 0 and column 0. Leave it alone."
    if (found := _neighbours(inputs)) is None:
        return None
    here, below, beside = found
    speeds = Speeds(turns[below] / turns[here], turns[beside] / turns[here])
    if idea := _of_the_cells(inputs, turns, here, speeds, rounding):
        return idea
    return None if rounding > ROUGH else _of_the_speeds(speeds, rounding)


EXERCISE = Exercise(
    id="grid_rope",
    page="rope",
    title="Rows and columns",
    kind="write",
    groups={"random": 2, "property": 2, "edges": 1},
    minutes=20,
    difficulty=4,
    stage="invent",
    assessed=False,
    section="Many planes, many frequencies",
    text=TEXT,
    starter=STARTER,
    hints=(
        "A plane has one angle. What happens to two coordinates that share it? And what does a "
        "coordinate miss if it has only slow planes, or only fast ones?",
        "Let half of the planes rotate by the row and the other half by the column, and give each "
        "half its own frequencies in equal ratios, from 1 radian down.",
    ),
    common_errors=(
        "Rotating every plane by the row and then by the column at the same frequency: the angles "
        "add up.",
        "Splitting the usual list of frequencies in two: one coordinate gets only slow planes.",
        "Counting the cells in reading order: the end of a row is next to the beginning of the "
        "following one, and the number depends on the width.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
