"""The widgets' shared parts, and the stepper's arithmetic against the package."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import cost, example
from mini_attn.config import AttentionConfig
from mini_attn.errors import WidgetStateError
from mini_attn.models import ModelConfig
from mini_attn.widgets import CacheCalculator, DecodeStepper, Prediction
from mini_attn.widgets.base import STATIC, fault, load_schema
from tests.javascript import ROOT, built, bundler, run

JS = ROOT / "mini_attn/widgets/js"
NAMES = ("cache_calculator", "decode_stepper", "prediction")
PICTURES = ("cache_calculator", "decode_stepper")
STEPS = range(len(example.TOKENS) - example.PROMPT_LEN + 1)
STATES = [
    {"step": step, "cached": cached, "head": head}
    for step in STEPS
    for cached in (True, False)
    for head in (1, 2)
]

# ---------------------------------------------------------------- the stepper's arithmetic


def example_layer() -> Any:
    """The package's attention layer with the running example's weights."""
    config = AttentionConfig(example.D_MODEL, example.N_HEADS, example.HEAD_DIM)
    return layer_with(config, {name: np.array(w) for name, w in example.WEIGHTS.items()})


def layer_with(config: AttentionConfig, weights: dict[str, np.ndarray]) -> Any:
    layer = ma.MultiHeadAttention(config, dtype="float64")
    for name, matrix in weights.items():
        getattr(layer, f"{name}_proj").weight[...] = matrix.T  # stored (out, in)
    return layer


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state of the stepper."""
    return run("return input.map(living.registry.decode_stepper.compute);", STATES)


