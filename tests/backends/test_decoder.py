"""The decoder and generation: with caches, without, in chunks, padded, refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, RopeConfig
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.models import MODELS

ATTENTION = AttentionConfig(d_model=8, n_heads=4, head_dim=3, n_kv_heads=2, bias=True)
NEAR, FAR = RopeConfig("half", theta=20.0), RopeConfig("half", theta=500.0)
CONFIGS = {
    "gpt2": DecoderConfig(29, 2, ATTENTION, d_ff=11, max_positions=24),
    "llama": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 3, n_kv_heads=1, v_head_dim=5, qk_norm=True, window=4),
        d_ff=11, max_positions=24, mlp="gated", activation="silu", norm="rms_norm",
        positions="none", tie_embeddings=False, mlp_bias=False,
    ),
    "hybrid": DecoderConfig(
        29, 2,
        (
            AttentionConfig(8, 4, 6, n_kv_heads=2, window=3, rope=RopeConfig("half", rotary_dim=4)),
            LatentConfig(8, 2, 5, 3, 4, 6, rope=RopeConfig("interleaved", theta=50.0)),
        ),
        d_ff=11, max_positions=24, mlp="gated", activation="silu", norm="rms_norm",
        positions="none", mlp_bias=False,
    ),
    "alibi": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 3, alibi=True), d_ff=11, max_positions=24, positions="none"
    ),
    "first tokens": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, n_kv_heads=2, window=3, sink_tokens=2, alibi=True),
        d_ff=11, max_positions=24, positions="none",
    ),
    "norms around": DecoderConfig(
        29, 2,
        (
            AttentionConfig(8, 4, 6, n_kv_heads=2, window=3, qk_norm=True, rope=NEAR, softcap=2.0),
            AttentionConfig(8, 4, 6, n_kv_heads=2, qk_norm=True, rope=FAR, scale=0.3),
        ),
        d_ff=11, max_positions=24, mlp="gated", norm="rms_norm", positions="none", mlp_bias=False,
        norm_placement="both", embed_scale=8**0.5, logit_softcap=3.0,
    ),
    "norms after": DecoderConfig(
        29, 2,
        (
            AttentionConfig(8, 4, 6, n_kv_heads=2, qk_norm=True, qk_norm_over="width"),
            AttentionConfig(8, 4, 6, n_kv_heads=2, qk_norm=True, qk_norm_over="width", rope=FAR),
        ),
        d_ff=11, max_positions=24, mlp="gated", norm="rms_norm", positions="none",
        norm_placement="after",
    ),
    "shared layers": DecoderConfig(
        29, 4,
        (
            AttentionConfig(8, 4, 6, n_kv_heads=2, window=3, qk_norm=True, rope=NEAR, sinks=True),
            AttentionConfig(8, 4, 6, n_kv_heads=2, v_head_dim=5, qk_norm=True, rope=FAR),
            AttentionConfig(8, 2, 6, n_kv_heads=2, window=2, qk_norm=True, rope=NEAR),
            AttentionConfig(8, 4, 6, n_kv_heads=2, v_head_dim=5, window=4, rope=FAR, bias=True),
        ),
        d_ff=11, max_positions=24, mlp="gated", norm="rms_norm", positions="none",
        kv_sources=(0, 1, 0, 1),
    ),
    "shared layers, distance": DecoderConfig(
        29, 3, AttentionConfig(8, 4, 3, n_kv_heads=2, alibi=True), d_ff=11, max_positions=24,
        kv_sources=(0, 0, 0),
    ),
    "sinusoidal": DecoderConfig(
        29, 1, AttentionConfig(8, 4, 3, n_kv_heads=1), d_ff=11, max_positions=24,
        positions="sinusoidal",
    ),
}  # fmt: skip


def model_of(lib, name="gpt2"):
    """A decoder with weights large enough that every part of it matters."""
    model = lib.Decoder(CONFIGS[name], dtype="float64")
    rng = np.random.default_rng(5)
    model.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    )
    return model


def tokens_of(lib, batch, seq, seed=0):
    return lib.array(np.random.default_rng(seed).integers(0, 29, (batch, seq)))


@pytest.mark.parametrize("name", CONFIGS)
def test_backends_agree(backends, name):
    logits = [lib.numpy(model_of(lib, name)(tokens_of(lib, 2, 9))) for lib in backends]
    np.testing.assert_allclose(*logits, atol=1e-9)


@pytest.mark.parametrize("name", CONFIGS)
@given(chunks=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_any_chunks_equal_the_full_pass(lib, name, chunks):
    model, total = model_of(lib, name), sum(chunks)
    if total > 24:
        chunks, total = [5, 5, 5], 15
    tokens = tokens_of(lib, 2, total)
    full = lib.numpy(model(tokens))
    caches = model.new_caches(2, total)
    start = 0
    for chunk in chunks:
        logits = lib.numpy(model(tokens[:, start : start + chunk], caches=caches))
        expected = full[:, start : start + chunk]
        np.testing.assert_allclose(logits, expected, atol=1e-9)
        start += chunk
    assert all(cache.slots == total for cache in caches)


@pytest.mark.parametrize("name", CONFIGS)
def test_prefill_and_steps_equal_the_full_pass(lib, name):
    model, tokens = model_of(lib, name), tokens_of(lib, 3, 9)
    full = lib.numpy(model(tokens))
    caches = model.new_caches(3, 9)
    first = lib.numpy(lib.prefill(model, tokens[:, :4], caches))
    np.testing.assert_allclose(first, full[:, 3], atol=1e-9)
    for i in range(4, 9):
        step = lib.numpy(lib.decode_step(model, tokens[:, i : i + 1], caches))
        np.testing.assert_allclose(step, full[:, i], atol=1e-9)


def test_last_only_is_the_last_row(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 5)
    last = lib.numpy(model(tokens, last_only=True))
    np.testing.assert_allclose(last, lib.numpy(model(tokens))[:, -1], atol=1e-12)


@pytest.mark.parametrize("name", CONFIGS)
def test_generation_is_the_same_with_and_without_a_cache(lib, name):
    model, tokens = model_of(lib, name), tokens_of(lib, 2, 3)
    plain = lib.numpy(lib.generate(model, tokens, max_new_tokens=12))
    caches = model.new_caches(2, 14)  # the last new token takes no slot
    cached = lib.numpy(lib.generate(model, tokens, max_new_tokens=12, caches=caches))
    assert (plain == cached).all()
    assert plain.shape == (2, 15)
    assert (plain[:, :3] == lib.numpy(tokens)).all()
    for i in range(3, 15):
        logits = lib.numpy(model(lib.array(plain[:, :i])))
        assert (plain[:, i] == logits[:, -1].argmax(-1)).all()


def test_generation_continues_from_filled_caches(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 6)
    whole = lib.numpy(lib.generate(model, tokens, max_new_tokens=4))
    caches = model.new_caches(2, 9)
    lib.prefill(model, tokens[:, :2], caches)
    rest = lib.numpy(lib.generate(model, tokens[:, 2:], max_new_tokens=4, caches=caches))
    assert (whole[:, 2:] == rest).all()
    none = lib.generate(model, tokens, max_new_tokens=0)
    assert (lib.numpy(none) == lib.numpy(tokens)).all()


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("cached", [True, False])
def test_left_padding_changes_nothing(lib, name, cached):
    """Learned positions would show a shift of the real tokens; rotary ones would hide it."""
    model = model_of(lib, name)
    lengths = [5, 2, 1]
    tokens = lib.numpy(tokens_of(lib, 3, 5)).copy()
    alone = [
        lib.numpy(lib.generate(model, lib.array(row[None, 5 - n :]), max_new_tokens=7))[0, n:]
        for row, n in zip(tokens, lengths, strict=True)
    ]
    for filler in (0, 28):
        for row, n in zip(tokens, lengths, strict=True):
            row[: 5 - n] = filler
        caches = model.new_caches(3, 11) if cached else None
        got = lib.generate(
            model, lib.array(tokens), max_new_tokens=7, caches=caches, lengths=lib.array(lengths)
        )
        assert (lib.numpy(got)[:, 5:] == alone).all()
        if caches:
            assert lib.numpy(caches[0].length).tolist() == [11, 8, 7]


def test_caches_of_a_forked_generation_stay_apart(lib):
    model, tokens = model_of(lib), tokens_of(lib, 1, 4)
    caches = model.new_caches(1, 9)
    lib.prefill(model, tokens, caches)
    forks = [cache.fork() for cache in caches]
    a = lib.numpy(lib.decode_step(model, lib.array([[1]]), caches))
    b = lib.numpy(lib.decode_step(model, lib.array([[2]]), forks))
    for token, logits in ((1, a), (2, b)):
        whole = np.concatenate([lib.numpy(tokens), [[token]]], axis=1)
        expected = lib.numpy(model(lib.array(whole)))[:, -1]
        np.testing.assert_allclose(logits, expected, atol=1e-9)


def test_rejected_tokens_can_be_taken_back(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 8)
    caches = model.new_caches(2, 8)
    model(tokens[:, :6], caches=caches)
    for cache in caches:
        cache.crop(4)
    logits = lib.numpy(model(tokens[:, 4:], caches=caches))
    np.testing.assert_allclose(logits, lib.numpy(model(tokens))[:, 4:], atol=1e-9)


def refusals(lib, model):
    """Name -> (error, words, call): each must fail and leave the caches as they were."""
    row = tokens_of(lib, 2, 3)
    return {
        "tokens below zero": (ConfigError, "got -1", lambda c: model(row - row - 1, caches=c)),
        "tokens beyond the vocabulary": (
            ConfigError, "0 … 28, got 29", lambda c: model(row - row + 29, caches=c),
        ),
        "fractional tokens": (
            DTypeError, "tokens", lambda c: model(lib.array(np.zeros((2, 1))), caches=c),
        ),
        "one axis": (ShapeError, "2 axes", lambda c: model(row[0], caches=c)),
        "no tokens": (ShapeError, "empty", lambda c: model(row[:, :0], caches=c)),
        "another batch": (ShapeError, "batch = 1, caches 2", lambda c: model(row[:1], caches=c)),
        "too few caches": (ConfigError, "2 layers", lambda c: model(row, caches=c[:1])),
        "no room": (
            CacheOverflowError, "6 new tokens", lambda c: model(tokens_of(lib, 2, 6), caches=c),
        ),
        "a second cache without room": (
            CacheOverflowError, "2 new", lambda c: model(row[:, :2], caches=[c[0], full(c)]),
        ),
        "the same cache twice": (
            ConfigError, r"caches\[1\] is that of an earlier layer, caches\[0\]",
            lambda c: model(row[:, :1], caches=[c[0], c[0]]),
        ),
        "caches of unequal length": (
            ConfigError, r"4 slots in caches\[0\] and 5 in caches\[1\]",
            lambda c: model(row[:, :1], caches=[c[0], longer(c)]),
        ),
        "no list": (ConfigError, "caches must be a list", lambda c: model(row, caches="c")),
        "no cache": (ConfigError, "got 'c'", lambda c: model(row, caches=[c[0], "c"])),
        "positions of another shape": (
            ShapeError, "positions", lambda c: model(row, caches=c, positions=lib.array([4])),
        ),
        "positions too large": (
            ConfigError, "max_positions = 24",
            lambda c: model(row, caches=c, positions=lib.array([4, 5, 24])),
        ),
        "positions that go back": (
            ConfigError, "grow", lambda c: model(row, caches=c, positions=lib.array([3, 4, 5])),
        ),
        "fractional positions": (
            DTypeError, "positions",
            lambda c: model(row, caches=c, positions=lib.array([4.0, 5.0, 6.0])),
        ),
        "a step of two tokens": (
            ShapeError, r"\(batch, 1\)", lambda c: lib.decode_step(model, row[:, :2], c),
        ),
        "lengths behind a prompt": (
            CacheStateError, "4 slots",
            lambda c: lib.prefill(model, row, c, lengths=lib.array([1, 2])),
        ),
        "a length of zero": (
            ConfigError, "1 … seq = 3",
            lambda c: lib.generate(model, row, max_new_tokens=1, lengths=lib.array([0, 2])),
        ),
        "a length too many": (
            ShapeError, "lengths",
            lambda c: lib.generate(model, row, max_new_tokens=1, lengths=lib.array([1, 2, 3])),
        ),
        "fractional lengths": (
            DTypeError, "lengths",
            lambda c: lib.generate(model, row, max_new_tokens=1, lengths=lib.array([1.0, 2.0])),
        ),
        "a generation without room": (
            CacheOverflowError, "make the capacity 10",
            lambda c: lib.generate(model, row, max_new_tokens=4, caches=c),
        ),
        "a generation beyond the positions": (
            ConfigError, "max_positions = 24",
            lambda c: lib.generate(model, row, max_new_tokens=23),
        ),
        "a negative number of tokens": (
            ConfigError, "max_new_tokens must be at least 0",
            lambda c: lib.generate(model, row, max_new_tokens=-1, caches=c),
        ),
    }  # fmt: skip


def full(caches):
    """The second cache's tokens in one that has room for a single further token."""
    k, v, _ = caches[1].view()
    batch, n_kv_heads, slots, head_dim = k.shape
    cache = type(caches[1])(batch, n_kv_heads, head_dim, slots + 1, dtype="float64")
    cache.append(k, v)
    return cache


