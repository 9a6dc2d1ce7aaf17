"""What several test files need: one object per backend, and repeatable random tests."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.parallel.ranks_pool import RanksPool
    from tools.site import Visit

# Tests neither read nor write the progress of whoever runs them.
os.environ["MINI_ATTN_PROGRESS"] = "off"

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=25)
# make soak: other numbers in every run, and many.
settings.register_profile("soak", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")


class Backend:
    """One backend under test: its module, and arrays into and out of it."""

    def __init__(self, name: str) -> None:
        import mini_attn.numpy
        import mini_attn.torch

        self.name = name
        self.module: Any = mini_attn.numpy if name == "numpy" else mini_attn.torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def array(self, values: Any, dtype: str | None = None) -> Any:
        array = np.array(values, dtype=dtype)
        if self.name == "numpy":
            return array
        import torch

        return torch.from_numpy(array)

    def numpy(self, array: Any) -> np.ndarray:
        return array if isinstance(array, np.ndarray) else array.detach().numpy()


@pytest.fixture(params=["numpy", "torch"], scope="session")
def lib(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn."""
    return Backend(request.param)


@pytest.fixture(scope="session")
def backends() -> tuple[Backend, Backend]:
    """Both backends, to compare them."""
    return Backend("numpy"), Backend("torch")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20240613)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose mark doesn't stand in its own file, as runs look for it there."""
    chosen_by = {"browser", "lite", "exhaustive"}
    marked = {(item.path, mark.name) for item in items for mark in item.iter_markers()}
    for path, name in sorted(one for one in marked if one[1] in chosen_by):
        from tools.test import SELECTS  # importing it reads each file of tests

        if not re.search(SELECTS[name], path.read_text("utf-8")):
            raise pytest.UsageError(f"{path}: mark.{name} stands in no line of this file")


shared = contextlib.ExitStack()  # the Chromium of this process, while its tests drive one


def drives(item: pytest.Item | None) -> bool:
    """Whether a test needs a browser."""
    return item is not None and any(map(item.get_closest_marker, ("browser", "lite")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start a Chromium before the first test in a row that drives one."""
    if drives(item):
        from tools.browser import launched  # only browser tests wait for what this imports

        shared.enter_context(launched())  # the one that runs, if one does


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Close it after the last of them: its event loop stands in the way of other tests."""
    try:
        return (yield)
    finally:
        if not drives(nextitem):
            shared.close()


@pytest.fixture(scope="module")
def visits() -> Iterator[Visit]:
    """The built book, served and visited by one browser for all tests of a file."""
    from tools.site import visiting  # only browser tests wait for what this imports

    with visiting() as visits:
        yield visits


@pytest.fixture
def visit(visits: Visit) -> Iterator[Visit]:
    """Opens pages; at the end nothing was raised and no other host was asked."""
    from tests.site import watched

    yield from watched(visits)


@pytest.fixture(scope="module")
def pools() -> Iterator[dict[int, RanksPool]]:
    """Two processes, and four, which start when they're asked and stay for a file."""
    from tests.parallel.ranks_pool import (
        RanksPool,  # only tests of ranks wait for what this imports
    )

    with RanksPool(2) as two, RanksPool(4) as four:
        yield {2: two, 4: four}
