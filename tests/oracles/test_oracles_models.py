"""Published models against Hugging Face's classes, built without memory for their weights."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.variants import variant
from tests.cost.published import PUBLISHED, kept_shape
from tests.sampling import sampled

ROPE = ("rope_theta", "rope_scaling", "rope_local_base_freq")
# Families whose layers another one's classes have: those of Kimi, and of text beside images.
SAME = {"kimi_k2": "deepseek_v3", "qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe"}


def family(name):
    kind = PUBLISHED[name]["model_type"]
    return SAME.get(kind, kind)


def configuration(name):
    """The model's fields in the class they belong to; rotation changes no size."""
    left = (*ROPE, "model_type")
    fields = {key: value for key, value in PUBLISHED[name].items() if key not in left}
    # Their classes write into the rules that they are given.
    return transformers.AutoConfig.for_model(family(name), **copy.deepcopy(fields))


def built(name):
    """The real model on the meta device: every size, no memory. Windows are cut to 3 tokens."""
    config = configuration(name)
    if MODELS[name].window:
        config.sliding_window = 3
    # This way of running experts does not ask which were chosen, which no meta tensor knows.
    experts = {"experts_implementation": "batched_mm"} if MODELS[name].n_experts else {}
    make = transformers.AutoModelForCausalLM.from_config
    if family(name) == "mistral4":  # which that doesn't know without its part for images
        make = transformers.Mistral4ForCausalLM._from_config
    with torch.device("meta"):
        real = make(config, attn_implementation="eager", **experts)
    real.tie_weights()
    return real.eval()


def counted_flops(real, cache, q_len, kv_len):
    """FLOPs that torch counts in one pass of two sequences, with logits for every row."""
    # Masks that are ready-made are not looked into; BLOOM and its like make theirs themselves.
    masks = {"full_attention": kv_len, "sliding_attention": min(kv_len, 3 + q_len - 1)}
    masks = {key: torch.zeros((2, 1, q_len, n), device="meta") for key, n in masks.items()}
    kinds = set(getattr(real.config, "layer_types", None) or ())
    if len(kinds) < 2:
        windowed = getattr(real.config, "sliding_window", None)
        masks = masks["sliding_attention" if windowed else "full_attention"]
    use = {
        "attention_mask": masks,
        "position_ids": torch.arange(kv_len - q_len, kv_len, device="meta")[None],
    }
    if real.config.model_type in ("bloom", "falcon", "mpt"):
        use = {}
    tokens = torch.zeros((2, q_len), dtype=torch.int64, device="meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        real(tokens, past_key_values=cache, use_cache=True, **use)
    return counter.get_total_flops()


def kinds():
    """Every model once; those whose class has counted another one's FLOPs already, in the soak.

    The model with the fewest layers speaks for a class with its kinds of layers and experts, and in
    a sample for all classes that have these.
    """
    spoken, found = set(), []
    for name in sorted(MODELS, key=lambda name: MODELS[name].n_layers):
        if MODELS[name].spans or MODELS[name].linear:
            continue  # their layers are compared one by one, without what lies between
        model = MODELS[name]
        kind = (family(name), model.attention, bool(model.window), bool(model.n_experts))
        later = [pytest.mark.exhaustive] if kind[1:] in spoken else []
        marks = [pytest.mark.soak] if kind in spoken else later
        found.append(pytest.param(name, marks=marks))
        spoken |= {kind, kind[1:]}
    return found


def uncounted(real, model):
    """What DeepSeek-V4's class has more than costs know: its hyper-connections, less than 0.02%.

    Costs also give each choice of experts its bias, which three layers that look theirs up lack.
    """
    parts = [module for module in real.modules() if "Hyper" in type(module).__name__]
    more = sum(weight.numel() for part in parts for weight in part.parameters())
    assert 0 < more < 2e-4 * cost.parameter_count(model)
    lookups = sum("HashRouter" in type(module).__name__ for module in real.modules())
    assert lookups == 3
    return lookups * model.n_experts - more


@pytest.mark.parametrize("name", sampled(MODELS, lambda name: MODELS[name].attention, 3))
def test_parameters_of_the_real_class(name):
    model, real = MODELS[name], built(name)
    count = sum(weight.numel() for weight in real.parameters())
    # Stored as buffers there, so that no gradient trains them: the bias that selects experts,
    # and the number that multiplies what a layer gives.
    stored = ("correction_bias", "layer_scalar")
    count += sum(b.numel() for key, b in real.named_buffers() if key.endswith(stored))
    if "hc_mult" in PUBLISHED[name]:
        count += uncounted(real, model)
    assert cost.parameter_count(model) == count
    transposed = any(type(part).__name__ == "Conv1D" for part in real.modules())
    assert model.transposed_weights == transposed


@pytest.mark.parametrize("name", kinds())
def test_flops_of_the_real_class(name):
    model, real = MODELS[name], built(name)
    if model.window:
        model = dataclasses.replace(model, window=3)
    cache = transformers.DynamicCache(config=real.config)
    latent = model.kv_lora_rank > 0
    form = "expanded" if latent else None  # the only one that it has
    prefill = cost.matmul_flops(model, q_len=5, kv_len=5, batch=2, logit_rows=5, form=form)
    if model.index_topk:  # it scores though there is nothing to choose
        each = cost.indexer_flops(model.index_n_heads, model.index_head_dim, pairs=5 * 5)
        prefill["indexer"] += 2 * model.n_layers * each
    assert counted_flops(real, cache, 5, 5) == sum(prefill.values())
    if not latent:  # it keeps expanded keys, so that a step expands no old latents
        step = cost.matmul_flops(model, q_len=1, kv_len=6, batch=2)
        assert counted_flops(real, cache, 1, 6) == sum(step.values())


HEADS = [
    name for name, model in MODELS.items()
    if variant(model.attention).config_class == "AttentionConfig"
    and not model.linear  # which that class does not allocate
    and (model.full_head_dim or model.v_head_dim == model.head_dim)  # it allocates one size
]  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("context", [100, 5000])
def test_cache_bytes_of_the_real_class(name, context):
    """Windowed and full layers each as that class allocates them. (It expands latent keys.)"""
    config, model = configuration(name), MODELS[name]
    cache = transformers.StaticCache(config=config, max_cache_len=context)
    shapes = [kept_shape(PUBLISHED[name], layer) for layer in range(len(cache.layers))]
    heads, sizes, _ = (list(each) for each in zip(*shapes, strict=True))
    cache.early_initialization(
        batch_size=3, num_heads=heads, head_dim=sizes, dtype=torch.bfloat16, device="meta"
    )
    keeping = cache.layers[: model.n_layers - model.n_kv_shared_layers]
    total = sum(layer.keys.nbytes + layer.values.nbytes for layer in keeping)
    assert cost.cache_bytes(model, batch=3, context=context, dtype_bytes=2) == total
