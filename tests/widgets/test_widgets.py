"""What holds for every widget: pictures, words, states, bundles and outputs."""

from __future__ import annotations

import doctest
import gzip
import hashlib
import inspect
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mini_attn import widgets
from mini_attn.errors import WidgetStateError
from mini_attn.models import MODELS
from mini_attn.stories.family import on_pages
from mini_attn.variants import REGISTRY
from mini_attn.widgets import DecodeStepper, Prediction, data
from mini_attn.widgets.base import STATIC, fault, load_schema
from mini_attn.widgets.model_data import model_data
from tests.javascript import built, run
from tools import ROOT
from tools.bundle import packages

JS = ROOT / "mini_attn/widgets/js"
CLASSES = [getattr(widgets, name) for name in widgets.__all__]
WIDGETS = {found.class_traits()["_widget"].default_value: found for found in CLASSES}
NAMES = sorted(WIDGETS)
OWN_VIEWS = {"prediction", "living_plot"}  # words only; and a picture of a cell's own data
PICTURES = sorted(set(NAMES) - OWN_VIEWS)
DRAWN = [*PICTURES, "home_model-preview"]  # what a shared link shows, too
STATES = [
    {"step": step, "cached": cached, "head": head}
    for step in range(5)
    for cached in (True, False)
    for head in (1, 2)
]

# ---------------------------------------------------------------- what every picture promises


# What a picture has to be given before it can be computed in any state.
OPEN = "for (const [name, data] of Object.entries(input.models)) living.decoders.put(name, data);"


def given(name: str) -> dict[str, Any]:
    """A picture, its reachable states, and the decoders that they need."""
    if name not in ("home_model", "inside_model"):
        return {"name": name, "states": reachable(name), "models": {}}
    models = {member: model_data(member) for member in on_pages()}
    states = [s for s in reachable(name) if s.get("member", "mha") in models]
    return {"name": name, "states": states, "models": models}


def reachable(name: str) -> list[dict[str, Any]]:
    """The default state, and each key of the schema at its ends and in its middle."""
    states: list[dict[str, Any]] = [{}]
    for key, entry in load_schema(name).items():
        if entry["type"] == "bool":
            values: list[Any] = [True, False]
        elif entry["type"] == "enum":
            values = entry["values"]
        elif entry["type"] == "string":
            continue
        else:
            ends = (entry["min"], entry["max"])
            middle = sum(ends) / 2
            values = [*ends, int(middle) if entry["type"] == "int" else middle]
        states += [{key: value} for value in values]
    return states


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_well_formed_at_every_width(name: str) -> None:
    """Unique ids, few stops of the Tab key, nothing outside, no value missing."""
    body = """
      const { compute, draw, schema } = living.registry[input.name];
      const at = (state, width) =>
        draw(compute({ ...living.defaults(schema), ...state }), { width, uid: "u", live: true });
      return input.states.flatMap((state) =>
        [280, 328, 599, 600, 720, 880].map((width) => [width, at(state, width)]));"""
    svg = "{http://www.w3.org/2000/svg}"
    for width, markup in run(OPEN + body, given(name)):
        assert not re.search(r"NaN|undefined|Infinity|\[object", markup), markup[:300]
        root = ET.fromstring(f"<div>{markup}</div>")
        ids = [e.get("data-id") for e in root.iter() if e.get("data-id")]
        assert ids
        assert len(ids) == len(set(ids))
        assert 1 <= [e.get("tabindex") for e in root.iter()].count("0") <= 12
        for picture in root.iter(f"{svg}svg"):
            assert float(picture.get("width", 0)) <= width + 0.5
        for rect in root.iter(f"{svg}rect"):
            left, wide = float(rect.get("x", 0)), float(rect.get("width", 0))
            assert wide >= 0
            assert left + wide <= width + 0.5


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_told_in_words(name: str) -> None:
    """Sentence, table and the arithmetic behind every part, in all reachable states."""
    body = """
      const { compute, draw, describe, explain, table, schema } = living.registry[input.name];
      return input.states.map((state) => {
        const result = compute({ ...living.defaults(schema), ...state });
        const markup = draw(result, { width: 720, uid: "u", live: true });
        const ids = [...markup.matchAll(/data-id="([^"]+)"/g)].map((found) => found[1]);
        const { head, rows, caption } = table(result);
        return {
          sentence: describe(result), caption, widths: [head, ...rows].map((row) => row.length),
          cells: rows.flat().join("|"),
          words: explain ? ids.map((id) => explain(result, id).text) : [],
        };
      });"""
    said = run(OPEN + body, given(name))
    for one in said:
        text = "\n".join([one["sentence"], one["caption"], one["cells"], *one["words"]])
        assert not re.search(r"NaN|undefined|Infinity|\[object|null", text)
        assert one["sentence"].rstrip().endswith((".", "!"))
        assert len(set(one["widths"])) == 1
        assert all(word.strip() for word in one["words"])
    assert len({one["sentence"] for one in said}) > 1, "the sentence does not follow the state"


