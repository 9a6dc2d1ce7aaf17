"""Latent attention: two forms of one set of weights, what is cached, and what each form costs."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from mini_attn import cost
from mini_attn.config import AttentionConfig, LatentConfig, RopeConfig, YaRN
from mini_attn.errors import (
    CacheOverflowError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.models import MODELS

FORMS = ("expanded", "absorbed")
YARN = YaRN(8.0, original_max_positions=16, mscale=0.6, mscale_all_dim=1.3)
INTERLEAVED = RopeConfig(layout="interleaved", theta=50.0)
# d_model, n_heads, kv_lora_rank, nope, rope, v: odd, prime, one head, value wider than key
CONFIGS = {
    "plain": LatentConfig(7, 3, 11, 5, 4, 3, rope=INTERLEAVED),
    "query rank": LatentConfig(7, 2, 5, 3, 2, 9, rope=INTERLEAVED, q_lora_rank=6, bias=True),
    "half": LatentConfig(6, 1, 4, 1, 6, 1, rope=RopeConfig(layout="half"), eps=1e-3),
    "yarn": LatentConfig(8, 4, 12, 6, 8, 5, rope=RopeConfig("interleaved", scaling=YARN)),
    "scale": LatentConfig(8, 2, 3, 4, 4, 4, rope=RopeConfig("half", rotary_dim=2), scale=0.4),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
each_form = pytest.mark.parametrize("form", FORMS)


def layer_of(lib, config, dtype="float64", seed=5, size=1.0):
    """A layer whose weights are the same in both backends, norms and biases included."""
    layer = lib.MultiHeadLatentAttention(config, dtype=dtype)
    rng = np.random.default_rng(seed)
    state = {k: size * rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def turned(x, position, config, factor):
    """One vector at one position, pair by pair, as the paper's matrix does it."""
    rotary_dim = config.rope.rotary_dim or len(x)
    pairs, out = rotary_dim // 2, x.copy()
    for i, speed in enumerate(frequencies(config, rotary_dim)):
        a, b = (2 * i, 2 * i + 1) if config.rope.layout == "interleaved" else (i, i + pairs)
        cos, sin = factor * math.cos(position * speed), factor * math.sin(position * speed)
        out[a], out[b] = x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos
    return out


