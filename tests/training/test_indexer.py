"""An indexer's loss: whom it reaches, where it is zero, and that steps reduce it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.stories import WORDS, sample_rows
from mini_attn.stories.members import LONGEST, MEMBERS
from training.data import Rows
from training.indexer import DENSE, Indexers, divergence, weights_and_scores
from training.loop import Training, next_word_losses
from training.plan import Plan

ROWS = torch.from_numpy(sample_rows(4, 80, seed=2))


def decoder(seed: int = 1, **sizes: Any) -> mt.Decoder:
    config = MEMBERS["csa"].config(len(WORDS))
    attention = replace(config.attentions[0], **sizes)
    return mt.Decoder(replace(config, attention=attention), seed=seed)


def first_layer(**sizes: Any) -> Any:
    return decoder(**sizes).layers[0].self_attn


def tokens(width: int, seq: int = 40) -> torch.Tensor:
    return torch.randn(2, seq, width, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("sizes", [{}, {"q_lora_rank": 8, "sinks": True}], ids=["direct", "latent"])
def test_the_loss_reaches_the_indexers_and_nothing_else(sizes: dict[str, Any]) -> None:
    model = decoder(**sizes)
    indexers = Indexers(model)
    words: Any = next_word_losses(model, ROWS).mean()
    loss: Any = indexers.loss()
    assert loss > 0
    loss.backward()
    for name, weight in model.named_parameters():
        reached = weight.grad is not None and bool(weight.grad.abs().max() > 0)
        assert reached == (".indexer." in name), name
    for weight in model.parameters():
        weight.grad = None
    words.backward()  # and words reach all the others
    for name, weight in model.named_parameters():
        assert (weight.grad is None) == (".indexer." in name), name


def test_scores_equal_to_the_logarithms_of_the_weights_lose_nothing() -> None:
    layer = first_layer()
    weights, scores = weights_and_scores(layer, tokens(64))
    assert divergence(weights, scores) > 0.01
    same = weights.log().masked_fill(scores.isinf(), -torch.inf)
    assert divergence(weights, same + 5.0).abs() < 1e-6
    even = torch.zeros(1, 1, 4)
    lone = torch.tensor([[[1.0, 0.0, 0.0, 0.0]]])
    assert float(divergence(lone, even)) == pytest.approx(torch.tensor(4.0).log().item())


def test_weights_and_scores_are_those_of_the_layer() -> None:
    """With a choice of one entry, the layer reads the one that scores highest."""
    layer = first_layer(index_topk=1, window=1)
    x = tokens(64)
    weights, scores = weights_and_scores(layer, x)
    some = scores.isfinite().any(dim=-1)
    assert some.sum(dim=1).tolist() == [37, 37]  # not the three before the first entry
    torch.testing.assert_close(weights.sum(dim=-1), some.float())
    assert ((weights > 0) == scores.isfinite()).all()
    x.requires_grad_()
    for row, entry in enumerate(scores[:, -1].argmax(dim=-1).tolist()):
        (grad,) = torch.autograd.grad(layer(x)[row, -1].square().sum(), x)
        read = grad[row].abs().amax(dim=-1).nonzero()[:, 0].tolist()
        assert read == sorted({*range(max(4 * entry - 4, 0), 4 * entry + 4), 39})  # two spans


def test_steps_on_the_loss_reduce_it() -> None:
    model = decoder()
    indexers = Indexers(model)
    (_, own) = indexers.parts(model)
    optimiser, seen = torch.optim.AdamW(own, lr=4e-3), []
    for _ in range(40):
        with torch.no_grad():
            model(ROWS)
        loss: Any = indexers.loss()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen.append(float(loss.detach()))
    assert seen[-1] < 0.7 * seen[0]


def test_every_entry_is_read_at_first_and_then_the_chosen_ones() -> None:
    model = decoder()
    indexers, whole = Indexers(model), decoder(index_topk=100)
    for done, same in ((0.0, True), (DENSE - 0.01, True), (DENSE, False), (0.99, False)):
        indexers.choose(done)
        assert torch.equal(model(ROWS), whole(ROWS)) is same
    assert torch.equal(model(ROWS), decoder()(ROWS))


def test_a_decoder_without_indexers_has_no_such_loss() -> None:
    model = mt.Decoder(MEMBERS["compressed"].config(len(WORDS)))
    indexers = Indexers(model)
    assert indexers.loss() == 0
    whole, own = indexers.parts(model)
    assert len(whole) == len(list(model.parameters()))
    assert own == []


def test_a_stop_changes_nothing_for_it(tmp_path: Path) -> None:
    plan = Plan("csa", tokens=8 * 2 * LONGEST, n_layers=1, d_model=16, rows=2, warm=4)
    runs = [
        Training(plan, state=tmp_path / name, rows=Rows(LONGEST, 0)) for name in ("one", "other")
    ]
    assert runs[0].run()
    assert not runs[1].run(until=7)  # the choice is on since step 6
    again = Training(plan, state=tmp_path / "other", rows=Rows(LONGEST, 0))
    assert again.run()
    for name, weight in runs[0].model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name]), name
