"""Known prefixes: what is shared holds the same tokens, whatever was freed, cut or reused."""

from __future__ import annotations

from hashlib import blake2b
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mini_attn import cost
from mini_attn.caching import Blocks, Prefixes, Transaction, chain_hash
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.plain import serving
from tests.backends.block_counts import check_blocks
from tests.backends.small import small
from tests.conftest import Backend

DIM = 2
MODEL = small("mha", n_layers=1, n_heads=1, n_kv_heads=1, head_dim=DIM, v_head_dim=DIM)
some = st.integers(0, 20)


def colliding(parent, tokens):
    """Three numbers for everything."""
    return (parent + sum(tokens)) % 3


# ---- The number of a block ----


def test_the_number_is_the_same_everywhere():
    said = b"".join(n.to_bytes(8, "little") for n in (0, 3, 1))
    first = int.from_bytes(blake2b(said, digest_size=8).digest(), "little")
    assert chain_hash(0, (3, 1)) == first == 13747766638809794652
    assert chain_hash(first, (3, 1)) != first
    assert chain_hash(0, (-1,)) != chain_hash(0, (-2,))  # which Python's own hash does not tell


@pytest.mark.parametrize("place", range(6))
def test_the_number_depends_on_every_token_before(place):
    tokens, size = [5, 5, 5, 5, 5, 5], 2

    def last(tokens):
        key = 0
        for start in range(0, len(tokens), size):
            key = chain_hash(key, tokens[start : start + size])
        return key

    before = last(tokens)
    tokens[place] = 6
    assert last(tokens) != before


# ---- What is found ----


def test_one_token_is_left_to_run_and_no_part_of_a_block_is_shared():
    prefixes = Prefixes(8, block_size=2)
    prefixes.learn([1, 2, 3, 4, 5], [7, 6, 5])
    assert prefixes.find([1, 2, 3, 4, 5]) == [7, 6]  # 5 alone fills no block
    assert prefixes.find([1, 2, 3, 4, 5, 9]) == [7, 6]
    assert prefixes.find([1, 2, 3, 4]) == [7]
    assert prefixes.find([1, 2, 3]) == [7]
    assert prefixes.find([1, 2]) == prefixes.find([1]) == prefixes.find([]) == []
    assert prefixes.find([1, 9, 3, 4, 5]) == []
    assert prefixes.find([1, 2, 9, 4, 5]) == [7]


@pytest.mark.parametrize("hasher", [lambda parent, tokens: 0, colliding])
def test_what_has_the_same_number_is_compared(hasher):
    prefixes = Prefixes(8, block_size=2, hasher=hasher)
    prefixes.learn([1, 2, 3, 4], [0, 1])
    assert prefixes.find([2, 1, 3, 4]) == []  # other tokens
    prefixes = Prefixes(8, block_size=1, hasher=hasher)
    chain = prefixes.link(None, (3,))
    prefixes.keep(0, chain)
    prefixes.keep(1, prefixes.link(chain, (1,)))
    other = Prefixes(8, block_size=1, hasher=hasher)
    other.keep(4, other.link(None, (6,)))  # as 3 modulo 3
    other.keep(1, prefixes.link(chain, (1,)))
    assert other.find([6, 1, 9]) == [4]  # the same tokens behind another parent


def test_a_parent_that_is_learned_anew_leads_to_what_was_behind_it():
    prefixes = Prefixes(8, block_size=1)
    prefixes.learn([1, 2, 3], [0, 1, 2])
    prefixes.forget(0)
    assert prefixes.find([1, 2, 3, 4]) == []
    prefixes.learn([1], [5])
    assert prefixes.find([1, 2, 3, 4]) == [5, 1, 2]


def test_of_two_blocks_with_one_number_the_first_stays():
    prefixes = Prefixes(4, block_size=1)
    prefixes.learn([1, 2], [0, 1])
    prefixes.learn([1, 3], [2, 3])
    assert prefixes.find([1, 3, 9]) == [0, 3]
    prefixes.forget(2)  # which was never known
    assert prefixes.find([1, 2, 9]) == [0, 1]


