"""The page *Your model*: what it reads and counts in JavaScript equals what Python does."""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil, lcm, prod
from random import Random
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.config import LinearAttentionConfig
from mini_attn.config.linear import KINDS
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS, ModelConfig
from mini_attn.weights import model_from_hf, unknown_keys
from mini_attn.weights.families._fields import FIELDS
from mini_attn.widgets.cache_calculator import BITS
from mini_attn.widgets.cache_calculator_data import state_sizes
from mini_attn.widgets.your_model_data import SIZES
from tests.cost.described import described
from tests.cost.published import PUBLISHED
from tests.javascript import run

DRAWN = 50  # configurations of each family
READ = """
const { Unreadable, modelFromHf, costOf, parameterCount, activeParameterCount, stepOperations }
  = living.yourModel;
const used = (model) => (state) => {
  const { error, total_bytes, bytes_per_token, decode, prefill } = costOf(model, state);
  if (error) return { error };
  const steps = [1, state.context].map(
    (q_len) => stepOperations(model, { ...state, q_len, kv_len: state.context }));
  return { total_bytes, bytes_per_token, steps, seconds: [decode.seconds, prefill.seconds] };
};
return input.map(({ config, runs }) => {
  try {
    const { model, unknown } = modelFromHf(config);
    return { model, unknown, parameters: parameterCount(model),
      active: activeParameterCount(model), runs: runs.map(used(model)) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { error: error.message };
  }
});
"""
SIZED = """
const { modelOf, costOf, parameterCount, activeParameterCount, stepOperations } = living.yourModel;
const { layerRuns, first, toHash, fromHash, draw, describe, markdown, perLayer } = living.yourModel;
return input.map(({ name, sizes, runs }) => {
  const own = { ...sizes, stored: null, name: "own", title: "Drawn", family: "own" };
  const model = sizes ? own : modelOf(name);
  const used = (state) => {
    const { error, factors, ...cost } = costOf(model, state);
    if (error) return { error };
    const steps = [1, state.context].map(
      (q_len) => stepOperations(model, { ...state, q_len, kv_len: state.context }));
    const { total_bytes, state_bytes, bytes_per_token, bytes_later, mha_bytes } = cost;
    const { decode, prefill } = cost;
    return { total_bytes, state_bytes, bytes_per_token, bytes_later, mha_bytes, factors, steps,
      seconds: [decode.seconds, prefill.seconds] };
  };
  const cost = costOf(model, first());
  const { state, error } = fromHash(toHash({ ...first(), a: model }), null);
  return { parameters: parameterCount(model), active: activeParameterCount(model),
    runs: runs.map(used), layers: layerRuns(model), error,
    same: !error && JSON.stringify(state.a) === JSON.stringify(model),
    picture: draw(cost, { width: 400, uid: "t", label: describe([cost]) }),
    words: perLayer(cost) + markdown([cost], first(), "device", "") };
});
"""
NAMED = """
const { modelOf, layerRuns } = living.yourModel;
return input.map((name) => ({ sizes: modelOf(name), runs: layerRuns(modelOf(name)) }));
"""
TEXTS = """
const { Unreadable, readText } = living.yourModel;
return input.map((text) => {
  try {
    return { title: readText(text).model.title };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { error: error.message };
  }
});
"""
LINKS = """
const { modelFromHf, first, toHash, fromHash } = living.yourModel;
return input.map(([config, change]) => {
  const { model } = modelFromHf(config);
  const state = { ...first(), a: model, ...change };
  const { state: again, error } = fromHash(toHash(state), null);
  return { hash: toHash(state), error, same: JSON.stringify(again.a) === JSON.stringify(
    { ...model, family: "own" }) && toHash(again) === toHash(state) };
});
"""
STORED = """
const { modelFromHf, first, toHash, fromHash } = living.yourModel;
return input.map((config) => {
  const { model, unread } = modelFromHf(config);
  const again = fromHash(toHash({ ...first(), a: model, weight_dtype: "file" }), null).state.a;
  return { stored: model.stored, unread, again: again.stored };
});
"""
WEIGHED = """
const { modelFromHf, first, costOf } = living.yourModel;
const { model } = modelFromHf(input);
return Object.fromEntries(["bfloat16", "file", "float32"].map(
  (weight_dtype) => [weight_dtype, costOf(model, { ...first(), weight_dtype }).weight_bytes]));
"""
GROWTH = """
const { modelOf, first, costOf, describe } = living.yourModel;
return input.map((name) => {
  const cost = costOf(modelOf(name), first());
  return { first: cost.bytes_per_token, later: cost.bytes_later, words: describe([cost]) };
});
"""
WRONG_LINKS = """
const { first, fromHash } = living.yourModel;
return input.map((hash) => fromHash(hash, first()));
"""
SMALL = {"model_type": "llama", "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 6,
         "num_attention_heads": 4, "intermediate_size": 32,
         "max_position_embeddings": 128}  # fmt: skip


