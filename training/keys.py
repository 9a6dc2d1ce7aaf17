"""Measure the loss when a cache keeps a budget of keys: ``make keys``.

A query reads as many keys as the budget says, and its own token. Read as a stream, the cache
forgets after each token: the newest keys stay, or the first ones too, or half of the room goes to
keys that got large weights or that were drawn. After a prompt it forgets once. Beside them stand
the whole cache, and a bound that no cache reaches: of all keys those with the largest scores,
which only one who keeps and compares them all can find. An indexer would have to be trained with
the member, and none was, so there is none here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import mini_attn.torch as mt
from benchmarks.quoted import quote
from mini_attn.shapes import check_count
from mini_attn.stories.members import LONGEST
from tools import ROOT
from training.holding import BUDGETS, Holding, Stream, after_prompt
from training.measure import measured
from training.points import Ledger, Point, lost, over_seeds
from training.run import RESULTS
from training.trained import plans

STORED = RESULTS / "keys.json"
KEY = "fewer-keys/budgets"
FAMILY = ("mha", "gqa", "sinks", "window")
EVICTED = ("recent", "first", "heavy")
BETWEEN = (24, 40, 48)  # budgets with fewer points
FEWER = (32,)  # and those of the other members
PROMPT = 128  # words of the prompt, after which the cache forgets once
SAME = ("member", "n_layers", "d_model", "reading", "policy", "budget")


def holdings(member: str) -> Iterator[tuple[str, Holding]]:
    """Yield each rule and budget to measure for a member; the first keeps all keys."""
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


def point_of(model: mt.Decoder, reading: str, holding: Holding, rows: int) -> Point:
    """Measure the loss of a trained member under one rule."""
    prompt = reading == "prompt"
    read = after_prompt(model, holding, PROMPT) if prompt else Stream(model, holding)
    return lost(measured(read, rows=rows, since=PROMPT if prompt else 0))


def summary(found: list[Point]) -> list[Point]:
    """Return the figures that the chapter quotes: points over their seeds."""
    return over_seeds(found, SAME)


def main() -> None:
    """Measure what is trained and write it whole; what a stop leaves is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    ledger = Ledger(STORED, {"command": "make keys", "context": LONGEST, "prompt": PROMPT}, rows)
    small = [p for p in plans() if p.member in FAMILY and (p.n_layers, p.d_model) == (2, 64)]
    for plan, model, who in ledger.decoders(small):
        for reading, holding in holdings(plan.member):
            this = {**who, "reading": reading, **holding.told()}
            ledger.take(this, partial(point_of, model, reading, holding, rows))
    if ledger.quoted:
        quote(KEY, {**ledger.record, "rows": rows, "points": summary(ledger.found)})
    print(f"[keys] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
