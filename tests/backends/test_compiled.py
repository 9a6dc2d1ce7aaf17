"""The compiled decode step: one graph, few compilations, nothing read back, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.caching import Transaction
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    ExpertConfig,
    LatentConfig,
    QueryGrowth,
    RopeConfig,
)
from mini_attn.errors import CacheOverflowError, ConfigError, ShapeError
from mini_attn.torch.kernels.compiled import compile_decode_step
from tests.backends.devices import DEVICES
from tests.sampling import sampled

pytestmark = pytest.mark.slow

ROPE = RopeConfig("half")
CONFIGS = {
    "learned": DecoderConfig(29, 2, AttentionConfig(8, 4, 4, bias=True), 11, max_positions=90),
    "rope": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, n_kv_heads=2, qk_norm=True, rope=ROPE), 11,
        max_positions=90, mlp="gated", activation="silu", norm="rms_norm", positions="none",
    ),
    "alibi": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, n_kv_heads=1, alibi=True, softcap=3.0), 11,
        max_positions=90, positions="none",
    ),
    "latent": DecoderConfig(
        29, 2, LatentConfig(8, 2, 5, 3, 4, 6, rope=RopeConfig("interleaved")), 11,
        max_positions=90, positions="sinusoidal",
    ),
    "norms around": DecoderConfig(
        29, 2,
        (
            AttentionConfig(8, 4, 4, n_kv_heads=2, qk_norm=True, qk_norm_over="width", softcap=2.0),
            AttentionConfig(8, 4, 4, n_kv_heads=2, scale=0.3, rope=ROPE),
        ),
        11, max_positions=90, norm="rms_norm", positions="none", norm_placement="both",
        embed_scale=8**0.5, logit_softcap=3.0,
    ),
    "shared layers": DecoderConfig(
        29, 3, AttentionConfig(8, 4, 4, n_kv_heads=2, qk_norm=True, rope=ROPE), 11,
        max_positions=90, positions="none", kv_sources=(0, 1, 0),
    ),
    "sinks": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, n_kv_heads=2, sinks=True, rope=ROPE), 11,
        max_positions=90, positions="none",
    ),
    "latent with sinks": DecoderConfig(
        29, 2, LatentConfig(8, 2, 5, 3, 4, 6, rope=RopeConfig("interleaved"), sinks=True), 11,
        max_positions=90, positions="none",
    ),
    "queries that grow": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, n_kv_heads=2, query_growth=QueryGrowth(0.5, 3, offset=1)),
        11, max_positions=90, positions="none",
    ),
    "experts, all computed": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, rope=ROPE), 11, max_positions=90, positions="none",
        experts=(ExpertConfig(5, 2, 7, routing="softmax"), None),
    ),
    "experts, gathered": DecoderConfig(
        29, 2, AttentionConfig(8, 4, 4, rope=ROPE), 11, max_positions=90, positions="none",
        experts=ExpertConfig(
            19, 3, 3, activation="clamped_swiglu", bias=True, router_bias=True, swiglu_limit=1.0,
        ),
    ),
}  # fmt: skip


def model_of(name, device="cpu", dtype="float64"):
    model = mt.Decoder(CONFIGS[name], dtype=dtype, device=device)
    rng = np.random.default_rng(5)
    model.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    )
    return model


class Counter:
    """A compiler that counts what it is given, and what in it would ask the device."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        return graph.forward

    def asking(self):
        words = [str(node.target) for graph in self.graphs for node in graph.graph.nodes]
        return [word for word in words if word in ("item", "tolist", "nonzero", "cpu", "numpy")]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


# In blocks a step is compiled twice; without, once.
BLOCKS = sampled(
    [(name, *block) for block in [(None, 1), (16, 2)] for name in CONFIGS],
    lambda case: case[1],
    of_each=3,
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "block", "compilations"), BLOCKS)
def test_64_steps_equal_the_eager_ones(name, device, block, compilations):
    model, counter = model_of(name, device), Counter()
    step = compile_decode_step(block=block, backend=counter)
    prompt = torch.arange(10, device=device).reshape(2, 5)
    caches, eager = model.new_caches(2, 90), model.new_caches(2, 90)
    for held in (caches, eager):
        mt.prefill(model, prompt, held)
    token = prompt[:, -1:]
    for _ in range(64):
        expected = mt.decode_step(model, token, eager)
        found = step(model, token, caches)
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
        token = expected.argmax(dim=-1, keepdim=True)
    assert [cache.slots for cache in caches] == [69, 69]
    assert (caches[0].length == 69).all()
    assert len(counter.graphs) == compilations
    assert counter.asking() == []


