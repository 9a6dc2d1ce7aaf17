"""Whole decoders against Hugging Face's, small, random and in float64: nothing is downloaded.

Hugging Face computes RMS norms, rotary angles and DeepSeek-V2's rotation in float32 whatever the
model's dtype, so that logits of order 1 agree to about 1e-5; a wrong convention shows at 1e-2.
"""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
import transformers

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.weights import (
    config_from_hf,
    from_deepseek,
    from_hf,
    load_safetensors,
    read_checkpoint,
    split_qkv,
    to_numpy,
)

ATOL = 5e-5
SIZES = {
    "vocab_size": 61, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "initializer_range": 0.3, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
LATENT = {
    **SIZES, "num_key_value_heads": 4, "kv_lora_rank": 10, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 8, "v_head_dim": 5, "q_lora_rank": 12, "n_routed_experts": 2,
    "first_k_dense_replace": 3, "moe_intermediate_size": 8, "num_experts_per_tok": 1,
    "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
}  # fmt: skip
WIDE = {**SIZES, "head_dim": 10}  # Gemma's heads are wider than the stream
GEMMA2 = {**WIDE, "sliding_window": 5, "query_pre_attn_scalar": 7}
GEMMA3 = {**GEMMA2, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LONG = {
    "rope_type": "longrope", "original_max_position_embeddings": 16,
    "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.5, 4.0],
}  # fmt: skip


def rope(**rule):
    return {"rope_parameters": {"rope_theta": 100.0, **rule}}


LLAMA = {  # every rule that Hugging Face has and that is one of the six
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "biases": {"attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-3},
    "wide heads": {"head_dim": 10, "hidden_act": "gelu_pytorch_tanh"},
    "linear": rope(rope_type="linear", factor=3.0),
    "dynamic": rope(rope_type="dynamic", factor=3.0) | {"max_position_embeddings": 16},
    "dynamic, grows from the longest context": rope(
        rope_type="dynamic", factor=2.0, original_max_position_embeddings=8
    ) | {"max_position_embeddings": 20},
    "yarn": rope(**YARN),
    "yarn, factor from the contexts": rope(**{**YARN, "factor": None}),
    "yarn, ramp not rounded": rope(
        **YARN, truncate=False, beta_fast=2.0, beta_slow=0.5
    ) | {"head_dim": 24},
    "yarn, own factor": rope(
        **YARN, attention_factor=0.7, mscale=1.0, mscale_all_dim=0.5
    ),
    "yarn, two weights": rope(**YARN, mscale=1.0, mscale_all_dim=0.5),
    "llama3": rope(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=16,
    ),
    "longrope": rope(**LONG),
    "longrope, own factor": rope(**LONG, factor=2.0),
    "longrope, short": rope(**{**LONG, "original_max_position_embeddings": 48}),
}  # fmt: skip
CASES = {f"Llama: {name}": ("Llama", {**SIZES, **options}) for name, options in LLAMA.items()} | {
    "Mistral": ("Mistral", {**SIZES, "sliding_window": 5}),
    "Mistral: no window": ("Mistral", {**SIZES, "sliding_window": None, "head_dim": 8}),
    "Qwen2": ("Qwen2", SIZES),
    "Qwen2: some windows": (
        "Qwen2",
        {**SIZES, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    "Qwen3": ("Qwen3", {**SIZES, "head_dim": 10, "tie_word_embeddings": True}),
    "Qwen3: biases, windows by name": (
        "Qwen3",
        {
            **SIZES, "head_dim": 10, "attention_bias": True, "use_sliding_window": True,
            "sliding_window": 6, "rms_norm_eps": 1e-4,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
    "Gemma": ("Gemma", WIDE),
    "Gemma: biases, untied, one key/value head": (
        "Gemma",
        {**WIDE, "num_key_value_heads": 1, "attention_bias": True, "tie_word_embeddings": False},
    ),
    "Gemma2": ("Gemma2", GEMMA2),
    "Gemma2: bounds that bite, no layer with a window": (
        "Gemma2",
        {
            **GEMMA2, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
            "query_pre_attn_scalar": 5, "layer_types": ["full_attention"] * 3,
        },
    ),
    "Gemma2: no bounds": (
        "Gemma2",
        {**GEMMA2, "attn_logit_softcapping": None, "final_logit_softcapping": None},
    ),
    "Gemma3": ("Gemma3Text", GEMMA3),
    "Gemma3: far tokens stretched": (
        "Gemma3Text",
        {
            **GEMMA3, "rms_norm_eps": 1e-3, "final_logit_softcapping": 4.0,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 500.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 20.0},
            },
        },
    ),
    "Olmo2": ("Olmo2", SIZES),
    "Olmo2: all heads, biases, tied": (
        "Olmo2",
        {
            **SIZES, "num_key_value_heads": 4, "attention_bias": True, "tie_word_embeddings": True,
            "rms_norm_eps": 1e-3,
        },
    ),
    "Olmo3: far tokens stretched": (
        "Olmo3",
        {
            **SIZES, "num_hidden_layers": 4, "sliding_window": 5,
            "rope_parameters": {"full_attention": {**YARN, "rope_theta": 100.0}},
        },
    ),
    "SmolLM3": ("SmolLM3", {**SIZES, "num_hidden_layers": 4}),
    "SmolLM3: untied, layers by name": (
        "SmolLM3",
        {
            **SIZES, "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True,
            "no_rope_layers": [0, 1, 0], "sliding_window": 4, "use_sliding_window": True,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
        },
    ),
    "SmolLM3: windows where nothing turns": (
        "SmolLM3",
        {**SIZES, "no_rope_layer_interval": 2, "sliding_window": 5, "use_sliding_window": True},
    ),
    "Phi3": ("Phi3", {**SIZES, "sliding_window": 7}),
    "Phi3: partial, longrope": (
        "Phi3",
        {
            **SIZES, "hidden_size": 48, "initializer_range": 0.2,
            "original_max_position_embeddings": 16, **rope(**LONG, partial_rotary_factor=0.5),
        },
    ),
    "GPT2": (
        "GPT2",
        {
            "vocab_size": 61, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 64,
            "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None,
        },
    ),
    "GPT2: falling scale": (
        "GPT2",
        {
            "vocab_size": 61, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 64,
            "scale_attn_by_inverse_layer_idx": True, "n_inner": 30, "initializer_range": 0.3,
            "activation_function": "relu", "bos_token_id": None, "eos_token_id": None,
        },
    ),
    "GPT2: raw scores, exact gelu": (
        "GPT2",
        {
            "vocab_size": 61, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 64,
            "scale_attn_weights": False, "activation_function": "gelu", "initializer_range": 0.3,
            "layer_norm_epsilon": 1e-3, "bos_token_id": None, "eos_token_id": None,
        },
    ),
    "DeepseekV2": ("DeepseekV2", LATENT),
    "DeepseekV2: no query latent": (
        "DeepseekV2", {**LATENT, "q_lora_rank": None, "mlp_bias": True, "attention_bias": True},
    ),
    "DeepseekV2: yarn": (
        "DeepseekV2", LATENT | rope(**YARN, mscale=0.707, mscale_all_dim=0.707)
    ),
    "DeepseekV3": ("DeepseekV3", LATENT),
    "DeepseekV3: yarn": ("DeepseekV3", LATENT | rope(**YARN, mscale=1.0, mscale_all_dim=0.8)),
    "DeepseekV3: one weight": ("DeepseekV3", LATENT | rope(**YARN, mscale_all_dim=1.0)),
    "DeepseekV3: halves, no query latent": (
        "DeepseekV3", {**LATENT, "rope_interleave": False, "q_lora_rank": None},
    ),
}  # fmt: skip

EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss")
MOE = {**SIZES, "hidden_size": 20, "head_dim": 6, "intermediate_size": 14}
OSS = {**MOE, "num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 5}
QWEN_MOE = {**MOE, "num_experts": 6, "moe_intermediate_size": 9, "num_experts_per_tok": 2}
CASES |= {  # with experts
    "Mixtral": ("Mixtral", {**MOE, "num_local_experts": 4}),
    "Mixtral: window, one expert a token": (
        "Mixtral",
        {
            **MOE, "num_local_experts": 3, "num_experts_per_tok": 1, "sliding_window": 4,
            "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True, **rope(**YARN),
        },
    ),
    "Qwen3Moe": ("Qwen3Moe", QWEN_MOE),
    "Qwen3Moe: normalized, some dense, windows": (
        "Qwen3Moe",
        {
            **QWEN_MOE, "norm_topk_prob": True, "mlp_only_layers": [0], "attention_bias": True,
            "use_sliding_window": True, "sliding_window": 5, "num_experts_per_tok": 6,
        },
    ),
    "Qwen3Moe: every second layer": ("Qwen3Moe", {**QWEN_MOE, "decoder_sparse_step": 2}),
    "GptOss": ("GptOss", OSS),
    "GptOss: bounds that are met": (
        "GptOss",
        {
            **OSS, "swiglu_limit": 0.5, "swiglu_alpha": 0.8, "num_experts_per_tok": 5,
            "attention_bias": False, "hidden_act": "relu",
            "layer_types": ["full_attention", "full_attention", "sliding_attention"],
            **rope(**YARN, truncate=False, beta_fast=4.0),
        },
    ),
}  # fmt: skip


def eager(model):
    """The loop over experts, which alone takes float64."""
    if model.config.model_type in EXPERTS:
        model.set_experts_implementation("eager")


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A model of Hugging Face, its configuration as a file holds it, and ours of it."""
    family, options = CASES[request.param]
    torch.manual_seed(0)
    described = getattr(transformers, f"{family}Config")(**copy.deepcopy(options))
    kind = "LMHeadModel" if family == "GPT2" else "ForCausalLM"
    theirs = getattr(transformers, f"{family.removesuffix('Text')}{kind}")(described)
    theirs = theirs.eval().double()
    eager(theirs)
    with torch.no_grad():  # biases and gains start as the trivial ones
        for name, weight in theirs.named_parameters():
            if weight.ndim == 1 or name.endswith("proj_bias"):
                weight.add_(0.2 * torch.randn_like(weight))
        if family.startswith(("Gemma", "Olmo")):  # else each token is followed by itself
            theirs.get_input_embeddings().weight.mul_(0.25)
    config = config_from_hf(described.to_dict())
    assert config.tie_embeddings is described.tie_word_embeddings
    return theirs, config, from_hf(theirs.state_dict(), described.to_dict())


@pytest.fixture
def fresh(case):
    """Hugging Face's model as new: dynamic rules remember the longest sequence they met."""
    return copy.deepcopy(case[0])


def tokens_of(batch, seq):
    return torch.randint(1, 61, (batch, seq), generator=torch.Generator().manual_seed(3))


def ours_of(case, module=mt):
    _, config, state = case
    model = module.Decoder(config, dtype="float64")
    model.load_state_dict(state)
    return model


@torch.no_grad()
def test_logits_are_equal_in_both_backends(case, fresh):
    tokens = tokens_of(2, 40)
    expected = fresh(tokens).logits.numpy()
    assert np.abs(expected).max() > 1  # else the tolerance would say little
    np.testing.assert_allclose(ours_of(case)(tokens).numpy(), expected, atol=ATOL)
    reference = ours_of(case, ma)
    np.testing.assert_allclose(reference(tokens.numpy()), expected, atol=ATOL)


@torch.no_grad()
@pytest.mark.parametrize("chunks", [(11, 1, 1, 1, 9, 1), (17, 6, 1)])
def test_chunks_and_steps_with_a_cache_are_equal(case, fresh, chunks):
    """Also where keys keep the frequencies of their own step, as both do for dynamic rules."""
    tokens = tokens_of(2, sum(chunks))
    ours, past = ours_of(case), None
    caches = ours.new_caches(2, sum(chunks))
    start = 0
    for size in chunks:
        part = tokens[:, start : start + size]
        start += size
        answer = fresh(part, past_key_values=past, use_cache=True)
        past = answer.past_key_values
        got = ours(part, caches=caches)
        np.testing.assert_allclose(got.numpy(), answer.logits.numpy(), atol=ATOL)


@torch.no_grad()
def test_greedy_generation_is_equal_for_a_padded_batch(case, fresh):
    tokens, lengths = tokens_of(3, 9), torch.tensor([9, 4, 7])
    mask = (torch.arange(9) >= 9 - lengths[:, None]).long()
    tokens = tokens * mask
    if fresh.config.model_type == "gemma2":  # not for SDPA, and beside it padding is NaN in float64
        fresh = fresh.float()
    expected = fresh.generate(
        tokens, attention_mask=mask, max_new_tokens=12, min_new_tokens=12, do_sample=False,
        pad_token_id=0, eos_token_id=None,
    )  # fmt: skip
    # Of all classes only Phi3's drops its cache where LongRoPE changes its factors, and so turns
    # all keys anew; in the others, and here, keys keep the frequencies of their own step.
    recomputes = fresh.config.model_type == "phi3" and "long_factor" in fresh.config.rope_parameters
    ours, reference = ours_of(case), ours_of(case, ma)
    got = mt.generate(
        ours, tokens, max_new_tokens=12, lengths=lengths,
        caches=None if recomputes else ours.new_caches(3, 20),
    )  # fmt: skip
    assert torch.equal(got, expected)
    got = ma.generate(
        reference, tokens.numpy(), max_new_tokens=12, lengths=lengths.numpy(),
        caches=None if recomputes else reference.new_caches(3, 20),
    )  # fmt: skip
    np.testing.assert_array_equal(got, expected.numpy())


@torch.no_grad()
def test_a_saved_model_runs_in_two_lines(case, fresh, tmp_path):
    fresh.save_pretrained(tmp_path, max_shard_size="20KB")
    for backend, module in (("numpy", ma), ("torch", mt)):
        config, weights = read_checkpoint(tmp_path, backend=backend)
        assert config == case[1]
        model = module.Decoder(config, dtype="float64")
        model.load_state_dict(weights)
        expected = to_numpy(ours_of(case).state_dict())
        for name, weight in to_numpy(model.state_dict()).items():
            np.testing.assert_array_equal(weight, expected[name])


@torch.no_grad()
@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("Llama", {**SIZES, "sliding_window": 3}),
        ("Mistral", {**SIZES, "sliding_window": 3, "layer_types": ["full_attention"] * 3}),
        ("DeepseekV3", {**LATENT, "mlp_bias": True}),
        ("Gemma2", {**GEMMA2, "sliding_window_pattern": 3, "hidden_act": "relu"}),
        ("Gemma3Text", {**GEMMA3, "attn_logit_softcapping": 1.0}),
        ("SmolLM3", {**SIZES, "sliding_window": 3}),
        ("Mixtral", {**MOE, "num_local_experts": 3, "router_jitter_noise": 0.5}),
        ("Qwen3Moe", {**QWEN_MOE, "sliding_window": 3, "max_window_layers": 1}),
        ("GptOss", {**OSS, "experts_per_token": 1, "initial_context_length": 8}),
    ],
)
def test_what_a_family_ignores_in_its_file_changes_nothing_here(family, options):
    torch.manual_seed(4)
    described = getattr(transformers, f"{family}Config")(**copy.deepcopy(options))
    kind = f"{family.removesuffix('Text')}ForCausalLM"
    theirs = getattr(transformers, kind)(described).eval().double()
    eager(theirs)
    config = config_from_hf({**described.to_dict(), **options})
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), described.to_dict(), config=config))
    tokens = tokens_of(2, 12)
    expected = theirs(tokens, use_cache=False).logits  # their caches do read what is ignored
    np.testing.assert_allclose(ours(tokens).numpy(), expected.numpy(), atol=ATOL)


@pytest.mark.parametrize("name", ["Mixtral", "Qwen3Moe", "GptOss: bounds that are met"])
def test_gradients_through_experts_are_equal(name):
    family, options = CASES[name]
    torch.manual_seed(6)
    described = getattr(transformers, f"{family}Config")(**copy.deepcopy(options))
    theirs = getattr(transformers, f"{family}ForCausalLM")(described).double()
    eager(theirs)
    config = config_from_hf(described.to_dict())
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), described.to_dict()))
    tokens = tokens_of(2, 15)
    for logits in (theirs(tokens, use_cache=False).logits, ours(tokens)):
        rows, targets = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
        torch.nn.functional.cross_entropy(rows, targets).backward()
    theirs_grads = {n: p.grad for n, p in theirs.named_parameters()}
    expected = from_hf(theirs_grads, described.to_dict())
    for key, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[key], atol=2e-6, rtol=2e-4, msg=key)
    assert max(g.abs().max() for g in expected.values()) > 1e-2