def longer(caches):
    """A copy of the second cache with more tokens in it."""
    cache = caches[1].fork()
    k, v, _ = cache.view()
    cache.append(k[:, :, :1], v[:, :, :1])
    return cache


def test_refusals_leave_all_caches_as_they_were(lib):
    model = model_of(lib)
    caches = model.new_caches(2, 9)
    model(tokens_of(lib, 2, 4), caches=caches)
    before = [[lib.numpy(a).copy() for a in cache.view()] for cache in caches]
    for name, (error, words, call) in refusals(lib, model).items():
        with pytest.raises(error, match=words):
            call(caches)
        for cache, held in zip(caches, before, strict=True):
            assert cache.slots == 4, name
            assert cache.contiguous, name
            for old, new in zip(held, cache.view(), strict=True):
                assert (old == lib.numpy(new)).all(), name


def test_the_last_learned_position_can_be_used(lib):
    model = model_of(lib)
    out = lib.generate(model, tokens_of(lib, 1, 3), max_new_tokens=22)
    assert tuple(out.shape) == (1, 25)  # the last token is not processed: 24 positions suffice


def test_constructors_refuse_another_configuration(lib):
    with pytest.raises(ConfigError, match="DecoderConfig"):
        lib.Decoder(ATTENTION)
    with pytest.raises(ConfigError, match="DecoderConfig"):
        lib.DecoderLayer(ATTENTION)
    with pytest.raises(ConfigError, match="capacity"):
        model_of(lib).new_caches(1, 0)