@pytest.mark.parametrize("name", sampled(CONFIGS, lambda name: name in ("rope", "latent") and name))
def test_garbage_behind_the_last_token_is_masked(name):
    model = model_of(name)
    step, prompt = compile_decode_step(backend="eager"), torch.tensor([[3, 1, 4, 1, 5]])
    outs = []
    for garbage in (0.0, 1e4):
        caches = model.new_caches(1, 32)
        for cache in caches:
            for array in cache._state.arrays:
                array.fill_(garbage)
        mt.prefill(model, prompt, caches)
        outs.append(step(model, prompt[:, -1:], caches))
    torch.testing.assert_close(*outs, atol=0, rtol=0)


@pytest.mark.parametrize("name", ["rope", "latent"])
def test_a_nan_that_was_cropped_or_never_committed_changes_nothing(name):
    """It still lies in a free slot, and 0 times NaN would be NaN."""
    model, prompt = model_of(name), torch.tensor([[3, 1, 4, 1, 5]])
    step, token = compile_decode_step(backend="eager"), torch.tensor([[2]])
    clean, cropped, undone = (model.new_caches(1, 16) for _ in range(3))
    for caches in (clean, cropped, undone):
        mt.prefill(model, prompt, caches)
    for caches in (cropped, undone):
        for cache in caches:
            new = [torch.full_like(a[:, :, :3], float("nan")) for a in cache._state.arrays]
            cache._append(*new, None, transaction := Transaction())
            if caches is cropped:
                transaction.commit()
                cache.crop(5)
    expected = step(model, token, clean)
    for caches in (cropped, undone):
        torch.testing.assert_close(step(model, token, caches), expected, atol=0, rtol=0)


def test_padded_rows_stay_padded():
    model, tokens = model_of("learned"), torch.tensor([[9, 9, 3, 1], [2, 7, 1, 8]])
    lengths = torch.tensor([2, 4])
    step, outs = compile_decode_step(backend="eager"), []
    for chosen in (None, step):
        caches = model.new_caches(2, 12)
        outs.append(
            mt.generate(
                model, tokens, max_new_tokens=6, caches=caches, lengths=lengths, step=chosen
            )
        )
    assert (outs[0] == outs[1]).all()


@pytest.mark.exhaustive
def test_the_real_compiler():
    """Once through code generation, to see that what is traced can also be built."""
    model = model_of("rope", dtype="float32")
    prompt, outs = torch.tensor([[3, 1, 4, 1, 5]]), []
    for step in (None, compile_decode_step()):
        caches = model.new_caches(1, 24)
        outs.append(mt.generate(model, prompt, max_new_tokens=12, caches=caches, step=step))
    assert (outs[0] == outs[1]).all()


def test_a_graph_that_fails_leaves_the_caches():
    model, prompt = model_of("learned"), torch.tensor([[3, 1, 4]])
    caches, token = model.new_caches(1, 8), torch.tensor([[2]])
    mt.prefill(model, prompt, caches)
    expected = mt.decode_step(model, token, [cache.fork() for cache in caches])

    def failing(graph, inputs):
        def run(*arguments):
            raise RuntimeError("no device")

        return run

    with pytest.raises(RuntimeError, match="no device"):
        compile_decode_step(backend=failing)(model, token, caches)
    assert [cache.slots for cache in caches] == [3, 3]
    torch._dynamo.reset()
    found = compile_decode_step(backend="eager")(model, token, caches)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["rope", "latent"])
