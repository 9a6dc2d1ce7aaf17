"""Weights by name: files, exchange between the backends, and what a checkpoint may hold."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace

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
    RopeConfig,
)
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.variants import REGISTRY
from mini_attn.weights import (
    FAMILIES,
    check_state,
    config_from_hf,
    from_deepseek,
    from_hf,
    from_llama,
    load_npz,
    load_safetensors,
    read_checkpoint,
    read_metadata,
    save_npz,
    save_safetensors,
    split_qkv,
    to_numpy,
)
from mini_attn.weights.rows import rope_rows
from tests.forms import small_config

NUMPY = ("float64", "float32", "float16", "int64", "int32", "int16", "int8",
         "uint64", "uint32", "uint16", "uint8", "bool")  # fmt: skip
SIZES = {
    "vocab_size": 13, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 12, "max_position_embeddings": 32,
}  # fmt: skip


def values(dtype, shape=(3, 5)):
    return (np.arange(np.prod(shape)) * 7 % 11).reshape(shape).astype(dtype)


def same(one, other):
    """Equal names, types, shapes and bits."""
    assert list(one) == list(other)
    for name in one:
        first, second = np.asarray(one[name]), np.asarray(other[name])
        assert first.dtype == second.dtype
        assert first.shape == second.shape
        assert first.tobytes() == second.tobytes()


# --- files ---


@pytest.mark.parametrize("dtype", NUMPY)
def test_arrays_come_back_bit_for_bit(tmp_path, dtype):
    from safetensors.numpy import load_file

    state = {"plain": values(dtype), "turned": values(dtype).T, "odd": values(dtype, (1,))}
    state |= {
        "number": np.array(1, dtype),
        "none": values(dtype, (0, 4)),
        "cut": values(dtype)[::2],
    }
    swapped = values(dtype).astype(np.dtype(dtype).newbyteorder(">"))
    save_safetensors(tmp_path / "a", {**state, "swapped": swapped})
    expected = {**state, "swapped": values(dtype)}
    same(load_safetensors(tmp_path / "a"), expected)
    theirs = load_file(tmp_path / "a")
    same({name: theirs[name] for name in expected}, expected)
    save_npz(tmp_path / "a.npz", state)
    same(load_npz(tmp_path / "a.npz"), state)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool"])
def test_tensors_come_back_bit_for_bit(tmp_path, dtype):
    plain = torch.arange(15).remainder(7).reshape(3, 5).to(getattr(torch, dtype))
    state = {"plain": plain, "turned": plain.t(), "number": plain[0, 1], "none": plain[:0]}
    save_safetensors(tmp_path / "a", state)
    got = load_safetensors(tmp_path / "a", backend="torch")
    assert got.keys() == state.keys()
    for name, tensor in state.items():
        assert got[name].dtype == tensor.dtype
        assert torch.equal(got[name], tensor)


def test_files_of_the_library_are_read(tmp_path):
    from safetensors.torch import save_file

    state = {"a": torch.randn(3, 4), "b": torch.randn(5).half(), "c": torch.randn(2, 2).double()}
    save_file(state, tmp_path / "a", metadata={"format": "pt"})
    same(load_safetensors(tmp_path / "a"), {n: t.numpy() for n, t in sorted_as(tmp_path, state)})
    assert read_metadata(tmp_path / "a") == {"format": "pt"}


def sorted_as(folder, state):
    """The weights in the order that the library gave them in the file."""
    return [(name, state[name]) for name in load_safetensors(folder / "a")]


def test_every_bfloat16_is_widened_to_its_own_value(tmp_path):
    bits = torch.arange(2**16, dtype=torch.int32).to(torch.int16)  # wraps: every pattern once
    tensor = bits.view(torch.bfloat16)
    save_safetensors(tmp_path / "a", {"all": tensor})
    stored = load_safetensors(tmp_path / "a", backend="torch")["all"]
    assert torch.equal(stored.view(torch.int16), bits)
    array = load_safetensors(tmp_path / "a")["all"]
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, tensor.float().numpy())  # NaN equals NaN here
    np.testing.assert_array_equal(to_numpy({"all": tensor})["all"], array)
    save_npz(tmp_path / "a.npz", {"all": tensor})
    np.testing.assert_array_equal(load_npz(tmp_path / "a.npz")["all"], array)


@pytest.mark.parametrize("letters", range(9))
def test_weights_start_where_any_type_is_aligned(tmp_path, letters):
    save_safetensors(tmp_path / "a", {"w" * (letters + 1): np.ones(2)})
    header = int.from_bytes((tmp_path / "a").read_bytes()[:8], "little")
    assert header % 8 == 0
    assert load_safetensors(tmp_path / "a")["w" * (letters + 1)].flags.aligned


def test_an_array_from_a_file_may_be_changed_and_the_file_stays(tmp_path):
    save_safetensors(tmp_path / "a", {"w": np.ones(3)})
    load_safetensors(tmp_path / "a")["w"][0] = 5
    assert load_safetensors(tmp_path / "a")["w"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("save", [save_safetensors, save_npz])
def test_a_save_that_fails_leaves_the_old_file(tmp_path, save):
    class Broken:
        dtype, shape, nbytes = "float32", (2,), 8

        def detach(self):
            raise RuntimeError("the device is gone")

    path = tmp_path / "a"
    save(path, {"w": np.ones(3)})
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="the device is gone"):
        save(path, {"first": np.zeros(1000), "second": Broken()})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("save", [save_safetensors, save_npz])
@pytest.mark.parametrize("value", [[1.0], "word", None, np.array(["word"]), np.array([{}])])
def test_what_is_no_array_of_numbers_is_refused(tmp_path, save, value):
    with pytest.raises(DTypeError, match="w must"):
        save(tmp_path / "a", {"w": value})
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_cannot_name_is_refused(tmp_path):
    small = torch.ones(2).to(torch.float8_e4m3fn)
    with pytest.raises(DTypeError, match=r"w must be an array of .* got float8_e4m3fn"):
        save_safetensors(tmp_path / "a", {"w": small})
    with pytest.raises(DTypeError, match=r"w is torch\.float8_e4m3fn, which NumPy has not"):
        to_numpy({"w": small})
    with pytest.raises(DTypeError, match="metadata must map text to text"):
        save_safetensors(tmp_path / "a", {}, {"step": 3})
    with pytest.raises(ConfigError, match="__metadata__ names"):
        save_safetensors(tmp_path / "a", {"__metadata__": np.ones(2)})
    assert list(tmp_path.iterdir()) == []


def test_small_floats_of_others_are_tensors_or_refused(tmp_path):
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2).to(torch.float8_e4m3fn)}, tmp_path / "a")
    assert load_safetensors(tmp_path / "a", backend="torch")["w"].dtype == torch.float8_e4m3fn
    with pytest.raises(DTypeError, match="w is stored as F8_E4M3"):
        load_safetensors(tmp_path / "a")


def test_broken_files_are_named(tmp_path):
    path = tmp_path / "a"
    save_safetensors(path, {"w": np.ones(3)})
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little")
    lying = whole.replace(b'"shape":[3]', b'"shape":[4]')
    cases = {
        "no header in it": [b"", b"short", whole[:20], b"\xff" * 40, whole[:8] + b"x" * header],
        "header says .* was it cut": [whole[:-1], whole + b"x"],
        "gives w 24 bytes": [lying],
    }
    for words, contents in cases.items():
        for content in contents:
            path.write_bytes(content)
            with pytest.raises(ConfigError, match=words):
                load_safetensors(path)
    with pytest.raises(ConfigError, match="backend must be one of numpy, torch"):
        load_safetensors(path, backend="jax")
    with pytest.raises(FileNotFoundError):
        load_safetensors(tmp_path / "none")


def test_no_pickle_is_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, w=np.array([{"code": 1}], dtype=object))
    with pytest.raises(ConfigError, match="no npz file of plain arrays"):
        load_npz(path)
    for content in (b"", b"text", b"PK\x03\x04 cut"):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"a\.npz is no npz file"):
            load_npz(path)
    np.save(tmp_path / "b.npy", np.ones(2))  # an array, not an archive
    with pytest.raises(ConfigError, match=r"b\.npy is no npz file"):
        load_npz(tmp_path / "b.npy")


def test_any_name_is_kept(tmp_path):
    state = {name: np.ones(1) for name in ("file", "allow_pickle", "layers.0.w", "é", "a/b")}
    for save, load in ((save_npz, load_npz), (save_safetensors, load_safetensors)):
        save(tmp_path / "a", state)
        assert list(load(tmp_path / "a")) == list(state)


def test_numpy_reads_and_writes_without_the_library(tmp_path):
    code = (
        "import sys; sys.modules['safetensors'] = sys.modules['torch'] = None\n"
        "import numpy as np; from mini_attn.weights import load_safetensors, save_safetensors\n"
        f"path = {str(tmp_path / 'a')!r}\n"
        "save_safetensors(path, {'w': np.ones((2, 3)).T}); print(load_safetensors(path)['w'].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["(3,", "2)"], done.stderr


def peak(action):
    """Bytes that an action allocates at most, memory mapped from files left out."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_files_take_the_memory_of_one_weight(tmp_path):
    weight = np.ones((512, 256), np.float32)  # half a MiB
    state = {f"layers.{i}": weight.T for i in range(16)}
    assert peak(lambda: save_safetensors(tmp_path / "a", state)) < 3 * weight.nbytes
    assert peak(lambda: load_safetensors(tmp_path / "a")) < weight.nbytes / 4
    assert peak(lambda: save_npz(tmp_path / "a.npz", state)) < 3 * weight.nbytes
    everything = 16 * weight.nbytes  # the measure sees what is held whole
    assert peak(lambda: load_npz(tmp_path / "a.npz")) >= everything


