"""What runs on Apple's GPU, which has no float64: the same numbers, on a stand-in for it."""

from __future__ import annotations

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, DecoderConfig, DynamicNTK, RopeConfig
from mini_attn.variants import REGISTRY
from tests.backends.apple import StandIn
from tests.backends.test_decoder import CONFIGS
from tests.backends.test_variants import SIZES, config_of

SCALED = RopeConfig("half", scaling=DynamicNTK(2.0, original_max_positions=8))
MODELS = {
    **{
        name: DecoderConfig(29, 2, config_of(name, SIZES[1]), 11, max_positions=24)
        for name in REGISTRY
    },
    **{f"decoder {name}": config for name, config in CONFIGS.items()},
    "scaled": DecoderConfig(29, 2, AttentionConfig(8, 4, 6, rope=SCALED), 11, max_positions=24),
}
TOKENS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def found(name: str, device: str) -> list[torch.Tensor]:
    """What a small decoder computes on a device: logits, and continuations of every kind."""
    model, tokens = mt.Decoder(MODELS[name], device=device), TOKENS.to(device)
    with torch.no_grad():
        logits = model(tokens)
    greedy = mt.generate(model, tokens, max_new_tokens=4)
    rows, scores = mt.beam_search(model, tokens, n_beams=2, max_new_tokens=3)
    filtered = mt.filter_logits(logits[:, -1], temperature=0.7, top_k=9)
    chance = torch.Generator().manual_seed(5)
    drawn = mt.sample_token(logits[:, -1], top_p=0.9, generator=chance)
    return [logits, greedy, rows, scores, filtered, drawn]


@pytest.mark.parametrize("name", MODELS)
def test_a_decoder_needs_no_float64_on_its_device(name: str) -> None:
    expected = found(name, "cpu")
    with StandIn():
        results = found(name, "mps")
        devices = [result.device.type for result in results]
        results = [result.cpu() for result in results]
    assert devices == ["mps", "mps", "mps", "cpu", "mps", "mps"]  # scores are float64
    for result, wanted in zip(results, expected, strict=True):
        assert torch.equal(result, wanted)


def test_the_stand_in_refuses_what_the_device_would() -> None:
    with StandIn():
        there = torch.ones(3, device="mps")
        assert (there + 1).device.type == "mps"
        assert there.cpu().double().device.type == "cpu"
        with pytest.raises(TypeError, match="float64"):
            there.double()
        with pytest.raises(TypeError, match="float64"):
            there.to("cpu", torch.float64)
        with pytest.raises(TypeError, match="float64"):
            torch.arange(3, dtype=torch.float64, device="mps")
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(3)


def test_tables_are_made_on_the_cpu() -> None:
    positions = torch.tensor([0, 7, 99_999])
    with StandIn():
        table = mt.sinusoidal_positions(positions.to("mps"), 8)
        assert table.device.type == "mps"
        cos, _ = mt.rope_table(positions.to("mps"), mt.rope_frequencies(8))
        assert cos.device.type == "mps"
        table, cos = table.cpu(), cos.cpu()
    assert torch.equal(table, mt.sinusoidal_positions(positions, 8))
    assert torch.equal(cos, mt.rope_table(positions, mt.rope_frequencies(8))[0])
