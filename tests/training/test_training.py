"""Training in small: loss falls, and a stop anywhere changes nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.errors import ConfigError
from mini_attn.stories import WORDS, row_probabilities
from mini_attn.stories.fetching import fetched
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.weights import load_safetensors
from tools import ROOT
from training import run
from training.data import Rows
from training.loop import Training, next_word_losses
from training.measure import measured
from training.plan import Plan

TINY = Plan("mha", tokens=24 * 2 * LONGEST, n_layers=1, d_model=16, rows=2, warm=4)


def training(folder: Path, plan: Plan = TINY) -> Training:
    return Training(plan, state=folder / "state.pt", rows=Rows(LONGEST, plan.seed))


def test_the_loss_falls(tmp_path: Path) -> None:
    ours = training(tmp_path, replace(TINY, tokens=150 * 2 * LONGEST))
    assert ours.run()
    first, last = ours.curve[0][1], np.mean([loss for _, loss in ours.curve[-5:]])
    assert first > np.log(len(WORDS)) - 0.2
    assert last < first - 0.2


@pytest.mark.parametrize("stops", [(1,), (7, 8, 20)])
def test_a_stop_changes_nothing(tmp_path: Path, stops: tuple[int, ...]) -> None:
    whole = training(tmp_path / "whole")
    assert whole.run()
    for stop in stops:
        assert not training(tmp_path / "parts").run(until=stop)
    parts = training(tmp_path / "parts")
    assert parts.step == stops[-1]
    assert parts.run()
    assert parts.curve == whole.curve
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, parts.model.state_dict()[name]), name


def test_it_stops_between_two_steps_when_asked(tmp_path: Path) -> None:
    ours, asked = training(tmp_path), iter([False, False, True])
    assert not ours.run(stop=lambda: next(asked))
    assert ours.step == 2
    assert training(tmp_path).step == 2


def test_every_member_and_seed_begins_elsewhere_and_learns_from_other_rows(tmp_path: Path) -> None:
    first, second = (training(tmp_path / str(s), replace(TINY, seed=s)) for s in (0, 1))
    assert not torch.equal(*(t.model.embed_tokens.weight for t in (first, second)))
    assert (first.rows.take(0, 4) != second.rows.take(0, 4)).any()
    for name in MEMBERS:
        ours = training(tmp_path / name, replace(TINY, member=name, tokens=1, d_model=64))
        assert ours.run(), name
        assert all(p.grad is not None and p.grad.isfinite().all() for p in ours.model.parameters())


def test_rows_are_the_same_from_memory_and_from_the_disk(tmp_path: Path) -> None:
    plain = Rows(32, 5).take(500, 40)  # across two blocks
    for _ in range(2):
        assert (Rows(32, 5, tmp_path / "rows").take(500, 40) == plain).all()
    assert len(list((tmp_path / "rows").iterdir())) == 2


def test_a_state_of_another_plan_or_a_broken_one_is_refused(tmp_path: Path) -> None:
    training(tmp_path).run(until=1)
    with pytest.raises(ConfigError, match="another plan"):
        training(tmp_path, replace(TINY, rate=1e-3))
    state = tmp_path / "state.pt"
    for content in (b"", b"nonsense", state.read_bytes()[:2000]):
        state.write_bytes(content)
        with pytest.raises(ConfigError, match="cannot be read"):
            training(tmp_path)


def test_a_plan_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ConfigError, match="unknown member 'gpt'"):
        Plan("gpt")
    with pytest.raises(ConfigError, match="tokens"):
        Plan("mha", tokens=0)
    plan = Plan("mha", tokens=100 * 16 * LONGEST)
    rates = [plan.rate_at(step) for step in range(plan.steps)]
    assert max(rates) == pytest.approx(plan.rate)
    assert rates[0] < rates[5] > rates[-1]
    assert rates[-1] == pytest.approx(plan.rate / 10, rel=0.02)


def test_what_is_measured_is_what_it_is_called(tmp_path: Path) -> None:
    model = training(tmp_path).model
    found = measured(model, rows=16)
    for kind in ("stories", "repeats"):
        loss, true, excess = (found[kind][what]["nats"] for what in ("loss", "true", "excess"))
        assert loss - true == pytest.approx(excess, abs=1e-5)
        assert abs(loss - np.log(len(WORDS))) < 0.6  # nothing is learned yet
        assert 0 < true < loss
    assert found["copying"]["words"] > 1000
    assert found["who_has"]["asked"] > 100
    batch = torch.zeros(1, 5, dtype=torch.long)
    assert next_word_losses(model, batch).shape == (1, 4)


class Knowing(torch.nn.Module):
    """One who knows the language: its logits are the logarithms of the true chances."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Logits (rows, length, vocab)."""
        return torch.from_numpy(row_probabilities(rows.numpy())).log()


