"""The attention kernels against plain attention in float64, on whatever device runs them.

`test_triton` runs this file in processes of its own, as Triton decides when it is imported
whether its kernels are interpreted.
"""

from __future__ import annotations

import itertools
import os

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.kernels import _fused, _triton
from tests.sampling import sampled

DEVICE = os.environ["KERNEL_DEVICE"]
BOUNDS = {torch.float32: 3e-6, torch.float16: 3e-3, torch.bfloat16: 2e-2}
# batch, n_heads, n_kv_heads, q_len, kv_len, head_dim, v_head_dim
SIZES = {
    "one of each": (1, 1, 1, 1, 1, 1, 1),
    "single query, odd widths": (2, 6, 2, 1, 141, 20, 12),
    "single query, one group": (1, 8, 1, 1, 300, 64, 64),
    "a few queries": (1, 6, 2, 5, 75, 16, 32),
    "square": (1, 4, 2, 35, 35, 16, 8),
    "several blocks of rows": (1, 2, 1, 70, 110, 32, 32),
}
RULES = {
    "all": {},
    "causal": {"causal": True},
    "window of one": {"causal": True, "window": 1},
    "window": {"causal": True, "window": 37},
    "wide window": {"causal": True, "window": 1000, "softcap": 1.5},
    "softcap": {"softcap": 2.0, "scale": 0.7},
}


def draw(sizes, dtype=torch.float32):
    batch, n_heads, n_kv_heads, q_len, kv_len, width, v_width = sizes
    generator = torch.Generator().manual_seed(q_len + kv_len)
    shapes = ((n_heads, q_len, width), (n_kv_heads, kv_len, width), (n_kv_heads, kv_len, v_width))
    arrays = (torch.randn(batch, *shape, generator=generator) for shape in shapes)
    return [(a * 2).to(device=DEVICE, dtype=dtype) for a in arrays]


def by_definition(q, k, v, **options):
    wide = (a.double() for a in (q, k, v))  # float64: no kernel takes it
    return mt.scaled_dot_product_attention(*wide, return_lse=True, **options)


def check(found, expected, dtype=torch.float32):
    """Equal up to rounding, and -inf in the same places."""
    for one, other in zip(found, expected, strict=True):
        empty = torch.isneginf(other)
        assert torch.isneginf(one).equal(empty)
        one, other = (a.double().masked_fill(empty, 0) for a in (one, other))
        gap = (one - other).abs().amax()  # NaN is not below any bound
        assert gap <= BOUNDS[dtype] * other.abs().amax().clamp(min=1)


def kernel(q, k, v, spans=0, **rule):
    """The kernel with a given number of spans, positions found as attention finds them."""
    rule = {"causal": False, "window": None, "softcap": None, "scale": None} | rule
    given = [rule.pop(name, None) for name in ("q_positions", "kv_positions")]
    rule["scale"] = q.shape[3] ** -0.5 if rule["scale"] is None else rule["scale"]
    places = None
    if any(place is not None for place in given):
        sizes = (q.shape[2], k.shape[2], q.device)
        named = dict(zip(("q_positions", "kv_positions"), given, strict=True))
        places = Visibility(*sizes, causal=rule["causal"], **named).positions()
    return _triton.attend(q, k, v, places, spans=spans, **rule)


def a_sample(rules, *others):
    """Each size with each rule; in a sample each size and each rule once for each of the others."""
    for i, size in enumerate(SIZES):
        for j, rule in enumerate(rules):
            for shift, more in enumerate(itertools.product(*others)):
                kept = (i + j + shift) % max(len(SIZES), len(rules)) == 0
                marks = () if kept else pytest.mark.exhaustive
                name = "-".join(map(str, (size, rule, *more)))
                yield pytest.param(SIZES[size], RULES[rule], *more, marks=marks, id=name)


@pytest.mark.parametrize(("sizes", "rule", "spans"), list(a_sample(list(RULES), [1, 3])))
def test_every_rule_however_the_keys_are_cut(sizes, rule, spans):
    arrays = draw(sizes)
    check(kernel(*arrays, spans=spans, **rule), by_definition(*arrays, **rule))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("spans", [1, 4])
@pytest.mark.parametrize("name", ["single query, odd widths", "square"])
def test_half_precision(name, dtype, spans):
    arrays = draw(SIZES[name], dtype)
    out, lse = kernel(*arrays, spans=spans, causal=True)
    assert (out.dtype, lse.dtype) == (dtype, torch.float32)
    check((out, lse), by_definition(*arrays, causal=True), dtype)


