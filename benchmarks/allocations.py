"""Count what a piece of code allocates, also inside PyTorch's own kernels."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler tells when it starts and stops


def torch_allocations(run: Callable[[], Any]) -> list[int]:
    """Bytes that PyTorch takes (positive) and gives back (negative) on the CPU, in order."""
    run()  # what is allocated once and kept is no cost of a call
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        run()
    events = record.profiler.kineto_results.events()
    taken = [(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"]
    return [count for _, count in sorted(taken, key=lambda pair: pair[0])]


def torch_peak(run: Callable[[], Any]) -> int:
    """Most bytes of tensors held at once beyond those that were there before."""
    return max(accumulate(torch_allocations(run)), default=0)


def numpy_peak(run: Callable[[], Any]) -> int:
    """Most bytes of arrays and Python objects held at once beyond those that were there before."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allocated_peak(run: Callable[[], Any]) -> int:
    """The peak of either backend: arrays are not tensors, so the larger one is the run's."""
    return max(numpy_peak(run), torch_peak(run))
