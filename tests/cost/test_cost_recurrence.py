"""What a state costs: the formulas against a count of the products that the code makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from tests.sampling import sampled


class Counted(np.ndarray):
    """An array that counts the multiply-adds of products of matrices."""

    total = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(a) if isinstance(a, Counted) else a for a in inputs]
        if "out" in options:
            options["out"] = tuple(np.asarray(a) for a in options["out"])
        if ufunc is np.matmul:
            left, right = plain
            batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
            Counted.total += int(np.prod((*batch, *left.shape[-2:], right.shape[-1])))
        found = getattr(ufunc, method)(*plain, **options)
        return found.view(Counted) if isinstance(found, np.ndarray) else found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = super().__array_function__(function, types, args, kwargs)
        return found.view(Counted) if isinstance(found, np.ndarray) else found  # joined, too


CASES = [
    (seq, chunk, delta, per_channel, last)
    for seq in (1, 2, 7, 12, 13)
    for chunk in (1, 3, 4, 20)
    for delta in (False, True)
    for per_channel in (False, True)
    for last in (False, True)
]


def count(form, seq, chunk, delta, per_channel, last, key_dim=5, width=3):
    """Multiply-adds of one call, batch and heads included."""
    rng = np.random.default_rng(seq)
    shape = (2, 3, seq, key_dim)
    arrays = [rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=(2, 3, seq, width))]
    q, k, v = (a.view(Counted) for a in arrays)
    options = {"beta": rng.uniform(size=shape[:3]).view(Counted)} if delta else {}
    decay = -rng.exponential(size=shape if per_channel else shape[:3])
    Counted.total = 0
    more = {"chunk": chunk} if form == "chunked" else {}
    call = getattr(ma, f"{form}_attention")
    call(q, k, v, log_decay=decay.view(Counted), **options, **more, return_state=last)
    return Counted.total


@pytest.mark.parametrize("case", sampled([(c,) for c in CASES], lambda c: c[0][2:], of_each=2))
def test_the_count_is_what_the_code_multiplies(case):
    seq, chunk, delta, per_channel, last = case
    sizes = {"n_heads": 2 * 3, "key_dim": 5, "v_head_dim": 3, "chunk": chunk}
    options = {"delta_rule": delta, "per_channel": per_channel, "return_state": last}
    for form in ("chunked", "parallel"):
        found = cost.recurrence_flops(seq, form=form, **sizes, **options)
        assert sum(found.values()) == 2 * count(form, *case), form


@pytest.mark.parametrize("delta", [False, True])
def test_a_step_reads_and_writes(delta):
    """Reads are products; a write is an outer product, a multiply-add for each number."""
    sizes = {"n_heads": 6, "key_dim": 5, "v_head_dim": 3, "form": "recurrent"}
    found = cost.recurrence_flops(7, delta_rule=delta, **sizes)
    assert found["read"] == 2 * count("recurrent", 7, 1, delta, False, True)
    assert found["write"] == 2 * 6 * 7 * 5 * 3
    assert found["pairs"] == found["solve"] == found["weighted sum"] == 0


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("seq", [1, 5, 12, 13])
def test_exact_counts_visible_pairs_alone(seq, per_channel):
    """Pair by pair, for chunks of 4."""
    sizes = {"n_heads": 1, "key_dim": 5, "v_head_dim": 3, "chunk": 4, "causal": "exact"}
    found = cost.recurrence_flops(seq, delta_rule=True, per_channel=per_channel, **sizes)
    pairs = [(i, j) for i in range(seq) for j in range(i + 1) if i // 4 == j // 4]
    before = [(i, j) for i, j in pairs if j < i]
    assert found["pairs"] == 2 * 5 * (len(pairs) + len(before))
    assert (found["weighted sum"], found["solve"]) == (2 * 3 * len(pairs), 2 * 3 * len(before))


@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("causal", ["exact", "full"])
@pytest.mark.parametrize(("key_dim", "width", "chunk"), [(128, 128, 64), (64, 32, 16), (3, 5, 7)])
def test_from_the_crossover_on_chunks_win(key_dim, width, chunk, delta, causal):
    sizes = {"key_dim": key_dim, "v_head_dim": width, "chunk": chunk, "delta_rule": delta}
    crossover = cost.recurrence_crossover(**sizes, causal=causal)

    def win(seq):
        chunks = cost.recurrence_flops(seq, n_heads=2, causal=causal, **sizes)
        whole = {"n_heads": 2, "head_dim": key_dim, "v_head_dim": width, "causal": causal}
        return sum(chunks.values()) < sum(cost.attention_flops(seq, seq, **whole).values())

    assert crossover == 1 or not win(crossover - 1)
    assert all(win(seq) for seq in range(crossover, crossover + 300))
    assert win(crossover + 10_000)


def test_known_crossovers():
    """Heads of 128 and chunks of 64; decays don't change the count."""
    found = {
        delta: cost.recurrence_crossover(key_dim=128, delta_rule=delta) for delta in (False, True)
    }
    assert found == {False: 299, True: 496}


def test_a_step_costs_the_same_after_any_number_of_tokens():
    """And as much as a step of attention with 192 keys, for the delta rule."""
    step = cost.recurrence_flops(1, n_heads=1, key_dim=128, form="recurrent", delta_rule=True)
    keys = 192
    attention = cost.attention_flops(1, keys, n_heads=1, head_dim=128)
    assert sum(step.values()) == sum(attention.values())


def test_state_bytes_are_those_of_the_arrays(rng):
    q, k = rng.normal(size=(2, 2, 3, 4, 5)).astype("float32")
    v = rng.normal(size=(2, 3, 4, 7)).astype("float32")
    x, weight = rng.normal(size=(2, 4, 6)).astype("float16"), np.ones((6, 4), "float16")
    _, state = ma.recurrent_attention(q, k, v, return_state=True)
    _, held = ma.short_convolution(x, weight, return_state=True)
    sizes = {"n_heads": 3, "key_dim": 5, "v_head_dim": 7, "batch": 2}
    found = cost.state_bytes(**sizes, conv_channels=6, conv_width=4)
    assert found == {"state": state.nbytes, "convolution": held.nbytes}


@pytest.mark.parametrize(
    "wrong",
    [{"form": "fast"}, {"causal": "half"}, {"chunk": 0}, {"seq": 0}, {"key_dim": 0},
     {"v_head_dim": 0}, {"n_heads": 1.5}, {"delta_rule": "no"}, {"per_channel": 1}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(wrong):
    given = {"seq": 5, "n_heads": 1, "key_dim": 4, **wrong}
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        cost.recurrence_flops(**given)


@pytest.mark.parametrize(
    "wrong", [{"n_heads": 0}, {"key_dim": 0}, {"v_head_dim": 0}, {"batch": 0}, {"dtype_bytes": 0},
              {"conv_channels": -1}, {"conv_width": 0}, {"conv_dtype_bytes": 0}],
)  # fmt: skip
def test_bytes_of_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        cost.state_bytes(**{"n_heads": 1, "key_dim": 4, **wrong})