def a_run(draw: Random) -> dict[str, Any]:
    """How a model is used."""
    state = {
        "context": draw.choice([1, 2, 100, 8192, 131072]), "batch": draw.choice([1, 3, 64]),
        "device": draw.choice(list(cost.DEVICES)), "dtype": draw.choice(list(BITS)),
        "weight_dtype": draw.choice(list(BITS)),
    }  # fmt: skip
    bits = {"weight_bits": BITS[state["weight_dtype"]], "cache_bits": BITS[state["dtype"]]}
    return state | bits


def sizes_of(model: ModelConfig) -> dict[str, Any]:
    """The sizes that costs are counted from."""
    lists = {name: list(getattr(model, name)) for name in ("full_layers", "spans")}
    told = {name: getattr(model, name) for name in SIZES} | lists
    return told | {"linear": state_sizes(model)}


def counted(model: ModelConfig, state: dict[str, Any]) -> dict[str, Any]:
    """What a run costs in Python, as JavaScript says it."""
    each, kept = (state[f"{what}_bits"] / 8 for what in ("weight", "cache"))
    sizes = {"batch": state["batch"], "context": state["context"], "dtype_bytes": kept}
    device, steps, seconds = cost.DEVICES[state["device"]], [], []
    try:
        total = cost.cache_bytes(model, **sizes)
        token = cost.cache_bytes_per_token(model, dtype_bytes=kept)
    except ConfigError:
        return {"error": True}
    plain = 0  # what it's compared with
    for layer in range(model.n_layers):
        sizes_here = vars(model) | ({} if model.linear_of(layer) else model.kind_sizes(layer))
        plain += model.n_heads * (sizes_here["head_dim"] + sizes_here["v_head_dim"])
    if plain * state["context"] * state["batch"] * kept % 1:
        return {"error": True}
    for q_len in (1, state["context"]):
        try:
            operations = cost.step_operations(
                model, q_len=q_len, kv_len=state["context"], batch=state["batch"],
                dtype_bytes=each, cache_dtype_bytes=kept,
            )  # fmt: skip
        except ConfigError:  # a few of the entries may fill no whole bytes where all of them do
            assert model.index_topk or model.linear
            return {"total_bytes": str(total), "bytes_per_token": str(token)}
        steps.append(operations)
        seconds.append(sum(cost.roofline_seconds(*each, device) for each in operations.values()))
    return {"total_bytes": str(total), "bytes_per_token": str(token), "steps": steps,
            "seconds": seconds}  # fmt: skip


