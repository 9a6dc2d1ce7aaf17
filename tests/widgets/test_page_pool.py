"""The pool widget against the package's scheduler, blocks and paged cache, in every state."""

from __future__ import annotations

import itertools
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from mini_attn.numpy import BlockPool, PagedKVCache
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.page_pool_data import LONGEST, SCHEMES, SLOTS, STEPS, TRACE, Snapshot, serve
from tests.javascript import run

SCHEMA = load_schema("page_pool")
STATES = [
    {"scheme": scheme, "block_size": size, "step": step, "request": request.name}
    for scheme, size, step, request in product(
        SCHEMA["scheme"]["values"],
        SCHEMA["block_size"]["values"],
        range(1, SCHEMA["step"]["max"] + 1),
        TRACE,
    )
]
SHOTS = {(scheme, size): serve(scheme, size) for scheme in SCHEMES for size in (1, 2, 4, 8, 16)}


def shot_of(state: dict[str, Any]) -> Snapshot:
    """The pool in a state, by the package."""
    return SHOTS[state["scheme"], state["block_size"]][state["step"] - 1]


def size_of(state: dict[str, Any]) -> int:
    return LONGEST if state["scheme"] == "contiguous" else state["block_size"]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.page_pool.compute);", STATES)


def test_schema_and_trace_agree() -> None:
    assert SCHEMA["step"]["max"] == STEPS
    assert SCHEMA["request"]["values"] == [request.name for request in TRACE]
    assert tuple(SCHEMA["scheme"]["values"]) == SCHEMES


