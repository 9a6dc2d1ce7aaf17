"""Test and measure on this machine's NVIDIA GPU, in at most nine minutes. ``make gpu``.

First the tests that are marked ``gpu``, then, where there are several GPUs, ``make devices``, then
every row of ``gpu.py``, in a process of its own, as a fault of a kernel takes its process with it.
Each has a share of the time that is left. The result is written after every row, so that an end at
any moment keeps what there is; another run on the same day and machine replaces row by row.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks import gpu, machine, picture
from benchmarks.run import RESULTS, show
from tools import ROOT

DRY = ROOT / "_build/gpu"  # what is kept of a dry run, which measures nothing
SECONDS = 520.0  # of the nine minutes; the rest is to start and to end
TESTS_SHARE = 0.4
DEVICES_SECONDS = 60.0  # for what takes more than one GPU
# Compiled, and on the device where there is one.
TESTS = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/backends"]
LINE = "row: "


def measure(names: list[str], *, dry: bool) -> None:
    """In the process of the rows: one line each, until one fails."""
    found = gpu.dry_rows() if dry else gpu.rows()
    for name in names:
        print(LINE + json.dumps({"name": name, "row": found[name]()}), flush=True)


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends here, with all that it has started."""
    process = subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, encoding="utf-8", **options
    )
    try:
        yield process
    finally:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


def run_tests(command: list[str], seconds: float) -> dict[str, Any]:
    """Outcome of the tests within their time."""
    start = time.monotonic()
    with started(command) as process:
        try:
            status = process.wait(timeout=seconds)
            outcome = "passed" if status == 0 else f"failed, with exit status {status}"
        except subprocess.TimeoutExpired:
            outcome = f"stopped after their share of {seconds:.0f} s"
    shown = " ".join(["pytest", *command[3:]])
    return {"command": shown, "outcome": outcome, "seconds": round(time.monotonic() - start)}


def several(seconds: float) -> str:
    """Run ``make devices`` by NCCL, if there are GPUs for it; the outcome, or why there's none."""
    gpus = torch.cuda.device_count()
    if gpus < 2:
        return f"not measured: it takes 2 GPUs, and here {'is 1' if gpus else 'is none'}"
    command = [sys.executable, "-m", "benchmarks.devices", f"--ranks={4 if gpus >= 4 else 2}"]
    return str(run_tests(command, seconds)["outcome"])


def follow(process: subprocess.Popen[str]) -> queue.Queue[str | None]:
    """The rows of a process as they come, and None when there are no more."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout
        with process.stdout as stdout:
            for line in stdout:
                if line.startswith(LINE):
                    lines.put(line.removeprefix(LINE))
                else:
                    print(line, end="", flush=True)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def measured(
    names: list[str], command: list[str], seconds: float
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Each row, or why it is missing, as soon as that is known."""
    end, left = time.monotonic() + seconds, list(names)
    while left:
        with started([*command, *left], stdout=subprocess.PIPE) as process:
            lines = follow(process)
            while left:
                share = max(0.0, end - time.monotonic()) / len(left)
                try:
                    line = lines.get(timeout=share)
                except queue.Empty:
                    yield left.pop(0), f"stopped after its share of {share:.0f} s"
                    break  # what hangs is ended; the next rows get a process of their own
                if line is None:
                    yield left.pop(0), "it failed; its traceback stands above"
                    break
                found = json.loads(line)
                yield left.pop(0), found["row"]


def driver() -> str | None:
    """Version of the GPU's driver, as its own tool tells it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def head(*, dry: bool) -> dict[str, Any]:
    """Hardware, driver, versions, date and command."""
    command = "python -m benchmarks.on_gpu --dry" if dry else "make gpu"
    facts = {**machine.describe(), "command": command, "driver": driver()}
    return facts | {"cuda": torch.version.cuda}


def earlier(record: dict[str, Any], target: Path) -> dict[str, Any]:
    """The rows of a run before, if it was on the same day with the same of everything."""
    if target.exists():
        kept: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        if all(kept.get(key) == record[key] for key in record):
            return dict(kept["results"])
    return {}


def keep(record: dict[str, Any], target: Path) -> None:
    """Write a record and its picture; each file is the old one or the new one, never half."""
    record["peak_memory_bytes"] = machine.peak_bytes(started=True)
    texts = {".json": json.dumps(record, indent=1) + "\n", ".svg": picture.draw(record)}
    target.parent.mkdir(parents=True, exist_ok=True)
    for suffix, text in texts.items():
        unfinished = target.with_suffix(f"{suffix}.part")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target.with_suffix(suffix))


def session(record: dict[str, Any], target: Path, *, dry: bool, seconds: float) -> None:
    """Test and measure, keeping the record after every step."""
    end = time.monotonic() + seconds
    names = list(gpu.dry_rows())
    results = earlier(record, target)
    missing = {name: "not reached" for name in names if name not in results}
    record |= {"tests": {"outcome": "not run"}, "devices": "not run"}
    record |= {"missing": missing, "results": results}
    record["tests"] = run_tests([*TESTS, *["--collect-only"] * dry], TESTS_SHARE * seconds)
    print(f"[gpu] tests: {record['tests']['outcome']}", flush=True)
    record["devices"] = several(DEVICES_SECONDS)
    print(f"[gpu] several devices: {record['devices']}", flush=True)
    keep(record, target)
    command = [sys.executable, "-m", "benchmarks.on_gpu", *["--dry"] * dry, "--rows"]
    for name, row in measured(names, command, end - time.monotonic()):
        if isinstance(row, str):
            results.pop(name, None)
            missing[name] = row
            print(f"[gpu] {name}: {row}", flush=True)
        else:
            missing.pop(name, None)
            results[name] = row
            show(name, row)
        keep(record, target)


def stop(*_: object) -> None:
    """Being asked to end is the same as Ctrl-C."""
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="on_gpu", description=__doc__)
    parser.add_argument("--dry", action="store_true", help="tiny sizes on a CPU; collect the tests")
    parser.add_argument("--out", type=Path, help="folder of the result")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for everything together")
    parser.add_argument("--rows", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.dry and not torch.cuda.is_available():
        found = f"PyTorch {torch.__version__}, built for CUDA {torch.version.cuda}, sees none"
        print(f"[gpu] no NVIDIA GPU: {found}; nothing was run or written", file=sys.stderr)
        return 2
    if options.rows:
        measure(options.rows, dry=options.dry)
        return 0
    record = head(dry=options.dry)
    out = options.out or (DRY if options.dry else RESULTS)
    target = out / f"{record['date']}-gpu.json"
    before = signal.signal(signal.SIGTERM, stop)
    try:
        session(record, target, dry=options.dry, seconds=options.seconds)
    except KeyboardInterrupt:
        print("[gpu] interrupted", file=sys.stderr)
    finally:
        signal.signal(signal.SIGTERM, before)
    kept = f"{target} with {len(record['results'])} rows" if target.exists() else "nothing"
    print(f"[gpu] kept: {kept}; missing: {', '.join(record['missing']) or 'none'}")
    devices = record["devices"] == "passed" or record["devices"].startswith("not measured")
    passed = record["tests"]["outcome"] == "passed" and devices
    return 0 if passed and not record["missing"] else 1


if __name__ == "__main__":
    sys.exit(main())
