"""Every public function and method of both backends, given a wrong kind for each argument.

A word, None, a list or the other backend's array must give an error of this package that
names the argument.
"""

from __future__ import annotations

import inspect
import re
import types

import numpy as np
import pytest
import torch

from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    ExpertConfig,
    KeepHeavyHitters,
    NTKAware,
)
from mini_attn.errors import DTypeError, MiniAttnError
from mini_attn.variants import REGISTRY
from tests.backends.test_parity import STEMS, pair, public
from tests.forms import appended, small_config

HEADS = AttentionConfig(8, 4, 2)
DECODER = DecoderConfig(13, 1, HEADS, d_ff=6, max_positions=9)
SIZES = {"batch": 1, "n_kv_heads": 4, "head_dim": 2, "capacity": 8}
CLASSES = {  # the arguments that make one of each
    "BlockPool": {"n_blocks": 4, "n_kv_heads": 4, "head_dim": 2, "block_size": 2},
    "EvictingCache": {
        "batch": 1,
        "n_kv_heads": 4,
        "head_dim": 2,
        "budget": 3,
        "policy": KeepHeavyHitters(1),
    },
    "Indexer": {"config": small_config(REGISTRY["indexed"])},
    "QuantizedKVCache": SIZES,
    "Decoder": {"config": DECODER},
    "Server": {"n_blocks": 4, "block_size": 2},
    "DecoderLayer": {"config": DECODER},
    "GroupedQueryAttention": {"config": AttentionConfig(8, 4, 2, sinks=True)},
    "MLP": {"d_model": 8, "d_ff": 6},
    "GatedMLP": {"d_model": 8, "d_ff": 6},
    "MixtureOfExperts": {"d_model": 8, "config": ExpertConfig(4, 2, 6)},
    "Embedding": {"rows": 13, "d_model": 8},
    "LearnedPositions": {"rows": 13, "d_model": 8},
    "Linear": {"in_features": 8, "out_features": 6},
    "Norm": {"d_model": 8, "kind": "rms_norm"},
    "RelativePositions": {"head_dim": 2, "max_distance": 3},
}


def floats(*shape):
    return np.ones(shape, "float32")


