"""Measure what a choice of entries costs, and what the indexer's own training is worth.

``make choice``. Each trained member that chooses reads held-out rows with other numbers of chosen
entries than it was trained with, up to all, and with an indexer as it was before its training.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import Any

import mini_attn.torch as mt
from mini_attn.shapes import check_count
from mini_attn.stories.members import LONGEST, MEMBERS
from tools import ROOT
from training.measure import measured
from training.points import Ledger, Point, lost
from training.run import RESULTS
from training.trained import plans

STORED = RESULTS / "choice.json"
TOPKS = (64, 16, 8, 4, 2, 1)  # of 64 entries at most
FRESH = 77  # seed of an untrained indexer


def choosing(model: mt.Decoder, topk: int, *, trained: bool = True) -> mt.Decoder:
    """A copy that reads so many entries, which its own indexer chooses or an untrained one."""
    attention: Any = replace(model.config.attentions[0], index_topk=topk)
    copy = mt.Decoder(replace(model.config, attention=attention), seed=FRESH)
    weights = model.state_dict()
    if not trained:
        weights |= {name: w for name, w in copy.state_dict().items() if ".indexer." in name}
    copy.load_state_dict(weights)
    return copy.eval()


def point_of(model: mt.Decoder, topk: int, trained: bool, rows: int) -> Point:
    """Measure the loss with a choice."""
    return lost(measured(choosing(model, topk, trained=trained), rows=rows))


def main() -> None:
    """Measure the members whose weights are here and write it whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    ledger = Ledger(STORED, {"command": "make choice", "context": LONGEST}, rows)
    chosen = [plan for plan in plans() if MEMBERS[plan.member].topk is not None]
    for _, model, who in ledger.decoders(chosen):
        for trained in (True, False):
            for topk in TOPKS if trained else TOPKS[1:]:
                this = {**who, "indexer": "trained" if trained else "untrained", "topk": topk}
                ledger.take(this, partial(point_of, model, topk, trained, rows))
                ledger.write()
    ledger.write(whole=True)
    print(f"[choice] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
