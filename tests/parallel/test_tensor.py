"""Tensor parallel in real processes: equal to one process, and whole again after any fault."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, CompressedConfig, DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError, RankError, ShapeError
from mini_attn.torch.parallel._shares import part
from mini_attn.torch.parallel._talk import digest
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import parallelize
from mini_attn.weights import config_from_hf, save_safetensors
from tests.parallel import tensor_cases as cases
from tests.parallel.families import FAMILIES, FOUR_ALONE, OTHERS
from tests.parallel.ranks_pool import RanksPool

CLOSE: Any = {"rtol": 1e-10, "atol": 1e-10}
SAMPLE = {
    2: {*OTHERS, "blocks", "gpt-oss-20b", "gemma-4-e2b"} - {"sinusoidal"},
    4: {"one norm over copied heads", "latents", "experts by sigmoid"},
}
PLAIN = OTHERS["layers that read others"]


def every(sample: set[Any], cases: Any) -> list[Any]:
    """Cases, of which those that aren't in the sample run in make test-all."""
    return [
        case if case in sample else pytest.param(*case, marks=pytest.mark.exhaustive)
        for case in cases
    ]


# ---- Equal to one process ----


ONE_OF_EACH = every(
    {(size, name) for size in SAMPLE for name in SAMPLE[size]},
    [(size, name) for size in FAMILIES for name in FAMILIES[size]],
)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "name"), ONE_OF_EACH)
def test_ranks_compute_what_one_process_computes(pools, size, name):
    config = FAMILIES[size][name]
    one = cases.answers(cases.whole_model(config))
    assert abs(one["logits"]).max() > 1, "too small to tell a fault from rounding"
    for rank, found in enumerate(pools[size](cases.split_answers, config)):
        for what in ("logits", "chunks", "prefill", "step"):
            np.testing.assert_allclose(found[what], one[what], **CLOSE)
        for what in ("logits", "prefill", "step"):
            np.testing.assert_allclose(found[f"by tokens: {what}"], one[what], **CLOSE)
        for what in ("greedy", "padded"):
            np.testing.assert_array_equal(found[what], one[what])
        assert found["gradients"].keys() == one["gradients"].keys()
        for weight, gradient in found["gradients"].items():
            whole = one["gradients"][weight]
            expected = part(weight, whole, gradient.shape, rank, size)
            bound = 1e-10 * max(1, abs(whole).max())
            np.testing.assert_allclose(gradient, expected, rtol=0, atol=bound, err_msg=weight)
        assert found["cache bytes"] == [
            expected_bytes(config.attentions[i], whole_bytes, size)
            for i, whole_bytes in zip(config.keeping_layers, one["cache bytes"], strict=True)
        ]