Q = {name: floats(1, 4, 3, 2) for name in "qkv"}
PLACES = np.arange(3)
STATE = {"log_decay": -floats(1, 4, 3), "state": floats(1, 4, 2, 2), "keep": np.ones((1, 3), bool)}
CALLS = {  # the arguments that a call needs
    "attention_backward": {"d_out": floats(1, 4, 3, 2), **Q},
    "scaled_dot_product_attention": Q,
    "online_attention": Q,
    "recurrent_attention": {**Q, **STATE, "beta": floats(1, 4, 3)},
    "chunked_attention": {**Q, **STATE, "beta": floats(1, 4, 3)},
    "parallel_attention": {**Q, **STATE, "beta": floats(1, 4, 3)},
    "recurrent_attention_backward": {
        "d_out": floats(1, 4, 3, 2), **Q, **STATE, "beta": floats(1, 4, 3)},
    "feature_map": {"x": floats(3)},
    "short_convolution": {"x": floats(1, 3, 2), "weight": floats(2, 4)},
    "paged_attention": {
        "q": floats(1, 4, 1, 2), "block_table": np.array([[0]]), "lengths": np.array([2])},
    "Server.add": {"name": "a", "prompt": [1, 2], "max_new_tokens": 1},
    "Server.fork": {"name": "first", "new": "a"},
    "Server.end": {"name": "first"},
    "merge_attention": {"out_a": floats(1, 4, 3, 2), "lse_a": floats(1, 4, 3),
                        "out_b": floats(1, 4, 3, 2), "lse_b": floats(1, 4, 3)},
    "PagedKVCache.append": {"k": floats(1, 4, 2, 2), "v": floats(1, 4, 2, 2)},
    "QuantizedKVCache.append": {"k": floats(1, 4, 2, 2), "v": floats(1, 4, 2, 2)},
    "EvictingCache.append": {"k": floats(1, 4, 2, 2), "v": floats(1, 4, 2, 2)},
    "EvictingCache.observe": {"weights": floats(1, 4, 2, 2)},
    "index_scores": {
        "q": floats(1, 2, 3, 2), "k": floats(1, 5, 2), "head_weights": floats(1, 3, 2)},
    "chosen_keys": {"scores": floats(2, 3), "count": 2},
    "kept_keys": {"scores": floats(2, 3), "positions": np.tile(PLACES, (2, 1)), "budget": 2},
    "kv_head_weights": {"weights": floats(1, 4, 2, 3), "n_kv_heads": 2},
    "pool_weights": {"weights": floats(2, 3), "kernel": 3},
    "strided_mask": {"q_positions": PLACES, "kv_positions": PLACES, "stride": 2},
    "global_mask": {"q_positions": PLACES, "kv_positions": PLACES, "tokens": 2},
    "bucket_mask": {"q_buckets": PLACES, "kv_buckets": PLACES},
    "count_blocks": {"mask": np.ones((2, 2), bool), "block_q": 1, "block_k": 1},
    "BlockPool.references": {"block": 0},
    "BlockPool.share": {"block": 0},
    "BlockPool.release": {"block": 0},
    "Decoder.__call__": {"tokens": np.array([[1, 2]])},
    "Decoder.new_caches": {"batch": 1, "capacity": 4},
    "beam_search": {"tokens": np.array([[1, 2]]), "n_beams": 2, "max_new_tokens": 1},
    "decode_step": {"token": np.array([[1]])},
    "generate": {"tokens": np.array([[1, 2]]), "max_new_tokens": 2},
    "prefill": {"tokens": np.array([[1, 2]])},
    "GroupedQueryAttention.project": {"x": floats(1, 3, 8), "context": floats(1, 3, 8)},
    "merge_heads": {"x": floats(1, 4, 3, 2)},
    "split_heads": {"x": floats(1, 3, 8), "n_heads": 4},
    "clamped_swiglu": {"gate": floats(3), "up": floats(3)},
    "route": {"logits": floats(2, 4), "experts_per_token": 2, "routing": "softmax"},
    "encode_float": {"x": floats(2, 3), "kind": "e4m3"},
    "hadamard_rotation": {"x": floats(2, 4)},
    "decode_float": {"codes": np.ones((2, 3), "uint8"), "kind": "e4m3"},
    "encode_weight": {"weight": floats(2, 4), "format": "int8"},
    "decode_weight": {"format": "int8", "columns": 4},
    "magnitude_scores": {"weight": floats(2, 4)},
    "wanda_scores": {"weight": floats(2, 4), "norms": floats(4)},
    "prune_weight": {"weight": floats(2, 4), "scores": floats(2, 4), "share": 0.5},
    "n_of_m": {"weight": floats(2, 4), "scores": floats(2, 4)},
    "feature_norms": {"tokens": np.array([[1, 2]])},
    "head_scores": {"tokens": np.array([[1, 2]])},
    "prune_weights": {"share": 0.5},
    "quantize_weights": {"format": "int8"},
    "stored_bytes": {},
    "Embedding.__call__": {"index": np.array([[1, 2]])},
    "LearnedPositions.__call__": {"index": np.array([[1, 2]])},
    "activate": {"x": floats(3), "name": "silu"},
    "layer_norm": {"x": floats(1, 3, 8), "weight": floats(8)},
    "rms_norm": {"x": floats(1, 3, 8), "weight": floats(8)},
    "causal_mask": {"q_len": 2, "kv_len": 3},
    "combine_masks": {"masks": np.ones((2, 2), bool)},
    "visible": {"q_positions": PLACES, "kv_positions": PLACES},
    "RelativePositions.score_bias": {
        "q": floats(1, 4, 3, 2), "q_positions": PLACES, "kv_positions": PLACES},
    "RelativePositions.value_sum": {
        "weights": floats(1, 4, 3, 3), "q_positions": PLACES, "kv_positions": PLACES},
    "alibi_bias": {"slopes": floats(4), "q_positions": PLACES, "kv_positions": PLACES},
    "alibi_slopes": {"n_heads": 4},
    "relative_position_bucket": {"relative_position": PLACES, "bidirectional": True},
    "sinusoidal_positions": {"positions": PLACES, "d_model": 8},
    "apply_rope": {
        "x": floats(1, 4, 3, 2), "cos": floats(3, 1), "sin": floats(3, 1), "layout": "half"},
    "convert_rope_layout": {
        "weight": floats(8, 8), "n_heads": 4, "source": "half", "target": "interleaved"},
    "rope_frequencies": {"rotary_dim": 4},
    "rope_table": {"positions": PLACES, "inv_freq": np.ones(1)},
    "scale_frequencies": {
        "inv_freq": np.ones(4), "scaling": NTKAware(2.0), "theta": 1e4, "rotary_dim": 8},
    "filter_logits": {"logits": floats(2, 5)},
    "sample_token": {"logits": floats(2, 5)},
    "pool_kv_heads": {"config": HEADS, "n_kv_heads": 2},
    "prune_heads": {"config": HEADS, "heads": [0]},
    "logsumexp": {"scores": floats(2, 3)},
    "softmax": {"scores": floats(2, 3)},
    "softmax_backward": {"d_weights": floats(2, 3), "weights": floats(2, 3)},
}  # fmt: skip
METHODS = {  # the same for every class, unless CALLS has its own
    "__call__": {"x": floats(1, 3, 8)},
    "new_cache": {"batch": 1, "capacity": 4},
    "next_positions": {"new": 2},
    "crop": {"n": 0},
    "reorder": {"index": np.array([0])},
}
for entry in REGISTRY.values():  # layers and caches of each variant
    config, cache = small_config(entry), entry.cache_type("numpy")
    CLASSES.setdefault(entry.class_name, {"config": config})
    if cache.__name__ not in CLASSES:
        needed = inspect.signature(cache).parameters.values()
        kept = {"batch": 1, "capacity": 8}
        CLASSES[cache.__name__] = {
            p.name: kept[p.name] if p.name in kept else getattr(config, p.name)
            for p in needed
            if p.default is p.empty
        }
        shapes = appended(entry, config)
        arrays = dict(zip(inspect.signature(cache.append).parameters, [(), *shapes], strict=False))
        CALLS[f"{cache.__name__}.append"] = {
            name: floats(*shape) for name, shape in arrays.items() if shape
        }
