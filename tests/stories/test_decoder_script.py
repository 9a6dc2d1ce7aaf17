"""The decoder in JavaScript against NumPy's: the third implementation, from the members' data."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    ExpertConfig,
    LatentConfig,
    PositionInterpolation,
    RopeConfig,
)
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.numpy.layers import heads as numpy_heads
from mini_attn.numpy.layers import latent as numpy_latent
from mini_attn.stories import WORDS, family, sample_rows
from mini_attn.stories.fetching import note
from mini_attn.stories.inside import attention_maps
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import save_safetensors
from mini_attn.widgets.model_data import model_data
from tests.javascript import run

SOURCES = [f"decoder/{name}.js" for name in ("weights", "forward", "sample")]
TOKENS = 45  # more than a member's window
HALF, PAIRS = RopeConfig("half", theta=500.0), RopeConfig("interleaved", rotary_dim=4)
# Every option that no member has, in layers that differ.
MIXED = DecoderConfig(
    vocab_size=23,
    n_layers=4,
    attention=(
        AttentionConfig(
            20, 6, 6, n_kv_heads=3, v_head_dim=5, bias=True, out_bias=False, qk_norm=True,
            softcap=3.0, window=7, sink_tokens=2, sinks=True, rope=PAIRS, eps=1e-3,
        ),
        LatentConfig(20, 3, 7, 4, 6, 5, rope=PAIRS, q_lora_rank=9, bias=True, sinks=True, eps=1e-3),
        AttentionConfig(20, 6, 4, n_kv_heads=1, alibi=True, scale=0.7, out_bias=True),
        LatentConfig(20, 2, 3, 2, 4, 3, rope=HALF, scale=0.4),
    ),
    d_ff=30,
    max_positions=TOKENS,
    mlp="gated",
    activation="silu",
    tie_embeddings=False,
    mlp_bias=True,
    eps=1e-2,
)  # fmt: skip
SMALL = AttentionConfig(8, 2, 4, window=3)
CONFIGS = {
    **{name: one.config(len(WORDS)) for name, one in MEMBERS.items() if one.on_pages},
    "mixed": MIXED,
    "gelu": DecoderConfig(
        23, 1, SMALL, 16, TOKENS, activation="gelu", positions="sinusoidal", mlp_bias=False
    ),
    "relu": DecoderConfig(23, 2, SMALL, 16, TOKENS, activation="relu", positions="none"),
}


def drawn(config: DecoderConfig) -> ma.Decoder:
    """A decoder in float32 whose every weight matters, biases and norms too."""
    model, rng = ma.Decoder(config), np.random.default_rng(5)
    for name, weight in model.state_dict().items():
        spread = 1.5 * weight.shape[-1] ** -0.5 if weight.ndim == 2 else 0.4
        weight[...] = name.endswith("norm.weight") + spread * rng.standard_normal(weight.shape)
    return model


def wide(model: ma.Decoder) -> ma.Decoder:
    """The same weights, computed with in float64 as JavaScript does."""
    found = ma.Decoder(model.config, dtype="float64")
    found.load_state_dict(model.state_dict())
    return found


def ids_of(config: DecoderConfig) -> np.ndarray:
    return np.random.default_rng(6).integers(0, config.vocab_size, TOKENS)


def factors_of(config: DecoderConfig) -> list[list[float]]:
    """What each head's part is multiplied by: one head off, one halved, in every layer."""
    return [[1.0] * (a.n_heads - 2) + [0.0, 0.5] for a in config.attentions]


FORWARD = """
return input.map(({ data, ids, heads }) => {
  const model = living.openModel(data);
  const full = living.forward(model, ids);
  const cache = living.newCache(model, ids.length);
  const chunks = [ids.slice(0, 9), ids.slice(9, 12)]
    .map((some) => living.forward(model, some, { cache }));
  const steps = ids.slice(12).map((id) => living.step(model, cache, id));
  return {
    ...full, cached: [...chunks, ...steps], length: cache.length,
    off: living.forward(model, ids, { heads }).logits,
    lens: full.streams.map((x) => living.logitsOf(model, x)),
  };
});
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the script computes of each decoder, rounded to eight bits."""
    given = [
        {
            "data": model_data(drawn(config)),
            "ids": ids_of(config).tolist(),
            "heads": factors_of(config),
        }
        for config in CONFIGS.values()
    ]
    return dict(zip(CONFIGS, run(FORWARD, given, sources=SOURCES), strict=True))