# --- exchange between the backends ---

ROPE = RopeConfig(layout="half")
HEADS = AttentionConfig(
    8, 4, 4, n_kv_heads=2, bias=True, qk_norm=True, v_head_dim=3, rope=ROPE, sinks=True
)
LATENT = LatentConfig(8, 2, 4, 2, 4, 3, rope=ROPE, q_lora_rank=5, bias=True, sinks=True)
GATED = {"mlp": "gated", "activation": "silu", "norm": "rms_norm", "positions": "none"}
DECODER = DecoderConfig(13, 2, HEADS, d_ff=6, max_positions=9, tie_embeddings=False, **GATED)
LEARNED = DecoderConfig(13, 1, AttentionConfig(8, 2, 4), d_ff=6, max_positions=9)


def layer_of(name):
    """Return what makes a variant's layer in a backend."""
    entry = REGISTRY[name]
    return lambda m, **kind: getattr(m, entry.class_name)(small_config(entry), **kind)


MADE = {
    entry.class_name: layer_of(name) for name, entry in REGISTRY.items()
} | {  # one line for each class that holds weights
    "Linear": lambda m, **kind: m.Linear(3, 2, bias=True, **kind),
    "Embedding": lambda m, **kind: m.Embedding(3, 2, **kind),
    "Norm": lambda m, dtype, **kind: m.Norm(3, "layer_norm", dtype=dtype),
    "MLP": lambda m, **kind: m.MLP(3, 5, **kind),
    "GatedMLP": lambda m, **kind: m.GatedMLP(3, 5, **kind),
    "MixtureOfExperts": lambda m, **kind: m.MixtureOfExperts(
        3, ExpertConfig(4, 2, 5, bias=True, router_bias=True), **kind
    ),
    "GroupedQueryAttention": lambda m, **kind: m.GroupedQueryAttention(HEADS, **kind),
    "MultiHeadLatentAttention": lambda m, **kind: m.MultiHeadLatentAttention(LATENT, **kind),
    "Indexer": lambda m, **kind: m.Indexer(small_config(REGISTRY["indexed"]), **kind),
    "LearnedPositions": lambda m, **kind: m.LearnedPositions(9, 4, **kind),
    "RelativePositions": lambda m, **kind: m.RelativePositions(4, 3, v_head_dim=2, **kind),
    "QuantizedLinear": lambda m, **kind: m.quantize_weights(
        m.Linear(5, 3, bias=True, **kind), "int4-zero"
    ),
    "QuantizedEmbedding": lambda m, **kind: m.QuantizedEmbedding(
        m.Embedding(3, 5, **kind).weight, "nvfp4"
    ),
    "DecoderLayer": lambda m, **kind: m.DecoderLayer(DECODER, **kind),
    "Decoder": lambda m, **kind: m.Decoder(DECODER, **kind),
    "Decoder, learned positions": lambda m, **kind: m.Decoder(LEARNED, **kind),
}