def test_tables_and_references_equal_the_schedulers(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        shot = shot_of(state)
        runs = {row["name"]: row for row in result["rows"] if row["state"] == "runs"}
        assert {name: tuple(row["table"]) for name, row in runs.items()} == shot.tables, state
        assert {name: row["done"] for name, row in runs.items()} == shot.filled
        counts = tuple(len(block["holders"]) for block in result["blocks"])
        assert counts == shot.references, state
        waits = [row["name"] for row in result["rows"] if row["state"] == "waits"]
        assert waits == list(shot.waiting)
        over = {row["name"] for row in result["rows"] if row["state"] == "done"}
        assert over == set(shot.ended)
        assert tuple(result["preempted"]) == shot.preempted
        assert tuple(map(tuple, result["copied"])) == shot.copies


def test_utilisation_equals_the_schedulers(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        shots = SHOTS[state["scheme"], state["block_size"]]
        assert result["used"] == shot_of(state).used
        assert result["shares"] == pytest.approx([shot.utilisation for shot in shots])
        assert result["size"] == size_of(state)


def test_slots_of_a_block_are_counted_by_hand(results: list[dict[str, Any]]) -> None:
    """Holders, filled slots and free blocks, recounted from the tables alone."""
    for state, result in zip(STATES, results, strict=True):
        shot, size = shot_of(state), size_of(state)
        for number, block in enumerate(result["blocks"]):
            holders = [name for name, table in shot.tables.items() if number in table]
            assert block["holders"] == holders
            assert len(block["holders"]) == len(holders)
            filled = {
                min(size, shot.filled[name] - shot.tables[name].index(number) * size)
                for name in holders
            }
            assert {block["filled"]} == (filled or {0})
        assert result["free"] == shot.references.count(0)


def test_a_real_cache_holds_as_many_blocks() -> None:
    """Requests of the shared scheme as caches in a `BlockPool`: a fork copies on writing."""
    pool = BlockPool(SLOTS // 4, n_kv_heads=1, head_dim=1, block_size=4)
    request = next(one for one in TRACE if one.name == "D")
    cache = PagedKVCache(pool, batch=1)

    def append(one: PagedKVCache, count: int) -> None:
        rows = np.zeros((1, 1, count, 1), np.float32)
        one.append(rows, rows)

    append(cache, request.prompt)
    twin = cache.fork()
    append(cache, 1)
    append(twin, 1)
    tables = SHOTS["shared", 4][2].tables
    shared = [number in tables["E"] for number in tables["D"]]
    assert shared == [number in twin.block_table[0] for number in cache.block_table[0]]
    assert shared == [True, True, False]


def test_contiguous_reserves_what_nobody_uses() -> None:
    """At most two requests fit, and never half of the pool holds a token."""
    shots = SHOTS["contiguous", 4]
    assert all(len(shot.running) <= SLOTS // LONGEST for shot in shots)
    assert max(shot.utilisation for shot in shots) < 0.4
    assert max(shot.utilisation for shot in SHOTS["pages", 4]) > 0.95


@pytest.mark.parametrize("scheme", ["pages", "shared"])
def test_less_than_a_block_is_wasted(scheme: str) -> None:
    for size in SCHEMA["block_size"]["values"]:
        for shot in SHOTS[scheme, size]:
            for name, table in shot.tables.items():
                assert 0 <= len(table) * size - shot.filled[name] < size


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.page_pool;
      return input.map((state) => {
        const result = compute(state);
        const blocks = result.blocks.map((_, b) => explain(result, `block-${b}`).text);
        const entries = result.chosen.table.map((_, i) => explain(result, `entry-${i}`).text);
        const own = explain(result, `request-${state.request}`).text;
        return [describe(result), blocks, entries, own, table(result).rows];
      });"""
    for state, (sentence, blocks, entries, own, rows) in zip(
        STATES, run(body, STATES), strict=True
    ):
        shot, size = shot_of(state), size_of(state)
        assert f"{len(shot.running)} running" in sentence
        assert f"{len(shot.waiting)} waiting" in sentence
        tokens = sum(shot.filled.values())
        assert f"{tokens} tokens in {shot.used} of {SLOTS} slots" in sentence
        assert f": {int(100 * shot.utilisation + 0.5)}%;" in sentence
        for name in shot.preempted:
            assert f"{name} " in sentence.split("Too few blocks:")[1]
        for name, shared, _ in shot.copies:
            assert f"Block {shared} has another holder, so {name} writes into a copy" in sentence
        for number, words in enumerate(blocks):
            assert ("free" in words) == (shot.references[number] == 0)
        table = shot.tables.get(state["request"], ())
        assert len(entries) == len(table)
        for i, words in enumerate(entries):
            token, where = int(words.split()[1].strip(" of")), f"so block {table[i]};"
            assert token // size == i
            assert f"{token} div {size} = {i}, {where}" in words
            assert f"{token} mod {size} = {token % size}" in words
        if state["request"] in shot.waiting:
            assert f"{shot.references.count(0)} free" in own
        shown = [f"{block} ×{shot.references[block]}" for block in table]
        names = [request.name for request in TRACE]
        assert rows[names.index(state["request"])][2] == (", ".join(shown) or "–")


def test_pressing_chooses() -> None:
    body = """
      const { choose } = living.registry.page_pool;
      const state = { scheme: "pages", step: 7, block_size: 4, request: "B" };
      return input.map((id) => choose(null, state, id));"""
    request, step, block, entry = run(body, ["request-E", "step-3", "block-3", "entry-0"])
    assert request == {"scheme": "pages", "step": 7, "block_size": 4, "request": "E"}
    assert step == {"scheme": "pages", "step": 3, "block_size": 4, "request": "B"}
    assert not block
    assert not entry


def test_the_default_does_not_answer_the_guess() -> None:
    """The picture opens on reservations; what pages make of the same step is asked."""
    state = {key: entry["default"] for key, entry in SCHEMA.items()}
    assert state["scheme"] == "contiguous"
    shot = shot_of(state)
    assert (len(shot.running), len(shot.waiting), shot.used) == (2, 5, 28)


def parts(**state: Any) -> dict[str, dict[str, str]]:
    """The parts that travel in this state, with what is said of each."""
    body = """
      const { compute, draw } = living.registry.page_pool;
      return draw(compute(input), { live: true });"""
    start = {key: entry["default"] for key, entry in SCHEMA.items()}
    tags = re.findall(
        r'<g class="living-keyed" data-part="([^"]+)"([^>]*)>', run(body, {**start, **state})
    )
    found = {key: dict(re.findall(r'data-(\w+)="([^"]*)"', said)) for key, said in tags}
    assert len(found) == len(tags) <= 240
    return found


@pytest.mark.parametrize("size", [1, 4])
def test_entries_fly_out_of_their_blocks_and_back(size: int) -> None:
    """In every step: what is new comes out of a block, what is gone is taken by one."""
    shots = [parts(scheme="shared", block_size=size, step=step) for step in range(1, 15)]
    moved = 0
    for before, after in itertools.pairwise(shots):
        taken = {key for one in after.values() for key in one.get("takes", "").split()}
        new, gone = {*after} - {*before}, {*before} - {*after}
        assert {after[key]["from"] for key in new} <= {*before}
        assert gone <= taken
        moved += len(new) and len(gone)
    assert moved
    shared = [key for key in shots[5] if key.startswith(f"b-{size}-0-") and "entry" not in key]
    assert len(shared) >= 3, "a shared block is in the table of each request"


def test_the_step_is_dragged_along_the_chart() -> None:
    body = """
      const { compute, drag } = living.registry.page_pool;
      const state = { scheme: "pages", step: 7, block_size: 4, request: "B" };
      const wide = (width) => drag(compute(state), "now", { width, state });
      return [drag(compute(state), "block-3", { width: 654, state }),
        ...[654, 346].map((width) => wide(width)({ dx: width === 654 ? 29.15 : -42.9 }).step)];"""
    none, wide, narrow = run(body, None)
    assert none is None
    assert (round(wide), round(narrow)) == (9, 5)
