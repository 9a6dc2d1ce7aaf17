"""What a mask hides counts nothing, even NaN and infinity; who may see such a one gets NaN."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, LatentConfig, RopeConfig

ODD = pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf], ids=str)
BATCH, HEADS, KV_HEADS, Q_LEN, KV_LEN, DIM = 2, 4, 2, 3, 6, 5


def draw(rng, q_len=Q_LEN):
    shapes = ((HEADS, q_len), (KV_HEADS, KV_LEN), (KV_HEADS, KV_LEN))
    return [rng.standard_normal((BATCH, heads, seq, DIM)) for heads, seq in shapes]


def rules(q_len=Q_LEN):
    """Name -> (options of attention, hidden keys (batch, kv_len))."""
    hidden = np.zeros((BATCH, KV_LEN), bool)
    hidden[0, :2] = hidden[1, 4:] = True
    positions = np.where(hidden, -1, np.arange(KV_LEN))
    mask = np.broadcast_to(~hidden[:, None], (BATCH, q_len, KV_LEN))
    first = np.zeros((BATCH, KV_LEN), bool)
    first[:, 0] = True
    second = np.zeros((BATCH, KV_LEN), bool)
    second[:, 1] = True
    behind = {"causal": True, "window": KV_LEN - q_len - 1, "sink_tokens": 1}
    last = np.full(q_len, KV_LEN)
    return {
        "mask": ({"mask": mask}, hidden),
        "empty slots": ({"kv_positions": positions}, hidden),
        "empty slots, causal": (
            {"kv_positions": positions, "q_positions": last, "causal": True}, hidden,
        ),
        "window": ({"causal": True, "window": KV_LEN - q_len}, first),
        "first token and window": (behind, second),
        "mask, bias": ({"mask": mask, "bias": np.ones((q_len, KV_LEN))}, hidden),
        "mask, softcap": ({"mask": mask, "softcap": 2.0}, hidden),
    }  # fmt: skip


RULES = pytest.mark.parametrize("rule", rules())
LENGTHS = pytest.mark.parametrize("q_len", [1, Q_LEN])


def poison(arrays, hidden, odd):
    """Keys and values with something that is not finite wherever nobody looks."""
    q, k, v = arrays
    at = hidden[:, None, :, None]
    return q, np.where(at, odd, k), np.where(at, odd, v)


def given(lib, options):
    return {n: lib.array(o) if isinstance(o, np.ndarray) else o for n, o in options.items()}


@ODD
@RULES
@LENGTHS
def test_what_is_hidden_changes_nothing(lib, rng, rule, q_len, odd):
    options, hidden = rules(q_len)[rule]
    clean = poison(draw(rng, q_len), hidden, 0.0)
    calls = (lib.scaled_dot_product_attention, lambda *a, **o: lib.online_attention(*a, **o)[0])
    for call in calls:
        expected, found = (
            lib.numpy(call(*map(lib.array, arrays), **given(lib, options)))
            for arrays in (clean, poison(clean, hidden, odd))
        )
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(found, expected, atol=1e-12)


@ODD
@RULES
def test_nor_weights_and_sums(lib, rng, rule, odd):
    options, hidden = rules()[rule]
    clean = poison(draw(rng), hidden, 0.0)
    both = {"return_weights": True, "return_lse": True}
    for a, b in zip(
        *(
            lib.scaled_dot_product_attention(*map(lib.array, x), **given(lib, options), **both)
            for x in (clean, poison(clean, hidden, odd))
        ),
        strict=True,
    ):
        np.testing.assert_allclose(lib.numpy(b), lib.numpy(a), atol=1e-12)


@ODD
@RULES
@LENGTHS
def test_nor_gradients(lib, rng, rule, q_len, odd):
    options, hidden = rules(q_len)[rule]
    clean = poison(draw(rng, q_len), hidden, 0.0)
    d_out = rng.standard_normal(clean[0].shape)
    expected, found = (
        lib.attention_backward(lib.array(d_out), *map(lib.array, x), **given(lib, options))
        for x in (clean, poison(clean, hidden, odd))
    )
    for a, b in zip(expected, found, strict=True):
        assert np.isfinite(lib.numpy(a)).all()
        np.testing.assert_allclose(lib.numpy(b), lib.numpy(a), atol=1e-12)


@ODD
@RULES
@LENGTHS
def test_nor_those_that_pytorch_finds(rng, rule, q_len, odd):
    options, hidden = rules(q_len)[rule]
    options = {n: torch.tensor(o) if isinstance(o, np.ndarray) else o for n, o in options.items()}
    clean, grads = poison(draw(rng, q_len), hidden, 0.0), []
    d_out = torch.from_numpy(rng.standard_normal(clean[0].shape))
    for arrays in (clean, poison(clean, hidden, odd)):
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
        mt.scaled_dot_product_attention(*tensors, **options).backward(d_out)
        grads.append([t.grad for t in tensors])
    for a, b in zip(*grads, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(b, a, atol=1e-12, rtol=0)


@RULES
def test_what_is_visible_is_not_hushed_up(lib, rng, rule):
    """A NaN at the last key, which every query may see, but for a row of the mask."""
    options, hidden = rules()[rule]
    seen = int(np.flatnonzero(~hidden[0])[-1])
    for which in (1, 2):
        arrays = [a.copy() for a in poison(draw(rng), hidden, np.nan)]
        arrays[which][0, :, seen] = np.nan
        out = lib.scaled_dot_product_attention(*map(lib.array, arrays), **given(lib, options))
        found = np.isnan(lib.numpy(out))
        assert found[0, :, -1].all()
        assert not found[1].any()


CONFIGS = {
    "gqa": AttentionConfig(8, 4, 2, n_kv_heads=2),
    "rope": AttentionConfig(8, 4, 2, n_kv_heads=2, rope=RopeConfig("half")),
    "mla": LatentConfig(8, 2, 4, 2, 2, 3, rope=RopeConfig("interleaved")),
}


def layer_of(lib, name):
    kind = lib.MultiHeadLatentAttention if name == "mla" else lib.GroupedQueryAttention
    return kind(CONFIGS[name], dtype="float64")


@pytest.mark.parametrize("name", CONFIGS)
def test_padding_that_is_nan_changes_no_other_token(lib, rng, name):
    layer, x = layer_of(lib, name), rng.standard_normal((2, 5, 8))
    positions = np.array([[0, 1, 2, 3, 4], [-1, -1, 0, 1, 2]])
    forms = [{"form": "expanded"}, {"form": "absorbed"}] if name == "mla" else [{}]
    for options in forms:
        outs = []
        for padding in (0.0, np.nan):
            x[1, :2] = padding
            out = layer(lib.array(x), positions=lib.array(positions), **options)
            outs.append(lib.numpy(out).copy())
        np.testing.assert_allclose(outs[1][0], outs[0][0], atol=1e-12)
        np.testing.assert_allclose(outs[1][1, 2:], outs[0][1, 2:], atol=1e-12)
        assert np.isfinite(outs[0]).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_nor_any_weights_gradient(rng, name):
    x, found = rng.standard_normal((2, 5, 8)), []
    positions = torch.tensor([[0, 1, 2, 3, 4], [-1, -1, 0, 1, 2]])
    forms = [{"form": "expanded"}, {"form": "absorbed"}] if name == "mla" else [{}]
    for options in forms:
        for padding in (0.0, np.nan):
            layer = mt.MultiHeadLatentAttention if name == "mla" else mt.GroupedQueryAttention
            layer = layer(CONFIGS[name], dtype="float64")
            x[1, :2] = padding
            tokens = torch.tensor(x, requires_grad=True)
            out = layer(tokens, positions=positions, **options)
            (out[0].sum() + out[1, 2:].sum()).backward()
            found.append(tokens.grad)
        torch.testing.assert_close(found[-1][0], found[-2][0])
        torch.testing.assert_close(found[-1][1, 2:], found[-2][1, 2:])


def test_a_decode_step_over_whole_arrays_reads_no_free_slot(lib, rng):
    """Free slots hold NaN; positions say that they are empty."""
    q, k, v = draw(rng, 1)
    positions = np.array([[0, 1, 2, 3, -1, -1], [0, 1, 2, -1, -1, -1]])
    k, v = (np.where((positions < 0)[:, None, :, None], np.nan, a) for a in (k, v))
    out = lib.scaled_dot_product_attention(
        *map(lib.array, (q, k, v)),
        causal=True,
        q_positions=lib.array(np.array([[3], [2]])),
        kv_positions=lib.array(positions),
    )
    assert np.isfinite(lib.numpy(out)).all()
    for row, n in enumerate((4, 3)):
        alone = [a[row : row + 1, :, : n if a is not q else 1] for a in (q, k, v)]
        single = lib.scaled_dot_product_attention(*map(lib.array, alone))
        np.testing.assert_allclose(lib.numpy(out)[row], lib.numpy(single)[0], atol=1e-12)
