"""A configuration's sizes, read by the table of its family."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add, floordiv, mul
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import REQUIRED, count, entry, flag
from mini_attn.weights.families._fields import BASE, FIELDS

_OPERATIONS = {"+": add, "*": mul, "//": floordiv}


def size(config: Mapping[str, Any], name: str) -> Any:
    """Return a size of the model that a file describes, read as `FIELDS` says."""
    spec = _spec(config, name)
    if isinstance(spec, str):
        return count(config, spec)
    if "is" in spec:
        return _worth(config, name, spec["is"])
    if "list" in spec:
        return entry(config, spec["list"], None)
    if isinstance(spec.get("default"), bool):
        said = flag(config, spec["key"], spec["default"])
        return spec.get("yes" if said else "no", said)
    value = _given(config, spec)
    value = _worth(config, name, spec["null"]) if value is None else value
    return value * _worth(config, name, spec["times"]) if "times" in spec else value


def keys_of(family: str) -> set[str]:
    """Return the keys that a family's file may have, apart from those that change nothing."""
    specs = BASE | FIELDS[family]
    named = [key for spec in specs.values() for key in _keys(spec)]
    return {*named, *specs["also"].split()}


def _keys(spec: Any) -> list[str]:
    """Return the file's keys of one size."""
    if isinstance(spec, str):
        return [] if " " in spec else [spec]
    key = spec.get("key") or spec.get("list") or []
    return [key] if isinstance(key, str) else key


def _spec(config: Mapping[str, Any], name: str) -> Any:
    specs = FIELDS[config["model_type"]]
    return specs[name] if name in specs else BASE[name]


def _given(config: Mapping[str, Any], spec: Mapping[str, Any]) -> Any:
    """Return the file's count, or the default; of several keys that have one, all must agree."""
    keys = _keys(spec)
    default = None if "null" in spec else REQUIRED
    if len(keys) > 1:  # names of the same number: null in one of them is no number
        present = [key for key in keys if config.get(key) is not None]
    else:
        present = [key for key in keys if key in config]
    if not present and "default" in spec:
        return spec["default"]
    found = {key: count(config, key, default, least=spec.get("least", 1)) for key in present}
    if len(set(found.values())) > 1:
        raise ConfigError(f"{' and '.join(found)} are two numbers: {list(found.values())}")
    return next(iter(found.values())) if found else count(config, keys[0])


def _worth(config: Mapping[str, Any], name: str, value: Any) -> Any:
    """Return a value of the table: itself, another size, or what an operation on sizes gives."""
    if not isinstance(value, str):
        return value
    if value in BASE or value in FIELDS[config["model_type"]]:
        return size(config, value)
    left, *rest = value.split()
    if not rest:
        return value
    operation, right = rest
    numbers = (int(part) if part.isdigit() else size(config, part) for part in (left, right))
    if operation == "//":  # the one that can leave nothing
        name = " // ".join(_keys(_spec(config, part))[0] for part in (left, right))
    return check_count(name, _OPERATIONS[operation](*numbers))
