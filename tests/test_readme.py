"""What the README shows works, and what it names exists."""

from __future__ import annotations

import re

from tests.site import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_code_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_commands_and_files_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", README))
    assert {"book", "test", "serve", "lab"} <= named <= targets
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
