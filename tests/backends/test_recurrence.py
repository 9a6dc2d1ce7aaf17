"""A state instead of a cache: its three forms, padding, gradients, and the short convolution."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.plain import state as plain
from tests.backends.recurrence_cases import (
    BACKENDS,
    KINDS,
    Case,
    draw,
    largest_difference,
    state_errors,
)
from tests.sampling import sampled

FORMS = ("recurrent", "chunked", "parallel")
SEEDS = [(kind, seed) for kind in KINDS for seed in range(40)]


@pytest.mark.parametrize(("kind", "seed"), sampled(SEEDS, lambda one: one[0], of_each=2))
def test_all_forms_and_chunk_lengths_are_the_plain_steps(kind, seed):
    assert largest_difference(draw(np.random.default_rng(seed), kind, most=15)) < 1e-10


def test_the_cases_reach_every_option():
    """Or equal forms would say less than they seem to."""
    rng, seen = np.random.default_rng(33), {}
    for kind in KINDS:
        for _ in range(30):
            for name in draw(rng, kind).options:
                seen.setdefault(name, set()).add(kind)
    corrects = {kind for kind, (_, corrects) in KINDS.items() if corrects}
    assert seen.pop("normalize") == set(KINDS) - corrects
    assert seen.pop("beta") == corrects
    assert seen.pop("log_decay") == set(KINDS) - {"linear", "delta"}
    assert seen == {name: set(KINDS) for name in ("keep", "state", "scale")}


# ---- What each option means ----


def one_head(lib, rng, seq=9, key_dim=4, width=3):
    """Queries, keys of length 1 and values of one head."""
    q, k = rng.normal(size=(2, 1, 1, seq, key_dim))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    return [lib.array(a) for a in (q, k, rng.normal(size=(1, 1, seq, width)))]


@pytest.mark.parametrize("form", FORMS)
def test_without_options_it_is_causal_attention_less_the_softmax(lib, rng, form):
    q, k, v = one_head(lib, rng)
    out = lib.numpy(getattr(lib, f"{form}_attention")(q, k, v))
    q, k, v = map(lib.numpy, (q, k, v))
    scores = q @ k.swapaxes(2, 3) * 4**-0.5
    np.testing.assert_allclose(out, np.tril(scores) @ v, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_delta_rule_replaces_and_a_sum_adds(lib, form):
    """One key three times, another one between."""
    k = lib.array(np.eye(2)[[0, 1, 0, 0]].reshape(1, 1, 4, 2))
    v = lib.array(np.array([3.0, 7.0, 5.0, 9.0]).reshape(1, 1, 4, 1))
    call = getattr(lib, f"{form}_attention")
    beta = lib.array(np.array([1.0, 1.0, 1.0, 0.25]).reshape(1, 1, 4))
    added, replaced = call(k, k, v, scale=1), call(k, k, v, beta=beta, scale=1)
    np.testing.assert_allclose(lib.numpy(added).ravel(), [3, 7, 8, 17], atol=1e-12)
    np.testing.assert_allclose(lib.numpy(replaced).ravel(), [3, 7, 5, 6], atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_decay_of_minus_infinity_starts_anew(lib, rng, form, per_channel):
    """As at the first token of the next document."""
    q, k, v = one_head(lib, rng)
    log_decay = -rng.exponential(size=(1, 1, 9, 4) if per_channel else (1, 1, 9))
    log_decay[:, :, 5] = -np.inf
    call, log_decay = getattr(lib, f"{form}_attention"), lib.array(log_decay)
    first = lib.array(rng.normal(size=(1, 1, 4, 3)))
    whole = call(q, k, v, log_decay=log_decay, state=first)
    alone = call(*(a[:, :, 5:] for a in (q, k, v)), log_decay=log_decay[:, :, 5:])
    np.testing.assert_allclose(lib.numpy(whole)[:, :, 5:], lib.numpy(alone), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_equal_decays_of_all_channels_are_one_of_the_head(lib, rng, form):
    q, k, v = one_head(lib, rng)
    rates = -rng.exponential(size=(1, 1, 9))
    call = getattr(lib, f"{form}_attention")
    whole = call(q, k, v, log_decay=lib.array(rates))
    each = call(q, k, v, log_decay=lib.array(np.repeat(rates[..., None], 4, axis=3)))
    np.testing.assert_allclose(lib.numpy(whole), lib.numpy(each), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_normalized_weights_sum_to_one(lib, rng, form):
    given = one_head(lib, rng)
    q, k, v = lib.feature_map(given[0]), lib.feature_map(given[1]), given[2]
    call = getattr(lib, f"{form}_attention")
    expected = plain.linear_attention(*map(lib.numpy, given))
    np.testing.assert_allclose(lib.numpy(call(q, k, v, normalize=True)), expected, atol=1e-12)
    same = lib.numpy(call(q, k, v * 0 + 2.5, normalize=True, log_decay=-q[..., 0]))
    np.testing.assert_allclose(same, 2.5, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_in_parts_is_the_whole(kind, form):
    """The state is all that a later part needs."""
    case = draw(np.random.default_rng(5), kind, most=40)
    for lib in BACKENDS:
        expected = case.call(lib, form)
        cut, outs, state = case.seq // 3, [], case.options.get("state")
        for tokens in (slice(cut), slice(cut, None)):
            options = {**case.options, "state": state}
            for name in {"log_decay", "beta"} & options.keys():
                options[name] = options[name][:, :, tokens]
            if "keep" in options:
                options["keep"] = options["keep"][:, tokens]
            part = Case(*(a[:, :, tokens] for a in (case.q, case.k, case.v)), options)
            out, state = part.call(lib, form)
            outs.append(out)
        np.testing.assert_allclose(np.concatenate(outs, axis=2), expected[0], atol=1e-10)
        np.testing.assert_allclose(state, expected[1], atol=1e-10)


# ---- Padding ----


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_padded_token_neither_decays_nor_writes(kind, form):
    """Whatever it holds; and a text that is only padding leaves the state as it was."""
    rng = np.random.default_rng(8)
    case = draw(rng, kind, most=12)
    state = rng.normal(size=(*case.q.shape[:2], case.q.shape[3], case.v.shape[3]))
    options = {**case.options, "state": state}
    options.pop("normalize", None)
    keep = np.arange(case.seq) >= case.seq // 2
    keep = np.broadcast_to(keep, (len(case.q), case.seq)).copy()
    arrays = [a.copy() for a in (case.q, case.k, case.v)]
    spoilt = {name: options[name].copy() for name in ("log_decay", "beta") if name in options}
    for a in [*arrays, *spoilt.values()]:
        a[:, :, : case.seq // 2] = np.nan
    kept = slice(case.seq // 2, None)
    later = {name: options[name][:, :, kept] for name in spoilt}
    shorter = Case(*(a[:, :, kept] for a in (case.q, case.k, case.v)), {**options, **later})
    shorter.options.pop("keep", None)
    for lib in BACKENDS:
        out, last = Case(*arrays, {**options, **spoilt, "keep": keep}).call(lib, form)
        expected, expected_last = shorter.call(lib, form)
        assert not out[:, :, : case.seq // 2].any()
        np.testing.assert_allclose(out[:, :, kept], expected, atol=1e-11)
        np.testing.assert_allclose(last, expected_last, atol=1e-11)
        _, last = Case(*arrays, {**options, **spoilt, "keep": keep & False}).call(lib, form)
        np.testing.assert_array_equal(last, state)


# ---- Gradients ----


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_autograd(kind):
    """Both backward functions, against each form in PyTorch."""
    rng = np.random.default_rng(3)
    case = draw(rng, kind, most=10)
    options = {**case.options, "state": rng.normal(size=(*case.q.shape[:2], case.q.shape[3],
                                                          case.v.shape[3]))}  # fmt: skip
    options.pop("normalize", None)
    if "log_decay" in options:
        options["log_decay"] = np.maximum(options["log_decay"], -3)
    d_out, d_state = rng.normal(size=case.v.shape), rng.normal(size=options["state"].shape)
    found = []
    for lib in BACKENDS:
        convert = lambda a, lib=lib: lib.array(a) if isinstance(a, np.ndarray) else a  # noqa: E731
        named = {name: convert(value) for name, value in options.items()}
        given = map(lib.array, (d_out, case.q, case.k, case.v))
        grads = lib.recurrent_attention_backward(*given, d_state=lib.array(d_state), **named)
        found.append([None if g is None else lib.numpy(g) for g in grads])
    for form in FORMS:
        names = ("log_decay", "beta", "state")
        leaves = {
            name: torch.from_numpy(a.copy()).requires_grad_()
            for name, a in {"q": case.q, "k": case.k, "v": case.v, **options}.items()
            if name in ("q", "k", "v", *names)
        }
        rest = {name: options[name] for name in {"scale", "keep"} & options.keys()}
        if "keep" in rest:
            rest["keep"] = torch.from_numpy(rest["keep"])
        out, last = getattr(mt, f"{form}_attention")(**leaves, **rest, return_state=True)
        (out * torch.from_numpy(d_out)).sum().add(
            (last * torch.from_numpy(d_state)).sum()
        ).backward()
        for number, name in enumerate(("q", "k", "v", *names)):
            for grads in found:
                assert (grads[number] is None) == (name not in leaves)
                if name in leaves:
                    expected = leaves[name].grad.numpy()
                    np.testing.assert_allclose(grads[number], expected, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_autograd_is_right_by_differences(rng, form):
    q, k, v = (torch.from_numpy(a) for a in rng.normal(size=(3, 1, 1, 4, 2)))
    log_decay = torch.from_numpy(-rng.exponential(size=(1, 1, 4, 2)))
    beta = torch.from_numpy(rng.uniform(size=(1, 1, 4)))
    inputs = [a.requires_grad_() for a in (q, k, v, log_decay, beta)]
    more = {"chunk": 3} if form == "chunked" else {}

    def call(q, k, v, log_decay, beta):
        options = {"log_decay": log_decay, "beta": beta, "return_state": True}
        return getattr(mt, f"{form}_attention")(q, k, v, **options, **more)

    assert torch.autograd.gradcheck(call, inputs)


# ---- Types, and large numbers ----


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_results_have_the_queries_type_and_the_state_is_wide(lib, rng, form, dtype):
    if lib.name == "numpy" and dtype == "bfloat16":
        pytest.skip("NumPy has no bfloat16")
    q, k, v = one_head(lib, rng)
    if lib.name == "numpy":
        q, k, v = (a.astype(dtype) for a in (q, k, v))
    else:
        q, k, v = (a.to(getattr(torch, dtype)) for a in (q, k, v))
    log_decay = lib.array(-rng.exponential(size=(1, 1, 9)), "float32")
    out, state = getattr(lib, f"{form}_attention")(q, k, v, log_decay=log_decay, return_state=True)
    assert out.dtype == q.dtype
    assert str(state.dtype).removeprefix("torch.") == (
        "float64" if dtype == "float64" else "float32"
    )


@pytest.mark.parametrize("kind", ["gated delta", "kimi delta"])
def test_strong_decays_neither_overflow_nor_lose_digits(lib, kind):
    """Sums of logarithms run to -10,000, whose differences a float32 wouldn't tell apart."""
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2, 1, 2, 130, 8)).astype("float32")
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    v = rng.normal(size=(1, 2, 130, 8)).astype("float32")
    shape = q.shape[: 4 if kind == "kimi delta" else 3]
    log_decay = np.where(rng.uniform(size=shape) < 0.5, -160, -0.01).astype("float32")
    beta = rng.uniform(size=q.shape[:3]).astype("float32")
    wide = (a.astype("float64") for a in (q, k, v, log_decay, beta))
    *arrays, wide_decay, wide_beta = wide
    expected = ma.recurrent_attention(*arrays, log_decay=wide_decay, beta=wide_beta)
    options = {"log_decay": lib.array(log_decay), "beta": lib.array(beta)}
    for call, more in ((lib.chunked_attention, {"chunk": 64}), (lib.parallel_attention, {})):
        found = lib.numpy(call(*map(lib.array, (q, k, v)), **options, **more))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("corrects", [False, True])