def test_a_compiled_step_follows_a_reorder(name):
    """The rows then lie in other arrays than those that the step has met."""
    model, step = model_of(name), compile_decode_step(backend="eager")
    caches, eager = model.new_caches(2, 12), model.new_caches(2, 12)
    for held in (caches, eager):
        mt.prefill(model, torch.tensor([[3, 1, 4], [1, 5, 9]]), held)
    for index in (None, [1, 0], [0, 0]):
        for cache in (*caches, *eager) if index else ():
            cache.reorder(torch.tensor(index))
        token = torch.tensor([[2], [6]])
        expected = mt.decode_step(model, token, eager)
        torch.testing.assert_close(step(model, token, caches), expected, rtol=0, atol=1e-11)


def test_refusals_change_nothing():
    model, step = model_of("learned"), compile_decode_step(backend="eager")
    caches = model.new_caches(1, 2)
    token = torch.tensor([[3]])
    for _ in range(2):
        step(model, token, caches)
    with pytest.raises(CacheOverflowError, match="all 2 slots"):
        step(model, token, caches)
    with pytest.raises(ShapeError, match=r"batch, 1"):
        step(model, torch.tensor([[3, 4]]), model.new_caches(1, 4))
    with pytest.raises(ConfigError, match="as many caches"):
        step(model, token, caches[:1])
    windowed = mt.Decoder(
        DecoderConfig(9, 1, AttentionConfig(4, 2, 2, window=3), 4, max_positions=9)
    )
    with pytest.raises(ConfigError, match="SlidingWindowCache"):
        step(windowed, token, windowed.new_caches(1, 4))
    full = mt.Decoder(DecoderConfig(9, 1, AttentionConfig(4, 2, 2), 4, max_positions=2))
    held = full.new_caches(1, 8)
    mt.prefill(full, torch.tensor([[1, 2]]), held)
    with pytest.raises(ConfigError, match="max_positions 2"):
        step(full, token, held)
    assert caches[0].slots == 2
    assert held[0].slots == 2


@pytest.mark.parametrize("options", [{}, {"sink_tokens": 2}, {"chunked": True}])
def test_a_windows_step_sees_its_window_and_first_tokens(options):
    """Over caches that keep all: the ring's slots move, so it is not compiled."""
    attention = AttentionConfig(8, 2, 4, rope=ROPE, window=3, **options)
    model = mt.Decoder(DecoderConfig(29, 1, attention, 11, max_positions=20), dtype="float64")
    tokens, steps = torch.arange(12)[None], []
    caches = [mt.KVCache(1, 2, 4, 12, dtype="float64")]
    step = compile_decode_step(backend="eager")
    mt.prefill(model, tokens[:, :4], caches)
    with torch.no_grad():
        for n in range(4, 12):
            steps.append(step(model, tokens[:, n : n + 1], caches))
        expected = model(tokens)[:, 4:]
    torch.testing.assert_close(torch.stack(steps, dim=1), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("block", [None, pytest.param(4, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", ["learned", "rope", "latent"])
def test_free_slots_after_a_gap_are_not_seen(name, block):
    """Tokens at 5, 6, 7 in the first slots: the free ones behind them bear smaller numbers."""
    model, token = model_of(name), torch.tensor([[7]])
    step, steps = compile_decode_step(block=block, backend="eager"), []
    for chosen in (mt.decode_step, step):
        caches = model.new_caches(1, 10)
        with torch.no_grad():
            model(torch.tensor([[3, 1, 4]]), caches=caches, positions=torch.arange(5, 8))
        steps.append(torch.stack([chosen(model, token, caches) for _ in range(3)]))
    torch.testing.assert_close(*steps, rtol=0, atol=1e-11)


def test_a_position_after_a_gap_must_be_one_that_is_embedded():
    attention = AttentionConfig(4, 2, 2)
    model = mt.Decoder(DecoderConfig(9, 1, attention, 4, max_positions=6))
    caches, step = model.new_caches(1, 8), compile_decode_step(backend="eager")
    with torch.no_grad():
        model(torch.tensor([[1, 2]]), caches=caches, positions=torch.tensor([4, 5]))
    with pytest.raises(ConfigError, match="position 6 exceeds max_positions 6"):
        step(model, torch.tensor([[3]]), caches)
    assert caches[0].slots == 2
