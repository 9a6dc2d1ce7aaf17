"""The picture of the tiles against a loop that counts, and against the package."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.widgets import FlashTiles
from mini_attn.widgets.base import STATIC, load_schema
from tests.javascript import run
from tests.site import watched
from tests.widgets.test_handling import pull
from tests.widgets.test_widgets_browser import FRAME
from tools.site import Visit, visiting

SCHEMA = load_schema("flash_tiles")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
BLOCKS = SCHEMA["block_q"]["values"]
SHAPES = [
    DEFAULT | {"tokens": tokens, "head_dim": d, "block_q": bq, "block_k": bk, "causal": causal}
    for tokens, d, bq, bk, causal in product(
        SCHEMA["tokens"]["values"], (64, 128), BLOCKS, BLOCKS, (True, False)
    )
]
COMPUTE = "return input.map(living.registry.flash_tiles.compute);"


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """All sizes of tile and text."""
    return run(COMPUTE, SHAPES)


class Memory:
    """A large memory that counts what is read from it and written to it, in bytes."""

    def __init__(self, number_bytes: int, **arrays: np.ndarray) -> None:
        self.arrays, self.number_bytes = arrays, number_bytes
        self.moved = dict.fromkeys(arrays, 0)

    def load(self, name: str, *part: slice) -> np.ndarray:
        """A copy of a part of one array."""
        block = self.arrays[name][part].copy()
        self.moved[name] += block.size * self.number_bytes
        return block

    def store(self, name: str, block: np.ndarray, *part: slice) -> None:
        """Write a part of one array."""
        self.arrays[name][part] = block
        self.moved[name] += block.size * self.number_bytes


def filled(tokens: int, d: int) -> Memory:
    """Queries, keys, values, and room for the output and a score matrix."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(tokens, d)) for _ in range(3))
    return Memory(2, q=q, k=k, v=v, o=np.zeros((tokens, d)), s=np.zeros((tokens, tokens)))


def slices(tokens: int, block: int) -> list[slice]:
    """The blocks of an axis."""
    return [slice(start, start + block) for start in range(0, tokens, block)]


def scores_of(q: np.ndarray, k: np.ndarray, rows: slice, keys: slice, causal: bool) -> np.ndarray:
    """Scores of a tile, the keys that come later masked."""
    s = q @ k.T / np.sqrt(q.shape[-1])
    later = np.arange(rows.start, rows.stop)[:, None] < np.arange(keys.start, keys.stop)
    return np.where(later & causal, -np.inf, s)


def in_tiles(memory: Memory, state: dict[str, Any]) -> dict[str, int]:
    """Attention with a running softmax; counts tiles and FLOPs of products and rescaling."""
    count = {"tiles": 0, "products": 0, "rescaling": 0, "masked": 0}
    tokens, d, causal = state["tokens"], state["head_dim"], state["causal"]
    for rows in slices(tokens, state["block_q"]):
        q = memory.load("q", rows)
        m, total, o = np.full(len(q), -np.inf), np.zeros(len(q)), np.zeros((len(q), d))
        for keys in slices(tokens, state["block_k"]):
            if causal and keys.start >= rows.stop:
                continue  # no load, no product
            k, v = memory.load("k", keys), memory.load("v", keys)
            s = scores_of(q, k, rows, keys, causal)
            new = np.maximum(m, s.max(-1))
            weights, keep = np.exp(s - new[:, None]), np.exp(m - new)
            total, o = total * keep + weights.sum(-1), o * keep[:, None] + weights @ v
            m = new
            count["tiles"] += 1
            count["masked"] += bool(np.isinf(s).any())
            count["products"] += 2 * 2 * s.size * d
            count["rescaling"] += o.size
        memory.store("o", o / total[:, None], rows)
    return count