FUSED = {  # class, options, path of the attention, order of its rows, our options
    "Falcon, one group": (
        "Falcon", {"multi_query": True, "new_decoder_architecture": False}, "h.0.self_attention",
        "grouped", {"n_kv_heads": 1, "rope": RopeConfig("half")},
    ),
    "Falcon, groups": (
        "Falcon", {"num_kv_heads": 2, "new_decoder_architecture": True, "bias": True},
        "h.0.self_attention", "grouped",
        {"n_kv_heads": 2, "bias": True, "rope": RopeConfig("half")},
    ),
    "Falcon, all heads": (
        "Falcon", {"multi_query": False, "new_decoder_architecture": False}, "h.0.self_attention",
        "grouped", {"rope": RopeConfig("half")},
    ),
    "Bloom": ("Bloom", {}, "h.0.self_attention", "grouped", {"bias": True, "alibi": True}),
    "Mpt": ("Mpt", {"d_model": 24, "n_layers": 1, "n_heads": 4}, "blocks.0.attn", "stacked",
            {"alibi": True}),
    "GPTNeoX": (
        "GPTNeoX",
        {"intermediate_size": 40, **rope(partial_rotary_factor=0.5, rope_type="default")},
        "layers.0.attention", "grouped",
        {"bias": True, "rope": RopeConfig("half", theta=100.0, rotary_dim=6)},
    ),
}  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("name", FUSED)
def test_attention_with_fused_projections_is_equal(name):
    family, options, path, order, kind = FUSED[name]
    sizes = {"hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    if family == "Mpt":
        sizes = {}
        options = {**options, "d_model": 48}
    torch.manual_seed(1)
    described = getattr(transformers, f"{family}Config")(
        vocab_size=61, initializer_range=0.3, **sizes, **options
    )
    model = getattr(transformers, f"{family}Model")(described).eval().double()
    layer, seen = model.get_submodule(path), {}
    for parameter_name, weight in layer.named_parameters():
        weight.normal_(0, 0.3 if parameter_name.endswith("weight") else 1)

    def keep(_, given, named, answer):
        seen["x"] = given[0] if given else named["hidden_states"]
        seen["out"] = answer[0]
        if family == "Bloom":  # adds the stream itself, as its second argument
            seen["out"] = seen["out"] - given[1]

    layer.register_forward_hook(keep, with_kwargs=True)
    model(tokens_of(2, 19))

    config = AttentionConfig(48, 4, 12, **kind)
    state, theirs = {}, layer.state_dict()
    for full, weight in theirs.items():
        part, _, last = full.rpartition(".")
        if part in ("query_key_value", "Wqkv"):
            for letter, rows in zip("qkv", split_qkv(weight, config, order=order), strict=True):
                state[f"{letter}_proj.{last}"] = rows
        else:
            state[f"o_proj.{last}"] = weight
    for module in (mt, ma):
        ours = module.GroupedQueryAttention(config, dtype="float64")
        ours.load_state_dict(state)
        got = ours(seen["x"] if module is mt else seen["x"].numpy())
        np.testing.assert_allclose(np.asarray(got), seen["out"].numpy(), atol=ATOL)


@torch.no_grad()
@pytest.mark.parametrize("family", ["DeepseekV2", "DeepseekV3"])
@pytest.mark.parametrize("q_lora_rank", [None, 12])
def test_latent_weights_in_the_other_rotary_layout_give_the_same_logits(family, q_lora_rank):
    torch.manual_seed(1)
    options = {**LATENT, "q_lora_rank": q_lora_rank, "attention_bias": True}
    described = getattr(transformers, f"{family}Config")(**options)
    theirs = getattr(transformers, f"{family}ForCausalLM")(described).eval().double()
    for name, weight in theirs.named_parameters():
        if name.endswith("bias"):
            weight.normal_()
    config = config_from_hf(described.to_dict())
    turned = LatentConfig(**{**vars(config.attention), "rope": RopeConfig("half")})
    half = DecoderConfig(**{**vars(config), "attention": turned})
    tokens = tokens_of(2, 20)
    expected = theirs(tokens).logits.numpy()
    for module in (mt, ma):
        model = module.Decoder(half, dtype="float64")
        model.load_state_dict(from_hf(theirs.state_dict(), described.to_dict(), config=half))
        got = np.asarray(model(tokens if module is mt else tokens.numpy()))
        np.testing.assert_allclose(got, expected, atol=ATOL)
    # Layouts are not interchangeable: unconverted rows give another model.
    model.load_state_dict(from_deepseek(theirs.state_dict(), half, layout="half"))
    assert np.abs(model(tokens.numpy()) - expected).max() > 0.1


@torch.no_grad()
def test_a_prompt_in_chunks_longer_than_the_window_fills_a_ring_as_mistral_does():
    torch.manual_seed(2)
    described = transformers.MistralConfig(**SIZES, sliding_window=5)
    theirs = transformers.MistralForCausalLM(described).eval().double()
    config = config_from_hf(described.to_dict())
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), described.to_dict()))
    tokens = tokens_of(2, 33)
    expected = theirs(tokens).logits[:, -1].numpy()
    for chunk in (None, 1, 3, 5, 8, 32):
        caches = ours.new_caches(2, 60)
        assert {type(cache).__name__ for cache in caches} == {"SlidingWindowCache"}
        got = mt.prefill(ours, tokens, caches, chunk=chunk)
        np.testing.assert_allclose(got.numpy(), expected, atol=ATOL)
    expected = theirs.generate(tokens, max_new_tokens=20, min_new_tokens=20, do_sample=False)
    got = mt.generate(ours, tokens, max_new_tokens=20, caches=ours.new_caches(2, 60), chunk=8)
    assert torch.equal(got, expected)


