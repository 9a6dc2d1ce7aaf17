"""The devices of this machine, for the tests that run the same on each, and a process for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
# `make gpu` runs what is marked so.
CUDA = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []
DEVICES = ["cpu", *CUDA]


def python(*arguments, **environment):
    """A process of its own, as Triton looks at its variables once."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def cases_hold(file, device, which="not exhaustive"):
    """Run a file of cases on a device: on a GPU compiled, on a CPU in Triton's interpreter."""
    interpreted = "1" if device == "cpu" else "0"
    command = ("-m", "pytest", "-qx", "--show-capture=no", "-m", which, f"tests/backends/{file}")
    done = python(*command, KERNEL_DEVICE=device, TRITON_INTERPRET=interpreted)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
