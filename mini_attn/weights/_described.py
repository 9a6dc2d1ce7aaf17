"""What a published configuration says, read key by key with the kind that each must have.

A key that is missing has its default; one that holds null is None where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, check_flag, check_number

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
}
LARGEST = 2**63 - 1  # no array has more of anything
REQUIRED = object()


def entry(config: Mapping[str, Any], name: str, default: Any = REQUIRED) -> Any:
    """Return a name's entry; None too, where there is a default."""
    value = config.get(name, default)
    if value is REQUIRED or (value is None and default is REQUIRED):
        raise ConfigError(f"the configuration of {config.get('model_type')} has no {name!r}")
    return value


def count(config: Mapping[str, Any], name: str, default: Any = REQUIRED, *, least: int = 1) -> Any:
    """A whole number, or None."""
    value = entry(config, name, default)
    if value is not None and check_count(name, value, least=least) > LARGEST:
        raise ConfigError(f"{name} is larger than any array: a number of {len(str(value))} digits")
    return value


def number(config: Mapping[str, Any], name: str, default: Any = REQUIRED) -> Any:
    """A finite number, or None."""
    value = entry(config, name, default)
    return None if value is None else check_number(name, value)


def flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    """True or False; null is the default."""
    value = entry(config, name, None)
    value = default if value is None else value
    check_flag(name, value)
    return bool(value)


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """An object of names and values."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must map names to values, got {value!r:.60}")
    return value


def activation(config: Mapping[str, Any], key: str, default: str) -> str:
    """The activation under its name here."""
    name = entry(config, key, default)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ConfigError(
            f"{key}: activation must be one of {', '.join(ACTIVATIONS)}, got {name!r:.60}"
        )
    return ACTIVATIONS[name]
