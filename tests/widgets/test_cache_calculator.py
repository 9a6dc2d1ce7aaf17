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
from mini_attn.models import MODELS, ModelConfig
from mini_attn.variants import COUNTED, REGISTRY, variant
from mini_attn.widgets import cache_calculator, data
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.cache_calculator import BITS, CacheCalculator, calculate
from tests.cost.published import PUBLISHED, keeps_state, kept_shape, shape, spans_of
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


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_javascript_equals_cost_on_every_model(half: int) -> None:
    """Of every model each second type, the others in test-all."""
    types = list(zip(BITS, reversed(BITS), strict=True))
    states = [
        {**DEFAULTS, "model": model, "dtype": dtype, "batch": batch, "context": context,
         "device": device, "weight_dtype": weight_dtype}
        for at, model in enumerate(MODELS)
        for dtype, weight_dtype in types[(at + half) % 2 :: 2]
        for batch, context, device in (
            (1, 1, "a100"), (3, 4095, "own"), (16, 8192, "h100"), (4096, 10_485_760, "h200"),
        )
    ]  # fmt: skip
    figures = compare(states)
    assert len(figures) == 4 * len(MODELS) * len(BITS) // 2
    assert not any("error" in figure for figure in figures)


def test_every_model_on_several_devices() -> None:
    """Where the package would split its heads, each device's figures; elsewhere both refuse."""
    counts = SCHEMA["ranks"]["values"]
    states = [{**DEFAULTS, "model": name, "ranks": n} for name in MODELS for n in counts]
    for state, figures in zip(states, compare(states), strict=True):
        model, ranks = MODELS[state["model"]], state["ranks"]
        refused = model.n_heads % ranks or (model.linear and ranks > 1)
        assert ("error" in figures) == bool(refused), state
        if "error" not in figures:
            asked = {"ranks": ranks, "batch": state["batch"], "context": state["context"]}
            assert int(figures["total_bytes"]) == cost.device_cache_bytes(model, **asked)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"ranks": 8}, "1 of 8 KV heads. Everything is split."),
        (
            {"ranks": 16},
            "1 of 8 KV heads. Beyond 8 devices, the cache no longer shrinks: heads are copied.",
        ),
        ({"ranks": 8, "model": "deepseek-v3"}, "all latents and RoPE keys. This cache doesn't"),
        ({"ranks": 2, "model": "starcoder-15b"}, "the only KV head. This cache doesn't shrink."),
        (
            {"ranks": 8, "model": "gemma-4-31b"},
            "1 of 4 KV heads in global layers and 2 of 16 KV heads in windowed layers. Beyond 4 "
            "devices, the cache of global layers no longer shrinks: heads are copied.",
        ),
        (
            {"ranks": 16, "model": "own", "attention": "indexed"},
            "1 of 8 KV heads and all index keys. Beyond 8 devices, the cache no longer shrinks: "
            "heads are copied. Index keys don't shrink.",
        ),
    ],
)
def test_what_no_longer_shrinks_is_said(state: dict[str, Any], words: str) -> None:
    body = """
    const { compute, settle, draw, describe, table } = living.registry.cache_calculator;
    const result = compute(settle(input));
    return [describe(result), table(result), draw(result)];"""
    said, told, picture = run(body, {**DEFAULTS, **state})
    assert words in said
    assert words in told["rows"][0][1]
    drawn = " ".join(ET.fromstring(picture).itertext())
    assert "cache of each device" in drawn
    assert words.split(".")[0] in drawn
    assert f"weights ÷ {state['ranks']}" in drawn


def test_one_device_is_told_as_ever() -> None:
    body = """
    const { compute, settle, draw, describe, table } = living.registry.cache_calculator;
    return input.map((state) => {
      const result = compute(settle(state));
      return [describe(result), table(result), draw(result)];
    });"""
    for model in ("llama-3-8b", "deepseek-v3", "gemma-4-31b"):
        alone = {**DEFAULTS, "model": model}
        before = {key: value for key, value in alone.items() if key != "ranks"}
        told, untold = run(body, [alone, before])
        assert told == untold
        assert not any(word in str(told) for word in ("devices", "each device", "÷"))


