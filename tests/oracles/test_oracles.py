"""Against implementations that nobody here wrote: PyTorch's attention, Hugging Face's GPT-2."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.weights import from_gpt2


def draw(n_kv_heads, q_len, kv_len, dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    shapes = [(2, 6, q_len, 8), (2, n_kv_heads, kv_len, 8), (2, n_kv_heads, kv_len, 8)]
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("n_kv_heads", [6, 3, 2, 1])
@pytest.mark.parametrize(("q_len", "kv_len"), [(1, 1), (1, 17), (7, 7), (5, 13)])
def test_attention_is_torch_sdpa(n_kv_heads, q_len, kv_len):
    q, k, v = draw(n_kv_heads, q_len, kv_len)
    gqa = n_kv_heads != 6
    plain = F.scaled_dot_product_attention(q, k, v, enable_gqa=gqa)
    mask = torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len)  # bottom right
    causal = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=gqa)
    bias = torch.linspace(-1, 1, kv_len, dtype=torch.float64).expand(q_len, kv_len)
    biased = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=0.3, enable_gqa=gqa)
    for module in (mt, ma):
        arrays = (q, k, v, bias) if module is mt else [a.numpy() for a in (q, k, v, bias)]
        calls = (
            (plain, {}),
            (causal, {"causal": True}),
            (biased, {"bias": arrays[3], "scale": 0.3}),
        )
        for expected, options in calls:
            out = module.scaled_dot_product_attention(*arrays[:3], **options)
            np.testing.assert_allclose(np.asarray(out), expected.numpy(), atol=1e-12)


def test_weights_are_those_of_torch_multihead_attention():
    """torch's nn.MultiheadAttention has the opposite mask polarity: True = dropped."""
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    ours = mt.MultiHeadAttention(
        AttentionConfig(d_model=12, n_heads=3, head_dim=4, bias=True), dtype="float64"
    )
    q, k, v = theirs.in_proj_weight.detach().chunk(3)
    state = {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v}
    for name, bias in zip("qkv", theirs.in_proj_bias.detach().chunk(3), strict=True):
        state[f"{name}_proj.bias"] = bias
    state["o_proj.weight"] = theirs.out_proj.weight.detach()
    state["o_proj.bias"] = theirs.out_proj.bias.detach()
    ours.load_state_dict(state)
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    dropped = ~mt.causal_mask(5, 5)
    expected, _ = theirs(x, x, x, attn_mask=dropped)
    torch.testing.assert_close(ours(x), expected, atol=1e-12, rtol=0)


