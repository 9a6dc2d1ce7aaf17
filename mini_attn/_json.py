"""JSON of others: an object with text as keys, or a clear error, whatever the bytes are."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from mini_attn.errors import ConfigError

LARGEST_BYTES = 100_000_000  # the safetensors library's own limit of a header


def json_file(path: Path, *, unique: bool = False) -> dict[str, Any]:
    """The object that a file holds."""
    size = os.path.getsize(path)
    if size > LARGEST_BYTES:
        raise ConfigError(f"{path.name} has {size} bytes, more than the {LARGEST_BYTES} allowed")
    return json_object(path.read_bytes(), path.name, unique=unique)


def json_object(text: bytes, name: str, *, unique: bool = False) -> dict[str, Any]:
    """The object that the text stands for; `unique` refuses a key that comes twice."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if unique and len(made) < len(found):
            twice, _ = Counter(key for key, _ in found).most_common(1)[0]
            raise ConfigError(f"{name} names {twice!r:.80} twice")
        return made

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as fault:  # also UnicodeDecodeError, and numbers too long
        raise ConfigError(f"{name} is no JSON text: {fault!s:.80}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must hold a JSON object, got {value!r:.60}")
    return value
