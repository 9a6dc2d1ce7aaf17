"""The table of largest differences: every equivalence, per backend and data type.

Run ``python -m benchmarks.equivalences`` to print it as Markdown, with ``--store`` to keep it as
``benchmarks/results/equivalences/DATE.json``. Kernels run on a GPU where there is one, else in
Triton's interpreter.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from datetime import date

from mini_attn.equivalences import DTYPES, EQUIVALENCES, largest_error
from tools import ROOT

KERNEL_DTYPES = ("float32", "bfloat16", "float16")
KERNELS = {
    "tiled, any block = plain": "one",
    "parts merged = whole": "merged",
    "MLA absorbed = expanded": "latent",
}


def kernel_error(which: str, dtype: str, device: str) -> float:
    """Largest difference of a kernel from the same in float64, rounded to the type at the end."""
    import torch

    import mini_attn.torch as mt
    from mini_attn.torch.kernels import _triton, _triton_latent

    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(device, getattr(torch, dtype))

    if which == "latent":  # every head reads the latent as its key and as its value
        q, q_rope, latent, rope_key = (
            draw(*shape) for shape in ((2, 4, 1, 32), (2, 4, 1, 16), (2, 90, 32), (2, 90, 16))
        )
        found = _triton_latent.attend(q, q_rope, latent, rope_key, 48**-0.5, programs=64, least=1)
        queries = torch.cat([q, q_rope], dim=-1).double()
        keys = torch.cat([latent, rope_key], dim=-1)[:, None].double()
        plain = mt.scaled_dot_product_attention(queries, keys, latent[:, None].double())
    else:
        q, k, v = draw(2, 4, 45, 32), draw(2, 2, 45, 32), draw(2, 2, 45, 32)
        found, _ = _triton.attend(
            q, k, v, None, causal=True, window=None, scale=32**-0.5, softcap=None,
            spans=3 if which == "merged" else 1,
        )  # fmt: skip
        plain = mt.scaled_dot_product_attention(*(a.double() for a in (q, k, v)), causal=True)
    return float((found.double() - plain.to(found.dtype).double()).abs().max())


def kernel_errors() -> dict[str, dict[str, float]]:
    """All kernels and types, in a process whose Triton runs where it can run here."""
    from benchmarks.machine import best_device

    device = "cuda" if best_device() == "cuda" else "cpu"  # Triton has no build for another
    environment = os.environ | ({} if device == "cuda" else {"TRITON_INTERPRET": "1"})
    command = [sys.executable, "-m", "benchmarks.equivalences", "--kernels", device]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    errors: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return errors


def table() -> dict[str, dict[str, float | None]]:
    """Rows by equivalence, columns by backend and type; None where there is no such cell."""
    rows: dict[str, dict[str, float | None]] = {}
    kernels = kernel_errors()
    for name in EQUIVALENCES:
        row: dict[str, float | None] = {}
        for backend, dtypes in DTYPES.items():
            module = importlib.import_module(f"mini_attn.{backend}")
            row |= {f"{backend} {dtype}": largest_error(name, module, dtype) for dtype in dtypes}
        found = kernels.get(name, {})
        row |= {f"kernel {dtype}": found.get(dtype) for dtype in KERNEL_DTYPES}
        rows[name] = row
    return rows


def markdown(rows: dict[str, dict[str, float | None]]) -> str:
    """The table for a reader; a dash where a cell does not exist."""
    columns = list(next(iter(rows.values())))
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name, row in rows.items():
        cells = ("–" if value is None else f"{value:.1e}" for value in row.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, or store it."""
    if "--kernels" in sys.argv:
        device = sys.argv[sys.argv.index("--kernels") + 1]
        found = {
            name: {dtype: kernel_error(which, dtype, device) for dtype in KERNEL_DTYPES}
            for name, which in KERNELS.items()
        }
        print(json.dumps(found))
        return
    rows = table()
    print(markdown(rows))
    if "--store" in sys.argv:
        from benchmarks.machine import describe

        record = {
            "date": date.today().isoformat(),
            "command": "make table STORE=1",
            "machine": describe(),
            "largest difference, outputs being of size 1": rows,
        }
        path = ROOT / f"benchmarks/results/equivalences/{date.today().isoformat()}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