def test_torch_trains_and_generation_keeps_no_graph():
    import torch

    import mini_attn.torch as mt

    model = mt.Decoder(CONFIGS["gpt2"])
    tokens = torch.arange(10)[None]
    first = last = None
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    for _ in range(30):
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1])[0], tokens[0, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first, last = first or loss.item(), loss.item()
    assert last < 0.3 * first
    assert all(p.grad is not None for p in model.parameters())
    logits = mt.prefill(model, tokens, model.new_caches(1, 10))
    assert not logits.requires_grad


@pytest.mark.parametrize("name", CONFIGS)
def test_torch_trains_under_autocast(name):
    """Weights in float32, products in bfloat16: the answer is close and every weight learns."""
    import torch

    import mini_attn.torch as mt

    model, tokens = mt.Decoder(CONFIGS[name]), torch.arange(20).reshape(2, 10)
    with torch.no_grad():  # of size 1, so that rounding shows and nothing vanishes
        for weight in model.parameters():
            weight.mul_(20) if weight.ndim > 1 and weight.std() < 0.1 else None
    expected = model(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(tokens)
        found.float().square().mean().backward()
    assert found.dtype == torch.bfloat16
    assert (found - expected).abs().max() < 0.1 * expected.abs().max()
    assert all(w.grad is not None and w.grad.isfinite().all() for w in model.parameters())


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_tokens_too_narrow_for_a_vocabulary_are_refused(lib, dtype):
    """What is generated takes the prompt's type, in which the ids of 256 and on would wrap."""
    attention = AttentionConfig(4, 2, 2)
    model = lib.Decoder(DecoderConfig(300, 1, attention, d_ff=4, max_positions=8))
    tokens = lib.array([[1, 2]], dtype)
    with pytest.raises(DTypeError, match="tokens must be int32 or int64"):
        lib.generate(model, tokens, max_new_tokens=2)
    with pytest.raises(DTypeError, match="lengths must be int32 or int64"):
        lib.prefill(
            model, lib.array([[1, 2]]), model.new_caches(1, 4), lengths=lib.array([2], dtype)
        )


def test_sinusoids_are_as_wide_as_the_weights(lib):
    attention = AttentionConfig(4, 2, 2)
    config = DecoderConfig(9, 1, attention, d_ff=4, max_positions=10**6, positions="sinusoidal")
    model, places = lib.Decoder(config, dtype="float64"), lib.array([999_999])
    wave = model._embed(places, (1, 1))
    exact = lib.sinusoidal_positions(places, 4, dtype="float64")
    np.testing.assert_array_equal(lib.numpy(wave), lib.numpy(exact))


@pytest.mark.parametrize("name", ["gpt2", "sinusoidal"])
def test_positions_end_at_the_last_that_there_is(lib, name):
    """Sinusoids could go on, but the caches and the trained length do not."""
    model, last = model_of(lib, name), CONFIGS[name].max_positions
    assert tuple(model(tokens_of(lib, 1, last)).shape) == (1, last, 29)
    with pytest.raises(ConfigError, match=f"max_positions = {last}"):
        model(tokens_of(lib, 1, last + 1))
    caches = model.new_caches(1, last + 1)
    model(tokens_of(lib, 1, last), caches=caches)
    with pytest.raises(ConfigError, match=f"max_positions = {last}"):
        model(tokens_of(lib, 1, 1), caches=caches)
    model(tokens_of(lib, 1, 1), positions=lib.array([last - 1]))
    for place in (last, -2):
        with pytest.raises(ConfigError, match=f"max_positions = {last}"):
            model(tokens_of(lib, 1, 1), positions=lib.array([place]))
    with pytest.raises(ConfigError, match=f"max_positions = {last}"):
        lib.generate(model, tokens_of(lib, 1, last), max_new_tokens=2)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (-1, "layer must be at least 0, got -1"),
        (2, r"layer must lie in 0 … 1, got 2"),
        ("0", "layer must be a whole number, got '0'"),
        (1.0, "layer must be a whole number, got 1.0"),
        (True, "layer must be a whole number, got True"),
    ],
)
def test_a_layer_that_there_is_not(lib, layer, words):
    """A list would count -1 from its end."""
    config = CONFIGS["hybrid"]
    with pytest.raises(ConfigError, match=words):
        lib.DecoderLayer(config, layer=layer)
    for number, kind in enumerate((lib.SlidingWindowAttention, lib.MultiHeadLatentAttention)):
        assert isinstance(lib.DecoderLayer(config, layer=number).self_attn, kind)


