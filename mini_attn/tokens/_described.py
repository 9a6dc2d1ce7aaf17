"""Fields of a tokenizer's file, each of the kind that it must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import ConfigError


def an_object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be an object, got {value!r:.60}")
    return value


def a_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} must be a list, got {value!r:.60}")
    return value


def text_of(part: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = part.get(key, default)
    if not isinstance(value, str):
        raise ConfigError(f"{where} must have {key} as text, got {value!r:.60}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{where} has half a character in {key}: {value!r:.60}") from None
    return value


def flag(part: Mapping[str, Any], key: str, where: str, default: bool | None = False) -> bool:
    value = part.get(key, default)
    if value is None:
        value = default
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must have {key} true or false, got {value!r:.60}")
    return value


def whole(part: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = part.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise ConfigError(f"{where} must have {key} as a number from 0 on, got {value!r:.60}")
    return value


def one_of(part: Mapping[str, Any], key: str, where: str, allowed: Any, default: str = "") -> str:
    value = text_of(part, key, where, default or None)
    if value not in allowed:
        raise ConfigError(f"{where} has {key} {value!r:.40}; read are {', '.join(allowed)}")
    return value


def parts_of(part: Any, where: str, keys: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The steps of a sequence in order, those of sequences in it too; none for null."""
    if part is None:
        return []
    part = an_object(part, where)
    if part.get("type") != "Sequence":
        return [part]
    inner = next((part[key] for key in keys if key in part), None)
    return [
        step
        for each in a_list(inner, f"{where}'s Sequence")
        for step in parts_of(each, where, keys)
    ]


def refuse_kind(part: Mapping[str, Any], where: str, known: Any) -> None:
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in known:
        raise ConfigError(f"{where} {kind!r:.40} isn't read; these are: {', '.join(sorted(known))}")