def test_the_formula_says_of_how_many_heads() -> None:
    body = """
    const { compute, settle, table } = living.registry.cache_calculator;
    return table(compute(settle(input))).rows.at(-1)[1];"""
    assert run(body, {**DEFAULTS, "ranks": 8}) == (
        "2 × 32 layers × 1 of 8 KV heads × 128 × 2 bytes × 8,192 tokens × 16 sequences"
        " = 2,147,483,648 bytes"
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"model": "gpt2", "ranks": 8}, "8 devices cannot share 12 query heads"),
        (
            {"model": "own", "n_heads": 12, "n_kv_heads": 6, "ranks": 4},
            "4 devices cannot share 6 key/value heads",
        ),
    ],
)
def test_heads_that_devices_cannot_share_are_refused(state: dict[str, Any], words: str) -> None:
    state = {**DEFAULTS, **state}
    with pytest.raises(ConfigError, match="ranks can't share"):
        calculate(state)
    [theirs] = run(COMPUTE, [state])
    assert words in theirs["error"]


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
    some = source.choice((0, 0, source.randrange(state["n_layers"]), state["shared_layers"]))
    state["shared_layers"] = min(some, 511)
    state["shared"] = source.choice((0, state["shared"], state["context"], 17))
    ranks = state["ranks"] = source.choice((1, 1, *SCHEMA["ranks"]["values"]))
    if source.random() < 0.8:
        if ranks > 1 and source.random() < 0.9:  # heads that devices share, or of which they copy
            state["n_kv_heads"] = max(1, int(ranks * source.choice((0, 0.25, 0.5, 1, 2, 3, 8))))
        state["n_heads"] = state["n_kv_heads"] * source.choice((1, 2, 3, 8, ranks, ranks))
        state["n_heads"] = min(state["n_heads"], 512)
    states = variant(state["attention"]).length_rule == "state"
    if states and source.random() < 0.9:  # which several devices don't share here
        state["ranks"] = 1
    return state


def test_javascript_equals_cost_on_own_numbers() -> None:
    source = random.Random(2024)
    largest = {key: entry.get("max", DEFAULTS[key]) for key, entry in SCHEMA.items()}
    largest |= {"model": "own", "attention": "mha", "dtype": "float32", "shared": 0}
    largest |= {"shared_layers": 0}
    states = [*(random_state(source) for _ in range(2100)), largest]
    figures = compare(states)
    refused = sum("error" in figure for figure in figures)
    assert 50 < refused < 1050  # both kinds were met
    met = zip(states, figures, strict=True)
    shared = [s["n_kv_heads"] < s["ranks"] for s, f in met if s["ranks"] > 1 and "error" not in f]
    assert sum(shared) > 100 < len(shared) - sum(shared)  # heads copied, and heads split
    assert any(figure.get("max_context") is None for figure in figures if "error" not in figure)
    assert int(figures[-1]["total_bytes"]) > 2**53  # more than a JavaScript number holds exactly


def made_up(source: random.Random) -> ModelConfig | None:
    """A model as one may be published, its layers apart in every way; None where they can't be."""
    attention = source.choice(("sliding_window", "sliding_window", "gqa", "csa"))
    layers, heads = source.randint(2, 40), source.choice((4, 8, 24))
    sizes: dict[str, Any] = {"n_kv_shared_layers": source.choice((0, source.randrange(layers)))}
    if attention == "sliding_window":
        sizes |= {"window": source.choice((1, 128, 4096))}
        sizes |= {"full_head_dim": source.choice((0, 512)), "k_eq_v": source.random() < 0.5}
        sizes |= {"full_n_kv_heads": source.choice((0, 1, 2, heads))}
        full = tuple(i for i in range(layers) if source.random() < 0.3)
        which = source.choice(("full_layers", "full_every"))
        sizes |= {which: full if which == "full_layers" else source.choice((2, 3, 6))}
    shared, values = source.choice((1, 2, 4)), source.choice((None, 32))
    if attention == "csa":
        spans = tuple(source.choice((0, 4, 128)) for _ in range(layers))
        sizes = {"spans": spans, "compress": 4, "window": source.choice((1, 128))}
        sizes |= {"index_n_heads": 2, "index_head_dim": source.choice((8, 128)), "index_topk": 9}
        shared, values = 1, None
    try:
        return ModelConfig(
            "made-up", "Made up", "made up", attention, n_layers=layers, d_model=64, n_heads=heads,
            n_kv_heads=shared, head_dim=source.choice((64, 256)), d_ff=96,
            v_head_dim=values, vocab_size=100, max_context=100, **sizes,
        )  # fmt: skip
    except ConfigError:
        return None


