"""Files of decoders with experts: their configurations, and their weights in each form."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.weights import config_from_hf, from_experts, from_hf, read_checkpoint
from mini_attn.weights.files import save_safetensors
from tests.cost.published import PUBLISHED as MODELS

SIZES = {
    "vocab_size": 13, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 6, "max_position_embeddings": 32,
    "num_experts_per_tok": 2,
}  # fmt: skip
FAMILIES = {
    "mixtral": {"model_type": "mixtral", **SIZES, "num_local_experts": 3},
    "qwen3_moe": {"model_type": "qwen3_moe", **SIZES, "num_experts": 3, "moe_intermediate_size": 4,
                  "mlp_only_layers": [0]},
    "gpt_oss": {"model_type": "gpt_oss", **SIZES, "num_local_experts": 3, "head_dim": 4},
    "minimax_m2": {"model_type": "minimax_m2", **SIZES, "num_local_experts": 3, "head_dim": 4},
}  # fmt: skip


OLD_NAMES = ("mixtral", "minimax_m2")  # of experts in the published files


def named(family, lib, form="whole"):
    """Random weights as a file of the family names them, and the same under our names."""
    config = config_from_hf(FAMILIES[family])
    rng = np.random.default_rng(2)
    ours = {
        name: rng.standard_normal(weight.shape).astype("float32")
        for name, weight in ma.Decoder(config).state_dict().items()
    }
    theirs = dict(ours)
    for layer, experts in enumerate(config.layer_experts):
        if experts is None:
            continue
        here = f"layers.{layer}.mlp."
        old = family in OLD_NAMES and form == "apart"
        there = f"layers.{layer}.block_sparse_moe." if old else here
        gate, up, down = (theirs.pop(f"{here}{name}_proj") for name in ("gate", "up", "down"))
        router = "router" if family == "gpt_oss" else "gate"
        theirs[f"{there}{router}.weight"] = theirs.pop(f"{here}router.weight")
        if family == "minimax_m2":
            theirs[f"{there}e_score_correction_bias"] = theirs.pop(f"{here}router.bias")
        if family == "gpt_oss":
            pairs = np.stack([gate, up], axis=-1).swapaxes(1, 2)  # (experts, in, out, 2)
            theirs[f"{here}experts.gate_up_proj"] = pairs.reshape(3, 8, -1)
            theirs[f"{here}experts.down_proj"] = down.swapaxes(1, 2)
            biases = [theirs.pop(f"{here}{name}_proj_bias") for name in ("gate", "up", "down")]
            theirs[f"{here}experts.gate_up_proj_bias"] = np.stack(biases[:2], -1).reshape(3, -1)
            theirs[f"{here}experts.down_proj_bias"] = biases[2]
        elif form == "whole":
            theirs[f"{here}experts.gate_up_proj"] = np.concatenate([gate, up], axis=1)
            theirs[f"{here}experts.down_proj"] = down
        else:
            words = ("w1", "w3", "w2") if old else (
                "gate_proj", "up_proj", "down_proj")  # fmt: skip
            for word, weight in zip(words, (gate, up, down), strict=True):
                for e in (2, 0, 1):  # a file lists them in the order of its names: 10 before 2
                    theirs[f"{there}experts.{e}.{word}.weight"] = weight[e]
    heads = {name: name if name.startswith("lm_head") else f"model.{name}" for name in theirs}
    return config, {heads[n]: lib.array(w) for n, w in theirs.items()}, ours


FORMS = [
    ("mixtral", "whole"), ("mixtral", "apart"), ("qwen3_moe", "whole"), ("qwen3_moe", "apart"),
    ("gpt_oss", "whole"), ("minimax_m2", "whole"), ("minimax_m2", "apart"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "form"), FORMS)
def test_each_form_gives_the_same_weights(lib, family, form):
    config, theirs, ours = named(family, lib, form)
    found = from_hf(theirs, FAMILIES[family])
    assert found.keys() == ours.keys()
    for name, weight in ours.items():
        np.testing.assert_array_equal(lib.numpy(found[name]), weight, err_msg=name)
        assert isinstance(found[name], type(lib.array(weight)))
    lib.Decoder(config).load_state_dict(found)


@pytest.mark.parametrize(("family", "form"), FORMS)
def test_layers_beyond_the_decoders_own_are_left_out(lib, family, form, tmp_path):
    _, theirs, _ = named(family, lib, form)
    (tmp_path / "config.json").write_text(json.dumps(FAMILIES[family]))
    save_safetensors(tmp_path / "model.safetensors", theirs)
    config, weights = read_checkpoint(tmp_path, backend=lib.name, n_layers=1)
    assert config.n_layers == 1
    lib.Decoder(config).load_state_dict(weights)


def without(state, *words):
    return {n: w for n, w in state.items() if not all(word in n for word in words)}


def test_experts_that_are_missing_or_too_many_are_named(lib):
    config, theirs, _ = named("mixtral", lib, "apart")
    place = "model.layers.1.block_sparse_moe.experts"
    words = r"layers\.1\.mlp\.up_proj needs the experts 0 … 2, got \[0, 2\]"
    with pytest.raises(ConfigError, match=words):
        from_experts(without(theirs, "layers.1.", "experts.1.w3"), config)
    more = {**theirs, f"{place}.3.w3.weight": theirs[f"{place}.0.w3.weight"]}
    with pytest.raises(ConfigError, match=r"up_proj needs .*, got \[0, 1, 2, 3\]"):
        from_experts(more, config)
    with pytest.raises(ConfigError, match=r"needs the experts .*, got \[0, 1, 2, 99999\]"):
        from_experts({**theirs, f"{place}.99999.w3.weight": lib.array(np.ones((6, 8)))}, config)


def test_experts_in_two_forms_are_refused(lib):
    config, apart, _ = named("qwen3_moe", lib, "apart")
    _, whole, _ = named("qwen3_moe", lib, "whole")
    with pytest.raises(ConfigError, match=r"layers\.1\.mlp\.gate_proj comes twice"):
        from_experts(apart | whole, config)


def test_experts_of_a_dense_layer_are_refused(lib):
    config, theirs, _ = named("qwen3_moe", lib, "apart")
    moved = {n.replace("layers.1.mlp.exp", "layers.0.mlp.exp"): w for n, w in theirs.items()}
    with pytest.raises(ConfigError, match=r"layers\.0\.mlp\.gate_proj is of experts, which"):
        from_experts(moved, config)


def test_experts_of_different_shapes_or_types_are_refused(lib):
    config, theirs, _ = named("mixtral", lib, "apart")
    name = "model.layers.0.block_sparse_moe.experts.2.w2.weight"
    for other in (np.ones((8, 5), "float32"), np.ones((8, 6), "float64")):
        with pytest.raises(ShapeError, match=r"layers\.0\.mlp\.down_proj: expert 2 is \(8, "):
            from_experts({**theirs, name: lib.array(other)}, config)


def test_wholes_of_other_shapes_are_refused(lib):
    config, theirs, _ = named("mixtral", lib)
    name = "model.layers.0.mlp.experts.gate_up_proj"
    for shape, words in (((3, 12), "must have 3 axes, got shape"), ((3, 11, 8), "as many others")):
        with pytest.raises(ShapeError, match=words):
            from_experts({**theirs, name: lib.array(np.ones(shape))}, config)
    few = from_experts({**theirs, name: lib.array(np.ones((3, 10, 8)))}, config)
    with pytest.raises(ShapeError, match=r"gate_proj must have shape \(3, 6, 8\), got \(3, 5, 8\)"):
        lib.Decoder(config).load_state_dict(few)
    with pytest.raises(ConfigError, match="order must be one of stacked, interleaved, got 'both'"):
        from_experts(theirs, config, order="both")
    oss = config_from_hf(FAMILIES["gpt_oss"])
    bias = {"layers.0.mlp.experts.gate_up_proj_bias": lib.array(np.ones((3, 6, 2)))}
    with pytest.raises(ShapeError, match="must have 2 axes"):
        from_experts(bias, oss, order="interleaved")


def test_strange_numbers_of_experts_stay_what_they_are(lib):
    """A name that is none of the known ones is left to the loader, which refuses it."""
    config, theirs, _ = named("qwen3_moe", lib, "apart")
    for number in ("01", "²", "9" * 30, "-1", ""):
        name = f"layers.1.mlp.experts.{number}.up_proj.weight"
        found = from_experts({**theirs, name: lib.array(np.ones((4, 8)))}, config)
        with pytest.raises(ShapeError, match=r"unknown: .*up_proj"):
            lib.Decoder(config).load_state_dict(found)


@pytest.mark.parametrize("part", ["gate_up_proj_blocks", "down_proj_scales"])
def test_packed_codes_are_called_quantised(lib, part):
    codes = {f"model.layers.0.mlp.experts.{part}": lib.array(np.ones((3, 12, 1, 16), "uint8"))}
    with pytest.raises(ConfigError, match=rf"{part} \(uint8\): the weights are quantized"):
        from_hf(codes, FAMILIES["gpt_oss"])
    method = {**FAMILIES["gpt_oss"], "quantization_config": {"quant_method": "mxfp4"}}
    assert config_from_hf(method) == config_from_hf(FAMILIES["gpt_oss"])


# ---- Configurations ----


PUBLISHED = [name for name, fields in MODELS.items() if fields["model_type"] in FAMILIES]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configurations_are_read(name):
    fields = MODELS[name]
    config = config_from_hf(fields)
    assert isinstance(config, DecoderConfig)
    assert len(config.layer_experts) == fields["num_hidden_layers"]
    for attention, experts in zip(config.attentions, config.layer_experts, strict=True):
        assert experts.n_experts == fields.get("num_local_experts", fields.get("num_experts"))
        assert experts.experts_per_token == fields["num_experts_per_tok"]
        assert experts.d_ff == fields.get("moe_intermediate_size", fields["intermediate_size"])
        assert attention.rope.theta == fields["rope_theta"]


def test_there_are_published_configurations_of_each_family():
    found = {MODELS[name]["model_type"] for name in PUBLISHED}
    assert found >= set(FAMILIES) - {"minimax_m2"}  # whose row is still to come


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_file_leaves_out_is_what_hugging_face_fills_in(family):
    from transformers import AutoConfig

    needed = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
              "num_attention_heads", "max_position_embeddings")  # fmt: skip
    described = AutoConfig.for_model(family).to_dict()
    if family == "qwen3_moe":  # Hugging Face's own class then takes the quotient too
        assert "head_dim" not in described
    sparse = {name: described[name] for name in needed}
    assert config_from_hf({"model_type": family, **sparse}) == config_from_hf(described)


def test_how_each_family_chooses():
    def experts(family, **options):
        return config_from_hf({**FAMILIES[family], **options}).layer_experts[1]

    assert experts("mixtral").routing == "softmax_normalised"
    assert experts("minimax_m2").routing == "sigmoid_normalised"
    assert experts("minimax_m2").router_bias
    assert experts("qwen3_moe").routing == "softmax"
    assert experts("qwen3_moe", norm_topk_prob=True).routing == "softmax_normalised"
    bounded = experts("gpt_oss", swiglu_alpha=2.0, swiglu_limit=3.0, hidden_act="relu")
    assert (bounded.routing, bounded.activation) == ("softmax_of_chosen", "clamped_swiglu")
    assert (bounded.swiglu_alpha, bounded.swiglu_limit) == (2.0, 3.0)
    assert bounded.bias
    assert bounded.router_bias


def test_what_the_attention_of_each_family_has():
    def options(family, **changes):
        attention = config_from_hf({**FAMILIES[family], **changes}).attentions[1]
        names = ("sinks", "qk_norm", "bias", "out_bias")
        return [name for name in names if getattr(attention, name)]

    assert options("mixtral") == []
    assert options("qwen3_moe") == ["qk_norm"]
    assert options("qwen3_moe", attention_bias=True) == ["qk_norm", "bias", "out_bias"]
    assert options("gpt_oss") == ["sinks", "bias", "out_bias"]
    assert options("gpt_oss", attention_bias=False) == ["sinks"]


def test_which_layers_have_experts():
    def sparse(**options):
        described = {**FAMILIES["qwen3_moe"], "num_hidden_layers": 6, "mlp_only_layers": None}
        config = config_from_hf({**described, **options})
        return "".join("-" if experts is None else "e" for experts in config.layer_experts)

    assert sparse() == "eeeeee"
    assert sparse(decoder_sparse_step=2) == "-e-e-e"
    assert sparse(decoder_sparse_step=3, mlp_only_layers=[5, 1]) == "--e---"
    assert sparse(decoder_sparse_step=7) == "------"


def test_windows_of_the_families():
    def windows(family, **options):
        return [a.window for a in config_from_hf({**FAMILIES[family], **options}).attentions]

    assert windows("mixtral") == windows("qwen3_moe") == [None, None]
    assert windows("mixtral", sliding_window=3) == [3, 3]
    assert windows("qwen3_moe", sliding_window=3) == [None, None]
    assert windows("qwen3_moe", sliding_window=3, use_sliding_window=True) == [3, 3]
    assert windows("gpt_oss") == [128, None]
    kinds = ["full_attention", "sliding_attention"]
    assert windows("gpt_oss", sliding_window=3, layer_types=kinds) == [None, 3]


@pytest.mark.parametrize(
    ("family", "changes", "words"),
    [
        ("mixtral", {"num_experts_per_tok": 4}, "experts_per_token = 4 of 3 experts"),
        ("mixtral", {"num_local_experts": 0}, "num_local_experts must be at least 1, got 0"),
        ("mixtral", {"num_experts": 4}, r"two numbers: \[3, 4\]"),
        ("mixtral", {"norm_topk_prob": True}, "norm_topk_prob = True is not known of mixtral"),
        ("mixtral", {"attention_bias": True}, "attention_bias = True is not known of mixtral"),
        ("mixtral", {"shared_expert_intermediate_size": 8}, "_size = 8 is not known of mixtral"),
        ("mixtral", {"scoring_func": "sigmoid"}, "scoring_func = 'sigmoid' is not known"),
        ("mixtral", {"attn_logit_softcapping": 50.0}, "softcapping = 50.0 is not known"),
        ("qwen3_moe", {"n_shared_experts": 1}, "n_shared_experts = 1 is not known of qwen3_moe"),
        ("qwen3_moe", {"layer_types": ["full_attention"] * 2}, "layer_types = .* is not known"),
        ("qwen3_moe", {"norm_topk_prob": 1}, "norm_topk_prob must be True or False, got 1"),
        ("qwen3_moe", {"mlp_only_layers": 1}, "mlp_only_layers must list numbers of layers"),
        ("qwen3_moe", {"mlp_only_layers": ["1"]}, "mlp_only_layers must be a whole number"),
        ("qwen3_moe", {"mlp_only_layers": [-1]}, "mlp_only_layers must be at least 0, got -1"),
        ("qwen3_moe", {"decoder_sparse_step": 0}, "decoder_sparse_step must be at least 1"),
        ("gpt_oss", {"swiglu_limit": -1.0}, "swiglu_limit must be a finite number above 0"),
        ("gpt_oss", {"swiglu_limit": "7"}, "swiglu_limit must be a finite number"),
        ("gpt_oss", {"layer_types": ["chunked_attention"] * 2}, "has 'chunked_attention'"),
        ("gpt_oss", {"layer_types": ["full_attention"]}, "must list 2 layers or more"),
        ("gpt_oss", {"sliding_window": None}, "and sliding_window says no width"),
        ("gpt_oss", {"hidden_act": "mish"}, "activation must be one of"),
    ],
)  # fmt: skip
def test_what_would_compute_something_else_is_refused(family, changes, words):
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**FAMILIES[family], **changes})


def test_what_changes_nothing_is_no_reason_to_refuse():
    idle = {
        "architectures": ["MixtralForCausalLM"], "torch_dtype": "bfloat16", "use_cache": True,
        "transformers_version": "4.36.0", "router_aux_loss_coef": 0.02, "temperature": 0.7,
        "attn_logit_softcapping": None, "some_list": [], "some_flag": False, "num_experts": 3,
    }  # fmt: skip
    known = config_from_hf(FAMILIES["mixtral"])
    assert config_from_hf({**FAMILIES["mixtral"], **idle}) == known
