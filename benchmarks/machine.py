"""What the figures were measured on, and how fast that machine is by itself."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch


def describe() -> dict[str, Any]:
    """Hardware, versions and date, for the head of a result file."""
    names = ("numpy", "torch", "transformers", "playwright")
    return {
        "machine": f"{processor()}, {torch.get_num_threads()} threads, {platform.system()}",
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "versions": {"python": platform.python_version(), **{n: version(n) for n in names}},
        "date": date.today().isoformat(),
    }


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


def read_bandwidth() -> dict[str, float]:
    """Bytes a second that one NumPy thread and all PyTorch threads read, summing 1 GB."""
    array = np.ones(2**27, dtype=np.float64)
    tensor = torch.from_numpy(array)
    best = side_by_side({"numpy": array.sum, "torch": tensor.sum}, repeats=4)
    return {name: array.nbytes / seconds for name, seconds in best.items()}
