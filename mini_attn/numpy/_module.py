"""Weights by name: the little of a neural-network module that the reference needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mini_attn.errors import ConfigError, DTypeError, ShapeError


class Module:
    """Finds arrays, modules and lists of modules among its attributes."""

    def _children(self) -> Iterator[tuple[str, Any]]:
        for name, value in vars(self).items():
            if isinstance(value, list):
                yield from ((f"{name}.{i}", item) for i, item in enumerate(value))
            else:
                yield name, value

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """All weights under their dotted names; the arrays themselves, no copies."""
        weights: dict[str, np.ndarray[Any, Any]] = {}
        for name, value in self._children():
            if isinstance(value, Module):
                inner = value.state_dict().items()
                weights.update((f"{name}.{key}", array) for key, array in inner)
            elif isinstance(value, np.ndarray):
                weights[name] = value
        return weights

    def load_state_dict(self, weights: Mapping[str, Any]) -> None:
        """Copy weights in; every name and shape must fit, or nothing is changed."""
        own = self.state_dict()
        if missing := sorted(own.keys() - weights.keys()):
            raise ConfigError(f"weights are missing: {', '.join(missing[:5])}")
        if unknown := sorted(weights.keys() - own.keys()):
            raise ConfigError(f"unknown weights: {', '.join(unknown[:5])}")
        for name, array in own.items():
            new = weights[name]
            if tuple(new.shape) != array.shape:
                raise ShapeError(f"{name} has shape {array.shape}, got {tuple(new.shape)}")
            if np.asarray(new).dtype.kind != "f":
                raise DTypeError(f"{name} must be floating point, got {np.asarray(new).dtype}")
        for name, array in own.items():
            array[...] = np.asarray(weights[name])
