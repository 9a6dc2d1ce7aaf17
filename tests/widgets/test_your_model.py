"""The page *Your model*: what it reads and counts in JavaScript equals what Python does."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS, ModelConfig
from mini_attn.weights import model_from_hf, unknown_keys
from mini_attn.weights.families._fields import FIELDS
from mini_attn.widgets.cache_calculator import BITS
from mini_attn.widgets.your_model_data import SIZES
from tests.cost.described import described
from tests.cost.published import PUBLISHED
from tests.javascript import run

DRAWN = 50  # configurations of each family
READ = """
const { modelFromHf, costOf, parameterCount, activeParameterCount, stepOperations } = living.yourModel;
return input.map(({ config, runs }) => {
  let read;
  try { read = modelFromHf(config); } catch (error) {
    if (!(error instanceof living.yourModel.Unreadable)) throw error;
    return { error: error.message };
  }
  const { model, unknown } = read;
  return { model, unknown, parameters: parameterCount(model), active: activeParameterCount(model),
    runs: runs.map((state) => {
      const { error, total_bytes, bytes_per_token, max_sequences, decode, prefill } = costOf(model, state);
      if (error) return { error };
      const bits = { weight_bits: state.weight_bits, cache_bits: state.cache_bits };
      const steps = [1, state.context].map((q_len) => stepOperations(model, { ...bits, q_len, kv_len: state.context, batch: state.batch }));
      return { total_bytes, bytes_per_token, steps, seconds: [decode.seconds, prefill.seconds] };
    }) };
});
"""
NAMED = """
return input.map((name) => ({ sizes: living.yourModel.modelOf(name), runs: living.yourModel.layerRuns(living.yourModel.modelOf(name)) }));
"""


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
    return {name: getattr(model, name) for name in SIZES} | {"full_layers": list(model.full_layers)}


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
    plain = model.n_layers * model.n_heads * (model.head_dim + model.v_head_dim)
    if plain * state["context"] * state["batch"] * kept % 1:  # what it's compared with
        return {"error": True}
    for q_len in (1, state["context"]):
        operations = cost.step_operations(
            model, q_len=q_len, kv_len=state["context"], batch=state["batch"],
            dtype_bytes=each, cache_dtype_bytes=kept,
        )  # fmt: skip
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
    for here, there in zip(mine["steps"], theirs["steps"], strict=True):
        assert list(here) == list(there), where
        exact = "experts" not in here
        for kind, (flops, size) in here.items():
            assert int(there[kind][0]) == flops, (where, kind)
            assert int(there[kind][1]) == (size if exact else pytest.approx(size, rel=1e-9, abs=9))
    assert theirs["seconds"] == pytest.approx(mine["seconds"], rel=1e-9), where


def compare(configs: list[dict[str, Any]], draw: Random) -> int:
    """Assert that both languages say the same of every file; gives how many were readable."""
    asked = [{"config": config, "runs": [a_run(draw) for _ in range(2)]} for config in configs]
    readable = 0
    for one, theirs in zip(asked, run(READ, asked), strict=True):
        config = one["config"]
        try:
            model = model_from_hf(config)
        except ConfigError as fault:
            assert "error" in theirs, (config, str(fault))
            assert theirs["error"].split(" ")[0] in str(fault), (config, theirs, str(fault))
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


def test_published_files_are_read_alike() -> None:
    assert compare(list(PUBLISHED.values()), Random(3)) == len(PUBLISHED)


def test_listed_models_have_their_sizes_and_layers() -> None:
    for name, said in zip(MODELS, run(NAMED, list(MODELS)), strict=True):
        model = MODELS[name]
        assert {key: said["sizes"][key] for key in SIZES} == sizes_of(model)
        kinds = [one["kind"] for one in said["runs"] for _ in range(one["layers"])]
        windows = [model.window_of(layer) is not None for layer in range(model.n_layers)]
        assert [kind == "window" for kind in kinds] == windows, name
        sparse = sum(one["layers"] for one in said["runs"] if one["experts"])
        assert sparse == (model.n_layers - model.n_dense_layers if model.n_experts else 0), name
