"""Layers that read an earlier layer's keys and values.

What caches promise is tested where it is for other decoders, with such layers among theirs
(`test_decoder`, `test_faults`, `test_compiled`, `test_serving`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, DecoderConfig, KeepRecent, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.plain import new_cache
from mini_attn.plain.sharing import logits_of_sharing

ROPE = RopeConfig("interleaved")
FULL = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=ROPE)
WINDOW = replace(FULL, window=3)
LAYERS = (WINDOW, FULL, WINDOW, FULL)
SOURCES = (0, 1, 0, 1)


def config_of(attention: Any = LAYERS, sources: Any = SOURCES, n_layers: int = 4) -> DecoderConfig:
    return DecoderConfig(
        29, n_layers, attention, d_ff=11, max_positions=24, mlp="gated", activation="silu",
        mlp_bias=False, norm="rms_norm", positions="none", eps=1e-6, kv_sources=sources,
    )  # fmt: skip


def model_of(lib: Any, config: DecoderConfig | None = None) -> Any:
    model = lib.Decoder(config or config_of(), dtype="float64")
    rng = np.random.default_rng(7)
    drawn = {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    model.load_state_dict(drawn)
    return model


def plain_weights(lib: Any, model: Any) -> dict[str, Any]:
    state = {k: np.array(lib.numpy(w)) for k, w in model.state_dict().items()}
    names = {
        "attention_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm",
        **{part: f"self_attn.{part}_proj" for part in "qkvo"},
        **{part: f"mlp.{part}_proj" for part in ("gate", "up", "down")},
    }  # fmt: skip
    layers = [
        {own: state[f"layers.{i}.{name}.weight"].T for own, name in names.items()
         if f"layers.{i}.{name}.weight" in state}
        for i in range(model.config.n_layers)
    ]  # fmt: skip
    return {"embedding": state["embed_tokens.weight"], "norm": state["norm.weight"],
            "layers": layers}  # fmt: skip


def test_the_plain_form(lib, rng):
    model = model_of(lib)
    W, tokens = plain_weights(lib, model), rng.integers(0, 29, (2, 9))
    assert ["k" in layer for layer in W["layers"]] == [True, True, False, False]
    windows = [3, np.inf, 3, np.inf]
    sizes = {"n_heads": 4, "layout": "interleaved"}
    whole = logits_of_sharing(tokens, W, SOURCES, windows, np.arange(9), [None] * 4, 2, **sizes)
    np.testing.assert_allclose(lib.numpy(model(lib.array(tokens))), whole, atol=1e-10)
    kept = [new_cache(2, 2, slots, 4, 4) for slots in (3, 9)] + [None, None]
    caches = model.new_caches(2, 9)
    for now in (slice(0, 4), slice(4, 5), slice(5, 9)):
        step = logits_of_sharing(tokens[:, now], W, SOURCES, windows, np.arange(9)[now], kept, 2,
                                 **sizes)  # fmt: skip
        ours = lib.numpy(model(lib.array(tokens[:, now]), caches=caches))
        np.testing.assert_allclose(step, whole[:, now], atol=1e-10)
        np.testing.assert_allclose(ours, whole[:, now], atol=1e-10)


def test_there_is_one_cache_for_each_keeping_layer(lib):
    model = model_of(lib)
    caches = model.new_caches(2, 9)
    assert [type(cache).__name__ for cache in caches] == ["SlidingWindowCache", "KVCache"]
    assert not [name for name in model.state_dict() if ".2." in name and "k_proj" in name]
    with pytest.raises(ConfigError, match="2 layers need as many caches, got 4"):
        model(lib.array([[1], [2]]), caches=[*caches, *model.new_caches(2, 9)])


def test_a_decoder_without_readers_is_the_usual_one(lib):
    assert config_of(FULL, (0, 1, 2, 3)) == config_of(FULL, None)
    assert config_of(FULL, None).keeping_layers == (0, 1, 2, 3)


@pytest.mark.parametrize("kind", ["quantised", "evicting"])
def test_readers_see_what_such_a_cache_gives(lib, kind, rng):
    """One cache of 8 bits or of all tokens is as good as exact; readers add no votes to it."""
    model = model_of(lib, config_of(FULL, (0, 0, 0), 3))
    tokens = lib.array(rng.integers(0, 29, (1, 12)))
    sizes = {"group_size": 2, "residual": 4, "dtype": "float64"}
    cache = (
        lib.QuantizedKVCache(1, 2, 4, 16, **sizes) if kind == "quantised"
        else lib.EvictingCache(1, 2, 4, budget=12, policy=KeepRecent(sink_tokens=1),
                               dtype="float64")
    )  # fmt: skip
    parts = [model(tokens[:, i : i + 3], caches=[cache]) for i in range(0, 12, 3)]
    found = np.concatenate([lib.numpy(part) for part in parts], axis=1)
    whole = lib.numpy(model(tokens))
    far = np.abs(found - whole).max() / np.abs(whole).max()
    assert far < (0.2 if kind == "quantised" else 1e-12)
    assert cache.slots == 12


REFUSED = {
    "too few": (FULL, (0, 0, 0), "kv_sources must name a layer for each of 4"),
    "no numbers": (FULL, (0, 0, True, 0), "kv_sources must name a layer for each of 4"),
    "a later one": (FULL, (0, 2, 2, 3), r"kv_sources\[1\] must be 1 itself or an earlier layer"),
    "a reader": (FULL, (0, 0, 1, 3), r"kv_sources\[2\] must be 2 itself or an earlier layer"),
    "heads": ((FULL, replace(FULL, n_kv_heads=4)) * 2, (0, 0, 2, 3), "need one n_kv_heads"),
    "rotation": ((FULL, replace(FULL, rope=None)) * 2, (0, 0, 2, 3), "need one rope"),
    "full reads window": (LAYERS, (0, 0, 2, 3), "layer 1 sees all keys, but layer 0"),
    "wider window": ((WINDOW, replace(FULL, window=5)) * 2, (0, 0, 2, 3), "keeps the last 3"),
    "first tokens": (
        (WINDOW, replace(WINDOW, sink_tokens=1)) * 2, (0, 0, 2, 3), "layer 0 keeps 0"
    ),
    "latents": (
        (LatentConfig(8, 2, 5, 3, 4, 6, rope=ROPE),) * 4, (0, 0, 2, 3), "layer 1 has mla"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_layers_that_do_not_fit_are_refused(case):
    attention, sources, words = REFUSED[case]
    with pytest.raises(ConfigError, match=words):
        config_of(attention, sources)


def test_a_reader_outside_its_decoder_is_refused(lib, rng):
    x = lib.array(rng.standard_normal((1, 3, 8)))
    layer = lib.DecoderLayer(config_of(), layer=2, dtype="float64")
    for act in (
        lambda: layer(x),
        lambda: layer.self_attn(x),
        lambda: layer.self_attn.new_cache(1, 4),
        lambda: layer.self_attn.project(x, x),
    ):
        with pytest.raises(ConfigError, match=r"reads (the keys and values of layer 0|an earlier)"):
            act()


def test_hooks_change_nothing(rng):
    model = mt.Decoder(config_of(), dtype="float64", seed=3)
    tokens = torch.tensor(rng.integers(0, 29, (2, 9)))
    whole, seen = model(tokens), []
    for layer in model.layers:
        for module in (layer, layer.self_attn):
            module.register_forward_hook(lambda *a: seen.append(a))
    caches = model.new_caches(2, 9)
    parts = [model(tokens[:, some], caches=caches) for some in (slice(0, 4), slice(4, 9))]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert len(seen) == 16


def test_a_source_from_outside_is_refused(rng):
    class Own(mt.GroupedQueryAttention):
        def forward(self, x, *, cache=None, positions=None):
            return x

    model = mt.Decoder(config_of(), dtype="float64", seed=3)
    model.layers[1].self_attn = Own(FULL, dtype="float64")
    with pytest.raises(ConfigError, match="layer 1 is read by a later one"):
        model(torch.tensor(rng.integers(0, 29, (2, 9))))


def test_what_readers_learn_reaches_their_source(rng):
    model = mt.Decoder(config_of(FULL, (0, 0, 0, 0)), dtype="float64", seed=3)
    for layer in model.layers[:1]:  # the source's own attention hands nothing on
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
    tokens = torch.tensor(rng.integers(0, 29, (2, 9)))
    model(tokens).square().sum().backward()
    assert model.layers[0].self_attn.k_proj.weight.grad.abs().max() > 0
