"""What `help()` and `repr()` of the package's public classes show: what a user needs, no more."""

from __future__ import annotations

import inspect
import pydoc
from typing import Generic, TypeVar

import pytest
import torch

from tests.backends.test_wrong_kinds import SURFACE

State = TypeVar("State")
CLASSES = sorted(name for name, thing in SURFACE.items() if inspect.isclass(thing))
INHERITED = {*dir(object), *dir(torch.nn.Module)}  # what Python and PyTorch bring
TYPING = {"__class_getitem__", "__parameters__", "__orig_bases__"}


def shown(kind):
    """Names of the members that `help()` shows, without what Python and PyTorch bring."""
    listed = inspect.classify_class_attrs(kind)
    names = {entry.name for entry in listed if pydoc.visiblename(entry.name)}
    return {name for name in names - INHERITED if name[0] != "_" or name in TYPING}


def documented(member):
    """Whether a public member's docstring says what it takes or gives back, if there is any."""
    text = inspect.getdoc(member) or ""
    if isinstance(member, property) or not callable(member):
        return bool(text)
    given = [name for name in inspect.signature(member).parameters if name != "self"]
    return all(part in text for part in ("Parameters\n---",) if given) and bool(text)


@pytest.mark.parametrize("name", CLASSES)
def test_help_shows_members_that_are_for_users(name, lib):
    kind = getattr(lib.module, name)
    for member in sorted(shown(kind)):
        assert member not in TYPING
        found = inspect.getattr_static(kind, member)
        if callable(found) or isinstance(found, property):
            assert documented(found), member


def test_internals_would_be_found():
    class Leaky(Generic[State]):
        def step(self, state):
            """Do a step."""

    assert shown(Leaky) == {"step", *TYPING}
    assert not documented(Leaky.step)
