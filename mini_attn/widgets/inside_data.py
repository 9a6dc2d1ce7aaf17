"""What `InsideModel` shows before anything is loaded: its first text inside the first decoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.numpy import (
    Decoder,
    apply_rope,
    logsumexp,
    rope_frequencies,
    rope_table,
    scaled_dot_product_attention,
)
from mini_attn.stories import START, encode, load
from mini_attn.stories.members import MEMBERS

__all__ = ["attention_maps", "inside_model", "rotated", "wide"]

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


def rotated(layer: Any, x: Array) -> tuple[Array, Array, Array]:
    """Queries and keys, rotated by their positions, and values of a layer's heads.

    Parameters
    ----------
    layer : DecoderLayer
        With rotary embeddings, in float64.
    x : array (batch, seq, d_model)
        What comes into the layer.

    Returns
    -------
    tuple of arrays
        Queries, keys and values, each (batch, heads, seq, head_dim).
    """
    h = layer.input_layernorm(x)
    q, k, v = layer.self_attn.project(h, h)
    rope = layer.self_attn.config.rope
    inv_freq, _, _ = rope_frequencies(q.shape[-1], theta=rope.theta)
    cos, sin = rope_table(np.arange(x.shape[1]), inv_freq, dtype="float64")
    q, k = (apply_rope(part, cos, sin, layout=rope.layout) for part in (q, k))
    return q, k, v


def attention_maps(model: Decoder, ids: Array) -> Array:
    """Whom each head of a decoder with rotary embeddings reads.

    ``maps[layer, head] = softmax(q @ k.T * scale)``

    Parameters
    ----------
    model : Decoder
        In float64, with full attention and rotary embeddings.
    ids : integer array (seq,)
        A row of words.

    Returns
    -------
    array (n_layers, n_heads, seq, seq)
        Lines are the words that read.

    Examples
    --------
    >>> from mini_attn.stories.members import MEMBERS
    >>> model = Decoder(MEMBERS["mha"].config(118), dtype="float64")
    >>> attention_maps(model, np.array([0, 5])).sum(axis=-1).round(5).min()
    1.0
    """
    x, found = model.embed_tokens(ids[None]), []
    for layer in model.layers:
        q, k, v = rotated(layer, x)
        found.append(scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)[1][0])
        x = layer(x)
    return np.stack(found)


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
    thousandths = np.rint(1000 * attention_maps(model, ids)).astype(int)
    maps = thousandths.reshape(-1, *thousandths.shape[-2:])
    return {
        "members": {name: member.title for name, member in MEMBERS.items()},
        "costs": costs.round(4).tolist(),
        "nats": nats[-1].round(4).tolist(),
        "maps": [[" ".join(map(str, r[: i + 1])) for i, r in enumerate(m)] for m in maps.tolist()],
    }
