"""Measure the loss with a cache of small floats, rotated or not: ``make floats``.

The members that ship read held-out rows from caches in FP8 and NVFP4, and in whole numbers with
scales by channel or by token; as they are, after a Hadamard rotation, and with keys that are
rounded before RoPE instead of after it. Scales of a whole tensor come from rows of their own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

import mini_attn.torch as mt
from benchmarks.quoted import quote
from mini_attn.caching import Cached
from mini_attn.config import CACHE_FORMATS, FloatCoding, RopeConfig
from mini_attn.cost import Quantized, cache_bytes
from mini_attn.shapes import check_count
from mini_attn.stories import load, sample_rows
from mini_attn.stories.members import LONGEST
from tools import ROOT
from training.keeping import CODES, GROUP, NUMBERS, Keeping, Reading, bytes_per_token, sizes_of
from training.measure import measured
from training.points import Ledger, Point, lost, over_seeds
from training.run import RESULTS
from training.trained import digest_of

STORED = RESULTS / "floats.json"
KEY = "bits/floats"
MEMBERS = ("mha", "gqa", "mqa")
SEEN, SEEN_ROWS = 56, 32  # the rows that scales come from; training and measuring have others
Scales = list[dict[str, Any]]  # of each layer


@dataclass(frozen=True)
class Way:
    """How a cache keeps its numbers: in a format, or in so many bits with keys by an axis.

    ``scales`` says what has a scale that is known beforehand: nothing, so that it is 1, the whole
    tensor, or each head. Without a format there is none, and 16 bits are bfloat16.
    """

    format: str | None = None
    scales: str | None = None
    bits: int | None = None
    key_axis: str | None = None
    rotation: str | None = None
    before_rope: bool = False

    def options(self) -> dict[str, Any]:
        """Return the arguments of `QuantizedKVCache`, except for the scales."""
        if self.format is not None:
            return {"format": self.format, "rotation": self.rotation}
        return {"bits": self.bits, "key_axis": self.key_axis, "rotation": self.rotation, **CODES}


def ways() -> Iterator[Way]:
    """Yield what is measured, bfloat16 first."""
    yield Way(bits=16)
    for form in CACHE_FORMATS:
        for scales in ("one", "tensor", "head"):
            yield Way(form, scales)
        yield Way(form, "tensor", rotation="hadamard")
        yield Way(form, "tensor", before_rope=True)
    for bits in (4, 3, 2):
        for axis in ("channel", "token"):
            yield Way(bits=bits, key_axis=axis)
            yield Way(bits=bits, key_axis=axis, rotation="hadamard")
            yield Way(bits=bits, key_axis=axis, before_rope=True)


def roped(k: Tensor, rope: RopeConfig, *, back: bool = False) -> Tensor:
    """Keys at the positions 0, 1, … after RoPE, or from there back to before it."""
    places = torch.arange(k.shape[2])
    cos, sin = mt.rope_table(places, mt.rope_frequencies(k.shape[3], theta=rope.theta))
    return mt.apply_rope(k, cos, -sin if back else sin, layout=rope.layout)


class _BeforeRope(mt.QuantizedKVCache):
    """Keys rounded as they were before RoPE, and rotated when they are read.

    The bytes are the same. Rows have no padding, so that a slot is its token's position.
    """

    rope: RopeConfig

    def _seal(self, state: Any, k_all: Tensor, v_all: Tensor, groups: int) -> None:
        super()._seal(state, roped(k_all, self.rope, back=True), v_all, groups)

    def _cached(self, state: Any) -> Cached:
        held = super()._cached(state)
        k = held.k.clone()
        k[:, :, : state.sealed] = roped(k[:, :, : state.sealed], self.rope)
        return held._replace(k=k)


class Rounded(Reading):
    """A decoder that reads its context from such a cache, a group of tokens at a time."""

    def __init__(self, model: mt.Decoder, way: Way) -> None:
        super().__init__(model, Keeping(16, 16))
        self.way, self.scales = way, scales_of(model, way)

    def caches(self, batch: int, capacity: int) -> list[Any]:
        """An empty cache for each layer."""
        if self.way.bits in NUMBERS:
            return super().caches(batch, capacity)
        kind: Any = _BeforeRope if self.way.before_rope else mt.QuantizedKVCache
        one: Any = self.model.config.attentions[0]
        sizes, options = (batch, one.n_kv_heads, one.head_dim, capacity), self.way.options()
        found = [kind(*sizes, **options, **scales) for scales in self.scales]
        for cache in found:
            cache.rope = one.rope
        return found


@torch.inference_mode()
def scales_of(model: mt.Decoder, way: Way) -> Scales:
    """The scale of each layer's keys and values that brings their largest to the largest code."""
    caches = model.new_caches(SEEN_ROWS, LONGEST)
    if way.scales in (None, "one"):
        return [{} for _ in caches]
    assert way.format is not None
    model(torch.from_numpy(sample_rows(SEEN_ROWS, LONGEST, SEEN, kind="mixture")), caches=caches)
    rope = model.config.attentions[0].rope
    found = []
    for cache in caches:
        k, v, _ = cache.view()
        numbers = {"k_scale": roped(k, rope, back=True) if way.before_rope else k, "v_scale": v}
        if way.rotation:
            numbers = {name: mt.hadamard_rotation(x) for name, x in numbers.items()}
        along = (0, 2, 3) if way.scales == "head" else (0, 1, 2, 3)
        largest = FloatCoding(CACHE_FORMATS[way.format], k.shape[3]).largest
        found.append({name: x.abs().amax(dim=along) / largest for name, x in numbers.items()})
    return found


def taken(model: mt.Decoder, way: Way) -> float:
    """Bytes of the cache for each token."""
    if way.bits in NUMBERS:
        return bytes_per_token(model.config, Keeping(16, 16), context=LONGEST)
    options = way.options()
    del options["rotation"]
    use: dict[str, Any] = {"batch": 1, "context": LONGEST, "dtype_bytes": 4}
    return cache_bytes(sizes_of(model.config), storage=Quantized(**options), **use) / LONGEST


def point_of(model: mt.Decoder, way: Way, rows: int) -> Point:
    """Measure the loss of a trained member whose cache is kept in one way."""
    return {"bytes_per_token": taken(model, way)} | lost(measured(Rounded(model, way), rows=rows))


def summary(found: list[Point]) -> list[Point]:
    """Return the figures that the chapter quotes."""
    return over_seeds(found, ("member", *Way.__dataclass_fields__, "bytes_per_token"))


def main() -> None:
    """Measure the members and write all of it; what a stop leaves is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=128, help="rows of each kind (default 128)")
    rows = check_count("rows", parser.parse_args().rows, least=4)  # fewer ask nothing far back
    record = {"command": "make floats", "context": LONGEST, "group": GROUP}
    ledger = Ledger(STORED, record, rows)
    for member in MEMBERS:
        model: mt.Decoder = load(member, backend="torch").eval()
        same = {"rows": rows, "weights": digest_of(model)}
        for way in ways():
            ledger.take(
                {"member": member, **asdict(way), **same}, partial(point_of, model, way, rows)
            )
            ledger.write()
        print(f"[floats] {member}: {len(ledger.found)} points so far", flush=True)
    if ledger.quoted:
        quote(KEY, {**ledger.record, "rows": rows, "points": summary(ledger.found)})
    print(f"[floats] {len(ledger.found)} points in {ledger.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
