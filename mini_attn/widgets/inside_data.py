"""What pictures of a trained decoder show before it is loaded: one text inside the first one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.numpy import Decoder, logsumexp
from mini_attn.stories import START, WORDS, encode, load
from mini_attn.stories.inside import attention_maps, without_heads
from mini_attn.stories.members import MEMBERS

__all__ = ["home_model", "inside_model", "wide"]

SCHEMA = Path(__file__).with_name("js") / "inside_model" / "schema.json"

Array = NDArray[Any]


def wide(name: str) -> Decoder:
    """A member that computes in float64, as JavaScript does.

    Parameters
    ----------
    name : str
        What `load` takes.

    Returns
    -------
    Decoder
        With the member's weights.
    """
    model = load(name)
    same = Decoder(model.config, dtype="float64")
    same.load_state_dict(model.state_dict())
    return same


def _first_text() -> Array:
    """Ids of the text that the pictures begin with."""
    text = json.loads(SCHEMA.read_text(encoding="utf-8"))["text"]["default"]
    return encode(f"{START} {text}")


def inside_model() -> dict[str, Any]:
    """The members' titles, and a pass of the first one over the widget's first text.

    Returns
    -------
    dict
        ``members``, titles by name; ``costs``, the nats of each word of the text; ``nats``, of
        every word that may follow; ``maps``, for each head its lines, in thousandths.

    Examples
    --------
    >>> inside_model()["members"]["mha"]
    'multi-head attention, RoPE'
    """
    model, ids = wide("mha"), _first_text()
    logits = model(ids[None])[0]
    nats = logsumexp(logits)[:, None] - logits
    costs = nats[np.arange(ids.size - 1), ids[1:]]
    thousandths = np.rint(1000 * attention_maps(model, ids[None])[:, 0]).astype(int)
    maps = thousandths.reshape(-1, *thousandths.shape[-2:])
    return {
        "members": {name: one.title for name, one in MEMBERS.items() if one.on_pages},
        "costs": costs.round(4).tolist(),
        "nats": nats[-1].round(4).tolist(),
        "maps": [[" ".join(map(str, r[: i + 1])) for i, r in enumerate(m)] for m in maps.tolist()],
    }


def _answer(model: Decoder, ids: Array, first: int) -> dict[str, Any]:
    """Return how likely both names are next, and each head's map of the words from the first on."""
    logits = model(ids[None])[0, -1]
    chances = np.exp(logits - logsumexp(logits))
    maps = np.rint(1000 * attention_maps(model, ids[None])[:, 0, :, first:, first:]).astype(int)
    return {
        "next": {name: round(float(chances[WORDS.index(name)]), 5) for name in ("tom", "lily")},
        "maps": [
            [" ".join(" ".join(map(str, row[: i + 1])) for i, row in enumerate(rows)) for rows in m]
            for m in maps.tolist()
        ],
    }


def home_model() -> dict[str, Any]:
    """Compute what the first page shows: the answers with all heads on, and with each one off.

    Returns
    -------
    dict
        ``from``, the position at which the text's last sentence begins; ``all`` and the heads'
        names: ``next``, the probabilities of both names, and with a head of layer 0 off ``maps``,
        for each head of layer 1 the lines of the last sentence, in thousandths. All other maps
        are those of `inside_model`.

    Examples
    --------
    >>> home_model()["from"]
    29
    """
    model, ids = wide("mha"), _first_text()
    first = int(np.flatnonzero(ids[:-2] == WORDS.index("."))[-1]) + 1
    found: dict[str, Any] = {"from": first, "all": _answer(model, ids, first)}
    del found["all"]["maps"]  # those of the other picture
    for layer, head in np.ndindex(model.config.n_layers, model.config.attention.n_heads):
        answer = _answer(without_heads(model, [(layer, head)]), ids, first)
        later = answer.pop("maps")[layer + 1 :]
        found[f"L{layer}H{head}"] = answer | ({"maps": later[0]} if later else {})
    return found
