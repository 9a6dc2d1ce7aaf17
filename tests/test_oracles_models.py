"""Published models against Hugging Face's classes, built without memory for their weights."""

from __future__ import annotations

import pytest
import torch
import transformers

from mini_attn import cost
from mini_attn.models import MODELS
from tests.published import PUBLISHED, shape

ROPE = ("rope_theta", "rope_scaling", "rope_local_base_freq")


def configuration(name):
    """The model's fields in the class they belong to; rotation changes no size."""
    fields = {key: value for key, value in PUBLISHED[name].items() if key not in ROPE}
    return transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_the_real_class(name):
    with torch.device("meta"):
        real = transformers.AutoModelForCausalLM.from_config(configuration(name))
    real.tie_weights()
    count = sum(weight.numel() for weight in real.parameters())
    # The bias that selects experts is a buffer there: it is stored, but no gradient trains it.
    count += sum(b.numel() for key, b in real.named_buffers() if key.endswith("correction_bias"))
    assert cost.parameter_count(MODELS[name]) == count


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