def test_who_knows_the_language_recalls_everything_and_loses_nothing() -> None:
    found = measured(Knowing(), rows=16)  # type: ignore[arg-type]
    assert found["who_has"]["right"] == 1
    assert found["who_has"]["asked_64_back_or_more"] > 0
    for kind in ("stories", "repeats"):
        assert found[kind]["excess"]["nats"] == pytest.approx(0, abs=1e-9)


def test_a_shorter_training_replaces_no_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.family, "FOLDER", tmp_path / "weights")
    monkeypatch.setattr(run, "SHIPPED", replace(TINY, tokens=10 * TINY.tokens))
    ours = training(tmp_path, replace(TINY, tokens=1))
    assert ours.run()
    run.finished(ours, rows=8)
    assert not (tmp_path / "weights").exists()


def test_a_member_that_does_not_ship_leaves_the_package_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.family, "FOLDER", tmp_path / "weights")
    tiny = replace(TINY, member="linear", tokens=1)
    monkeypatch.setattr(run, "SHIPPED", replace(tiny, member="mha"))
    ours = training(tmp_path, tiny)
    assert ours.run()
    run.finished(ours, rows=8)
    assert not (tmp_path / "weights").exists()


def test_a_whole_training_leaves_a_record_and_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "RESULTS", ROOT / ".cache/tmp-training" / tmp_path.name)
    monkeypatch.setattr(run, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(run, "WEIGHTS", tmp_path / "exact")
    monkeypatch.setattr(run.family, "FOLDER", tmp_path / "weights")
    monkeypatch.setattr(run, "SHIPPED", TINY)
    stop = run.Stop()
    try:
        assert run.train(TINY, stop, rows=8)
        floor = f"{run.floor_of(LONGEST):.2f}"
        told = re.findall(
            r"step \d+ of 24, \d\.\d{3} nats per word \(floor (.*?)\), \d", capsys.readouterr().out
        )
        assert told == [floor] * 24
        (file,) = run.RESULTS.iterdir()
        record = json.loads(file.read_text(encoding="utf-8"))
        assert record["plan"]["member"] == "mha"
        assert record["tokens"] == TINY.tokens
        assert len(record["curve"]) > 10
        exact, coarse = (
            record[which]["stories"]["loss"]["nats"]
            for which in ("measured", "measured_in_eight_bits")
        )
        assert 0 < abs(exact - coarse) < 0.02
        assert (tmp_path / "weights/mha.safetensors").stat().st_size < 20_000
        assert fetched(tmp_path / "weights", "mha.safetensors").exists()  # its checksum is noted
        kept = mt.Decoder(MEMBERS["mha"].config(len(WORDS), TINY.n_layers, TINY.d_model))
        kept.load_state_dict(load_safetensors(tmp_path / "exact/mha-1x16-s0.safetensors"))
        assert measured(kept.eval(), rows=8) == record["measured"]
        assert run.train(TINY, stop)  # it is there: nothing is trained again
        with pytest.raises(ConfigError, match="another plan"):
            run.train(replace(TINY, tokens=2 * LONGEST), stop)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for left in run.RESULTS.iterdir():
            left.unlink()
        run.RESULTS.rmdir()


def test_the_floor_is_that_of_the_rows_trained_on() -> None:
    """Half of them tell stories; what one who knows the language loses on them is the floor."""
    rows = Rows(LONGEST, 7).take(0, 384)
    chances = row_probabilities(rows)[:, :-1]
    losses = -np.log(np.take_along_axis(chances, rows[:, 1:, None], axis=2)).mean(axis=(1, 2))
    apart = losses.mean() - run.floor_of(LONGEST)
    assert abs(apart) < 3 * losses.std() * (1 / 384 + 1 / 512) ** 0.5


@pytest.mark.exhaustive
def test_ctrl_c_keeps_the_state(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from training import run; "
        "run.CACHE = run.RESULTS = Path(sys.argv.pop(1)); run.main()"
    )
    command = [sys.executable, "-c", script, str(tmp_path), "mha", "--layers", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, "--width", "16"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        # Where a shell starts the tests in its background, children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:
        assert child.stdout is not None
        assert "step" in child.stdout.readline()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[0]
    assert child.returncode == 1
    assert "stopped at step" in said
    assert (tmp_path / "mha-1x16-s0.pt").exists()
    assert not list(tmp_path.glob("*.json"))
