"""A server on real processes: tokens of one process, and requests that outlive any fault."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.errors import ConfigError
from mini_attn.torch.parallel.rank_server import RankServer, _numbers, _pieces
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.tensor import ShareDecoder
from tests.parallel import serving_cases as cases
from tests.parallel.families import OTHERS
from tests.parallel.ranks_pool import RanksPool

PLAIN = OTHERS["layers that read others"]
SERVED = (
    "distance and first tokens", "one norm over copied heads", "chunks", "layers that read others",
    "experts by sigmoid", "sinusoidal",
)  # fmt: skip


CASES: list[Any] = [(2, SERVED[0], False, False), (2, SERVED[1], False, True)]
CASES += [(2, SERVED[3], True, False), (2, SERVED[4], False, True)]
CASES += [
    pytest.param(size, name, sampled, by_tokens, marks=pytest.mark.exhaustive)
    for size in (2, 4)
    for name in SERVED
    for sampled in (False, True)
    for by_tokens in (False, True)
    if (size, name, sampled, by_tokens) not in CASES
]


@pytest.mark.parametrize(("size", "name", "sampled", "by_tokens"), CASES)
def test_each_request_gets_what_one_process_gives_it(
    pools: dict[int, RanksPool], size: int, name: str, sampled: bool, by_tokens: bool
) -> None:
    one = cases.served(None, OTHERS[name], sampled)
    first, *others = pools[size](cases.served, OTHERS[name], sampled, by_tokens)
    assert (first["sent"].calls["all_to_all"] > 0) == by_tokens
    assert first["found"] == one["found"]
    assert not sampled or one["found"] != cases.served(None, OTHERS[name])["found"]
    assert first["steps"] == one["steps"]
    assert [other["found"] for other in others] == [{}] * (size - 1)
    assert others[0]["said"] == "RankServer(rank=1)"


def test_the_requests_meet_all_that_a_step_can_do() -> None:
    steps = cases.served(None, PLAIN)["steps"]
    assert any(hit for step in steps for _, hit in step.admitted)
    assert any(step.preempted for step in steps)
    assert any(piece.copies for step in steps for piece in step.pieces)
    assert any(len(step.pieces) > 2 for step in steps)
    assert not steps[-1].pieces


def test_a_step_is_one_message(pools: dict[int, RanksPool]) -> None:
    first, _ = pools[2](cases.served, PLAIN)
    steps, sent = first["steps"], first["sent"]
    pieces = sum(len(step.pieces) for step in steps)
    assert sent.calls["broadcast"] == len(steps) + 1  # and that it's over
    assert sent.values["broadcast"] == (len(steps) + 1) * (1 + 16 * 6)
    assert sent.calls["agree"] == sent.calls["all_gather"] == pieces


def test_a_step_with_long_tables_takes_a_second_message(pools: dict[int, RanksPool]) -> None:
    sizes = {"n_blocks": 40, "block_size": 1, "token_budget": 5}
    alone, _, _ = cases.long_tables(None, PLAIN, sizes)
    (found, steps, calls), (_, _, theirs) = pools[2](cases.long_tables, PLAIN, sizes)
    assert found == alone
    assert steps + 1 < calls == theirs < 2 * steps  # no second one while tables are short


def test_pieces_come_back_from_numbers() -> None:
    pieces = [p for s in cases.served(None, PLAIN)["steps"] for p in s.pieces]
    assert _pieces(_numbers(pieces)) == [p._replace(name="", last=False) for p in pieces]


# ---- Refused before anything is sent ----


def test_a_bad_request_is_refused_where_it_is_made(pools: dict[int, RanksPool]) -> None:
    (mine, sent), (theirs, theirs_sent) = pools[2](cases.refused, PLAIN)
    words = ["[0, 29), got 29", "empty", "9", "no sequence", "no sequence", "no sequence"]
    assert len(mine) == len(words)
    assert all(word in said for word, said in zip(words, mine, strict=True))
    assert len(theirs) == 7
    assert "rank 1 has no plan: rank 0 owns the requests" in theirs[-1]
    assert "rank 1 has no add" in theirs[-2]
    assert not sent.calls
    assert not theirs_sent.calls


def test_what_has_no_blocks_of_heads_is_refused_by_name() -> None:
    ranks = Ranks(None, 0, 2, torch.device("cpu"))
    with pytest.raises(ConfigError, match=r"ShareDecoder, got Decoder: .* SplitCache"):
        RankServer(mt.Decoder(PLAIN), 4)
    for name, words in (("latents", "keeps no keys and values"), ("an indexer", "keeps more")):
        with pytest.raises(ConfigError, match=f"layer 0 {words}"):
            RankServer(ShareDecoder(OTHERS[name], ranks), 4)
    assert ranks._log.step == 0


def test_ranks_with_other_sizes_notice_it_first(pools: dict[int, RanksPool]) -> None:
    sizes = [{"n_blocks": 9, "token_budget": budget} for budget in (8, 9)]
    for said in pools[2](cases.other_sizes, PLAIN, sizes):
        assert "(agree): the ranks' token_budget differ: rank 1 from rank 0" in said


# ---- Faults ----


def test_a_choice_that_raises_leaves_the_ranks_together(pools: dict[int, RanksPool]) -> None:
    (failed, found), others = pools[2](cases.chosen_again, PLAIN)
    assert failed == 2
    assert others == {}
    assert found == cases.chosen_again(None, PLAIN)[1]


# A step of two pieces; its collectives by number.
COLLECTIVES = {0: "broadcast", 1: "agree", 4: "all_reduce", 17: "all_reduce"}
SAMPLE = [(2, "kill", 1, 4), (2, "raise", 0, 1), (2, "interrupt", 1, 0)]
REST = [
    pytest.param(size, kind, who, at, marks=pytest.mark.exhaustive)
    for size in (2, 4)
    for kind in ("kill", "hang", "raise", "interrupt")
    for who in (0, size - 1)
    for at in COLLECTIVES
    if (size, kind, who, at) not in SAMPLE
]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kind", "who", "at"), [*SAMPLE, *REST])
def test_a_fault_ends_all_ranks_and_no_request_has_moved(
    pools: dict[int, RanksPool], size: int, kind: str, who: int, at: int
) -> None:
    timeout, needed = 2.0, cases.filled(cases.begun(None, PLAIN))
    assert len(needed) > 4
    outcomes = pools[size].outcomes(cases.fault, PLAIN, kind, who, at, timeout=timeout)
    written = set()
    for rank, one in enumerate(outcomes):
        if rank == who and kind == "kill":
            assert one.died
            continue
        assert not one.error, one.trace
        found = one.value
        assert found["unchanged"]
        assert found["over"]
        assert not found["written"] & needed
        written |= found["written"]
        if rank == who and kind != "hang":
            assert found["said"] == {"raise": "Injected", "interrupt": "KeyboardInterrupt"}[kind]
            continue
        assert f"rank {rank} of {size}, step " in found["said"]
        assert found["took"] < timeout + 3 + 10  # the roll call, and a busy machine
        if rank == who:
            continue
        words = [f"step {found['first'] + at + 1} ({COLLECTIVES[at]})"]
        if at == 0:  # who sends a message may be through before anybody has got it
            words.append(f"step {found['first'] + 2} (agree)")
        assert any(word in found["said"] for word in words), found["said"]
        cause = {
            "raise": f"rank {who} raised Injected: on purpose",
            "interrupt": f"rank {who} raised KeyboardInterrupt",
        }.get(kind, f"rank {who} didn't answer: dead, or hung for 2 s")
        assert cause in found["said"], found["said"]
    assert at == 0 or written  # there is something to get wrong
