"""Measure every row that this machine can, print the table and keep the raw figures.

Run by ``make bench``. The page's rows need the built book and Chromium, the GPU's rows a
GPU that PyTorch sees; a row whose need is not met is named and left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks import attention, caches, facts, gpu, machine, picture, positions
from benchmarks.quoted import quote
from tools import ROOT

RESULTS = ROOT / "benchmarks/results"

COMMAND = "make bench"
QUOTED = {  # rows that a chapter shows
    "cache against recomputation": "kv-cache/speedup",
    "prompt with a state": "state/prompt",
    "step with a state": "state/step",
}
LIMIT_BYTES = 12e9  # of memory, for all rows together

Row = Callable[[], dict[str, Any]]


def cpu_rows(read: dict[str, float], rate: float) -> dict[str, Row]:
    """The processor's rows under their names; a row is measured when it is called."""
    return {
        "prefill attention": lambda: attention.prefill(rate),
        "grouped decode attention": lambda: attention.grouped_decode(read["torch"]),
        "numpy decode attention": lambda: attention.numpy_decode(read["numpy"]),
        "online attention": attention.online,
        "rotary embedding": lambda: positions.rope(read["torch"]),
        "cache append": caches.cache_append,
        "every cache": caches.every_cache,
        "reading in parts": caches.reading_in_parts,
    }


def decoder_rows(read: dict[str, float], rate: float) -> dict[str, Row]:
    """Rows of latent attention, of states and of whole decoders, beside Hugging Face's."""
    from benchmarks import decode, latent, states

    return {
        "latent decode": lambda: latent.latent_decode(read["torch"], rate),
        "latent decode, 128 heads": lambda: latent.latent_decode(read["torch"], rate, n_heads=128),
        "latent crossover": latent.latent_crossover,
        "prompt with a state": lambda: states.prompt(rate),
        "step with a state": lambda: states.step(read["torch"]),
        "cached decode": lambda: decode.cached("gpt2_124m", read["torch"]),
        "cached decode, small": lambda: decode.cached("4_layers_256", read["torch"]),
        "cache against recomputation": decode.speedup,
        "decode by cached length": lambda: decode.flat(read["torch"]),
    }


def token_rows() -> dict[str, Row]:
    """Rows of tokens, beside tiktoken and tokenizers."""
    from benchmarks import tokens

    return {"encoding": tokens.encoding, "one long word": tokens.long_word}


def page_rows() -> dict[str, Row]:
    """Rows of the built book."""
    from benchmarks import inside, page

    return {
        "page": lambda: page.measure(ROOT / "_build/html"),
        "trained model": lambda: inside.measure(ROOT / "_build/html"),
        "browser notebook": lambda: page.measure_lite(ROOT / "_build/html"),
    }


def fact_rows() -> dict[str, Row]:
    """Return the rows that are counted, not measured."""
    return {
        "imports": facts.imports,
        "modules": facts.modules,
        "files of a variant": facts.variant_files,
    }


def rows(read: dict[str, float], rate: float) -> tuple[dict[str, Row], dict[str, str]]:
    """All rows that can be measured here, and why the others cannot."""
    found, absent = cpu_rows(read, rate), {}
    groups: dict[str, tuple[Callable[[], dict[str, Row]], bool, str]] = {
        "decoders": (
            lambda: decoder_rows(read, rate),
            machine.installed("transformers") is not None,
            "the peer, transformers, is not installed",
        ),
        "tokens": (
            token_rows,
            machine.installed("tiktoken") is not None,
            "the peer, tiktoken, is not installed",
        ),
        "gpu": (gpu.rows, machine.best_device() != "cpu", "PyTorch sees no GPU (cuda or mps)"),
        "book": (
            page_rows,
            (ROOT / "_build/html/book").exists() and machine.installed("playwright") is not None,
            "the book is not built (`make book`)",
        ),
        "facts": (fact_rows, True, ""),
    }
    for name, (make, possible, reason) in groups.items():
        if possible:
            found |= make()
        else:
            absent[name] = reason
    return found, absent


def show(name: str, row: dict[str, Any]) -> None:
    """Print one row, a value a line, with its goal."""
    print(f"\n{name}")
    goals = row.get("goals", {})
    for key, value in flat(row):
        if not key.startswith("goals"):
            text = f"{value:.3g}" if isinstance(value, float) else str(value)
            goal = "  goal {} {}".format(*goals[key]) if key in goals else ""
            print(f"  {key:50} {text}{goal}", flush=True)


def flat(row: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Values with the names of all tables that they lie in."""
    found: list[tuple[str, Any]] = []
    for key, value in row.items():
        name = f"{before} {key}".strip()
        found += flat(value, name) if isinstance(value, dict) else [(name, value)]
    return found


def main() -> None:
    """Measure, print, and write the results, their picture and the record that a page quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="measure the rows whose name holds this text")
    parser.add_argument("--store", action="store_true", help="write the results into the project")
    options = parser.parse_args()
    reads, product = machine.read_rates(), machine.matmul_rate()
    read, rate = {name: found.per_second for name, found in reads.items()}, product.per_second
    head = {**machine.describe(), "command": COMMAND}
    head |= {"read_bytes_per_second": read, "matmul_flops_per_second": rate}
    head["rates"] = {name: asdict(found) for name, found in {**reads, "product": product}.items()}
    chosen, absent = rows(read, rate)
    print(json.dumps(head, indent=1))
    for name, reason in absent.items():
        print(f"left out: rows of the {name}: {reason}")
    only = {name: row for name, row in chosen.items() if (options.only or "") in name}
    results, failed = measured(only)
    peak = machine.peak_bytes()
    head |= {"absent": absent, "failed": failed, "peak_memory_bytes": peak}
    told = "unknown" if peak is None else f"{peak / 1e9:.1f} GB"
    print(f"\npeak memory of all rows: {told} (limit {LIMIT_BYTES / 1e9:.0f} GB)")
    if options.store:
        store(head, results, some=bool(options.only))
    if failed:
        sys.exit(f"bench: {len(failed)} rows failed: {', '.join(failed)}")


def measured(chosen: dict[str, Row]) -> tuple[dict[str, Any], dict[str, str]]:
    """Every row, printed as soon as it is there; one that fails is named, the others go on."""
    results, failed = {}, {}
    for name, measure in chosen.items():
        try:
            results[name] = measure()
        except Exception as error:  # whatever a driver, a kernel or a peer raises
            failed[name] = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        else:
            show(name, results[name])
    return results, failed


def store(head: dict[str, Any], results: dict[str, Any], *, some: bool) -> None:
    """Write the raw results, their picture, and the record that the chapter shows."""
    kind = "gpu" if head["gpu"] else "cpu"
    target = RESULTS / f"{head['date']}-{kind}.json"
    kept = json.loads(target.read_text("utf-8"))["results"] if some and target.exists() else {}
    record = {**head, "results": kept | results}
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    target.with_suffix(".svg").write_text(picture.draw(record), encoding="utf-8")
    print(f"\nwritten: {target.relative_to(ROOT)} and its picture")
    if kind == "cpu":
        for name, key in QUOTED.items():
            if name in results:
                quote(key, {**results[name], **head})


if __name__ == "__main__":
    main()