def written_down(memory: Memory, state: dict[str, Any]) -> None:
    """The same tiles, each row of them in three rounds: scores, weights, weighted sum."""
    tokens, causal = state["tokens"], state["causal"]
    for rows in slices(tokens, state["block_q"]):
        q = memory.load("q", rows)
        m, total, o = np.full(len(q), -np.inf), np.zeros(len(q)), np.zeros(q.shape)
        seen = [
            keys
            for keys in slices(tokens, state["block_k"])
            if not causal or keys.start < rows.stop
        ]
        for keys in seen:
            s = scores_of(q, memory.load("k", keys), rows, keys, causal)
            new = np.maximum(m, s.max(-1))
            total, m = total * np.exp(m - new) + np.exp(s - new[:, None]).sum(-1), new
            memory.store("s", s, rows, keys)
        for keys in seen:
            weights = np.exp(memory.load("s", rows, keys) - m[:, None]) / total[:, None]
            memory.store("s", weights, rows, keys)
        for keys in seen:
            o += memory.load("s", rows, keys) @ memory.load("v", keys)
        memory.store("o", o, rows)


COUNTED = [one for one in SHAPES if one["tokens"] == 256 and one["head_dim"] == 64]
COUNTED += [DEFAULT, DEFAULT | {"causal": False, "block_q": 64, "head_dim": 128}]


@pytest.fixture(scope="module")
def shown_of() -> list[dict[str, Any]]:
    """What the picture says of the states that are counted."""
    return run(COMPUTE, COUNTED)


@pytest.mark.parametrize("number", range(len(COUNTED)))
def test_bytes_and_flops_are_those_of_a_counted_loop(
    number: int, shown_of: list[dict[str, Any]]
) -> None:
    state, shown = COUNTED[number], shown_of[number]
    tokens, d = state["tokens"], state["head_dim"]
    memory, other = filled(tokens, d), filled(tokens, d)
    count = in_tiles(memory, state)
    written_down(other, state)
    q, k, v = (memory.arrays[name][None, None] for name in "qkv")
    wanted = ma.scaled_dot_product_attention(q, k, v, causal=state["causal"])[0, 0]
    np.testing.assert_allclose(memory.arrays["o"], wanted, atol=1e-12)
    np.testing.assert_allclose(other.arrays["o"], wanted, atol=1e-12)
    assert {name: memory.moved[name] for name in "qkvo"} == shown["moved"]
    assert memory.moved["s"] == 0
    assert sum(memory.moved.values()) == shown["tiled"]
    assert sum(other.moved.values()) == shown["written_down"]
    assert other.moved["s"] == shown["scores"]
    assert {key: shown[key] for key in count} == count


def test_all_sizes_are_the_packages(results: list[dict[str, Any]]) -> None:
    for state, one in zip(SHAPES, results, strict=True):
        n, d = state["tokens"], state["head_dim"]
        blocks = {key: state[key] for key in ("block_q", "block_k")}
        walk = blocks | {"causal": state["causal"]}
        numbers = cost.tiled_traffic(n, n, head_dim=d, **walk)
        shown = {name: 2 * numbers["out" if name == "o" else name] for name in "qkvo"}
        assert shown == one["moved"]
        assert one["tiles"] == cost.computed_tiles(n, n, **walk)
        assert one["products"] == 4 * d * cost.tiled_pairs(n, n, **walk)
        assert one["used"] == cost.tile_bytes(head_dim=d, dtype_bytes=2, **blocks)
        assert one["tiles"] + one["skipped"] == n * n // (blocks["block_q"] * blocks["block_k"])
        assert one["over"] == max(0, one["used"] - 1000 * state["memory"])


