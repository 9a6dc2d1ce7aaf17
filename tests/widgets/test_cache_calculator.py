"""The cache calculator: JavaScript against `mini_attn.cost`, published sizes, bad states."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from math import prod
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.config import weight_format
from mini_attn.errors import ConfigError, WidgetStateError
from mini_attn.models import MODELS
from mini_attn.variants import REGISTRY
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.cache_calculator import BITS, CacheCalculator, calculate
from tests.cost.published import PUBLISHED, shape
from tests.javascript import run

SCHEMA = load_schema("cache_calculator")
DEFAULTS = {key: entry["default"] for key, entry in SCHEMA.items()}
FIGURES = (
    "bytes_per_token", "total_bytes", "weight_bytes", "device_bytes", "left_bytes", "mha_bytes",
    "max_sequences", "max_context",
)  # fmt: skip
COMPUTE = """
const { compute, settle, describe, table, draw } = living.registry.cache_calculator;
return input.map((state) => {
  const result = compute(settle(state));
  if (result.error) return { error: result.error };
  return Object.fromEntries(%s.map((key) => [key, result[key]]));
});
""" % list(FIGURES)  # noqa: UP031 (braces belong to JavaScript)


def in_python(state: dict[str, Any]) -> dict[str, Any]:
    """The figures as JavaScript would send them."""
    try:
        result = calculate(state)
    except ConfigError:
        return {"error": True}
    return {key: None if result[key] is None else str(result[key]) for key in FIGURES}


def compare(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Assert that both sides agree on every figure of every state; gives the figures."""
    expected = [in_python(state) for state in states]
    got = run(COMPUTE, states)
    for state, ours, theirs in zip(states, expected, got, strict=True):
        if "error" in theirs:
            theirs = {"error": bool(theirs["error"])}
        assert theirs == ours, state
    return expected


def test_javascript_equals_cost_on_every_model() -> None:
    states = [
        {**DEFAULTS, "model": model, "dtype": dtype, "batch": batch, "context": context,
         "device": device, "weight_dtype": weight_dtype}
        for model in MODELS
        for dtype, weight_dtype in zip(BITS, reversed(BITS), strict=True)
        for batch, context, device in (
            (1, 1, "a100"), (3, 4095, "own"), (16, 8192, "h100"), (4096, 1_048_576, "h200"),
        )
    ]  # fmt: skip
    figures = compare(states)
    assert len(figures) == 4 * len(MODELS) * len(BITS)
    assert not any("error" in figure for figure in figures)


def random_state(source: random.Random) -> dict[str, Any]:
    """Own numbers anywhere inside the schema, small ones more often than large ones."""
    state = dict(DEFAULTS, model="own")
    for key, entry in SCHEMA.items():
        if key == "model":
            continue
        if entry["type"] == "enum":
            state[key] = source.choice(entry["values"])
        else:
            low, high = max(entry["min"], 1), entry["max"]
            state[key] = int(low * (high / low) ** source.random())
    state["full_every"] = source.choice((0, 1, 2, 5, 512))
    state["shared"] = source.choice((0, state["shared"], state["context"], 17))
    if source.random() < 0.8:
        state["n_heads"] = state["n_kv_heads"] * source.choice((1, 2, 3, 8))
        state["n_heads"] = min(state["n_heads"], 512)
    return state


def test_javascript_equals_cost_on_own_numbers() -> None:
    source = random.Random(2024)
    largest = {key: entry.get("max", DEFAULTS[key]) for key, entry in SCHEMA.items()}
    largest |= {"model": "own", "attention": "mha", "dtype": "float32", "shared": 0}
    figures = compare([*(random_state(source) for _ in range(1500)), largest])
    refused = sum("error" in figure for figure in figures)
    assert 50 < refused < 750  # both kinds were met
    assert any(figure.get("max_context") is None for figure in figures if "error" not in figure)
    assert int(figures[-1]["total_bytes"]) > 2**53  # more than a JavaScript number holds exactly