def test_every_class_with_weights_is_exchanged_below():
    base = ma.Linear.__mro__[1]
    named = {name for name in ma.__all__ if isinstance(getattr(ma, name), type)}
    assert {n for n in named if issubclass(getattr(ma, n), base)} == {n.split(",")[0] for n in MADE}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", MADE)
def test_weights_go_between_the_backends_in_one_line(tmp_path, name, dtype):
    ours = MADE[name](ma, seed=1, dtype=dtype)
    theirs = MADE[name](mt, seed=2, dtype=dtype)
    drawn = {key: tensor.clone() for key, tensor in theirs.state_dict().items()}

    ours.load_state_dict(theirs.state_dict())
    same(ours.state_dict(), {key: drawn[key].numpy() for key in ours.state_dict()})

    other = MADE[name](ma, seed=3, dtype=dtype)
    theirs.load_state_dict(other.state_dict())
    same(theirs.state_dict(), {key: other.state_dict()[key] for key in drawn})

    save_safetensors(tmp_path / "a", theirs.state_dict())
    ours.load_state_dict(load_safetensors(tmp_path / "a"))
    same(ours.state_dict(), other.state_dict())
    save_npz(tmp_path / "a.npz", ours.state_dict())
    theirs.load_state_dict(load_npz(tmp_path / "a.npz"))
    theirs.load_state_dict(load_safetensors(tmp_path / "a", backend="torch"))
    same(theirs.state_dict(), {key: other.state_dict()[key] for key in drawn})