def check_run(mine: dict[str, Any], theirs: dict[str, Any], where: Any) -> None:
    """Whole numbers are equal; experts' averages and seconds but for rounding."""
    if "error" in mine:
        assert theirs.get("error"), where
        return
    for key in ("total_bytes", "bytes_per_token"):
        assert theirs[key] == mine[key], (where, key)
    if "steps" not in mine:
        return
    for here, there in zip(mine["steps"], theirs["steps"], strict=True):
        assert list(here) == list(there), where
        exact = "experts" not in here
        for kind, (flops, size) in here.items():
            assert int(there[kind][0]) == flops, (where, kind)
            assert int(there[kind][1]) == (size if exact else pytest.approx(size, rel=1e-9, abs=9))
    assert theirs["seconds"] == pytest.approx(mine["seconds"], rel=1e-9), where


def read(config: dict[str, Any]) -> ModelConfig | str:
    """The model of a file, or what is wrong with it."""
    try:
        return model_from_hf(config)
    except ConfigError as fault:
        return str(fault)


def compare(configs: list[dict[str, Any]], draw: Random) -> int:
    """Assert that both languages say the same of every file; gives how many were readable."""
    asked = [{"config": config, "runs": [a_run(draw) for _ in range(2)]} for config in configs]
    readable = 0
    for one, theirs in zip(asked, run(READ, asked), strict=True):
        config = one["config"]
        model = read(config)
        if isinstance(model, str):
            assert "error" in theirs, (config, model)
            assert theirs["error"].split(" ")[0] in model, (config, theirs, model)
            continue
        assert "error" not in theirs, (config, theirs)
        readable += 1
        assert {name: theirs["model"][name] for name in SIZES} == sizes_of(model), config
        assert theirs["unknown"] == unknown_keys(config), config
        assert theirs["parameters"] == str(cost.parameter_count(model)), config
        assert theirs["active"] == str(cost.active_parameter_count(model)), config
        for state, there in zip(one["runs"], theirs["runs"], strict=True):
            check_run(counted(model, state), there, (config, state))
    return readable


@pytest.mark.parametrize("family", FIELDS)
def test_drawn_files_of_every_family_are_read_alike(family: str) -> None:
    draw = Random(f"page {family}")
    assert compare([described(family, draw) for _ in range(DRAWN)], draw) > DRAWN / 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", FIELDS)
def test_many_more_files_are_read_alike(family: str) -> None:
    draw = Random(f"many {family}")
    assert compare([described(family, draw) for _ in range(40 * DRAWN)], draw) > 4 * DRAWN


def indexer_drawn(draw: Random) -> dict[str, Any]:
    """Sizes of an indexer."""
    return {"index_n_heads": draw.choice([1, 3]), "index_head_dim": draw.choice([8, 32]),
            "index_topk": draw.choice([1, 40, 2048])}  # fmt: skip


def entries_drawn(draw: Random, layers: int) -> dict[str, Any]:
    """Layers whose entries stand for different numbers of tokens."""
    return {
        "spans": tuple(draw.choice([0, 4, 4, 7, 128]) for _ in range(layers)), "compress": 4,
        "window": draw.choice([1, 100, 4096]), "q_lora_rank": draw.choice([0, 24]),
        "o_groups": 1, "o_lora_rank": draw.choice([8, 40]), "sinks": draw.random() < 0.5,
        **indexer_drawn(draw),
    }  # fmt: skip


def states_drawn(draw: Random, layers: int) -> dict[str, Any]:
    """Layers with a state beside the others, of a width that one half of the models has."""
    kind = draw.choice(list(KINDS))
    shares, conv = KINDS[kind].shares_keys, KINDS[kind].conv_kernel > 1
    linear = LinearAttentionConfig(
        64, 4, draw.choice([8, 24]), kind, v_head_dim=draw.choice([8, 16]),
        n_key_heads=draw.choice([1, 2]) if shares else 4,
        conv_kernel=draw.choice([2, 4]) if conv else 1,
        norm_over=draw.choice([None, "width"]), conv_bias=conv and draw.random() < 0.5,
        bias=draw.random() < 0.5,
    )  # fmt: skip
    return {"linear": linear, "out_gate": draw.random() < 0.5, "mlp_matrices": 3,
            "norm_placement": "stream",
            **draw.choice([{"full_every": draw.randint(2, layers)}, {}])}  # fmt: skip