@pytest.mark.parametrize(("sizes", "rule"), list(a_sample(["causal", "window", "softcap"])))
def test_sinks_join_what_the_kernel_found(sizes, rule):
    """As attention asks for it: the output, and with it the sum, which counts the sink once."""
    arrays = draw(sizes)
    sinks = torch.randn(sizes[1], generator=torch.Generator().manual_seed(1)).to(DEVICE) + 2
    sinks[-1] = -torch.inf
    assert _triton.takes(*arrays)
    expected = by_definition(*arrays, sinks=sinks, **rule)
    check(mt.online_attention(*arrays, sinks=sinks, **rule), expected)
    found = mt.scaled_dot_product_attention(*arrays, sinks=sinks, return_lse=True, **rule)
    check(found, expected)
    alone = mt.scaled_dot_product_attention(*arrays, sinks=sinks, **rule)
    check((alone,), expected[:1])


PLACED = ["single query, odd widths", "a few queries", "square"]


@pytest.mark.parametrize(
    ("name", "rule", "spans", "filler"),
    sampled(
        itertools.product(PLACED, list(RULES)[:4], [1, 3], [float("nan"), 3e4]),
        lambda case: (case[0], case[3]),
    ),
)
def test_positions_in_any_order_and_slots_that_are_empty(name, rule, spans, filler):
    """Left padding, holes, a wrapped ring: what lies in an empty slot counts nothing."""
    q, k, v = draw(SIZES[name])
    batch, q_len, kv_len = q.shape[0], q.shape[2], k.shape[2]
    generator = torch.Generator().manual_seed(0)
    order = torch.stack([torch.randperm(kv_len, generator=generator) for _ in range(batch)])
    kv_positions = (order - kv_len // 3).clamp(min=-1).to(DEVICE)
    q_positions = (torch.arange(q_len) + kv_len - q_len).repeat(batch, 1).to(DEVICE)
    q_positions[0, 0] = -1 if q_len > 1 else q_positions[0, 0]  # a padded query
    places = {"q_positions": q_positions, "kv_positions": kv_positions}
    expected = by_definition(q, k, v, **RULES[rule], **places)
    empty = (kv_positions < 0)[:, None, :, None]
    k, v = (a.masked_fill(empty, filler) for a in (k, v))
    check(kernel(q, k, v, spans=spans, **RULES[rule], **places), expected)


@pytest.mark.parametrize("spans", [1, 5])
def test_a_longer_array_cut_to_its_length_is_never_read_behind(spans):
    q, k, v = draw((2, 4, 2, 3, 200, 24, 24))
    expected = by_definition(q, k[:, :, :77], v[:, :, :77], causal=True)
    k[:, :, 77:], v[:, :, 77:] = float("nan"), float("nan")
    check(kernel(q, k[:, :, :77], v[:, :, :77], spans=spans, causal=True), expected)


def test_tiles_that_nobody_sees_are_not_read():
    q, k, v = draw((1, 2, 1, 4, 512, 16, 16))
    expected = by_definition(q, k, v, causal=True, window=20)
    k[:, :, :384], v[:, :, :384] = float("nan"), float("nan")
    check(kernel(q, k, v, spans=1, causal=True, window=20), expected)
    positions = torch.arange(512, device=DEVICE)
    found = kernel(q, k, v, spans=1, causal=True, window=20, kv_positions=positions)
    check(found, expected)


def test_queries_that_see_nothing():
    q, k, v = draw((2, 2, 1, 3, 40, 16, 8))
    nobody = torch.full((2, 40), -1, device=DEVICE)
    nobody[1] = torch.arange(40)
    for spans in (1, 2):
        out, lse = kernel(q, k, v, spans=spans, kv_positions=nobody)
        assert (out[0] == 0).all()
        assert torch.isneginf(lse[0]).all()
        assert torch.isfinite(lse[1]).all()


def test_arrays_that_lie_anywhere_in_memory():
    """Heads behind tokens, as a projection leaves them, and a cache with more slots."""
    q, k, v = draw((2, 4, 2, 9, 30, 16, 16))
    expected = by_definition(q, k, v, causal=True)
    q = q.transpose(1, 2).contiguous().transpose(1, 2)
    k = torch.cat([k, k], dim=2)[:, :, :30]
    v = torch.cat([v, v], dim=1)[:, :2]
    check(kernel(q, k, v, causal=True), expected)


CHOSEN = {
    "decode": ((1, 4, 2, 1, 50, 16, 16), {}),
    "window": ((1, 4, 2, 20, 20, 16, 16), {"causal": True, "window": 5}),
    "chunk": ((1, 4, 2, 5, 20, 16, 16), {"causal": True}),
    "softcap": ((1, 4, 2, 5, 20, 16, 16), {"softcap": 1.0}),
    "padding": ((2, 4, 2, 5, 20, 16, 16), {"causal": True, "kv_positions": range(-3, 17)}),
}
LEFT = {
    "mask": {"mask": torch.ones(5, 20, dtype=torch.bool)},
    "bias": {"bias": torch.ones(5, 20)},
    "weights": {"return_weights": True},
    "first tokens": {"causal": True, "window": 3, "sink_tokens": 2},
    "all keys": {},
}


def counted(monkeypatch):
    """Calls of the kernel."""
    calls, run = [], _fused.own_kernel

    def attend(*arguments, **options):
        calls.append(options)
        return run(*arguments, **options)

    monkeypatch.setattr(_fused, "own_kernel", attend)
    return calls


@pytest.mark.parametrize("name", CHOSEN)
def test_attention_takes_the_kernel(monkeypatch, name):
    sizes, options = CHOSEN[name]
    if "kv_positions" in options:
        positions = torch.tensor(list(options["kv_positions"]), device=DEVICE).clamp(min=-1)
        options = {**options, "kv_positions": positions}
    arrays, calls = draw(sizes), counted(monkeypatch)
    expected = by_definition(*arrays, **options)
    found = mt.scaled_dot_product_attention(*arrays, return_lse=True, **options)
    check(found, expected)
    alone = mt.scaled_dot_product_attention(*arrays, **options)
    check([alone], expected[:1])
    check(mt.online_attention(*arrays, **options), expected)
    assert len(calls) == 3


@pytest.mark.parametrize("name", LEFT)
def test_attention_leaves_the_kernel_alone(monkeypatch, name):
    options = {n: o.to(DEVICE) if torch.is_tensor(o) else o for n, o in LEFT[name].items()}
    calls = counted(monkeypatch)
    mt.scaled_dot_product_attention(*draw((1, 4, 2, 5, 20, 16, 16)), **options)
    assert calls == []


@pytest.mark.parametrize("q_len", [1, 5])
def test_first_tokens_behind_a_window_are_read_without_the_kernel(monkeypatch, q_len):
    arrays, calls = draw((1, 4, 2, q_len, 40, 16, 16)), counted(monkeypatch)
    rule = {"causal": True, "window": 6, "sink_tokens": 2}
    expected = by_definition(*arrays, mask=mt.causal_mask(q_len, 40, 6, 2).to(DEVICE))
    check(mt.scaled_dot_product_attention(*arrays, return_lse=True, **rule), expected)
    check(mt.online_attention(*arrays, **rule), expected)
    assert calls == []


def test_gradients_and_wide_types_take_the_other_way(monkeypatch):
    calls = counted(monkeypatch)
    q, k, v = draw((1, 2, 1, 1, 9, 16, 16))
    for array in (q, k, v):
        array.requires_grad_()
        mt.online_attention(q, k, v)[0].sum().backward()
        assert array.grad is not None
        with torch.no_grad():
            mt.online_attention(q, k, v)
        array.requires_grad_(False)
    assert len(calls) == 3
    mt.online_attention(*(a.double() for a in (q, k, v)))
    mt.online_attention(*draw((1, 1, 1, 2, 3, 257, 257)))
    mt.online_attention(q, k[:, :, :0], v[:, :, :0])
    assert len(calls) == 3


def test_what_does_not_fit_is_refused_before_the_kernel(monkeypatch):
    calls = counted(monkeypatch)
    q, k, v = draw((2, 2, 1, 4, 3, 16, 16))
    here = {"device": DEVICE}
    for options, error in (
        ({"causal": True}, ShapeError),
        ({"window": 2}, ConfigError),
        ({"causal": True, "window": 0, "q_positions": torch.arange(4, **here)}, ConfigError),
        ({"kv_positions": torch.arange(4, **here)}, ShapeError),
        ({"kv_positions": torch.zeros(3, 3, dtype=torch.int64, **here)}, ShapeError),
        ({"kv_positions": torch.zeros(3, **here)}, DTypeError),
        ({"causal": True, "q_positions": torch.arange(3, **here)}, ShapeError),
    ):
        with pytest.raises(error):
            mt.online_attention(q, k, v, **options)
    assert calls == []


def test_a_compiled_graph_calls_the_kernel():
    """As one operator, whatever the number of keys."""
    q, k, v = draw((1, 4, 2, 1, 64, 16, 16))
    compiled = torch.compile(mt.scaled_dot_product_attention, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for length in (40, 50, 64):
            positions = torch.arange(length, device=DEVICE)
            places = {"kv_positions": positions, "q_positions": positions[-1:], "causal": True}
            keys, values = k[:, :, :length], v[:, :, :length]
            found = compiled(q, keys, values, **places)
            check([found], by_definition(q, keys, values, **places)[:1])


def test_the_operator_keeps_the_rules_of_operators():
    q, k, v = draw((1, 4, 2, 3, 20, 16, 8))
    asked = ("test_schema", "test_faketensor")
    found = torch.library.opcheck(
        torch.ops.mini_attn.online_attention,
        (q, k, v, None, None, True, 7, 0.25, 0.0, 2),
        test_utils=asked,
    )
    assert found == dict.fromkeys(asked, "SUCCESS")
