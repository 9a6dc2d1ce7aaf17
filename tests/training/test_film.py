"""The film: which frames are chosen, what is measured in them, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError
from mini_attn.stories import WORDS, family
from mini_attn.stories.fetching import LIST, listed
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.rounding import rounded
from mini_attn.weights import save_safetensors
from training.film import Measure, choose, film
from training.measure import SURE

STEPS = list(range(50, 1050, 50))


def frames_in(folder: Path, count: int) -> Path:
    """A folder of frames with weights that nobody has trained, larger from one to the next."""
    folder.mkdir()
    model = ma.Decoder(MEMBERS["mha"].config(len(WORDS)), seed=3)
    for n in range(count):
        state = {name: (1 + n / 10) * weight for name, weight in model.state_dict().items()}
        save_safetensors(folder / f"{50 * (n + 1):05d}.safetensors", rounded(state))
    return folder


def test_frames_are_dense_where_copying_falls() -> None:
    """First and last are in; half of the others lie in the fall, one step in twenty each."""
    copying = np.interp(STEPS, [50, 500, 800, 1000], [4.6, 4.5, 0.1, 0.0])
    losses = np.column_stack([copying, np.linspace(1, 0.9, len(STEPS))])
    chosen = choose(STEPS, losses, count=8)
    assert chosen == sorted(set(chosen))
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 19, 8)
    fall = [i for i in chosen if 500 <= STEPS[i] <= 800]
    assert len(fall) >= 4
    flat = choose(STEPS, np.zeros((20, 2)), count=5)
    assert max(np.diff(flat)) - min(np.diff(flat)) <= 1
    assert choose(STEPS[:5], losses[:5], count=5) == [0, 1, 2, 3, 4]
    with pytest.raises(ConfigError, match="a film of 12 frames needs as many, got 11"):
        choose(STEPS[:11], losses[:11])


def test_scores_are_those_of_slow_loops() -> None:
    measure = Measure(2, length=70)
    model = ma.Decoder(MEMBERS["mha"].config(len(WORDS)), seed=3)
    model.load_state_dict({k: 3 * v for k, v in model.state_dict().items()})
    found = measure(model)
    from mini_attn.stories.inside import attention_maps

    maps = attention_maps(model, measure.repeats)
    previous, induction = np.zeros((2, 4)), np.zeros((2, 4))
    words = 0
    for b, row in enumerate(measure.repeats):
        for i in range(len(row)):
            if i:
                previous += maps[:, b, :, i, i - 1] / (2 * 69)
            places = [j + 1 for j in range(i) if row[j] == row[i]]
            words += bool(places)
            induction += maps[:, b, :, i][:, :, places].sum(axis=-1)
    np.testing.assert_allclose(found["previous"], previous, atol=1e-4)
    np.testing.assert_allclose(found["induction"], induction / words, atol=1e-4)
    assert 0 < measure.floor["copying"] + 1e-9 < SURE < measure.floor["stories"]


def test_a_film_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "film"
    with pytest.raises(ConfigError, match="holds 3 frames"):
        film(frames_in(tmp_path / "few", 3), out, rows=2)
    assert not out.exists()
    out.mkdir()
    (out / "99999.safetensors").write_text("of an older film")
    record = film(frames_in(tmp_path / "many", 13), out, rows=2)
    steps = [one["step"] for one in record["frames"]]
    names = {f"{step:05d}.safetensors" for step in steps}
    assert {path.name for path in out.iterdir()} == names | {"film.json"}
    assert json.loads((out / "film.json").read_text()) == record
    assert not (tmp_path / LIST).exists()
    monkeypatch.setattr(family, "FOLDER", tmp_path)  # now it is the package's own film
    assert film(tmp_path / "many", out, rows=2)["frames"] == record["frames"]
    assert set(listed(tmp_path)) == {f"film/{name}" for name in names}
    assert family.film_frame(steps[0]).config.n_layers == 2
    assert len(record["curve"]["step"]) == 13
    assert len(steps) == 12


def test_the_film_that_is_shipped_is_one_of_learning() -> None:
    """Files and record fit together, and what is measured again is what was noted."""
    record = family.film()
    folder = family.FOLDER / "film"
    steps = [one["step"] for one in record["frames"]]
    assert {path.stem for path in folder.glob("*.safetensors")} == {f"{s:05d}" for s in steps}
    first, last = record["frames"][0], record["frames"][-1]
    assert first["copying"] > 4 > 0.1 > last["copying"]
    assert np.max(first["induction"]) < 0.1 < 0.8 < np.max(last["induction"])
    assert record["rows"] == 32
    again = Measure(8)(family.film_frame(last["step"]))
    assert again["copying"] == pytest.approx(last["copying"], abs=0.01)
    np.testing.assert_allclose(again["induction"], last["induction"], atol=0.05)
    np.testing.assert_allclose(again["previous"], last["previous"], atol=0.05)


def test_frames_that_are_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"the film has the steps 50, .* got 51"):
        family.film_frame(51)
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    with pytest.raises(ConfigError, match="there is no film yet"):
        family.film()
    (tmp_path / "film").mkdir()
    (tmp_path / "film/film.json").write_text("{")
    with pytest.raises(ConfigError, match=r"film\.json is damaged"):
        family.film()
