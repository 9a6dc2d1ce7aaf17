"""Points that an experiment on trained members finds, on disk and over seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mini_attn.torch as mt
from benchmarks import machine
from training.plan import Plan
from training.run import CACHE, written
from training.trained import decoder_of, digest_of

__all__ = ["Ledger", "Point", "lost", "near", "over_seeds", "spread"]

Point = dict[str, Any]


class Ledger:
    """The points that one command measures, each kept on disk as soon as it is there.

    What was measured before on the same weights and rows is not measured again. Weights of other
    seeds stay on the machine that trained them: without them the points that it measured stand.
    A stored file keeps its number of rows: points of another number go to a file of their own,
    which no page quotes, for what cannot be measured here would be lost.
    """

    def __init__(self, path: Path, record: Mapping[str, Any], rows: int) -> None:
        self.path, self.record, self.rows = path, {**machine.describe(), **record}, rows
        self.found: list[Point] = []
        self.stored = self.before = _points(path)
        self.quoted = all(point["rows"] == rows for point in self.stored)
        if not self.quoted:
            self.path = CACHE / f"{path.stem}-{rows}-rows.json"
            self.before = _points(self.path)
            told = " and ".join(map(str, sorted({point["rows"] for point in self.stored})))
            print(f"[{path.stem}] {path.name} holds points of {told} rows and stays as it is: those"
                  f" of {rows} rows go to {self.path.name}, and no page quotes them")  # fmt: skip
        self.name = path.stem

    def stands(self, this: Point) -> list[Point]:
        """The points of before that say the same as this."""
        return [point for point in self.before if this.items() <= point.items()]

    def decoders(self, plans: Iterable[Plan]) -> Iterator[tuple[Plan, mt.Decoder, Point]]:
        """Each plan whose weights are here, its decoder, and what all of its points say.

        Its points are written once they are taken; for weights that are elsewhere, those of before.
        """
        for plan in plans:
            who = {name: getattr(plan, name) for name in ("member", "seed", "n_layers", "d_model")}
            if (model := decoder_of(plan)) is None:
                self._stand_in(plan.name, who)
                continue
            yield plan, model, {**who, "rows": self.rows, "weights": digest_of(model)}
            self.write()
            print(f"[{self.name}] {plan.name}: {len(self.found)} points so far", flush=True)

    def _stand_in(self, name: str, who: Point) -> None:
        """Take the points of a plan whose weights are not here, or say why it is left out."""
        known = self.stands({**who, "rows": self.rows})
        self.found += known
        if not known:
            others = sorted({p["rows"] for p in self.stored if who.items() <= p.items()})
            why = f"its points are of {others[0]} rows" if others else "it has no points"
            print(f"[{self.name}] {name}: its weights are not here, and {why}: left out")

    def take(self, this: Point, measure: Callable[[], Point]) -> Point:
        """A point that says this, measured unless it was."""
        known = self.stands(this)
        self.found.append(known[0] if known else this | measure())
        return self.found[-1]

    def write(self, *, whole: bool = False) -> None:
        """Put what was found in its place, with what was found before unless this is the whole."""
        later = [] if whole else [point for point in self.before if point not in self.found]
        written(self.path, {**self.record, "points": self.found + later})


def _points(path: Path) -> list[Point]:
    """Return the points in a file, or none if it doesn't exist."""
    if not path.exists():
        return []
    found: list[Point] = json.loads(path.read_text(encoding="utf-8"))["points"]
    return found


def lost(result: Mapping[str, Any]) -> Point:
    """Return a measurement's fields: loss above the floor, copying, recall."""
    return {
        "excess": result["stories"]["excess"],
        "copying": result["copying"],
        "who_has": result["who_has"],
    }


def near(who_has: Mapping[str, Any]) -> float:
    """Share of right answers less than 64 words back: of all, less those further back."""
    asked, far = who_has["asked"], who_has["asked_64_back_or_more"]
    right = asked * who_has["right"] - far * (who_has["right_64_back_or_more"] or 0)
    return float(right / (asked - far))


def over_seeds(found: Sequence[Point], same: Sequence[str]) -> list[Point]:
    """Points that differ in their seeds only, as one: how many, and the spread of what is lost."""
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in found:
        groups.setdefault(tuple(point[key] for key in same), []).append(point)
    out = []
    for key, group in groups.items():
        values = {
            "excess": [point["excess"]["nats"] for point in group],
            "copying": [point["copying"]["nats"] for point in group],
            "near": [near(point["who_has"]) for point in group],
            "far": [point["who_has"]["right_64_back_or_more"] for point in group],
        }
        told = {name: spread(each) for name, each in values.items()}
        out.append(dict(zip(same, key, strict=True)) | {"seeds": len(group)} | told)
    return out


def spread(values: list[float]) -> tuple[float, float | None]:
    """Mean and standard deviation to four digits; None where there is one value."""
    mean, off = np.mean(values), np.std(values, ddof=1) if len(values) > 1 else None
    return float(f"{mean:.4g}"), None if off is None else float(f"{off:.4g}")
