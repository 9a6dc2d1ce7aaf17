"""The scheduler against its rules as a list of counts, and any workload on blocks of words."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mini_attn.caching import Blocks, Scheduler
from mini_attn.caching.planning import Queue, Run
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from tests.backends.block_counts import check_blocks


class Rules:
    """What the scheduler promises, without blocks: how many each sequence holds is all there is.

    For sequences that share nothing. Each is a list: arrival, tokens, limit, filled slots, blocks.
    """

    def __init__(self, n_blocks, size, budget):
        self.n_blocks, self.size, self.budget = n_blocks, size, budget
        self.running, self.waiting = [], []

    def free(self):
        return self.n_blocks - sum(run[4] for run in self.running)

    def blocks(self, slots):
        return -(-slots // self.size)

    def step(self):
        """Names with how many tokens each runs; who is admitted; who gives way."""
        ran, admitted, preempted, budget = {}, [], [], self.budget
        self.running.sort()
        decoding = [run for run in self.running if run[1] - run[3] == 1]
        for run in decoding + [run for run in self.running if run not in decoding]:
            while run in self.running and budget:
                n = min(run[1] - run[3], budget)
                if self.blocks(run[3] + n) - run[4] <= self.free():
                    run[4] = self.blocks(run[3] + n)
                    ran[run[0]], budget = n, budget - n
                    break
                victim = max(self.running)
                self.running.remove(victim)
                self.waiting.append([*victim[:3], 0, 0])
                preempted.append(victim[0])
                budget += ran.pop(victim[0], 0)
        self.waiting.sort()
        while self.waiting and budget and not preempted:
            run = self.waiting[0]
            if self.blocks(run[1]) > self.free():
                break
            self.running.append(self.waiting.pop(0))
            n = min(run[1], budget)
            run[4], budget, ran[run[0]] = self.blocks(n), budget - n, n
            admitted.append(run[0])
        for run in list(self.running):
            run[3] += ran.get(run[0], 0)
            if run[3] == run[1] and run[0] in ran:
                run[1] += 1
                if run[1] == run[2]:
                    self.running.remove(run)
        return ran, admitted, preempted


@given(
    sizes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6)), min_size=1, max_size=6),
    n_blocks=st.integers(5, 12),
    size=st.sampled_from([1, 2, 3]),
    budget=st.integers(1, 9),
    late=st.integers(0, 5),
)
def test_every_step_is_what_the_rules_say(sizes, n_blocks, size, budget, late):
    scheduler = Scheduler(Blocks(n_blocks, size), token_budget=budget)
    # Nothing is known, not even what a sequence that gave way has left behind.
    scheduler.blocks.prefixes.keep = lambda block, known: None
    rules = Rules(n_blocks, size, budget)
    sizes = [(p, m) for p, m in sizes if -(-(p + m - 1) // size) <= n_blocks]
    count = steps = 0
    while count < len(sizes) or scheduler.running or scheduler.waiting:
        while count < len(sizes) and (count < len(sizes) // 2 or steps >= late):
            prompt, new = sizes[count]
            # Every token is another one: nothing is shared.
            scheduler.add(str(count), [100 * count + i for i in range(prompt)], max_new_tokens=new)
            rules.waiting.append([count, prompt, prompt + new, 0, 0])
            count += 1
        step = scheduler.plan()
        ran, admitted, preempted = rules.step()
        assert {int(p.name): len(p.tokens) for p in step.pieces} == ran
        assert [(int(name), hit) for name, hit in step.admitted] == [(a, 0) for a in admitted]
        assert [int(name) for name in step.preempted] == preempted
        chosen = {p.name: 7000 + 100 * steps + int(p.name) for p in step.pieces if p.last}
        scheduler.finish(step, chosen)
        assert [int(name) for name in scheduler.running] == sorted(run[0] for run in rules.running)
        steps += 1
        assert steps < 2000
    assert scheduler.blocks.n_free == n_blocks
    for i, (prompt, new) in enumerate(sizes):
        assert len(scheduler.tokens(str(i))) == prompt + new


def collides(parent, tokens):
    return (parent + sum(tokens)) % 2


class Words:
    """Runs steps on blocks whose slots hold all tokens up to theirs, and looks at every slot."""

    def __init__(self, scheduler, seed):
        self.scheduler, self.chance = scheduler, random.Random(seed)
        blocks = scheduler.blocks
        self.slots = [[None] * blocks.block_size for _ in range(blocks.n_blocks)]

    def step(self):
        scheduler, size = self.scheduler, self.scheduler.blocks.block_size
        before = {name: scheduler.tokens(name) for name in scheduler.running + scheduler.waiting}
        step = scheduler.plan()
        assert sum(len(piece.tokens) for piece in step.pieces) <= scheduler.token_budget
        assert len({piece.name for piece in step.pieces}) == len(step.pieces)
        assert step.pieces or step.preempted or not before
        for piece in step.pieces:
            for source, own in piece.copies:
                self.slots[own] = list(self.slots[source])
        for piece in step.pieces:
            tokens, end = before[piece.name], piece.start + len(piece.tokens)
            assert piece.tokens == tuple(tokens[piece.start : end])
            assert piece.last == (end == len(tokens))
            assert len(piece.table) * size - end < size  # at most block_size - 1 wasted
            for slot in range(end):
                block = piece.table[slot // size]
                if slot >= piece.start:
                    assert scheduler.blocks._held_by(block) == 1  # nobody else reads it
                    self.slots[block][slot % size] = tokens[: slot + 1]
        # All at once at the end: what one piece writes is not what another reads.
        for piece in step.pieces:
            for slot in range(piece.start + len(piece.tokens)):
                held = self.slots[piece.table[slot // size]][slot % size]
                assert held == before[piece.name][: slot + 1]
        chosen = {piece.name: self.chance.randrange(2) for piece in step.pieces if piece.last}
        ended = [name for name in chosen if self.chance.random() < 0.1]
        scheduler.finish(step, chosen, ended=ended)
        check_blocks(scheduler.blocks, [scheduler.table(name) for name in scheduler.running])
        assert not any(scheduler.table(n) for n in scheduler.waiting + scheduler.ended)
        return step


def any_workload(data, lengths, acts):
    chance = random.Random(data)
    size = chance.randrange(1, 4)
    blocks = Blocks(chance.randrange(-(-16 // size), 20), size)
    blocks.prefixes.hasher = chance.choice([collides, blocks.prefixes.hasher])
    scheduler = Scheduler(blocks, token_budget=chance.randrange(1, 9))
    words, seen = Words(scheduler, data), {"hit": 0, "copy": 0, "preempted": 0}
    for number, (length, act) in enumerate(zip(lengths, acts, strict=False)):
        prompt = [chance.randrange(2) for _ in range(length)]
        scheduler.add(f"r{number}", prompt, max_new_tokens=chance.randrange(1, 6))
        alive = scheduler.running + scheduler.waiting
        if act == "fork":
            scheduler.fork(chance.choice(alive), f"fork{number}")
        elif act == "end":
            scheduler.end(chance.choice(alive))
        elif act == "plan twice":
            scheduler.plan()  # and never finished
        for _ in range(chance.randrange(4)):
            note(words.step(), seen)
    steps = 0
    while scheduler.running or scheduler.waiting:
        note(words.step(), seen)
        steps += 1
        assert steps < 3000
    assert blocks.n_free == blocks.n_blocks
    return seen


def note(step, seen):
    seen["hit"] += any(hit for _, hit in step.admitted)
    seen["copy"] += any(piece.copies for piece in step.pieces)
    seen["preempted"] += bool(step.preempted)


ACTS = st.lists(st.sampled_from(["", "fork", "fork", "end", "plan twice"]), min_size=1, max_size=9)


@settings(max_examples=150)
@given(data=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 11), min_size=9), acts=ACTS)
def test_any_workload_reads_its_own_tokens_and_ends(data, lengths, acts):
    any_workload(data, lengths, acts)


def test_the_workloads_have_hits_copies_and_preemptions():
    totals = [0, 0, 0]
    for data in range(40):
        chance = random.Random(data)
        lengths = [chance.randrange(1, 12) for _ in range(9)]
        seen = any_workload(data, lengths, [chance.choice(["", "fork"]) for _ in range(9)])
        totals = [a + b for a, b in zip(totals, seen.values(), strict=True)]
    assert min(totals) >= 10, totals


def small(n_blocks=4, size=2, budget=4):
    return Scheduler(Blocks(n_blocks, size), token_budget=budget)


def test_a_prompt_runs_in_chunks_beside_those_that_decode():
    scheduler = small(n_blocks=9, budget=3)
    scheduler.add("a", [1], max_new_tokens=5)
    scheduler.finish(scheduler.plan(), {"a": 2})
    scheduler.add("b", [3, 4, 5, 6, 7], max_new_tokens=1)
    sizes = []
    for token in range(3):
        step = scheduler.plan()
        sizes.append({piece.name: len(piece.tokens) for piece in step.pieces})
        scheduler.finish(step, {piece.name: token for piece in step.pieces if piece.last})
    assert sizes == [{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 1}]
    assert scheduler.ended == ["b"]


def test_who_gives_way_gives_its_tokens_of_the_step_too():
    """A prompt before a sequence that decodes: forks that came in between make such a line."""
    blocks = Blocks(3, 2)
    tables = (blocks.take(),), (blocks.take(),)
    first = Run("a", 0, (1, 2, 3, 4, 5), 6, done=2, table=tables[0])
    second = Run("b", 1, (1, 2, 3), 6, done=2, table=tables[1])
    scheduler = Scheduler(blocks, token_budget=3)
    scheduler._begin(Queue((first, second), (), (), 2))
    step = scheduler.plan()
    assert [(piece.name, piece.tokens) for piece in step.pieces] == [("a", (3, 4, 5))]
    assert step.preempted == ("b",)
    assert (scheduler.waiting, scheduler.table("b"), blocks.n_free) == (["b"], [], 2)


def test_a_step_that_is_not_finished_has_never_happened():
    scheduler = small()
    scheduler.add("a", [1, 2, 3], max_new_tokens=2)
    step = scheduler.plan()
    assert scheduler.blocks.n_free == 4  # whoever looks before it is done makes it lost
    assert scheduler.plan() == step
    with pytest.raises(CacheStateError, match="latest"):
        scheduler.finish(step, {"a": 1})
    again = scheduler.plan()
    for wrong in ({}, {"b": 1}, {"a": 1, "b": 1}):
        with pytest.raises(ConfigError, match="wanted"):
            scheduler.finish(again, wrong)
    with pytest.raises(ConfigError, match="token"):
        scheduler.finish(again, {"a": -1})
    scheduler.finish(again, {"a": 1})
    with pytest.raises(CacheStateError, match="only once"):
        scheduler.finish(again, {"a": 1})
    late = scheduler.plan()
    scheduler.add("b", [1], max_new_tokens=1)  # comes while a step runs: that one is lost
    with pytest.raises(CacheStateError, match="used while the step ran"):
        scheduler.finish(late, {"a": 1})
    assert scheduler.tokens("a") == [1, 2, 3, 1]


def test_blocks_that_somebody_else_holds_are_missed():
    scheduler = small()
    scheduler.add("a", [1, 2, 3], max_new_tokens=6)
    scheduler.finish(scheduler.plan(), {"a": 4})
    held = [scheduler.blocks.take(), scheduler.blocks.take()]
    scheduler.finish(scheduler.plan(), {"a": 5})
    with pytest.raises(CacheOverflowError, match="'a' needs 1 blocks, 0 of 4 are free"):
        scheduler.plan()
    scheduler.blocks.release(held[0])
    scheduler.finish(scheduler.plan(), {"a": 6})
    assert scheduler.tokens("a") == [1, 2, 3, 4, 5, 6]


def test_refusals():
    scheduler = small()
    scheduler.add("a", [1, 2], max_new_tokens=1)
    for words, name, prompt, new in (
        ("taken", "a", [1], 1),
        ("empty", "b", [], 1),
        ("max_new_tokens", "b", [1], 0),
        ("token", "b", [1, -1], 1),
        ("token", "b", [1, 2.0], 1),
        ("string", 3, [1], 1),
        ("'b' needs 5 blocks for 8 tokens and 2 new ones, there are 4", "b", range(8), 2),
    ):
        with pytest.raises(ConfigError, match=words):
            scheduler.add(name, prompt, max_new_tokens=new)
    assert scheduler.waiting == ["a"]
    scheduler.add("b", range(8), max_new_tokens=1)  # its last token is never run
    with pytest.raises(ConfigError, match="no sequence of the name 'c'"):
        scheduler.fork("c", "d")
    with pytest.raises(ConfigError, match="taken"):
        scheduler.fork("a", "b")
    scheduler.finish(scheduler.plan(), {"a": 1})
    for act in (lambda: scheduler.fork("a", "d"), lambda: scheduler.end("a")):
        with pytest.raises(ConfigError, match="has ended"):
            act()
    with pytest.raises(ConfigError, match="Blocks"):
        Scheduler(4, token_budget=1)
    with pytest.raises(ConfigError, match="token_budget"):
        Scheduler(Blocks(1, 1), token_budget=0)


@pytest.mark.soak
@settings(max_examples=5000)
@given(data=st.integers(0, 10**9), lengths=st.lists(st.integers(1, 11), min_size=9), acts=ACTS)
def test_thousands_of_workloads(data, lengths, acts):
    any_workload(data, lengths, acts)