# Keys that only an address or a button sets.
ADDRESSED = {
    "flash_tiles": {"head_dim", "tokens"}, "softmax_saturation": {"draw"},
    "rope_scaling": {"tokens"},  # of dynamic NTK, whose line stands for it
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_every_definition_is_complete(name: str) -> None:
    """Each key has a control or a part of the picture, a trait, bounds that hold its default."""
    body = """
      const { title, name, controls, schema, compute, draw, choose } = living.registry[input.name];
      const [keys, state] = [Object.keys(schema), living.defaults(schema)];
      const result = compute(state);
      const markup = draw(result, { width: 720, live: true });
      const all = (pattern) => [...markup.matchAll(pattern)].map((found) => found[1]);
      const next = choose ? all(/data-id="([^"]+)"/g).map((id) => choose(result, state, id)) : [];
      const pressed = keys.filter((key) => next.some((one) => one && one[key] !== state[key]));
      const taken = [...all(/data-grip="([^"]+)"/g), ...pressed];
      return { title, name, keys, controls: [...controls.map(({ key }) => key), ...taken] };"""
    definition = run(OPEN + body, given(name))
    assert definition["name"] == name
    assert definition["title"]
    handled = set(definition["controls"])
    assert handled | ADDRESSED.get(name, set()) == set(definition["keys"])
    assert not handled & ADDRESSED.get(name, set())
    widget = WIDGETS[name]()
    assert widget.caption.strip().endswith(".")
    assert list(widget.state) == definition["keys"]
    for key, entry in load_schema(name).items():
        assert fault(entry, entry["default"]) is None, key


# ---------------------------------------------------------------- one schema, two languages


def nasty_states(name: str) -> list[dict[str, Any]]:
    """States that are right, nearly right and hostile, one key at a time."""
    schema = load_schema(name)
    values: list[Any] = [
        None, True, False, 0, 1, 2, -1, 4, 5, 0.5, 1e308, -1e308, "", "1", "true", "float32",
        "x" * 100_000, "<script>alert(1)</script>", "\u0000", "NaN", [], [1], {}, {"a": 1},
        "__proto__", "٣", 2**53, 1e-320, "kv-cache/passes", "own", "constructor",
    ]  # fmt: skip
    bounds = [entry[b] + d for entry in schema.values() if entry["type"] == "int"
              for b in ("min", "max") for d in (-1, 0, 1)]  # fmt: skip
    states = [{key: value} for key in schema for value in [*values, *bounds]]
    strange = ("", "Step", "step ", "__proto__", "toString", "constructor", "a" * 5000, "<b>")
    return [{}, *states, *({key: 1} for key in strange)]


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_refuse_the_same_states(name: str) -> None:
    """JSON states of many wrong kinds: JavaScript and Python agree on each."""
    states = nasty_states(name)
    schema = load_schema(name)
    body = "return input.states.map((state) => living.validate(input.schema, state).error);"
    errors = run(body, {"schema": schema, "states": states})
    assert len(errors) > 40
    for state, error in zip(states, errors, strict=True):
        refused = any(k not in schema or fault(schema[k], v) for k, v in state.items())
        assert refused == (error is not None), state
        assert error is None or len(error) < 3000  # a list of all questions, at most
    assert None in errors  # the bank has states that are fine, too


def test_states_that_json_cannot_carry() -> None:
    """Not numbers, and things that are no state at all."""
    body = """
      const bad = [NaN, Infinity, -Infinity, undefined, 10n, () => 1, Symbol("s")];
      const none = [null, 3, "step", [], undefined];
      return [...bad.map((step) => living.validate(input, { step }).error),
              ...none.map((state) => living.validate(input, state).error)];"""
    errors = run(body, load_schema("decode_stepper"))
    assert len(errors) == 12
    assert all(errors)  # a reason each


def test_refused_state_gives_the_defaults() -> None:
    schema = load_schema("decode_stepper")
    got = run("return living.validate(input, { step: 3, head: 9 });", schema)
    assert got["state"] == {key: entry["default"] for key, entry in schema.items()}
    assert "head is one of 1, 2" in got["error"]


HASHES = {
    "#decode_stepper:": None,
    "#decode_stepper:step=3&cached=false&head=2": None,
    "#decode_stepper:step=5": "step is 0 to 4",
    "#decode_stepper:step=2.5": "whole number",
    "#decode_stepper:step=": "step is a number",
    "#decode_stepper:step": "step is a number",
    "#decode_stepper:step=NaN": "step is a number",
    "#decode_stepper:step=0x": "step is a number",
    "#decode_stepper:cached=yes": "cached is true or false",
    "#decode_stepper:cached=%ZZ": "cached is true or false",
    "#decode_stepper:head=3": "head is one of 1, 2",
    "#decode_stepper:steps=3": 'there is no "steps"',
    "#decode_stepper:__proto__=1": 'there is no "__proto__"',
    "#decode_stepper:constructor=1": 'there is no "constructor"',
    "#decode_stepper:<img src=x onerror=alert(1)>=1": "there is no",
    "#decode_stepper:step=%3Cscript%3Ealert(1)%3C/script%3E": "step is a number",
    "#decode_stepper:step=" + "9" * 10_000: "step is",
    "#decode_stepper:" + "&".join(f"k{i}=1" for i in range(5000)): "there is no",
}


@pytest.mark.parametrize("address", HASHES)
def test_addresses(address: str) -> None:
    """Every malformed address is refused with its reason, the well-formed are read."""
    body = """
      const given = living.fromHash("decode_stepper", input.schema, input.address);
      return living.validate(input.schema, given);"""
    got = run(body, {"schema": load_schema("decode_stepper"), "address": address})
    if HASHES[address] is None:
        assert got["error"] is None
    else:
        assert HASHES[address] in got["error"]


def test_addresses_of_other_things_are_left_alone() -> None:
    body = 'return input.map((text) => living.fromHash("decode_stepper", {}, text));'
    assert run(body, ["", "#", "#counting", "#decode_steppers:step=1", "#decode"]) == [None] * 5


def test_state_to_address_and_back() -> None:
    body = """
      return input.states.map((state) => {
        const address = living.toHash("decode_stepper", input.schema, state);
        const given = living.fromHash("decode_stepper", input.schema, address);
        return [address, living.validate(input.schema, given).state];
      });"""
    got = run(body, {"schema": load_schema("decode_stepper"), "states": STATES})
    assert [state for _, state in got] == STATES
    assert got[0][0] == "#decode_stepper:"


def test_copied_code_makes_the_state() -> None:
    body = "return input.states.map((s) => living.toPython('decode_stepper', input.schema, s));"
    lines = run(body, {"schema": load_schema("decode_stepper"), "states": STATES})
    for line, state in zip(lines, STATES, strict=True):
        assert eval(line, {"DecodeStepper": DecodeStepper}).state == state


def test_markup_is_escaped() -> None:
    nasty = "<img src=x onerror='a' title=\"b\">&"
    escaped = run("return living.escape(input);", nasty)
    assert not re.search(r"[<>\"']", escaped)
    body = """
      const { compute, draw } = living.registry.decode_stepper;
      const result = compute({ step: 1, cached: true, head: 1 });
      result.rows[0].token = input;
      return draw(result, { live: true });"""
    assert "<img" not in run(body, nasty)


def test_numbers_are_written_with_a_true_minus() -> None:
    got = run("return input.map((x) => living.decimal(x));", [1.234, -0.5, -0.001, 0, 1234.5])
    assert got == ["1.23", "−0.50", "0.00", "0.00", "1,234.50"]


# ---------------------------------------------------------------- what is committed


SCRIPTS = {
    "living.page.js": 5_400 * len(PICTURES) + 200 * len(REGISTRY) + 70 * len(MODELS),
    "living.trained.js": 50_000, "living.model.js": 40_000, "living.machine.js": 28_000,
    "living.progress.js": 8_000, "living.pencil.js": 12_000, "living.handin.js": 5_000,
    "living.notebook.js": 5_000, "living.scorm.js": 4_000, "living.clinic.js": 2_500,
    "living.early.js": 3_000, "living.returns.js": 8_000,
    "living.python.js": 10_000, "living.worker.js": 1_000, "living.editor.js": 125_000,
}  # fmt: skip
BUNDLES = {*SCRIPTS, "living.jupyter.js", "living.css"}


@pytest.mark.parametrize(
    "file",
    [*sorted(BUNDLES), *(f"{name}.svg" for name in DRAWN)],
)
def test_committed_bundle_is_what_the_sources_give(file: str) -> None:
    assert (STATIC / file).read_bytes() == (built() / file).read_bytes(), "run make bundle"


def png_chunks(png: bytes) -> dict[str, bytes]:
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        chunks[png[at + 4 : at + 8].decode()] = png[at + 8 : at + 8 + length]
        at += length + 12
    return chunks


@pytest.mark.parametrize("name", DRAWN)
def test_png_shows_the_committed_svg(name: str) -> None:
    """The PNG names the digest of the SVG that it was drawn from, and has twice its size."""
    svg = (STATIC / f"{name}.svg").read_bytes()
    chunks = png_chunks((STATIC / f"{name}.png").read_bytes())
    digest = hashlib.sha256(svg).hexdigest()
    assert chunks["tEXt"] == f"Source\0sha256:{digest}".encode(), "run make bundle"
    root = ET.fromstring(svg)
    size = tuple(2 * float(root.get(key)) for key in ("width", "height"))
    assert struct.unpack(">II", chunks["IHDR"][:8]) == size


def test_every_definition_has_its_class() -> None:
    """What JavaScript registers, Python has, under the name of its room."""
    assert sorted(run("return Object.keys(living.registry);", None)) == NAMES


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_has_its_room(name: str) -> None:
    room = {"index.js", "compute.js", "picture.js", "words.js", "style.css", "schema.json"}
    assert room <= {path.name for path in (JS / name).iterdir()}


def test_outside_of_the_rooms_is_only_what_is_bundled() -> None:
    files = {path.name for path in JS.iterdir() if path.is_file()}
    entries = {"build.mjs", "jupyter.js", "node.js", "page.js", "trained.js"}
    assert files == entries | {"everything.js", "package.json", "package-lock.json"}


def test_static_folder_holds_nothing_else() -> None:
    expected = BUNDLES | {f"{name}.{kind}" for name in DRAWN for kind in ("svg", "png")}
    assert {path.name for path in STATIC.iterdir()} == expected


ALLOWED = (
    b"ImportStatement import as ScopeStatement",  # the editor knows Python's grammar
    b"import numpy as np\n\nfrom mini_attn.exercises import check, hint, progress",  # a cell
    b"fetch(new URL(`../files/",  # beside the browser notebook: the chapter as it came with it
    b'(export "',  # a kernel in WebAssembly's text names its exports
)


def test_page_bundle_is_small_and_classic() -> None:
    for name, most in SCRIPTS.items():
        source = (STATIC / name).read_bytes()
        assert len(gzip.compress(source, 9)) < most
        for part in ALLOWED:
            source = source.replace(part, b"")
        assert_classic(source)


def assert_classic(source: bytes) -> None:
    """Runs from a file, and asks nobody for anything."""
    assert not re.search(rb"\b(import|export)\b[ {*]|\bimport\(", source)
    for word in (b"fetch(", b"XMLHttpRequest", b"eval(", b"new Function", b"document.write"):
        assert word not in source
    addresses = set(re.findall(rb"https?://[^\s\"'`)]+", source))
    assert addresses <= {b"http://www.w3.org/2000/svg"}


def test_a_bundle_names_whose_code_it_holds() -> None:
    """Each of the packages, its owner and its licence, in front; ours alone has nothing there."""
    notices = {
        name: "".join(re.findall(r"^/\*.*?\*/\n", (STATIC / name).read_text("utf-8"), re.S | re.M))
        for name in BUNDLES - {"living.css"}
    }
    for name, line in {
        "living.page.js": "d3-scale: Copyright 2010-2021 Mike Bostock",
        "living.jupyter.js": "d3-scale: Copyright 2010-2021 Mike Bostock",
        "living.editor.js": "@codemirror/view: Copyright (C) 2018-2021 by Marijn Haverbeke",
    }.items():
        assert line in notices[name], name
    named = set(re.findall(r"^(?:/\* )?([@\w/-]+): Copyright", "".join(notices.values()), re.M))
    assert set(json.loads((JS / "package.json").read_text())["dependencies"]) <= named
    for package in named:
        words = (packages() / package / "LICENSE").read_text("utf-8").split()
        granted = " ".join(words[words.index("Permission") :])  # behind the title and the owner
        for notice in notices.values():
            assert f"{package}: " not in notice or granted in " ".join(notice.split()), package
    assert not notices["living.worker.js"] + notices["living.trained.js"]


def test_numbers_are_written_one_way() -> None:
    """Thousands apart, a true minus sign, and no zero below zero."""
    body = "return input.map(([value, digits]) => living.decimal(value, digits));"
    wanted = {
        (0.125, 2): "0.13", (-0.125, 2): "−0.13", (-0.004, 2): "0.00", (-0.006, 2): "−0.01",
        (1234567.5, 1): "1,234,567.5", (-1000, 0): "−1,000", (999.9999, 3): "1,000.000",
        (0.1234, 3): "0.123", (2.5, 0): "3", (1e20, 0): "100,000,000,000,000,000,000",
    }  # fmt: skip
    assert run(body, list(wanted)) == list(wanted.values())


def test_packages_are_pinned_without_addresses() -> None:
    package = json.loads((JS / "package.json").read_text())
    wanted = package["dependencies"] | package["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    lock = json.loads((JS / "package-lock.json").read_text())
    for name, entry in lock["packages"].items():
        assert "resolved" not in entry, name
        assert name == "" or entry["integrity"].startswith("sha512-"), name
    assert not (JS / "node_modules").exists()


def test_rebuild_notices_a_change(tmp_path: Path) -> None:
    """The comparison can fail: another number in a source gives another bundle."""
    source = (built() / "living.page.js").read_text()
    assert "milliseconds:1400" in source
    changed = tmp_path / "living.page.js"
    changed.write_text(source.replace("milliseconds:1400", "milliseconds:1401", 1))
    assert changed.read_bytes() != (STATIC / "living.page.js").read_bytes()


def test_generated_data_is_fresh() -> None:
    """What JavaScript knows of the package is what the package says now."""
    for name, made in data.generate().items():
        assert json.loads((JS / "data" / name).read_text()) == json.loads(json.dumps(made)), name


# ---------------------------------------------------------------- in Python


def test_traits_can_be_set_and_read() -> None:
    stepper = DecodeStepper(step=1)
    seen = []
    stepper.observe(lambda change: seen.append(change["new"]), "step")
    stepper.step = np.int64(4)
    stepper.cached = False
    assert (stepper.step, type(stepper.step), stepper.cached, seen) == (4, int, False, [4])
    assert stepper.state == {"step": 4, "cached": False, "head": 1}
    assert repr(stepper) == "DecodeStepper(step=4, cached=False, head=1)"


def test_every_key_is_a_synced_trait() -> None:
    for widget in (Prediction("kv-cache/passes"), *(WIDGETS[name]() for name in PICTURES)):
        synced = widget.get_state()
        schema = load_schema(widget._widget)
        assert {key: synced[key] for key in schema} == widget.state
        assert list(widget.state) == list(schema)


KINDS = {"bool": "bool", "int": "int", "number": "float", "string": "str"}


def described(widget: type) -> dict[str, tuple[str, str]]:
    """Type and description of each parameter in what ``help`` prints, in its order."""
    section = (inspect.getdoc(widget) or "").split("Parameters\n----------\n")[1].split("\n\n")[0]
    entries = re.findall(r"^(\w.*?) : (.*)\n((?: .*\n?)+)", section, flags=re.M)
    return {key: (kind, words) for keys, kind, words in entries for key in keys.split(", ")}


def untold(entry: dict[str, Any], kind: str, words: str) -> str | None:
    """What a description lacks of its key's entry in the schema, or None."""
    if entry["type"] == "enum":
        # Names of models and questions are too many for a line, and so are types of numbers.
        told = kind == "str" if len(entry["values"]) > 9 else kind == f"{{{listed(entry)}}}"
        return None if told else f"{kind} for {entry['values']}"
    if kind != KINDS[entry["type"]]:
        return f"{kind} for {entry['type']}"
    ends = {"bool": "", "string": f"at most {entry.get('max')} characters"}
    bounds = ends.get(entry["type"], f"{entry.get('min', 0):,} to {entry.get('max', 0):,}")
    return None if re.search(rf"(?<!\d){re.escape(bounds)}(?!,?\d)", words) else f"no {bounds!r}"


def listed(entry: dict[str, Any]) -> str:
    return ", ".join(json.dumps(value) for value in entry["values"])


@pytest.mark.parametrize("name", NAMES)
def test_help_describes_every_key(name: str) -> None:
    """In the schema's order, with its types, values and bounds."""
    told, schema = described(WIDGETS[name]), load_schema(name)
    given = {"name", "*panels", "say", "steps", "control"} if name == "living_plot" else set()
    assert [key for key in told if key not in given] == list(schema)
    for key, entry in schema.items():
        assert untold(entry, *told[key]) is None, key


@pytest.mark.parametrize("stem", ["base", *NAMES])
def test_examples_of_the_docstrings_run(stem: str) -> None:
    done = doctest.testmod(import_module(f"mini_attn.widgets.{stem}"))
    assert done.attempted > 0
    assert done.failed == 0


def test_help_that_lacks_something_is_seen() -> None:
    step, head = load_schema("decode_stepper")["step"], load_schema("decode_stepper")["head"]
    assert untold(step, "int", "0 to 4: a step") is None
    assert untold(step, "float", "0 to 4") == "float for int"
    assert untold(step, "int", "0 to 40") == untold(step, "int", "10 to 4") == "no '0 to 4'"
    assert untold(head, "{1, 2, 3}", "") == "{1, 2, 3} for [1, 2]"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", 5),
        ("step", -1),
        ("step", "2"),
        ("step", True),
        ("step", 2.5),
        ("step", float("nan")),
        ("step", float("inf")),
        ("step", None),
        ("step", [2]),
        ("cached", 1),
        ("cached", "true"),
        ("cached", None),
        ("head", 3),
        ("head", True),
        ("head", "1"),
    ],
)
def test_refused_values_change_nothing(key: str, value: Any) -> None:
    stepper = DecodeStepper(step=3, cached=False, head=2)
    before = stepper.state
    with pytest.raises(WidgetStateError, match=rf"^{key} is .*, got "):
        setattr(stepper, key, value)
    assert stepper.state == before
    with pytest.raises(WidgetStateError):
        DecodeStepper(**{key: value})