@pytest.mark.parametrize("cached", [False, True])
def test_layers_that_differ_in_their_first_tokens_alone_see_their_own(lib, cached):
    """Who sees whom is made once for layers that are alike, and these are not."""

    def logits(*sinks):
        attentions = tuple(AttentionConfig(8, 2, 4, window=2, sink_tokens=n) for n in sinks)
        model = lib.Decoder(DecoderConfig(29, 2, attentions, 11, max_positions=9), seed=1)
        caches = model.new_caches(1, 9) if cached else None
        return lib.numpy(model(lib.array(np.arange(9)[None]), caches=caches))[0, -1]

    for second in (0, 2):
        alike = logits(2 - second, 2 - second)
        assert np.abs(logits(2 - second, second) - alike).max() > 1e-4


@pytest.mark.parametrize("placement", ["before", "after", "both"])
def test_norms_stand_where_the_configuration_says(lib, placement):
    """What stands after a block bounds what it adds: a gain of zeros there silences it."""
    attention = AttentionConfig(8, 2, 4)
    config = DecoderConfig(
        29, 1, attention, d_ff=11, max_positions=24, norm="rms_norm", norm_placement=placement
    )
    layer = lib.DecoderLayer(config, dtype="float64")
    norms = {key.partition(".")[0] for key in layer.state_dict() if "layernorm" in key}
    assert norms == set(filter(None, config.norm_names))
    x = np.random.default_rng(2).standard_normal((2, 5, 8))
    assert np.abs(lib.numpy(layer(lib.array(x))) - x).max() > 0.1
    state = {key: lib.numpy(weight) for key, weight in layer.state_dict().items()}
    after = (config.norm_names.after_attention, config.norm_names.after_mlp)
    for name in after if placement != "before" else ():
        state[f"{name}.weight"] = np.zeros(8)
    layer.load_state_dict(state)
    silent = np.array_equal(lib.numpy(layer(lib.array(x))), x)
    assert silent == (placement != "before")


