"""What trained members lose when a cache keeps a budget of keys: ``make keys``.

A query reads as many keys as the budget says, and its own token. Read as a stream, the cache
forgets after each token: the newest keys stay, or the first ones too, or half of the room goes to
keys that got large weights or that were drawn. After a prompt it forgets once. Beside them stand
the whole cache, and a bound that no cache reaches: of all keys those with the largest scores,
which only one who keeps and compares them all can find. An indexer would have to be trained with
the member, and none was, so there is none here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import mini_attn.torch as mt
from benchmarks import machine
from benchmarks.quoted import quote
from mini_attn.shapes import check_count
from mini_attn.stories import WORDS
from mini_attn.stories.members import LONGEST, MEMBERS
from tools import ROOT
from training.equal_bytes import near, over_seeds, plans, weights_of
from training.holding import BUDGETS, Holding, Stream, after_prompt
from training.measure import measured
from training.plan import Plan
from training.run import RESULTS, written

STORED = RESULTS / "keys.json"
KEY = "fewer-keys/budgets"
FAMILY = ("mha", "gqa", "sinks", "window")
EVICTED = ("recent", "first", "heavy")
BETWEEN = (24, 40, 48)  # budgets with fewer points
FEWER = (32,)  # and those of the other members
PROMPT = 128  # words of the prompt, after which the cache forgets once
Point = dict[str, Any]
SAME = ("member", "n_layers", "d_model", "reading", "policy", "budget")


def holdings(member: str) -> Iterator[tuple[str, Holding]]:
    """How it is read and what stays, for every point of a member; the first has them all."""
    yield "stream", Holding("all")
    if member == "window":  # it has been trained with a bound of its own
        return
    whole = member == FAMILY[0]
    for budget in BUDGETS if whole else FEWER:
        policies: tuple[str, ...] = (
            EVICTED if budget in BETWEEN or not whole else (*EVICTED, "random", "best")
        )
        for policy in policies:
            yield "stream", Holding(policy, budget)
    if not whole:
        return
    yield "prompt", Holding("all")
    for budget in BUDGETS[:-1]:
        policies = ("observed",) if budget in BETWEEN else (*EVICTED, "observed", "random")
        for policy in policies:
            yield "prompt", Holding(policy, budget)


def points(plan: Plan, before: list[Point], *, rows: int) -> list[Point]:
    """What one trained member loses in each way; what was measured on the same is kept."""
    who = {name: getattr(plan, name) for name in ("member", "seed", "n_layers", "d_model")}
    if (weights := weights_of(plan)) is None:
        told_before = {**who, "rows": rows}
        return [point for point in before if told_before.items() <= point.items()]
    model = mt.Decoder(MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model))
    model.load_state_dict(weights)
    model.eval()
    digest = sha256(b"".join(weights[name].tobytes() for name in sorted(weights))).hexdigest()
    found = []
    for reading, holding in holdings(plan.member):
        this = {**who, "reading": reading, **holding.told(), "rows": rows, "weights": digest[:12]}
        known = next((point for point in before if this.items() <= point.items()), None)
        if known is None:
            prompt = reading == "prompt"
            read = after_prompt(model, holding, PROMPT) if prompt else Stream(model, holding)
            result = measured(read, rows=rows, since=PROMPT if prompt else 0)
            known = this | {
                "excess": result["stories"]["excess"],
                "copying": result["copying"],
                "who_has": result["who_has"],
            }
        found.append(known)
    return found


def summary(found: list[Point]) -> list[Point]:
    """Points over their seeds: how many, mean and standard deviation (None of one seed)."""
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in found:
        groups.setdefault(tuple(point[key] for key in SAME), []).append(point)
    out = []
    for key, group in groups.items():
        asked = [point["who_has"] for point in group]
        values = {
            "excess": [point["excess"]["nats"] for point in group],
            "copying": [point["copying"]["nats"] for point in group],
            "near": [near(one) for one in asked],
            "far": [one["right_64_back_or_more"] for one in asked],
        }
        spread = {name: over_seeds(each) for name, each in values.items()}
        out.append(dict(zip(SAME, key, strict=True)) | {"seeds": len(group)} | spread)
    return out


def main() -> None:
    """Measure what is trained and write it whole; what a stop leaves is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    before: list[Point] = []
    if STORED.exists():
        before = json.loads(STORED.read_text(encoding="utf-8"))["points"]
    record = {**machine.describe(), "command": "make keys", "context": LONGEST, "prompt": PROMPT}
    found: list[Point] = []
    for plan in plans():
        if plan.member not in FAMILY or (plan.n_layers, plan.d_model) != (2, 64):
            continue
        found += points(plan, before, rows=rows)
        later = [point for point in before if point not in found]
        written(STORED, {**record, "points": found + later})
        print(f"[keys] {plan.name}: {len(found)} points so far", flush=True)
    quote(KEY, {**record, "rows": rows, "points": summary(found)})
    print(f"[keys] {len(found)} points in {STORED.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
