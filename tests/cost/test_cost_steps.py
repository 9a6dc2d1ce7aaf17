"""Bytes and times of a pass: weights and caches counted one by one, and published figures."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.variants import variant
from tests.backends.small import small

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
SPARSE = small(
    "gqa", mlp_matrices=3, n_experts=6, n_shared_experts=1, experts_per_token=2, n_dense_layers=1,
    expert_d_ff=9,
)  # fmt: skip

# --- experts -----------------------------------------------------------------------------------


@given(n_experts=st.integers(1, 12), data=st.data(), tokens=st.integers(1, 20))
def test_expected_experts_lie_between_the_bounds(n_experts, data, tokens):
    chosen = data.draw(st.integers(1, n_experts))
    least, most = cost.expert_bounds(n_experts, chosen, tokens)
    expected = cost.expected_experts(n_experts, chosen, tokens)
    assert least <= expected <= most
    assert cost.expected_experts(n_experts, chosen, 1) == chosen
    if tokens > 1 and chosen < n_experts:
        assert cost.expected_experts(n_experts, chosen, tokens - 1) < expected
    if chosen == n_experts:
        assert expected == n_experts


def test_expected_experts_are_an_average_of_draws():
    source, draws = random.Random(5), 4000
    total = sum(
        len({expert for _ in range(7) for expert in source.sample(range(16), 3)})
        for _ in range(draws)
    )
    assert cost.expected_experts(16, 3, 7) == pytest.approx(total / draws, rel=0.01)


def test_bounds_are_reached():
    assert cost.expert_bounds(256, 8, 1) == (8, 8)
    assert cost.expert_bounds(256, 8, 16) == (8, 128)
    assert cost.expert_bounds(256, 8, 33) == (8, 256)


def test_active_parameters_as_published():
    """In billions, as the reports say, rounded or cut at the digit that stands last."""
    published = {
        "mixtral-8x7b": "12.9",
        "mixtral-8x22b": "39",
        "qwen3-30b-a3b": "3.3",
        "qwen3-235b-a22b": "22",
        "deepseek-v2": "21",
        "deepseek-v3": "37",
    }
    for name, said in published.items():
        last = 0.1 if "." in said else 1
        active = cost.active_parameter_count(MODELS[name]) / 1e9
        assert -last / 2 <= active - float(said) < last, name
    for name, billions in (("gpt-oss-20b", 3.61), ("gpt-oss-120b", 5.13)):
        model = MODELS[name]  # their figures leave the table of the inputs out
        active = cost.active_parameter_count(model) - model.vocab_size * model.d_model
        assert round(active / 1e9, 2) == billions
    for name in ("gpt2", "llama-3-8b", "falcon-7b"):
        assert cost.active_parameter_count(MODELS[name]) == cost.parameter_count(MODELS[name])


# --- bytes of a pass ---------------------------------------------------------------------------


def test_bytes_of_a_decode_step():
    step = cost.step_bytes(GPT2, kv_len=100, batch=3, dtype_bytes=4)
    assert step["cache read"] == 3 * 7_372_800
    assert step["cache written"] == 3 * 73_728
    assert step["weights"] == 4 * (124_439_808 - 1024 * 768)  # all but the table of positions
    mixed = cost.step_bytes(GPT2, kv_len=100, batch=3, dtype_bytes=4, cache_dtype_bytes=2)
    assert mixed["cache read"] * 2 == step["cache read"]
    assert mixed["weights"] == step["weights"]
    read = cost.step_bytes(LLAMA, kv_len=1)["weights"]
    assert read == 2 * (8_030_261_248 - 128_256 * 4096)  # embeddings are only looked up
    latent = cost.step_bytes(MODELS["deepseek-v3"], kv_len=1000)
    assert latent["cache read"] == 2 * 61 * 576 * 1000


def test_a_prefill_reads_the_weights_once_and_writes_every_row():
    step = cost.step_bytes(LLAMA, q_len=500, kv_len=500, batch=2)
    assert step["weights"] == cost.step_bytes(LLAMA, kv_len=1)["weights"]
    assert step["cache written"] == step["cache read"] == 2 * 500 * 131_072
    chunk = cost.step_bytes(LLAMA, q_len=100, kv_len=500, batch=2)
    assert chunk["cache written"] * 5 == chunk["cache read"]


@pytest.mark.parametrize("window", [1, 3, 8])
@pytest.mark.parametrize("sinks", [0, 2, 5])
def test_a_step_with_first_tokens_counts_slots_that_are_read_and_written(window, sinks):
    """Of the new tokens those that a cache holds afterwards; of all keys those that are seen."""
    model = small("sliding_window", window=window, sink_tokens=sinks, n_layers=1)
    numbers = model.n_kv_heads * (model.head_dim + model.v_head_dim)
    for kv_len, q_len in ((n, m) for n in range(1, 14) for m in range(1, n + 1)):
        seen = ma.causal_mask(q_len, kv_len, window, sinks).any(axis=0).sum()
        last = [n for n in range(kv_len) if n < sinks or n >= kv_len - window]
        new = [n for n in last if n >= kv_len - q_len]
        step = cost.step_bytes(model, q_len=q_len, kv_len=kv_len, dtype_bytes=1)
        assert step["cache read"] == numbers * seen
        assert step["cache written"] == numbers * len(new)


@pytest.mark.parametrize("q_len", [1, 3, 8, 20])
@pytest.mark.parametrize("kv_len", [20, 21, 60])
def test_windowed_layers_read_what_their_queries_see(q_len, kv_len):
    """Counted from the mask: columns that any query sees, and rows that the ring still holds."""
    model = small("sliding_window", window=8, full_every=3)
    seen = {k for q in range(kv_len - q_len, kv_len) for k in range(max(0, q - 7), q + 1)}
    numbers = model.n_kv_heads * (model.head_dim + model.v_head_dim)
    step = cost.step_bytes(model, q_len=q_len, kv_len=kv_len, dtype_bytes=1)
    assert step["cache read"] == numbers * (kv_len + 2 * len(seen))
    assert step["cache written"] == numbers * (q_len + 2 * min(q_len, 8))


def test_weights_of_a_step_with_experts():
    """A step reads what is no routed expert, and of those the ones that its tokens wake."""
    outside = dataclasses.replace(SPARSE, n_experts=0, experts_per_token=0, n_layers=1)
    each = 3 * SPARSE.d_model * SPARSE.expert_d_ff
    whole = cost.parameter_count(SPARSE)
    table = SPARSE.vocab_size * SPARSE.d_model
    assert cost.parameter_count(outside) < whole
    for batch, woken in ((1, 2), (2, 4), (3, 6), (50, 6)):
        most = cost.step_bytes(SPARSE, kv_len=5, batch=batch, dtype_bytes=1, experts="most")
        assert most["weights"] == whole - table - 2 * (6 - woken) * each
        least = cost.step_bytes(SPARSE, kv_len=5, batch=batch, dtype_bytes=1, experts="least")
        assert least["weights"] == whole - table - 2 * 4 * each
        mean = cost.step_bytes(SPARSE, kv_len=5, batch=batch, dtype_bytes=1)["weights"]
        exact = whole - table - 2 * (6 - cost.expected_experts(6, 2, batch)) * each
        assert exact <= mean < exact + 1
    alone = cost.step_bytes(SPARSE, kv_len=5, dtype_bytes=1)["weights"]
    assert alone == cost.active_parameter_count(SPARSE) - table


def test_odd_counts_of_half_bytes_fill_their_last_byte():
    sizes = {"head_dim": 1, "v_head_dim": 1, "d_model": 3, "d_ff": 1, "vocab_size": 3}
    odd = small("mqa", n_layers=1, mlp_matrices=3, **sizes)
    parameters = cost.parameter_count(odd) - 9
    assert parameters % 2 == 1
    read = cost.step_bytes(odd, kv_len=2, dtype_bytes=0.5)["weights"]
    assert read == (parameters + 1) // 2


def test_activations_are_inputs_and_outputs_of_each_product():
    model, batch, q_len, kv_len = small("gqa", mlp_matrices=3), 2, 5, 9
    rows, heads = batch * q_len, model.n_heads
    layer = {
        "projections": rows * 20 + rows * heads * 4,
        "attention": rows * heads * 4 + rows * heads * 5,
        "scores": 0,
        "output": rows * heads * 5 + rows * 20,
        "mlp": rows * 20 + 2 * rows * 28 + rows * 28 + rows * 20,
    }
    use = {"q_len": q_len, "kv_len": kv_len, "batch": batch, "dtype_bytes": 4}
    parts = cost.activation_bytes(model, **use)
    expected = {part: 4 * model.n_layers * count for part, count in layer.items()}
    assert parts == expected | {"logits": 4 * batch * (20 + 37)}
    square = cost.activation_bytes(model, **use, fused=False)
    assert square["scores"] == 4 * model.n_layers * 4 * batch * heads * q_len * kv_len
    assert {**square, "scores": 0} == parts
    mixture = cost.activation_bytes(SPARSE, **use)["mlp"]
    sparse = 3 * (2 * 20 + 3 * 9)  # two routed experts and a shared one
    assert mixture == 4 * rows * ((2 * 20 + 3 * 28) + 2 * sparse)


def test_scores_of_a_thousand_tokens():
    """12 heads, 1,000 tokens: 12 million scores a layer, and 24 MB at two bytes."""
    parts = cost.activation_bytes(GPT2, q_len=1000, kv_len=1000, fused=False)
    written = parts["scores"] // GPT2.n_layers // 4
    assert written == 12_000_000 * 2


# --- intensity and time ------------------------------------------------------------------------


HEADS = [n for n, m in MODELS.items() if variant(m.attention).config_class == "AttentionConfig"]


@pytest.mark.parametrize("name", HEADS)
def test_intensity_of_cached_attention(name):
    """FLOPs per cached byte: n_heads / n_kv_heads at 2 bytes a number, half of it at 4.

    Where layers have two sizes, both sides are summed over the layers.
    """
    model = MODELS[name]
    keeping = [layer for layer in range(model.n_layers) if not model.linear_of(layer)]
    layers = [model.named_sizes | model.kind_sizes(layer) for layer in keeping]
    both = [each["head_dim"] + each["v_head_dim"] for each in layers]
    kept = sum(each["n_kv_heads"] * size for each, size in zip(layers, both, strict=True))
    expected = model.n_heads * sum(both) / kept
    assert cost.cache_intensity(model) == expected
    assert cost.cache_intensity(model, dtype_bytes=4) == expected / 2
    parts = cost.matmul_flops(model, q_len=1, kv_len=1000, causal="exact")
    read = cost.step_bytes(model, kv_len=1000)["cache read"]
    if model.linear:  # of a long text, in which the states are next to nothing
        counted = [
            cost.arithmetic_intensity(*cost.step_operations(model, kv_len=kv_len)["attention"])
            for kv_len in (1000, 10**6, 10**8)
        ]
        assert counted[0] < counted[1] < counted[2] < expected < 1.001 * counted[2]
        return
    counted = cost.arithmetic_intensity(parts["scores"] + parts["weighted sum"], read)
    if model.full_n_kv_heads and not model.full_head_dim:  # few windows' keys, of more heads
        assert counted < model.n_heads / model.full_n_kv_heads
    else:
        assert counted == expected


def test_intensity_of_latent_attention():
    """One latent serves 128 heads as key and as value: 2 * 128 * (576 + 512) / (576 * 2)."""
    assert cost.cache_intensity(MODELS["deepseek-v3"]) == 128 * 1088 / 576
    assert round(cost.cache_intensity(MODELS["deepseek-v3"]), 1) == 241.8
    assert cost.cache_intensity(MODELS["deepseek-v2-lite"]) * 8 == 128 * 1088 / 576
    h100 = cost.DEVICES["h100"]
    ridge = h100.flops_per_second["bfloat16"] / h100.bytes_per_second
    assert 241.8 < ridge < 300  # near the ridge, on the side of the memory


def test_a_decode_step_is_bound_by_memory_and_a_prefill_by_products():
    for key in ("a100", "h100", "h200", "b200", "tpu-v5e"):
        device = cost.DEVICES[key]
        decode = cost.step_bytes(LLAMA, kv_len=2048)
        seconds = cost.step_seconds(LLAMA, device, kv_len=2048)
        assert seconds == pytest.approx(sum(decode.values()) / device.bytes_per_second)
        flops = cost.matmul_flops(LLAMA, q_len=2048, kv_len=2048, causal="exact")
        work = sum(flops.values()) - flops["logits"]
        # One row of logits waits for its matrix, in a prefill too.
        waits = 2 * LLAMA.vocab_size * LLAMA.d_model / device.bytes_per_second
        seconds = cost.step_seconds(LLAMA, device, q_len=2048, kv_len=2048)
        expected = work / device.flops_per_second["bfloat16"] + waits
        assert seconds == pytest.approx(expected)


@pytest.mark.parametrize("name", MODELS)
def test_operations_add_up_to_the_step(name):
    """No FLOP and no byte is lost or counted twice, whatever the phase, the bits, the experts."""
    model = MODELS[name]
    for q_len, kv_len, batch in ((1, 100, 3), (1, 100_000, 1), (2, 777, 64), (500, 501, 2)):
        sizes = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
        flops = cost.matmul_flops(model, **sizes, causal="exact")
        for bits, kept, which in ((2, None, "expected"), (0.5, 1, "most"), (1, 2, "least")):
            use = {**sizes, "dtype_bytes": bits, "cache_dtype_bytes": kept, "experts": which}
            parts = cost.step_operations(model, **use)
            moved = cost.step_bytes(model, **use)
            assert sum(done for done, _ in parts.values()) == sum(flops.values())
            assert sum(size for _, size in parts.values()) == sum(moved.values())
            assert all(done > 0 and size > 0 for done, size in parts.values())
            cached = moved["cache read"] + moved["cache written"]
            met = flops["scores"] + flops["weighted sum"]
            met += sum(flops.get(part, 0) for part in ("indexer", "write", "solve"))
            assert parts["attention"] == (met, cached)
            assert parts["logits"][0] == flops["logits"]
            assert ("experts" in parts) == bool(model.n_experts)


@pytest.mark.parametrize("name", [n for n, m in MODELS.items() if m.biases == "none"])
def test_dense_products_do_one_flop_a_byte_for_each_row(name):
    """At 2 bytes: every weight serves every row. Norms, which only move, are less than 0.2 %."""
    model = MODELS[name]
    for batch in (1, 24, 256):
        parts = cost.step_operations(model, kv_len=100, batch=batch)
        for part in ("products", "logits"):
            assert cost.arithmetic_intensity(*parts[part]) == pytest.approx(batch, rel=2e-3)


def test_experts_spread_the_rows():
    """Once all are awake a row serves ``experts_per_token / n_experts`` of them."""
    for name, share in (
        ("deepseek-v3", 8 / 256),
        ("gpt-oss-120b", 4 / 128),
        ("mixtral-8x7b", 1 / 4),
    ):
        model = MODELS[name]
        work, size = cost.step_operations(model, kv_len=100, batch=2048)["experts"]
        assert work / size == pytest.approx(2048 * share, rel=2e-2)
        work, size = cost.step_operations(model, kv_len=100)["experts"]
        assert work / size == pytest.approx(1, rel=2e-2)  # one row has its experts for itself
    work, size = cost.step_operations(SPARSE, kv_len=5, batch=3, experts="least")["experts"]
    weights = 3 * SPARSE.d_model * SPARSE.expert_d_ff * (SPARSE.n_layers - 1)
    assert (work, size) == (3 * 2 * 2 * weights, 2 * 2 * weights)


def test_a_step_is_the_sum_of_its_operations():
    """2,048 x 256 tokens: weights compute for 31 ms while attention waits 21 ms for its caches."""
    h100 = cost.DEVICES["h100"]
    sizes = {"kv_len": 256, "batch": 2048}
    flops = sum(cost.matmul_flops(LLAMA, q_len=1, **sizes, causal="exact").values())
    totals = cost.roofline_seconds(flops, sum(cost.step_bytes(LLAMA, **sizes).values()), h100)
    step = cost.step_seconds(LLAMA, h100, **sizes)
    assert (round(1e3 * step), round(1e3 * totals)) == (52, 31)
    parts = cost.step_operations(LLAMA, **sizes)
    attention = parts["attention"][1] / h100.bytes_per_second
    computing = (parts["products"][0] + parts["logits"][0]) / h100.flops_per_second["bfloat16"]
    assert step == pytest.approx(computing + attention)


@pytest.mark.parametrize("name", MODELS)
def test_the_sum_is_no_less_than_the_maximum_of_totals(name):
    model, h100 = MODELS[name], cost.DEVICES["h100"]
    for q_len, kv_len, batch in ((1, 256, 2048), (1, 8192, 16), (512, 512, 1)):
        sizes = {"q_len": q_len, "kv_len": kv_len, "batch": batch}
        flops = sum(cost.matmul_flops(model, **sizes, causal="exact").values())
        moved = sum(cost.step_bytes(model, **sizes).values())
        whole = cost.roofline_seconds(flops, moved, h100)
        step = cost.step_seconds(model, h100, **sizes)
        assert whole * (1 - 1e-12) <= step
        apart = flops / h100.flops_per_second["bfloat16"] + moved / h100.bytes_per_second
        assert step <= apart * (1 + 1e-12)


def test_time_of_a_step_on_a_measured_machine():
    mine = cost.measured_device({"float32": 1e11}, 1e10, memory_bytes=4 * 10**9)
    assert (mine.name, mine.source) == ("This machine", "measured")
    moved = sum(cost.step_bytes(GPT2, kv_len=64, dtype_bytes=4).values())
    seconds = cost.step_seconds(GPT2, mine, kv_len=64, dtype="float32")
    assert seconds == pytest.approx(moved / 1e10)
    few, many = (
        cost.step_seconds(MODELS["mixtral-8x7b"], mine, kv_len=64, dtype="float32", experts=which)
        for which in ("least", "most")
    )
    assert few == many  # one token has no choice of how many
    with pytest.raises(ConfigError, match="rates for float32, not for 'bfloat16'"):
        cost.step_seconds(GPT2, mine, kv_len=64)
    with pytest.raises(ConfigError, match="at least one data type"):
        cost.measured_device({}, 1e10, memory_bytes=1)
    with pytest.raises(ConfigError, match="bytes_per_second"):
        cost.measured_device({"float32": 1e11}, -1.0, memory_bytes=1)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 4), ("bfloat16", 2), ("float16", 2), ("float8", 1), ("int8", 1)],
)
def test_a_step_moves_numbers_of_its_own_type(dtype, size):
    slow = cost.measured_device({dtype: 1e18}, 1.0, memory_bytes=1)
    moved = cost.step_bytes(LLAMA, kv_len=7, batch=3, dtype_bytes=size)
    seconds = cost.step_seconds(LLAMA, slow, kv_len=7, batch=3, dtype=dtype)
    assert seconds == pytest.approx(sum(moved.values()), rel=1e-12)


def test_nothing_but_the_last_rows_needs_logits():
    none = cost.activation_bytes(GPT2, q_len=4, kv_len=4, logit_rows=0)
    assert none["logits"] == 0
    whole = cost.activation_bytes(GPT2, q_len=4, kv_len=4, logit_rows=4, batch=2)
    assert whole["logits"] == 2 * 2 * 4 * (768 + 50257)


# --- what the DeepSeek reports say, each with its baseline --------------------------------------


def numbers(model):
    """Numbers that a token leaves in the cache of all layers."""
    return cost.cache_bytes_per_token(model, dtype_bytes=1)


def as_mha(model, n_heads, head_dim=128):
    return dataclasses.replace(
        model, attention="mha", n_heads=n_heads, n_kv_heads=n_heads, head_dim=head_dim,
        v_head_dim=head_dim,
    )  # fmt: skip


def test_93_percent_less_than_deepseek_67b():
    """Latent at 6 bits, against 8 KV heads x 95 layers at 16; at equal bits 82.2 %."""
    old, new = numbers(MODELS["deepseek-67b"]), numbers(MODELS["deepseek-v2"])
    assert (old, new) == (2 * 8 * 128 * 95, 576 * 60)
    assert round(100 * (1 - new / old), 1) == 82.2
    assert round(100 * (1 - 6 * new / (16 * old)), 1) == 93.3


def test_14_and_4_percent_of_multi_head_attention():
    """V2's ablations, table 9: 15.6K of 110.6K numbers (27 layers, 16 heads), 34.6K of 860.2K
    (60 layers, 56 heads), all heads of 128."""
    lite, large = MODELS["deepseek-v2-lite"], MODELS["deepseek-v2"]
    for model, n_heads, latent, whole, percent in (
        (lite, 16, 15.6, 110.6, 14),
        (large, 56, 34.6, 860.2, 4),
    ):
        ours, plain = numbers(model), numbers(as_mha(model, n_heads))
        assert (round(ours / 1000, 1), round(plain / 1000, 1)) == (latent, whole)
        assert round(100 * ours / plain) == percent


def test_57_times_less_than_its_own_heads():
    """128 heads with keys and values of 128 each, against 576 numbers."""
    latent = MODELS["deepseek-v3"]
    ratio = numbers(as_mha(latent, 128)) / numbers(latent)
    assert ratio == 2 * 128 * 128 / 576
    assert round(ratio) == 57


def test_a_latent_is_two_groups_and_a_quarter():
    one_group = dataclasses.replace(MODELS["falcon-7b"], head_dim=128, v_head_dim=128, n_layers=61)
    assert numbers(MODELS["deepseek-v3"]) / numbers(one_group) == 2.25


# --- bad input ---------------------------------------------------------------------------------

BAD = {
    "no token": (lambda: cost.expected_experts(8, 2, 0), "tokens .* got 0"),
    "no expert": (lambda: cost.expert_bounds(0, 1, 1), "n_experts .* got 0"),
    "all and more": (lambda: cost.expert_bounds(8, 9, 1), "experts_per_token = 9 of 8"),
    "which experts": (lambda: cost.step_bytes(GPT2, kv_len=1, experts="all"), "got 'all'"),
    "no key": (lambda: cost.step_bytes(GPT2, kv_len=0), "kv_len .* got 0"),
    "more queries": (lambda: cost.step_bytes(GPT2, q_len=3, kv_len=2), "kv_len .* least 3, got 2"),
    "no query": (lambda: cost.step_bytes(GPT2, q_len=0, kv_len=2), "q_len .* got 0"),
    "no batch": (lambda: cost.step_bytes(GPT2, kv_len=2, batch=0), "batch .* got 0"),
    "bytes of 3": (lambda: cost.step_bytes(GPT2, kv_len=2, dtype_bytes=3), "got 3"),
    "cache of 3": (lambda: cost.step_bytes(GPT2, kv_len=2, cache_dtype_bytes=3), "got 3"),
    "latent": (
        lambda: cost.activation_bytes(MODELS["deepseek-v3"], q_len=1, kv_len=1),
        "deepseek-v3 .* latent_bytes",
    ),
    "no rows": (lambda: cost.activation_bytes(GPT2, q_len=0, kv_len=1), "q_len .* got 0"),
    "no keys": (lambda: cost.activation_bytes(GPT2, q_len=1, kv_len=0), "kv_len .* got 0"),
    "fewer keys": (lambda: cost.activation_bytes(GPT2, q_len=3, kv_len=2), "least 3, got 2"),
    "no rows at all": (
        lambda: cost.activation_bytes(GPT2, q_len=1, kv_len=1, batch=0),
        "batch .* got 0",
    ),
    "logits -1": (
        lambda: cost.activation_bytes(GPT2, q_len=1, kv_len=1, logit_rows=-1),
        "logit_rows must be at least 0, got -1",
    ),
    "numbers of 3": (
        lambda: cost.activation_bytes(GPT2, q_len=1, kv_len=1, dtype_bytes=3),
        "dtype_bytes .* got 3",
    ),
    "whose experts": (
        lambda: cost.step_seconds(GPT2, cost.DEVICES["a100"], kv_len=1, experts="few"),
        "experts must be one of .* got 'few'",
    ),
    "which operations": (
        lambda: cost.step_operations(GPT2, kv_len=1, experts="some"),
        "experts must be one of .* got 'some'",
    ),
    "operations of no key": (lambda: cost.step_operations(GPT2, kv_len=0), "kv_len .* got 0"),
    "later keys": (
        lambda: cost.step_seconds(GPT2, cost.DEVICES["a100"], q_len=2, kv_len=1),
        "kv_len .* least 2, got 1",
    ),
    "intensity": (lambda: cost.cache_intensity(GPT2, dtype_bytes=16), "got 16"),
    "dtype": (
        lambda: cost.step_seconds(GPT2, cost.DEVICES["a100"], kv_len=1, dtype="int3"),
        "dtype must be one of .* got 'int3'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_numbers_are_refused(case):
    call, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        call()