def test_bfloat16_goes_to_numpy_by_name(tmp_path):
    theirs = mt.Decoder(DECODER, dtype="bfloat16")
    ours = ma.Decoder(DECODER, dtype="float32")
    ours.load_state_dict(to_numpy(theirs.state_dict()))
    expected = {name: tensor.float().numpy() for name, tensor in theirs.state_dict().items()}
    same(ours.state_dict(), {name: expected[name] for name in ours.state_dict()})
    save_safetensors(tmp_path / "a", theirs.state_dict())
    back = mt.Decoder(DECODER, seed=9, dtype="bfloat16")
    back.load_state_dict(load_safetensors(tmp_path / "a", backend="torch"))
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)


def test_a_misfit_is_named():
    given = {"a": np.ones(2), "b": np.ones(3)}
    with pytest.raises(ShapeError, match=r"missing: \['c'\], unknown: \['b'\]"):
        check_state({"a": np.ones(2), "c": np.ones(3)}, given)
    with pytest.raises(ShapeError, match=r"missing: \[\], unknown: \['b'\]"):
        check_state({"a": np.ones(2)}, given)
    with pytest.raises(ShapeError, match=r"b must have shape \(4,\), got \(3,\)"):
        check_state({"a": np.ones(2), "b": np.ones(4)}, given)


# --- published layouts ---


@pytest.mark.parametrize(("source", "target"), [("half", "interleaved"), ("interleaved", "half")])
@pytest.mark.parametrize(("n_heads", "rotary_dim"), [(1, 8), (3, 8), (3, 4), (2, 2)])
def test_rows_are_those_of_the_rope_conversion(lib, source, target, n_heads, rotary_dim):
    weight = lib.array(np.arange(n_heads * 8 * 3).reshape(n_heads * 8, 3) * 1.0)
    expected = lib.convert_rope_layout(
        weight, n_heads, source=source, target=target, rotary_dim=rotary_dim
    )
    rows = rope_rows(n_heads, 8, rotary_dim, source=source, target=target)
    np.testing.assert_array_equal(lib.numpy(weight[rows]), lib.numpy(expected))
    back = rope_rows(n_heads, 8, rotary_dim, source=target, target=source)
    assert [rows[row] for row in back] == list(range(n_heads * 8))


def test_rows_before_the_rotated_ones_keep_their_places():
    rows = rope_rows(2, 7, 4, source="half", target="interleaved", first=3)
    assert rows == [0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 12, 11, 13]
    assert rope_rows(2, 7, 4, source="half", target="half") is None
    with pytest.raises(ConfigError, match="source must be one of half, interleaved"):
        rope_rows(1, 4, 4, source="neox", target="half")


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_fused_projections_are_cut_by_head(lib, n_kv_heads):
    config = AttentionConfig(5, 6, 4, n_kv_heads=n_kv_heads)
    group = 6 // n_kv_heads
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(n * 4, 5)) for n in (6, n_kv_heads, n_kv_heads))
    stacked = np.concatenate([q, k, v])
    per = [part.reshape(n_kv_heads, -1, 5) for part in (q, k, v)]
    grouped = np.concatenate(per, axis=1).reshape(-1, 5)
    assert (group > 1) or not np.array_equal(stacked, grouped)
    for order, fused in (("stacked", stacked), ("grouped", grouped)):
        parts = split_qkv(lib.array(fused), config, order=order)
        for part, expected in zip(parts, (q, k, v), strict=True):
            np.testing.assert_array_equal(lib.numpy(part), expected)
        biases = split_qkv(lib.array(fused[:, 0]), config, order=order)
        np.testing.assert_array_equal(lib.numpy(biases[1]), k[:, 0])
    with pytest.raises(ShapeError, match=r"have .* rows, got"):
        split_qkv(lib.array(stacked[1:]), config, order="stacked")
    with pytest.raises(ConfigError, match="order must be one of"):
        split_qkv(lib.array(stacked), config, order="mixed")


def llama_state(config, seed=3, module=ma):
    """A decoder's weights under Hugging Face's names."""
    weights = module.Decoder(config, seed=seed, dtype="float64").state_dict()
    return {n if n.startswith("lm_head") else f"model.{n}": w for n, w in weights.items()}