def test_a_bfloat16_state_loses_digits_that_a_float32_state_keeps(corrects):
    """Measured: more than its inputs in bfloat16 lose, and thousands of times a float32 state."""
    errors = state_errors(96, corrects=corrects)
    assert errors["float32"] < 1e-6
    assert errors["bfloat16"] > 1000 * errors["float32"]
    assert errors["bfloat16"] > errors["inputs"]


def test_a_sum_of_ones_in_bfloat16_stops_at_256():
    """One more is half of its last digit, and rounds to even."""
    one, kept = torch.ones(1, 1, 1, 1), {"bfloat16": None, "float32": None}
    for name in kept:
        for _ in range(300):
            options = {"state": kept[name], "return_state": True}
            _, state = mt.recurrent_attention(one, one, one, **options)
            kept[name] = state.to(getattr(torch, name))
    assert {name: state.item() for name, state in kept.items()} == {"bfloat16": 256, "float32": 300}


def test_no_tokens_leave_the_state(lib, rng):
    state = lib.array(rng.normal(size=(1, 2, 3, 4)))
    q = k = lib.array(np.zeros((1, 2, 0, 3)))
    v = lib.array(np.zeros((1, 2, 0, 4)))
    for form in FORMS:
        out, last = getattr(lib, f"{form}_attention")(q, k, v, state=state, return_state=True)
        assert out.shape == (1, 2, 0, 4)
        np.testing.assert_array_equal(lib.numpy(last), lib.numpy(state))


