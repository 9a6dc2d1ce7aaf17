"""What was measured on the trained family at every size of its cache. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.notebook import stored
from mini_attn.stories.members import MEMBERS

__all__ = ["KEY", "SIZES", "equal_bytes"]

KEY = "choosing/equal-bytes"
MEASURES = ("excess", "copying", "near", "far")
SIZES = ("2x64", "3x96")  # layers and width; the first is that of the members that are shipped


def size_of(point: Mapping[str, Any]) -> str:
    """Layers and width of a stored point, as one name."""
    return f"{point['n_layers']}x{point['d_model']}"


def equal_bytes() -> dict[str, Any]:
    """Return what the widget needs of the stored points.

    Returns
    -------
    dict
        ``members``: name, title, short name and what they are compared in. ``measures``, their
        keys. ``points``, for each size one list each: member, bits of keys and of values, axis of
        the keys, window (0 keeps all), first tokens, bytes a token, seeds, and mean and standard
        deviation of each measure.
    """
    points: dict[str, list[Any]] = {size: [] for size in SIZES}
    for point in stored(KEY)["points"]:
        row = [
            *(point[key] for key in ("member", "k_bits", "v_bits", "key_axis")),
            *(point["window"] or 0, point["sink_tokens"]),
            *(point["bytes_per_token"], point["seeds"]),
            *(point[measure] for measure in MEASURES),
        ]
        if (size := size_of(point)) in points:
            points[size].append(row)
    members = [
        [name, one.title, one.short, one.kind] for name, one in MEMBERS.items() if one.state is None
    ]
    return {"members": members, "measures": list(MEASURES), "points": points}
