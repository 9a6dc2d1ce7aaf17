"""The families of checkpoints that this package reads, one module for each or for relatives.

A module here that has ``FAMILIES`` is found by its place; nothing else lists it.
"""

from importlib import import_module
from pkgutil import iter_modules

from mini_attn.weights.families._family import Family

__all__ = ["FAMILIES"]

FAMILIES: dict[str, Family] = {
    name: family
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
    for name, family in import_module(f"{__name__}.{module.name}").FAMILIES.items()
}