def test_the_comparison_can_fail() -> None:
    state = dict(DEFAULTS, n_layers=31, model="own")
    [theirs] = run(COMPUTE, [DEFAULTS])
    assert theirs != in_python(state)


def published_per_token(name: str) -> int:
    """Bytes of a token in bfloat16, worked out from the model's published config.json."""
    fields = PUBLISHED[name]
    layers, _, _, kv_heads, head_dim = shape(fields)
    if "kv_lora_rank" in fields:
        return layers * (fields["kv_lora_rank"] + fields["qk_rope_head_dim"]) * 2
    return 2 * layers * kv_heads * head_dim * 2


def test_every_model_against_its_published_sizes() -> None:
    states = [{**DEFAULTS, "model": name} for name in MODELS]
    for name, figures in zip(MODELS, run(COMPUTE, states), strict=True):
        assert int(figures["bytes_per_token"]) == published_per_token(name), name


def test_a_shared_beginning_is_stored_once_in_whole_pages() -> None:
    use = {**DEFAULTS, "batch": 16, "context": 8192}
    states = [{**use, "shared": shared} for shared in (0, 15, 16, 4096, 8192, 1_048_576)]
    alone, none, page, half, all_, more = run(COMPUTE, states)
    token = 131_072
    assert int(alone["total_bytes"]) == int(none["total_bytes"]) == token * 16 * 8192
    assert int(page["total_bytes"]) == token * (16 * 8192 - 15 * 16)
    assert int(half["total_bytes"]) == token * (16 * 4096 + 4096)
    # The last token of each is its own, and so is the page in which it lies.
    assert all_["total_bytes"] == more["total_bytes"]
    assert int(all_["total_bytes"]) == token * (16 * 16 + 8176)
    left = int(half["left_bytes"])
    assert int(half["max_sequences"]) == (left - token * 4096) // (token * 4096)
    [ragged] = run(COMPUTE, [{**use, "context": 8193, "shared": 16}])
    assert int(ragged["total_bytes"]) == token * (16 * 8208 - 15 * 16)


