"""Caches that keep some keys: against loops over single keys, and against caches that keep all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import cost, plain
from mini_attn.config import (
    AttentionConfig,
    DecoderConfig,
    KeepHeavyHitters,
    KeepObserved,
    KeepRecent,
    RopeConfig,
)
from mini_attn.errors import CacheStateError, ConfigError, DTypeError, MiniAttnError, ShapeError
from mini_attn.plain import serving
from tests.backends.small import small

BATCH, HEADS, KV_HEADS, WIDTH, D_MODEL = 2, 4, 2, 4, 6
POLICIES = [
    KeepRecent(),
    KeepRecent(sink_tokens=2),
    KeepHeavyHitters(recent=2),
    KeepHeavyHitters(recent=0, sink_tokens=1),
    KeepObserved(observe=2, kernel=3),
    KeepObserved(observe=3, kernel=1, pooling="mean", sink_tokens=1),
]
OPTIONS = [{}, {"rope": RopeConfig("half")}, {"alibi": True}, {"window": 5}, {"sinks": True}]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)
WATCHING = [policy for policy in POLICIES if policy.watches]


def config_of(**options):
    return AttentionConfig(D_MODEL, HEADS, WIDTH, n_kv_heads=KV_HEADS, v_head_dim=3, **options)


def layer_of(lib, config=None):
    layer = lib.GroupedQueryAttention(config or config_of(), dtype="float64")
    rng = np.random.default_rng(7)
    layer.load_state_dict(
        {key: rng.standard_normal(tuple(w.shape)) for key, w in layer.state_dict().items()}
    )
    return layer


def cache_of(lib, policy, budget, batch=BATCH):
    sizes = {"v_head_dim": 3, "dtype": "float64"}
    return lib.EvictingCache(batch, KV_HEADS, WIDTH, budget=budget, policy=policy, **sizes)


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def in_chunks(lib, layer, x, cache, chunks):
    ends = np.cumsum(chunks)
    parts = [
        run(lib, layer, x[:, e - n : e], cache=cache) for e, n in zip(ends, chunks, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def held(lib, cache):
    return lib.numpy(cache.view()[2])


# ---- Against loops: every head remembers a list of keys ----


class Head:
    """What one key/value head remembers: single keys in a list, and nothing vectorised."""

    def __init__(self, policy, budget):
        self.policy, self.budget, self.keys, self.steps = policy, budget, [], 0

    def step(self, queries, keys, values, positions, scale):
        """Outputs of a group's queries (group, new, dim); then the head forgets."""
        for key, value, position in zip(keys, values, positions, strict=True):
            self.keys.append({"k": key, "v": value, "at": int(position), "got": 0.0, "looks": 0.0})
        outs = np.zeros((*queries.shape[:2], values.shape[1]))
        new = len(positions)
        for h, i in np.ndindex(*queries.shape[:2]):
            seen = [key for key in self.keys if key["at"] <= positions[i]]
            parts = np.array([np.exp(scale * queries[h, i] @ key["k"]) for key in seen])
            for share, key in zip(parts / parts.sum(), seen, strict=True):
                outs[h, i] += share * key["v"]
                key["got"] += share
                if i >= new - getattr(self.policy, "observe", new):
                    key["looks"] += share
        self.forget()
        return outs

    def forget(self):
        policy, last = self.policy, self.keys[-1]["at"]
        self.steps += 1
        if isinstance(policy, KeepObserved) and self.steps > 1:
            return
        worth = {}
        for place, key in enumerate(self.keys):
            if isinstance(policy, KeepRecent):
                worth[key["at"]] = key["at"]
            elif isinstance(policy, KeepHeavyHitters):
                worth[key["at"]] = key["got"]
            else:
                half = policy.kernel // 2
                before = self.keys[: -policy.observe]
                near = [k["looks"] for k in before[max(0, place - half) : place + half + 1]]
                pooled = max(near, default=0) if policy.pooling == "max" else sum(near)
                worth[key["at"]] = pooled
        safe = {at for at in worth if at < policy.sink_tokens or at > last - policy.recent}
        others = sorted((at for at in worth if at not in safe), key=lambda at: (-worth[at], at))
        stay = safe | set(others[: max(0, self.budget - len(safe))])
        self.keys = [key for key in self.keys if key["at"] in stay]