def drawn(draw: Random) -> ModelConfig | None:
    """A model whose layers may share and be of two sizes, with all options; None where it can't."""
    kv, layers = draw.choice([1, 2, 4]), draw.randint(2, 30)
    heads = kv * draw.choice([1, 2, 8])
    attention = "mha" if kv == heads else "mqa" if kv == 1 else "gqa"
    sizes: dict[str, Any] = {
        "n_kv_shared_layers": draw.choice([0, draw.randrange(layers)]),
        "k_eq_v": draw.random() < 0.5, "v_norm": draw.random() < 0.5,
        "biases": draw.choice(["none", "qkv", "attention", "mlp", "all"]),
        "qk_norm": draw.choice(["none", "head", "width"]), "sinks": draw.random() < 0.3,
        "tied_embeddings": draw.random() < 0.5, "mlp_matrices": draw.choice([2, 3]),
        "norm_placement": draw.choice(["before", "both", "one"]),
    }  # fmt: skip
    if draw.random() < 0.6:
        attention = "sliding_window"
        sizes |= {"window": draw.choice([1, 64, 4096]), "full_head_dim": draw.choice([0, 48])}
        sizes |= {"full_n_kv_heads": draw.choice([0, 1, heads])}
        full = tuple(layer for layer in range(layers - 1) if draw.random() < 0.3)
        sizes |= draw.choice([{"full_layers": full}, {"full_every": draw.randint(1, layers)}, {}])
    values = draw.choice([16, 24])
    if draw.random() < 0.15:
        attention, kv, values, sizes = "csa", 1, None, entries_drawn(draw, layers)
    elif draw.random() < 0.15:
        attention, kv, sizes = "indexed_latent", heads, {"kv_lora_rank": 40, **indexer_drawn(draw)}
        sizes |= {"qk_nope_head_dim": 12, "qk_rope_head_dim": 4}
        sizes |= {"q_lora_rank": draw.choice([0, 20]), "biases": draw.choice(["none", "attention"])}
    elif draw.random() < 0.3 and not sizes["n_kv_shared_layers"]:
        sizes |= states_drawn(draw, layers)
    if draw.random() < 0.3:
        sizes |= {"n_experts": 8, "experts_per_token": 2, "expert_d_ff": 96}
        sizes |= {"n_dense_layers": draw.randrange(layers)}
    try:
        return ModelConfig(
            "own", "Drawn", "drawn", attention, layers, draw.choice([64, 96]), heads, kv,
            draw.choice([16, 32]), 128, 500, 4096, v_head_dim=values, **sizes,
        )  # fmt: skip
    except ConfigError:
        return None


def total_of(factors: list[dict[str, Any]], which: str) -> float:
    """Bytes of one sequence that the four factors make."""
    return prod(factor[which] for factor in factors) / 8


def later(model: ModelConfig, bits: float) -> int:
    """Bytes that a token adds to a long text, on average where it takes several to add an entry."""
    span = lcm(*filter(None, model.spans))
    sizes = [cost.cache_bytes(model, batch=1, context=n * span, dtype_bytes=1)
             for n in (10**6, 10**6 + 1)]  # fmt: skip
    return ceil(Fraction(sizes[1] - sizes[0], span) * Fraction(bits) / 8)


def states(model: ModelConfig, state: dict[str, Any]) -> float:
    """Bytes of one sequence that don't grow: of layers with a state."""
    found = 0.0
    for layer in range(model.n_layers):
        if own := model.linear_of(layer):
            channels = 2 * own.key_width + own.value_width
            tail = channels * min(state["context"], own.conv_kernel - 1) * state["cache_bits"]
            matrices = own.n_heads * own.head_dim * own.v_head_dim
            found += (tail + matrices * max(32, state["cache_bits"])) / 8
    return found


