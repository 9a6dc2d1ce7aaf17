"""Checkpoints that are broken or made to harm: one of our errors, with the file's name."""

from __future__ import annotations

import json
import re
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError
from mini_attn.weights import (
    config_from_hf,
    from_deepseek,
    from_gpt2,
    from_hf,
    from_llama,
    load_npz,
    load_safetensors,
    read_checkpoint,
    read_metadata,
    save_npz,
    save_safetensors,
)

SIZES = {
    "vocab_size": 13, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 12, "max_position_embeddings": 32,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.5, "beta_fast": 32,
        "beta_slow": 1, "original_max_position_embeddings": 8, "truncate": True}  # fmt: skip
LONG = {"type": "longrope", "short_factor": [1.0, 2.0], "long_factor": [2.0, 3.0]}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8}  # fmt: skip
DESCRIBED = {
    "llama": {"model_type": "llama", **SIZES, "rope_scaling": LLAMA3, "rope_theta": 1e4,
              "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False,
              "hidden_act": "silu", "rms_norm_eps": 1e-6, "head_dim": 4},
    "mistral": {"model_type": "mistral", **SIZES, "sliding_window": 4,
                "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    "qwen3": {"model_type": "qwen3", **SIZES, "head_dim": 8, "use_sliding_window": True,
              "max_window_layers": 1, "sliding_window": 3,
              "layer_types": ["full_attention", "sliding_attention"],
              "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
    "phi3": {"model_type": "phi3", **SIZES, "original_max_position_embeddings": 8,
             "head_dim": 8, "partial_rotary_factor": 0.5,
             "rope_scaling": LONG},
    "gemma2": {"model_type": "gemma2", **SIZES, "head_dim": 4, "query_pre_attn_scalar": 5,
               "sliding_window": 3, "final_logit_softcapping": 3.0, "attention_bias": False,
               "attn_logit_softcapping": 2.0, "use_bidirectional_attention": False,
               "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3_text": {"model_type": "gemma3_text", **SIZES, "head_dim": 4, "sliding_window": 3,
                    "sliding_window_pattern": 2, "rope_local_base_freq": 1e3, "rope_theta": 1e4,
                    "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
    "olmo2": {"model_type": "olmo2", **SIZES, "rope_theta": 5e5, "rms_norm_eps": 1e-6},
    "olmo3": {"model_type": "olmo3", **SIZES, "sliding_window": 3, "rope_theta": 5e5,
              "layer_types": ["full_attention", "sliding_attention"], "rope_scaling": YARN},
    "smollm3": {"model_type": "smollm3", **SIZES, "no_rope_layers": [1, 0], "mlp_bias": False,
                "no_rope_layer_interval": 4, "sliding_window": 3, "use_sliding_window": True},
    "gpt2": {"model_type": "gpt2", "vocab_size": 13, "n_layer": 2, "n_embd": 8, "n_head": 2,
             "n_positions": 9, "n_inner": 12, "activation_function": "gelu_new",
             "layer_norm_epsilon": 1e-5, "scale_attn_weights": True,
             "scale_attn_by_inverse_layer_idx": True, "add_cross_attention": False},
    "deepseek_v3": {"model_type": "deepseek_v3", **SIZES, "kv_lora_rank": 4, "q_lora_rank": 3,
                    "qk_nope_head_dim": 2, "qk_rope_head_dim": 4, "v_head_dim": 3,
                    "first_k_dense_replace": 2, "rope_scaling": YARN, "rope_interleave": True},
    "qwen3_moe": {"model_type": "qwen3_moe", **SIZES, "num_experts": 2, "num_experts_per_tok": 1,
                  "moe_intermediate_size": 3, "norm_topk_prob": True, "decoder_sparse_step": 1,
                  "mlp_only_layers": [0], "use_sliding_window": True, "sliding_window": 3},
    "minimax_m2": {"model_type": "minimax_m2", **SIZES, "num_local_experts": 2, "head_dim": 4,
                   "num_experts_per_tok": 1, "rotary_dim": 2, "attn_type_list": [1, 1],
                   "scoring_func": "sigmoid", "use_routing_bias": True, "num_mtp_modules": 1},
    "gpt_oss": {"model_type": "gpt_oss", **SIZES, "num_local_experts": 2, "num_experts_per_tok": 1,
                "head_dim": 4, "layer_types": ["full_attention", "sliding_attention"],
                "swiglu_limit": 7.0, "swiglu_alpha": 1.7, "attention_bias": True},
}  # fmt: skip
EXTRA = ["quantization_config", "rope_parameters", "sliding_window", "layer_types", "head_dim"]


def gpt2_state(config):
    """GPT-2's names and shapes."""
    width = config.d_model
    shapes = {"wte.weight": (config.vocab_size, width), "wpe.weight": (config.max_positions, width)}
    for layer in range(config.n_layers):
        parts = {"ln_1": (width,), "ln_2": (width,), "attn.c_attn": (width, 3 * width),
                 "attn.c_proj": (width, width), "mlp.c_fc": (width, config.d_ff),
                 "mlp.c_proj": (config.d_ff, width)}  # fmt: skip
        for name, shape in parts.items():
            shapes[f"h.{layer}.{name}.weight"] = shape
            shapes[f"h.{layer}.{name}.bias"] = shape[-1:]
    shapes |= {"ln_f.weight": (width,), "ln_f.bias": (width,)}
    return {name: np.ones(shape, "float32") for name, shape in shapes.items()}


def as_stored(weights, place, n_experts, apart):
    """One layer's experts as files hold them, each by itself or all together."""
    inside = {n.removeprefix(place): w for n, w in weights.items() if n.startswith(place)}
    rest = {n: w for n, w in weights.items() if not n.startswith(place)}
    rest[f"{place}{'gate' if apart else 'router'}.weight"] = inside["router.weight"]
    if apart:
        each = {
            f"{place}experts.{e}.{part}.weight": inside[part][e]
            for part in ("gate_proj", "up_proj", "down_proj")
            for e in range(n_experts)
        }
        if "router.bias" in inside:
            each[f"{place}e_score_correction_bias"] = inside["router.bias"]
        return rest | each
    pairs = np.stack([inside["gate_proj"], inside["up_proj"]], axis=-1).swapaxes(1, 2)
    biases = np.stack([inside["gate_proj_bias"], inside["up_proj_bias"]], axis=-1)
    return rest | {
        f"{place}router.bias": inside["router.bias"],
        f"{place}experts.gate_up_proj": pairs.reshape(*pairs.shape[:2], -1),
        f"{place}experts.gate_up_proj_bias": biases.reshape(n_experts, -1),
        f"{place}experts.down_proj": inside["down_proj"].swapaxes(1, 2),
        f"{place}experts.down_proj_bias": inside["down_proj_bias"],
    }


def state_of(described):
    config = config_from_hf(described)
    if described["model_type"] == "gpt2":
        return gpt2_state(config)
    weights = ma.Decoder(config).state_dict()
    for layer, experts in enumerate(config.layer_experts):
        if experts is not None:
            apart = described["model_type"] != "gpt_oss"
            weights = as_stored(weights, f"layers.{layer}.mlp.", experts.n_experts, apart)
    return {n if n.startswith("lm_head") else f"model.{n}": w for n, w in weights.items()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One whole checkpoint of each family."""
    made = {}
    for name, described in DESCRIBED.items():
        made[name] = tmp_path_factory.mktemp(name)
        (made[name] / "config.json").write_text(json.dumps(described))
        save_safetensors(made[name] / "model.safetensors", state_of(described))
    return made


def answer(folder, backend="numpy"):
    """The checkpoint, or the error, which must be ours and name a file."""
    try:
        config, weights = read_checkpoint(folder, backend=backend)
    except MiniAttnError as error:
        fault = str(error)
    else:
        fault = None
    if fault is not None:
        assert re.search(r"config\.json|model.*\.safetensors", fault), fault
        assert len(fault) < 1500
        return fault
    assert isinstance(config, DecoderConfig)
    assert isinstance(weights, dict)
    return None


def test_the_whole_checkpoints_are_read(folders, lib):
    for name, folder in folders.items():
        assert answer(folder, lib.name) is None, name
        config, weights = read_checkpoint(folder, backend=lib.name)
        lib.Decoder(config).load_state_dict(weights)


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 70)
    | st.sampled_from([2**31, -(2**63), 2**64, 10**18, 10**400, 0.0, -1.5, 1e308, 5e-324])
    | st.sampled_from([float("nan"), float("inf"), "", "4", "false", "None", "\x00", "é" * 99])
    | st.floats(-10, 10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["factor", "type", "rope_type", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    name=st.sampled_from(sorted(DESCRIBED)),
    data=st.data(),
    backend=st.sampled_from(["numpy", "torch"]),
)
@settings(max_examples=400)
def test_no_configuration_escapes(folders, name, data, backend):
    described = json.loads(json.dumps(DESCRIBED[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        inside = described.get("rope_scaling")
        places = [described, inside] if isinstance(inside, dict) else [described]
        place = data.draw(st.sampled_from(places))
        key = data.draw(st.sampled_from([*sorted(place), *EXTRA]))
        if data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
        else:
            place.pop(key, None)
    (folders[name] / "config.json").write_text(json.dumps(described))
    try:
        answer(folders[name], backend)
    finally:
        (folders[name] / "config.json").write_text(json.dumps(DESCRIBED[name]))


@given(text=st.binary(max_size=60) | JUNK.map(lambda junk: json.dumps(junk).encode()))
@settings(max_examples=60)
def test_no_text_escapes(folders, text):
    folder = folders["llama"]
    for file in ("config.json", "model.safetensors.index.json"):
        before = (folder / file).read_bytes() if (folder / file).exists() else None
        hidden = (folder / "model.safetensors").rename(folder / "hidden")
        (folder / file).write_bytes(text)
        try:
            assert answer(folder) is not None
        finally:
            hidden.rename(folder / "model.safetensors")
            (folder / file).unlink() if before is None else (folder / file).write_bytes(before)


def packed(header, weights):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + weights


NUMBER = st.integers(-9, 70) | st.sampled_from([2**31, 2**63, 2**64, 10**30, -(2**64), 1.0, True])


@given(data=st.data(), name=st.sampled_from(["llama", "gpt2", "phi3", "qwen3_moe"]),
       backend=st.sampled_from(["numpy", "torch"]))  # fmt: skip
@settings(max_examples=300)
def test_no_header_escapes(folders, data, name, backend):
    path = folders[name] / "model.safetensors"
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:start])
    for _ in range(data.draw(st.integers(1, 2))):
        key = data.draw(st.sampled_from(sorted(header)))
        told = header[key] if isinstance(header[key], dict) else {}
        kind = data.draw(
            st.sampled_from(["drop", "junk", "dtype", "shape", "span", "swap", "name"])
        )
        if kind == "drop":
            del header[key]
        elif kind == "junk":
            header[key] = data.draw(JUNK)
        elif kind == "dtype":
            told["dtype"] = data.draw(st.sampled_from(["F32", "I8", "F8_E4M3", "C64", "F4"]) | JUNK)
        elif kind == "shape":
            told["shape"] = data.draw(st.lists(NUMBER, max_size=4) | JUNK)
        elif kind == "span":
            told["data_offsets"] = data.draw(st.lists(NUMBER, max_size=3) | JUNK)
        elif kind == "swap" and isinstance(told.get("shape"), list):
            told["shape"] = told["shape"][::-1]
        elif kind == "name":
            new = data.draw(st.sampled_from([
                "model.layers.x.w", "model.layers..w", "__metadata__", "a.qweight", "", "\ud800",
                "model.layers.99999999999999999999999.w", "model.layers.²."]))  # fmt: skip
            header[new] = header.pop(key)
    path.write_bytes(packed(header, whole[start:]))
    try:
        answer(folders[name], backend)
    finally:
        path.write_bytes(whole)


@given(data=st.data(), backend=st.sampled_from(["numpy", "torch"]))
@settings(max_examples=150)
def test_no_bytes_escape(folders, data, backend):
    path = folders["mistral"] / "model.safetensors"
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    broken = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if broken:
            place = data.draw(st.integers(0, min(len(broken), start) - 1))
            broken[place] = data.draw(st.integers(0, 255))
    path.write_bytes(broken)
    try:
        answer(folders["mistral"], backend)
    finally:
        path.write_bytes(whole)


@given(data=st.data())
@settings(max_examples=150)
def test_no_archive_escapes(folders, data):
    path = folders["llama"] / "small.npz"
    save_npz(path, {"a": np.ones((2, 3)), "b": np.ones(1, "int8")})
    broken = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(broken[: data.draw(st.just(len(broken)) | st.integers(0, len(broken)))])
    try:
        loaded = load_npz(path)
    except ConfigError as error:
        loaded = str(error)
    assert isinstance(loaded, dict) or "small.npz is no npz file" in loaded


# --- what each fault is called ---


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HEADERS = {
    "overlap": {"a": entry([2], 0, 8), "b": entry([2], 4, 12)},
    "leave a hole": {"a": entry([1], 0, 4), "b": entry([1], 8, 12)},
    "the header and a leave a hole": {"a": entry([2], 4, 12)},
    "has 12 bytes of weights, its header says 8": {"a": entry([2], 0, 8)},
    "its header says 16: was it cut": {"a": entry([4], 0, 16)},
    "data_offsets of a must be a begin and an end, got \\[-4, 8\\]": {"a": entry([3], -4, 8)},
    "data_offsets of a must be": {"a": entry([3], 12, 0)},
    "data_offsets of a must be a begin": {"a": entry([3], True, 12)},
    "a has no shape that an array can have: \\[-3\\]": {"a": entry([-3], 0, 12)},
    "a has no shape that an array can have: \\[3.0\\]": {"a": entry([3.0], 0, 12)},
    "a has no shape that": {"a": entry([2**62, 2**62], 0, 12)},
    "a has no shape that an": {"a": entry([1] * 65, 0, 12)},
    "a has no shape that an array": {"a": entry("3", 0, 12)},
    "gives a 12 bytes": {"a": entry([4], 0, 12)},
    "gives a 12 bytes: .*I64": {"a": entry([3], 0, 12, "I64")},
    "gives a 12 bytes: .*F8_E4M3": {"a": entry([3], 0, 12, "F8_E4M3")},
    "a has no data type": {"a": entry([3], 0, 12, 3)},
    "a has no data type: \\[\\]": {"a": []},
    "__metadata__ must map text to text": {"__metadata__": {"a": 1}, "a": entry([3], 0, 12)},
    "__metadata__ must map text": {"__metadata__": [], "a": entry([3], 0, 12)},
    "must hold a JSON object, got 3": b"3",
    "names 'a' twice": b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},'
                       b'"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}',
    "names 'shape' twice": b'{"a":{"dtype":"F32","shape":[3],"shape":[3],"data_offsets":[0,12]}}',
    "no header in it": b"[" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("words", HEADERS)
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_headers_that_lie_are_refused(tmp_path, words, backend):
    path = tmp_path / "made.safetensors"
    path.write_bytes(packed(HEADERS[words], bytes(12)))
    for call in (lambda: load_safetensors(path, backend=backend), lambda: read_metadata(path)):
        with pytest.raises(ConfigError, match=words) as caught:
            call()
        assert "made.safetensors" in str(caught.value)


def test_weights_without_numbers_lie_anywhere(tmp_path):
    header = {"none": entry([0, 3], 0, 0), "b": entry([2], 0, 8), "last": entry([0], 8, 8)}
    (tmp_path / "a").write_bytes(packed(header, bytes(8)))
    found = load_safetensors(tmp_path / "a")
    assert {name: array.shape for name, array in found.items()} == {
        "none": (0, 3), "b": (2,), "last": (0,)}  # fmt: skip
    header["none"]["shape"] = [0, 2**62, 2**62]
    (tmp_path / "a").write_bytes(packed(header, bytes(8)))
    with pytest.raises(ConfigError, match="a: no array can be none"):
        load_safetensors(tmp_path / "a")


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**40, 100_000_001, 41])
def test_an_absurd_header_costs_nothing(tmp_path, length):
    path = tmp_path / "a.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + bytes(40))
    tracemalloc.start()
    try:
        with pytest.raises(
            ConfigError, match=rf"a\.safetensors .*no header.* {length} of 48 bytes"
        ):
            load_safetensors(path)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


OUTSIDE = ["../x.safetensors", "/etc/passwd", "a/b", "..", ".", "", "C:\\x", "..\\x", 3, None]


@pytest.mark.parametrize("part", OUTSIDE)
def test_an_index_cannot_lead_out_of_its_folder(tmp_path, part):
    save_safetensors(tmp_path / "x.safetensors", {"w": np.ones(2)})
    (tmp_path / "in").mkdir()
    index = tmp_path / "in" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": part}}))
    with pytest.raises(ConfigError, match=r"model\.safetensors\.index\.json: w .*beside it, got"):
        load_safetensors(index)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ({"weight_map": {"w": "none.safetensors"}}, "lists 'none.safetensors', which is not there"),
        ({"weight_map": {"w": "in"}}, "lists 'in', which is not there"),
        ({"weight_map": {"w": "a" * 5000}}, "which is not there"),
        ({"weight_map": {"w": "\x00"}}, "which is not there"),
        ({"weight_map": {"w": "one", "v": "one"}}, r"one lacks what .* says it has: \['v'\]"),
        ({"weight_map": {"w": "one", "x": "two"}}, r"two has .* before it has too: \['w'\]"),
        ({"weight_map": {}}, "has no weight_map"),
        ({"weight_map": ["one"]}, "has no weight_map"),
        ({}, "has no weight_map"),
    ],
)  # fmt: skip
def test_an_index_that_lies_is_refused(tmp_path, listed, words):
    (tmp_path / "in").mkdir()
    save_safetensors(tmp_path / "one", {"w": np.ones(2)})
    save_safetensors(tmp_path / "two", {"w": np.ones(2), "x": np.ones(1)})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps(listed))
    with pytest.raises(ConfigError, match=words) as caught:
        load_safetensors(index)
    assert re.search(r"index\.json|one|two", str(caught.value))
    index.write_text('{"weight_map": {"w": "one", "w": "two"}}')
    with pytest.raises(ConfigError, match=r"index\.json names 'w' twice"):
        load_safetensors(index)


LLAMA = DESCRIBED["llama"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vocab_size": "13"}, "vocab_size must be a whole number, got '13'"),
        ({"vocab_size": 13.0}, "vocab_size must be a whole number, got 13.0"),
        ({"vocab_size": 2**70}, "vocab_size is larger than any array"),
        ({"hidden_size": None}, "configuration of llama has no 'hidden_size'"),
        ({"hidden_size": 1, "head_dim": None}, "num_attention_heads must be at least 1, got 0"),
        ({"num_hidden_layers": 10**12}, "1000000000000 layers are more than any model has"),
        ({"tie_word_embeddings": "false"}, "_embeddings must be True or False, got 'false'"),
        ({"attention_bias": 1}, "attention_bias must be True or False, got 1"),
        ({"hidden_act": ["silu"]}, r"hidden_act: activation must be one of .*, got \['silu'\]"),
        ({"rope_theta": "1e4"}, "rope_theta must be a finite number, got '1e4'"),
        ({"rope_scaling": [1]}, r"rope_scaling must map names to values, got \[1\]"),
        ({"rope_scaling": {**YARN, "factor": 0.1}}, "factor must be .* at least 1, got 0.1"),
        ({"rope_scaling": {**YARN, "mscale": "x"}}, "mscale must be a finite number, got 'x'"),
        ({"rope_scaling": {**YARN, "mscale_all_dim": -1}}, "mscale_all_dim must be a positive"),
        ({"rope_scaling": {**LONG, "short_factor": 1, "factor": 2}}, "short_factor must be"),
        ({"rope_scaling": {**LONG, "original_max_position_embeddings": 1}}, "at least 2, got 1"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}},
         "quantized .*method 'gptq'.*convert"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantized .*'bitsandbytes'"),
        ({"quantization_config": "awq"}, "quantized .*'awq'"),
        ({"model_type": "qwen2_moe"}, "got 'qwen2_moe': its decoder needs layers with experts"),
        ({"model_type": "whatever"}, "got 'whatever': how its layers are made is not known"),
        ({"model_type": ["llama"]}, r"model_type must be one of deepseek_v2, .*, got \['llama'\]"),
        ({"model_type": None}, "got None: the file does not say what it describes"),
    ],
)  # fmt: skip
def test_a_configuration_is_told_what_is_wrong_with_it(folders, tmp_path, changes, words):
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, **changes}))
    with pytest.raises(ConfigError, match=rf"^config\.json: .*{words}"):
        read_checkpoint(tmp_path)


def test_layers_of_another_kind_are_refused():
    for kinds, words in ((["linear_attention"] * 2, "layer_types has 'linear_attention'"),
                         (["full_attention"], "layer_types must list 2 layers or more"),
                         ("full", "layer_types must list 2 layers"),
                         ([[]] * 2, r"layer_types has \[\]")):  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            config_from_hf({**DESCRIBED["qwen3"], "layer_types": kinds})


def test_what_is_no_configuration_and_no_folder(folders):
    for call in (config_from_hf, lambda described: from_hf({}, described)):
        for other in (None, [], "llama", 3):
            with pytest.raises(ConfigError, match="the configuration must map names to values"):
                call(other)
    for other in (None, 3, b"folder", ["folder"]):
        with pytest.raises(ConfigError, match="folder must be a path, got"):
            read_checkpoint(other)
    with pytest.raises(ConfigError, match=r"has no config\.json"):
        read_checkpoint("a\x00b")
    with pytest.raises(ConfigError, match="backend must be one of numpy, torch, got 'jax'"):
        read_checkpoint(folders["llama"], backend="jax")
    for wrong in ("2", 1.5, True, [1]):
        with pytest.raises(ConfigError, match="n_layers must be a whole number"):
            read_checkpoint(folders["llama"], n_layers=wrong)


def test_deep_and_long_texts(folders, tmp_path):
    for text, words in (("[" * 200_000, "no JSON text"), ('{"a":' * 99_999, "no JSON text"),
                        ("9" * 10_000, "no JSON text|JSON object"), ("\xff\xfe", "no JSON text"),
                        ("", "no JSON text")):  # fmt: skip
        (tmp_path / "config.json").write_text(text, encoding="latin-1")
        with pytest.raises(ConfigError, match=rf"config\.json.*({words})"):
            read_checkpoint(tmp_path)
    with open(tmp_path / "config.json", "wb") as file:
        file.truncate(100_000_001)  # a hole: it takes no room on the disk
    with pytest.raises(ConfigError, match=r"config\.json has 100000001 bytes, more than"):
        read_checkpoint(tmp_path)


CODES = {
    "GPTQ": {"model.layers.0.mlp.up_proj.qweight": np.ones((1, 12), "int32")},
    "AWQ": {"model.layers.0.mlp.up_proj.qzeros": np.ones((1, 2), "int32")},
    "bitsandbytes, 4 bits": {"model.layers.0.mlp.up_proj.weight": np.ones((48, 1), "uint8")},
    "bitsandbytes, its maps": {"model.layers.0.mlp.up_proj.weight.quant_map": np.ones(16, "f4")},
    "bitsandbytes, 8 bits": {"model.layers.0.mlp.up_proj.SCB": np.ones(12, "f4")},
    "compressed": {"model.layers.0.mlp.up_proj.weight_packed": np.ones((12, 1), "int32")},
    "int8": {"model.layers.0.mlp.up_proj.weight": np.ones((12, 8), "int8")},
    "fp8 scales": {"model.layers.0.mlp.up_proj.weight_scale_inv": np.ones((1, 1), "f4")},
}


@pytest.mark.parametrize("case", CODES)
def test_codes_are_called_quantised(folders, tmp_path, lib, case):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    save_safetensors(tmp_path / "model.safetensors", CODES[case])
    with pytest.raises(ConfigError, match=r"^model\.safetensors: .*up_proj.*quantized"):
        read_checkpoint(tmp_path, backend=lib.name)


def test_small_floats_are_called_quantised(folders, tmp_path):
    from safetensors.torch import save_file

    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    weight = torch.ones(12, 8).to(torch.float8_e4m3fn)
    save_file({"model.layers.0.mlp.up_proj.weight": weight}, tmp_path / "model.safetensors")
    with pytest.raises(DTypeError, match=r"model\.safetensors: .*F8_E4M3, .*quantized"):
        read_checkpoint(tmp_path)
    with pytest.raises(ConfigError, match=r"up_proj\.weight \(float8_e4m3fn\).*quantized"):
        read_checkpoint(tmp_path, backend="torch")


def test_weights_of_other_shapes_are_refused(lib):
    state = {n: lib.array(w) for n, w in gpt2_state(config_from_hf(DESCRIBED["gpt2"])).items()}
    config = config_from_hf(DESCRIBED["gpt2"])
    for name, shape, words in (
        ("h.0.attn.c_attn.weight", (8, 30), r"2 axes, the last of size 24, got shape \(8, 30\)"),
        ("h.0.attn.c_attn.weight", (8,), "must have 2 axes"),
        ("h.1.attn.c_attn.bias", (), "must have 1 axes"),
        ("h.1.mlp.c_fc.weight", (2, 3, 4), "must have 2 axes, got shape"),
    ):
        with pytest.raises(ShapeError, match=f"{name} {words}" if "must" in words else words):
            from_gpt2({**state, name: lib.array(np.ones(shape))}, config)
    rope = RopeConfig("interleaved")
    gated = {"mlp": "gated", "norm": "rms_norm", "positions": "none"}
    heads = DecoderConfig(
        13, 1, AttentionConfig(8, 2, 4, rope=rope), d_ff=6, max_positions=9, **gated
    )
    few = lib.array(np.ones((3, 8)))
    with pytest.raises(ShapeError, match=r"q_proj\.weight must have 8 rows, got shape \(3, 8\)"):
        from_llama({"layers.0.self_attn.q_proj.weight": few}, heads)
    with pytest.raises(ShapeError, match=r"gate_up_proj\.weight must have 12 rows, got \(3, 8\)"):
        from_llama({"layers.0.mlp.gate_up_proj.weight": few}, heads)
    latent = LatentConfig(8, 2, 4, 2, 4, 3, rope=RopeConfig("half"))
    latent = DecoderConfig(13, 1, latent, d_ff=6, max_positions=9, **gated)
    with pytest.raises(ShapeError, match=r"kv_a_proj_with_mqa\.weight must have 8 rows"):
        from_deepseek({"layers.0.self_attn.kv_a_proj_with_mqa.weight": few}, latent)
    for load, config in ((from_llama, heads), (from_deepseek, latent)):
        with pytest.raises(ConfigError, match=r"layout must be one of .*, got 'neox'"):
            load({}, config, layout="neox")
