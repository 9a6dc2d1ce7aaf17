"""One head of the trained decoder on a story: what `BitsDial` rounds. Data only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.numpy.layers._pass import begin_pass
from mini_attn.stories import START, encode, sample_story
from mini_attn.widgets.inside_data import wide

__all__ = ["bits_dial"]

MEMBER, LAYER, HEAD = "mha", 1, 0
STORY, TOKENS = 7, 32  # its last token looks back for what was given


def _hundredths(rows: NDArray[Any]) -> list[str]:
    """A text of whole numbers for each row."""
    return [" ".join(map(str, row)) for row in np.rint(100 * rows).astype(int).tolist()]


def bits_dial() -> dict[str, Any]:
    """Rotated keys and values of a head, and the newest token's query, all in hundredths.

    Returns
    -------
    dict
        ``member``; ``words``; ``q``, a text of whole numbers; ``k`` and ``v``, such a text for
        each token; ``outlier``, the channel with the largest key.

    Examples
    --------
    >>> from mini_attn.widgets.bits_dial_data import bits_dial
    >>> bits_dial()["words"][-3:]
    ['ella', 'gave', 'the']
    """
    words = [START, *sample_story(STORY).split()][:TOKENS]
    model = wide(MEMBER)
    x = model.embed_tokens(encode(" ".join(words))[None])
    for layer in model.layers[:LAYER]:
        x = layer(x)
    layer = model.layers[LAYER]
    read = layer.input_layernorm(x)
    q, k, v = layer.self_attn._project_at(read, begin_pass(read, None, None).tables)
    outlier = int(np.abs(k[0, HEAD]).max(axis=0).argmax())
    queries, keys, values = (_hundredths(part[0, HEAD]) for part in (q, k, v))
    return {
        "member": MEMBER,
        "words": words,
        "q": queries[-1],
        "k": keys,
        "v": values,
        "outlier": outlier,
    }