def check_sizes(model: ModelConfig, one: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Costs, factors, the strip's layers, the link and the words of one model."""
    where = (model, theirs.get("error"))
    assert theirs["parameters"] == str(cost.parameter_count(model)), where
    assert theirs["active"] == str(cost.active_parameter_count(model)), where
    runs = [run for run in theirs["layers"] for _ in range(run["layers"])]
    reads = [model.source_of(layer) != layer for layer in range(model.n_layers)]
    assert [run["reads"] for run in runs] == reads, where
    kinds = [run["kind"] for run in runs]
    assert [kind == "state" for kind in kinds] == [
        model.linear_of(layer) is not None for layer in range(model.n_layers)
    ], where
    for state, there in zip(one["runs"], theirs["runs"], strict=True):
        mine = counted(model, state)
        check_run(mine, there, (where, state))
        if "error" in mine:
            continue
        batch, factors = state["batch"], there["factors"]
        assert int(there["bytes_later"]) == later(model, state["cache_bits"])
        grown = int(mine["total_bytes"]) - int(there["state_bytes"])
        assert total_of(factors, "value") * batch == pytest.approx(grown), where
        assert int(there["state_bytes"]) == batch * states(model, state), where
        plain = 16 / state["cache_bits"] * int(there["mha_bytes"])
        assert total_of(factors, "plain") * batch == pytest.approx(plain), where
        without = sum(kind == "state" for kind in kinds) + model.n_kv_shared_layers
        assert factors[0]["value"] == model.n_layers - without, where
    assert theirs["same"], where
    for bad in ("NaN", "undefined", "Infinity", "null"):
        assert bad not in theirs["picture"] + theirs["words"], (bad, where)
    assert ("ym-reads" in theirs["picture"]) == (model.n_kv_shared_layers > 0), where


def test_models_whose_layers_share_or_differ_cost_the_same() -> None:
    draw = Random(31)
    models = [model for _ in range(500) if (model := drawn(draw))]
    assert sum(model.n_kv_shared_layers > 0 for model in models) > 80
    assert sum(model.n_kv_shared_layers * model.full_head_dim > 0 for model in models) > 20
    assert sum(model.linear is not None for model in models) > 20
    assert all(sum(m.attention == kind for m in models) > 20 for kind in ("csa", "indexed_latent"))
    runs = [[a_run(draw) for _ in range(2)] for _ in models]
    asked = [
        {"name": "own", "sizes": sizes_of(model), "runs": each}
        for model, each in zip(models, runs, strict=True)
    ]
    for model, one, theirs in zip(models, asked, run(SIZED, asked), strict=True):
        check_sizes(model, one, theirs)


def test_listed_models_cost_the_same() -> None:
    draw = Random(32)
    asked = [{"name": name, "runs": [a_run(draw) for _ in range(3)]} for name in MODELS]
    for one, theirs in zip(asked, run(SIZED, asked), strict=True):
        check_sizes(MODELS[one["name"]], one, theirs)


def test_published_files_are_read_alike() -> None:
    assert compare(list(PUBLISHED.values()), Random(3)) == len(PUBLISHED)


def test_listed_models_have_their_sizes_and_layers() -> None:
    for name, said in zip(MODELS, run(NAMED, list(MODELS)), strict=True):
        model = MODELS[name]
        assert {key: said["sizes"][key] for key in SIZES} == sizes_of(model)
        kinds = [one["kind"] for one in said["runs"] for _ in range(one["layers"])]
        windows = [model.window_of(layer) is not None for layer in range(model.n_layers)]
        windows = [span == 0 for span in model.spans] or windows
        assert [kind == "window" for kind in kinds] == windows, name
        sparse = sum(one["layers"] for one in said["runs"] if one["experts"])
        assert sparse == (model.n_layers - model.n_dense_layers if model.n_experts else 0), name


# What a file says, the type whose size is known, and the method that nobody knows.
QUANTIZED: list[tuple[Any, str | None, str | None]] = [
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "float8", None),
    ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "mxfp4", None),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4", None),
    ({"quant_method": "gptq", "bits": 8}, "int8", None),
    ({"quant_method": "gptq", "bits": 3}, None, "gptq"),
    ({"quant_method": "awq", "w_bit": 4}, "int4", None),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", None),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", None),
    ({"quant_method": "hqq"}, None, "hqq"),
    ({"quant_method": "toString"}, None, "toString"),
    ({"quant_method": "x" * 900}, None, "x" * 40),
    ({"bits": 4}, None, '{"bits":4}'),
    ({"quant_method": {"a": 1}}, None, '{"a":1}'),
    ("fp8", None, "fp8"),
    (None, None, None),
    ({}, None, None),
]