SURFACE = {name: thing for stem in STEMS for name, thing in public(pair(stem)[0]).items()}


def made(lib, name):
    """An object of a class."""
    if name == "PagedKVCache":
        return lib.PagedKVCache(made(lib, "BlockPool"), 1)
    if name == "Server":
        server = lib.Server(made(lib, "Decoder"), **CLASSES[name])
        server.add("first", [1, 2], max_new_tokens=2)
        return server
    return getattr(lib.module, name)(**CLASSES[name])


def call_of(lib, name):
    """What is called, and arguments that it takes."""
    owner, _, method = name.partition(".")
    arguments = {
        key: lib.array(value) if isinstance(value, np.ndarray) else value
        for key, value in (CALLS.get(name) or METHODS.get(method) or CLASSES.get(name, {})).items()
    }
    if name == "PagedKVCache":
        arguments = {"pool": made(lib, "BlockPool"), "batch": 1}
    if name in ("pool_kv_heads", "prune_heads"):
        arguments["state"] = made(lib, "MultiHeadAttention").state_dict()
    if name == "paged_attention":
        arguments["pool"] = made(lib, "BlockPool")
        arguments["pool"].take()
    if name in ("generate", "prefill", "decode_step", "beam_search", "Server"):
        arguments["model"] = made(lib, "Decoder")
    if name in (
        "feature_norms",
        "head_scores",
        "prune_weights",
        "quantize_weights",
        "stored_bytes",
    ):
        arguments["model"] = made(lib, "Decoder")
    if name == "decode_weight":
        arguments["stored"] = lib.module.encode_weight(lib.array(floats(2, 4)), "int8")
    if name in ("prefill", "decode_step"):
        arguments["caches"] = arguments["model"].new_caches(1, 4)
    if not method:
        return getattr(lib.module, name), arguments
    thing = made(lib, owner)
    if owner == "BlockPool":
        thing.take()
    if name == "EvictingCache.observe":  # of the latest step
        thing.append(*(lib.array(floats(1, 4, 2, 2)) for _ in "kv"))
    return thing if method == "__call__" else getattr(thing, method), arguments


