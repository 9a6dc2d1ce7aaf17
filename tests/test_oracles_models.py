"""Published models against Hugging Face's classes, built without memory for their weights."""

from __future__ import annotations

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from mini_attn import cost
from mini_attn.models import MODELS
from tests.published import PUBLISHED, shape

ROPE = ("rope_theta", "rope_scaling", "rope_local_base_freq")


def configuration(name):
    """The model's fields in the class they belong to; rotation changes no size."""
    fields = {key: value for key, value in PUBLISHED[name].items() if key not in ROPE}
    return transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)


def built(name):
    """The real model on the meta device: every size, no memory."""
    # This way of running experts does not ask which were chosen, which no meta tensor knows.
    experts = {"experts_implementation": "batched_mm"} if MODELS[name].n_experts else {}
    with torch.device("meta"):
        real = transformers.AutoModelForCausalLM.from_config(
            configuration(name), attn_implementation="eager", **experts
        )
    real.tie_weights()
    return real.eval()


def counted_flops(real, batch, seq):
    """FLOPs that torch counts in one pass over a prompt, with logits for every row."""
    # A mask that is ready-made is not looked into; BLOOM and its like make theirs themselves.
    mask = torch.zeros((batch, 1, seq, seq), device="meta")
    kinds = set(getattr(real.config, "layer_types", None) or ())
    use = {"attention_mask": dict.fromkeys(kinds, mask) if len(kinds) > 1 else mask}
    if real.config.model_type in ("bloom", "falcon", "mpt"):
        use = {}
    else:
        use["position_ids"] = torch.arange(seq, device="meta")[None]
    tokens = torch.zeros((batch, seq), dtype=torch.int64, device="meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        real(tokens, use_cache=False, **use)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_flops_of_the_real_class(name):
    model, real = MODELS[name], built(name)
    count = sum(weight.numel() for weight in real.parameters())
    # The bias that selects experts is a buffer there: it is stored, but no gradient trains it.
    count += sum(b.numel() for key, b in real.named_buffers() if key.endswith("correction_bias"))
    assert cost.parameter_count(model) == count
    form = "expanded" if model.attention == "mla" else None  # the only one that it has
    parts = cost.matmul_flops(model, q_len=5, kv_len=5, batch=2, logit_rows=5, form=form)
    assert counted_flops(real, 2, 5) == sum(parts.values())


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].attention != "mla"])
@pytest.mark.parametrize("context", [100, 5000])
def test_cache_bytes_of_the_real_class(name, context):
    """Windowed and full layers each as that class allocates them. (It expands latent keys.)"""
    config, model = configuration(name), MODELS[name]
    _, _, _, kv_heads, head_dim = shape(PUBLISHED[name])
    cache = transformers.StaticCache(config=config, max_cache_len=context)
    cache.early_initialization(
        batch_size=3,
        num_heads=kv_heads,
        head_dim=head_dim,
        dtype=torch.bfloat16,
        device="meta",
    )
    total = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert cost.cache_bytes(model, batch=3, context=context, dtype_bytes=2) == total