def decoder(name: str) -> ma.Decoder:
    """NumPy's decoder with the same rounded weights, in float32."""
    model = drawn(CONFIGS[name])
    model.load_state_dict(restored(rounded(model.state_dict())))
    return model


def close(got: Any, expected: np.ndarray, bound: float = 1e-10) -> None:
    array = np.array(got, np.float64).reshape(expected.shape)
    assert np.abs(array - expected).max() < bound


@pytest.fixture(params=CONFIGS)
def case(request: pytest.FixtureRequest, found: dict[str, Any]) -> tuple[ma.Decoder, Any, Any]:
    """NumPy's decoder, a row of tokens (1, seq), and what the script computes."""
    model = decoder(request.param)
    return model, ids_of(model.config)[None], found[request.param]


def test_logits_are_numpys(case):
    model, ids, got = case
    expected = wide(model)(ids)
    assert expected.std() > 0.5
    close(got["logits"], expected)
    close(got["logits"], model(ids), 2e-5)  # as Python's user sees them, in float32


def test_attention_maps_are_numpys(case, monkeypatch):
    model, ids, got = case
    seen = []
    for module in (numpy_heads, numpy_latent):
        attend = module.attend_in_full

        def noted(*given, attend=attend, **named):
            result = attend(*given, **named)
            seen.append(result.weights[0])
            return result

        monkeypatch.setattr(module, "attend_in_full", noted)
    wide(model)(ids)
    assert len(seen) == len(got["weights"]) == model.config.n_layers
    for expected, maps in zip(seen, got["weights"], strict=True):
        close(maps, expected)


@pytest.mark.parametrize("name", family.on_pages())
def test_the_maps_that_python_shows_are_the_pages(name):
    ids = sample_rows(1, 60, seed=6)
    body = "return living.forward(living.openModel(input.data), input.ids).weights;"
    pages = run(body, {"data": model_data(name), "ids": ids[0].tolist()}, sources=SOURCES)
    ours = attention_maps(family.load(name), ids)[:, 0]
    np.testing.assert_allclose(ours, np.reshape(pages, ours.shape), atol=2e-5)


def test_streams_are_what_each_part_adds(case):
    model, ids, got = case
    model = wide(model)
    streams = [np.array(x).reshape(1, ids.shape[1], -1) for x in got["streams"]]
    assert len(streams) == 2 * model.config.n_layers + 1
    for i, layer in enumerate(model.layers):
        before, between, after = streams[2 * i : 2 * i + 3]
        close(between, before + layer.self_attn(layer.input_layernorm(before)))
        close(after, layer(before))
    assert got["lens"][-1] == got["logits"]
    config = model.config
    head = model.embed_tokens.weight if config.tie_embeddings else model.lm_head.weight
    close(got["lens"][1], model.norm(streams[1]) @ head.T)


def test_steps_with_a_cache_are_the_full_pass(case):
    model, ids, got = case
    assert got["length"] == ids.size
    logits = np.concatenate([part["logits"] for part in got["cached"]])
    close(logits, np.array(got["logits"]), 1e-12)
    full = [np.array(maps).reshape(-1, ids.size, ids.size) for maps in got["weights"]]
    start = 0
    for part in got["cached"]:
        new = len(part["logits"]) // model.config.vocab_size
        for layer, maps in zip(full, part["weights"], strict=True):
            close(maps, layer[:, start : start + new, : start + new], 1e-12)
            assert not layer[:, start : start + new, start + new :].any()
        start += new