def parameters(name):
    """Name -> annotation of what a caller gives."""
    thing = SURFACE[name]
    found = dict(inspect.signature(thing).parameters)
    found.pop("self", None)
    return {key: str(parameter.annotation) for key, parameter in found.items()}


def foreign(lib, array):
    """The same numbers in the other backend's kind of array."""
    return torch.from_numpy(array) if lib.name == "numpy" else lib.numpy(array).copy()


def wrong_for(lib, annotation, right):
    """Values of another kind than the annotation says; `right` is a value that it allows."""
    none = [] if "None" in annotation or annotation == "Any" else [None]
    if "Array" in annotation and "Mapping" not in annotation and "Callable" not in annotation:
        others = [np.ones((1, 4, 3, 2), "float32"), np.arange(3)]
        if lib.name == "numpy":
            others = [torch.from_numpy(array) for array in others]
        if right is not None:  # of the right shape, so that nothing else can be wrong with it
            others.append(foreign(lib, right))
        return [*none, "text", 3.5, [[1.0]], object(), *others]
    if annotation.startswith("bool"):
        return ["false", 1, None]
    if annotation.startswith("int"):
        several = ["2"] if "Sequence" in annotation else [2]
        return [*none, "2", 1.5, several, True]
    if annotation.startswith("float"):
        return [*none, "2", [2.0]]
    if annotation.startswith("str"):
        return [*none, 3, ["half"]]
    return [*none, 3, "text"]  # configurations, caches, models, state dicts, generators


def given(function, arguments):
    """Call, where a name stands for any number of arguments without one."""
    if "masks" in arguments:
        return function(arguments["masks"])
    return function(**arguments)


def faults_of(lib, name):
    """``argument: what happened`` for each wrong kind that is not refused by name."""
    found = []
    for key, annotation in parameters(name).items():
        for wrong in wrong_for(lib, annotation, call_of(lib, name)[1].get(key)):
            function, arguments = call_of(lib, name)
            try:
                given(function, {**arguments, key: wrong})
                happened = "was taken"
            except MiniAttnError as fault:
                named = re.search(rf"\b{key.removesuffix('s')}", str(fault))
                happened = "" if named else f"another name: {fault!s:.80}"
            except Exception as fault:
                happened = f"{type(fault).__name__}: {fault!s:.60}"
            if happened:
                came = " ".join(repr(wrong).split())
                found.append(f"{key} = {came:.40}: {happened}")
    return found


NAMES = sorted(
    name
    for name, thing in SURFACE.items()
    if (isinstance(thing, types.FunctionType) or name in CLASSES or name == "PagedKVCache")
    and parameters(name)
)


@pytest.mark.parametrize("name", NAMES)
def test_right_kinds_are_taken(lib, name):
    """That nothing is raised proves the sweep below: its calls fail for their wrong kind alone."""
    given(*call_of(lib, name))


@pytest.mark.parametrize("name", NAMES)
def test_wrong_kinds_are_refused_by_name(lib, name):
    assert faults_of(lib, name) == []


class Careless:
    """A backend whose one function checks nothing, or speaks of something else."""

    name = "numpy"
    module = types.SimpleNamespace()

    @staticmethod
    def array(values):
        return values


@pytest.mark.parametrize(
    ("softmax", "words"),
    [
        (lambda scores, axis=-1: None, "was taken"),
        (lambda scores, axis=-1: scores.nothing, "AttributeError"),
    ],
)
def test_the_sweep_can_fail(monkeypatch, softmax, words):
    monkeypatch.setattr(Careless, "module", types.SimpleNamespace(softmax=softmax))
    assert any(words in fault for fault in faults_of(Careless(), "softmax"))


def test_the_sweep_asks_for_the_name(monkeypatch):
    def refuses(scores, axis=-1):
        raise DTypeError("input must be an array")

    monkeypatch.setattr(Careless, "module", types.SimpleNamespace(softmax=refuses))
    assert all("another name" in fault for fault in faults_of(Careless(), "softmax"))
