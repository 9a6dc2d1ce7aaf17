"""Measure the loss with fewer bits per weight and with fewer weights: ``make fewer``.

The weights as they are shipped, eight bits and a scale a row, are where every change begins: as
``int8`` the matrices come back as they are, and a loss above the floor is compared with theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

import mini_attn.torch as mt
from benchmarks.quoted import quote
from mini_attn.config import WEIGHT_FORMATS, Pattern, WeightFormat
from mini_attn.shapes import check_count
from mini_attn.stories import load, sample_rows
from mini_attn.stories.members import LONGEST
from tools import ROOT
from training.measure import measured
from training.points import Ledger, Point, lost
from training.run import RESULTS
from training.trained import digest_of

STORED = RESULTS / "fewer.json"
KEY = "bits/fewer"
MEMBERS = ("mha", "gqa", "mla")
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PATTERNS = (Pattern(2, 4), Pattern(4, 8), Pattern(1, 4))
SEEN = 55  # seed of the rows whose inputs are measured; training and measuring have others
FORMATS = WEIGHT_FORMATS | {
    "int4-row": WeightFormat("int4", "row", scales="float16"),
    "int4-16": WeightFormat("int4", 16, scales="float16"),
    "e2m1-row": WeightFormat("e2m1", "row", scales="float16"),
}
Way = tuple[Point, Callable[[], mt.Decoder]]


def bits_of(model: mt.Decoder, *, embeddings: bool) -> float:
    """Bits a weight of all matrix products, and of the tables too where they are rounded."""
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, mt.Linear) or (embeddings and isinstance(layer, mt.Embedding))
    ]
    numbers = sum(layer.weight.numel() for layer in layers)
    kept = (
        tensor.nbytes
        for layer in layers
        for name, tensor in layer.state_dict().items()
        if name != "bias"
    )
    return 8 * sum(kept) / numbers


def rounded(model: mt.Decoder) -> Iterator[Way]:
    """In each format, the matrix products alone and the table of words too."""
    for embeddings in (False, True):
        for name, form in FORMATS.items():
            begin = partial(mt.quantize_weights, model, form, embeddings=embeddings)
            yield {"way": "format", "format": name, **asdict(form), "embeddings": embeddings}, begin


def pruned(model: mt.Decoder, rows: torch.Tensor) -> Iterator[Way]:
    """By size and by size times input, within rows or matrices, by share and by pattern."""
    norms = mt.feature_norms(model, rows)
    for scores, given in (("magnitude", None), ("wanda", norms)):
        for within in ("row", "matrix"):
            for share in (*SHARES, *(PATTERNS if within == "row" else ())):
                told: Point = {"way": "pruned", "scores": scores, "within": within}
                if isinstance(share, Pattern):
                    told |= {"n": share.n, "m": share.m, "share": 1 - share.n / share.m}
                else:
                    told |= {"n": None, "m": None, "share": share}
                begin = partial(mt.prune_weights, model, share, norms=given, within=within)
                yield told, begin


def without(model: mt.Decoder, rows: torch.Tensor) -> Iterator[Way]:
    """Heads switched off, one more each time, in the order of what one alone is worth."""
    worth = mt.head_scores(model, rows)
    order = [divmod(int(place), worth.shape[1]) for place in worth.flatten().argsort()]
    for count in range(1, len(order)):
        going = order[:count]
        told: Point = {"way": "heads", "off": [list(head) for head in going]}
        told["worth"] = [float(worth[head]) for head in going]
        yield told, partial(switched_off, model, going)


def switched_off(model: mt.Decoder, heads: list[tuple[int, int]]) -> mt.Decoder:
    """A copy in which some heads write nothing."""
    model = deepcopy(model)
    width = model.config.attention.v_head_dim
    for layer, head in heads:
        weight: Any = model.layers[layer].self_attn.o_proj.weight  # type: ignore[union-attr]
        with torch.no_grad():
            weight[:, head * width : (head + 1) * width] = 0
    return model


def ways(model: mt.Decoder) -> Iterator[Way]:
    """Every change of a member, with what is told of it; first none."""
    rows = torch.from_numpy(sample_rows(32, LONGEST, SEEN))
    yield {"way": "shipped"}, lambda: model
    yield from rounded(model)
    yield from pruned(model, rows)
    yield from without(model, rows)


def point_of(begin: Callable[[], mt.Decoder], told: Point, rows: int) -> Point:
    """Measure the bytes and the loss of a changed member."""
    changed = begin()
    return {
        "bits": bits_of(changed, embeddings=told.get("embeddings", False)),
        "stored_bytes": mt.stored_bytes(changed),
        **lost(measured(changed, rows=rows)),
    }


def summary(found: list[Point]) -> list[Point]:
    """Return the figures that the chapter quotes: formats, pruned weights, heads off."""
    out = []
    for point in found:
        if point.get("embeddings"):
            continue
        names = ("member", "way", "format", "bits", "scores", "within", "share", "n", "m", "off")
        told = {name: point[name] for name in names if point.get(name) is not None}
        excess = point["excess"]
        told["excess"] = [float(f"{excess[name]:.4g}") for name in ("nats", "standard_error")]
        out.append(told | {"copying": float(f"{point['copying']['nats']:.4g}")})
    return out


def main() -> None:
    """Measure the members and write all of it; what a stop leaves is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    parser.add_argument("--members", nargs="+", default=MEMBERS, choices=MEMBERS)
    options = parser.parse_args()
    rows = check_count("rows", options.rows, least=4)  # fewer ask nothing far back
    ledger = Ledger(STORED, {"command": "make fewer", "context": LONGEST}, rows)
    for member in options.members:
        model: mt.Decoder = load(member, backend="torch").eval()
        same = {"rows": rows, "weights": digest_of(model)}
        for told, begin in ways(model):
            this = {"member": member, **told, **same}
            ledger.take(this, partial(point_of, begin, told, rows))
            ledger.write()
        if ledger.quoted:
            quote(KEY, {**ledger.record, "rows": rows, "points": summary(ledger.found)})
        print(f"[fewer] {member}: {len(ledger.found)} points so far", flush=True)
    print(f"[fewer] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
