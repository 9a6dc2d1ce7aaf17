"""What the widgets' JavaScript knows of the package, generated so that nothing is typed twice.

``make bundle`` writes the files; a test generates them again and compares.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mini_attn import cost, example
from mini_attn.example import heads as example_heads
from mini_attn.example import latent as example_latent
from mini_attn.models import MODELS
from mini_attn.stories.data import language
from mini_attn.stories.family import film
from mini_attn.stories.vocabulary import WORDS
from mini_attn.variants import KINDS, variant
from mini_attn.widgets.bits_dial_data import bits_dial
from mini_attn.widgets.cache_calculator_data import calculator_schema, layers_apart
from mini_attn.widgets.comparison_data import comparison
from mini_attn.widgets.equal_bytes_data import equal_bytes
from mini_attn.widgets.inside_data import home_model, inside_model
from mini_attn.widgets.key_budget_data import key_budget
from mini_attn.widgets.machine_data import machine
from mini_attn.widgets.merge_steps_data import merge_steps
from mini_attn.widgets.page_pool_data import page_pool
from mini_attn.widgets.questions import QUESTIONS
from mini_attn.widgets.roofline_data import roofline
from mini_attn.widgets.schema import load_schema
from mini_attn.widgets.your_model_data import your_model

__all__ = ["FOLDER", "generate", "schemas", "write", "write_schemas"]

FOLDER = Path(__file__).with_name("js") / "data"


# What every cache depends on, and what a list shows: a page carries no more of a model than that
# and the sizes that its variant's cache has beside.
MODEL_KEYS = (
    "name",
    "title",
    "family",
    "attention",
    "n_layers",
    "n_heads",
    "n_kv_heads",
    "head_dim",
    "v_head_dim",
    "full_every",
)


def _models() -> list[dict[str, Any]]:
    """Return each published configuration as widgets need it, with its parameter count."""
    return [
        {key: getattr(model, key) for key in MODEL_KEYS}
        | {size.name: getattr(model, size.name) for size in variant(model.attention).cache_sizes}
        | layers_apart(model)
        | {"parameters": cost.parameter_count(model)}
        for model in MODELS.values()
    ]


def _layouts() -> list[dict[str, Any]]:
    """Return what each variant leaves in the cache: the registry's own fields and rule."""
    return [
        {
            "name": entry.name,
            "title": entry.title,
            "cache": [asdict(field) for field in entry.cache],
            "length_rule": entry.length_rule,
            "fixed": dict(entry.fixed),
            "shares_layers": entry.shares_layers,
            "sizes": [
                {key: getattr(size, key) for key in ("name", "label", "word", "why")}
                for size in entry.cache_sizes
            ],
        }
        for entry in KINDS.values()
    ]


def _devices() -> list[dict[str, Any]]:
    """Name and memory of each device."""
    return [
        {"key": key, "name": device.name, "memory_bytes": device.memory_bytes}
        for key, device in cost.DEVICES.items()
    ]


def _film() -> dict[str, Any]:
    """Return what a page shows of the film: not how it was made, and the loss of who guesses."""
    record = film()
    curve = {key: record["curve"][key] for key in ("step", "copying", "stories")}
    shown = {key: record[key] for key in ("floor", "words", "frames")}
    return shown | {"curve": curve, "guess": math.log(len(WORDS) - 1)}


def generate() -> dict[str, Any]:
    """All generated data by file name.

    Returns
    -------
    dict
        ``models.json``, ``layouts.json``, ``devices.json``, ``page_pool.json``, ``roofline.json``,
        ``comparison.json``, ``equal_bytes.json``, ``bits_dial.json``, ``stories.json``,
        ``film.json``, ``inside_model.json``, ``home_model.json``, ``key_budget.json``,
        ``your_machine.json``, ``your_model.json``, ``merge_steps.json``, ``example.json``,
        ``example_heads.json`` and ``example_latent.json``.
    """
    return {
        "models.json": _models(),
        "layouts.json": _layouts(),
        "devices.json": _devices(),
        "page_pool.json": page_pool(),
        "roofline.json": roofline(),
        "comparison.json": comparison(),
        "equal_bytes.json": equal_bytes(),
        "bits_dial.json": bits_dial(),
        "stories.json": language(),
        "film.json": _film(),
        "inside_model.json": inside_model(),
        "home_model.json": home_model(),
        "key_budget.json": key_budget(),
        "your_model.json": your_model(),
        "your_machine.json": machine(),
        "merge_steps.json": merge_steps(),
        "example.json": {name.lower(): getattr(example, name) for name in example.__all__},
        "example_heads.json": {
            name.lower(): getattr(example_heads, name) for name in example_heads.__all__
        },
        "example_latent.json": {
            name.lower(): getattr(example_latent, name) for name in example_latent.__all__
        },
    }


def as_text(data: Any) -> str:
    """JSON as it is committed: one item a line, so that a change shows where it is."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(folder: Path = FOLDER) -> None:
    """Write the generated files.

    Parameters
    ----------
    folder : Path
        Where they go; the widgets' own data folder unless told otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in generate().items():
        (folder / name).write_text(as_text(data), encoding="utf-8")


def _questions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction's schema, which names all questions."""
    return schema | {"question": schema["question"] | {"values": list(QUESTIONS)}}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas that name what the package knows, by widget.

    Returns
    -------
    dict
        Those of ``prediction`` and ``cache_calculator``; what is not generated in them is kept.
    """
    made = {"prediction": _questions, "cache_calculator": calculator_schema}
    return {name: make(load_schema(name)) for name, make in made.items()}


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as it is committed: one key a line."""
    return "{\n" + ",\n".join(f' "{key}": {json.dumps(e)}' for key, e in schema.items()) + "\n}\n"


def write_schemas(folder: Path = FOLDER.parent) -> None:
    """Write the schemas that are generated in part.

    Parameters
    ----------
    folder : Path
        Where the widgets' rooms are; their own folder unless told otherwise.
    """
    for name, schema in schemas().items():
        (folder / name / "schema.json").write_text(schema_text(schema), encoding="utf-8")