def test_groups_count_their_scales() -> None:
    """As `mini_attn` stores them: codes, and a scale or a scale and a zero for each group."""
    groups = {
        "nvfp4": weight_format("nvfp4").bits,
        "mxfp4": weight_format("mxfp4").bits,
        "int4-grouped": (32 * 4 + 2 * 16) / 32,
        "int2-grouped": (32 * 2 + 2 * 16) / 32,
    }
    assert groups == {name: bits for name, bits in BITS.items() if name in groups}
    states = [{**DEFAULTS, "dtype": name, "weight_dtype": name} for name in groups]
    for bits, figures in zip(groups.values(), run(COMPUTE, states), strict=True):
        assert int(figures["bytes_per_token"]) == 2 * 32 * 8 * 128 * bits / 8
        assert int(figures["weight_bytes"]) == -(-8_030_261_248 * bits // 8)


def test_windows_bound_the_cache() -> None:
    states = [
        {**DEFAULTS, "model": name, "context": 16_384, "batch": 1}
        for name in ("mistral-7b", "gemma-2-9b", "gemma-3-27b", "gpt-oss-120b")
    ]
    mistral, gemma, gemma3, oss = run(COMPUTE, states)
    # The first five of six layers keep 1,024; of 62 layers the last two are windowed as well.
    assert int(gemma3["total_bytes"]) == 2 * 16 * 128 * 2 * (10 * 16_384 + 52 * 1024)
    assert int(oss["total_bytes"]) == 2 * 8 * 64 * 2 * (18 * 16_384 + 18 * 128)
    assert int(mistral["total_bytes"]) == published_per_token("mistral-7b") * 4096
    assert mistral["max_context"] is None  # no length is too long for it
    assert int(gemma["total_bytes"]) == 2 * 8 * 256 * 2 * (21 * 16_384 + 21 * 4096)


def test_formula_shows_the_numbers_that_make_the_total() -> None:
    body = """
    const { compute, settle, table, describe } = living.registry.cache_calculator;
    return input.map((state) => {
      const result = compute(settle(state));
      return [table(result).rows.at(-1)[1], describe(result), result.total_bytes];
    });"""
    states = [{**DEFAULTS, **change} for change in (
        {}, {"model": "deepseek-v3", "dtype": "int4"}, {"model": "gemma-2-9b", "context": 16_384},
    )]  # fmt: skip
    (llama, said, total), (deepseek, _, small), (gemma, _, hybrid) = run(body, states)
    assert llama == (
        "2 × 32 layers × 8 KV heads × 128 × 2 bytes × 8,192 tokens × 16 sequences"
        " = 17,179,869,184 bytes"
    )
    assert int(total) == prod((2, 32, 8, 128, 2, 8192, 16))
    assert "17.18 GB" in said
    assert "more than the weights (16.06 GB)" in said
    assert deepseek.startswith("(512 latent + 64 RoPE key) × 61 layers × ½ byte × ")
    assert int(small) == (512 + 64) * 61 * 8192 * 16 // 2
    assert "(21 global layers × 16,384 tokens + 21 windowed layers × 4,096 tokens kept)" in gemma
    assert int(hybrid) == 2 * (21 * 16_384 + 21 * 4096) * 8 * 256 * 2 * 16
    blocks = {**DEFAULTS, "model": "own", "attention": "nsa", "block_size": 100}
    (own, _, whole), (shares, _, less) = run(body, [blocks, {**blocks, "shared": 4100}])
    assert "× (8,192 tokens + 81 complete blocks) × 16 sequences" in own
    assert int(whole) == 2 * 32 * 8 * 128 * 2 * (8192 + 81) * 16
    assert (
        "((4,096 slots of its own + 41 complete blocks of its own) × 16 sequences"
        " + 4,096 shared slots + 40 shared complete blocks)"
    ) in shares
    assert int(less) == 2 * 32 * 8 * 128 * 2 * ((4096 + 41) * 16 + 4096 + 40)


def test_schema_lists_what_the_package_knows() -> None:
    assert SCHEMA["model"]["values"] == [*MODELS, "own"]
    assert SCHEMA["attention"]["values"] == list(REGISTRY)
    assert SCHEMA["device"]["values"] == [*cost.DEVICES, "own"]
    assert SCHEMA["dtype"]["values"] == SCHEMA["weight_dtype"]["values"] == list(BITS)
    keys = run("return living.registry.cache_calculator.controls.map((control) => control.key);")
    assert sorted(keys) == sorted(SCHEMA)


def test_the_list_of_models_is_grouped_by_family() -> None:
    body = """
    const control = living.registry.cache_calculator.controls.find((c) => c.key === "model");
    return control.options;"""
    options = run(body)
    assert [name for name, *_ in options] == [*MODELS, "own"]
    assert options[-1] == ["own", "Own numbers"]  # stands by itself
    for name, title, family in options[:-1]:
        assert (title, family) == (MODELS[name].title, MODELS[name].family)
    families = [family for _, _, family in options[:-1]]
    started = [f for i, f in enumerate(families) if i == 0 or families[i - 1] != f]
    assert len(started) == len(set(families)) > 5  # each heading stands once


def test_choosing_a_model_and_editing_a_size_agree_with_the_page() -> None:
    moves = [("model", "deepseek-v3"), ("batch", 2), ("head_dim", 128), ("model", "gemma-2-9b"),
             ("model", "own"), ("window", 100), ("model", "gpt2"), ("context", 7)]  # fmt: skip
    body = """
    let state = input.state;
    return input.moves.map(([key, value]) =>
      (state = living.registry.cache_calculator.update(state, key, value)));"""
    pages = run(body, {"state": DEFAULTS, "moves": moves})
    widget = CacheCalculator()
    assert widget.state == DEFAULTS
    for (key, value), page in zip(moves, pages, strict=True):
        setattr(widget, key, value)
        assert widget.state == page, (key, value)
    assert widget.result()["total_bytes"] == 2 * 12 * 768 * 7 * 2 * 2


@pytest.mark.parametrize("width", [720, 320])
def test_pictures_are_well_formed(width: int) -> None:
    source = random.Random(7)
    states = [random_state(source) for _ in range(120)]
    states += [
        {**DEFAULTS, "model": name, "context": context}
        for name in MODELS
        for context in (1, 1_048_576)
    ]
    body = """
    const { compute, settle, draw, describe } = living.registry.cache_calculator;
    return input.states.map((state) => {
      const result = compute(settle(state));
      return [draw(result, { width: input.width, uid: "test" }), describe(result)];
    });"""
    for state, (picture, said) in zip(
        states, run(body, {"states": states, "width": width}), strict=True
    ):
        root = ET.fromstring(picture)
        assert root.get("width") == str(width)
        for bad in ("NaN", "undefined", "Infinity", "null"):
            assert bad not in picture + said, (bad, state)
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            left, wide = float(rect.get("x")), float(rect.get("width"))
            assert left >= 0, state
            assert wide >= 0, state
            assert left + wide <= width + 1, state


def test_contradicting_numbers_are_named() -> None:
    state = dict(DEFAULTS, model="own", n_heads=30)
    widget = CacheCalculator(n_heads=30)
    with pytest.raises(ConfigError, match="30"):
        widget.result()
    body = """
    const { compute, draw, describe, table } = living.registry.cache_calculator;
    const result = compute(input);
    return [draw(result), describe(result), table(result).rows];"""
    picture, said, rows = run(body, state)
    assert "30 query heads cannot share 8 key/value heads" in said
    assert "go together" in picture
    assert len(rows) == 1


def test_numbers_of_half_a_byte_must_pair_up() -> None:
    odd = {"attention": "mqa", "n_layers": 1, "head_dim": 3, "v_head_dim": 4, "dtype": "int4",
           "batch": 1, "context": 1}  # fmt: skip
    widget = CacheCalculator(**odd)
    with pytest.raises(ConfigError, match=r"0\.5 bytes do not fill"):
        widget.result()
    assert run(COMPUTE, [widget.state])[0]["error"]


@pytest.mark.parametrize(
    "bad",
    [
        {"context": 0}, {"context": -5}, {"batch": 2.5}, {"batch": float("nan")},
        {"batch": float("inf")}, {"n_layers": True}, {"n_layers": "12"}, {"n_layers": None},
        {"model": "gpt5"}, {"model": "<script>alert(1)</script>"}, {"dtype": "float7"},
        {"device": ["h100"]}, {"parameters": 10**14}, {"unknown": 1},
        {"model": "gpt2", "n_layers": 32},
    ],
)  # fmt: skip
def test_bad_states_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(WidgetStateError):
        CacheCalculator(**bad)
    widget = CacheCalculator()
    if len(bad) == 1 and "unknown" not in bad:
        [(key, value)] = bad.items()
        with pytest.raises(WidgetStateError):
            setattr(widget, key, value)
    assert widget.state == DEFAULTS
    if "unknown" in bad or len(bad) == 1:
        text = "return living.validate(input.schema, input.bad).error;"
        jsonable = {k: (str(v) if v != v or v == float("inf") else v) for k, v in bad.items()}
        assert run(text, {"schema": SCHEMA, "bad": jsonable})


def test_repr_names_what_differs_from_the_usual_state() -> None:
    assert repr(CacheCalculator()) == "CacheCalculator()"
    assert repr(CacheCalculator(model="gpt2", batch=1)) == "CacheCalculator(model='gpt2', batch=1)"
    assert "n_layers=5" in repr(CacheCalculator(n_layers=5))
