"""Attention against PyTorch's own: SDPA under each backend of a CPU, flex_attention, autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import mini_attn.numpy as ma
import mini_attn.torch as mt

BOUNDS = {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
LENGTHS = [(1, 1), (1, 19), (7, 7), (5, 19), (70, 133)]


def draw(n_kv_heads=2, q_len=5, kv_len=19, *, dtype=torch.float64, width=8, v_width=8, n_heads=6):
    generator = torch.Generator().manual_seed(q_len * 100 + kv_len)
    shapes = [(2, n_heads, q_len, width), (2, n_kv_heads, kv_len, width)]
    shapes += [(2, n_kv_heads, kv_len, v_width)]
    return [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]


def answers(*arrays, **options):
    """Ours, every way: plain and tiled, each in both backends where NumPy has the type."""
    found = [mt.scaled_dot_product_attention(*arrays, **options)]
    found.append(mt.online_attention(*arrays, **options, block_q=16, block_k=16)[0])
    if arrays[0].dtype != torch.bfloat16:
        arrays = [a.numpy() for a in arrays]
        options = {n: o.numpy() if torch.is_tensor(o) else o for n, o in options.items()}
        found.append(torch.from_numpy(ma.scaled_dot_product_attention(*arrays, **options)))
        found.append(torch.from_numpy(ma.online_attention(*arrays, **options)[0]))
    return found


def agree(found, expected):
    for out in found:
        assert out.dtype == expected.dtype
        torch.testing.assert_close(out, expected, atol=BOUNDS[expected.dtype], rtol=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize(("q_len", "kv_len"), LENGTHS)
def test_everything_seen(backend, dtype, q_len, kv_len):
    arrays = draw(6, q_len, kv_len, dtype=dtype)
    with sdpa_kernel(BACKENDS[backend]):
        expected = F.scaled_dot_product_attention(*arrays)
        scaled = F.scaled_dot_product_attention(*arrays, scale=0.11)
    agree(answers(*arrays), expected)
    agree(answers(*arrays, scale=0.11), scaled)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_grouped_heads(n_kv_heads, causal, dtype):
    """`enable_gqa` repeats each key/value head for its neighbors, as we read it."""
    q, k, v = draw(n_kv_heads, 17, 17, dtype=dtype)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
    agree(answers(q, k, v, causal=causal), expected)
    group = 6 // n_kv_heads
    spelled = (a.repeat_interleave(group, dim=1) for a in (k, v))
    agree([expected], F.scaled_dot_product_attention(q, *spelled, is_causal=causal))


def test_a_tiled_repeat_is_another_grouping():
    """What the order of the heads decides: `repeat` gives head 1 to query head 1, not 0."""
    q, k, v = draw(2, 5, 5)
    tiled = F.scaled_dot_product_attention(q, k.repeat(1, 3, 1, 1), v.repeat(1, 3, 1, 1))
    assert (mt.scaled_dot_product_attention(q, k, v) - tiled).abs().max() > 0.1


@pytest.mark.parametrize(("q_len", "kv_len"), LENGTHS)
def test_causal_is_aligned_to_the_last_key(q_len, kv_len):
    """SDPA's `is_causal` is not: with a cache its first query sees one key, ours all before it.

    Both are the same square mask, and both are positions: SDPA counts queries from 0, we count
    them as the last of the keys. PyTorch's own name for ours is `causal_lower_right`.
    """
    arrays = draw(2, q_len, kv_len)
    lower = F.scaled_dot_product_attention(
        *arrays, attn_mask=causal_lower_right(q_len, kv_len), enable_gqa=True
    )
    agree(answers(*arrays, causal=True), lower)
    upper = F.scaled_dot_product_attention(*arrays, is_causal=True, enable_gqa=True)
    agree(answers(*arrays, causal=True, q_positions=torch.arange(q_len)), upper)
    mask = causal_upper_left(q_len, kv_len)
    agree([F.scaled_dot_product_attention(*arrays, attn_mask=mask, enable_gqa=True)], upper)
    assert torch.allclose(lower, upper) == (q_len == kv_len)


@pytest.mark.parametrize("shape", [(5, 19), (2, 1, 5, 19), (1, 6, 5, 19), (2, 6, 5, 19), (1, 19)])
def test_masks(shape):
    """True = may attend in both."""
    arrays = draw(2)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.6
    mask[..., 0] = True  # rows without keys have their own test
    expected = F.scaled_dot_product_attention(*arrays, attn_mask=mask, enable_gqa=True)
    agree(answers(*arrays, mask=mask), expected)


def test_a_mask_for_each_sequence_has_three_axes_here_and_four_there():
    arrays = draw(2)
    mask = torch.rand((2, 5, 19), generator=torch.Generator().manual_seed(3)) < 0.6
    mask[..., 0] = True
    expected = F.scaled_dot_product_attention(*arrays, attn_mask=mask[:, None], enable_gqa=True)
    agree(answers(*arrays, mask=mask), expected)


@pytest.mark.parametrize("shape", [(5, 19), (1, 6, 5, 19), (2, 1, 5, 19)])
def test_a_float_mask_is_a_bias(shape):
    arrays = draw(3)
    bias = torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    expected = F.scaled_dot_product_attention(*arrays, attn_mask=bias, enable_gqa=True)
    agree(answers(*arrays, bias=bias), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_without_keys_is_zero(backend):
    """SDPA gave NaN here until it learned the safe softmax; we give zeros, and so does it now."""
    arrays = draw(6)
    mask = torch.ones(5, 19, dtype=torch.bool)
    mask[2] = False
    with sdpa_kernel(BACKENDS[backend]):
        expected = F.scaled_dot_product_attention(*arrays, attn_mask=mask)
    assert (expected[:, :, 2] == 0).all()
    agree(answers(*arrays, mask=mask), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_log_sum_exp_of_the_flash_kernel_is_natural_as_ours(causal, dtype):
    arrays = draw(6, 33, 33, dtype=dtype)
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, lse = flash(*arrays, is_causal=causal)[:2]
    for module in (mt, ma):
        given = [a if module is mt else a.numpy() for a in arrays]
        plain = module.scaled_dot_product_attention(*given, causal=causal, return_lse=True)
        tiled = module.online_attention(*given, causal=causal)
        for found in (plain, tiled):
            np.testing.assert_allclose(np.asarray(found[0]), out.numpy(), atol=BOUNDS[dtype])
            np.testing.assert_allclose(np.asarray(found[1]), lse.numpy(), atol=BOUNDS[dtype])


WINDOWS = [1, 4, 100]


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize(("q_len", "kv_len"), [(7, 7), (5, 19), (70, 133)])
def test_windows_and_soft_caps_of_flex_attention(window, softcap, q_len, kv_len):
    """Its mask functions get the query's number in this call: the offset is ours to add."""
    q, k, v = draw(2, q_len, kv_len, dtype=torch.float32, v_width=4)
    offset = kv_len - q_len

    def seen(batch, head, query, key):
        return (key <= query + offset) & (query + offset - key < window)

    def capped(score, batch, head, query, key):
        return softcap * torch.tanh(score / softcap)

    expected, aux = flex_attention(
        q, k, v,
        score_mod=None if softcap is None else capped,
        block_mask=create_block_mask(seen, None, None, q_len, kv_len, device="cpu"),
        enable_gqa=True,
        return_aux=AuxRequest(lse=True),
    )  # fmt: skip
    options = {"causal": True, "window": window, "softcap": softcap}
    agree(answers(q, k, v, **options), expected)
    _, lse = mt.online_attention(q, k, v, **options)
    torch.testing.assert_close(lse, aux.lse, atol=2e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_positions_are_a_mask_of_flex_attention():
    """Two sequences, one of them padded on its left."""
    q, k, v = draw(2, 6, 6, dtype=torch.float32)
    places = torch.tensor([[0, 1, 2, 3, 4, 5], [-1, -1, 0, 1, 2, 3]])

    def seen(batch, head, query, key):
        at, place = places[batch, key], places[batch, query]
        return (at >= 0) & (at <= place)

    mask = create_block_mask(seen, 2, None, 6, 6, device="cpu")
    expected = flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
    options = {"causal": True, "q_positions": places, "kv_positions": places}
    agree(answers(q, k, v, **options), expected)


@pytest.mark.parametrize("n_kv_heads", [1, 3, 6])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients(n_kv_heads, masked):
    """Of the formula in both backends, of autograd through ours, and of SDPA's own backward."""
    arrays = [a.requires_grad_() for a in draw(n_kv_heads, 5, 9)]
    d_out = torch.randn(2, 6, 5, 8, generator=torch.Generator().manual_seed(9)).double()
    mask = torch.ones(5, 9, dtype=torch.bool).tril(2) if masked else None
    theirs = F.scaled_dot_product_attention(*arrays, attn_mask=mask, enable_gqa=True)
    expected = torch.autograd.grad(theirs, arrays, d_out)
    given = {} if mask is None else {"mask": mask}
    formulas = [mt.attention_backward(d_out, *arrays, **given)]
    for attention in (mt.scaled_dot_product_attention, mt.online_attention):
        out = attention(*arrays, **given)
        out = out[0] if isinstance(out, tuple) else out
        formulas.append(torch.autograd.grad(out, arrays, d_out))
    plain = [a.detach().numpy() for a in (d_out, *arrays)]
    given = {} if mask is None else {"mask": mask.numpy()}
    formulas.append([torch.from_numpy(g) for g in ma.attention_backward(*plain, **given)])
    for found in formulas:
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-12, rtol=0)