@given(texts=st.lists(st.lists(st.integers(0, 1), max_size=9), max_size=6), size=st.integers(1, 3))
@pytest.mark.parametrize("hasher", [chain_hash, colliding])
def test_what_is_found_is_what_the_plain_form_finds(texts, size, hasher):
    """With numbers that collide perhaps less of it, and never anything else."""
    prefixes, found, free = Prefixes(99, size, hasher), {}, iter(range(99))
    for tokens in texts:
        expected = serving.known_prefix(tokens, found, size)
        blocks = prefixes.find(tokens)
        assert blocks == expected[: len(blocks)]
        assert hasher is colliding or blocks == expected
        table = expected + [next(free) for _ in range(len(tokens) // size - len(expected))]
        serving.learn_prefix(tokens, table, found, size)
        prefixes.learn(tokens, table)


# ---- Free blocks that are still known ----


def test_a_reused_block_is_no_longer_known():
    blocks = Blocks(2, block_size=1)
    first = blocks.take()
    blocks.prefixes.learn([7], [first])
    blocks.release(first)
    assert blocks.prefixes.find([7, 8]) == [first]
    taken = {blocks.take(), blocks.take()}
    assert first in taken
    assert blocks.prefixes.find([7, 8]) == []


def test_blocks_are_reused_the_unknown_first_then_the_longest_free():
    blocks = Blocks(5, block_size=1)
    held = [blocks.take() for _ in range(5)]
    for i in (2, 0, 4):
        blocks.prefixes.learn([i], [held[i]])
    for i in (0, 3, 4, 1, 2):
        blocks.release(held[i])
    assert [blocks.take() for _ in range(5)] == [1, 3, 0, 4, 2]
    check_blocks(blocks, [range(5)])


def test_an_unfinished_step_gives_blocks_back_and_forgets_what_it_may_have_overwritten():
    blocks = Blocks(3, block_size=1)
    for block in [blocks.take() for _ in range(3)]:
        blocks.prefixes.learn([block], [block])
        blocks.release(block)
    transaction = Transaction()
    blocks._change(transaction, share=[1])
    assert blocks._change(transaction, take=1) == [0]
    check_blocks(blocks, [])
    assert [blocks.prefixes.find([i, 9]) for i in range(3)] == [[], [1], [2]]


def test_a_revived_block_is_free_no_longer():
    blocks = Blocks(2, block_size=1)
    blocks.prefixes.learn([7], [blocks.take()])
    blocks.release(0)
    transaction = Transaction()
    with pytest.raises(CacheOverflowError, match="2 blocks are needed, 1 of 2 are free"):
        blocks._change(transaction, share=[0], take=2)
    check_blocks(blocks, [])


# ---- Caches that adopt ----


def rows_of(tokens):
    """Keys and values that say all tokens up to each: nothing else may be found in its slot."""
    said, out = 1, []
    for token in tokens:
        said = (said * 31 + token + 1) % 1_000_003
        out.append([said, said + 0.5])
    return np.array(out, float).reshape(1, 1, len(tokens), DIM)


def pool_of(lib, n_blocks=8, block_size=2):
    return lib.BlockPool(n_blocks, 1, DIM, block_size=block_size, dtype="float64")


def run(lib, pool, tokens, *, remember=True):
    """A cache that holds these tokens, and how many of them it has adopted."""
    cache = lib.PagedKVCache(pool, 1)
    adopted = cache.adopt(lib.array([tokens]))
    rest = lib.array(rows_of(tokens)[:, :, adopted:])
    held = cache.append(rest, -rest)
    np.testing.assert_array_equal(lib.numpy(held[0]), rows_of(tokens))  # the whole, not the new
    if remember:
        cache.remember(lib.array([tokens]))
    return cache, adopted


def test_a_second_sequence_runs_the_rest_only(lib):
    pool = pool_of(lib)
    first, adopted = run(lib, pool, [1, 2, 3, 4, 5])
    assert adopted == 0
    second, adopted = run(lib, pool, [1, 2, 3, 4, 6, 7])
    assert adopted == 4
    assert second.block_table[0][:2] == first.block_table[0][:2]
    assert pool.n_free == 8 - 4
    np.testing.assert_array_equal(lib.numpy(second.view()[1]), -rows_of([1, 2, 3, 4, 6, 7]))
    assert second.contiguous
    assert lib.numpy(second.next_positions(1)).tolist() == [6]


@pytest.mark.parametrize(("shared", "context"), [(5, 9), (4, 5), (4, 4), (1, 7), (0, 3)])
def test_blocks_are_those_of_the_formula(lib, shared, context):
    pool = pool_of(lib, n_blocks=40)
    for batch in (1, 2, 3, 4):
        run(lib, pool, [*range(shared), *(100 * batch + i for i in range(context - shared))])
        held = 2 * (40 - pool.n_free) * 2 * DIM * 8  # slots, keys and values, float64
        use = {"batch": batch, "context": context, "dtype_bytes": 8}
        storage = cost.Paged(2, shared_tokens=shared)
        assert held == cost.cache_bytes(MODEL, **use, storage=storage)
        terms = cost.cache_formula(MODEL, **use, storage=storage)
        assert held == sum(prod(factor.value for factor in term) for term in terms)


def test_a_sequence_that_is_gone_is_revived(lib):
    pool = pool_of(lib)
    first, _ = run(lib, pool, [1, 2, 3, 4, 5])
    first.crop(0)
    assert pool.n_free == 8
    second, adopted = run(lib, pool, [1, 2, 3, 4, 5])
    assert adopted == 4
    check_blocks(pool, second.block_table)


@pytest.mark.parametrize("new", [1, 2])
def test_what_was_cut_and_written_over_is_not_found(lib, new):
    pool = pool_of(lib)
    cache, _ = run(lib, pool, [1, 2, 3, 4])
    cache.crop(3)
    row = lib.array(np.full((1, 1, new, DIM), -9.0))  # within the block, and beyond it
    cache.append(row, row)
    assert run(lib, pool, [1, 2, 3, 4, 5], remember=False)[1] == 2


def test_a_shared_block_is_copied_before_it_is_cut_and_written(lib):
    pool = pool_of(lib)
    first, _ = run(lib, pool, [1, 2, 3, 4])
    second, adopted = run(lib, pool, [1, 2, 3, 4, 5])
    assert adopted == 4
    second.crop(3)
    row = lib.array(np.full((1, 1, 1, DIM), -9.0))
    second.append(row, row)
    np.testing.assert_array_equal(lib.numpy(first.view()[0]), rows_of([1, 2, 3, 4]))
    assert run(lib, pool, [1, 2, 3, 4, 6], remember=False)[1] == 4


def test_rows_are_filled_alike(lib):
    pool = pool_of(lib)
    run(lib, pool, [1, 2, 3, 4, 5])
    cache = lib.PagedKVCache(pool, 2)
    assert cache.adopt(lib.array([[1, 2, 3, 4, 5], [1, 2, 9, 9, 9]])) == 2
    assert cache.block_table == [[0], [0]]
    assert pool.references(0) == 3


def test_refusals(lib):
    pool = pool_of(lib)
    cache, _ = run(lib, pool, [1, 2, 3])
    with pytest.raises(CacheStateError, match="3 slots are filled"):
        cache.adopt(lib.array([[1, 2, 3]]))
    with pytest.raises(ShapeError, match=r"\(batch, slots\) = \(1, 3\), got \(1, 2\)"):
        cache.remember(lib.array([[1, 2]]))
    empty = lib.PagedKVCache(pool, 1)
    for wrong in ([1, 2], [[1], [2]]):
        with pytest.raises(ShapeError, match="batch = 1"):
            empty.adopt(lib.array(wrong))
    with pytest.raises(DTypeError):
        empty.adopt(lib.array([[1.0, 2.0]]))
    rows = lib.array(rows_of([1, 2]))
    empty.append(rows, rows, positions=lib.array([-1, 0]))
    with pytest.raises(CacheStateError, match="padding"):
        empty.remember(lib.array([[0, 1]]))
    for sizes in ((0, 2), (2, 0)):
        with pytest.raises(ConfigError, match="at least 1"):
            Blocks(*sizes)


# ---- Any history ----


class Caches(RuleBasedStateMachine):
    """Sequences over three letters, on few blocks, with numbers that collide."""

    lib = Backend("numpy")

    def __init__(self):
        super().__init__()
        self.pool = pool_of(self.lib, n_blocks=7)
        self.pool.prefixes.hasher = colliding
        self.held = []  # (cache, tokens)

    def pick(self, number):
        return number % len(self.held)

    def write(self, cache, tokens, start):
        """Run the rest of some tokens, or nothing; what the cache holds now."""
        rest = self.lib.array(rows_of(tokens)[:, :, start:])
        try:
            cache.append(rest, -rest)
        except CacheOverflowError:
            return tokens[:start]
        return tokens

    @rule(tokens=st.lists(st.integers(0, 2), min_size=1, max_size=7), tell=st.booleans())
    def begin(self, tokens, tell):
        cache = self.lib.PagedKVCache(self.pool, 1)
        adopted = cache.adopt(self.lib.array([tokens]))
        assert adopted < len(tokens)
        self.held.append((cache, self.write(cache, tokens, adopted)))
        if tell:
            self.remember(-1)

    @precondition(lambda self: self.held)
    @rule(number=some, more=st.lists(st.integers(0, 2), min_size=1, max_size=3))
    def extend(self, number, more):
        at = self.pick(number)
        cache, tokens = self.held[at]
        self.held[at] = (cache, self.write(cache, tokens + more, len(tokens)))

    @precondition(lambda self: self.held)
    @rule(number=some)
    def remember(self, number):
        cache, tokens = self.held[self.pick(number)]
        if tokens:
            cache.remember(self.lib.array([tokens]))

    @precondition(lambda self: self.held)
    @rule(number=some)
    def fork(self, number):
        cache, tokens = self.held[self.pick(number)]
        self.held.append((cache.fork(), tokens))

    @precondition(lambda self: self.held)
    @rule(number=some, back=st.integers(1, 3), more=st.integers(0, 2))
    def take_back(self, number, back, more):
        at = self.pick(number)
        cache, tokens = self.held[at]
        tokens = tokens[: max(0, len(tokens) - back)]
        cache.crop(len(tokens))
        self.held[at] = (cache, self.write(cache, [*tokens, more], len(tokens)))

    @precondition(lambda self: self.held)
    @rule(number=some)
    def end(self, number):
        self.held.pop(self.pick(number))[0].crop(0)

    @invariant()
    def every_block_is_counted(self):
        check_blocks(self.pool, [cache.block_table[0] for cache, _ in self.held])

    @invariant()
    def every_cache_holds_its_own_tokens(self):
        for cache, tokens in self.held:
            keys, values = (self.lib.numpy(array) for array in cache.view()[:2])
            np.testing.assert_array_equal(keys, rows_of(tokens))
            np.testing.assert_array_equal(values, -rows_of(tokens))
            assert cache.slots == len(tokens)
            assert len(cache.block_table[0]) * 2 - len(tokens) <= 1  # block_size - 1 wasted

    @invariant()
    def what_is_known_is_there(self):
        for block in range(self.pool.n_blocks):
            known, tokens = self.pool.prefixes.holds(block), []
            while known is not None:
                tokens, known = [*known.tokens, *tokens], known.parent
            if tokens:
                keys = self.lib.numpy(self.pool._k[block])
                np.testing.assert_array_equal(keys, rows_of(tokens)[0, :, -2:])

    @invariant()
    def attention_is_that_of_the_tokens(self):
        lib = self.lib
        for cache, tokens in self.held:
            if tokens:
                q = lib.array(np.full((1, 1, 1, DIM), 1e-6))
                rows = lib.array(rows_of(tokens))
                found = lib.numpy(cache.attend(q, block_k=1)[0])
                expected = lib.numpy(lib.scaled_dot_product_attention(q, rows, -rows))
                np.testing.assert_allclose(found, expected, rtol=1e-12)


class CachesTorch(Caches):
    lib = Backend("torch")


def play(machine, **options):
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(deadline=None, suppress_health_check=checks, **options),
    )


def test_any_history_of_caches_shares_only_what_is_the_same(lib):
    machine = Caches if lib.name == "numpy" else CachesTorch
    found = [Phase.explicit, Phase.generate]  # shrinking takes minutes: the soak does it
    play(machine, derandomize=True, phases=found, max_examples=25, stateful_step_count=25)


@pytest.mark.soak
def test_a_thousand_histories(lib):
    machine = Caches if lib.name == "numpy" else CachesTorch
    play(machine, max_examples=1000, stateful_step_count=60, print_blob=True)
