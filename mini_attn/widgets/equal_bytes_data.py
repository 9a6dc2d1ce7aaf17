"""What was measured on the trained family at every size of its cache. Data only."""

from __future__ import annotations

from typing import Any

from mini_attn.notebook import stored
from mini_attn.stories.members import MEMBERS

__all__ = ["KEY", "equal_bytes"]

KEY = "choosing/equal-bytes"
MEASURES = ("excess", "copying", "near", "far")
SIZE = (2, 64)  # layers and width of the members that are shipped, which the picture shows


def equal_bytes() -> dict[str, Any]:
    """What the widget needs of the stored points: those of the shipped size.

    Returns
    -------
    dict
        ``members``, name and title each; ``measures``, their keys; and ``points``, one list each:
        member, bits of keys and of values, axis of the keys, window (0 keeps all), first tokens,
        bytes a token, seeds, and mean and standard deviation of each measure.
    """
    points = [
        [
            *(point[key] for key in ("member", "k_bits", "v_bits", "key_axis")),
            *(point["window"] or 0, point["sink_tokens"]),
            *(point["bytes_per_token"], point["seeds"]),
            *(point[measure] for measure in MEASURES),
        ]
        for point in stored(KEY)["points"]
        if (point["n_layers"], point["d_model"]) == SIZE
    ]
    members = [[name, member.title] for name, member in MEMBERS.items()]
    return {"members": members, "measures": list(MEASURES), "points": points}