def test_a_file_says_how_its_weights_are_stored() -> None:
    files = [{**SMALL, "quantization_config": how} for how, _, _ in QUANTIZED]
    wrapped = {"text_config": SMALL, "quantization_config": QUANTIZED[0][0]}
    said = run(STORED, [*files, wrapped])
    for (how, stored, unread), one in zip([*QUANTIZED, QUANTIZED[0]], said, strict=True):
        assert one == {"stored": stored, "unread": unread, "again": stored}, how


def test_weights_count_as_the_file_says_or_as_chosen() -> None:
    said = run(WEIGHED, {**SMALL, "quantization_config": QUANTIZED[0][0]})
    numbers = cost.parameter_count(model_from_hf(SMALL))
    each = {"bfloat16": 2, "file": 1, "float32": 4}
    assert said == {name: str(bytes_ * numbers) for name, bytes_ in each.items()}


def test_a_window_grows_until_it_is_full() -> None:
    for name, said in zip(MODELS, run(GROWTH, list(MODELS)), strict=True):
        model = MODELS[name]
        sizes = [cost.cache_bytes(model, context=n, batch=1, dtype_bytes=2) for n in (1, 2)]
        waits = model.spans or model.linear  # what the first tokens leave is kept of the last ones
        first = cost.cache_bytes_per_token(model) if waits else sizes[1] - sizes[0]
        assert [int(said["first"]), int(said["later"])] == [first, later(model, 16)], name
        alone = model.window is not None and not model.spans
        assert ("until its windows" in said["words"]) == alone, name


HOSTILE = {
    "": "there is nothing in it",
    "  \n ": "there is nothing in it",
    "llama": "isn't JSON",
    "{": "isn't JSON",
    '{"model_type": "llama",}': "isn't JSON",
    "[1, 2]": "must map names to values, got [1,2]",
    "null": "must map names to values, got null",
    '"llama"': "must map names to values",
    "{}": "model_type is missing",
    '{"model_type": 3}': "model_type must be one of llama",
    '{"model_type": "toString"}': "model_type must be one of llama",
    '{"model_type": "__proto__"}': "model_type must be one of llama",
    '{"__proto__": {"model_type": "llama"}}': "model_type is missing",
    '{"model_type": "llama", "__proto__": {"num_hidden_layers": 2}}': "no 'num_hidden_layers'",
    "[" * 100_000: "more than 64 deep",
    '{"a":' * 5000 + "1" + "}" * 5000: "more than 64 deep",
    '"' + '\\"' * 400_000: "isn't JSON",
    "x" * 10_000_000: "10.0 million characters",
    json.dumps({**SMALL, "num_hidden_layers": 10**9}): "more than any model has",
    json.dumps({**SMALL, "hidden_size": 1e308}): "larger than any array",
    json.dumps({**SMALL, "hidden_size": 10**400}): "must be a whole number",
    json.dumps({**SMALL, "hidden_size": -16}): "must be at least 1, got -16",
    json.dumps({**SMALL, "hidden_size": {"a": 1}}): "must be a whole number",
    json.dumps({**SMALL, "hidden_size": [[]] * 1000}): "must be a whole number",
    json.dumps({**SMALL, "num_key_value_heads": 3}): "multiple of n_kv_heads",
    json.dumps({**SMALL, "num_attention_heads": "<img src=x onerror=alert(1)>"}): "whole number",
}


