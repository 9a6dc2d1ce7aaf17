"""The film of a training: what the picture shows is what the record and the weights say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mini_attn.stories.family import film, film_frame
from mini_attn.stories.inside import attention_maps
from mini_attn.stories.vocabulary import NUMBERS
from tests.javascript import run

RECORD = film()


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes at each moment."""
    states = [{"frame": n, "mark": "copies"} for n in range(len(RECORD["frames"]))]
    return run("return input.map(living.registry.phase_film.compute);", states)


def test_numbers_are_those_of_the_record(results: list[dict[str, Any]]) -> None:
    for one, result in zip(RECORD["frames"], results, strict=True):
        for key in ("step", "copying", "stories", "right"):
            assert result[key] == one[key]
        for head in result["heads"]:
            place = head["layer"], head["head"]
            assert head["name"] == "L{}H{}".format(*place)
            for key in ("previous", "induction"):
                assert head[key] == np.array(one[key])[place]
        assert result["curve"]["copying"] == RECORD["curve"]["copying"]


def test_outlines_lie_where_heads_of_a_kind_look(results: list[dict[str, Any]]) -> None:
    words = RECORD["words"]
    places = [(i, j) for i in range(17) for j in range(1, i) if words[j - 1] == words[i]]
    assert sorted(map(tuple, results[0]["marked"])) == places
    assert len(places) == 8
    body = "return living.registry.phase_film.compute({ frame: 0, mark: 'before' }).marked;"
    assert run(body) == [[i, i - 1] for i in range(1, 17)]


@pytest.mark.parametrize("n", [0, 7, 11])
def test_maps_are_those_of_the_weights(results: list[dict[str, Any]], n: int) -> None:
    """Within half a ninth, from the frame's own weights."""
    ids = np.array([[NUMBERS[word] for word in RECORD["words"]]])
    maps = attention_maps(film_frame(results[n]["step"]), ids)[:, 0]
    for head in results[n]["heads"]:
        shown = np.zeros(maps.shape[-2:])
        for i, row in enumerate(head["map"]):
            shown[i, : i + 1] = row
        exact = maps[head["layer"], head["head"]]
        np.testing.assert_allclose(shown, exact, rtol=0, atol=0.5 / 9 + 1e-6)


def test_words_name_the_heads_that_have_a_part(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.phase_film;
      return input.map((frame) => { const result = compute({ frame, mark: "none" });
        return [describe(result), explain(result, "head-0-1").text,
                explain(result, "frame-2").text, table(result)]; });"""
    said = run(body, list(range(12)))
    for one, (sentence, head, moment, table) in zip(RECORD["frames"], said, strict=True):
        assert f"After {one['step']:,} steps" in sentence
        assert f"{one['copying']:.3f} nats" in sentence
        clear = [f"L0H{h}" for h in range(4) if one["previous"][0][h] >= 0.3]
        assert all(name in sentence for name in clear)
        assert ("no head looks at the word before" in sentence) == (
            max(map(max, one["previous"])) < 0.3 and max(map(max, one["induction"])) < 0.3
        )
        assert f"{one['previous'][0][1]:.2f} of its weight" in head
        assert f"{RECORD['frames'][2]['copying']:.3f}" in moment
        assert len(table["rows"]) == 8
    assert "no head looks" in said[0][0]
    assert "looks at the word before" in said[-1][0]
    assert json.dumps(said[-1][3]).count("0.") >= 8


def test_the_moment_is_dragged_along_the_curves_and_its_marks_travel() -> None:
    body = """
      const { compute, draw, drag, choose } = living.registry.phase_film;
      const state = { frame: 3, mark: "none" };
      const keys = (frame) => [...draw(compute({ ...state, frame }), { live: true })
        .matchAll(/data-part="([^"]+)"/g)].map((found) => found[1]);
      const move = drag(compute(state), "frame-3", { width: 654, state });
      return [[0, 9999].map((x) => move({ to: [x, 50] }).frame), choose(null, state, "frame-5"),
        choose(null, state, "head-0-0"), drag(compute(state), "head-0-0", { width: 654, state }),
        keys(3), keys(4)];"""
    moved, tapped, other, held, before, after = run(body, None)
    assert moved == [0, len(RECORD["frames"]) - 1]
    assert tapped == {"frame": 5, "mark": "none"}
    assert other is held is None
    assert before == after
    assert {"now", "copying", "stories", "induction-L0H0"} <= {*before}
    assert len(before) == len({*before}) <= 80