def test_models_whose_layers_differ_are_counted_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page carries of such a model is enough for every figure."""
    source = random.Random(31)
    states, expected = [], []
    while len(states) < 400:
        model = made_up(source)
        if model is None:
            continue
        monkeypatch.setattr(data, "MODELS", {"made-up": model})
        monkeypatch.setattr(cache_calculator, "MODELS", {"made-up": model})
        use = {
            "dtype": source.choice(list(BITS)), "context": source.choice((1, 100, 8192, 10**6)),
            "batch": source.choice((1, 3, 16)), "shared": source.choice((0, 0, 40)),
            "ranks": source.choice((1, 2, 4, 8)),
        }  # fmt: skip
        [entry] = data._models()
        states.append({**DEFAULTS, **use, **entry, "model": "own"})
        expected.append(in_python({**DEFAULTS, **use, "model": "made-up"}))
    got = run(COMPUTE, states)
    assert [figures if "error" not in figures else {"error": True} for figures in got] == expected
    apart = ("full_layers", "full_head_dim", "full_n_kv_heads", "shared_layers", "spans")
    assert all(sum(bool(state.get(key)) for state in states) > 50 for key in apart)
    assert sum(all(state.get(key) for key in apart[1:-1]) for state in states) > 20


def test_gemma_3n_like_layers_that_share() -> None:
    """Of 35 layers the last 15 read others and every fifth sees all, as in Gemma 3n."""
    state = {
        **DEFAULTS, "model": "own", "attention": "sliding_window", "n_layers": 35, "n_heads": 8,
        "n_kv_heads": 2, "head_dim": 256, "v_head_dim": 256, "window": 512, "full_every": 5,
        "shared_layers": 15, "context": 32_768, "batch": 1,
    }  # fmt: skip
    body = """
    const { compute, table, describe, draw } = living.registry.cache_calculator;
    const result = compute(input);
    return [result.total_bytes, table(result).rows, describe(result), draw(result)];"""
    total, rows, said, picture = run(body, state)
    assert int(total) == calculate(state)["total_bytes"]
    assert int(total) == 2 * 2 * 256 * 2 * (4 * 32_768 + 16 * 512)
    assert rows[0][:2] == ["Layers that keep a cache", "20 of 35"]
    assert (
        "(4 keeping global layers × 32,768 tokens + 16 keeping windowed layers × 512 tokens kept)"
    ) in rows[-1][1]
    assert "15 layers of 35 keep nothing and read another layer's cache" in said
    assert "in every layer and every token kept" in picture
    latent = state | {"attention": "mla", "shared_layers": 34}
    assert run(COMPUTE, [latent]) == run(COMPUTE, [latent | {"shared_layers": 0}])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"shared_layers": 32}, "the last 32 of 32 layers read"),
        ({"shared_layers": 33}, "no layer before them sees all"),
        ({"attention": "sliding_window", "full_every": 32, "shared_layers": 1}, "sees all"),
        ({"attention": "sliding_window", "full_every": 1, "shared_layers": 32}, "sees all"),
        ({"attention": "sliding_window", "shared_layers": 40}, "no layer before them"),
    ],
)
def test_layers_with_nothing_to_read_are_refused(sizes: dict[str, Any], words: str) -> None:
    state = {**DEFAULTS, "model": "own", **sizes}
    with pytest.raises(ConfigError, match=words):
        calculate(state)
    [theirs] = run(COMPUTE, [state])
    assert "no layer before them" in theirs["error"]
    assert words.removeprefix("the ") in theirs["error"]


def test_layers_of_two_sizes_are_two_products() -> None:
    """As Gemma 4's, whose layers that see all have larger heads and fewer of them."""
    sizes = {
        "model": "own", "attention": "sliding_window", "n_layers": 6, "n_heads": 8,
        "n_kv_heads": 4, "head_dim": 256, "v_head_dim": 256, "window": 512, "full_every": 6,
        "full_head_dim": 512, "full_n_kv_heads": 1, "context": 4096, "batch": 2,
    }  # fmt: skip
    body = """
    const { compute, table } = living.registry.cache_calculator;
    const result = compute(input);
    return [table(result).rows.at(-1)[1], result.total_bytes, result.mha_bytes,
      result.bytesAt(4096), result.mhaBytesAt(4096)];"""
    words, total, mha, at, mha_at = run(body, {**DEFAULTS, **sizes})
    assert words.startswith(
        "(2 × 1 global layer × 1 KV head × 512 × 4,096 tokens"
        " + 2 × 5 windowed layers × 4 KV heads × 256 × 512 tokens kept) × 2 bytes × 2 sequences"
    )
    assert int(total) == at == 2 * 2 * (2 * 512 * 4096 + 2 * 5 * 4 * 256 * 512)
    assert int(mha) == mha_at == 2 * 2 * 2 * 8 * 4096 * (512 + 5 * 256)


