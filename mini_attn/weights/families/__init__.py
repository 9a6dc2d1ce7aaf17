"""The families of checkpoints that this package reads, one module for each or for relatives.

A module here that has ``FAMILIES`` is found by its place; nothing else lists it. What its files
look like stands in its ``FIELDS``, or in the table of all, `_fields`.
"""

from importlib import import_module
from pkgutil import iter_modules

from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields import FIELDS

__all__ = ["FAMILIES"]

FAMILIES: dict[str, Family] = {}
for _found in iter_modules(__path__):
    if not _found.name.startswith("_"):
        _module = import_module(f"{__name__}.{_found.name}")
        FAMILIES |= _module.FAMILIES
        FIELDS.update(getattr(_module, "FIELDS", {}))