@each_policy
@pytest.mark.parametrize("chunks", [[1] * 12, [7, 1, 1, 3], [12], [2, 5, 5]], ids=str)
def test_equals_heads_that_remember_single_keys(lib, rng, policy, chunks):
    layer, cache = layer_of(lib), cache_of(lib, policy, budget=4)
    x = rng.standard_normal((BATCH, 12, D_MODEL))
    q, k, v = (lib.numpy(a) for a in layer.project(lib.array(x), lib.array(x)))
    heads = [[Head(policy, 4) for _ in range(KV_HEADS)] for _ in range(BATCH)]
    start = 0
    for new in chunks:
        some = slice(start, start + new)
        outs = np.zeros((BATCH, HEADS, new, 3))
        for b, g in np.ndindex(BATCH, KV_HEADS):
            group = slice(g * HEADS // KV_HEADS, (g + 1) * HEADS // KV_HEADS)
            outs[b, group] = heads[b][g].step(
                q[b, group, some], k[b, g, some], v[b, g, some], np.arange(start, start + new), 0.5
            )
        expected = layer.o_proj(lib.merge_heads(lib.array(outs)))
        out = run(lib, layer, x[:, some], cache=cache)
        np.testing.assert_allclose(out, lib.numpy(expected), atol=1e-11)
        kept = [[[key["at"] for key in head.keys] for head in row] for row in heads]
        np.testing.assert_array_equal(held(lib, cache), kept)
        start += new


# ---- Against the plain text ----


@pytest.mark.parametrize("chunks", [[1] * 9, [6, 1, 2]], ids=str)
@pytest.mark.parametrize("policy", POLICIES[2:5], ids=str)
def test_equals_the_plain_text(lib, rng, policy, chunks):
    layer, cache = layer_of(lib, config_of(rope=RopeConfig("half"))), cache_of(lib, policy, 4)
    x = rng.standard_normal((BATCH, 9, D_MODEL))
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    k = np.zeros((BATCH, KV_HEADS, 0, WIDTH))
    v, at = k[..., :3], np.zeros((BATCH, KV_HEADS, 0), int)
    totals, start = np.zeros(at.shape), 0
    for new in chunks:
        some, positions = x[:, start : start + new], np.arange(start, start + new)
        parts = [
            plain.split_heads(some @ state[f"{name}_proj.weight"].T, heads)
            for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))
        ]
        q, k_new = (plain.rope(a, positions, "half") for a in parts[:2])
        k, v = np.concatenate([k, k_new], axis=2), np.concatenate([v, parts[2]], axis=2)
        new_at = np.broadcast_to(positions, (BATCH, KV_HEADS, new))
        at = np.concatenate([at, new_at], axis=2)
        each = np.repeat(at, HEADS // KV_HEADS, axis=1)
        mask = plain.visible(positions[None, None], each)
        weights = plain.softmax(plain.scores_of(q, k, mask, 0.5))
        out = plain.merge_heads(plain.weighted_sum(weights, v)) @ state["o_proj.weight"].T
        np.testing.assert_allclose(run(lib, layer, some, cache=cache), out, atol=1e-11)
        groups = serving.gathered(weights, KV_HEADS)
        if isinstance(policy, KeepHeavyHitters):
            scores = totals = serving.heavy_hitters(groups, totals)
        elif not start and new > policy.observe:
            scores = serving.observed(groups, policy.observe, policy.kernel)
            scores = np.concatenate([scores, np.zeros((*at.shape[:2], policy.observe))], axis=-1)
        else:  # only the prompt is looked through
            scores = None
        if scores is not None:
            slots = serving.stay(scores, at, 4, policy.recent, policy.sink_tokens)
            k, v, at = serving.evict(k, v, at, slots)
            totals = np.take_along_axis(totals, slots, axis=2) if totals.size else totals
        np.testing.assert_array_equal(held(lib, cache), at)
        start += new


# ---- Against caches that keep all, and against a ring ----


@each_policy
@pytest.mark.parametrize("extra", OPTIONS, ids=lambda extra: "-".join(extra) or "plain")
def test_a_budget_that_holds_all_forgets_nothing(lib, rng, policy, extra):
    layer = layer_of(lib, config_of(**extra))
    x = rng.standard_normal((BATCH, 9, D_MODEL))
    cache = cache_of(lib, policy, budget=9)
    out = in_chunks(lib, layer, x, cache, [4, 1, 1, 3])
    np.testing.assert_allclose(out, run(lib, layer, x), atol=1e-12)
    np.testing.assert_array_equal(held(lib, cache), np.tile(np.arange(9), (BATCH, KV_HEADS, 1)))
    full = in_chunks(lib, layer, x, layer.new_cache(BATCH, 9), [4, 1, 1, 3])
    # A ring has another order; and torch's kernels keep no weights, where a policy wants all.
    if "window" not in extra and not (policy.watches and lib.name == "torch"):
        np.testing.assert_array_equal(out, full)


@given(
    chunks=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    recent=st.integers(1, 5),
    sinks=st.integers(0, 3),
)
def test_recent_keys_behind_sinks_are_those_of_a_ring(lib, chunks, recent, sinks):
    layer, total = layer_of(lib), sum(chunks)
    x = np.random.default_rng(total).standard_normal((BATCH, total, D_MODEL))
    policy = KeepRecent(sink_tokens=sinks)
    cache = cache_of(lib, policy, budget=recent + sinks)
    ring = lib.SlidingWindowCache(
        BATCH, KV_HEADS, WIDTH, None, window=recent, sink_tokens=sinks, v_head_dim=3,
        dtype="float64",
    )  # fmt: skip
    end = 0
    for new in chunks:
        some = x[:, end : end + new]
        _, k, v = layer.project(lib.array(some), lib.array(some))
        cache.append(k, v)
        ring.append(k, v)
        end += new
        ring_k, ring_v, ring_at = (lib.numpy(a) for a in ring.view())
        order = np.argsort(ring_at[0])
        ours_k, ours_v, ours_at = (lib.numpy(a) for a in cache.view())
        np.testing.assert_array_equal(ours_at[:, 0], ring_at[:, order])
        np.testing.assert_array_equal(ours_k, ring_k[:, :, order])
        np.testing.assert_array_equal(ours_v, ring_v[:, :, order])
        assert cache.slots == ring.slots == end
        assert lib.numpy(cache.next_positions(2)).tolist() == [end, end + 1]


def test_one_by_one_recent_keys_are_a_window(lib, rng):
    """A step sees what is held and its own token: a window of one key more than the budget."""
    windowed = layer_of(lib, config_of(window=4, sink_tokens=2, rope=RopeConfig("half")))
    layer = layer_of(lib, config_of(rope=RopeConfig("half")))
    x = rng.standard_normal((BATCH, 13, D_MODEL))
    cache = cache_of(lib, KeepRecent(sink_tokens=2), budget=5)
    out = in_chunks(lib, layer, x, cache, [1] * 13)
    np.testing.assert_allclose(out, run(lib, windowed, x), atol=1e-12)


@each_policy
@pytest.mark.parametrize("tokens", [2, 4, 9])
def test_bytes_equal_the_formula(lib, policy, tokens):
    model = small("gqa", n_layers=1, n_kv_heads=KV_HEADS, head_dim=WIDTH, v_head_dim=3)
    cache, layer = cache_of(lib, policy, 4), layer_of(lib)
    in_chunks(lib, layer, np.ones((BATCH, tokens, D_MODEL)), cache, [tokens])
    use = {"batch": BATCH, "context": tokens, "dtype_bytes": 8}
    assert cache.used_bytes == cost.cache_bytes(model, **use, storage=cost.Evicting(4))


# ---- Positions, padding, and what a cache says of itself ----


@each_policy
@pytest.mark.parametrize("extra", OPTIONS[:4], ids=lambda extra: "-".join(extra) or "plain")
def test_left_padding_changes_nothing(lib, rng, policy, extra):
    """The padded row forgets its padding first, then what it would have forgotten alone."""
    layer = layer_of(lib, config_of(**extra))
    x = rng.standard_normal((1, 9, D_MODEL))
    padded = np.concatenate([rng.standard_normal((1, 3, D_MODEL)), x], axis=1)
    positions = np.concatenate([np.full(3, -1), np.arange(9)])
    alone, beside = cache_of(lib, policy, 4, batch=1), cache_of(lib, policy, 4, batch=1)
    expected = in_chunks(lib, layer, x, alone, [6, 1, 1, 1])
    out = [run(lib, layer, padded[:, :9], cache=beside, positions=positions[:9])]
    out += [run(lib, layer, padded[:, i : i + 1], cache=beside) for i in range(9, 12)]
    np.testing.assert_allclose(np.concatenate(out, axis=1)[:, 3:], expected, atol=1e-11)
    np.testing.assert_array_equal(held(lib, beside), held(lib, alone))
    assert lib.numpy(beside.length).tolist() == [9]


def test_what_it_says_of_itself(lib, rng):
    cache, layer = cache_of(lib, KeepRecent(), 3), layer_of(lib)
    assert cache.contiguous
    in_chunks(lib, layer, rng.standard_normal((BATCH, 2, D_MODEL)), cache, [2])
    assert cache.contiguous
    assert cache.used_bytes == cache.allocated_bytes == BATCH * KV_HEADS * 2 * (WIDTH + 3) * 8
    in_chunks(lib, layer, rng.standard_normal((BATCH, 5, D_MODEL)), cache, [5])
    assert not cache.contiguous
    assert cache.slots == 7
    assert cache.used_bytes == cache.allocated_bytes == BATCH * KV_HEADS * 3 * (WIDTH + 3) * 8
    assert lib.numpy(cache.length).tolist() == [7, 7]


def test_of_equal_scores_the_earlier_key_stays(lib):
    scores, at = lib.array(np.full((1, 2, 6), 0.5)), lib.array(np.tile(np.arange(6), (1, 2, 1)))
    kept = lib.numpy(lib.kept_keys(scores, at, 3, recent=1))
    np.testing.assert_array_equal(kept, [[[0, 1, 5]] * 2])
    assert lib.numpy(lib.kept_keys(scores, at, 9)).shape == (1, 2, 6)


def test_padding_goes_first(lib):
    at = np.array([[-1, -1, 0, 1, 2]])
    kept = lib.kept_keys(lib.array(np.array([[9.0, 9.0, 0.0, -1.0, -2.0]])), lib.array(at), 2)
    np.testing.assert_array_equal(lib.numpy(kept), [[2, 3]])


# ---- Between steps ----


@each_policy
def test_forks_and_other_rows_go_on_alone(lib, rng, policy):
    layer, x = layer_of(lib), rng.standard_normal((BATCH, 9, D_MODEL))
    cache = cache_of(lib, policy, 4)
    in_chunks(lib, layer, x[:, :6], cache, [6])
    twin = cache.fork()
    rest = in_chunks(lib, layer, x[:, 6:], cache, [1, 2])
    np.testing.assert_array_equal(in_chunks(lib, layer, x[:, 6:], twin, [1, 2]), rest)
    turned = cache_of(lib, policy, 4)
    in_chunks(lib, layer, x[:, :6], turned, [6])
    turned.reorder(lib.array(np.array([1, 1])))
    out = in_chunks(lib, layer, x[[1, 1], 6:], turned, [1, 2])
    np.testing.assert_allclose(out, rest[[1, 1]], atol=1e-12)
    np.testing.assert_array_equal(held(lib, turned), held(lib, cache)[[1, 1]])


@each_policy
def test_the_latest_step_can_be_taken_back(lib, rng, policy):
    layer, x = layer_of(lib), rng.standard_normal((BATCH, 12, D_MODEL))
    cache = cache_of(lib, policy, 4)
    in_chunks(lib, layer, x[:, :8], cache, [5, 3])
    before = [lib.numpy(a).copy() for a in cache.view()]
    expected = in_chunks(lib, layer, x[:, 8:], cache, [4])
    cache.crop(8)
    for array, old in zip(cache.view(), before, strict=True):
        np.testing.assert_array_equal(lib.numpy(array), old)
    np.testing.assert_array_equal(in_chunks(lib, layer, x[:, 8:], cache, [4]), expected)
    with pytest.raises(CacheStateError, match="cannot keep 10 of 12"):
        cache.crop(10)
    cache.crop(8)
    with pytest.raises(CacheStateError, match="cannot keep 5 of 8"):
        cache.crop(5)
    cache.crop(0)
    assert cache.slots == 0
    assert held(lib, cache).shape[2] == 0


@given(ops=st.lists(st.sampled_from(["1", "3", "crop", "fail", "fork"]), min_size=1, max_size=12))
@pytest.mark.parametrize("policy", [POLICIES[1], POLICIES[2]], ids=str)
def test_any_history_holds_what_its_steps_leave(lib, policy, ops):
    """Taken back, failed or forked: what counts is the steps that stayed."""
    layer, rng = layer_of(lib), np.random.default_rng(len(ops))
    cache, chunks = cache_of(lib, policy, 4), []
    x = rng.standard_normal((BATCH, 40, D_MODEL))
    fresh = False  # whether the latest step may be taken back
    for op in ops:
        start = sum(chunks)
        if op == "fail":
            bad = np.full((BATCH, 2, D_MODEL), np.nan)
            if policy.watches:
                with pytest.raises(ConfigError, match="NaN"):
                    run(lib, layer, bad, cache=cache)
            else:
                with pytest.raises(MiniAttnError):
                    run(lib, layer, bad[..., 1:], cache=cache)
        elif op == "crop" and fresh:
            cache.crop(start - chunks.pop())
            fresh = False
        elif op == "fork":
            cache = cache.fork()
        elif op in "13":
            run(lib, layer, x[:, start : start + int(op)], cache=cache)
            chunks.append(int(op))
            fresh = True
    again = cache_of(lib, policy, 4)
    if chunks:
        in_chunks(lib, layer, x, again, chunks)
    assert cache.slots == sum(chunks)
    for ours, theirs in zip(cache.view(), again.view(), strict=True):
        np.testing.assert_array_equal(lib.numpy(ours), lib.numpy(theirs))


@pytest.mark.parametrize("policy", WATCHING, ids=str)
def test_a_cache_waits_for_weights(lib, rng, policy):
    cache = cache_of(lib, policy, 4)
    k = lib.array(rng.standard_normal((BATCH, KV_HEADS, 5, WIDTH)))
    v, weights = k[..., :3], np.full((BATCH, HEADS, 5, 5), 0.2)
    with pytest.raises(CacheStateError, match="append comes before observe"):
        cache.observe(lib.array(weights))
    cache.append(k, v)
    with pytest.raises(CacheStateError, match="waits for the weights of its latest 5 tokens"):
        cache.append(k, v)
    for wrong, error, words in (
        (weights[..., :4], ShapeError, r"= \(2, 4, 5, 5\), got \(2, 4, 5, 4\)"),
        (weights[0], ShapeError, "weights"),
        (weights[:, :3], ConfigError, "n_heads"),
        (np.where(weights > 0, np.nan, weights), ConfigError, "NaN"),
        (weights.astype(int), DTypeError, "floating point"),
    ):
        with pytest.raises(error, match=words):
            cache.observe(lib.array(wrong))
    assert held(lib, cache).shape[2] == 5
    cache.observe(lib.array(weights))
    assert held(lib, cache).shape[2] == 4
    cache.append(k[:, :, :1], v[:, :, :1])
    cache.crop(5)  # taken back before its weights were told
    cache.append(k[:, :, :1], v[:, :, :1])


@each_policy
def test_a_decoder_generates_with_it(lib, policy):
    """A budget for all is the full cache, token by token; a small one still counts tokens."""
    config = DecoderConfig(11, 2, config_of(rope=RopeConfig("half")), d_ff=5, max_positions=40)
    model = lib.Decoder(config)
    tokens = lib.array(np.arange(12).reshape(2, 6) % 11)

    def caches(budget):
        sizes = {"v_head_dim": 3, "budget": budget, "policy": policy}
        return [lib.EvictingCache(2, KV_HEADS, WIDTH, **sizes) for _ in range(2)]

    expected = lib.generate(model, tokens, max_new_tokens=9, caches=model.new_caches(2, 20))
    whole = lib.generate(model, tokens, max_new_tokens=9, caches=caches(20))
    np.testing.assert_array_equal(lib.numpy(whole), lib.numpy(expected))
    small = caches(4)
    assert lib.generate(model, tokens, max_new_tokens=9, caches=small).shape == (2, 15)
    assert [cache.slots for cache in small] == [14, 14]
    if not isinstance(policy, KeepObserved):
        assert {cache.view()[0].shape[2] for cache in small} == {4}


def test_a_layer_from_outside_is_watched_too(lib, rng, monkeypatch):
    """The pass's transaction holds both parts of the step: an error later leaves nothing."""
    config = DecoderConfig(11, 2, config_of(), d_ff=5, max_positions=40)
    model = lib.Decoder(config, dtype="float64")
    inner = model.layers[0].self_attn
    kind = type("Outside", (type(inner),), {"forward" if lib.name == "torch" else "__call__": (
        lambda self, x, **options: type(inner)._checked_call(self, x, **options)
    )})  # fmt: skip
    inner.__class__ = kind
    policy = KeepHeavyHitters(recent=1)
    caches = [cache_of(lib, policy, 3, batch=1) for _ in range(2)]
    tokens = lib.array(np.arange(5)[None])
    model(tokens, caches=caches)
    assert [cache.slots for cache in caches] == [5, 5]
    assert [cache.view()[0].shape[2] for cache in caches] == [3, 3]
    monkeypatch.setattr(model.layers[1].self_attn, "_run", None)
    with pytest.raises(TypeError):
        model(tokens, caches=caches)
    monkeypatch.undo()
    assert [cache.slots for cache in caches] == [5, 5]
    model(tokens, caches=caches)
    assert [cache.slots for cache in caches] == [10, 10]


# ---- What is refused ----


def test_bad_policies_are_refused(lib):
    make = {"budget": 4, "policy": KeepRecent()}
    for changed, words in (
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"policy": "recent"}, "policy must be KeepRecent, KeepHeavyHitters or KeepObserved"),
        ({"policy": KeepHeavyHitters(3, sink_tokens=2)}, "budget = 4 keys is less than the 5"),
        ({"policy": KeepRecent(sink_tokens=4)}, "budget = 4 keys is less than the 5"),
        ({"policy": KeepObserved(5)}, "budget = 4 keys is less than the 5"),
    ):
        with pytest.raises(ConfigError, match=words):
            lib.EvictingCache(1, 1, 2, **(make | changed))
    with pytest.raises(ConfigError, match="observe"):
        KeepObserved(0)
    with pytest.raises(ConfigError, match="kernel must be odd"):
        KeepObserved(1, kernel=4)
    with pytest.raises(ConfigError, match="pooling"):
        KeepObserved(1, pooling="sum")
    with pytest.raises(ConfigError, match="recent"):
        KeepHeavyHitters(-1)
    with pytest.raises(ConfigError, match="sink_tokens"):
        KeepRecent(-1)


