"""Measurements that the chapters quote: the package's stored record of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools import ROOT

STORED = ROOT / "mini_attn/stored.json"


def quote(key: str, record: dict[str, Any], path: Path = STORED) -> None:
    """Put a record under its key; the others stay."""
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(table | {key: record}, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path.relative_to(ROOT)}")