@pytest.mark.parametrize(("share", "family"), [(1.0, "qwen3"), (0.5, "qwen3"), (1.0, "olmo2")])
def test_both_rotary_layouts_give_the_same_logits(lib, share, family):
    half = config_from_hf({"model_type": family, **SIZES, "head_dim": 8})
    if share != 1:
        rope = RopeConfig("half", rotary_dim=4)
        half = replace(half, attention=replace(half.attention, rope=rope))
    turned = RopeConfig("interleaved", rotary_dim=half.attention.rope.rotary_dim)
    attention = AttentionConfig(**{**vars(half.attention), "rope": turned})
    interleaved = DecoderConfig(**{**vars(half), "attention": attention})
    state = llama_state(half, module=lib.module)
    rng = np.random.default_rng(2)
    for name in state:  # gains that differ, so that their order matters
        if "_norm.weight" in name:
            state[name] = lib.array(rng.uniform(0.5, 2, len(state[name])))
    tokens = lib.array([[3, 1, 4, 1, 5, 9, 2, 6]])
    logits = []
    for config in (half, interleaved):
        model = lib.Decoder(config, dtype="float64")
        model.load_state_dict(from_llama(state, config))
        logits.append(lib.numpy(model(tokens)))
    np.testing.assert_allclose(logits[1], logits[0], atol=1e-12)
    back = from_llama(from_llama(state, interleaved), half, layout="interleaved")
    same(to_numpy(back), to_numpy(from_llama(state, half)))


def test_tied_heads_later_layers_and_old_tables_are_left_out():
    config = config_from_hf({"model_type": "llama", **SIZES, "tie_word_embeddings": True})
    state = llama_state(config)
    state["lm_head.weight"] = state["model.embed_tokens.weight"].copy()
    state["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(2)
    first = config_from_hf(
        {"model_type": "llama", **SIZES, "tie_word_embeddings": True}, n_layers=1
    )
    for kept in (config, first):
        ma.Decoder(kept).load_state_dict(from_llama(state, kept))
    state["model.layers.0.mlp.up_proj.weight_scale_inv"] = np.ones(1)
    with pytest.raises(ConfigError, match="quantized"):
        from_llama(state, config)


GPT2 = {"model_type": "gpt2", "vocab_size": 13, "n_layer": 1, "n_embd": 8, "n_head": 2,
        "n_positions": 9}  # fmt: skip


def published_gpt2(config):
    """A decoder's weights as Hugging Face names and stores GPT-2's."""
    ours = ma.Decoder(config, seed=3).state_dict()
    parts = {"input_layernorm": "ln_1", "post_attention_layernorm": "ln_2",
             "self_attn.o_proj": "attn.c_proj", "mlp.up_proj": "mlp.c_fc",
             "mlp.down_proj": "mlp.c_proj"}  # fmt: skip
    outer = {"wte.weight": "embed_tokens.weight", "wpe.weight": "embed_positions.weight",
             "ln_f.weight": "norm.weight", "ln_f.bias": "norm.bias"}  # fmt: skip
    state = {theirs: ours[name] for theirs, name in outer.items()}
    for kind in ("weight", "bias"):
        for name, theirs in parts.items():
            state[f"h.0.{theirs}.{kind}"] = ours[f"layers.0.{name}.{kind}"].T
        qkv = [ours[f"layers.0.self_attn.{letter}_proj.{kind}"].T for letter in "qkv"]
        state[f"h.0.attn.c_attn.{kind}"] = np.concatenate(qkv, axis=-1)
    return {f"transformer.{name}": weight for name, weight in state.items()}


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_head_of_its_own_is_kept_though_the_file_says_tied(tmp_path, family):
    """Hugging Face warns, and ties only what is equal."""
    described = GPT2 if family == "gpt2" else {"model_type": "llama", **SIZES}
    described = {**described, "tie_word_embeddings": True}
    config = config_from_hf(described)
    state = published_gpt2(config) if family == "gpt2" else llama_state(config)
    embeddings = next(state[name] for name in state if name.endswith(("wte.weight", "s.weight")))
    (tmp_path / "config.json").write_text(json.dumps(described))
    for head, tied in ((embeddings.copy(), True), (embeddings[::-1].copy(), False)):
        save_safetensors(tmp_path / "model.safetensors", {**state, "lm_head.weight": head})
        read, weights = read_checkpoint(tmp_path)
        assert read.tie_embeddings == tied
        model = ma.Decoder(read, dtype=str(embeddings.dtype))
        model.load_state_dict(weights)
        logits = model(np.array([[1, 2]]))
        if tied:
            straight = logits
    np.testing.assert_allclose(logits, straight[..., ::-1], atol=1e-5)  # a head read backwards
    for head in (embeddings[::-1].copy(), embeddings[:-1]):
        with pytest.raises(ConfigError, match=r"lm_head\.weight differs from the embeddings"):
            from_hf({**state, "lm_head.weight": head}, described)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_layers_beyond_those_described_are_refused(tmp_path, family):
    described = GPT2 if family == "gpt2" else {"model_type": "llama", **SIZES}
    config = config_from_hf(described)
    state = published_gpt2(config) if family == "gpt2" else llama_state(config)
    prefix, key = ("transformer.h", "n_layer") if family == "gpt2" else (
        "model.layers", "num_hidden_layers")  # fmt: skip
    past = described[key]
    state[f"{prefix}.{past}.input_layernorm.weight"] = np.ones(8)
    (tmp_path / "config.json").write_text(json.dumps(described))
    save_safetensors(tmp_path / "model.safetensors", state)
    for n_layers in (None, 1):
        with pytest.raises(
            ConfigError, match=rf"{prefix}\.{past}\..*beyond the last: {key} = {past}"
        ):
            read_checkpoint(tmp_path, n_layers=n_layers)
    latent = {**DEEPSEEK, "num_nextn_predict_layers": 1}
    first = config_from_hf(latent, n_layers=1)
    assert from_hf({"model.layers.2.enorm.weight": np.ones(8)}, latent, config=first) == {}
    with pytest.raises(ConfigError, match=r"layers\.3\.enorm"):
        from_hf({"model.layers.3.enorm.weight": np.ones(8)}, latent, config=first)


def test_rows_that_are_too_many_are_refused_as_too_few_are():
    config = config_from_hf({"model_type": "llama", **SIZES})
    rope = RopeConfig("interleaved")
    turned = replace(config, attention=replace(config.attention, rope=rope))
    name, state = "model.layers.0.self_attn.k_proj.weight", llama_state(config)
    rows = len(state[name])
    for wrong in (rows - 1, rows + 1):
        state[name] = np.ones((wrong, 8))
        with pytest.raises(ShapeError, match=rf"k_proj\.weight must have {rows} rows, got"):
            from_llama(state, turned)


def test_loaders_refuse_the_other_kind_of_attention():
    latent = DecoderConfig(13, 1, LATENT, d_ff=6, max_positions=9, **GATED)
    with pytest.raises(ConfigError, match="use from_deepseek"):
        from_llama({}, latent)
    with pytest.raises(ConfigError, match="latent attention"):
        from_deepseek({}, DECODER)
    with pytest.raises(ConfigError, match="mixture of experts"):
        from_deepseek({"model.layers.0.mlp.experts.0.up_proj.weight": np.ones((2, 2))}, latent)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_published_folder_runs_in_two_lines(tmp_path, lib, parts, dtype):
    described = {"model_type": "llama", **SIZES, "rope_scaling": None, "rope_theta": 500000.0}
    (tmp_path / "config.json").write_text(json.dumps(described))
    source = mt.Decoder(config_from_hf(described), seed=4, dtype=dtype).state_dict()
    state = {n if n == "lm_head.weight" else f"model.{n}": t for n, t in source.items()}
    if parts == 1:
        save_safetensors(tmp_path / "model.safetensors", state, {"format": "pt"})
    else:
        names, files = list(state), ("model-1.safetensors", "model-2.safetensors")
        for file, part in zip(files, (names[::2], names[1::2]), strict=True):
            save_safetensors(tmp_path / file, {name: state[name] for name in part})
        index = {name: files[i % 2] for i, name in enumerate(names)}
        text = json.dumps({"metadata": {}, "weight_map": index})
        (tmp_path / "model.safetensors.index.json").write_text(text)

    config, weights = read_checkpoint(tmp_path, backend=lib.name)
    model = lib.Decoder(config)
    model.load_state_dict(weights)

    assert config.attention.rope.theta == 500000.0
    expected = {name: tensor.float().numpy() for name, tensor in source.items()}
    same({n: lib.numpy(w) for n, w in sorted(model.state_dict().items())},
         dict(sorted(expected.items())))  # fmt: skip


def test_an_incomplete_folder_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"has no config\.json"):
        read_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", **SIZES}))
    with pytest.raises(ConfigError, match=r"neither model\.safetensors nor model\.safe"):
        read_checkpoint(tmp_path)
    save_safetensors(tmp_path / "model.safetensors", {"model.norm.weight": np.ones(8)})
    config, weights = read_checkpoint(tmp_path)
    with pytest.raises(ShapeError, match="weights are missing"):
        ma.Decoder(config).load_state_dict(weights)


