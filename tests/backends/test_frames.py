"""How many of the package's functions a reader passes through, counted and not judged.

Every call of a Python function of `mini_attn` counts, generators and properties too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import mini_attn
import mini_attn.numpy as ma
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.numpy.attention import _products

HOME = str(Path(mini_attn.__file__).parent)
HALF, INTERLEAVED = RopeConfig("half"), RopeConfig("interleaved")
LATENT = LatentConfig(8, 2, 4, 2, 2, 3, rope=INTERLEAVED)
COMPRESSED = LatentConfig(8, 2, 4, 2, 2, 3, rope=INTERLEAVED, q_lora_rank=3)
GROUPED = AttentionConfig(8, 4, 2, n_kv_heads=2)
ROTATED = AttentionConfig(8, 4, 2, n_kv_heads=2, rope=HALF)
X = np.ones((1, 3, 8), np.float32)


def ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(HOME)


def calls(run: Callable[[], Any]) -> list[str]:
    """Names of the package's functions in the order in which they are called."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and ours(frame):
            names.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return names


def layer_of(config: Any) -> Any:
    kind = ma.MultiHeadLatentAttention if isinstance(config, LatentConfig) else None
    return (kind or ma.GroupedQueryAttention)(config)


@pytest.mark.parametrize(
    ("config", "most", "most_cached"),
    [
        pytest.param(LATENT, 35, 40, id="mla"),
        pytest.param(COMPRESSED, 35, 43, id="mla, queries compressed too"),
        pytest.param(GROUPED, 27, 41, id="gqa"),
        pytest.param(ROTATED, 30, 44, id="gqa, rotated"),
    ],
)
def test_a_layer_on_three_tokens_makes_few_calls(config, most, most_cached):
    layer = layer_of(config)
    cache = layer.new_cache(1, 8)
    without, cached = calls(lambda: layer(X)), calls(lambda: layer(X, cache=cache))
    assert len(without) <= most, without
    assert len(cached) <= most_cached, cached
    assert cache.slots == 3


@pytest.mark.parametrize("q_len", [1, 3])
def test_a_decoders_layers_cost_few_calls_more_each(q_len):
    """What all layers share is made once: the second layer costs no more than its own work."""
    counts = []
    for n_layers in (1, 2, 3):
        model = ma.Decoder(DecoderConfig(16, n_layers, ROTATED, d_ff=16, max_positions=8))
        caches, tokens = model.new_caches(1, 8), np.full((1, q_len), 3)
        counts.append(len(calls(lambda m=model, c=caches, t=tokens: m(t, caches=c))))
    first, second, third = counts
    assert first <= 80
    assert second - first == third - second <= 50


def test_tables_and_masks_are_made_once_for_all_layers():
    model = ma.Decoder(DecoderConfig(16, 3, ROTATED, d_ff=16, max_positions=8))
    names = calls(lambda: model(np.array([[1, 2, 3]]), caches=model.new_caches(1, 8)))
    assert names.count("cos_and_sin") == 1
    assert names.count("compare_positions") == 1
    assert names.count("attend_in_full") == 3


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
@pytest.mark.parametrize("cached", [False, True])
def test_five_frames_from_a_latent_layer_to_the_product(form, cached):
    layer = layer_of(LATENT)
    cache = layer.new_cache(1, 8) if cached else None
    assert depth(lambda: layer(X, cache=cache, form=form)) <= 5


@pytest.mark.parametrize("config", [GROUPED, ROTATED], ids=["plain", "rotated"])
def test_five_frames_from_a_grouped_layer_to_the_product(config):
    layer = layer_of(config)
    assert depth(lambda: layer(X)) <= 5
    assert depth(lambda: layer(X, cache=layer.new_cache(1, 8))) <= 5


def depth(run: Callable[[], Any]) -> int:
    """Frames of the package from the call to the product of queries and keys, both counted."""
    found: list[int] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is _products.row_products.__wrapped__.__code__:
            chain, at = [], frame
            while at is not None:
                chain.append(at)
                at = at.f_back
            found.append(sum(ours(one) for one in chain))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    assert len(found) == 1
    return found[0]