def test_a_switched_head_adds_what_its_number_says(case):
    model, ids, got = case
    model = wide(model)
    before = model(ids)
    for layer, numbers in zip(model.layers, factors_of(model.config), strict=True):
        weight = layer.self_attn.o_proj.weight
        weight *= np.repeat(numbers, weight.shape[1] // len(numbers))
    close(got["off"], model(ids))
    assert np.abs(model(ids) - before).max() > 0.1


def test_weights_in_float32_arrive_as_they_are():
    model = drawn(MIXED)
    opened = run(
        "const { config, ...weights } = living.openModel(input); return weights;",
        model_data(model, eight_bits=False),
        sources=SOURCES,
    )
    for name, weight in model.state_dict().items():
        place = opened
        for part in name.split("."):
            place = place[part]
        assert place == weight.ravel().tolist(), name


def test_rounded_weights_are_restored_bit_for_bit():
    model = drawn(CONFIGS["gqa"])
    opened = run("return living.openModel(input).layers[1];", model_data(model), sources=SOURCES)
    expected = restored(rounded(model.state_dict()))
    for name in ("self_attn.k_proj", "mlp.down_proj", "input_layernorm"):
        part, _, last = name.partition(".")
        got = opened[part][last]["weight"] if last else opened[part]["weight"]
        assert got == expected[f"layers.1.{name}.weight"].ravel().tolist()


def test_a_member_is_taken_as_its_file_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    with pytest.raises(ConfigError, match="mla has not been trained"):
        model_data("mla")
    weights = rounded(drawn(CONFIGS["mla"]).state_dict())
    save_safetensors(tmp_path / "mla.safetensors", weights)
    note(tmp_path, "mla.safetensors")
    data = model_data("mla")
    assert data["tensors"].keys() == weights.keys()
    entry = data["tensors"]["layers.0.self_attn.kv_b_proj.weight"]
    codes = weights["layers.0.self_attn.kv_b_proj.weight"]
    expected = {"shape": [128, 32], "dtype": "int8", "base64": b64encode(codes.tobytes()).decode()}
    assert entry == expected
    ids = [3, 1, 4]
    logits = run(
        "return living.forward(living.openModel(input.data), input.ids).logits;",
        {"data": data, "ids": ids},
        sources=SOURCES,
    )
    close(logits, wide(family.load("mla"))(np.array([ids])))


@pytest.mark.parametrize("name", family.on_pages())
def test_three_implementations_agree_on_each_shipped_member(name):
    """NumPy and PyTorch in float32, JavaScript in float64, on rows of a story and of repeats.

    ``pytest -rP`` shows how far they are apart.
    """
    rows = [sample_rows(1, 256, seed=4, kind=kind) for kind in ("stories", "repeats")]
    body = """const model = living.openModel(input.data);
      return input.rows.map((ids) => living.forward(model, ids).logits);"""
    given = {"data": model_data(name), "rows": [row[0].tolist() for row in rows]}
    script = np.array(run(body, given, sources=SOURCES)).reshape(2, 256, len(WORDS))
    numpy = np.concatenate([family.load(name)(row) for row in rows])
    model = family.load(name, backend="torch")
    with torch.no_grad():
        pytorch = np.concatenate([model(torch.from_numpy(row)).numpy() for row in rows])
    apart = {
        "numpy and script": np.abs(numpy - script).max(),
        "torch and script": np.abs(pytorch - script).max(),
        "numpy and torch": np.abs(numpy - pytorch).max(),
    }
    print(f"{name:13}", ", ".join(f"{key} {value:.1e}" for key, value in apart.items()))
    assert max(apart.values()) < 1e-4, apart


def test_the_data_of_a_torch_decoder_are_the_same():
    ours, theirs = drawn(MIXED), mt.Decoder(MIXED)
    theirs.load_state_dict({k: torch.tensor(w) for k, w in ours.state_dict().items()})
    assert model_data(theirs) == model_data(ours)


def test_what_javascript_cannot_run_is_refused():
    with pytest.raises(ConfigError, match="Decoder or a member's name, got 3"):
        model_data(3)
    with pytest.raises(ConfigError, match="unknown member 'mhaa'"):
        model_data("mhaa")
    rope = RopeConfig("half", scaling=PositionInterpolation(2.0))
    config = DecoderConfig(16, 1, AttentionConfig(8, 2, 4, rope=rope), 8, 8)
    with pytest.raises(ConfigError, match="without a rule for longer contexts"):
        model_data(ma.Decoder(config))
    slow = DecoderConfig(
        16, 1, AttentionConfig(8, 2, 4, rope=RopeConfig("half", rotated_pairs=1)), 8, 8
    )
    with pytest.raises(ConfigError, match="pages rotate all pairs, got"):
        model_data(ma.Decoder(slow))
    shared = DecoderConfig(16, 2, AttentionConfig(8, 2, 4), 8, 8, kv_sources=(0, 0))
    with pytest.raises(ConfigError, match=r"kv_sources = None, got \(0, 0\)"):
        model_data(ma.Decoder(shared))
    heads, alike = AttentionConfig(8, 2, 4), AttentionConfig(8, 2, 4, qk_norm_over="width")
    for attention, options, words in (
        (heads, {"norm_placement": "both"}, "norm_placement = 'before', got 'both'"),
        (heads, {"embed_scale": 2.0}, "embed_scale = None, got 2.0"),
        (heads, {"logit_softcap": 3.0}, "logit_softcap = None, got 3.0"),
        (alike, {}, "qk_norm_over = 'head', got 'width'"),
        (replace(heads, k_eq_v=True), {}, "k_eq_v = False, got True"),
        (replace(heads, v_norm=True), {}, "v_norm = False, got True"),
    ):
        with pytest.raises(ConfigError, match=words):
            model_data(ma.Decoder(DecoderConfig(16, 1, attention, 8, 8, **options)))
    model = drawn(CONFIGS["relu"])
    model.norm.weight[2] = np.nan
    for eight_bits in (True, False):
        with pytest.raises(DTypeError, match=r"norm\.weight must hold finite"):
            model_data(model, eight_bits=eight_bits)


# What is done to good data, and what the error says.
NUMBERS = 'data.tensors["norm.weight"].base64'
DAMAGED = [
    ("data = null", "its data have not been loaded"),
    ("delete data.config", "there is no config"),
    ("delete data.tensors", "it has no tensors"),
    ("delete data.config.eps", "config has no eps"),
    ("data.config.dropout = 0.1", "config has an unknown option dropout"),
    ('data.config.norm = "batch_norm"', 'norm is one of layer_norm, rms_norm, not "batch_norm"'),
    ("data.config.d_ff = 2.5", "d_ff is a whole number, not 2.5"),
    ("data.config.attentions.pop()", "2 layers need as many attentions"),
    ('attention.kind = "linear"', "attentions[1] is of a kind linear, not of heads or latent"),
    ("attention.d_model = 16", "attentions[1] is 16 wide, the decoder 64"),
    ("attention.n_kv_heads = 3", "attentions[1]: 4 heads cannot share 3 of keys and values"),
    ("attention.window = 0", "attentions[1]: window is 1 to"),
    ("attention.noise = 1", "attentions[1] has an unknown option noise"),
    ('attention.rope.layout = "third"', "attentions[1].rope: layout is one of half, interleaved"),
    ("attention.rope.scaling = {}", "attentions[1].rope has an unknown option scaling"),
    ("attention.rope.rotary_dim = 18", "attentions[1].rope turns pairs of at most 16 numbers"),
    ("attention.rope.rotary_dim = 3", "attentions[1].rope turns pairs of at most 16 numbers"),
    ('delete data.tensors["norm.weight"]', "norm.weight is missing"),
    (
        'delete data.tensors["layers.1.mlp.up_proj.weight.scale"]',
        "layers.1.mlp.up_proj.weight.scale is missing",
    ),
    (
        'data.tensors["layers.1.mlp.up_proj.weight"].shape.reverse()',
        "layers.1.mlp.up_proj.weight must have the shape (256, 64), not (64,256)",
    ),
    (
        'data.tensors["norm.weight"].dtype = "float16"',
        "norm.weight must be of float32 or int8, not of float16",
    ),
    (f"{NUMBERS} = {NUMBERS}.slice(8)", "norm.weight is damaged: it has 250 bytes instead of 256"),
    (f'{NUMBERS} = "!" + {NUMBERS}', "norm.weight is damaged: its numbers are no base64"),
    (f"{NUMBERS} = {json.dumps(b64encode(64 * struct.pack('<f', np.nan)).decode())}",
     "norm.weight is damaged: it holds what is no number"),
    ('data.tensors["lm_head.weight"] = {}', "it has no place for lm_head.weight"),
]  # fmt: skip
REFUSED = """
return input.wrong.map((change) => {
  const data = structuredClone(input.data);
  const attention = data.config.attentions[1];
  const changed = new Function("data", "attention", `${change}; return data;`)(data, attention);
  try {
    living.openModel(changed);
  } catch (error) { return error.message; }
  return "nothing";
});
"""


def test_damaged_data_says_what_is_wrong():
    data = {"data": model_data(drawn(CONFIGS["gqa"])), "wrong": [change for change, _ in DAMAGED]}
    told = run(REFUSED, data, sources=SOURCES)
    for (change, words), message in zip(DAMAGED, told, strict=True):
        assert message.startswith("this is no decoder that can be run here: "), (change, message)
        assert words in message, (change, message)


CALLS = [
    ("forward(model, [])", "ids must be a list of at least one token"),
    ("forward(model)", "ids must be a list of at least one token"),
    ("forward(model, [3, 23])", "a whole number from 0 to 22; the one at 1 is 23"),
    ("forward(model, [-1])", "a whole number from 0 to 22; the one at 0 is -1"),
    ("forward(model, [1.5])", "a whole number from 0 to 22; the one at 0 is 1.5"),
    ("forward(model, ['3'])", "a whole number from 0 to 22; the one at 0 is 3"),
    ("forward(model, Array(46).fill(1))", "this decoder has positions for 45 tokens, not for 46"),
    ("newCache(model, 0)", "a cache holds a whole number of tokens, at least 1, not 0"),
    ("forward(model, [1, 2, 3], { cache })", "the cache has room for 4 tokens, not for 5"),
    ("step(model, cache, 99)", "a whole number from 0 to 22; the one at 0 is 99"),
    (
        "forward(model, [1], { cache, heads: [[1], [1]] })",
        "heads must be a number for each head of each layer, 6 and 3 and 6 and 2 of them",
    ),
    (
        "forward(model, [1], { heads: [6, 3, 6, 2].map((n) => Array(n).fill(NaN)) })",
        "heads must be a number for each head of each layer",
    ),
    ("sample([0, 1], 0.5, { temperature: 0 })", "temperature must be a number above 0, not 0"),
    ("sample([0, 1], 0.5, { topK: 0 })", "topK must be a whole number of at least 1, not 0"),
    ("sample([0, 1], 0.5, { topP: 1.5 })", "topP must be a probability above 0, not 1.5"),
    ("sample([-Infinity], 0.5)", "logits must be numbers, or -Infinity for words"),
    ("sample([0, NaN], 0.5)", "logits must be numbers, or -Infinity for words"),
]  # fmt: skip


def test_wrong_input_is_refused_and_the_cache_stays():
    script = """
    const model = living.openModel(input.data);
    const cache = living.newCache(model, 4);
    living.forward(model, [1, 2], { cache });
    const before = JSON.stringify(cache);
    return input.calls.map((call) => {
      try {
        new Function("living", "model", "cache", `return living.${call}`)(living, model, cache);
      } catch (error) { return [error.message, JSON.stringify(cache) === before]; }
      return ["nothing", false];
    });
    """
    data = {"data": model_data(drawn(MIXED)), "calls": [call for call, _ in CALLS]}
    for (call, words), (message, same) in zip(
        CALLS, run(script, data, sources=SOURCES), strict=True
    ):
        assert words in message, (call, message)
        assert same, call


OPTIONS = [
    {},
    {"temperature": 0.3},
    {"temperature": 1e-300},
    {"top_k": 1},
    {"top_k": 4, "temperature": 2.0},
    {"top_p": 0.7},
    {"top_p": 1.0},
    {"top_k": 6, "top_p": 0.5, "temperature": 1.7},
    {"top_k": 400},
]


def test_a_draw_is_numpys():
    rng = np.random.default_rng(9)
    rows = rng.standard_normal((12, 9)) * 2
    rows[1] = np.round(rows[1])  # equal ones
    rows[2, 3:] = -1e6
    uniforms = [float(np.random.default_rng(seed).random()) for seed in range(len(rows))]
    script = """
    return input.options.map(({ top_k: topK = null, top_p: topP = null, temperature = 1 }) =>
      input.rows.map((row, i) => ({
        likely: living.probabilities(row, { topK, topP, temperature }),
        word: living.sample(Float64Array.from(row), input.uniforms[i], { topK, topP, temperature }),
      })));
    """
    data = {"rows": rows.tolist(), "uniforms": uniforms, "options": OPTIONS}
    words = set()
    for options, draws in zip(OPTIONS, run(script, data, sources=SOURCES), strict=True):
        for seed, (row, draw) in enumerate(zip(rows, draws, strict=True)):
            scores = ma.filter_logits(row[None], **options)[0]
            with np.errstate(over="ignore"):
                close(draw["likely"], ma.softmax(scores), 1e-12)
            generator = np.random.default_rng(seed)
            word = ma.sample_token(row[None], generator=generator, **options)[0]
            assert draw["word"] == word
            words.add(int(word))
    assert len(words) > 4


def test_chance_comes_from_a_seed():
    script = """
    const [one, same, other] = [1, 1, 2].map((seed) => {
      const next = living.chance(seed);
      return Array.from({ length: 4000 }, next);
    });
    return { one, same, other };
    """
    found = run(script, sources=SOURCES)
    assert found["one"] == found["same"] != found["other"]
    assert found["one"][0] == pytest.approx(0.62707394, abs=1e-8)  # mulberry32's own
    assert 0 <= min(found["one"]) < 0.01
    assert 0.99 < max(found["one"]) < 1
    assert abs(np.mean(found["one"]) - 0.5) < 0.02


def test_a_page_runs_no_experts():
    experts = ExpertConfig(4, 2, 6)
    config = DecoderConfig(16, 1, AttentionConfig(8, 2, 4), 8, 8, experts=experts)
    with pytest.raises(ConfigError, match="pages run decoders with experts = None, got"):
        model_data(ma.Decoder(config))