# ---- What is refused ----


def given(lib, **changes):
    """Arguments that fit, with changes."""
    arrays = {
        "q": np.ones((2, 3, 5, 4)), "k": np.ones((2, 3, 5, 4)), "v": np.ones((2, 3, 5, 2)),
    }  # fmt: skip
    found = {}
    for name, value in {**arrays, **changes}.items():
        found[name] = lib.array(value) if isinstance(value, np.ndarray) else value
    return found


WRONG = {
    "k has another seq": ({"k": np.ones((2, 3, 4, 4))}, ShapeError, "seq"),
    "q has three axes": ({"q": np.ones((2, 5, 4))}, ShapeError, "q should have 4 axes"),
    "no key_dim": (
        {"q": np.ones((2, 3, 5, 0)), "k": np.ones((2, 3, 5, 0))}, ShapeError, "key_dim must be",
    ),
    "decay for other channels": ({"log_decay": np.ones((2, 3, 5, 2))}, ShapeError, "log_decay"),
    "decay for all heads": ({"log_decay": np.ones((2, 5))}, ShapeError, "log_decay should have 3"),
    "beta per channel": ({"beta": np.ones((2, 3, 5, 4))}, ShapeError, "beta should have 3 axes"),
    "another state": ({"state": np.ones((2, 3, 2, 4))}, ShapeError, "state"),
    "state without sums": (
        {"state": np.ones((2, 3, 4, 2)), "normalize": True}, ShapeError, r"v_head_dim \+ 1 = 3",
    ),
    "normalize with beta": (
        {"beta": np.ones((2, 3, 5)), "normalize": True}, ConfigError, "no meaning with beta",
    ),
    "normalize as a word": ({"normalize": "no"}, ConfigError, "normalize must be True or False"),
    "mixed types": ({"k": np.ones((2, 3, 5, 4), "float32")}, DTypeError, "share one"),
    "whole decay": ({"log_decay": np.ones((2, 3, 5), int)}, DTypeError, "log_decay must be"),
    "whole beta": ({"beta": np.ones((2, 3, 5), int)}, DTypeError, "beta must be floating"),
    "keep as numbers": ({"keep": np.ones((2, 5))}, DTypeError, "keep must be boolean"),
    "keep of heads": ({"keep": np.ones((2, 3, 5), bool)}, ShapeError, "keep should have 2 axes"),
    "scale without end": ({"scale": np.inf}, ConfigError, "scale must be a finite number"),
    "return_state as a word": ({"return_state": "no"}, ConfigError, "return_state must be"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_refused(lib, wrong):
    changes, kind, words = WRONG[wrong]
    for form in FORMS:
        with pytest.raises(kind, match=words):
            getattr(lib, f"{form}_attention")(**given(lib, **changes))


def test_a_chunk_has_tokens_and_gradients_fit(lib):
    with pytest.raises(ConfigError, match="chunk must be at least 1"):
        lib.chunked_attention(**given(lib), chunk=0)
    with pytest.raises(ShapeError, match="d_out"):
        lib.recurrent_attention_backward(lib.array(np.ones((2, 3, 5, 3))), **given(lib))
    with pytest.raises(ShapeError, match="d_state"):
        lib.recurrent_attention_backward(
            lib.array(np.ones((2, 3, 5, 2))), d_state=lib.array(np.ones((2, 3, 2, 2))), **given(lib)
        )


def test_feature_map_is_positive_and_refuses_whole_numbers(lib):
    x = lib.array(np.array([-800.0, -1.0, 0.0, 800.0]))
    np.testing.assert_allclose(lib.numpy(lib.feature_map(x)), [0, np.exp(-1), 1, 801])
    with pytest.raises(DTypeError, match="floating point"):
        lib.feature_map(lib.array(np.array([1])))


# ---- The short convolution ----


def convolved(x, weight, bias, held):
    """Sums over the tokens of one row, one by one."""
    tokens = np.concatenate([held, x])
    width = weight.shape[1]
    out = np.empty(x.shape)
    for t in range(len(x)):
        for channel in range(x.shape[1]):
            window = tokens[t : t + width, channel]
            total = bias[channel] + sum(a * b for a, b in zip(weight[channel], window, strict=True))
            out[t, channel] = total / (1 + np.exp(-total))
    return out, tokens[len(tokens) - width + 1 :]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("seq", [1, 3, 9])
def test_a_convolution_sees_the_last_few_kept_tokens(lib, rng, width, seq):
    x, weight, bias = rng.normal(size=(3, seq, 2)), rng.normal(size=(2, width)), rng.normal(size=2)
    held = rng.normal(size=(3, width - 1, 2))
    keep = rng.uniform(size=(3, seq)) < 0.6
    spoilt = np.where(keep[..., None], x, np.nan)
    options = {"state": lib.array(held), "activation": "silu", "return_state": True}
    given = [lib.array(a) for a in (spoilt, weight, bias)]
    out, last = map(lib.numpy, lib.short_convolution(*given, keep=lib.array(keep), **options))
    for row in range(3):
        expected, expected_last = convolved(x[row, keep[row]], weight, bias, held[row])
        np.testing.assert_allclose(out[row, keep[row]], expected, atol=1e-12)
        np.testing.assert_allclose(last[row], expected_last, atol=1e-12)
        assert not out[row, ~keep[row]].any()


def test_a_convolution_in_parts_is_the_whole_and_the_plain_one(lib, rng):
    x, weight = rng.normal(size=(2, 11, 3)), rng.normal(size=(3, 4))
    expected, expected_last = plain.short_convolution(x, weight, np.zeros((2, 3, 3)))
    state, outs = None, []
    for part in np.split(x, [1, 3, 8], axis=1):
        given = (lib.array(part), lib.array(weight))
        out, state = lib.short_convolution(*given, state=state, return_state=True)
        outs.append(lib.numpy(out))
    np.testing.assert_allclose(np.concatenate(outs, axis=1), expected, atol=1e-13)
    np.testing.assert_allclose(lib.numpy(state), expected_last)


def test_a_convolution_has_gradients(rng):
    x, weight, bias, held = (
        torch.from_numpy(rng.normal(size=shape)).requires_grad_()
        for shape in ((2, 5, 2), (2, 3), (2,), (2, 2, 2))
    )
    keep = torch.tensor([[False, True, True, False, True], [True] * 5])

    def call(x, weight, bias, held):
        options = {"state": held, "keep": keep, "activation": "silu", "return_state": True}
        return mt.short_convolution(x, weight, bias, **options)

    assert torch.autograd.gradcheck(call, (x, weight, bias, held))


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"x": np.ones((2, 5))}, ShapeError, "x should have 3 axes"),
        ({"weight": np.ones((2, 4))}, ShapeError, "channels"),
        ({"weight": np.ones((3, 0))}, ShapeError, "width must be at least 1"),
        ({"bias": np.ones(2)}, ShapeError, "channels"),
        ({"state": np.ones((2, 4, 3))}, ShapeError, "needs a state of 3 tokens, got 4"),
        ({"keep": np.ones((2, 5))}, DTypeError, "keep must be boolean"),
        ({"keep": np.ones((2, 4), bool)}, ShapeError, "seq"),
        ({"activation": "relu"}, ConfigError, "activation must be one of silu"),
        ({"x": np.ones((2, 5, 3), int)}, DTypeError, "x must be floating point"),
    ],
)
def test_a_convolution_refuses_what_does_not_fit(lib, changes, kind, words):
    given = {"x": np.ones((2, 5, 3)), "weight": np.ones((3, 4)), **changes}
    given = {n: lib.array(a) if isinstance(a, np.ndarray) else a for n, a in given.items()}
    with pytest.raises(kind, match=words):
        lib.short_convolution(**given)
