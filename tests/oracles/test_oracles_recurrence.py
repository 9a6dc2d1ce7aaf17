"""Layers with a state, beside Hugging Face's PyTorch functions, which compute in float32."""

from __future__ import annotations

import importlib
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MiniMaxConfig
from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention

from tests.sampling import sampled

MODELS = "transformers.models.{0}.modeling_{0}"
SEEDS = range(30)
BOUND = {"rtol": 2e-4, "atol": 2e-5}


def seeds_of(*families: str) -> Any:
    """Each family with each seed; a few of each in a quick run."""
    cases = [(family, seed) for family in families for seed in SEEDS]
    return pytest.mark.parametrize(
        ("family", "seed"), sampled(cases, lambda case: case[0], of_each=3)
    )


def module_of(family: str) -> Any:
    return importlib.import_module(MODELS.format(family))


class Drawn:
    """Random sizes, and numbers in (batch, seq, heads, …), as Hugging Face orders them."""

    def __init__(self, seed: int) -> None:
        draw = Random(f"state {seed}")
        self.torch = torch.Generator().manual_seed(seed)
        self.batch, self.groups = draw.randint(1, 3), draw.choice([1, 2, 3])
        self.heads = self.groups * draw.choice([1, 2])
        self.key_dim, self.width = draw.choice([1, 4, 7, 16]), draw.choice([1, 3, 8])
        self.seq, self.chunk = draw.randint(1, 40), draw.choice([1, 4, 5, 16, 64])
        self.rate, self.starts = draw.choice([0.01, 1.0, 30.0]), draw.random() < 0.5

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(self.batch, *shape, generator=self.torch)

    def uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(self.batch, *shape, generator=self.torch)

    def first_state(self) -> torch.Tensor | None:
        return self.normal(self.heads, self.key_dim, self.width) if self.starts else None


