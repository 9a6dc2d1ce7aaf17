"""Measure recall against the number of pairs that a model has to hold: ``make pairs``.

A block of words that is told again is a list of pairs: each word and the next. A cache keeps them
all; a state adds them up. Blocks of ever more words show where it runs out: how often the likeliest
next word is right, and its loss, the first time that a block comes again and the second time. None
in training has more than 60 words, so longer ones are new to every member.

In stories a thing changes hands, and "now" asks who has it: the old pair is wrong from then on. So
answers are counted by how often the thing has changed hands before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import mini_attn.torch as mt
from benchmarks.quoted import quote
from mini_attn.shapes import check_count
from mini_attn.stories import WORDS, sample_rows, who_has
from mini_attn.stories.grammar import REGISTERS
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.reading import StoryReader
from mini_attn.stories.vocabulary import NUMBERS
from tools import ROOT
from training.loop import Model
from training.measure import SEED, read
from training.plan import Plan
from training.points import Ledger, Point, spread
from training.run import RESULTS
from training.trained import plans

STORED = RESULTS / "pairs.json"
KEY = "state/pairs"
PAIRS = (8, 16, 24, 32, 40, 48, 56, 60, 72, 84)  # three blocks of the last fill a row
HANDED = 4  # and more
CACHES = ("mha", "alibi", "mqa", "mla")
FAMILY = (*CACHES, *(name for name, one in MEMBERS.items() if one.state is not None))


def blocks(rows: int, pairs: int, length: int = LONGEST) -> NDArray[Any]:
    """Rows (rows, length) of one block of so many words each, none twice, told again and again."""
    check_count("pairs", pairs)
    chance = np.random.default_rng((SEED, pairs))
    words = np.stack([1 + chance.permutation(len(WORDS) - 1)[:pairs] for _ in range(rows)])
    told = np.tile(words, (1, -(-(length - 1) // pairs)))[:, : length - 1]
    return np.concatenate([np.zeros((rows, 1), told.dtype), told], axis=1)


def copied(model: Model, rows: int, pairs: int) -> Point:
    """Ask what a model copies of such blocks when they come again first, and the second time.

    The first word that comes again may be guessed at best: it says that the block is over.
    """
    held = blocks(rows, pairs)
    losses, guesses = read(model, held)
    right = guesses[:, :-1] == held[:, 1:]
    found: Point = {"pairs": pairs}
    for name, first, last in (("first", pairs + 1, 2 * pairs), ("second", 2 * pairs, 3 * pairs)):
        there = slice(first, last)
        found[name] = {
            "words": right[:, there].size,
            "right": float(right[:, there].mean()),
            "nats": float(losses[:, there].mean()),
        }
    return found


def handed(rows: NDArray[Any]) -> NDArray[Any]:
    """Times that the thing has changed hands up to each word of a story, (rows, length)."""
    reading, holder = StoryReader(len(rows)), REGISTERS.index("H")
    times, found = np.zeros(len(rows), np.int64), []
    for words in rows.T:
        before = reading.held[:, holder].copy()
        reading.step(words)
        now = reading.held[:, holder]
        times = np.where(now == 0, 0, times + ((before > 0) & (now != before)))
        found.append(times)
    return np.stack(found, axis=1)


def answered(model: Model, rows: int) -> list[Point]:
    """Count how often a model knows who has the thing now, by how often it has changed hands."""
    held = sample_rows(rows, LONGEST, SEED, kind="stories")
    asked = who_has(held)
    who = held[asked.rows, asked.positions] == NUMBERS["now"]
    at = asked.rows[who], asked.positions[who]
    right = read(model, held)[1][at] == asked.answers[who]
    times = np.minimum(handed(held)[at], HANDED)
    counts = [(n, right[times == n]) for n in range(HANDED + 1)]
    return [
        {"handed": n, "asked": each.size, "right": float(each.mean())}
        for n, each in counts
        if each.size
    ]


def kept_bytes(model: mt.Decoder) -> int:
    """Bytes that all layers keep of one row: caches in bfloat16, states in float32."""
    narrow = mt.Decoder(model.config, dtype="bfloat16")
    return sum(cache.allocated_bytes for cache in narrow.new_caches(1, LONGEST))


def point_of(model: mt.Decoder, rows: int) -> Point:
    """Measure a trained member."""
    return {
        "kept_bytes": kept_bytes(model),
        "blocks": [copied(model, rows, pairs) for pairs in PAIRS],
        "who": answered(model, 4 * rows),
    }


def family() -> list[Plan]:
    """The plans of those members: two layers, and a hybrid's four."""
    layers = {name: MEMBERS[name].attends or Plan.n_layers for name in FAMILY}
    own = [plan for plan in plans() if plan.member in FAMILY and plan.d_model == Plan.d_model]
    return [plan for plan in own if plan.n_layers == layers[plan.member]]


def by_member(found: Sequence[Any], member: str) -> list[Any]:
    """Return what was found of a member, from each seed."""
    return [one for one in found if one["member"] == member]


def summary(found: list[Point]) -> list[Point]:
    """Return the figures that the chapter quotes: shares of right answers, over the seeds."""
    out = []
    for member in FAMILY:
        if not (own := by_member(found, member)):
            continue
        told: Point = {name: own[0][name] for name in ("member", "n_layers", "kept_bytes")}
        told["seeds"] = len(own)
        for name in ("first", "second"):
            shares = ([block[name]["right"] for block in one["blocks"]] for one in own)
            told[name] = [spread(list(each)) for each in zip(*shares, strict=True)]
        asked = ([entry["right"] for entry in one["who"]] for one in own)
        told["who"] = [spread(list(each)) for each in zip(*asked, strict=True)]
        out.append(told)
    return out


def trained(chosen: Sequence[Plan]) -> list[Point]:
    """Return what the members lost when their training was over, over the seeds."""
    found = []
    for plan in chosen:
        record = json.loads((RESULTS / f"{plan.name}.json").read_text(encoding="utf-8"))
        own = record["measured"]
        found.append(
            {
                "member": plan.member,
                "parameters": record["parameters"],
                "excess": own["stories"]["excess"]["nats"],
                "copying": own["copying"]["nats"],
                "right": own["who_has"]["right"],
                "far": own["who_has"]["right_64_back_or_more"],
            }
        )
    out = []
    for member in dict.fromkeys(one["member"] for one in found):
        own = by_member(found, member)
        told = {name: own[0][name] for name in ("member", "parameters")} | {"seeds": len(own)}
        for name in ("excess", "copying", "right", "far"):
            told[name] = spread([one[name] for one in own])
        out.append(told)
    return out


def main() -> None:
    """Measure the members whose weights are here, in eight bits as all are, and write it whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=64, help="rows of each length (default 64)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing after "now"
    ledger = Ledger(
        STORED, {"command": "make pairs", "context": LONGEST, "longest_trained": 60}, rows
    )
    chosen = family()
    for _, model, who in ledger.decoders(chosen):
        with torch.inference_mode():
            ledger.take(who, partial(point_of, model, rows))
    ledger.write(whole=True)
    if ledger.quoted:
        told = {"trained": trained(chosen), "points": summary(ledger.found)}
        quote(KEY, {**ledger.record, "rows": rows, "pairs": list(PAIRS), **told})
    print(f"[pairs] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