DEEPSEEK = {
    "model_type": "deepseek_v3", **SIZES, "kv_lora_rank": 4, "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 4, "v_head_dim": 3, "first_k_dense_replace": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "config", "options"),
    [
        ("model_type must be one of deepseek_v2, .*gpt2, .*llama", {"model_type": "mamba"}, {}),
        ("model_type must be one of", {}, {}),
        ("llama has no 'vocab_size'", {"model_type": "llama", "num_hidden_layers": 1,
                                       "num_attention_heads": 1, "hidden_size": 2,
                                       "intermediate_size": 1, "max_position_embeddings": 1}, {}),
        (r"n_layers must lie in 1 … 2, got 3", {"model_type": "llama", **SIZES}, {"n_layers": 3}),
        (r"n_layers must lie", {"model_type": "llama", **SIZES}, {"n_layers": 0}),
        ("activation must be one of", {"model_type": "llama", **SIZES, "hidden_act": "mish"}, {}),
        ("1 of 2 layers have experts", DEEPSEEK, {}),
        ("'mrope' is none of the six",
         {"model_type": "qwen2", **SIZES, "rope_scaling": {"type": "mrope"}}, {}),
        ("'llama3' needs 'low_freq_factor'",
         {"model_type": "llama", **SIZES, "rope_scaling": {"rope_type": "llama3", "factor": 2.0}},
         {}),
        ("per kind of layer", {"model_type": "llama", **SIZES,
                               "rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, {}),
        ("final_logit_softcapping = 30.0 is not known of gemma: the model may",
         {"model_type": "gemma", **SIZES, "final_logit_softcapping": 30.0}, {}),
        ("partial_rotary_factor = 0.5 is not known of smollm3",
         {"model_type": "smollm3", **SIZES, "partial_rotary_factor": 0.5}, {}),
        ("clip_qkv = 8 is not known of olmo2", {"model_type": "olmo2", **SIZES, "clip_qkv": 8}, {}),
        ("altup_num_inputs = 4 is not known of gemma3_text",
         {"model_type": "gemma3_text", **SIZES, "altup_num_inputs": 4}, {}),
        ("use_bidirectional_attention: .* looks back only",
         {"model_type": "gemma2", **SIZES, "use_bidirectional_attention": True}, {}),
        ("query_pre_attn_scalar must be a finite number above 0, got 0",
         {"model_type": "gemma2", **SIZES, "query_pre_attn_scalar": 0}, {}),
        ("rope_parameters of gemma3_text must be those of full_attention and sliding_attention, "
         r"got \['rope_theta'\]",
         {"model_type": "gemma3_text", **SIZES, "rope_parameters": {"rope_theta": 10.0}}, {}),
        ("per kind of layer", {"model_type": "gemma2", **SIZES,
                               "rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, {}),
        ("sliding_window says no width", {"model_type": "gemma2", **SIZES, "sliding_window": None},
         {}),
        ("sliding_window says no width",
         {"model_type": "smollm3", **SIZES, "layer_types": ["sliding_attention"] * 2}, {}),
        ("no_rope_layers must list 2 layers or more, got",
         {"model_type": "smollm3", **SIZES, "no_rope_layers": [1]}, {}),
        ("no_rope_layers has 2, which", {"model_type": "smollm3", **SIZES,
                                         "no_rope_layers": [1, 2]}, {}),
        ("images beside the text: pass its text_config", {"model_type": "gemma3"}, {}),
        *((f"'{kind}' needs 'factor'", {"model_type": "llama", **SIZES, "rope_scaling": {
            "rope_type": kind, "original_max_position_embeddings": 4, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0}}, {}) for kind in ("linear", "dynamic", "llama3")),
        (r"gives no factor, and max_position_embeddings = \d+ is less than original_max",
         {"model_type": "llama", **SIZES, "rope_scaling": {
             "rope_type": "yarn", "original_max_position_embeddings": 10_000}}, {}),
        ("mrope_section = .* is not known of qwen2",
         {"model_type": "qwen2", **SIZES, "rope_scaling": {
             "rope_type": "default", "mrope_section": [1, 1]}}, {}),
        *(("layer_types has 'sliding_attention', and sliding_window says no width or is not in use",
           {"model_type": family, **SIZES, "layer_types": ["sliding_attention"] * 2, **options}, {})
          for family in ("qwen2", "qwen3")
          for options in ({}, {"use_sliding_window": True, "sliding_window": None})),
        ("cross-attention", {"model_type": "gpt2", "n_layer": 1, "add_cross_attention": True}, {}),
    ],
)  # fmt: skip
def test_configurations_that_cannot_run_are_refused(words, config, options):
    with pytest.raises(ConfigError, match=words):
        config_from_hf(config, **options)


def test_only_latent_attention_multiplies_scores_by_the_second_weight_of_yarn():
    rule = {"type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.5}
    plain = config_from_hf({"model_type": "llama", **SIZES, "rope_scaling": rule})
    latent = config_from_hf({**DEEPSEEK, "rope_scaling": rule}, n_layers=1)
    scalings = [config.attention.rope.scaling for config in (plain, latent)]
    assert [scaling.mscale_all_dim for scaling in scalings] == [None, 0.5]
    ratio = (0.1 * np.log(4) + 1) / (0.05 * np.log(4) + 1)
    factors = [ma.rope_frequencies(8, theta=1e4, scaling=scaling)[1] for scaling in scalings]
    assert factors == pytest.approx([ratio, ratio])


NO_HEADS = ("mamba2", "kimi_linear")  # whose files have other sizes


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in NO_HEADS])
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("attn_logit_softcapping", 30.0, "compute scores without a bound"),
        ("qk_layernorm", True, "that are not normalized"),
        ("embedding_multiplier", 12.0, "embeddings without their factor"),
        ("clip_qkv", 8, "queries, keys and values without a bound"),
        ("frobnicate", "yes", "compute something else; if it changes nothing, leave it out"),
    ],
)
def test_no_family_takes_a_key_that_it_does_not_know(family, key, value, words):
    if key == "attn_logit_softcapping" and family in ("gemma2", "gemma3_text"):
        return  # the one bounds its scores, the other's class ignores the key
    sizes = GPT2 if family == "gpt2" else {**DEEPSEEK, "first_k_dense_replace": 9}
    if family not in ("gpt2", "deepseek_v2", "deepseek_v3"):
        sizes = SIZES
    described = {**sizes, "model_type": family}
    config_from_hf({**described, key: None})
    with pytest.raises(ConfigError, match=f"{key} = {value!r} is not known of {family}.*{words}"):
        config_from_hf({**described, key: value})


PARTIAL = ("phi3", "minimax_m2")
TURNED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")  # whose oracles turn parts


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in (*NO_HEADS, *TURNED)])
def test_only_phi3_and_minimax_turn_a_part_of_each_head(family):
    """The other classes ignore the share, or fail with a rule beside it."""
    if family == "gpt2":
        return  # turns nothing
    sizes = {**DEEPSEEK, "first_k_dense_replace": 9} if family.startswith("deep") else SIZES
    rule = {"rope_type": "default", "rope_theta": 100.0}
    rules = {"rope_parameters": {**rule, "partial_rotary_factor": 0.5}}, {
        "rope_parameters": rule, "partial_rotary_factor": 0.5}  # fmt: skip
    if family in ("gemma3_text", "gemma4_text", "olmo3"):
        rules = tuple({**r, "rope_parameters": {"full_attention": r["rope_parameters"]}}
                      for r in rules)  # fmt: skip
    for given in rules:
        described = {**sizes, "model_type": family, **given}
        if family in PARTIAL:
            attention = config_from_hf(described).attention
            assert attention.rope.rotary_dim == attention.head_dim // 2
            continue
        with pytest.raises(ConfigError, match=r"partial_rotary_factor = 0\.5 is not known of"):
            config_from_hf(described)