@pytest.mark.parametrize("number", range(len(STATES)))
def test_stepper_equals_the_numpy_layer(results: list[dict[str, Any]], number: int) -> None:
    """Queries, keys, values, scores, weights and outputs, in all states and both ways."""
    state, result = STATES[number], results[number]
    there, head = example.PROMPT_LEN + state["step"], state["head"] - 1
    layer, x = example_layer(), np.array(example.EMBEDDINGS)[None, :there]
    q, k, v = layer.project(x, x)
    out, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    scores = example.HEAD_DIM**-0.5 * q @ k.swapaxes(-1, -2)
    first = there - 1 if state["cached"] and state["step"] else 0
    for i, row in enumerate(result["rows"]):
        assert (row["k"] is None) == (row["v"] is None) == (i >= there)
        if i < there:
            np.testing.assert_allclose(row["k"], k[0, head, i], rtol=0, atol=1e-12)
            np.testing.assert_allclose(row["v"], v[0, head, i], rtol=0, atol=1e-12)
        if not first <= i < there:
            assert row["q"] is row["scores"] is row["weights"] is row["out"] is None
            continue
        np.testing.assert_allclose(row["q"], q[0, head, i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["scores"], scores[0, head, i, : i + 1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["weights"], weights[0, head, i, : i + 1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["out"], out[0, head, i], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["output"], layer(x)[0, -1], rtol=0, atol=1e-12)
    assert result["difference"] <= 1e-12


def test_stepper_calls_rows_what_they_are(results: list[dict[str, Any]]) -> None:
    kinds = {
        (state["step"], state["cached"]): "".join(row["kind"][0] for row in result["rows"])
        for state, result in zip(STATES, results, strict=True)
    }
    assert kinds[0, True] == kinds[0, False] == "nnnnllll"  # new, later
    assert kinds[2, True] == "kkkkknll"  # kept
    assert kinds[3, False] == "aaaaaanl"  # again


def example_model() -> ModelConfig:
    """The example's one attention layer, as the cost functions want it."""
    return ModelConfig(
        name="example",
        title="Example",
        source="the book",
        attention="mha",
        n_layers=1,
        d_model=example.D_MODEL,
        n_heads=example.N_HEADS,
        n_kv_heads=example.N_HEADS,
        head_dim=example.HEAD_DIM,
        d_ff=1,
        vocab_size=1,
        max_context=8,
    )


def step_costs(step: int, *, cached: bool) -> dict[str, int]:
    """Passes, FLOPs and bytes of one step of the attention layer, from `mini_attn.cost`."""
    model, there = example_model(), example.PROMPT_LEN + step
    rows = 1 if cached and step else there
    parts = cost.matmul_flops(model, q_len=rows, kv_len=there, causal="exact")
    weights = np.concatenate([np.array(w, "float32") for w in example.WEIGHTS.values()]).nbytes
    read = cost.step_bytes(model, kv_len=there, dtype_bytes=4)["cache read"]
    written = cost.cache_bytes(model, batch=1, context=rows, dtype_bytes=4)
    return {
        "passes": rows,
        "flops": sum(parts[p] for p in ("projections", "scores", "weighted sum", "output")),
        "bytes": weights + read + written,
    }


def test_stepper_counts_what_cost_counts(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        for way in ("cached", "plain"):
            each = [step_costs(s, cached=way == "cached") for s in range(state["step"] + 1)]
            assert result["now"][way] == each[-1]
            for key, total in result["total"][way].items():
                assert total == sum(one[key] for one in each), (state, way, key)
            passes = cost.token_passes(
                example.PROMPT_LEN, state["step"] + 1, cached=way == "cached"
            )
            assert result["total"][way]["passes"] == passes


def test_stepper_cache_bytes_are_those_of_a_real_cache(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        there = example.PROMPT_LEN + state["step"]
        cache = ma.KVCache(1, example.N_HEADS, example.HEAD_DIM, capacity=8)
        rows = np.zeros((1, example.N_HEADS, there, example.HEAD_DIM), dtype="float32")
        cache.append(rows, rows)
        assert result["cache_bytes"] == cache.used_bytes


@pytest.mark.parametrize(("n_heads", "head_dim", "count"), [(1, 1, 1), (2, 3, 7), (3, 5, 6)])
def test_attention_of_random_layers(
    rng: np.random.Generator, n_heads: int, head_dim: int, count: int
) -> None:
    """Any sizes, any weights, any cut into chunks: equal to NumPy, with and without a cache."""
    d_model = 4
    width = n_heads * head_dim
    shapes = dict.fromkeys("qkv", (d_model, width)) | {"o": (width, d_model)}
    weights = {name: 3 * rng.normal(size=shape) for name, shape in shapes.items()}
    x = rng.normal(size=(count, d_model))
    cuts = [0, *sorted({int(c) for c in rng.integers(1, count + 1, size=3)} | {count})]
    chunks = [x[a:b].tolist() for a, b in itertools.pairwise(cuts)]
    layer = {
        "n_heads": n_heads,
        "head_dim": head_dim,
        "weights": {name: w.tolist() for name, w in weights.items()},
    }
    body = """
      let cache = living.emptyCache(input.layer);
      return input.chunks.flatMap((chunk) => {
        const pass = living.attend(input.layer, chunk, cache);
        cache = pass.cache;
        return pass.outputs;
      });"""
    expected = layer_with(AttentionConfig(d_model, n_heads, head_dim), weights)(x[None])[0]
    for pieces in (chunks, [x.tolist()]):
        got = run(body, {"layer": layer, "chunks": pieces})
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_explanations_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    """The words behind a weight hold its terms; masked, kept and later parts say so."""
    body = """
      const { compute, explain } = living.registry.decode_stepper;
      return input.map(([state, id]) => explain(compute(state), id).text);"""
    state = {"step": 2, "cached": True, "head": 1}
    ids = ["w-5-4", "w-5-6", "w-1-0", "w-6-0", "q-0", "k-0", "k-7", "out-5"]
    said = dict(zip(ids, run(body, [[state, name] for name in ids]), strict=True))
    row = results[STATES.index(state)]["rows"][5]
    assert f"= {row['scores'][4] / 0.5:.2f}; times 0.5 = {row['scores'][4]:.2f}" in said["w-5-4"]
    assert f"weight {row['weights'][4]:.3f}" in said["w-5-4"]
    assert "masked" in said["w-5-6"]
    assert "does not need it again" in said["w-1-0"]
    assert "not there yet" in said["w-6-0"]
    assert "No later step asks for it" in said["q-0"]
    assert "read from the cache" in said["k-0"]
    assert "not there yet" in said["k-7"]
    assert "output of the head" in said["out-5"]


def test_sentence_and_table_of_every_state(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, table } = living.registry.decode_stepper;
      return input.map((state) => [describe(compute(state)), table(compute(state))]);"""
    for state, result, (sentence, table) in zip(STATES, results, run(body, STATES), strict=True):
        plain = result["total"]["plain"]
        assert f"{plain['passes']} without" in sentence
        assert ("read from the cache" in sentence) == (state["cached"] and state["step"] > 0)
        assert table["rows"][1][2] == f"{plain['flops']:,}"
        assert {len(row) for row in table["rows"]} == {len(table["head"])}


def test_picture_is_well_formed_at_every_width() -> None:
    """Every id that a reader can point at exists once; nothing is drawn outside the picture."""
    body = """
      const { compute, draw } = living.registry.decode_stepper;
      return input.flatMap((state) => [280, 328, 599, 600, 720, 880].map((width) =>
        [width, draw(compute(state), { width, uid: "u", live: true })]));"""
    for width, markup in run(body, STATES):
        root = ET.fromstring(markup)
        ids = [e.get("data-id") for e in root.iter() if e.get("data-id")]
        assert len(ids) == len(set(ids)) >= 8 * 3 + 64
        assert [e.get("tabindex") for e in root.iter()].count("0") == 1
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            right = float(rect.get("x")) + float(rect.get("width"))
            assert 0 <= float(rect.get("x")) < right <= width + 0.5


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
    assert len(errors) > 60
    for state, error in zip(states, errors, strict=True):
        refused = any(k not in schema or fault(schema[k], v) for k, v in state.items())
        assert refused == (error is not None), state
        assert error is None or len(error) < 1000
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
    assert got[0][0] == "#decode_stepper:step=0"


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


@pytest.mark.parametrize(
    "file",
    ["living.page.js", "living.jupyter.js", "living.css", *(f"{name}.svg" for name in PICTURES)],
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


@pytest.mark.parametrize("name", PICTURES)
def test_png_shows_the_committed_svg(name: str) -> None:
    """The PNG names the digest of the SVG that it was drawn from, and has twice its size."""
    svg = (STATIC / f"{name}.svg").read_bytes()
    chunks = png_chunks((STATIC / f"{name}.png").read_bytes())
    digest = hashlib.sha256(svg).hexdigest()
    assert chunks["tEXt"] == f"Source\0sha256:{digest}".encode(), "run make bundle"
    root = ET.fromstring(svg)
    size = tuple(2 * float(root.get(key)) for key in ("width", "height"))
    assert struct.unpack(">II", chunks["IHDR"][:8]) == size


def test_static_folder_holds_nothing_else() -> None:
    expected = {"living.page.js", "living.jupyter.js", "living.css"}
    expected |= {f"{name}.{kind}" for name in PICTURES for kind in ("svg", "png")}
    assert {path.name for path in STATIC.iterdir()} == expected


def test_page_bundle_is_small_and_classic() -> None:
    source = (STATIC / "living.page.js").read_bytes()
    assert len(gzip.compress(source, 9)) < 60_000
    assert not re.search(rb"\b(import|export)\b[ {*]|\bimport\(", source)
    for word in (b"fetch(", b"XMLHttpRequest", b"eval(", b"new Function", b"document.write"):
        assert word not in source
    addresses = set(re.findall(rb"https?://[^\s\"'`)]+", source))
    assert addresses <= {b"http://www.w3.org/2000/svg"}


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
    assert source.count("milliseconds:1400") == 1
    changed = tmp_path / "living.page.js"
    changed.write_text(source.replace("milliseconds:1400", "milliseconds:1401"))
    assert changed.read_bytes() != (STATIC / "living.page.js").read_bytes()


def test_generated_data_is_fresh() -> None:
    """What JavaScript knows of the package is what the package says now."""
    for name, data in bundler().data.generate().items():
        assert json.loads((JS / "data" / name).read_text()) == json.loads(json.dumps(data)), name


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
    for widget in (DecodeStepper(), CacheCalculator(), Prediction("kv-cache/passes")):
        synced = widget.get_state()
        schema = load_schema(widget._widget)
        assert {key: synced[key] for key in schema} == widget.state
        assert list(widget.state) == list(schema)


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
    data, _ = widget._repr_mimebundle_()
    return str(data["text/html"])


def test_output_has_every_form() -> None:
    stepper = DecodeStepper(step=3)
    data, _ = stepper._repr_mimebundle_()
    assert data["text/plain"] == repr(stepper)
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == stepper.model_id
    assert data["image/png"].startswith("iVBORw0KGgo")
    page = Page(data["text/html"])
    assert json.loads(page.scripts[0]) == stepper.state
    assert "opens in another state" in data["text/html"]
    assert "opens in another state" not in html_of(DecodeStepper())
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
    assert page.tags.count("script") == 1
    assert attempt not in markup
    assert attempt in json.dumps(json.loads(page.scripts[0]))


def test_missing_anywidget_is_named() -> None:
    """Without the extra, data and questions import; a widget says what to install."""
    program = """
import sys
sys.modules["anywidget"] = None
import mini_attn.widgets
import mini_attn.widgets.data
try:
    mini_attn.widgets.DecodeStepper
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "pip install 'mini_attn[widgets]'" in done.stdout
