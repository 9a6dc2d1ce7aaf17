"""A variant is added from outside: two modules and one entry, and the whole suite runs on it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mini_attn.variants import REGISTRY
from tests.backends import test_variants

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def suite(folder, words, own):
    """Run the conformance suite where the toy is registered: exit status and output."""
    command = [sys.executable, "-m", "pytest", "-v", "-x", "-k", words]
    # Nothing is shared with the run around it: no workers, no cache, no folder that it cleans up.
    command += [
        "-p",
        "no:xdist",
        "-o",
        f"cache_dir={own / 'cache'}",
        "--basetemp",
        str(own / "tmp"),
    ]
    command += ["-m", "not soak"]  # each case, not a sample
    command += ["-p", "tests.toy.entry", "tests/backends/test_variants.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_toy_gets_the_whole_suite(tmp_path):
    status, output = suite(ROOT, "gated", tmp_path)
    assert status == 0, output[-2000:]
    ran = set(re.findall(r"::(test_\w+)\[.*PASSED", output))
    every = {name for name in vars(test_variants) if name.startswith("test_")}
    assert every - ran == {"test_reductions"}  # its entry names none
    assert output.count("PASSED") > 100


def test_the_toy_is_in_nobody_elses_registry():
    assert "gated" not in REGISTRY


@pytest.mark.parametrize(
    "fault",
    [
        ("self.gate_proj(x)", "self.gate_proj(x[:, ::-1])"),  # a gate from the future
        pytest.param(  # backends that differ
            ("np.exp(-self", "np.exp(self"), marks=pytest.mark.exhaustive
        ),
    ],
)
def test_the_suite_finds_faults_in_the_toy(fault, tmp_path):
    """In a copy, a broken toy does not pass."""
    for name in ("mini_attn", "tests", "tools", "pyproject.toml"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    module = tmp_path / "tests/toy/gated_numpy.py"
    text = module.read_text()
    assert text.count(fault[0]) == 1
    module.write_text(text.replace(*fault))
    status, output = suite(tmp_path, "gated and (future or backends_agree)", tmp_path)
    assert status == 1, output[-2000:]
    assert "FAILED" in output