def test_a_notebook_front_end_cannot_break_the_state() -> None:
    """A state that arrives from the browser goes through the same check."""
    stepper = DecodeStepper(step=3)
    stepper.set_state({"step": 1})
    with pytest.raises(WidgetStateError):
        stepper.set_state({"step": 99})
    assert stepper.step == 1


def test_unknown_names_are_refused() -> None:
    with pytest.raises(WidgetStateError, match="has step, cached, head, not steps"):
        DecodeStepper(steps=3)


class Page(HTMLParser):
    """The parts of a widget's HTML."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"] and not self.scripts:
            self.scripts.append(data)


def html_of(widget: Any) -> str:
    shown, _ = widget._repr_mimebundle_()
    return str(shown["text/html"])


def test_output_has_every_form() -> None:
    stepper = DecodeStepper(step=3)
    shown, _ = stepper._repr_mimebundle_()
    assert shown["text/plain"] == repr(stepper)
    assert shown["application/vnd.jupyter.widget-view+json"]["model_id"] == stepper.model_id
    assert shown["image/png"].startswith("iVBORw0KGgo")
    page = Page(shown["text/html"])
    assert json.loads(page.scripts[0]) == stepper.state
    assert "opens in another state" in shown["text/html"]
    assert "opens in another state" not in html_of(DecodeStepper(step=2))
    for part in ("svg", "figure", "figcaption"):
        assert part in page.tags


def test_ids_are_unique_on_a_page() -> None:
    markup = "".join(html_of(widget) for widget in (DecodeStepper(), DecodeStepper()))
    ids = Page(markup).ids
    assert len(ids) == len(set(ids)) == 4  # two views, two patterns
    for name in re.findall(r"url\(#([^)]+)\)", markup):
        assert name in ids


def test_state_cannot_end_its_script_element() -> None:
    attempt = "</script><b>x</b><!--"
    markup = html_of(Prediction("kv-cache/passes", attempt=attempt))
    page = Page(markup)
    assert page.tags.count("script") == 2  # its state, and its question
    assert attempt not in markup
    assert attempt in json.dumps(json.loads(page.scripts[0]))


def without(module: str, program: str) -> str:
    """What a program prints where a module is missing."""
    program = f"import sys\nsys.modules[{module!r}] = None\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


def test_without_anywidget_pictures_stand_still() -> None:
    """The state is checked and the picture shown as ever, and a calculator still settles."""
    program = """
import mini_attn.widgets as w
from mini_attn.errors import WidgetStateError
pictures = [getattr(w, name)() for name in w.__all__ if name not in ("LivingPlot", "Prediction")]
for one in [*pictures, w.Prediction("kv-cache/larger")]:
    data, _ = one._repr_mimebundle_()
    assert data.keys() >= {"text/plain", "text/html"} and "stands still" in data["text/html"], one
try:
    w.DecodeStepper(step=-1)
except WidgetStateError:
    print(w.CacheCalculator(model="gpt2").n_layers, len(pictures))
"""
    layers, count = without("anywidget", program).split()
    assert (layers, int(count) > 20) == ("12", True)


def test_missing_traitlets_are_named() -> None:
    """Without the extra and without Jupyter, a widget says what to install."""
    program = """
import mini_attn.widgets
import mini_attn.widgets.data
try:
    mini_attn.widgets.DecodeStepper
except ImportError as error:
    print(error)
"""
    assert "pip install 'mini_attn[widgets]'" in without("traitlets", program)
