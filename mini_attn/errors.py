"""The exceptions of the package: one small tree, so that ``except MiniAttnError`` catches all.

Each also derives from the built-in exception that a caller would expect, and its message
says what was expected, with names and numbers, what came, and the likely cause.
"""

from __future__ import annotations

__all__ = [
    "CacheOverflowError",
    "CacheStateError",
    "CheckFailed",
    "ConfigError",
    "DTypeError",
    "MiniAttnError",
    "RankError",
    "ShapeError",
    "WidgetStateError",
]


class MiniAttnError(Exception):
    """Base of everything this package raises on purpose."""


class ShapeError(MiniAttnError, ValueError):
    """An array has the wrong number of axes, or two arrays disagree on a named axis."""


class DTypeError(MiniAttnError, TypeError):
    """An array or a name stands for a data type that is not supported here."""


class ConfigError(MiniAttnError, ValueError):
    """A number or an option is out of its range, or two of them contradict each other."""


class CacheOverflowError(MiniAttnError, ValueError):
    """More tokens than the cache has room for; the cache is as it was."""


class CacheStateError(MiniAttnError, RuntimeError):
    """The cache cannot do this in its present state; it is as it was."""


class RankError(MiniAttnError, RuntimeError):
    """Processes that compute together can't go on: one died, hangs, raised or disagrees."""


class WidgetStateError(MiniAttnError, ValueError):
    """A widget was given a state that its schema does not allow; it keeps the old one."""


class CheckFailed(MiniAttnError, AssertionError):
    """An answer to an exercise lacks an idea; the message names it."""