@pytest.fixture(scope="module")
def gpt2():
    """A small random GPT-2 of Hugging Face, in float64, and our configuration of it."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_layer": 3, "n_embd": 24, "n_head": 4, "vocab_size": 61, "n_positions": 40}
    theirs = GPT2LMHeadModel(GPT2Config(**sizes, initializer_range=0.3)).eval().double()
    with torch.no_grad():  # biases and norms start as the trivial ones
        for weight in theirs.parameters():
            if weight.ndim == 1:
                weight.add_(0.1 * torch.randn_like(weight))
    config = DecoderConfig(
        vocab_size=61,
        n_layers=3,
        attention=AttentionConfig(d_model=24, n_heads=4, head_dim=6, bias=True),
        d_ff=96,
        max_positions=40,
    )
    return theirs, config


def test_logits_are_those_of_gpt2(gpt2):
    theirs, config = gpt2
    state = from_gpt2(theirs.state_dict(), config)
    tokens = torch.randint(0, 61, (2, 40), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        expected = theirs(tokens).logits.numpy()
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(state)
    np.testing.assert_allclose(ours(tokens).detach().numpy(), expected, atol=1e-11)
    reference = ma.Decoder(config, dtype="float64")
    reference.load_state_dict({name: weight.numpy() for name, weight in state.items()})
    np.testing.assert_allclose(reference(tokens.numpy()), expected, atol=1e-11)


def test_a_gpt2_with_a_head_of_its_own_has_its_logits(gpt2):
    tied, config = gpt2
    settings = {**tied.config.to_dict(), "tie_word_embeddings": False}
    theirs = type(tied)(type(tied.config)(**settings)).double().eval()
    untied = DecoderConfig(**{**vars(config), "tie_embeddings": False})
    ours = mt.Decoder(untied, dtype="float64")
    ours.load_state_dict(from_gpt2(theirs.state_dict(), untied))
    tokens = torch.arange(12)[None]
    with torch.no_grad():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=1e-11, rtol=0)
    with pytest.raises(ConfigError, match=r"lm_head\.weight differs from the embeddings"):
        from_gpt2(theirs.state_dict(), config)


def test_generation_is_that_of_gpt2(gpt2):
    theirs, config = gpt2
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(from_gpt2(theirs.state_dict(), config))
    tokens = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    lengths = torch.tensor([5, 3])
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    expected = theirs.generate(
        tokens, attention_mask=mask, max_new_tokens=20, min_new_tokens=20, do_sample=False,
        pad_token_id=0, eos_token_id=None,
    )  # fmt: skip
    caches = ours.new_caches(2, 24)
    got = mt.generate(ours, tokens, max_new_tokens=20, caches=caches, lengths=lengths)
    assert torch.equal(got, expected)


def test_the_logits_and_the_gradients_of_gpt2_agree(gpt2):
    theirs, config = gpt2
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(from_gpt2(theirs.state_dict(), config))
    tokens = torch.arange(12)[None]
    for model in (theirs, ours):
        model.zero_grad()
        logits = model(tokens)
        logits = getattr(logits, "logits", logits)
        F.cross_entropy(logits[0, :-1], tokens[0, 1:]).backward()
    expected = theirs.transformer.h[1].attn.c_attn.weight.grad[:, 24:48].T
    got = ours.layers[1].self_attn.k_proj.weight.grad
    torch.testing.assert_close(got, expected, atol=1e-12, rtol=0)
    table = ours.embed_tokens.weight.grad
    torch.testing.assert_close(table, theirs.transformer.wte.weight.grad, atol=1e-12, rtol=0)


def test_a_gated_decoder_has_the_layers_of_llama():
    """The same parts, one by one, as Hugging Face's Llama (its rotary positions left out)."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=12, intermediate_size=20, num_attention_heads=3)
    mlp, norm = LlamaMLP(config).double(), LlamaRMSNorm(12, eps=1e-6).double()
    torch.nn.init.normal_(norm.weight)
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    ours = mt.GatedMLP(12, 20, dtype="float64")
    ours.load_state_dict(mlp.state_dict())  # the names are the same
    torch.testing.assert_close(ours(x), mlp(x), atol=1e-12, rtol=0)
    got = mt.rms_norm(x, norm.weight.detach())
    torch.testing.assert_close(got, norm(x).detach(), atol=1e-6, rtol=0)  # theirs is in float32


def test_weights_of_another_shape_of_model_are_refused(gpt2):
    theirs, config = gpt2
    state = theirs.state_dict()
    changes = {
        "bias": {"attention": AttentionConfig(24, 4, 6)},
        "n_kv_heads": {"attention": AttentionConfig(24, 4, 6, n_kv_heads=2, bias=True)},
        "v_head_dim": {"attention": AttentionConfig(24, 4, 6, v_head_dim=5, bias=True)},
        "qk_norm": {"attention": AttentionConfig(24, 4, 6, bias=True, qk_norm=True)},
        "norm": {"norm": "rms_norm"},
        "mlp": {"mlp": "gated"},
        "mlp_bias": {"mlp_bias": False},
        "positions": {"positions": "none"},
    }
    for word, change in changes.items():
        broken = DecoderConfig(**{**vars(config), **change})
        with pytest.raises(ConfigError, match=f"GPT-2 needs {word}="):
            from_gpt2(state, broken)
    latent = LatentConfig(24, 4, 6, 4, 2, 6, rope=RopeConfig("half"))
    with pytest.raises(ConfigError, match="GPT-2 has plain attention"):
        from_gpt2(state, DecoderConfig(**{**vars(config), "attention": latent}))
    del state["transformer.h.2.mlp.c_fc.bias"]
    with pytest.raises(ConfigError, match=r"h\.2\.mlp\.c_fc\.bias"):
        from_gpt2(state, config)