def test_hostile_and_broken_texts_get_a_sentence() -> None:
    for (text, expected), said in zip(HOSTILE.items(), run(TEXTS, list(HOSTILE)), strict=True):
        assert expected in said["error"], (text[:80], said)
        assert len(said["error"]) < 600, text[:80]  # it lists the families


def test_brackets_inside_of_a_string_are_no_depth_and_names_are_bounded() -> None:
    names = {"[[[[" * 50: "Your llama", "org/My <b>-7B": "My b-7B", "a" * 900: "a" * 40}
    texts = [json.dumps({**SMALL, "_name_or_path": name, "x": '\\"[' * 99}) for name in names]
    assert [said.get("title") for said in run(TEXTS, texts)] == list(names.values())


def test_a_link_has_the_sizes_of_a_file() -> None:
    draw = Random(9)
    drawn = [described(family, draw) for family in FIELDS for _ in range(20)]
    whole = [config for config in drawn if not isinstance(read(config), str)]
    kinds = ["full_attention", "full_attention", *["sliding_attention"] * 3, "full_attention"]
    whole.append({**SMALL, "model_type": "gemma2", "num_key_value_heads": 2, "layer_types": kinds})
    states = [(config, {"context": 64, "batch": 3}) for config in whole]
    for (config, _), said in zip(states, run(LINKS, states), strict=True):
        assert said["error"] is None, (config, said)
        assert said["same"], (config, said)
        assert len(said["hash"]) < 700, said
    assert "full_layers.0-1_5" in said["hash"]


HEADS = (
    "#a=own:x:attention.gqa,n_layers.3,d_model.8,n_heads.4,n_kv_heads.2,head_dim.4,d_ff.8,"
    "vocab_size.9,max_context.9,v_head_dim.4,"
)
WRONG = {
    "#a=gpt-99": 'no model "gpt-99"',
    "#a=own:x:n_layers.2": "must be at least 1",
    "#a=own:x:__proto__.2": 'has no "__proto__"',
    "#a=own:x:attention.magic": "attention is one of",
    "#a=llama-3-8b&context=0": "context is 1 to 10485760",
    "#a=llama-3-8b&context=1e99": "context is",
    "#a=llama-3-8b&constructor=1": 'there is no "constructor"',
    "#a=llama-3-8b&device=toaster": "device is one of",
    "#a=%": "% signs",
    "#a=own:x:" + "n_layers.2," * 900: "more than 6000 characters",
    "#a=own:x:stored.int3": "stored is one of float8",
    HEADS + "n_kv_shared_layers.3": "the last 3 of 3 layers read another layer's cache",
    HEADS + "n_kv_shared_layers.9999999": "no layer before them sees all tokens",
    HEADS + "full_head_dim.8": "layers of one kind",
    HEADS + "k_eq_v.maybe": "k_eq_v is yes or left out",
    HEADS.replace("gqa", "sliding_window") + "window.5,full_n_kv_heads.3": "full_n_kv_heads, got 4",
    HEADS.replace("gqa", "sliding_window")
    + "window.5,full_every.3,n_kv_shared_layers.1": "no layer before them sees all tokens",
    HEADS.replace("gqa", "mla")
    + "kv_lora_rank.4,n_kv_shared_layers.1": "layers share keys and values of heads, got mla",
    "#a=own:x:attention.gqa,n_layers.9,full_layers.1-99999": "full_layers can't be",
}


def test_links_to_nothing_are_told_and_change_nothing() -> None:
    said = run(WRONG_LINKS, list(WRONG))
    usual = run("return living.yourModel.first();")
    for (link, expected), one in zip(WRONG.items(), said, strict=True):
        assert expected in one["error"], (link[:80], one["error"])
        assert one["state"] == usual, link[:80]
    assert run(WRONG_LINKS, ["", "#one-map", "#cache_calculator:batch=2"]) == [None, None, None]
