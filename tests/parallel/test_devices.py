"""``make devices``: the real thing, started by torchrun, at sizes that mean nothing."""

from __future__ import annotations

import re

import pytest

from benchmarks import devices


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_the_table_says_what_was_sent(capfd, ranks):
    assert devices.main(["--ranks", str(ranks), "--tiny"]) == 0
    said = capfd.readouterr().out
    assert said.startswith(f"{ranks} ranks on ")
    d_model = devices.TINY.d_model
    values = 2 * 2 * d_model * (ranks - 1) / ranks  # two all-reduces of a layer
    found = re.findall(r"^(?:prompt of 16|one token) +(\S+) +(\S+)", said, re.MULTILINE)
    assert found == [(f"{values:,.6g}",) * 2] * 2
    assert "the same tokens as one process" in said


def test_other_numbers_of_processes_are_refused(capsys):
    with pytest.raises(SystemExit):
        devices.main(["--ranks", "3"])
    assert "start it with torchrun" in capsys.readouterr().err
