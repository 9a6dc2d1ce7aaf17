"""The trained family: eight bits a weight, and what loading refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.stories import WORDS, family
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import save_safetensors

IDS = np.array([[0, 5, 7, 1]])


def stored(name: str, folder: Path) -> ma.Decoder:
    """Random weights where those of a member are expected; the decoder that they are of."""
    model = ma.Decoder(MEMBERS[name].config(len(WORDS)), seed=3)
    save_safetensors(folder / f"{name}.safetensors", rounded(model.state_dict()))
    return model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    return tmp_path


def test_rounding_keeps_each_number_within_half_a_step(rng: np.random.Generator) -> None:
    weight = rng.standard_normal((7, 30)) * 10.0 ** rng.integers(-8, 8, (7, 1))
    weight[3] = 0
    state = {"a.weight": weight, "gain": weight[0]}
    files = rounded(state)
    assert {name: array.dtype.name for name, array in files.items()} == {
        "a.weight": "int8", "a.weight.scale": "float32", "gain": "float32",
    }  # fmt: skip
    back = restored(files)
    assert (abs(back["a.weight"] - weight) <= files["a.weight.scale"] * 0.501).all()
    np.testing.assert_array_equal(back["gain"], weight[0].astype(np.float32))
    again = rounded(back)
    assert (again["a.weight"] == files["a.weight"]).all()


@pytest.mark.parametrize("wrong", [np.array([[np.nan]]), np.array([[1]]), np.array([[1j]])])
def test_what_cannot_be_rounded_is_named(wrong: np.ndarray) -> None:
    with pytest.raises(DTypeError, match="weight must hold finite"):
        rounded({"weight": wrong})


def test_codes_and_scales_come_in_pairs() -> None:
    files = rounded({"weight": np.ones((2, 3))})
    with pytest.raises(ConfigError, match="weight has no scale"):
        restored({"weight": files["weight"]})
    with pytest.raises(ConfigError, match="no scale for each"):
        restored(files | {"weight.scale": np.ones((3, 1), np.float32)})
    with pytest.raises(ConfigError, match="scales without weights"):
        restored({"weight.scale": files["weight.scale"]})


@pytest.mark.parametrize("name", MEMBERS)
def test_both_backends_load_the_same_decoder(folder: Path, name: str) -> None:
    model = stored(name, folder)
    assert family.shipped() == (name,)
    loaded, twin = family.load(name), family.load(name, backend="torch")
    exact, logits = model(IDS), loaded(IDS)
    assert 0 < abs(logits - exact).max() < 0.2
    import torch

    with torch.inference_mode():
        theirs = twin(torch.from_numpy(IDS)).numpy()
    np.testing.assert_allclose(theirs, logits, atol=1e-4)


def test_what_cannot_be_loaded_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match="unknown member 'gpt'"):
        family.load("gpt")
    with pytest.raises(ConfigError, match="backend"):
        family.load("mha", backend="jax")
    with pytest.raises(ConfigError, match="mha has not been trained"):
        family.load("mha")
    stored("mha", folder)
    path = folder / "mha.safetensors"
    path.rename(folder / "gqa.safetensors")  # another member's weights
    with pytest.raises(ShapeError, match="k_proj"):
        family.load("gqa")
    path.write_bytes((folder / "gqa.safetensors").read_bytes()[:-100])
    with pytest.raises(ConfigError, match="mha"):
        family.load("mha")
