"""Measure the loss for each byte of cache that a member does without: ``make bytes``.

Every member that has been trained, at every size and from every seed, reads held-out rows from
its cache in float32, in bfloat16, in codes of 8 to 2 bits, and through windows that it was not
trained with. Loss above the floor, copying and recall are measured beside the bytes of the cache.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial

import mini_attn.torch as mt
from benchmarks.quoted import quote
from mini_attn.config import CompressedConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.stories import WORDS
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.widgets.equal_bytes_data import KEY
from tools import ROOT
from training.keeping import GROUP, Keeping, Reading, bytes_per_token
from training.measure import measured
from training.plan import Plan
from training.points import Ledger, Point, lost, over_seeds
from training.run import RESULTS
from training.trained import plans

STORED = RESULTS / "bytes.json"
SAME = ("member", "n_layers", "d_model", *Keeping.__dataclass_fields__, "bytes_per_token")

NUMBERS = [Keeping(bits, bits) for bits in (32, 16)]
CODES = [Keeping(bits, bits) for bits in (8, 4, 3, 2)]
APART = [Keeping(k, v) for k, v in ((4, 2), (2, 4))]
BY_TOKEN = [Keeping(bits, bits, "token") for bits in (4, 3, 2)]
WINDOWS = [
    Keeping(window=window, sink_tokens=first) for window in (32, 64, 128) for first in (0, 1, 4)
]


def keepings(plan: Plan) -> list[Keeping]:
    """The ways in which a member's cache is kept; none where layers keep a state."""
    if MEMBERS[plan.member].state is not None:
        return []
    attention = MEMBERS[plan.member].config(len(WORDS), plan.n_layers, plan.d_model).attentions[0]
    if isinstance(attention, CompressedConfig):  # its entries are rounded in no other type
        return NUMBERS[:1]
    if isinstance(attention, LatentConfig):  # codes by token are another experiment there
        return NUMBERS + CODES
    if attention.window is not None:  # its ring has no codes
        return NUMBERS
    windows = WINDOWS if plan.member in ("mha", "sinks") else []
    return NUMBERS + CODES + APART + BY_TOKEN + windows


def point_of(model: mt.Decoder, keeping: Keeping, rows: int) -> Point:
    """Measure the loss of a trained member with one way of keeping its cache."""
    taken = bytes_per_token(model.config, keeping, context=LONGEST)
    return {"bytes_per_token": taken} | lost(measured(Reading(model, keeping), rows=rows))


def summary(found: list[Point]) -> list[Point]:
    """Return the figures that the chapter quotes: points over their seeds."""
    return over_seeds(found, SAME)


def main() -> None:
    """Measure what is trained and write it whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    ledger = Ledger(STORED, {"command": "make bytes", "context": LONGEST, "group": GROUP}, rows)
    for plan, model, who in ledger.decoders(plans()):
        for keeping in keepings(plan):
            ledger.take({**who, **asdict(keeping)}, partial(point_of, model, keeping, rows))
    if not ledger.found:
        raise ConfigError("no member has been trained: `make train` does it")
    ledger.write(whole=True)
    if ledger.quoted:
        quote(KEY, {**ledger.record, "rows": rows, "points": summary(ledger.found)})
    print(f"[bytes] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
