"""Measure every row that exists, print the table and keep the raw figures.

Run by ``make bench``. The page's rows need the built book and Chromium.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attention
import decode
import machine
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the browser's helpers lie beside the tests

import page  # noqa: E402

COMMAND = "make bench"


def rows(bandwidth: dict[str, float]) -> dict[str, Callable[[], dict[str, Any]]]:
    """Every row under its name; a row is measured when it is called."""
    return {
        "cached decode": lambda: decode.cached("gpt2_124m", bandwidth["torch"]),
        "cached decode, small": lambda: decode.cached("4_layers_256", bandwidth["torch"]),
        "cache against recomputation": decode.speedup,
        "cache append": attention.cache_append,
        "grouped decode attention": attention.grouped_decode,
        "prefill attention": attention.prefill,
        "numpy decode attention": lambda: attention.numpy_decode(bandwidth["numpy"]),
        "page": lambda: page.measure(ROOT / "_build/html"),
        "browser notebook": lambda: page.measure_lite(ROOT / "_build/html"),
    }


def show(name: str, row: dict[str, Any]) -> None:
    """Print one row, a value a line."""
    print(f"\n{name}")
    for key, value in row.items():
        text = f"{value:.3g}" if isinstance(value, float) else str(value)
        print(f"  {key:40} {text}", flush=True)


def main() -> None:
    """Measure, print, and write one JSON file of results and the record that the page quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="measure the rows whose name holds this text")
    parser.add_argument("--store", action="store_true", help="write the results into the project")
    options = parser.parse_args()
    if not (ROOT / "_build/html/book").exists():
        sys.exit("bench: the page's rows need the built book: run `make book` first")
    head = {**machine.describe(), "command": COMMAND}
    bandwidth = machine.read_bandwidth()
    head["read_bytes_per_second"] = bandwidth
    print(json.dumps(head, indent=1))
    results = {}
    for name, measure in rows(bandwidth).items():
        if options.only and options.only not in name:
            continue
        results[name] = measure()
        show(name, results[name])
    if options.store:
        store(head, results)


def store(head: dict[str, Any], results: dict[str, Any]) -> None:
    """Write the raw results, and the record that the chapter shows where PyTorch is missing."""
    kind = "gpu" if torch.cuda.is_available() else "cpu"
    target = ROOT / f"benchmarks/results/{head['date']}-{kind}.json"
    target.write_text(json.dumps({**head, "results": results}, indent=1) + "\n")
    print(f"\nwritten: {target.relative_to(ROOT)}")
    if "cache against recomputation" in results:
        record = {**results["cache against recomputation"], **head}
        path = ROOT / "mini_attn/stored.json"
        path.write_text(json.dumps({"kv-cache/speedup": record}, indent=1) + "\n")
        print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