def test_the_comparison_can_fail() -> None:
    state = dict(DEFAULTS, n_layers=31, model="own")
    [theirs] = run(COMPUTE, [DEFAULTS])
    assert theirs != in_python(state)


def published_per_token(name: str) -> int:
    """Bytes of a token in bfloat16, worked out from the model's published config.json."""
    fields = PUBLISHED[name]
    layers = shape(fields)[0]
    keeping = [layer for layer in range(layers) if not keeps_state(fields, layer)]
    if "kv_lora_rank" in fields:
        latent = fields["kv_lora_rank"] + fields["qk_rope_head_dim"]
        return len(keeping) * (latent + fields.get("index_head_dim", 0)) * 2
    if "compress_ratios" in fields:  # entries of 4 tokens have a smaller one beside
        sizes = {4: fields["head_dim"] + fields["index_head_dim"], 128: fields["head_dim"]}
        return sum(2 * sizes[span] // span for span in spans_of(fields) if span)
    keeping = keeping[: layers - fields.get("num_kv_shared_layers", 0)]
    kept = [kept_shape(fields, layer) for layer in keeping]
    return sum(heads * (key + value) * 2 for heads, key, value in kept)


def test_every_model_against_its_published_sizes() -> None:
    states = [{**DEFAULTS, "model": name} for name in MODELS]
    for name, figures in zip(MODELS, run(COMPUTE, states), strict=True):
        assert int(figures["bytes_per_token"]) == published_per_token(name), name


def test_a_shared_beginning_is_stored_once_in_whole_pages() -> None:
    use = {**DEFAULTS, "batch": 16, "context": 8192}
    states = [{**use, "shared": shared} for shared in (0, 15, 16, 4096, 8192, 10_485_760)]
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


def test_formula_counts_what_only_the_last_tokens_keep() -> None:
    """Keys of a window, entries, and what waits: each with its own count, none with pages."""
    body = """
    const { compute, settle, table, describe } = living.registry.cache_calculator;
    return input.map((state) => {
      const result = compute(settle(state));
      return [table(result).rows.at(-1)[1], result.total_bytes];
    });"""
    use = {**DEFAULTS, "model": "own", "n_layers": 3, "head_dim": 512, "window": 128, "batch": 2}
    states = [
        {**use, "attention": "hca", "compress": 128, "shared": 4096},
        {**use, "attention": "csa", "compress": 4, "index_head_dim": 128},
    ]
    (hca, heavy), (csa, sparse) = run(body, states)
    assert hca.startswith(
        "3 layers × 2 bytes × (128 last tokens × 1,536 values + 64 entries × 512 values)"
        " × 2 sequences = "
    )
    assert int(heavy) == 3 * 2 * 2 * (128 * 512 + 64 * 512 + 128 * 2 * 512)
    assert (
        "(128 last tokens × 512 values + 2,048 entries × 640 values + 8 last tokens × 2,560" in csa
    )
    assert int(sparse) == 3 * 2 * 2 * (128 * 512 + 2048 * 640 + 8 * 2 * 2 * 640)


def test_schema_lists_what_the_package_knows() -> None:
    assert SCHEMA["model"]["values"] == [*MODELS, "own"]
    assert SCHEMA["attention"]["values"] == [*REGISTRY, *COUNTED]
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
             ("model", "own"), ("window", 100), ("shared_layers", 3), ("model", "llama-3-8b"),
             ("shared_layers", 8), ("model", "gpt2"), ("context", 7)]  # fmt: skip
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
        for context in (1, 10_485_760)
    ]
    states += [{**DEFAULTS, "model": name, "ranks": ranks} for name in MODELS for ranks in (2, 16)]
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
        {"model": "gpt2", "n_layers": 32}, {"ranks": 3}, {"ranks": 32},
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