def test_logits_are_bounded_and_keep_their_order(lib):
    bounded = model_of(lib, "norms around")
    bare = lib.Decoder(replace(bounded.config, logit_softcap=None), dtype="float64")
    bare.load_state_dict(bounded.state_dict())
    tokens = tokens_of(lib, 2, 9)
    wide, narrow = lib.numpy(bare(tokens)), lib.numpy(bounded(tokens))
    assert np.abs(wide).max() > 3
    np.testing.assert_allclose(narrow, 3 * np.tanh(wide / 3), atol=1e-12)


def test_one_norm_of_all_heads_lets_them_differ_in_size(lib):
    """Over the width a larger head stays larger; a norm of each head makes all alike."""
    x = np.random.default_rng(3).standard_normal((1, 4, 8))
    for over, alike in (("head", True), ("width", False)):
        config = AttentionConfig(8, 4, 6, n_kv_heads=2, qk_norm=True, qk_norm_over=over, eps=1e-30)
        layer = lib.GroupedQueryAttention(config, dtype="float64")
        q, k, _ = (lib.numpy(part) for part in layer.project(lib.array(x), lib.array(x)))
        for part in (q, k):  # (1, heads, 4, 6)
            assert np.allclose((part * part).mean(axis=-1), 1) == alike
            np.testing.assert_allclose((part * part).mean(axis=(1, 3)), 1, atol=1e-9)


def test_a_listed_model_in_place_of_its_decoder_says_what_to_do(lib):
    for make in (lib.Decoder, lib.DecoderLayer):
        with pytest.raises(ConfigError, match=r"got the model 'gpt2': pass its decoder\(\)"):
            make(MODELS["gpt2"])
        with pytest.raises(
            ConfigError, match=r"got 'gpt2'; of a listed .* MODELS\[name\]\.decoder"
        ):
            make("gpt2")
        with pytest.raises(ConfigError, match=r"must be a DecoderConfig, got None$"):
            make(None)