def given(lib: Any, tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else lib.array(tensor.detach().numpy())


def by_head(lib: Any, tensor: torch.Tensor, heads: int) -> Any:
    """Turn (batch, seq, heads or groups, …) into (batch, heads, seq, …)."""
    tensor = tensor.repeat_interleave(heads // tensor.shape[2], dim=2)
    return given(lib, tensor.transpose(1, 2).contiguous())


def all_forms(lib: Any, chunk: int, arrays: list[Any], **options: Any) -> Any:
    """Yield (batch, seq, heads, width) and the last state of each form."""
    for form, more in (("recurrent", {}), ("chunked", {"chunk": chunk}), ("parallel", {})):
        call = getattr(lib, f"{form}_attention")
        out, state = call(*arrays, **options, **more, return_state=True)
        yield np.swapaxes(lib.numpy(out), 1, 2), lib.numpy(state)


def agree(found: Any, expected: tuple[torch.Tensor, torch.Tensor]) -> None:
    for out, state in found:
        np.testing.assert_allclose(out, expected[0].numpy(), **BOUND)
        np.testing.assert_allclose(state, expected[1].numpy(), **BOUND)


# ---- The delta rule with decay ----


@seeds_of("qwen3_next", "olmo_hybrid")
def test_gated_delta_is_theirs_step_by_step_and_by_chunks(lib, family, seed):
    drawn, theirs = Drawn(seed), module_of(family)
    q, k = (drawn.normal(drawn.seq, drawn.groups, drawn.key_dim) for _ in range(2))
    v = drawn.normal(drawn.seq, drawn.heads, drawn.width)
    decay = -drawn.rate * drawn.uniform(drawn.seq, drawn.heads)
    beta = drawn.uniform(drawn.seq, drawn.heads)
    state = drawn.first_state()
    options = {"initial_state": state, "output_final_state": True, "use_qk_l2norm_in_kernel": True}
    norms = (by_head(lib, theirs.l2norm(a), drawn.heads) for a in (q, k))
    ours = [*norms, by_head(lib, v, drawn.heads)]
    rest = {"log_decay": by_head(lib, decay, drawn.heads), "beta": by_head(lib, beta, drawn.heads)}
    steps = theirs.torch_recurrent_gated_delta_rule(q, k, v, decay, beta, **options)
    chunks = theirs.torch_chunk_gated_delta_rule(
        q, k, v, decay, beta, chunk_size=drawn.chunk, **options
    )
    for expected in (steps, chunks):
        agree(all_forms(lib, drawn.chunk, ours, **rest, state=given(lib, state)), expected)


@seeds_of("kimi_linear")
def test_kimi_delta_is_theirs_step_by_step_and_by_chunks(lib, family, seed):
    drawn, theirs = Drawn(seed), module_of(family)
    q, k, decay = (drawn.normal(drawn.seq, drawn.heads, drawn.key_dim) for _ in range(3))
    v, beta = (
        drawn.normal(drawn.seq, drawn.heads, drawn.width),
        drawn.uniform(drawn.seq, drawn.heads),
    )
    decay, state = -drawn.rate * decay.abs(), drawn.first_state()
    options = {"initial_state": state, "output_final_state": True, "use_qk_l2norm_in_kernel": True}
    ours = [by_head(lib, a, drawn.heads) for a in (theirs.l2norm(q), theirs.l2norm(k), v)]
    rest = {"log_decay": by_head(lib, decay, drawn.heads), "beta": by_head(lib, beta, drawn.heads)}
    steps = theirs.recurrent_kimi_delta_attention(q, k, v, decay, beta, **options)
    chunks = theirs.chunk_kimi_delta_attention(
        q, k, v, decay, beta, chunk_size=drawn.chunk, **options
    )
    for expected in (steps, chunks):
        agree(all_forms(lib, drawn.chunk, ours, **rest, state=given(lib, state)), expected)


# ---- Mamba-2 ----


@seeds_of("mamba2", "nemotron_h")
def test_mamba2_is_the_same_mechanism(lib, family, seed):
    """Its C asks, its B is the key, its input times the step the value; D passes the input on."""
    drawn, theirs = Drawn(seed), module_of(family)
    x, step = (
        drawn.normal(drawn.seq, drawn.heads, drawn.width),
        drawn.normal(drawn.seq, drawn.heads),
    )
    keys, asks = (drawn.normal(drawn.seq, drawn.groups, drawn.key_dim) for _ in range(2))
    rates = -drawn.rate * torch.rand(drawn.heads, generator=drawn.torch)
    passed, shift = torch.randn(2, drawn.heads, generator=drawn.torch)
    state = drawn.first_state()
    first = None if state is None else state.transpose(2, 3).contiguous()
    out, last = theirs.mamba2_chunk_scan(
        x, step, rates, keys, asks, chunk_size=drawn.chunk, D=passed, dt_bias=shift,
        dt_softplus=True, initial_states=first, return_final_states=True,
    )  # fmt: skip
    steps = torch.nn.functional.softplus(step + shift)
    ours = [by_head(lib, a, drawn.heads) for a in (asks, keys, x * steps[..., None])]
    decay = by_head(lib, steps * rates, drawn.heads)
    found = all_forms(lib, drawn.chunk, ours, log_decay=decay, state=given(lib, state), scale=1)
    agree(found, (out - x * passed[:, None], last.transpose(2, 3)))
    # One more token, by the function for a single one: the first one again.
    held, wide = last.clone(), (drawn.heads, drawn.width)
    token = theirs.mamba2_selective_state_update(
        held, x[:, 0], step[:, 0, :, None].expand(-1, *wide),
        rates[:, None, None].expand(*wide, drawn.key_dim), keys[:, 0], asks[:, 0],
        D=passed[:, None].expand(wide), dt_bias=shift[:, None].expand(wide), dt_softplus=True,
    )  # fmt: skip
    again = {"log_decay": decay[:, :, :1], "state": given(lib, last.transpose(2, 3).contiguous())}
    found = all_forms(lib, drawn.chunk, [a[:, :, :1] for a in ours], **again, scale=1)
    agree(found, ((token - x[:, 0] * passed[:, None])[:, None], held.transpose(2, 3)))


# ---- Lightning attention ----


@seeds_of("minimax")
def test_lightning_attention_is_a_constant_decay(lib, family, seed):
    """A whole layer, of which we compute what stands between its projections."""
    drawn = Drawn(seed)
    drawn.key_dim += drawn.key_dim % 2  # rotary embeddings of other layers ask for that
    config = MiniMaxConfig(
        hidden_size=12, num_attention_heads=drawn.heads, head_dim=drawn.key_dim,
        num_hidden_layers=4, block_size=drawn.chunk, hidden_act="silu",
        layer_types=["linear_attention"] * 4,
    )  # fmt: skip
    torch.manual_seed(seed)
    layer = MiniMaxLightningAttention(config, layer_idx=seed % 4)
    x = torch.randn(drawn.batch, drawn.seq, 12)
    keep = torch.arange(drawn.seq) >= torch.randint(drawn.seq, (drawn.batch, 1))
    middle: dict[str, torch.Tensor] = {}
    layer.norm.register_forward_pre_hook(lambda _, args: middle.update(out=args[0].detach()))
    with torch.no_grad():
        layer(x, None, keep)
        mixed = layer.act_fn(layer.qkv_proj(x)).unflatten(2, (drawn.heads, -1))
    q, k, v = (by_head(lib, part, drawn.heads) for part in mixed.split(drawn.key_dim, dim=3))
    slopes = layer.slope_rate[:, 0, 0].expand(drawn.batch, drawn.seq, -1)
    options = {
        "log_decay": by_head(lib, -slopes, drawn.heads),
        "keep": given(lib, keep),
        "scale": 1,
    }
    for out, _ in all_forms(lib, drawn.chunk, [q, k, v], **options):
        expected = middle["out"].unflatten(2, (drawn.heads, -1))
        np.testing.assert_allclose(out, expected.numpy(), **BOUND)


# ---- The short convolution ----


@seeds_of("qwen3_next", "kimi_linear", "mamba2")
def test_the_convolution_is_theirs_whole_and_token_by_token(lib, family, seed):
    drawn, theirs = Drawn(seed), module_of(family)
    channels, width = drawn.key_dim, 1 + seed % 5
    x = drawn.normal(drawn.seq, channels)
    weight = torch.randn(channels, width, generator=drawn.torch)
    bias = torch.randn(channels, generator=drawn.torch) if seed % 2 else None
    activation = "silu" if seed % 3 else None
    ours = (given(lib, x), given(lib, weight), given(lib, bias))
    options = {"activation": activation, "return_state": True}
    out, state = lib.short_convolution(*ours, **options)
    expected = theirs.causal_conv1d_fn(x.mT, weight, bias, activation=activation).mT
    np.testing.assert_allclose(lib.numpy(out), expected.numpy(), **BOUND)
    held = torch.from_numpy(np.array(lib.numpy(state))).mT.contiguous()
    if width > 1:
        token = drawn.normal(1, channels)
        expected = theirs.causal_conv1d_update(token.mT, held, weight, bias, activation).mT
        ours = (given(lib, token), *ours[1:])
        out, state = lib.short_convolution(*ours, state=state, **options)
        np.testing.assert_allclose(lib.numpy(out), expected.numpy(), **BOUND)
        np.testing.assert_allclose(lib.numpy(state), held.mT.numpy(), **BOUND)
