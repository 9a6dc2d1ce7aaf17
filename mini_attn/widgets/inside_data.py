"""What `InsideModel` shows before anything is loaded: its first text inside the first decoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.numpy import Decoder, logsumexp
from mini_attn.stories import START, encode, load
from mini_attn.stories.inside import attention_maps
from mini_attn.stories.members import MEMBERS

__all__ = ["inside_model", "wide"]

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
    text = json.loads(SCHEMA.read_text(encoding="utf-8"))["text"]["default"]
    model, ids = wide("mha"), encode(f"{START} {text}")
    logits = model(ids[None])[0]
    nats = logsumexp(logits)[:, None] - logits
    costs = nats[np.arange(ids.size - 1), ids[1:]]
    thousandths = np.rint(1000 * attention_maps(model, ids[None])[:, 0]).astype(int)
    maps = thousandths.reshape(-1, *thousandths.shape[-2:])
    return {
        "members": {name: member.title for name, member in MEMBERS.items()},
        "costs": costs.round(4).tolist(),
        "nats": nats[-1].round(4).tolist(),
        "maps": [[" ".join(map(str, r[: i + 1])) for i, r in enumerate(m)] for m in maps.tolist()],
    }