def expected_bytes(attention: Any, whole: int, size: int) -> int:
    """What a rank's cache should take, from that of one process."""
    if isinstance(attention, LatentConfig | CompressedConfig):
        return whole  # one latent or key for all heads
    split, copied = whole, 0
    if hasattr(attention, "index_head_dim"):  # the indexer's keys are for all heads too
        width = attention.n_kv_heads * (attention.head_dim + attention.v_head_dim)
        copied = whole * attention.index_head_dim // (width + attention.index_head_dim)
        split -= copied
    return copied + split * max(attention.n_kv_heads // size, 1) // attention.n_kv_heads


def test_weights_of_a_rank_are_its_share_and_no_more(pools):
    config = OTHERS["experts by sigmoid"]
    whole = cases.whole_model(config).state_dict()
    seen = {name: np.zeros(tuple(weight.shape), int) for name, weight in whole.items()}
    for rank in range(4):
        ranks = Ranks(None, rank, 4, torch.device("cpu"))
        share = mt_share(config, ranks)
        for name, weight in share.state_dict().items():
            part(name, seen[name], tuple(weight.shape), rank, 4)[...] += 1
    held = {name.split(".", 2)[-1]: set(np.unique(count)) for name, count in seen.items()}
    assert held["self_attn.q_proj.weight"] == held["mlp.gate_proj"] == {1}
    assert held["self_attn.k_proj.weight"] == {2}  # two heads on four ranks
    assert held["weight"] == held["mlp.router.weight"] == {4}
    assert set(np.unique(seen["embed_tokens.weight"])) == {1}


def mt_share(config: DecoderConfig, ranks: Ranks) -> Any:
    from mini_attn.torch.parallel.tensor import ShareDecoder

    return ShareDecoder(config, ranks, dtype="float64")


@pytest.mark.parametrize("tokens", [1, 7])
def test_what_a_step_sends_is_the_formula(pools, tokens):
    config = OTHERS["distance and first tokens"]
    for size in (2, 4):
        for rank, sent in enumerate(pools[size](cases.sent_by_a_step, config, tokens)):
            halves = 1 + 2 * config.n_layers
            ring = 2 * (size - 1) / size
            assert sent.calls == {"agree": 1, "all_reduce": halves, "all_gather": 1}, rank
            assert sent.values["all_reduce"] == halves * ring * config.d_model * tokens
            rows = -(-config.vocab_size // size)
            assert sent.values["all_gather"] == rows * (size - 1)
            assert sent.bytes["all_gather"] == 8 * rows * (size - 1)
            assert sent.bytes["agree"] == 96 * (size - 1)


def test_a_prompt_split_by_tokens_sends_the_formula(pools):
    config, tokens = OTHERS["distance and first tokens"], 7
    for size in (2, 4):
        row = config.d_model * -(-tokens // size) * (size - 1)  # with the last rank's padding
        halves = 2 * config.n_layers
        for sent in pools[size](cases.sent_by_a_step, config, tokens, True):
            assert sent.calls["all_reduce"] == 1  # the embedding
            assert sent.values["all_to_all"] == halves * row
            logits = -(-config.vocab_size // size) * (size - 1)
            assert sent.values["all_gather"] == (halves + 1) * row + logits


# ---- The collectives themselves ----


@pytest.mark.parametrize("size", [2, 4])
def test_each_collective_and_its_gradient(pools, size):
    given = [np.arange(2.0 * size).reshape(size, 2) + 10 * rank for rank in range(size)]
    scales = range(1, size + 1)
    counted = np.arange(2.0 * size).reshape(size, 2)
    wide = np.arange(2.0 * size * size).reshape(size, 2 * size)
    row = np.arange(2.0 * size).reshape(1, 2 * size)
    for rank, found in enumerate(pools[size](cases.collectives)):
        value, gradient = found["all_reduce"]
        np.testing.assert_array_equal(value, sum(given))
        np.testing.assert_array_equal(gradient, counted * (rank + 1))
        value, gradient = found["copy"]
        np.testing.assert_array_equal(value, given[rank])
        np.testing.assert_array_equal(gradient, counted * sum(scales))
        own = wide[:, 2 * rank : 2 * rank + 2]
        for name, factor in (("all_gather", rank + 1), ("all_gather, added", sum(scales))):
            value, gradient = found[name]
            np.testing.assert_array_equal(value, np.concatenate(given, axis=1))
            np.testing.assert_array_equal(gradient, own * factor)
        value, gradient = found["all_to_all"]
        np.testing.assert_array_equal(value[0], np.concatenate([g[rank] for g in given]))
        back = [row[0, 2 * rank : 2 * rank + 2] * scale for scale in scales]
        np.testing.assert_array_equal(gradient, back)
        np.testing.assert_array_equal(found["broadcast"], counted + size)
        np.testing.assert_array_equal(found["exchange"], (counted + 1)[: (rank - 1) % size + 1])
        np.testing.assert_array_equal(found["alone"], counted + 1)
        n, sent = 2 * size, found["sent"]
        # The gradient of a gathered tensor is as large as the whole.
        assert sent.values["all_reduce"] == 2 * (2 * n + n * size) * (size - 1) / size
        assert sent.values["all_gather"] == 2 * n * (size - 1)
        assert sent.values["all_to_all"] == 2 * n * (size - 1) / size
        assert sent.values["broadcast"] == (0 if rank == size - 2 else n)
        assert sent.values["exchange"] == 2 * (rank + 1)
        assert found["steps"] == sum(sent.calls.values())


def test_a_digest_tells_types_shapes_and_numbers_apart():
    x = torch.arange(6.0)
    others = [x.double(), x.reshape(2, 3), x + 1, x[:0], torch.tensor(0.0), "x", None, (1, 2)]
    assert len({digest(value) for value in [x, *others]}) == 1 + len(others)
    assert digest(x.reshape(2, 3).T) == digest(x.reshape(2, 3).T.contiguous())


# ---- From files ----


@pytest.mark.slow
def test_a_rank_reads_its_share_and_keeps_no_more(pools, tmp_path):
    described = {
        "model_type": "llama", "vocab_size": 8192, "hidden_size": 512, "intermediate_size": 4096,
        "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "hidden_act": "silu",
    }  # fmt: skip
    model = mt.Decoder(config_from_hf(described))
    (tmp_path / "config.json").write_text(json.dumps(described), encoding="utf-8")
    state = {
        name if name.startswith("lm_head") else f"model.{name}": weight
        for name, weight in model.state_dict().items()
    }
    save_safetensors(tmp_path / "model.safetensors", state)
    with torch.no_grad():
        expected = model(torch.tensor([[3, 1, 4]])).numpy()
    whole = sum(weight.nbytes for weight in state.values())
    pools[4](cases.collectives)  # what a process needs besides is there
    for found in pools[4](cases.read, str(tmp_path)):
        np.testing.assert_allclose(found["logits"], expected, atol=1e-5)
        assert found["held"] < 0.251 * whole
        assert found["grown"] < 1.3 * found["held"]


# ---- Refused before anything is sent ----


def refused(config: DecoderConfig, size: int, model: Any = None) -> str:
    """What `parallelize` says, with ranks that can't send at all."""
    ranks = Ranks(None, 0, size, torch.device("cpu"))
    with pytest.raises(ConfigError) as said:
        parallelize(mt.Decoder(config) if model is None else model, ranks)
    assert ranks._log.step == 0
    return str(said.value)


HEADS: Any = {"d_model": 12, "n_heads": 6, "head_dim": 4}


@pytest.mark.parametrize(
    ("change", "size", "words"),
    [
        ({}, 4, "layer 0: n_heads = 6 can't be split evenly over 4 ranks"),
        ({"d_ff": (8, 7)}, 2, "layer 1: d_ff = 7 can't be split"),
        ({"vocab_size": 2}, 3, "vocab_size = 2 leaves some of 3 ranks"),
        ({"attention": AttentionConfig(**HEADS, n_kv_heads=3)}, 2, "layer 0: 3 key/value heads"),
    ],
)
def test_sizes_that_cannot_be_split_are_refused(change, size, words):
    config = DecoderConfig(
        **{
            "vocab_size": 16, "n_layers": 2, "attention": AttentionConfig(**HEADS), "d_ff": 12,
            "max_positions": 8, **change,
        }
    )  # fmt: skip
    assert words in refused(config, size)


def test_what_is_no_plain_decoder_is_refused_by_name():
    blocks = replace(FOUR_ALONE["blocks"].attentions[0], n_kv_heads=2)
    config = replace(FOUR_ALONE["blocks"], attention=(blocks,))
    assert "choose blocks together" in refused(config, 4)
    experts = OTHERS["experts by sigmoid"]
    few = tuple(e and replace(e, n_experts=3) for e in experts.experts)
    assert "layer 1: n_experts = 3" in refused(replace(experts, experts=few), 2)
    grouped = OTHERS["compressed spans"]
    groups = tuple(a if a.o_groups is None else replace(a, o_groups=1) for a in grouped.attentions)
    assert "layer 1: o_groups = 1" in refused(replace(grouped, attention=groups), 2)
    model = mt.Decoder(PLAIN)
    assert "must be a Decoder, got Linear" in refused(PLAIN, 2, torch.nn.Linear(1, 1))
    assert "quantized weights" in refused(PLAIN, 2, mt.quantize_weights(model, "int8"))

    class Own(mt.GroupedQueryAttention):
        pass

    model.layers[1].self_attn = Own(PLAIN.attentions[1])
    assert "layer 1 is a Own" in refused(PLAIN, 2, model)


def test_collectives_refuse_what_they_cannot_send():
    ranks, x = Ranks(None, 0, 3, torch.device("cpu")), torch.zeros(4, 2)
    with pytest.raises(ShapeError, match="4 entries, which 3 ranks"):
        ranks.all_to_all(x, 0, 1)
    with pytest.raises(ShapeError, match="no axis 2"):
        ranks.all_gather(x, 2)
    with pytest.raises(ConfigError, match=r"0 … 2, got 3"):
        ranks.exchange(x, send_to=3, receive_from=0)
    with pytest.raises(ConfigError, match="torchrun"):
        Ranks.start()
    assert not ranks.sent.calls


def test_a_compiled_step_says_that_it_knows_one_device():
    share = mt_share(PLAIN, Ranks(None, 0, 2, torch.device("cpu")))
    with pytest.raises(ConfigError, match="use decode_step"):
        share.layers[0].self_attn._static_step()


# ---- Faults ----

FAULTY = OTHERS["latents"]  # a latent layer and one with heads
COLLECTIVES = {0: "agree", 1: "all_reduce", 3: "all_reduce", 4: "all_reduce", 6: "all_gather"}
FAULTS = every(
    {
        (2, "kill", 4), (2, "raise", 0), (2, "interrupt", 6), (2, "hang", 3), (4, "kill", 6),
        (4, "raise", 1),
    },
    [
        (size, kind, at)
        for size in (2, 4)
        for kind in ("kill", "hang", "raise", "interrupt")
        for at in COLLECTIVES
    ],
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kind", "at"), FAULTS)
def test_a_fault_ends_all_ranks_and_changes_no_cache(pools, size, kind, at):
    timeout, who = 2.0, size - 1
    given = FAULTY, kind, who, at
    outcomes = pools[size].outcomes(cases.fault, *given, timeout=timeout, within=60)
    for rank, one in enumerate(outcomes):
        if rank == who and kind == "kill":
            assert one.died
            continue
        assert not one.died
        assert not one.error, one.trace
        assert one.value["unchanged"]
        said = one.value["said"]
        if rank == who:
            expected = {"raise": "Injected", "interrupt": "KeyboardInterrupt"}
            assert said.startswith(expected.get(kind, f"rank {who} of {size}, step "))
            continue
        step = one.value["first"] + 1 + at
        assert said.startswith(f"rank {rank} of {size}, step {step} ({COLLECTIVES[at]}): "), said
        cause = {
            "raise": f"rank {who} raised Injected: on purpose",
            "interrupt": f"rank {who} raised KeyboardInterrupt",
        }.get(kind, f"rank {who} didn't answer: dead, or hung for 2 s")
        assert cause in said, said
        assert one.value["took"] < timeout + 3 + 10  # the roll call, and a busy machine


@pytest.mark.slow
def test_a_slow_rank_is_waited_for(pools):
    assert pools[2](cases.slow, 1.3) == [[1.0, 2.0, 2.0]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tokens", "positions", "caches"])
def test_ranks_with_other_tokens_notice_it_first(pools, what):
    for one in pools[2].outcomes(cases.fault, FAULTY, what, 1, 0):
        assert not one.error, one.trace
        assert f"(agree): the ranks' {what} differ: rank 1 from rank 0" in one.value["said"]
        assert one.value["unchanged"]
        assert not one.value["over"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["weights", "configurations", "versions", "sequence_parallel"])
def test_ranks_with_other_models_notice_it_first(pools, what):
    for said in pools[4](cases.other_models, PLAIN, what, 2):
        assert f"the ranks' {what} differ: rank 2 from rank 0" in said


@pytest.mark.slow
def test_a_fault_before_the_backward_pass_ends_it(pools):
    outcomes = pools[2].outcomes(cases.backward_fault, PLAIN, 1)
    assert "(all_reduce): rank 1 raised Injected: before the backward" in outcomes[0].value


@pytest.mark.slow
def test_a_rank_that_has_left_ends_an_exchange_at_once(pools):
    outcomes = pools[2].outcomes(cases.exchange_fault, 1)
    said, took = outcomes[0].value
    assert "(exchange): rank 1 raised Injected: before the exchange" in said
    assert took < pools[2].timeout / 2


@pytest.mark.slow
def test_nothing_is_left_running():
    with RanksPool(2) as pool:
        pool(cases.sent_by_a_step, PLAIN, 1)
        processes = list(pool._processes)
        assert all(process.is_alive() for process in processes)
    assert not any(process.is_alive() for process in processes)


def test_after_a_failure_every_collective_fails_at_once():
    ranks = Ranks(None, 0, 2, torch.device("cpu"))
    ranks.report(ValueError("of this rank"))
    with pytest.raises(RankError, match=r"of this rank\. Start all of them again"):
        ranks.barrier()
