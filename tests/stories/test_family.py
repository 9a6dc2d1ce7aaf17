"""The trained family: eight bits a weight, and what loading refuses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.stories import WORDS, family
from mini_attn.stories.fetching import LIST, listed, note
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.rounding import restored, rounded
from mini_attn.weights import save_safetensors

HERE = family.FOLDER
IDS = np.array([[0, 5, 7, 1]])


def stored(name: str, folder: Path) -> ma.Decoder:
    """Random weights where those of a member are expected; the decoder that they are of."""
    model = ma.Decoder(MEMBERS[name].config(len(WORDS)), seed=3)
    save_safetensors(folder / f"{name}.safetensors", rounded(model.state_dict()))
    note(folder, f"{name}.safetensors")
    return model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    return tmp_path


def test_a_member_without_positions_cannot_tell_an_order() -> None:
    """In one layer the last word sees a set of words; a rotary member sees their order too."""
    there, other = np.array([[4, 5, 7, 1]]), np.array([[7, 4, 5, 1]])
    for name, told in (("none", False), ("mha", True), ("alibi", True), ("learned", True)):
        model = ma.Decoder(MEMBERS[name].config(len(WORDS), n_layers=1), seed=3)
        apart = np.abs(model(there)[:, -1] - model(other)[:, -1]).max()
        assert (apart > 1e-4) == told, (name, apart)


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
    note(folder, "gqa.safetensors")
    with pytest.raises(ShapeError, match="k_proj"):
        family.load("gqa")


def flipped(content: bytes) -> bytes:
    """One bit of one weight is another."""
    at = len(content) - 5000
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def overwritten(content: bytes) -> bytes:
    """The header is whole, and all weights are gone: the scales are no numbers."""
    end = 8 + int.from_bytes(content[:8], "little")
    return content[:end] + b"\xff" * (len(content) - end)


@pytest.mark.parametrize("harm", [flipped, overwritten, lambda content: content[:-100]])
def test_damage_is_named_whatever_it_is(folder: Path, harm: Callable[[bytes], bytes]) -> None:
    stored("mha", folder)
    path = folder / "mha.safetensors"
    path.write_bytes(harm(path.read_bytes()))
    for use in (family.load, family.stored, lambda name: family.load(name, backend="torch")):
        with pytest.raises(ConfigError, match=r"mha\.safetensors is damaged: its sha256 is "):
            use("mha")
    stored("mha", folder)  # written anew, it has its entry again
    family.load("mha")


def test_a_file_and_its_checksum_belong_together(folder: Path) -> None:
    for name in ("mha", "gqa"):
        stored(name, folder)
    whole = (folder / LIST).read_text(encoding="utf-8")
    (folder / LIST).write_text(whole.replace('"mha.', '"other.'), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mha\.safetensors has no checksum in checksums\.json"):
        family.load("mha")
    family.load("gqa")
    (folder / LIST).write_text(whole[:40], encoding="utf-8")
    with pytest.raises(ConfigError, match=r"checksums\.json is damaged"):
        family.load("gqa")
    (folder / LIST).write_text(whole, encoding="utf-8")
    (folder / "mha.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"mha\.safetensors is missing: checksums\.json lists it"):
        family.load("mha")
    stored("gqa", folder)
    assert listed(folder).keys() == {"gqa.safetensors"}


def test_every_shipped_file_has_its_checksum_and_none_lacks_its_file() -> None:
    files = family.FOLDER.rglob("*.safetensors")
    sums = {
        path.relative_to(family.FOLDER).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert listed(family.FOLDER) == sums
    assert len(sums) == len(family.shipped()) + len(family.film()["frames"])


def test_a_damaged_frame_of_the_film_is_named(folder: Path) -> None:
    shutil.copytree(HERE / "film", folder / "film")
    shutil.copy(HERE / LIST, folder)
    path = folder / "film/00050.safetensors"
    family.film_frame(50)
    path.write_bytes(flipped(path.read_bytes()))
    with pytest.raises(ConfigError, match=r"film/00050\.safetensors is damaged"):
        family.film_frame(50)
    path.unlink()
    with pytest.raises(ConfigError, match=r"film/00050\.safetensors is missing"):
        family.film_frame(50)
    (folder / LIST).unlink()
    with pytest.raises(ConfigError, match=r"00050\.safetensors of the film is missing"):
        family.film_frame(50)


STATES = [name for name, one in MEMBERS.items() if one.state is not None]


def test_a_state_is_as_large_as_one_key_value_head_at_the_longest_context() -> None:
    """The head's keys and values in bfloat16; a convolution's last tokens come on top."""
    one = MEMBERS["mqa"].config(len(WORDS)).attentions[0]
    head = 2 * one.n_kv_heads * one.head_dim * LONGEST * 2
    for name in STATES:
        model = ma.Decoder(MEMBERS[name].config(len(WORDS), n_layers=4))
        kept = [layer.self_attn for layer in model.layers]
        states = [layer for layer in kept if isinstance(layer, ma.LinearAttention)]
        assert len(states) >= 3
        for layer in states:
            tail = 3 * 3 * 4 * 32 * 4 if layer.config.conv_kernel > 1 else 0
            assert layer.new_cache(1, LONGEST).allocated_bytes - tail == head, name


@pytest.mark.parametrize("n_layers", [1, 2, 4, 8])
def test_of_a_hybrids_layers_each_fourth_and_the_last_have_attention(n_layers: int) -> None:
    kinds = [one.variant for one in MEMBERS["hybrid"].config(len(WORDS), n_layers).attentions]
    expected = {
        1: ["mqa"],
        2: ["gated_delta", "mqa"],
        4: [*["gated_delta"] * 3, "mqa"],
        8: [*["gated_delta"] * 3, "mqa"] * 2,
    }
    assert kinds == expected[n_layers]
