"""What the members lose for each byte of cache that they do without: ``make bytes``.

Every member that has been trained, at every size and from every seed, reads held-out rows from
its cache in float32, in bfloat16, in codes of 8 to 2 bits, and through windows that it was not
trained with. Loss above the floor, copying and recall are measured beside the bytes of the cache.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np

import mini_attn.torch as mt
from benchmarks import machine
from benchmarks.quoted import quote
from mini_attn.config import LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.stories import WORDS, family
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import load_safetensors
from mini_attn.widgets.equal_bytes_data import KEY
from tools import ROOT
from training.keeping import GROUP, Keeping, Reading, bytes_per_token
from training.measure import measured
from training.plan import Plan
from training.run import RESULTS, SHIPPED, WEIGHTS, written

STORED = RESULTS / "bytes.json"
Point = dict[str, Any]
SAME = ("member", "n_layers", "d_model", *Keeping.__dataclass_fields__, "bytes_per_token")

NUMBERS = [Keeping(bits, bits) for bits in (32, 16)]
CODES = [Keeping(bits, bits) for bits in (8, 4, 3, 2)]
APART = [Keeping(k, v) for k, v in ((4, 2), (2, 4))]
BY_TOKEN = [Keeping(bits, bits, "token") for bits in (4, 3, 2)]
WINDOWS = [
    Keeping(window=window, sink_tokens=first) for window in (32, 64, 128) for first in (0, 1, 4)
]


def plans() -> list[Plan]:
    """The plans that have been trained."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")]
    whole = [Plan(**record["plan"]) for record in found if "plan" in record]
    order = list(MEMBERS)
    whole.sort(key=lambda plan: (plan.n_layers, plan.d_model, order.index(plan.member), plan.seed))
    return whole


def weights_of(plan: Plan) -> dict[str, Any] | None:
    """Its weights in eight bits, as they are shipped; None where they are not kept."""
    if replace(plan, member=SHIPPED.member) == SHIPPED:
        path = family.FOLDER / f"{plan.member}.safetensors"
        return restored(load_safetensors(path)) if path.exists() else None
    path = WEIGHTS / f"{plan.name}.safetensors"
    return restored(rounded(load_safetensors(path))) if path.exists() else None


def keepings(plan: Plan) -> list[Keeping]:
    """The ways in which a member's cache is kept."""
    attention = MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model).attentions[0]
    if isinstance(attention, LatentConfig):  # codes by token are another experiment there
        return NUMBERS + CODES
    if attention.window is not None:  # its ring has no codes
        return NUMBERS
    windows = WINDOWS if plan.member in ("mha", "sinks") else []
    return NUMBERS + CODES + APART + BY_TOKEN + windows


def points(plan: Plan, before: list[Point], *, rows: int) -> list[Point]:
    """What one trained member loses in each way of keeping its cache.

    A point that was measured before, on the same weights and rows, is not measured again. Weights
    of other seeds stay on the machine that trained them: without them the points that it measured
    stand.
    """
    who = {name: getattr(plan, name) for name in ("member", "seed", "n_layers", "d_model")}
    if (weights := weights_of(plan)) is None:
        told_before = {**who, "rows": rows}
        return [point for point in before if told_before.items() <= point.items()]
    config = MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model)
    model = mt.Decoder(config)
    model.load_state_dict(weights)
    model.eval()
    digest = sha256(b"".join(weights[name].tobytes() for name in sorted(weights))).hexdigest()
    found = []
    for keeping in keepings(plan):
        this = {**who, **asdict(keeping), "rows": rows, "weights": digest[:12]}
        known = [point for point in before if this.items() <= point.items()]
        if known:
            found += known
            continue
        result = measured(Reading(model, keeping), rows=rows)
        told = {
            "bytes_per_token": bytes_per_token(config, keeping, context=LONGEST),
            "excess": result["stories"]["excess"],
            "copying": result["copying"],
            "who_has": result["who_has"],
        }
        found.append(this | told)
    return found


def near(who_has: Mapping[str, Any]) -> float:
    """Share of right answers less than 64 words back: of all, less those further back."""
    asked, far = who_has["asked"], who_has["asked_64_back_or_more"]
    right = asked * who_has["right"] - far * (who_has["right_64_back_or_more"] or 0)
    return float(right / (asked - far))


def summary(found: list[Point]) -> list[Point]:
    """Points over their seeds: how many, mean and standard deviation (None of one seed)."""
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in found:
        groups.setdefault(tuple(point[key] for key in SAME), []).append(point)
    out = []
    for key, group in groups.items():
        values = {
            "excess": [point["excess"]["nats"] for point in group],
            "copying": [point["copying"]["nats"] for point in group],
            "near": [near(point["who_has"]) for point in group],
            "far": [point["who_has"]["right_64_back_or_more"] for point in group],
        }
        spread = {name: over_seeds(each) for name, each in values.items()}
        out.append(dict(zip(SAME, key, strict=True)) | {"seeds": len(group)} | spread)
    return out


def over_seeds(values: list[float]) -> tuple[float, float | None]:
    """Mean and standard deviation to four digits."""
    mean, spread = np.mean(values), np.std(values, ddof=1) if len(values) > 1 else None
    return float(f"{mean:.4g}"), None if spread is None else float(f"{spread:.4g}")


def main() -> None:
    """Measure what is trained and write it whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    before: list[Point] = []
    if STORED.exists():
        before = json.loads(STORED.read_text(encoding="utf-8"))["points"]
    record = {**machine.describe(), "command": "make bytes", "context": LONGEST, "group": GROUP}
    found: list[Point] = []
    for plan in plans():
        found += points(plan, before, rows=rows)
        # Written after each: what a stop leaves is not measured again.
        later = [point for point in before if point not in found]
        written(STORED, {**record, "points": found + later})
        print(f"[bytes] {plan.name}: {len(found)} points so far", flush=True)
    if not found:
        raise ConfigError("no member has been trained: `make train` does it")
    written(STORED, {**record, "points": found})
    quote(KEY, {**record, "rows": rows, "points": summary(found)})
    print(f"[bytes] {len(found)} points in {STORED.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
