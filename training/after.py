"""Train a finished member on as another: fewer key/value heads, or longer rows. ``make after``.

Two things that a checkpoint is often changed into, each measured before the first step and on the
way: multi-head attention whose heads are pooled (GQA, "uptraining"), and positions stretched by a
rule that is meant to be trained on with (position interpolation, YaRN).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import mini_attn.torch as mt
from benchmarks import machine
from benchmarks.quoted import quote
from mini_attn.config import PositionInterpolation, YaRN
from mini_attn.config.rope import RopeScaling
from mini_attn.stories import load, sample_rows
from mini_attn.stories.members import LONGEST
from mini_attn.torch import pool_kv_heads
from training.data import Rows
from training.indexer import Indexers
from training.loop import next_word_losses, optimiser_of, take_step
from training.measure import SEED, measured
from training.plan import Plan, cosine
from training.run import CACHE, RESULTS, written

FACTOR = 4  # how much longer the rows are after a stretch
STEPS = (0, 5, 10, 20, 50, 100, 200)  # of training on, where it is measured
TOKENS = Plan.rows * LONGEST  # of a step, as in the training before
RATE = 1e-3  # at first; a cosine leads to a tenth
SEEDS = (0, 1, 2)  # of the rows that are trained on
BIN = 128  # positions whose loss is averaged


def pooled(heads: int) -> mt.Decoder:
    """The first member with so many key/value heads, the means of its own."""
    member = load("mha", backend="torch")
    attention, state = member.config.attention, dict(member.state_dict())
    for layer in range(member.config.n_layers):
        name = f"layers.{layer}.self_attn."
        own = {key.removeprefix(name): state[key] for key in state if key.startswith(name)}
        changed, after = pool_kv_heads(own, attention, heads)
        state |= {name + key: weight for key, weight in changed.items()}
    model = mt.Decoder(replace(member.config, attention=after))
    model.load_state_dict(state)
    return model


def stretched(scaling: RopeScaling | None) -> mt.Decoder:
    """The first member for longer rows, its positions scaled by a rule or not at all."""
    member = load("mha", backend="torch")
    attention = member.config.attention
    attention = replace(attention, rope=replace(attention.rope, scaling=scaling))
    config = replace(member.config, attention=attention, max_positions=FACTOR * LONGEST)
    model = mt.Decoder(config)
    model.load_state_dict(member.state_dict())
    return model


@dataclass(frozen=True)
class Change:
    """A change of the first member: how it begins, and on rows of which length it goes on."""

    title: str
    begin: Callable[[], mt.Decoder]
    length: int = LONGEST


LONG = FACTOR * LONGEST
QUOTED = {  # by the chapters: which changes
    "mqa-gqa/trained-on": ("pooled-2", "pooled-1"),
    "rope-scaling/trained-on": ("stretched-none", "stretched-pi", "stretched-yarn"),
}
CHANGES = {
    "pooled-2": Change("key/value heads pooled to two", lambda: pooled(2)),
    "pooled-1": Change("key/value heads pooled to one", lambda: pooled(1)),
    "stretched-none": Change("longer rows, no rule", lambda: stretched(None), LONG),
    "stretched-pi": Change(
        "position interpolation", lambda: stretched(PositionInterpolation(FACTOR)), LONG
    ),
    "stretched-yarn": Change("YaRN", lambda: stretched(YaRN(FACTOR, LONGEST)), LONG),
}


def by_position(model: mt.Decoder, length: int) -> list[float]:
    """Loss of stories in nats per word, a mean for each `BIN` positions."""
    rows = torch.from_numpy(sample_rows(32, length, SEED, kind="stories"))
    with torch.inference_mode():
        losses = next_word_losses(model, rows).double().mean(0).numpy()
    return [float(np.mean(losses[first : first + BIN])) for first in range(0, length, BIN)]


def look(model: mt.Decoder, step: int, length: int) -> dict[str, Any]:
    """Measure the model after a step."""
    model.eval()
    found = {"step": step, "measured": measured(model, rows=64 * LONGEST // length, length=length)}
    model.train()
    return found | ({"by_position": by_position(model, length)} if length > LONGEST else {})


def trained_on(change: Change, seed: int) -> list[dict[str, Any]]:
    """Measurements at each of `STEPS`."""
    model = change.begin()
    rows = Rows(change.length, 100 + seed, CACHE / "rows")
    optimiser, indexers = optimiser_of(model, RATE, Plan.decay), Indexers(model)
    batch, found = TOKENS // change.length, [look(model, 0, change.length)]
    for step in range(1, STEPS[-1] + 1):
        taken = torch.from_numpy(rows.take((step - 1) * batch, batch))
        rate = cosine(RATE, (step - 1) / STEPS[-1])
        take_step(model, optimiser, taken, rate=rate, clip=Plan.clip, indexers=indexers)
        if step in STEPS:
            found.append(look(model, step, change.length))
    return found


def nats(seen: dict[str, Any]) -> dict[str, float]:
    """The two losses of a look, in nats per word."""
    found = seen["measured"]
    return {"stories": found["stories"]["loss"]["nats"], "copying": found["copying"]["nats"]}


def summary(kept: dict[str, Any]) -> dict[str, Any]:
    """Of one change, at each step: mean, least and most over its seeds, in nats per word."""
    at_step = list(zip(*(one["looks"] for one in kept["seeds"].values()), strict=True))
    told: dict[str, Any] = {"title": kept["title"], "length": kept["length"]}
    told |= {"seeds": len(kept["seeds"]), "steps": [looks[0]["step"] for looks in at_step]}
    for name in ("stories", "copying"):
        values = [[nats(seen)[name] for seen in looks] for looks in at_step]
        told[name] = [
            [round(float(each), 4) for each in (np.mean(step), min(step), max(step))]
            for step in values
        ]
    if kept["length"] > LONGEST:
        bins = np.array([[seen["by_position"] for seen in looks] for looks in at_step])
        told["by_position"] = bins.mean(axis=1).round(4).tolist()
    return told


def main() -> None:
    """Every change from every seed, into one file; what a stop leaves there is not done again."""
    path = RESULTS / "after.json"
    done = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"changes": {}}
    for name, change in CHANGES.items():
        kept = done["changes"].get(
            name, {"title": change.title, "length": change.length, "seeds": {}}
        )
        for seed in map(str, SEEDS):
            if seed in kept["seeds"]:
                continue
            began = time.monotonic()
            looks = trained_on(change, int(seed))
            kept["seeds"][seed] = {"seconds": time.monotonic() - began, "looks": looks}
            done["changes"][name] = kept
            done |= {**machine.describe(), "command": "make after", "tokens_a_step": TOKENS}
            written(path, done)
            last = nats(looks[-1])
            print(f"[after] {change.title}, seed {seed}: stories {last['stories']:.3f}, "
                  f"copying {last['copying']:.3f} nats per word", flush=True)  # fmt: skip
    done["from_the_start"] = {
        name: nats(look(load(name, backend="torch"), 0, LONGEST)) for name in ("mha", "gqa", "mqa")
    }
    for key, names in QUOTED.items():
        told = {name: summary(done["changes"][name]) for name in names}
        record = {name: value for name, value in done.items() if name != "changes"}
        quote(key, {**record, "changes": told})


if __name__ == "__main__":
    main()
