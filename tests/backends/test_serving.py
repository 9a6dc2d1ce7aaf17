"""A server gives each sequence what it would get alone, whatever the others do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    LatentConfig,
    RopeConfig,
)
from mini_attn.errors import CacheOverflowError, ConfigError
from mini_attn.variants import REGISTRY
from tests.backends.block_counts import check_blocks
from tests.backends.test_faults import events, struck
from tests.forms import small_config

ROPE = RopeConfig("half")
GQA = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=ROPE)
LAYERS = {
    "gqa": (GQA, GQA),
    "window": (AttentionConfig(8, 4, 4, n_kv_heads=1, rope=ROPE, window=3), GQA),
    "alibi": (AttentionConfig(8, 2, 4, alibi=True),) * 2,
    "learned positions": (AttentionConfig(8, 2, 4, v_head_dim=3),) * 2,
    "shared layers": (GQA, AttentionConfig(8, 2, 4, n_kv_heads=2, window=3, rope=ROPE)),
}
VOCAB = 19
SEEDS = (1, 3, 6, 7)


def model_of(lib, kind="gqa", dtype="float64"):
    places = "learned" if kind.startswith("learned") else "none"
    sizes = {"d_ff": 16, "max_positions": 24, "positions": places, "norm": "rms_norm"}
    sizes["kv_sources"] = (0, 0) if kind == "shared layers" else None
    return lib.Decoder(DecoderConfig(VOCAB, 2, LAYERS[kind], **sizes), seed=3, dtype=dtype)


def alone(lib, model, prompt, new, **options):
    found = lib.generate(model, lib.array([prompt]), max_new_tokens=new, **options)
    return lib.numpy(found)[0].tolist()


def requests(chance, count=7):
    """Prompts that often begin alike."""
    common = [chance.randrange(VOCAB) for _ in range(9)]
    for i in range(count):
        prompt = common[: chance.randrange(10)]
        prompt += [chance.randrange(VOCAB) for _ in range(chance.randrange(1, 4))]
        yield f"r{i}", prompt, chance.randrange(1, 6)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_gets_what_it_would_alone(lib, kind, seed):
    chance = random.Random(seed)
    model, size = model_of(lib, kind), chance.randrange(1, 5)
    n_blocks = -(-17 // size) + chance.randrange(3)
    server = lib.Server(model, n_blocks, block_size=size, token_budget=chance.randrange(2, 9))
    asked, steps = {}, []
    for name, prompt, new in requests(chance):
        asked[name] = (prompt, new)
        server.add(name, prompt, max_new_tokens=new)
        steps += [server.step() for _ in range(chance.randrange(3))]
    while server.scheduler.running or server.scheduler.waiting:
        steps.append(server.step())
    found = server.run()
    for name, (prompt, new) in asked.items():
        assert found[name] == alone(lib, model, prompt, new), name
    assert any(hit for step in steps for _, hit in step.admitted)
    assert seed == 1 or any(step.preempted for step in steps)
    blocks = server.scheduler.blocks
    check_blocks(blocks, [])
    assert not server.step().pieces


def test_parallel_samples_share_their_prompt(lib):
    """Copies are made before anybody writes, and each sample goes on by itself."""
    chosen = {"a": iter([1, 2, 3, 4]), "b": iter([5, 6, 7]), "c": iter([8, 9, 1])}
    logits_of = {}

    def choose(name, logits):
        logits_of[name] = lib.numpy(logits)
        return next(chosen[name])

    model = model_of(lib)
    server = lib.Server(model, 12, block_size=4, token_budget=8, choose=choose)
    prompt = [3, 1, 4, 1, 5, 9]
    server.add("a", prompt, max_new_tokens=4)
    server.step()
    for name in "bc":
        server.fork("a", name)
    assert server.scheduler.blocks.n_free == 12 - 2
    step = server.step()
    assert [len(piece.copies) for piece in step.pieces] == [1, 1, 0]  # the last keeps the block
    found = server.run()
    assert found["b"] == [*prompt, 1, 5, 6, 7]
    for name, tokens in found.items():
        expected = model(lib.array([tokens[:-1]]))
        np.testing.assert_allclose(logits_of[name], lib.numpy(expected)[0, -1], atol=1e-12)


def test_a_stop_token_ends_a_sequence(lib):
    model = model_of(lib)
    plain = alone(lib, model, [3, 1, 4], 5)
    stop = plain[4]
    server = lib.Server(model, 9, block_size=2, stop_token=[stop, VOCAB - 1])
    server.add("a", [3, 1, 4], max_new_tokens=5)
    tokens = server.run()["a"]
    assert tokens == plain[: 1 + plain.index(stop, 3)]
    assert server.scheduler.blocks.n_free == 9


def test_a_sequence_may_be_ended_from_outside(lib):
    server = lib.Server(model_of(lib), 9, block_size=2)
    server.add("a", [3, 1, 4], max_new_tokens=5)
    server.step()
    server.end("a")
    assert len(server.run()["a"]) == 4


def test_a_step_that_fails_has_never_happened(lib):
    """Struck at many calls of this package; what is run then is what would have been run."""
    model = model_of(lib)

    def begun():
        server = lib.Server(model, 5, block_size=2, token_budget=5)
        server.add("a", [3, 1, 4, 1], max_new_tokens=4)
        server.step()
        server.fork("a", "b")
        server.add("c", [3, 1, 9], max_new_tokens=2)
        return server

    def state(server):
        scheduler = server.scheduler
        names = (scheduler.running, scheduler.waiting, scheduler.ended)
        told = [(name, scheduler.tokens(name), scheduler.table(name)) for n in names for name in n]
        return names, told, scheduler.blocks.n_free

    begun().step()
    last = events(begun().step)
    server, expected = begun(), begun().run()
    before, same = state(server), begun()
    step = same.step()
    for number in range(1, last, max(1, last // 60)):
        if not struck(server.step, number):
            break
        if state(server) != before:  # it was struck after the step was done
            assert state(server) == state(same)
            assert number > last * 0.9
            server = begun()
            continue
    server = begun()
    assert struck(server.step, last // 2)
    again = server.step()
    assert [piece.tokens for piece in again.pieces] == [piece.tokens for piece in step.pieces]
    assert server.run() == expected
    check_blocks(server.scheduler.blocks, [])


def test_who_gave_way_in_a_step_that_failed_begins_again(lib):
    """The step has written into its blocks; then whoever needed them ends."""
    model, prompts, at = model_of(lib), {"a": [3, 1, 4], "b": [9, 2, 6]}, []

    def choose(name, logits):
        at.append(name)
        if at == ["a", "b", "a", "b", "a"]:  # the third step, in which b gives way
            raise ArithmeticError
        return int(logits.argmax())

    server = lib.Server(model, 4, block_size=2, token_budget=8, choose=choose)
    for name, prompt in prompts.items():
        server.add(name, prompt, max_new_tokens=5)
    held = [server.scheduler.table("b") for _ in range(2) if server.step().pieces][-1]
    with pytest.raises(ArithmeticError):
        server.step()
    assert held
    assert (server.scheduler.running, server.scheduler.waiting) == (["a"], ["b"])
    server.end("a")
    assert server.run()["b"] == alone(lib, model, prompts["b"], 5)


def test_refusals(lib):
    model = model_of(lib, "learned positions")
    server = lib.Server(model, 20, block_size=2)
    with pytest.raises(ConfigError, match="exceed max_positions = 24"):
        server.add("a", [1] * 20, max_new_tokens=6)
    server.add("a", [1] * 20, max_new_tokens=5)
    with pytest.raises(ConfigError, match=r"tokens lie in \[0, 19\), got 19"):
        server.add("b", [19], max_new_tokens=1)
    with pytest.raises(ConfigError, match="taken"):
        server.add("a", [1], max_new_tokens=1)
    with pytest.raises(ConfigError, match="Decoder"):
        lib.Server("model", 4)
    for options in ({"n_blocks": 0}, {"block_size": 0}, {"token_budget": 0}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            lib.Server(model, **{"n_blocks": 4, **options})
    with pytest.raises(ConfigError, match="stop_token"):
        lib.Server(model, 4, stop_token=VOCAB)
    latent = LatentConfig(8, 2, 6, 4, 2, 3, rope=RopeConfig("interleaved"))
    other = lib.Decoder(DecoderConfig(VOCAB, 1, latent, d_ff=16, max_positions=24))
    with pytest.raises(ConfigError, match="layer 0 keeps no keys and values"):
        lib.Server(other, 4)
    wild = lib.Server(model, 4, choose=lambda name, logits: VOCAB)
    wild.add("a", [1], max_new_tokens=1)
    with pytest.raises(ConfigError, match="got 19"):
        wild.step()
    assert wild.scheduler.waiting == ["a"]
    taken = lib.Server(model, 2, block_size=1)
    taken.add("a", [1], max_new_tokens=2)
    taken.step()
    taken.scheduler.blocks.take()
    with pytest.raises(CacheOverflowError, match="no other sequence"):
        taken.run()


def test_a_rented_cache_stays_within_its_blocks(lib):
    server = lib.Server(model_of(lib), 4, block_size=2)
    kind = type(server)._step_caches(server, (0, 1), 3)[0]
    rows = lib.array(np.ones((1, 2, 2, 4)))
    with pytest.raises(CacheOverflowError, match="3 of 4 slots are used in the 2 blocks"):
        kind.append(rows, rows)


# One field is a state, which has none of the keys and values that blocks are made for.
MORE = [
    name
    for name, entry in REGISTRY.items()
    if len(entry.cache) > 2 and entry.length_rule != "state"
]
STATES = [name for name, entry in REGISTRY.items() if entry.length_rule == "state"]


@pytest.mark.parametrize("name", STATES)
def test_a_layer_that_keeps_a_state_is_refused(lib, name):
    attention = small_config(REGISTRY[name])
    other = lib.Decoder(DecoderConfig(VOCAB, 1, attention, d_ff=16, max_positions=24))
    with pytest.raises(ConfigError, match="layer 0 keeps no keys and values"):
        lib.Server(other, 4)


@pytest.mark.parametrize("name", MORE)
def test_a_layer_that_keeps_more_than_keys_and_values_is_refused(lib, name):
    attention, own = small_config(REGISTRY[name]), REGISTRY[name].cache_sizes[0].name
    other = lib.Decoder(DecoderConfig(VOCAB, 1, attention, d_ff=16, max_positions=24))
    with pytest.raises(ConfigError, match=f"layer 0 keeps more than .* has {own}"):
        lib.Server(other, 4)
