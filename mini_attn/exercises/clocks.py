"""Reading positions off the hands of clocks, rightly and in the ways in which it goes wrong."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Inputs

__all__ = ["WHOLE", "angles_of", "read_by", "sinusoids", "speeds_of"]

WHOLE = 2 * np.pi
Array = np.ndarray


def speeds_of(d: int, base: float, power: float = 1.0) -> Array:
    """Radians a step of each clock, the fastest first: (d/2,)."""
    return np.asarray(base ** (-power * np.arange(0, d, 2) / d))


def sinusoids(positions: Array, d: int, base: float) -> Array:
    """Rows of sinusoidal positions: (n, d)."""
    angles = positions[:, None] * speeds_of(d, base)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), d)


def angles_of(rows: Array, hand: str, layout: str) -> Array:
    """Return where each clock's hand stands, in radians: (n, d/2)."""
    half = rows.shape[1] // 2
    sin, cos = (rows[:, 0::2], rows[:, 1::2])
    if layout == "halves":
        sin, cos = rows[:, :half], rows[:, half:]
    with np.errstate(all="ignore"):
        angles = {
            "both": np.arctan2(sin, cos),
            "swapped": np.arctan2(cos, sin),
            "sine": np.arcsin(sin.clip(-1, 1)),
            "cosine": np.arccos(cos.clip(-1, 1)),
            "quotient": np.arctan(sin / cos),
        }[hand]
    return np.asarray(angles)


def read_by(
    inputs: Inputs,
    *,
    clocks: str = "all",
    turns: str = "round",
    hand: str = "both",
    layout: str = "neighbours",
    base: float | None = None,
    power: float = 1.0,
    degrees: bool = False,
    begin: str = "middle",
    beyond: str = "kept",
    whole: str = "round",
    more: int = 0,
) -> Array:
    """From the slowest clock to the fastest, or what comes out by another choice."""
    rows, longest = inputs["rows"], inputs["longest"]
    speeds = speeds_of(rows.shape[1], inputs["base"] if base is None else base, power)
    angles = angles_of(rows, hand, layout) % WHOLE
    used = {
        "all": range(len(speeds)), "fastest": [0], "slowest": [len(speeds) - 1],
        "ends": sorted({0, len(speeds) - 1}), "but the fastest": range(1, len(speeds)) or [0],
    }[clocks]  # fmt: skip
    guess: Array | None = None
    for clock in list(used)[::-1]:
        fine, once = angles[:, clock] / speeds[clock], WHOLE / speeds[clock]
        if guess is None and begin == "signed":
            guess = (fine / once + 0.5) % 1 * once - 0.5 * once
        elif guess is None:
            plain = clocks in ("fastest", "slowest") or turns == "floor" or begin == "zero"
            guess = fine if plain else fine + np.rint((longest / 2 - fine) / once) * once
        elif turns == "round":
            guess = fine + np.rint((guess - fine) / once) * once
        elif turns == "floor of the rest":
            guess = fine + (guess - fine) // once * once
        else:
            guess = fine + guess // once * once
    assert guess is not None
    if degrees:
        guess = guess * 180 / np.pi
    found = (np.rint(guess) if whole == "round" else np.floor(guess)) + more
    if beyond == "clipped":
        found = found.clip(0, longest - 1)
    if beyond == "absolute":
        found = np.abs(found)
    if beyond == "modulo":
        found = found % longest
    return np.asarray(found).astype(int)
