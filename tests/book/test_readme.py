"""What the README shows works, what it names exists, and it stays one screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tools import ROOT
from tools.commands import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGE = (ROOT / "book/api-mini-attn.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
# What a code host shows beside the code; all of it is read without the book.
TEXTS = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md",
         "SUPPORT.md", ".github/PULL_REQUEST_TEMPLATE.md", "paper/checklist.md"]  # fmt: skip
HEADING = re.compile(r"^#+ (.*)$", re.M)


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of README and the package's page as a reader would, beside published weights."""
    from tokenizers import Tokenizer, decoders
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "vocab_size": 256}
    LlamaForCausalLM(
        LlamaConfig(**sizes, num_attention_heads=2, max_position_embeddings=64)
    ).save_pretrained(tmp_path / "folder")
    byte_level = Tokenizer(BPE(vocab={c: n for n, c in enumerate(ByteLevel.alphabet())}, merges=[]))
    byte_level.pre_tokenizer, byte_level.decoder = ByteLevel(), decoders.ByteLevel()
    byte_level.save(str(tmp_path / "folder/tokenizer.json"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for text, least in ((README, 1), (PACKAGE, 2)):
        blocks = BLOCK.findall(text)
        assert len(blocks) >= least
        for block in blocks:
            exec(block, names)
    assert names["model"](names["np"].array([[3, 1]])).shape == (1, 2, 256)


def test_it_is_one_screen() -> None:
    """At most 350 words and 60 lines; a paragraph's line holds about 100 characters."""
    prose = re.sub(r"!\[.*?\]\(.*?\)|```python.*?```|\]\(.*?\)", "", README, flags=re.DOTALL)
    assert len(prose.split()) <= 350
    assert sum(1 + len(line) // 100 for line in README.splitlines() if line) <= 60
    picture = re.search(r"!\[(.+?)\]\((.+?)\)", README)
    assert picture is not None
    assert len(picture[1].split()) >= 10
    assert (ROOT / picture[2]).stat().st_size <= 150_000


def test_commands_exist() -> None:
    targets = {"help", *COMMANDS}
    named = set(re.findall(r"\bmake ([a-z-]+)\b", README))
    assert {"book", "test"} <= named <= targets
    assert set(re.findall(r"python -m tools ([a-z-]+)", README)) == {"book", "test"}


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as a code host makes them."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_anchors_are_those_of_a_code_host() -> None:
    assert anchors("# What “assessed” means\n## It's `here`\n") == {"what-assessed-means",
                                                                  "its-here"}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]+))?\)", text):
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), (target, anchor)