def test_bad_scores_are_refused(lib):
    scores, at = lib.array(np.ones((1, 4))), lib.array(np.arange(4)[None])
    for given_, options, error, words in (
        ((scores, at, 0), {}, ConfigError, "budget"),
        ((scores, at, 2), {"recent": 2, "sink_tokens": 1}, ConfigError, "budget = 2 keys is less"),
        ((scores * np.nan, at, 2), {}, ConfigError, "NaN"),
        ((scores, at[:, :3], 2), {}, ShapeError, "one shape"),
        ((at, at, 2), {}, DTypeError, "scores must be floating point"),
        ((scores, scores, 2), {}, DTypeError, "positions"),
    ):
        with pytest.raises(error, match=words):
            lib.kept_keys(*given_, **options)
    with pytest.raises(ConfigError, match="kernel must be odd"):
        lib.pool_weights(scores, 2)
    with pytest.raises(ConfigError, match="pooling"):
        lib.pool_weights(scores, 3, "sum")
    with pytest.raises(DTypeError, match="weights must be floating point"):
        lib.pool_weights(at, 3)
    weights = lib.array(np.ones((1, 4, 1, 3)))
    assert lib.numpy(lib.kv_head_weights(weights, 2)).tolist() == [[[[2.0] * 3]] * 2]
    with pytest.raises(ConfigError, match="n_kv_heads"):
        lib.kv_head_weights(weights, 3)
    with pytest.raises(ConfigError, match="NaN"):
        lib.kv_head_weights(weights * np.nan, 2)