def test_longer_blocks_of_queries_move_fewer_bytes_and_never_fewer_flops(
    results: list[dict[str, Any]],
) -> None:
    of = {
        tuple(s[key] for key in ("tokens", "head_dim", "block_q", "block_k", "causal")): one
        for s, one in zip(SHAPES, results, strict=True)
    }
    for (n, d, bq, bk, causal), one in of.items():
        assert one["products"] >= 4 * d * n * (n + 1) // 2
        if not causal:
            assert one["products"] == 4 * d * n * n
            assert one["moved"]["k"] * bq == 2 * n * n * d  # whatever the blocks of keys
            if bq > BLOCKS[0]:
                assert one["tiled"] < of[n, d, bq // 2, bk, causal]["tiled"]


def test_every_tile_has_its_step() -> None:
    """Step by step the loop visits each tile once, in order, to the end and back."""
    body = """
      const { compute, update } = living.registry.flash_tiles;
      const walk = (state, by) => {
        const seen = [];
        for (let left = 70; left && state.step !== (by > 0 ? 64 : 0); left -= 1) {
          state = update(state, "step", state.step + by);
          const { tile, row, column, done } = compute(state);
          seen.push([tile, row, column, done]);
        }
        return seen;
      };
      return input.map((state) =>
        [walk({ ...state, step: 0 }, 1), walk({ ...state, step: 64 }, -1)]);"""
    states = [DEFAULT, DEFAULT | {"tokens": 256, "block_q": 256, "block_k": 64}]
    for state, (forth, back) in zip(states, run(body, states), strict=True):
        n, bq, bk = state["tokens"], state["block_q"], state["block_k"]
        tiles = [(i, j) for i in range(n // bq) for j in range(n // bk) if j * bk < (i + 1) * bq]
        order = [[t + 1, i, j, False] for t, (i, j) in enumerate(tiles)]
        assert forth == [*order, [len(tiles), *tiles[-1], True]]
        assert [tile for tile, *_ in back] == [*range(len(tiles), 0, -1), 0]


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.flash_tiles;
      const told = (state) => {
        const result = compute(state);
        return [describe(result), explain(result, "tile").text, explain(result, "k").text,
                explain(result, "part-o").text, table(result).rows.flat().join(" ")];
      };
      return input.map(told);"""
    states = [DEFAULT, DEFAULT | {"written": True, "step": 64}, DEFAULT | {"memory": 100}]
    (first, tile, keys, part, cells), (second, *_), (third, *_) = run(body, states)
    assert "Tile 13 of 36: queries 512 to 639, keys 256 to 383." in first
    assert "moves 1.44 MB and does 151.29 MFLOP; with materialized scores 6.16 MB" in first
    assert "8 of them partly masked, 28 skipped" in tile
    assert "for each of 36 tiles: 589.82 kB" in keys
    assert "128 × 64 values of 4 bytes = 32.8 kB" in part
    for number in ("131.07", "589.82", "4.72", "1.44", "6.16", "151.29", "150.99"):
        assert number in cells.split()
    assert "moves 6.16 MB" in second
    assert "148.5 kB, and the fast memory has 100." in third


def test_a_tile_on_the_diagonal_says_that_it_is_masked() -> None:
    body = """
      const { compute, explain } = living.registry.flash_tiles;
      return Array.from({ length: 65 }, (_, step) => {
        const result = compute({ ...input, step });
        return [result.row, result.column, explain(result, "tile").text];
      });"""
    for bq, bk in ((128, 128), (256, 64), (64, 256)):
        for row, column, words in run(body, DEFAULT | {"block_q": bq, "block_k": bk}):
            cut = (column + 1) * bk - 1 > row * bq
            assert ("scores, partly masked." in words) == cut


def test_caption_and_default() -> None:
    [result] = run(COMPUTE, [FlashTiles().state])
    assert result["over"] == 0
    assert 0 < result["tile"] < result["tiles"]
    assert f"Tile {result['tile']} of {result['tiles']}" in FlashTiles.caption
    assert f"the {result['skipped']} above" in FlashTiles.caption
    for key in ("tiled", "written_down"):
        assert f"{result[key] / 1e6:.2f} MB" in FlashTiles.caption


# ---------------------------------------------------------------- in the hand


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("flash")
    for name in ("living.page.js", "living.trained.js", "living.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    page = FRAME.format(theme="light", body=FlashTiles()._html())
    style = "<style>body{margin:0}main{width:688px;margin:0 auto}</style>"
    (folder / "flash.html").write_text(style.join(page.split("</head>", 1)), "utf-8")
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


MOVED = """
  const { choose, compute, draw } = living.registry.flash_tiles;
  const said = (markup, name) => markup.match(new RegExp(` data-${name}="([^"]+)"`))?.[1];
  const parts = ({ width, touch, ...state }) => {
    const markup = draw(compute(state), { width, touch, live: true });
    const keyed = [...markup.matchAll(/<g class="living-keyed"[^>]*>/g)];
    const sizes = [...markup.matchAll(/width="([\\d.]+)" height="([\\d.]+)"[^>]*living-grip/g)];
    const from = ([tag]) => [said(tag, "part"), said(tag, "from") ?? null];
    return {
      keys: Object.fromEntries(keyed.map(from)),
      grips: sizes.map(([, ...size]) => size.map(Number)),
      written: choose({}, state, "moved-written").written,
    };
  };
  return input.map(parts);"""


def test_blocks_are_read_and_written_where_the_loop_does_it() -> None:
    """K and V come anew for each tile, Q for each row; O leaves as a row ends."""
    steps = [DEFAULT | {"step": step, "width": 654} for step in range(65)]
    drawn = [one["keys"] for one in run(MOVED, steps)]
    tiles = [(one["row"], one["column"]) for one in run(COMPUTE, steps)]
    for (before, old), (after, new) in itertools.pairwise(zip(drawn, tiles, strict=True)):
        fresh = {key: origin for key, origin in after.items() if key not in before}
        assert ("tile" in before) <= ("tile" in after) or steps[-1]["step"] == 64
        loads = {key.rsplit("-", 1)[0] for key in fresh if key.startswith("part-")}
        wanted = {f"part-{name}" for name in "kv" if old[1] != new[1]}
        wanted |= {"part-q"} if old[0] != new[0] else set()
        assert loads == wanted
        assert any(key.startswith("out-") for key in fresh) == (
            old[0] != new[0] or "tile" not in after
        )
        for key, origin in fresh.items():
            assert origin is None or origin in before or "tile" not in before, key


@pytest.mark.parametrize(("width", "touch", "least"), [(654, False, 24), (336, True, 44)])
def test_handles_are_as_large_as_a_finger(width: int, *, touch: bool, least: int) -> None:
    [one] = run(MOVED, [DEFAULT | {"width": width, "touch": touch}])
    assert len(one["grips"]) == 3
    assert all(side >= least for size in one["grips"] for side in size)
    assert one["written"] is True


@pytest.mark.browser
def test_the_end_of_the_fast_memory_is_dragged_and_has_keys(open_page: Visit) -> None:
    page = open_page.look("flash.html")
    grip = page.get_by_role("slider", name="Fast memory")
    pull(page, grip, -60)
    less = int(grip.get_attribute("aria-valuenow") or 0)
    assert less < 148
    expect(page.locator(".living-say")).to_contain_text(f"148.5 kB, and the fast memory has {less}")
    grip.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", str(less + 1))
    pull(page, grip, 900)
    expect(grip).to_have_attribute("aria-valuenow", "256")


@pytest.mark.browser
def test_tile_and_ends_are_dragged_to_other_blocks(open_page: Visit) -> None:
    """To the right more keys, down more queries; the handles of the blocks say the same."""
    page = open_page.look("flash.html")
    tile = page.locator("[data-id=tile]")
    queries, keys = (page.get_by_role("slider", name=f"{n} per block") for n in ("Queries", "Keys"))
    assert page.locator(".living-controls [data-control]").count() <= 3
    pull(page, tile, 0, 40)
    expect(queries).to_have_attribute("aria-valuenow", "256")
    expect(keys).to_have_attribute("aria-valuenow", "128")
    pull(page, tile, -22)
    expect(keys).to_have_attribute("aria-valuenow", "32")
    pull(page, tile, 1, 1)  # a tap
    expect(keys).to_have_attribute("aria-valuenow", "32")
    queries.press("ArrowLeft")
    for _ in range(2):
        keys.press("ArrowRight")
    expect(page.locator(".living-say")).to_contain_text("moves 1.44 MB")
    page.wait_for_function("document.getAnimations().length === 0")  # everything stands still
    pull(page, keys, 28)
    expect(keys).to_have_attribute("aria-valuenow", "256")
    page.locator("[data-id=moved-written]").click()
    expect(page.locator(".living-first")).to_contain_text("materialized")


@pytest.mark.browser
def test_step_and_back_go_from_tile_to_tile(open_page: Visit) -> None:
    page = open_page.look("flash.html")
    say = page.locator(".living-say")
    for button, tile in (("Step", 14), ("Step", 15), ("Back", 14)):
        page.get_by_role("button", name=button).click()
        expect(say).to_contain_text(f"Tile {tile} of 36")
    page.get_by_role("slider", name="Tile").first.focus()
    page.keyboard.press("ArrowRight")
    expect(say).to_contain_text("Tile 15 of 36")