def frequencies(config, rotary_dim):
    """Radians per position of each pair; YaRN as its published code has it."""
    theta, yarn = config.rope.theta, config.rope.scaling
    plain = [theta ** (-2 * i / rotary_dim) for i in range(rotary_dim // 2)]
    if yarn is None:
        return plain

    def index(turns):
        length = yarn.original_max_positions / (2 * math.pi * turns)
        return rotary_dim * math.log(length) / (2 * math.log(theta))

    low = max(math.floor(index(yarn.beta_fast)), 0)
    high = min(math.ceil(index(yarn.beta_slow)), rotary_dim - 1)
    ramp = [min(max((i - low) / ((high - low) or 0.001), 0), 1) for i in range(rotary_dim // 2)]
    return [s * (1 - r) + s / yarn.factor * r for s, r in zip(plain, ramp, strict=True)]


def by_hand(config, state, x):
    """The paper's equations, a token and a head at a time, with no cache and no matrix of keys."""

    def project(name, row):
        return state[f"{name}.weight"] @ row + state.get(f"{name}.bias", 0.0)

    def norm(name, row):
        return row / np.sqrt(np.mean(row**2) + config.eps) * state[f"{name}.weight"]

    nope, rank, v_dim = config.qk_nope_head_dim, config.kv_lora_rank, config.v_head_dim
    factor, scale = 1.0, config.head_dim**-0.5
    yarn = config.rope.scaling
    if yarn is not None:
        growth = 0.1 * math.log(yarn.factor)
        factor = (growth * yarn.mscale + 1) / (growth * yarn.mscale_all_dim + 1)
        scale *= (growth * yarn.mscale_all_dim + 1) ** 2
    scale = config.scale or scale
    up = state["kv_b_proj.weight"].reshape(config.n_heads, nope + v_dim, rank)
    out = np.zeros_like(x)
    for b, rows in enumerate(x):
        pasts = []
        for i, row in enumerate(rows):
            both = project("kv_a_proj_with_mqa", row)
            latent = norm("kv_a_layernorm", both[:rank])
            pasts.append((latent, turned(both[rank:], i, config, factor)))
            if config.q_lora_rank is None:
                q = project("q_proj", row)
            else:
                q = project("q_b_proj", norm("q_a_layernorm", project("q_a_proj", row)))
            gathered = []
            for h, part in enumerate(q.reshape(config.n_heads, -1)):
                q_rope = turned(part[nope:], i, config, factor)
                keys = [(up[h, :nope] @ c, k_rope) for c, k_rope in pasts]
                s = np.array([scale * (part[:nope] @ k + q_rope @ r) for k, r in keys])
                p = np.exp(s - s.max())
                values = np.array([up[h, nope:] @ c for c, _ in pasts])
                gathered.append((p / p.sum()) @ values)
            out[b, i] = project("o_proj", np.concatenate(gathered))
    return out


def state_of(lib, layer):
    return {name: np.array(lib.numpy(w)) for name, w in layer.state_dict().items()}


@each_config
@each_form
def test_both_forms_are_the_equations(lib, rng, config, form):
    layer = layer_of(lib, config)
    x = rng.standard_normal((2, 6, config.d_model))
    expected = by_hand(config, state_of(lib, layer), x)
    np.testing.assert_allclose(run(lib, layer, x, form=form), expected, atol=1e-11)


@each_config
def test_no_gradient_asked_for_gives_the_same(config):
    """PyTorch takes other products then: both parts of the scores are made apart."""
    import mini_attn.torch as mt

    layer = mt.MultiHeadLatentAttention(config, dtype="float64")
    x = torch.randn(2, 6, config.d_model, dtype=torch.float64)
    with_gradients = layer(x, form="absorbed").detach()
    with torch.no_grad():
        torch.testing.assert_close(layer(x, form="absorbed"), with_gradients)


# As shares of the largest output. Half precision rounds what the forms hand on: keys and values
# of the heads in one, queries and sums in the latent's space in the other.
BOUNDS = {"float64": 4e-15, "float32": 2e-6, "float16": 3e-3, "bfloat16": 2e-2}


def spread(lib, dtype, q_rank):
    """Largest difference of the forms, as a share of the largest output."""
    config = LatentConfig(96, 6, 64, 16, 8, 16, rope=INTERLEAVED, q_lora_rank=q_rank)
    layer = lib.MultiHeadLatentAttention(config, dtype=dtype)
    x = np.random.default_rng(3).standard_normal((2, 40, 96))
    tokens = torch.tensor(x).to(getattr(torch, dtype)) if lib.name == "torch" else x.astype(dtype)
    outs = [layer(tokens, form=form) for form in FORMS]
    assert all(out.dtype == tokens.dtype for out in outs)
    if lib.name == "torch":
        outs = [out.detach().double().numpy() for out in outs]
    first, second = (out.astype(np.float64) for out in outs)
    return np.abs(first - second).max() / np.abs(first).max()


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("q_rank", [None, 48])
def test_expanded_is_absorbed_in_every_dtype(backends, dtype, q_rank):
    for lib in backends:
        if (lib.name, dtype) == ("numpy", "bfloat16"):
            continue  # NumPy has no such type
        assert 0 < spread(lib, dtype, q_rank) < BOUNDS[dtype]  # 0 would be one form, taken twice


def test_the_scale_is_that_of_a_whole_head_and_not_of_the_latent(lib):
    plain, yarn, own = (CONFIGS[name] for name in ("plain", "yarn", "scale"))
    factor = 0.1 * YARN.mscale_all_dim * math.log(YARN.factor) + 1
    for config, expected in ((plain, 9**-0.5), (yarn, 14**-0.5 * factor**2), (own, 0.4)):
        layer = layer_of(lib, config)
        assert layer._scale == pytest.approx(expected, rel=1e-15)


def test_names_of_the_weights_are_hugging_faces(lib):
    common = {"kv_a_proj_with_mqa.weight", "kv_a_layernorm.weight", "kv_b_proj.weight"}
    common |= {"o_proj.weight"}
    plain = set(layer_of(lib, CONFIGS["plain"]).state_dict())
    assert plain == common | {"q_proj.weight"}
    ranked = {"q_a_proj.weight", "q_a_layernorm.weight", "q_b_proj.weight"}
    biases = {"q_a_proj.bias", "kv_a_proj_with_mqa.bias", "o_proj.bias"}
    assert set(layer_of(lib, CONFIGS["query rank"]).state_dict()) == common | ranked | biases
    with pytest.raises(ConfigError, match="must be a LatentConfig"):
        lib.MultiHeadLatentAttention(AttentionConfig(8, 2, 4))


@each_config
@pytest.mark.parametrize("forms", [("expanded",), ("absorbed",), FORMS, (None,)], ids=str)
@given(chunks=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_any_chunks_in_any_forms_equal_the_full_pass(lib, config, forms, chunks):
    layer = layer_of(lib, config)
    x = np.random.default_rng(len(chunks)).standard_normal((2, sum(chunks), config.d_model))
    cache, start, parts = layer.new_cache(2, sum(chunks) + 2), 0, []
    for number, chunk in enumerate(chunks):
        form = forms[number % len(forms)]
        parts.append(run(lib, layer, x[:, start : start + chunk], cache=cache, form=form))
        start += chunk
    expected = run(lib, layer, x, form="expanded")
    np.testing.assert_allclose(np.concatenate(parts, axis=1), expected, atol=1e-11)


@each_config
@each_form
def test_a_form_keeps_time_and_rows_apart(lib, rng, config, form):
    layer = layer_of(lib, config)
    x = rng.standard_normal((3, 8, config.d_model))
    out = run(lib, layer, x, form=form)
    later = x.copy()
    later[:, 5:] += 1.0
    assert (run(lib, layer, later, form=form)[:, :5] == out[:, :5]).all()  # to the last bit
    other = x.copy()
    other[1] += 1.0
    moved = run(lib, layer, other, form=form)
    assert (moved[[0, 2]] == out[[0, 2]]).all()
    assert (moved[1] != out[1]).any()


@each_config
@each_form
@pytest.mark.parametrize("cached", [True, False])
def test_left_padding_changes_nothing_in_either_form(lib, rng, config, form, cached):
    layer = layer_of(lib, config)
    x = rng.standard_normal((2, 9, config.d_model))
    padded = [3, 0]
    positions = np.stack([np.arange(9) - n for n in padded]).clip(-1)
    if cached:
        cache = layer.new_cache(2, 9)
        options = {"cache": cache, "form": form}
        parts = [run(lib, layer, x[:, :6], positions=positions[:, :6], **options)]
        parts += [run(lib, layer, x[:, i : i + 1], **options) for i in range(6, 9)]
        out = np.concatenate(parts, axis=1)
        assert lib.numpy(cache.length).tolist() == [6, 9]
    else:
        out = run(lib, layer, x, positions=positions, form=form)
    for row, n in enumerate(padded):
        alone = run(lib, layer, x[row : row + 1, n:], form=form)
        np.testing.assert_allclose(out[row : row + 1, n:], alone, atol=1e-11)
    bias = state_of(lib, layer).get("o_proj.bias", 0.0)
    np.testing.assert_allclose(out[0, :3] - bias, 0.0, atol=1e-14)


@each_form
def test_masks_and_visibility_of_all_tokens(lib, rng, form):
    config = CONFIGS["plain"]
    layer = layer_of(lib, config)
    x = rng.standard_normal((2, 5, 7))
    causal = np.tri(5, dtype=bool)
    open_ = run(lib, layer, x, mask=causal, causal=False, form=form)
    np.testing.assert_allclose(open_, run(lib, layer, x, form=form), atol=1e-12)
    free = run(lib, layer, x, causal=False, form=form)
    assert np.abs(free - open_)[:, :-1].max() > 1e-3
    np.testing.assert_allclose(free[:, -1], open_[:, -1], atol=1e-12)
    nothing = causal & (np.arange(5) != 0)[:, None]  # the first query sees no key
    out = run(lib, layer, x, mask=np.broadcast_to(nothing, (2, 3, 5, 5)).copy(), form=form)
    assert (out[:, 0] == 0).all()
    np.testing.assert_allclose(out[:, 1:], open_[:, 1:], atol=1e-12)


@each_form
def test_only_differences_of_positions_count(lib, rng, form):
    config = CONFIGS["plain"]
    layer = layer_of(lib, config)
    x = rng.standard_normal((1, 6, 7))
    here = run(lib, layer, x, form=form)
    there = run(lib, layer, x, positions=np.arange(6) + 1000, form=form)
    np.testing.assert_allclose(there, here, atol=1e-10)
    apart = run(lib, layer, x, positions=2 * np.arange(6), form=form)
    assert np.abs(apart - here).max() > 1e-3


def test_what_is_cached_is_normed_and_turned_and_one_for_all_heads(lib, rng):
    config = dataclasses.replace(CONFIGS["plain"], eps=1e-12)
    layer = lib.MultiHeadLatentAttention(config, dtype="float64")  # weights of the norms are 1
    x = rng.standard_normal((2, 4, 7))
    cache = layer.new_cache(2, 6)
    run(lib, layer, x, cache=cache)
    latent, rope_key, _ = (lib.numpy(a) for a in cache.view())
    assert latent.shape == (2, 4, 11)
    assert rope_key.shape == (2, 4, 4)
    np.testing.assert_allclose((latent**2).mean(axis=-1), 1.0, atol=1e-6)
    raw = x @ state_of(lib, layer)["kv_a_proj_with_mqa.weight"].T
    for i in range(4):
        for b in range(2):
            expected = turned(raw[b, i, 11:], i, config, 1.0)
            np.testing.assert_allclose(rope_key[b, i], expected, atol=1e-12)
    assert np.abs(rope_key - raw[..., 11:])[:, 1:].min(axis=(0, 1)).max() > 1e-3
    # No position reaches the latent: the same token leaves the same latent anywhere.
    elsewhere = layer.new_cache(2, 6)
    run(lib, layer, x, cache=elsewhere, positions=np.arange(4) + 17)
    assert (lib.numpy(elsewhere.view()[0]) == latent).all()


def test_a_token_of_deepseek_v3_leaves_576_numbers(lib):
    v3 = MODELS["deepseek-v3"]
    config = LatentConfig(
        32, 2, v3.kv_lora_rank, v3.qk_nope_head_dim, v3.qk_rope_head_dim, 128, rope=INTERLEAVED
    )
    cache = lib.MultiHeadLatentAttention(config, dtype="float16").new_cache(3, 10)
    assert cache.allocated_bytes == 3 * 10 * 576 * 2
    assert cost.cache_bytes_per_token(v3, dtype_bytes=2) == 61 * 576 * 2


def test_the_cheaper_form_is_taken(lib, rng):
    """To the last bit: in float32 the two forms round differently."""
    config = LatentConfig(16, 4, 48, 8, 4, 8, rope=INTERLEAVED)
    layer = lib.MultiHeadLatentAttention(config)
    x = rng.standard_normal((1, 60, 16)).astype(np.float32)
    for q_len, form in ((1, "absorbed"), (60, "expanded"), (7, "absorbed"), (20, "expanded")):
        past = 60 - q_len
        assert cost.cheaper_form(config, q_len=q_len, kv_len=60) == form
        outs = []
        for asked in (None, *FORMS):
            cache = layer.new_cache(1, 60)
            if past:
                run(lib, layer, x[:, :past], cache=cache, form="expanded")
            outs.append(run(lib, layer, x[:, past:], cache=cache, form=asked))
        same = {form: (outs[0] == out).all() for form, out in zip(FORMS, outs[1:], strict=True)}
        assert same == {asked: asked == form for asked in FORMS}


class Largest(TorchDispatchMode):
    """The most numbers that any operation put into new memory."""

    def __init__(self, held):
        super().__init__()
        self.numbers, self.held = 0, {a.untyped_storage().data_ptr() for a in held}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in self.held:
                    self.numbers = max(self.numbers, storage.nbytes() // tensor.element_size())
        return out


@pytest.mark.parametrize("padded", [False, True])
def test_absorbed_decode_makes_no_keys_and_copies_neither_cache_nor_weights(backends, padded):
    kv_len, rank, heads = 300, 64, 4
    config = LatentConfig(32, heads, rank, 16, 8, 16, rope=INTERLEAVED)
    x = np.random.default_rng(0).standard_normal((2, kv_len, 32)).astype(np.float32)
    positions = np.arange(kv_len) - 5
    for lib in backends:
        layer = lib.MultiHeadLatentAttention(config)
        cache = layer.new_cache(2, kv_len)
        options = {"positions": positions[:-1].clip(-1)} if padded else {}
        with torch.no_grad():
            run(lib, layer, x[:, :-1], cache=cache, **options)
        last = lib.array(x[:, -1:])
        scores = 2 * heads * kv_len
        latents = 2 * rank * kv_len  # a float32 copy of the cached latents, 16 times the scores
        assert latents == 16 * scores
        if lib.name == "torch":
            held = [*layer.parameters(), *cache._state.arrays]
            with torch.no_grad(), Largest(held) as largest:
                layer(last, cache=cache, form="absorbed")
            assert scores <= largest.numbers < 2 * scores
            cache.crop(kv_len - 1)
            with torch.no_grad(), Largest(held) as largest:  # the measure can fail
                layer(last, cache=cache, form="expanded")
            assert largest.numbers >= 2 * heads * 32 * kv_len
        else:
            tracemalloc.start()
            layer(last, cache=cache, form="absorbed")
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert 4 * scores <= peak < 4 * latents


@each_form
def test_gradients(form):
    import mini_attn.torch as mt

    config = LatentConfig(5, 2, 4, 2, 2, 3, rope=INTERLEAVED, q_lora_rank=3, bias=True)
    layer = mt.MultiHeadLatentAttention(config, dtype="float64", seed=2)
    x = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    names, weights = zip(*layer.named_parameters(), strict=True)

    def out(x, *values):
        options = {"form": form}
        return torch.func.functional_call(
            layer, dict(zip(names, values, strict=True)), (x,), options
        )

    assert torch.autograd.gradcheck(out, (x, *weights))


def test_both_forms_have_the_same_gradients(rng):
    import mini_attn.torch as mt

    config = CONFIGS["yarn"]
    x = torch.tensor(rng.standard_normal((2, 7, 8)))
    mask = torch.tensor(rng.random((7, 7)) < 0.6)
    found = []
    for form in FORMS:
        layer = mt.MultiHeadLatentAttention(config, dtype="float64", seed=4)
        layer(x, form=form, mask=mask).square().sum().backward()
        found.append([w.grad for w in layer.parameters()])
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, atol=1e-12, rtol=0)
        assert first.abs().max() > 0


def test_an_error_leaves_the_cache_as_it_was(lib, rng):
    config = CONFIGS["query rank"]
    layer = layer_of(lib, config)
    x = rng.standard_normal((2, 6, 7))
    cache = layer.new_cache(2, 6)
    run(lib, layer, x[:, :3], cache=cache)
    before = [np.array(lib.numpy(a)) for a in cache.view()]
    one = x[:, 3:4]
    faults = [
        (ConfigError, "form must be one of expanded, absorbed", one, {"form": "merged"}),
        (CacheOverflowError, "do not fit", x, {}),
        (ShapeError, "mask must fit", one, {"mask": np.ones((1, 9), bool)}),
        (ShapeError, "mask must fit", one, {"mask": np.ones((1, 9), bool), "form": "absorbed"}),
        (DTypeError, "must be boolean", one, {"mask": np.ones((1, 4))}),
        (ConfigError, "positions must be -1", one, {"positions": np.array([1])}),
        (DTypeError, "integer", one, {"positions": np.array([3.0])}),
        (ShapeError, "seq", one, {"positions": np.array([3, 4])}),
        (ShapeError, "batch", one, {"positions": np.zeros((5, 1), int) + 3}),
        (ShapeError, "features", rng.standard_normal((2, 1, 8)), {}),
        (ShapeError, "batch", rng.standard_normal((3, 1, 7)), {}),
        (DTypeError, "float32", one.astype(np.float32), {}),
    ]
    for error, words, tokens, options in faults:
        with pytest.raises(error, match=words):
            run(lib, layer, tokens, cache=cache, **options)
        assert cache.slots == 3
        for held, was in zip(cache.view(), before, strict=True):
            assert (lib.numpy(held) == was).all()
    rest = run(lib, layer, x[:, 3:], cache=cache)
    np.testing.assert_allclose(rest, run(lib, layer, x)[:, 3:], atol=1e-11)


# What each form costs.

SMALL = st.builds(
    LatentConfig,
    d_model=st.integers(1, 9),
    n_heads=st.integers(1, 4),
    kv_lora_rank=st.integers(1, 12),
    qk_nope_head_dim=st.integers(1, 9),
    qk_rope_head_dim=st.just(2),
    v_head_dim=st.integers(1, 9),
    rope=st.just(INTERLEAVED),
    q_lora_rank=st.none() | st.integers(1, 5),
)


def total(sizes, form, q_len, kv_len, **options):
    flops = cost.latent_flops(sizes, q_len=q_len, kv_len=kv_len, form=form, **options)
    return sum(flops.values())


@given(config=SMALL, kv_len=st.integers(1, 40))
def test_the_crossover_is_where_the_sums_cross(config, kv_len):
    spans = range(1, kv_len + 1)
    sums = {form: [total(config, form, q, kv_len) for q in spans] for form in FORMS}
    wins = [q for q in spans if sums["expanded"][q - 1] <= sums["absorbed"][q - 1]]
    crossover = cost.latent_crossover(config, kv_len=kv_len)
    assert wins == ([] if crossover is None else list(range(crossover, kv_len + 1)))
    for q in spans:
        form = "expanded" if q in wins else "absorbed"
        assert cost.cheaper_form(config, q_len=q, kv_len=kv_len) == form
        assert total(config, None, q, kv_len) == total(config, form, q, kv_len)


@pytest.mark.parametrize("name", ["plain", "query rank"])
@pytest.mark.parametrize(("past", "q_len"), [(0, 1), (0, 6), (9, 1), (9, 4)])
@each_form
def test_flops_are_those_that_torch_counts(name, past, q_len, form):
    import mini_attn.torch as mt

    config = CONFIGS[name]
    layer = mt.MultiHeadLatentAttention(config)
    cache = layer.new_cache(2, past + q_len)
    x = torch.randn(2, past + q_len, config.d_model)
    if past:
        layer(x[:, :past], cache=cache)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        layer(x[:, past:], cache=cache, form=form)
    counted = counter.get_total_flops()
    assert counted == total(config, form, q_len, past + q_len, batch=2)


def test_exact_pairs_are_the_visible_ones():
    v3 = MODELS["deepseek-v3"]
    for q_len, kv_len in ((1, 1), (5, 5), (3, 11)):
        flops = cost.latent_flops(v3, q_len=q_len, kv_len=kv_len, form="expanded", causal="exact")
        assert flops["scores"] == 2 * 128 * 192 * cost.visible_pairs(q_len, kv_len)
        assert flops["weighted sum"] == 2 * 128 * 128 * cost.visible_pairs(q_len, kv_len)


def test_multiplying_the_matrices_beforehand_gives_the_same_and_loses(lib, rng):
    """W_UQ.T @ W_UK is one matrix for each head, wider than the two that it replaces."""
    config = CONFIGS["query rank"]
    layer = layer_of(lib, config)
    state, nope = state_of(lib, layer), config.qk_nope_head_dim
    w_q = state["q_b_proj.weight"].reshape(config.n_heads, config.head_dim, -1)[:, :nope]
    w_uk = state["kv_b_proj.weight"].reshape(config.n_heads, -1, config.kv_lora_rank)[:, :nope]
    merged = w_q.swapaxes(1, 2) @ w_uk  # (n_heads, q_lora_rank, kv_lora_rank)
    hidden = rng.standard_normal((4, config.q_lora_rank))
    np.testing.assert_allclose(hidden @ merged, (hidden @ w_q.swapaxes(1, 2)) @ w_uk, atol=1e-12)
    v3 = MODELS["deepseek-v3"]
    for kv_len in (1, 4096, 100_000):
        assert total(v3, "merged", 1, kv_len) > total(v3, "absorbed", 1, kv_len)
    moved = {
        form: cost.latent_bytes(v3, q_len=1, kv_len=4096, form=form) for form in (*FORMS, "merged")
    }
    asked, given_back = 1536 * 128 * (512 + 64), 512 * 128 * 7168  # numbers of the wider matrices
    assert moved["merged"]["weights"] == 2 * (7168 * 1536 + asked + 7168 * 576 + given_back)
    assert moved["merged"]["weights"] > 3 * moved["absorbed"]["weights"]
    assert moved["absorbed"]["weights"] == moved["expanded"]["weights"]


def test_bytes_of_a_step():
    v3 = MODELS["deepseek-v3"]
    options = {"q_len": 2, "kv_len": 100, "batch": 3, "dtype_bytes": 4}
    absorbed = cost.latent_bytes(v3, **options)
    assert absorbed["cache read"] == 3 * 100 * 576 * 4
    assert absorbed["cache written"] == 3 * 2 * 576 * 4
    assert absorbed["expanded"] == 0
    expanded = cost.latent_bytes(v3, form="expanded", **options)
    assert expanded["expanded"] == 2 * 3 * 100 * 128 * 256 * 4  # written once and read once


def test_the_least_time_adds_up_the_products():
    sizes = LatentConfig(8, 2, 4, 3, 2, 5, rope=INTERLEAVED)
    slow = cost.measured_device({"float32": 1.0}, 1e12, memory_bytes=1)
    narrow = cost.measured_device({"float32": 1e12}, 1.0, memory_bytes=1)
    options = {"q_len": 2, "kv_len": 7, "batch": 3}
    for form in FORMS:
        kind = {"form": form, "dtype": "float32", "dtype_bytes": 4}
        flops = sum(cost.latent_flops(sizes, form=form, causal="exact", **options).values())
        assert cost.latent_seconds(sizes, slow, **options, **kind) == flops
        moved = cost.latent_bytes(sizes, form=form, dtype_bytes=4, **options)
        seconds = cost.latent_seconds(sizes, narrow, **options, **kind)
        # Keys and values made of the latents never need to leave a processor's cache.
        assert seconds == moved["weights"] + moved["cache read"]


def test_what_cannot_be_counted_is_refused():
    v3 = MODELS["deepseek-v3"]
    for options, words in (
        ({"q_len": 0, "kv_len": 1}, "q_len must be at least 1"),
        ({"q_len": 2, "kv_len": 1}, "cannot be the last"),
        ({"q_len": 1, "kv_len": 1, "form": "both"}, "form must be one of"),
        ({"q_len": 1, "kv_len": 1, "causal": "half"}, "causal must be one of"),
        ({"q_len": 1, "kv_len": 1, "batch": 0}, "batch must be at least 1"),
    ):
        with pytest.raises(ConfigError, match=words):
            cost.latent_flops(v3, **options)
    with pytest.raises(ConfigError, match="kv_lora_rank must be at least 1"):
        cost.latent_flops(MODELS["llama-3-8b"], q_len=1, kv_len=1)
