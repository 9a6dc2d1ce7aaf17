"""Published models against Hugging Face's classes, built without memory for their weights."""

from __future__ import annotations

import pytest
import torch
import transformers

from mini_attn import cost
from mini_attn.models import MODELS


def llama_like(kind, width, layers, heads, kv_heads, d_ff, vocab, **more):
    return kind(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=d_ff,
        vocab_size=vocab,
        **more,
    )


LLAMA, GEMMA = transformers.LlamaConfig, transformers.Gemma2Config
CONFIGS = {
    "gpt2": transformers.GPT2Config(),
    "gpt2-medium": transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16),
    "gpt2-large": transformers.GPT2Config(n_embd=1280, n_layer=36, n_head=20),
    "gpt2-xl": transformers.GPT2Config(n_embd=1600, n_layer=48, n_head=25),
    "llama-2-7b": llama_like(LLAMA, 4096, 32, 32, 32, 11008, 32000),
    "llama-2-70b": llama_like(LLAMA, 8192, 80, 64, 8, 28672, 32000),
    "llama-3-8b": llama_like(LLAMA, 4096, 32, 32, 8, 14336, 128256),
    "llama-3-70b": llama_like(LLAMA, 8192, 80, 64, 8, 28672, 128256),
    "mistral-7b": transformers.MistralConfig(),
    "gemma-2-9b": llama_like(GEMMA, 3584, 42, 16, 8, 14336, 256000, head_dim=256),
    "qwen3-8b": llama_like(transformers.Qwen3Config, 4096, 36, 32, 8, 12288, 151936, head_dim=128),
    "deepseek-v3": transformers.DeepseekV3Config(),
}


def test_every_model_has_a_class():
    assert set(CONFIGS) == set(MODELS)


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_of_the_real_class(name):
    with torch.device("meta"):
        real = transformers.AutoModelForCausalLM.from_config(CONFIGS[name])
    real.tie_weights()
    count = sum(weight.numel() for weight in real.parameters())
    # The bias that selects experts is a buffer there: it is stored, but no gradient trains it.
    count += sum(b.numel() for key, b in real.named_buffers() if key.endswith("correction_bias"))
    assert cost.parameter_count(MODELS[name]) == count


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "deepseek-v3"])
@pytest.mark.parametrize("context", [100, 5000])
def test_cache_bytes_of_the_real_class(name, context):
    """Windowed and full layers each as that class allocates them. (It expands latent keys.)"""
    config, model = CONFIGS[name], MODELS[name]
    cache = transformers.StaticCache(config=config, max_cache_len=context)
    cache.early_initialization(
        batch_size=3,
        num_heads=getattr(config, "num_key_value_heads", config.num_attention_heads),
        head_dim=getattr(config, "head_dim", config.hidden_size // config.num_attention_heads),
        dtype=torch.bfloat16,
        device="meta",
    )
    total = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert cost.cache_bytes(model, batch=3, context=context, dtype_bytes=2) == total