def test_phi3_reads_its_trained_context_beside_the_rule_alone():
    """Its class has a default of 4,096, and takes "yarn" for a name of LongRoPE."""
    rule = {"type": "yarn", "short_factor": [1.0, 2.0], "long_factor": [2.0, 3.0],
            "original_max_position_embeddings": 16}  # fmt: skip
    for longest, factor in ((8192, 2.0), (64, 1.0)):
        sizes = {**SIZES, "max_position_embeddings": longest, "rope_scaling": rule}
        scaling = config_from_hf({**sizes, "model_type": "phi3"}).attention.rope.scaling
        assert (type(scaling).__name__, scaling.original_max_positions) == ("LongRoPE", 4096)
        expected = np.sqrt(1 + np.log(factor) / np.log(4096))
        assert scaling.attention_factor == pytest.approx(expected)


def test_the_first_name_of_longrope_is_read():
    """Phi-3's first files say "su"; Hugging Face has since renamed the rule."""
    rule = {"short_factor": [1.0, 2.0], "long_factor": [2.0, 3.0]}
    sizes = {**SIZES, "model_type": "phi3", "original_max_position_embeddings": 8}
    first, later = (
        config_from_hf({**sizes, "rope_scaling": {**rule, "type": word}})
        for word in ("su", "longrope")
    )
    assert first == later
    assert first.attention.rope.scaling.original_max_positions == 8


def test_the_dense_layers_of_a_model_with_experts_can_be_had():
    assert config_from_hf(DEEPSEEK, n_layers=1).n_layers == 1


def test_from_hf_finds_the_family_and_the_layout():
    config = config_from_hf(DEEPSEEK, n_layers=1)
    turned = LatentConfig(**{**vars(config.attention), "rope": RopeConfig("half")})
    half = DecoderConfig(**{**vars(config), "attention": turned})
    name = "model.layers.0.self_attn.kv_a_proj_with_mqa.weight"
    rows = np.arange(8.0)[:, None]
    kept, moved = [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 6, 5, 7]
    halves = {**DEEPSEEK, "rope_interleave": False}
    for described, target, expected in (
        (DEEPSEEK, config, kept),
        (DEEPSEEK, half, moved),
        (halves, half, kept),
        (halves, config, moved),
    ):
        got = from_hf({name: rows}, described, config=target)[name.removeprefix("model.")]
        assert got[:, 0].tolist() == expected
    with pytest.raises(ConfigError, match="is it GPT-2's"):
        from_hf({}, {"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1,
                     "n_positions": 9, "vocab_size": 13})  # fmt: skip
    with pytest.raises(ConfigError, match="model_type must be one of"):
        from_hf({}, {})
