"""What the figures were measured on, and how fast that machine is by itself."""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

PACKAGES = ("numpy", "torch", "triton", "transformers", "playwright")


def describe() -> dict[str, Any]:
    """Hardware, versions and date, for the head of a result file."""
    found = {name: installed(name) for name in PACKAGES}
    return {
        "machine": f"{processor()}, {torch.get_num_threads()} threads, {platform.system()}",
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "versions": {"python": platform.python_version(), **found},
        "date": date.today().isoformat(),
    }


def installed(name: str) -> str | None:
    """Version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> str:
    """Name of the processor as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def side_by_side(runs: dict[str, Callable[[], Any]], *, repeats: int = 5) -> dict[str, float]:
    """Shortest seconds of each run, taken in turn so that drift of the machine hits all alike."""
    for run in runs.values():
        run()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def milliseconds(best: dict[str, float]) -> dict[str, float]:
    """The shortest times as they are shown."""
    return {name: 1e3 * seconds for name, seconds in best.items()}


def read_bandwidth() -> dict[str, float]:
    """Bytes a second that one NumPy thread and all PyTorch threads read, summing 1 GiB."""
    array = np.ones(2**27, dtype=np.float64)
    tensor = torch.from_numpy(array)
    best = side_by_side({"numpy": array.sum, "torch": tensor.sum}, repeats=4)
    return {name: array.nbytes / seconds for name, seconds in best.items()}


def matmul_rate(size: int = 2048) -> float:
    """FLOPs a second of one large float32 product on all PyTorch threads."""
    a, b = torch.ones(size, size), torch.ones(size, size)
    return 2 * size**3 / side_by_side({"product": lambda: a @ b}, repeats=4)["product"]


def peak_bytes(of: int = resource.RUSAGE_SELF) -> int:
    """Most memory that this process has held so far, or the largest of those it started."""
    kilobyte = 1 if sys.platform == "darwin" else 1024  # what ru_maxrss counts in
    return resource.getrusage(of).ru_maxrss * kilobyte
