"""The trained decoders that come with the package."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice
from mini_attn.stories.fetching import fetched, listed
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.rounding import restored
from mini_attn.stories.vocabulary import WORDS
from mini_attn.weights import load_safetensors

__all__ = ["film", "film_frame", "load", "on_pages", "shipped", "stored"]

FOLDER = Path(__file__).parent / "weights"


def shipped() -> tuple[str, ...]:
    """Names of the members whose weights are here or come when they are used, in order.

    Returns
    -------
    tuple of str
        What `load` takes.

    Examples
    --------
    >>> set(shipped()) <= set(MEMBERS)
    True
    """
    files = {path.name for path in FOLDER.glob("*.safetensors")} | listed(FOLDER).keys()
    return tuple(name for name in MEMBERS if f"{name}.safetensors" in files)


def on_pages() -> tuple[str, ...]:
    """Names of those that a page's own decoder can run, in order.

    Returns
    -------
    tuple of str
        `shipped`, but for members that share layers or compress entries.

    Examples
    --------
    >>> set(on_pages()) <= set(shipped())
    True
    """
    return tuple(name for name in shipped() if MEMBERS[name].on_pages)


def load(name: str, *, backend: str = "numpy") -> Any:
    """A trained decoder of the family.

    ``logits = load(name)(ids)``

    Parameters
    ----------
    name : str
        One of `shipped`.
    backend : {"numpy", "torch"}
        Whose decoder it is to be.

    Returns
    -------
    Decoder
        With two layers of width 64, in float32.

    Raises
    ------
    ConfigError
        If the member is unknown or not here, its file is damaged or the backend unknown.
    ShapeError
        If the file does not hold the weights of this member.

    Notes
    -----
    The file holds eight bits a weight and one scale a row; ``training/results`` says what the
    member loses before and after that rounding.

    Examples
    --------
    >>> load("unknown")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: unknown member 'unknown': one of mha, gqa, mqa, mla, ...
    """
    check_choice("backend", backend, ("numpy", "torch"))
    config, weights = stored(name)
    model = importlib.import_module(f"mini_attn.{backend}").Decoder(config)
    model.load_state_dict(restored(weights))
    return model


def stored(name: str) -> tuple[DecoderConfig, dict[str, Any]]:
    """Read what the package holds of a member: configuration, and the file's codes and scales.

    Parameters
    ----------
    name : str
        One of `shipped`.

    Returns
    -------
    tuple (config, weights)
        The weights as `rounded` leaves them.

    Raises
    ------
    ConfigError
        If the member is unknown or not here, or its file is damaged.

    Examples
    --------
    >>> stored("unknown")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: unknown member 'unknown': one of mha, gqa, mqa, mla, ...
    """
    if not isinstance(name, str) or name not in MEMBERS:
        raise ConfigError(f"unknown member {name!r:.40}: one of {', '.join(MEMBERS)}")
    path = fetched(FOLDER, f"{name}.safetensors")
    if not path.exists():
        raise ConfigError(f"{name} has not been trained: `make train MEMBER={name}` does it")
    return MEMBERS[name].config(len(WORDS)), load_safetensors(path)


def film() -> dict[str, Any]:
    """Read what was measured in the film of the first member's training.

    Returns
    -------
    dict
        ``frames``, for each moment its step, losses, and two scores of each head; ``curve``, the
        losses at every moment that was kept; ``floor``, the least that losses can be.

    Raises
    ------
    ConfigError
        If the film is not here, or its record is damaged.

    Examples
    --------
    >>> len(film()["frames"])
    12
    """
    path = FOLDER / "film/film.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError("there is no film yet: `python -m training.film` makes it") from error
    except ValueError as error:
        raise ConfigError(f"{path.name} is damaged: {error}") from error
    return found


def film_frame(step: int) -> Any:
    """The first member as it was after some steps of its training.

    Parameters
    ----------
    step : int
        One of the film's.

    Returns
    -------
    Decoder
        Of `mini_attn.numpy`, in float32.

    Raises
    ------
    ConfigError
        If the film has no such step, or its file is missing or damaged.

    Examples
    --------
    >>> film_frame(50).config.n_layers
    2
    """
    steps = [one["step"] for one in film()["frames"]]
    if step not in steps:
        raise ConfigError(f"the film has the steps {', '.join(map(str, steps))}, got {step!r:.40}")
    path = fetched(FOLDER, f"film/{step:05d}.safetensors")
    if not path.exists():
        raise ConfigError(f"{path.name} of the film is missing, and nothing lists it")
    weights = load_safetensors(path)
    model = importlib.import_module("mini_attn.numpy").Decoder(MEMBERS["mha"].config(len(WORDS)))
    model.load_state_dict(restored(weights))
    return model
