"""The machine behind the figures, and how fast it is by itself."""

from __future__ import annotations

import functools
import platform
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
        "device": best_device(),
        "gpu": gpu_name(),
        "versions": {"python": platform.python_version(), **found},
        "date": date.today().isoformat(),
    }


def best_device() -> str:
    """Return the device that PyTorch computes on: ``cuda`` or ``mps`` where it sees one."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def gpu_name() -> str | None:
    """Name of the GPU that PyTorch sees, or None."""
    device = best_device()
    if device == "cpu":
        return None
    return torch.cuda.get_device_name() if device == "cuda" else f"{processor()}'s own ({device})"


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
        for line in info.read_text(encoding="utf-8").splitlines():
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


@dataclass(frozen=True)
class Rate:
    """A best measured rate, and what it was measured with."""

    per_second: float
    threads: int
    array_bytes: int
    by: str


def last_level_cache(root: Path = Path("/sys/devices/system/cpu")) -> int:
    """Bytes of the last caches of all cores together; 64 MiB where the system names none."""
    found: dict[int, dict[str, int]] = {}
    for folder in root.glob("cpu[0-9]*/cache/index*"):
        level, shared, size = (
            (folder / name).read_text(encoding="utf-8").strip()
            for name in ("level", "shared_cpu_list", "size")
        )
        number = int(size.rstrip("KM")) * (2**20 if size.endswith("M") else 2**10)
        found.setdefault(int(level), {})[shared] = number  # cores that share one name it alike
    return sum(found[max(found)].values()) if found else 2**26


def past_cache() -> int:
    """Bytes of which no repetition finds a large part in a cache."""
    return 4 * last_level_cache()


Work = tuple[Callable[[], Any], int, int]  # a run, what it does, and the bytes that it holds


def best_rate(runs: dict[str, Work], threads: int) -> Rate:
    """The run that does most in a second, of runs with their work and the bytes they hold.

    A bound has to hold against each of them.
    """
    best = side_by_side({name: run for name, (run, _, _) in runs.items()}, repeats=4)
    by = max(runs, key=lambda name: runs[name][1] / best[name])
    _, work, array_bytes = runs[by]
    return Rate(work / best[by], threads, array_bytes, by)


def read_rates(array_bytes: int | None = None) -> dict[str, Rate]:
    """Bytes a second that one NumPy thread and all PyTorch threads read, however they do best.

    A sum alone is no ceiling: a product of a matrix and a vector may read faster. (NumPy's
    products are left out, as their library may run them on several threads.) The array is at
    least four times as large as the last cache, so that no repetition reads it from there.
    """
    rows = (array_bytes or max(2**30, past_cache())) // 4 // 1024
    matrix = np.ones((rows, 1024), np.float32)
    tensor, column, row = torch.from_numpy(matrix), torch.ones(1024), torch.ones(rows)
    alone: dict[str, Callable[[], Any]] = {
        "sum": matrix.sum,
        "sum as float64": matrix.view(np.float64).sum,
        "largest": matrix.max,
    }
    together: dict[str, Callable[[], Any]] = {
        "sum": tensor.sum,
        "largest": tensor.amax,
        "matrix times vector": lambda: tensor @ column,
        "vector times matrix": lambda: row @ tensor,
    }
    size = matrix.nbytes
    return {
        name: best_rate({key: (run, size, size) for key, run in runs.items()}, threads)
        for name, runs, threads in (
            ("numpy", alone, 1),
            ("torch", together, torch.get_num_threads()),
        )
    }


# Rows, contracted size, columns: square, and as wide as latents are expanded for 16 and 128 heads.
PRODUCTS = ((2048, 2048, 2048), (4096, 4096, 4096), (4096, 512, 4096), (4096, 512, 32768))


def matmul_rate(shapes: Iterable[tuple[int, int, int]] = PRODUCTS) -> Rate:
    """FLOPs a second of the float32 product that reaches most, on all PyTorch threads."""
    runs = {f"{m} x {k} x {n}": product(m, k, n) for m, k, n in shapes}
    return best_rate(runs, torch.get_num_threads())


def product(m: int, k: int, n: int) -> Work:
    """One float32 product, its FLOPs and the bytes of its three arrays."""
    a, b, out = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    held = a.nbytes + b.nbytes + out.nbytes
    return functools.partial(torch.mm, a, b, out=out), 2 * m * k * n, held


def sweep(array_bytes: int) -> Work:
    """One sum over a float32 array, and the bytes that it reads."""
    tensor = torch.ones(array_bytes // 4)
    return tensor.sum, tensor.nbytes, tensor.nbytes


def peak_bytes(*, started: bool = False) -> int | None:
    """Most memory that this process has held so far, or the largest of those it started.

    None on Windows, which does not tell.
    """
    try:
        import resource
    except ImportError:
        return None
    of = resource.RUSAGE_CHILDREN if started else resource.RUSAGE_SELF
    kilobyte = 1 if sys.platform == "darwin" else 1024  # what ru_maxrss counts in
    return resource.getrusage(of).ru_maxrss * kilobyte