@pytest.mark.parametrize("extra", OPTIONS, ids=lambda extra: "-".join(extra) or "plain")
def test_backends_agree_where_heads_hold_other_keys(backends, rng, extra):
    """Key/value heads that kept different keys see, and are as far from, their own."""
    policy, x = KeepHeavyHitters(recent=1), rng.standard_normal((BATCH, 10, D_MODEL))
    outs, kept = [], []
    for lib in backends:
        cache = cache_of(lib, policy, 4)
        outs.append(in_chunks(lib, layer_of(lib, config_of(**extra)), x, cache, [6, 1, 2, 1]))
        kept.append(held(lib, cache))
    np.testing.assert_allclose(*outs, atol=1e-12)
    np.testing.assert_array_equal(*kept)


def test_alibi_measures_each_heads_own_distances(lib, rng):
    """One step over kept keys, beside attention with a bias that is made head by head."""
    config = config_of(alibi=True)
    layer, cache = layer_of(lib, config), cache_of(lib, KeepHeavyHitters(recent=1), 4)
    x = rng.standard_normal((BATCH, 8, D_MODEL))
    in_chunks(lib, layer, x[:, :7], cache, [7])
    k, v, at = (lib.numpy(a) for a in cache.view())
    assert (at[:, 0] != at[:, 1]).any()
    q, k_new, v_new = (lib.numpy(a) for a in layer.project(*(lib.array(x[:, 7:]),) * 2))
    at = np.concatenate([at, np.full((BATCH, KV_HEADS, 1), 7)], axis=2)
    slopes = lib.numpy(lib.alibi_slopes(HEADS))
    bias = -slopes[:, None, None] * (7 - np.repeat(at, 2, axis=1))[:, :, None]
    rows = (q, np.concatenate([k, k_new], axis=2), np.concatenate([v, v_new], axis=2))
    out = lib.scaled_dot_product_attention(*(lib.array(a) for a in rows), bias=lib.array(bias))
    expected = lib.numpy(layer.o_proj(lib.merge_heads(out)))
    np.testing.assert_allclose(run(lib, layer, x[:, 7:], cache=cache), expected, atol=1e-12)