LEGACY = {  # configuration files as they were published, before rope_parameters
    "Llama": {"rope_theta": 500000.0, "rope_scaling": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16, "rope_type": "llama3"}},
    "Llama, no head_dim": {"rope_scaling": {"type": "linear", "factor": 2.0}},
    "Llama, no rule": {"rope_scaling": None},
    "Mistral": {"rope_theta": 10000.0, "sliding_window": 9},
    "Qwen2": {"rope_theta": 1e6, "use_sliding_window": False, "sliding_window": 9,
              "max_window_layers": 2, "rope_scaling": {**YARN, "type": "yarn"}},
    "Qwen2, later windows": {
        "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2},
    "Gemma": {"hidden_act": "gelu", "hidden_activation": None, "rope_theta": 1e4},
    "Gemma2": {"rope_theta": 100.0, "sliding_window": 9, "sliding_window_size": 9,
               "query_pre_attn_scalar": 144, "cache_implementation": "hybrid"},
    "Gemma3Text": {"rope_theta": 1e5, "rope_local_base_freq": 1e3, "sliding_window": 9,
                   "sliding_window_pattern": 3, "query_pre_attn_scalar": 168,
                   "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
    "Olmo2": {"rope_theta": 5e5, "rope_scaling": None, "rms_norm_eps": 1e-6},
    "SmolLM3": {"rope_theta": 5e6, "no_rope_layers": [1, 0, 1], "sliding_window": None,
                "use_sliding_window": False, "max_window_layers": 2, "pretraining_tp": 2},
    "SmolLM3, windows": {"sliding_window": 9, "use_sliding_window": True,
                         "no_rope_layer_interval": 3},
    "Qwen3": {"rope_theta": 1e6, "sliding_window": None, "use_sliding_window": False},
    "Phi3": {"original_max_position_embeddings": 16, "rope_theta": 1e4, "rope_scaling": {
        "type": "longrope", "short_factor": [1.0, 1.1, 1.3], "long_factor": [1.5, 2.5, 4.0]}},
    "DeepseekV2": {"rope_theta": 1e4, "rope_scaling": {
        "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
        "original_max_position_embeddings": 16, "type": "yarn"}},
    "DeepseekV3": {"rope_theta": 1e4, "num_nextn_predict_layers": 1, "rope_scaling": {
        "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 16, "type": "yarn"}},
}  # fmt: skip


# What a file leaves out has the default value of its family.
LEGACY |= {f"{name}, nothing said": {} for name in (
    "Llama", "Mistral", "Qwen2", "Qwen3", "Phi3", "DeepseekV2", "DeepseekV3", "GPT2", "Gemma",
    "Gemma2", "Gemma3Text", "Olmo2", "SmolLM3")}  # fmt: skip
SAID = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
        "num_attention_heads", "max_position_embeddings", "kv_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "n_layer", "n_embd", "n_head", "n_positions")  # fmt: skip


@pytest.mark.parametrize("name", LEGACY)
def test_published_files_mean_what_hugging_face_reads_in_them(name):
    family = name.split(",")[0]
    sizes = LATENT if family.startswith("Deepseek") else SIZES
    names = {"DeepseekV2": "deepseek_v2", "DeepseekV3": "deepseek_v3", "Gemma3Text": "gemma3_text"}
    model_type = names.get(family)
    if family == "GPT2":
        sizes = CASES["GPT2"][1]
    if "nothing said" in name:
        sizes = {key: sizes[key] for key in SAID if key in sizes}
        sizes |= {"hidden_size": 64, "num_attention_heads": 32} if family != "GPT2" else {}
    if name == "DeepseekV2, nothing said":  # its default is that no layer is dense
        sizes["first_k_dense_replace"] = 3
    published = {"model_type": model_type or family.lower(), **sizes, **LEGACY[name]}
    read = getattr(transformers, f"{family}Config").from_dict(copy.deepcopy(published))
    assert config_from_hf(published) == config_from_hf(read.to_dict())


def test_the_text_part_of_a_file_for_images_and_text_says_only_what_differs():
    """As that of Gemma-3-4B, which names neither its vocabulary nor its heads."""
    part = {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "sliding_window": 1024,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    }  # fmt: skip
    config = config_from_hf(part)
    read = transformers.Gemma3TextConfig.from_dict(copy.deepcopy(part))
    assert config == config_from_hf(read.to_dict())
    assert (config.vocab_size, config.attention[0].n_kv_heads) == (262208, 4)
    assert [layer.window for layer in config.attention].count(None) == 5
    assert {layer.rope.theta for layer in config.attention} == {1e4, 1e6}


@torch.no_grad()
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_embeddings_are_scaled_by_a_factor_of_their_own_type(dtype):
    """The root of 3072 is 55.4256, and 55.5 in bfloat16."""
    described = {"model_type": "gemma", **SIZES, "hidden_size": 3072, "num_hidden_layers": 1}
    config = config_from_hf({**described, "head_dim": 2, "intermediate_size": 1})
    ours, kind = mt.Decoder(config, dtype=dtype), getattr(torch, dtype)
    module = transformers.models.gemma.modeling_gemma.GemmaTextScaledWordEmbedding
    theirs = module(61, 3072, 0, embed_scale=3072**0.5).to(kind)
    theirs.weight.copy_(ours.embed_tokens.weight)
    assert torch.equal(ours._embed_tokens(tokens_of(2, 9)), theirs(tokens_of(2, 9)))
    if dtype != "bfloat16":
        reference = ma.Decoder(config, dtype=dtype)
        reference.load_state_dict(to_numpy(ours.state_dict()))
        got = reference._embed_tokens(tokens_of(2, 9).numpy())
        np.testing.assert_array_equal(got, theirs(tokens_of(2, 9)).numpy())


@torch.no_grad()
def test_a_gain_of_gemma_in_bfloat16_is_whole_before_it_is_rounded():
    """Read from half precision the sum is exact; a decoder in bfloat16 rounds it once."""
    described = {"model_type": "gemma", **WIDE}
    stored = {"model.norm.weight": torch.linspace(-0.9, 0.9, 24).bfloat16()}
    weights = from_hf(stored, described)["norm.weight"]
    assert weights.dtype == torch.float32
    exact = 1 + stored["model.norm.weight"].double()
    assert torch.equal(weights.double(), exact)
    assert ((weights.bfloat16().double() - exact).abs() <= 2.0**-9 * exact).all()
    half = {"model.norm.weight": np.linspace(-0.9, 0.9, 24).astype(np.float16)}
    assert from_hf(half, described)["norm.weight"].dtype == np.float32


@torch.no_grad()
@pytest.mark.parametrize("family", ["Gemma2", "Gemma3Text"])
def test_gains_rounded_to_bfloat16_cost_no_more_than_its_other_roundings(family):
    """Hugging Face adds the 1 in float32 in each pass, this decoder when it reads the file."""
    torch.manual_seed(0)
    options = GEMMA2 if family == "Gemma2" else GEMMA3
    described = getattr(transformers, f"{family}Config")(**copy.deepcopy(options))
    theirs = getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(described).eval()
    for weight in theirs.parameters():
        if weight.ndim == 1:
            weight.add_(0.2 * torch.randn_like(weight))
    theirs, tokens = theirs.bfloat16(), tokens_of(4, 40)
    config = config_from_hf(described.to_dict())
    weights = from_hf(theirs.state_dict(), described.to_dict())
    logits = {"theirs": theirs(tokens).logits.double()}
    for dtype in ("bfloat16", "float64"):
        ours = mt.Decoder(config, dtype=dtype)
        ours.load_state_dict(weights)
        logits[dtype] = ours(tokens).double()
    exact = logits["float64"]
    errors = {name: (logits[name] - exact).norm() / exact.norm() for name in logits}
    assert 0 < errors["bfloat16"] < min(0.05, 1.3 * errors["theirs"]), errors


@torch.no_grad()
def test_the_text_part_of_a_saved_gemma_3_for_images_runs_as_its_refusal_says(tmp_path):
    torch.manual_seed(0)
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "image_size": 28,
        "num_attention_heads": 2, "patch_size": 14,
    }  # fmt: skip
    images = {"boi_token_index": 58, "eoi_token_index": 59, "image_token_index": 60}
    described = transformers.Gemma3Config(
        text_config=copy.deepcopy(GEMMA3), vision_config=vision, mm_tokens_per_image=4, **images
    )
    theirs = transformers.Gemma3ForConditionalGeneration(described).eval()
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="pass its text_config, whose model_type is gemma3_text"):
        read_checkpoint(tmp_path)
    part = json.loads((tmp_path / "config.json").read_text())["text_config"]
    begin = "language_model."
    weights = {
        name.removeprefix(begin): weight
        for name, weight in load_safetensors(
            tmp_path / "model.safetensors", backend="torch"
        ).items()
        if name.startswith(begin)
    }
    ours = mt.Decoder(config_from_hf(part))
    ours.load_state_dict(from_hf(weights, part))
    tokens = tokens_of(2, 20) % 57
    expected = theirs(tokens, token_type_ids=torch.zeros_like(tokens)).logits
    np.testing.assert_allclose(ours(tokens).numpy(), expected.numpy(), atol=ATOL)
