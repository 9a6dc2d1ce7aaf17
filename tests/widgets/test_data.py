"""What the widgets' JavaScript is given: generated, never typed, and as committed."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from mini_attn import cost, example
from mini_attn.models import MODELS
from mini_attn.variants import COUNTED, REGISTRY, CacheField, Size, variant
from mini_attn.widgets import data
from mini_attn.widgets.cache_calculator_data import layers_apart

FILES = data.generate()


def test_the_committed_files_are_the_generated_ones():
    committed = {path.name: path.read_text(encoding="utf-8") for path in data.FOLDER.iterdir()}
    assert committed == {name: data.as_text(content) for name, content in FILES.items()}


def test_the_committed_schemas_are_the_generated_ones(tmp_path):
    for name, schema in data.schemas().items():
        committed = data.FOLDER.parent / name / "schema.json"
        assert committed.read_text(encoding="utf-8") == data.schema_text(schema)
        (tmp_path / name).mkdir()
    data.write_schemas(tmp_path)
    assert {path.parent.name for path in tmp_path.glob("*/*")} == set(data.schemas())


def test_a_new_size_reaches_the_schema_and_a_lost_one_leaves_it(monkeypatch):
    """A variant's entry is all that the calculator has to be told."""
    latent = REGISTRY["mla"]
    fields = (CacheField("latent", ("rank",)),)
    words = (Size("rank", "Rank", most=77),)
    changed = dataclasses.replace(latent, cache=fields, asked=words, compared=(("rank", 5),))
    monkeypatch.setitem(REGISTRY, "mla", changed)
    monkeypatch.setitem(COUNTED, "indexed_latent", changed)  # it keeps latents too
    schema = data.schemas()["cache_calculator"]
    assert schema["rank"] == {"type": "int", "min": 1, "max": 77, "default": 5}
    assert "kv_lora_rank" not in schema


def test_writing_makes_the_same_files(tmp_path):
    data.write(tmp_path / "new")
    for path in data.FOLDER.iterdir():
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_json_keeps_every_value(name):
    """No NaN or infinity, which JSON lacks, and nothing rounded; tuples become lists."""

    def walk(value):
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [walk(item) for item in value]
        assert not isinstance(value, float) or math.isfinite(value)
        return value

    assert json.loads(data.as_text(FILES[name])) == walk(FILES[name])


def test_every_entry_is_there():
    models = {entry["name"]: entry for entry in FILES["models.json"]}
    assert set(models) == set(MODELS)
    for name, entry in models.items():
        own = [size.name for size in variant(MODELS[name].attention).cache_sizes]
        shown = {key: getattr(MODELS[name], key) for key in (*data.MODEL_KEYS, *own)}
        shown |= layers_apart(MODELS[name])
        assert entry == shown | {"parameters": cost.parameter_count(MODELS[name])}
    assert [entry["name"] for entry in FILES["layouts.json"]] == [*REGISTRY, *COUNTED]
    assert [entry["key"] for entry in FILES["devices.json"]] == list(cost.DEVICES)
    assert FILES["example.json"]["tokens"] == example.TOKENS


def held_of_span(layouts, entry, span, context):
    """Numbers of a layer whose entries stand for so many tokens; some fields keep a few."""
    kind = "csa" if span == entry["compress"] else "hca" if span else "shared_window"
    sizes, numbers = entry | {"compress": span}, 0
    for field in layouts[kind]["cache"]:
        each = field["series"] * math.prod(sizes[key] for key in field["factors"])
        kept = min(context, field["series"] * sizes[field["last"]]) if field["last"] else context
        numbers += each * (kept // (sizes[field["per"]] if field["per"] else 1))
    return numbers


def held_as_state(layouts, sizes, context):
    """Numbers of two bytes of a layer with a state: its own have four, whatever the tokens."""
    numbers = 0
    for field in layouts[sizes["attention"]]["cache"]:
        each = math.prod(sizes[key] for key in field["factors"]) * (2 if field["wide"] else 1)
        kept = 1 if field["once"] else min(context, sizes[field["last"]] - field["less"])
        numbers += each * kept
    return numbers


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("context", [1, 4097])
def test_layouts_alone_give_the_bytes(name, context):
    """All that JavaScript has are these files; they must be enough for the formula."""
    entry = next(model for model in FILES["models.json"] if model["name"] == name)
    layouts = {item["name"]: item for item in FILES["layouts.json"]}
    layout = layouts[entry["attention"]]
    wide, few = entry.get("full_head_dim"), entry.get("full_n_kv_heads")
    large = entry | ({"head_dim": wide, "v_head_dim": wide} if wide else {})
    large |= {"n_kv_heads": few} if few else {}
    numbers = sum(held_of_span(layouts, entry, span, context) for span in entry.get("spans", ()))
    for i in range(entry["n_layers"] * ("spans" not in entry) - entry.get("shared_layers", 0)):
        every, full = entry["full_every"], i in entry.get("full_layers", ())
        if "linear" in entry and not full and (not every or (i + 1) % every):
            numbers += held_as_state(layouts, entry["linear"], context)
            continue
        windowed = layout["length_rule"] == "window" and not full and (not every or (i + 1) % every)
        sizes, kept = (entry, min(context, entry["window"])) if windowed else (large, context)
        each = (math.prod(sizes[key] for key in field["factors"]) for field in layout["cache"])
        numbers += kept * sum(each)
    expected = cost.cache_bytes(MODELS[name], batch=1, context=context, dtype_bytes=2)
    assert 2 * numbers == expected
