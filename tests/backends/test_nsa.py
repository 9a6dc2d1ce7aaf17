"""Three branches: by loops over single queries, at their edges, and what their cache keeps."""

from __future__ import annotations

from math import exp, tanh

import numpy as np
import pytest
import torch

import mini_attn.numpy
import mini_attn.torch
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, NativeSparseConfig, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, MiniAttnError, ShapeError

SIZES = {"d_model": 8, "n_heads": 4, "head_dim": 4, "n_kv_heads": 2, "v_head_dim": 3}
BLOCKS = {"block_size": 3, "n_blocks": 2, "window": 4}
SEQ = 14


def layer_of(lib, dtype="float64", **options):
    config = NativeSparseConfig(**(SIZES | BLOCKS | options))
    layer = lib.NativeSparseAttention(config, dtype=dtype)
    rng = np.random.default_rng(5)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def in_steps(lib, layer, x, steps, mask=None, positions=None):
    """The same with a cache, a few tokens at a time."""
    cache, start, parts = layer.new_cache(len(x), x.shape[1] + 3), 0, []
    for new in steps:
        end = start + new
        options = {} if mask is None else {"mask": mask[:, :, start:end, :end]}
        options |= {} if positions is None else {"positions": positions[:, start:end]}
        parts.append(run(lib, layer, x[:, start:end], cache=cache, **options))
        start = end
    return np.concatenate(parts, axis=1)


# ---- One query after the other, in plain Python ----


