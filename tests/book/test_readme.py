"""What the README shows works, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tools import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom as a reader would, beside a folder with published weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "vocab_size": 32}
    LlamaForCausalLM(
        LlamaConfig(**sizes, num_attention_heads=2, max_position_embeddings=16)
    ).save_pretrained(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert names["model"](names["np"].array([[3, 1]])).shape == (1, 2, 32)


def test_commands_and_files_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)\b", README))
    assert {"book", "test", "test-all", "serve", "lab"} <= named <= targets
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
