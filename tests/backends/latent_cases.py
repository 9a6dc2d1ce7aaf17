"""The kernel of absorbed latent attention, on whatever device runs it.

`test_triton_latent` runs this file in processes of its own: Triton decides whether to interpret
when it is imported.
"""

from __future__ import annotations

import os

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import LatentConfig, RopeConfig
from mini_attn.torch.attention import _latent_attention
from mini_attn.torch.kernels import _triton_latent as kernel

DEVICE = os.environ["KERNEL_DEVICE"]
BOUNDS = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
# batch, n_heads, q_len, kv_len, rank, rope: one and many rows, odd widths, a width of a power of 2
SIZES = [(1, 4, 1, 70, 24, 8), (2, 16, 1, 131, 64, 16), (2, 6, 5, 40, 33, 6), (3, 1, 2, 2, 1, 2)]


def draw(size, dtype):
    batch, n_heads, q_len, kv_len, rank, rope = size
    generator = torch.Generator().manual_seed(1)

    def some(*shape):
        return torch.randn(shape, generator=generator).to(DEVICE, dtype)

    longer = (batch, kv_len + 7, rank)  # as a cache is
    latent = torch.full(longer, torch.nan, device=DEVICE, dtype=dtype)
    latent[:, :kv_len] = some(batch, kv_len, rank)
    q, q_rope = some(batch, n_heads, q_len, rank), some(batch, n_heads, q_len, rope)
    return q, q_rope, latent[:, :kv_len], some(batch, kv_len, rope)


def by_definition(q, q_rope, latent, rope_key, scale, seen):
    """In float64, with the keys joined."""
    keys = torch.cat([latent, rope_key], dim=-1).double()[:, None]
    scores = scale * torch.cat([q, q_rope], dim=-1).double() @ keys.transpose(-1, -2)
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=-1)
    return torch.nan_to_num(weights) @ torch.nan_to_num(latent.double())[:, None]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("programs", [1, 5, 256])
def test_the_kernel_is_the_definition_however_it_is_cut(size, dtype, programs):
    arrays = draw(size, dtype)
    batch, _, q_len, kv_len, *_ = size
    everything = torch.ones(batch, 1, q_len, kv_len, dtype=torch.bool, device=DEVICE)
    expected = by_definition(*arrays, 0.2, everything)
    out = kernel.attend(*arrays, 0.2, programs=programs, least=1)
    assert out.dtype == dtype
    assert (out.double() - expected).abs().max() < BOUNDS[dtype] * expected.abs().max().clamp(min=1)


@pytest.mark.parametrize("size", SIZES[:3], ids=str)
@pytest.mark.parametrize("programs", [1, 256])
@pytest.mark.parametrize("placed", [False, True])
def test_sinks(size, programs, placed):
    """Each head's own, in whatever spans its sum was found; a query without keys gives zeros."""
    arrays = draw(size, torch.float32)
    batch, n_heads, q_len, kv_len, rank, _ = size
    sinks = torch.randn(n_heads, generator=torch.Generator().manual_seed(2)).to(DEVICE) * 2 + 3
    sinks[-1] = -torch.inf
    places, seen = None, torch.ones(batch, 1, q_len, kv_len, dtype=torch.bool, device=DEVICE)
    if placed:
        kv = torch.arange(kv_len, device=DEVICE).expand(batch, -1)
        q_places = kv[:, kv_len - q_len :].clone()
        q_places[0, 0] = -1
        places, seen = (q_places, kv), (kv[:, None] <= q_places[..., None])[:, None]
    keys = torch.cat([arrays[2], arrays[3]], dim=-1).double()[:, None]
    scores = 0.2 * torch.cat(arrays[:2], dim=-1).double() @ keys.transpose(-1, -2)
    terms = scores.exp() * seen
    total = terms.sum(dim=-1, keepdim=True) + sinks.double().exp()[:, None, None]
    expected = terms @ arrays[2].double()[:, None] / total.clamp(min=1e-300)
    out = kernel.attend(*arrays, 0.2, places=places, sinks=sinks, programs=programs, least=1)
    assert (out.double() - expected).abs().max() < 2e-6 * expected.abs().max().clamp(min=1)
    assert rank == out.shape[3]


@pytest.mark.parametrize("size", SIZES[:3], ids=str)
@pytest.mark.parametrize("programs", [1, 5, 256])
def test_positions_decide_and_empty_slots_are_not_read(size, programs):
    arrays = draw(size, torch.float32)
    batch, _, q_len, kv_len, *_ = size
    kv_places = torch.arange(kv_len) - torch.tensor([[0], [9], [3]])[:batch]
    kv_places = kv_places.clamp(min=-1).to(DEVICE)
    kv_places[:, kv_len // 2] = -1  # a hole
    q_places = kv_places[:, kv_len - q_len :].clone()
    q_places[0, 0] = -1  # a padded query sees nothing
    for array in arrays[2:]:
        array[kv_places < 0] = torch.nan
    at, place = kv_places[:, None, None], q_places[:, None, :, None]
    expected = by_definition(*arrays, 0.2, (at >= 0) & (at <= place))
    out = kernel.attend(*arrays, 0.2, places=(q_places, kv_places), programs=programs, least=1)
    assert (out.double() - expected).abs().max() < 2e-6
    assert (out[0, :, 0] == 0).all()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [True, False])
def test_a_layer_on_the_kernel_is_the_layer_without(monkeypatch, padded, causal):
    config = LatentConfig(12, 3, 20, 6, 4, 5, rope=RopeConfig("interleaved"))
    layer = mt.MultiHeadLatentAttention(config, device=DEVICE)
    x = torch.randn(2, 11, 12, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    positions = torch.arange(7, device=DEVICE).repeat(2, 1)
    if padded:
        positions = positions - torch.tensor([[2], [0]], device=DEVICE)
    found, used = [], []

    def counted(*arguments, **options):
        used.append(options["places"] is not None)
        return attend(*arguments, **options)

    attend = kernel.attend
    monkeypatch.setattr(kernel, "attend", counted)
    for module in (None, kernel):
        monkeypatch.setattr(_latent_attention, "_kernel", lambda *arrays, m=module: m)
        cache = layer.new_cache(2, 11)
        options = {"cache": cache, "causal": causal, "form": "absorbed"}
        with torch.no_grad():
            outs = [layer(x[:, :7], positions=positions.clamp(min=-1), **options)]
            outs += [layer(x[:, 7:10], **options), layer(x[:, 10:], **options)]
        found.append(torch.cat(outs, dim=1))
    # A lone newest token, or all tokens without an order and without padding, need no positions.
    assert used == [causal or padded, causal or padded, padded or False]
    torch.testing.assert_close(found[1], found[0], atol=1e-6, rtol=0)


def test_shares_of_spans_add_up():
    """With one token in each span the merge alone makes the softmax."""
    arrays = draw((1, 2, 1, 64, 16, 4), torch.float32)
    one = kernel.attend(*arrays, 1.0, programs=1, least=1)
    many = kernel.attend(*arrays, 1.0, programs=10_000, least=1)
    torch.testing.assert_close(many, one, atol=1e-6, rtol=1e-7)