def average(query, keys, values, scale, softcap):
    """Softmax attention of one query, and its weights; zeros where there is no key."""
    scores = [scale * sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
    if softcap is not None:
        scores = [softcap * tanh(score / softcap) for score in scores]
    top = max(scores, default=0.0)
    parts = [exp(score - top) for score in scores]
    weights = [part / sum(parts) for part in parts]
    width = range(len(values[0])) if values else []
    return [sum(w * v[d] for w, v in zip(weights, values, strict=True)) for d in width], weights


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def chosen_by_hand(worth, own, some, count):
    """The own block, then the others by worth, the earlier first; hidden ones never help."""
    others = [j for j in sorted(some) if j != own]
    ranked = sorted(others, key=lambda j: (-worth.get(j, 0.0), j))
    return {own, *ranked[: count - 1]}


def by_hand(q, k, v, places, mask, config, scale):
    """The three branches (batch, n_heads, seq, 3, v_head_dim), and what each head reads."""
    batch, n_heads, seq, _ = q.shape
    group, size = n_heads // k.shape[1], config.block_size
    out, reads = np.zeros((batch, n_heads, seq, 3, v.shape[3])), {}
    for b, g, i in np.ndindex(batch, k.shape[1], seq):
        if places[b, i] < 0:
            continue
        own_tokens = [j for j in range(seq) if places[b, j] >= 0]
        blocks = [own_tokens[n : n + size] for n in range(0, len(own_tokens), size)]
        keys, values, worth, some, seen_by = k[b, g].tolist(), v[b, g].tolist(), {}, set(), {}
        for h in range(g * group, (g + 1) * group):
            seen = {j for j in own_tokens if places[b, j] <= places[b, i] and mask[b, h, i, j]}
            whole = [n for n, one in enumerate(blocks) if len(one) == size and {*one} <= seen]
            means = [(mean([keys[j] for j in blocks[n]]), mean([values[j] for j in blocks[n]]))
                     for n in whole]  # fmt: skip
            found, weights = average(q[b, h, i].tolist(), [m for m, _ in means],
                                     [m for _, m in means], scale, config.softcap)  # fmt: skip
            out[b, h, i, 0] = found or 0.0
            for n, weight in zip(whole, weights, strict=True):
                worth[n] = worth.get(n, 0.0) + weight
            some |= {n for n, one in enumerate(blocks) if {*one} & seen}
            seen_by[h] = seen
        own = next(n for n, one in enumerate(blocks) if i in one)
        chosen = chosen_by_hand(worth, own, some, config.n_blocks)
        for h, seen in seen_by.items():
            near = [j for j in sorted(seen) if places[b, i] - places[b, j] < config.window]
            for branch, js in (
                (1, [j for n in sorted(chosen) for j in blocks[n] if j in seen]),
                (2, near),
            ):
                some_keys, some_values = [keys[j] for j in js], [values[j] for j in js]
                found, _ = average(q[b, h, i].tolist(), some_keys, some_values, scale,
                                   config.softcap)  # fmt: skip
                out[b, h, i, branch] = found or 0.0
            reads[b, h, i] = chosen
    return out, reads


def expected_of(layer, x, places, mask=None):
    """What the layer must give, from its weights alone; the NumPy layer projects."""
    config, x_rows = layer.config, np.asarray(x)
    twin = mini_attn.numpy.NativeSparseAttention(config, dtype="float64")
    state = {key: np.asarray(w).copy() for key, w in layer.state_dict().items()}
    twin.load_state_dict(state)
    q, k, v = twin.project(x_rows, x_rows)
    if config.rope is not None:
        inv_freq = mini_attn.numpy.rope_frequencies(4, theta=1e4)[0]
        tables = mini_attn.numpy.rope_table(places, inv_freq, dtype="float64")
        q, k = (mini_attn.numpy.apply_rope(a, *tables, layout=config.rope.layout) for a in (q, k))
    batch, n_heads, seq, _ = q.shape
    mask = np.ones((batch, n_heads, seq, seq), bool) if mask is None else mask
    mask = np.broadcast_to(mask, (batch, n_heads, seq, seq))
    scale = config.head_dim**-0.5 if config.scale is None else config.scale
    branches, _ = by_hand(q, k, v, places, mask, config, scale)
    gates = 1 / (1 + np.exp(-(x_rows @ state["gate_proj.weight"].T)))
    gates = gates.reshape(batch, seq, n_heads, 3).swapaxes(1, 2)
    out = (gates[..., None] * branches).sum(axis=3)
    return out.swapaxes(1, 2).reshape(batch, seq, -1) @ state["o_proj.weight"].T


COUNTED = np.tile(np.arange(SEQ), (2, 1))
RAGGED = np.stack([  # padding before, between and behind; gaps; a row of padding and one token
    [-1, -1, 0, 1, 2, 3, -1, 4, 5, 6, 9, 10, -1, -1],
    [0, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21, 22, 23, 24],
    [-1] * 13 + [0],
])  # fmt: skip
STEPS = ([SEQ], [1] * SEQ, [5, 1, 1, 4, 1, 2])


@pytest.mark.parametrize("options", [
    {}, {"rope": RopeConfig("half")}, {"softcap": 1.5, "scale": 0.7}, {"block_size": 1},
    {"n_blocks": 1}, {"window": 1, "n_blocks": 3}, {"block_size": 20}, {"block_size": 7},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("places", [COUNTED, RAGGED], ids=["counted", "ragged"])
def test_every_query_by_hand(lib, rng, places, options):
    layer, x = layer_of(lib, **options), rng.standard_normal((len(places), SEQ, 8))
    expected = expected_of(layer, x, places)
    ragged = places is RAGGED
    own = {"positions": places} if ragged else {}
    np.testing.assert_allclose(run(lib, layer, x, **own), expected, atol=1e-11)
    for steps in STEPS:
        out = in_steps(lib, layer, x, steps, positions=places if ragged else None)
        np.testing.assert_allclose(out, expected, atol=1e-11)


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("places", [COUNTED, RAGGED[:2]], ids=["counted", "ragged"])
def test_a_mask_hides_means_tokens_and_places(lib, rng, places, heads):
    """A block of which a token is hidden has no mean; one that is hidden whole takes no place."""
    layer, x = layer_of(lib), rng.standard_normal((2, SEQ, 8))
    mask = rng.random((2, heads, SEQ, SEQ)) < 0.8
    mask[:, :, :, :5] &= rng.random((2, heads, SEQ, 1)) < 0.5
    expected = expected_of(layer, x, places, mask)
    own = {"positions": places} if places is not COUNTED else {}
    np.testing.assert_allclose(run(lib, layer, x, mask=mask, **own), expected, atol=1e-11)
    for steps in STEPS:
        out = in_steps(lib, layer, x, steps, mask, own.get("positions"))
        np.testing.assert_allclose(out, expected, atol=1e-11)
    hidden = np.zeros((1, 1, SEQ, SEQ), bool)
    for steps in STEPS[:2]:
        assert (in_steps(lib, layer, x, steps, hidden) == 0).all()


def test_a_padded_batch_is_its_rows_alone(lib, rng):
    layer, rows = layer_of(lib), [rng.standard_normal((1, n, 8)) for n in (13, 9, 4)]
    places = np.full((3, 13), -1)
    x = rng.standard_normal((3, 13, 8))
    for i, row in enumerate(rows):
        places[i, 13 - row.shape[1] :] = np.arange(row.shape[1])
        x[i, 13 - row.shape[1] :] = row[0]
    for out in (
        run(lib, layer, x, positions=places),
        in_steps(lib, layer, x, [6, 1, 1, 1, 4], positions=places),
    ):
        for i, row in enumerate(rows):
            alone = run(lib, layer, row)
            np.testing.assert_allclose(out[i : i + 1, -row.shape[1] :], alone, atol=1e-11)


# ---- Where it is something else ----


def with_gates(layer, lib, *opened):
    """The layer with gates that are open or closed, for tokens whose first feature is 1."""
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    state["gate_proj.weight"][:] = 0
    state["gate_proj.weight"][:, 0] = np.tile(np.where(opened, 1e4, -1e4), layer.config.n_heads)
    layer.load_state_dict(state)
    return layer


def grouped(lib, layer, **options):
    """Grouped attention with the same weights."""
    own = lib.GroupedQueryAttention(AttentionConfig(**SIZES, **options), dtype="float64")
    state = layer.state_dict()
    own.load_state_dict({key: state[key] for key in own.state_dict()})
    return own


def ones_first(rng, batch=2):
    x = rng.standard_normal((batch, SEQ, 8))
    x[..., 0] = 1.0
    return x


def test_with_all_blocks_the_selected_branch_is_grouped_attention(lib, rng):
    x = ones_first(rng)
    for n_blocks, same in ((5, True), (9, True), (4, False)):  # five blocks of three hold 14
        layer = with_gates(layer_of(lib, n_blocks=n_blocks), lib, False, True, False)
        out, full = run(lib, layer, x), run(lib, grouped(lib, layer), x)
        assert np.allclose(out, full, atol=1e-12) == same
        out = in_steps(lib, layer, x, [5] + [1] * 9)
        assert np.allclose(out, full, atol=1e-12) == same


def test_the_window_branch_is_a_sliding_window(lib, rng):
    x = ones_first(rng)
    layer = with_gates(layer_of(lib), lib, False, False, True)
    near = run(lib, grouped(lib, layer, window=4), x)
    np.testing.assert_allclose(run(lib, layer, x), near, atol=1e-12)
    np.testing.assert_allclose(in_steps(lib, layer, x, [5] + [1] * 9), near, atol=1e-12)


def test_blocks_of_one_token_are_the_tokens(lib, rng):
    """Then means are keys and values, and both branches are full attention."""
    x = ones_first(rng)
    for opened in ((True, False, False), (False, True, False)):
        layer = with_gates(layer_of(lib, block_size=1, n_blocks=SEQ), lib, *opened)
        full = run(lib, grouped(lib, layer), x)
        np.testing.assert_allclose(run(lib, layer, x), full, atol=1e-12)
        np.testing.assert_allclose(in_steps(lib, layer, x, [1] * SEQ), full, atol=1e-12)


def test_without_a_complete_block_the_first_branch_is_zero(lib, rng):
    x = ones_first(rng)
    layer = with_gates(layer_of(lib, block_size=5), lib, True, False, False)
    for out in (run(lib, layer, x), in_steps(lib, layer, x, [1] * SEQ)):
        assert (out[:, :4] == 0).all()
        assert (out[:, 4:] != 0).any(axis=2).all()


@pytest.mark.parametrize("shape", [(2, 0, 8), (0, SEQ, 8)])
def test_nothing_gives_nothing(lib, shape):
    layer, x = layer_of(lib), np.zeros(shape)
    assert run(lib, layer, x).shape == shape
    assert run(lib, layer, x, positions=np.arange(shape[1])).shape == shape


def test_of_equal_blocks_the_earlier_is_read(lib):
    """Keys that are all alike: the own block and the first; values tell which."""
    layer = with_gates(layer_of(lib), lib, False, True, False)
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    state["k_proj.weight"][:] = 0
    layer.load_state_dict(state)
    x = ones_first(np.random.default_rng(1), batch=1)
    values = (x @ state["v_proj.weight"].T).reshape(SEQ, 2, 3)
    for out in (run(lib, layer, x), in_steps(lib, layer, x, [1] * SEQ)):
        for i in range(SEQ):
            read = [j for j in range(i + 1) if j // 3 in (0, i // 3)]
            heads = np.repeat(values[read].mean(axis=0), 2, axis=0).reshape(-1)
            np.testing.assert_allclose(out[0, i], state["o_proj.weight"] @ heads, atol=1e-12)


# ---- What a step reads ----


@pytest.mark.parametrize("held", [1, 2, 5, 6, 8, 9, 13])
def test_a_lone_token_gathers(lib, rng, monkeypatch, held):
    """Attention meets as many means and keys as the costs say, whatever the length."""
    layer, x = layer_of(lib, window=2), rng.standard_normal((2, SEQ, 8))
    met = []
    for name in ("attend", "attend_in_full"):
        module = getattr(mini_attn, lib.name).layers._branches
        if hasattr(module, name):
            own = getattr(module, name)
            monkeypatch.setattr(module, name, lambda q, k, *rest, own=own: (
                met.append(k.shape[2]), own(q, k, *rest))[1])  # fmt: skip
    cache = layer.new_cache(2, SEQ)
    run(lib, layer, x[:, :held], cache=cache)
    met.clear()
    run(lib, layer, x[:, held : held + 1], cache=cache)
    pairs = cost.branch_pairs(1, held + 1, **(BLOCKS | {"window": 2}))
    assert met == [pairs[name] for name in ("compressed", "selected", "window") if pairs[name]]


@pytest.mark.parametrize("places", [COUNTED, RAGGED[:2]], ids=["counted", "ragged"])
def test_what_is_not_read_may_be_anything(lib, rng, places):
    """A large number in every token outside the chosen blocks and the window changes nothing."""
    layer, x = layer_of(lib, window=1), rng.standard_normal((2, SEQ, 8))
    twin = mini_attn.numpy.NativeSparseAttention(layer.config, dtype="float64")
    twin.load_state_dict({key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()})
    q, k, v = twin.project(x, x)
    every = np.ones((2, 4, SEQ, SEQ), bool)
    _, reads = by_hand(q, k, v, places, every, layer.config, 0.5)
    cache, own = layer.new_cache(2, SEQ), {} if places is COUNTED else {"positions": places}
    before = {key: value[:, :-1] for key, value in own.items()}
    run(lib, layer, x[:, :-1], cache=cache, **before)
    twins = [cache.fork() for _ in range(2)]
    for b, g in np.ndindex(2, 2):
        if places[b, -1] < 0:
            continue
        rank = np.cumsum(places[b] >= 0) - 1
        for j in range(SEQ - 1):
            if rank[j] // 3 not in reads[b, 2 * g, SEQ - 1]:
                for array in twins[1]._state.arrays[:2]:
                    array[b, g, j] = 1e30
    last = {key: value[:, -1:] for key, value in own.items()}
    one, other = (run(lib, layer, x[:, -1:], cache=c, **last) for c in twins)
    np.testing.assert_array_equal(one, other)


# ---- Its cache ----


def test_means_are_written_once_and_again_after_a_crop(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((2, SEQ, 8))
    cache = layer.new_cache(2, SEQ)

    def check(slots):
        k, v, mean_k, mean_v, positions = (lib.numpy(a) for a in cache.view())
        assert positions.shape == (2, slots)
        assert mean_k.shape[2] == mean_v.shape[2] == slots // 3
        for array, means in ((k, mean_k), (v, mean_v)):
            whole = array[:, :, : slots // 3 * 3].reshape(2, 2, -1, 3, array.shape[3])
            np.testing.assert_allclose(means, whole.mean(axis=3), atol=1e-14)

    run(lib, layer, x[:, :8], cache=cache)
    check(8)
    twin = cache.fork()
    expected = run(lib, layer, x[:, 8:], cache=cache)
    check(SEQ)
    cache.crop(8)
    run(lib, layer, x[::-1, 8:11], cache=cache)  # rejected: other tokens, other means
    check(11)
    cache.crop(4)
    run(lib, layer, x[:, 4:8], cache=cache)
    check(8)
    np.testing.assert_allclose(run(lib, layer, x[:, 8:], cache=cache), expected, atol=1e-12)
    check(SEQ)
    twin.reorder(lib.array(np.array([1, 0])))
    turned = run(lib, layer, x[[1, 0], 8:], cache=twin)
    np.testing.assert_allclose(turned, expected[[1, 0]], atol=1e-12)


def test_a_step_that_fails_leaves_the_means(lib, rng, monkeypatch):
    layer, x = layer_of(lib), rng.standard_normal((2, SEQ, 8))
    cache = layer.new_cache(2, SEQ)
    run(lib, layer, x[:, :5], cache=cache)
    before = [lib.numpy(a).copy() for a in cache.view()]
    branches = getattr(mini_attn, lib.name).layers._branches.Branches
    with monkeypatch.context() as patch:
        patch.setattr(branches, "window", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(lib, layer, x[::-1, 5:8], cache=cache)
    for array, expected in zip(cache.view(), before, strict=True):
        np.testing.assert_array_equal(lib.numpy(array), expected)
    whole = run(lib, layer, x)
    np.testing.assert_allclose(run(lib, layer, x[:, 5:], cache=cache), whole[:, 5:], atol=1e-11)


def test_rows_with_padding_crop_by_their_own_tokens(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((2, SEQ, 8))
    places = RAGGED[:2]
    expected = expected_of(layer, x, places)
    cache = layer.new_cache(2, SEQ)
    run(lib, layer, x[:, :12], cache=cache, positions=places[:, :12])
    cache.crop(7)
    parts = [run(lib, layer, x[:, i : i + 1], cache=cache, positions=places[:, i : i + 1])
             for i in range(7, SEQ)]  # fmt: skip
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected[:, 7:], atol=1e-11)


def test_bytes_are_those_of_keys_values_and_means(lib):
    cache = lib.NativeSparseCache(2, 2, 4, 11, block_size=3, v_head_dim=5, dtype="float16")
    assert cache.allocated_bytes == 2 * 2 * 2 * (4 + 5) * (11 + 3)
    rows = [lib.array(np.ones((2, 2, 7, width), np.float16)) for width in (4, 5)]
    arrays = cache.append(*rows)
    assert cache.used_bytes == 2 * 2 * 2 * (4 + 5) * (7 + 2)
    assert sum(array.nbytes for array in arrays[:4]) == cache.used_bytes
    small = lib.NativeSparseCache(1, 1, 2, 2, block_size=3)
    assert small.view()[2].shape == (1, 1, 0, 2)


# ---- Types, NaN, gradients ----


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_half_precision_is_near(lib, rng, dtype):
    """With all blocks read no choice can differ; sums and means are taken in float32."""
    if lib.name == "numpy" and dtype == "bfloat16":
        with pytest.raises(DTypeError, match="bfloat16"):
            layer_of(lib, n_blocks=9, dtype=dtype)
        return
    exact, x = layer_of(lib, n_blocks=9), rng.standard_normal((1, SEQ, 8))
    state = {key: np.array(lib.numpy(w)) / 3 for key, w in exact.state_dict().items()}
    exact.load_state_dict(state)
    rounded = lib.NativeSparseAttention(exact.config, dtype=dtype)
    rounded.load_state_dict(state)
    rows = torch.from_numpy(x).to(getattr(torch, dtype)) if lib.name == "torch" else x.astype(dtype)
    cache, bound = rounded.new_cache(1, SEQ), {"float16": 2e-2, "bfloat16": 1e-1}.get(dtype, 1e-5)
    parts = [rounded(rows[:, i : i + 1], cache=cache) for i in range(SEQ)]
    assert all(str(part.dtype).endswith(dtype) for part in parts)
    assert str(cache.view()[2].dtype).endswith(dtype)
    wide = [part.detach().double().numpy() if lib.name == "torch" else part for part in parts]
    np.testing.assert_allclose(np.concatenate(wide, axis=1), run(lib, exact, x), atol=bound)


def test_large_numbers_of_half_precision_have_a_mean(lib):
    cache = lib.NativeSparseCache(1, 1, 2, 4, block_size=4, dtype="float16")
    rows = lib.array(np.full((1, 1, 4, 2), 6e4, np.float16))
    assert (lib.numpy(cache.append(rows, rows)[2]) == np.float16(6e4)).all()


@pytest.mark.parametrize("steps", [[SEQ], [1] * SEQ], ids=str)
def test_nan_comes_to_light_and_hidden_nan_does_not(lib, rng, steps):
    layer, x = layer_of(lib), rng.standard_normal((1, SEQ, 8))
    odd = x.copy()
    odd[0, 4] = np.nan
    out = in_steps(lib, layer, odd, steps)
    assert np.isnan(out[0, 5:]).any(axis=1).all()
    np.testing.assert_allclose(out[:, :4], run(lib, layer, x)[:, :4], atol=1e-11)
    mask = np.ones((1, 1, SEQ, SEQ), bool)
    mask[..., 4] = False
    hidden = in_steps(lib, layer, odd, steps, mask)
    rest = [i for i in range(SEQ) if i != 4]
    np.testing.assert_allclose(
        hidden[:, rest], in_steps(lib, layer, x, steps, mask)[:, rest], atol=1e-11
    )


def test_gradients_are_those_of_what_is_read():
    """By differences, where the choice stands still; of each weight and of the tokens."""
    layer = layer_of(pytest.importorskip("mini_attn.torch"))
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((1, 8, 8))).requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: layer(rows), (x,), atol=1e-6)
    layer(x).square().sum().backward()
    assert all(w.grad.abs().sum() > 0 for w in layer.parameters())


# ---- What is refused ----


def test_options_without_a_meaning_are_refused():
    for name, value in (("alibi", True), ("sinks", True), ("sink_tokens", 2)):
        with pytest.raises(ConfigError, match=f"{name} has no meaning in native sparse"):
            NativeSparseConfig(**SIZES, **BLOCKS, **{name: value})
    for name in BLOCKS:
        with pytest.raises(ConfigError, match=name):
            NativeSparseConfig(**(SIZES | BLOCKS | {name: 0}))
        with pytest.raises(TypeError, match=name):
            NativeSparseConfig(**SIZES, **{key: v for key, v in BLOCKS.items() if key != name})


def test_calls_without_an_order_are_refused(lib, rng):
    layer, x = layer_of(lib), lib.array(rng.standard_normal((1, 4, 8)))
    with pytest.raises(ConfigError, match="context has no order"):
        layer(x, context=x)
    with pytest.raises(ConfigError, match="causal"):
        layer(x, causal=False)
    with pytest.raises(ConfigError, match="must be a NativeSparseConfig"):
        lib.NativeSparseAttention(AttentionConfig(**SIZES))


def test_caches_that_do_not_fit_are_refused(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((1, 2, 8))
    other = grouped(lib, layer)
    kind = {"dtype": "float64", "v_head_dim": 3}
    for owner, cache, words in (
        (layer, other.new_cache(1, 4), "block_size = none"),
        (layer, lib.NativeSparseCache(1, 2, 4, 4, block_size=2, **kind), "block_size = 2"),
        (other, layer.new_cache(1, 4), "the layer has no blocks"),
    ):
        with pytest.raises(MiniAttnError, match=words):
            run(lib, owner, x, cache=cache)
        assert cache.slots == 0


def test_a_compiled_step_refuses_a_cache_with_means():
    config = DecoderConfig(7, 1, NativeSparseConfig(**SIZES, **BLOCKS), d_ff=3, max_positions=9)
    model = mini_attn.torch.Decoder(config)
    step = mini_attn.torch.compile_decode_step(backend="eager")
    with pytest.raises(ConfigError, match="got NativeSparseCache"):
        step(model, torch.tensor([[1]]), model.new_caches(1, 5))
    wrong = [mini_attn.torch.KVCache(1, 2, 4, capacity=5, v_head_dim=3)]
    with pytest.raises(ShapeError, match="block_size = none"):
        step(model, torch.tensor([[1]]), wrong)


def test_pruned_heads_take_their_gates_along(lib, rng):
    layer, x = layer_of(lib), rng.standard_normal((1, SEQ, 8))
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    given = {key: lib.array(w) for key, w in state.items()}
    pruned, config = lib.prune_heads(given, layer.config, [2, 3])  # a whole group, which chooses
    small = lib.NativeSparseAttention(config, dtype="float64")
    small.load_state_dict(pruned)
    state["o_proj.weight"][:, 2 * 3 :] = 0
    layer.load_state_dict(state)
    np.testing.assert_allclose(run(lib, small, x), run(lib, layer, x), atol=1e-12)
