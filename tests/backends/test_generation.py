"""Generation: chunked prefill, sampled and stopped continuations, beam search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from tests.backends.test_decoder import CONFIGS, model_of, tokens_of
from tests.backends.test_sampling import generator

SMALL = DecoderConfig(5, 1, AttentionConfig(6, 2, 3), d_ff=7, max_positions=12)


def small_model(lib):
    model = lib.Decoder(SMALL, dtype="float64")
    rng = np.random.default_rng(8)
    model.load_state_dict(
        {k: rng.standard_normal(tuple(w.shape)) for k, w in model.state_dict().items()}
    )
    return model


def log_probabilities(lib, model, rows, prompt):
    """Of what follows the prompt in each row, computed in one full pass."""
    logits = lib.numpy(model(lib.array(rows)))[:, prompt - 1 : -1]
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.take_along_axis(logs, rows[:, prompt:, None], axis=2)[..., 0].sum(axis=1)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 11, 100])
def test_a_prompt_in_chunks(lib, name, chunk):
    model, tokens = model_of(lib, name), tokens_of(lib, 2, 11)
    caches, chunked = model.new_caches(2, 16), model.new_caches(2, 16)
    expected = lib.numpy(lib.prefill(model, tokens, caches))
    found = lib.numpy(lib.prefill(model, tokens, chunked, chunk=chunk))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert {cache.slots for cache in (*caches, *chunked)} == {11}
    following = lib.array(np.array([[3], [4]]))
    np.testing.assert_allclose(
        lib.numpy(lib.decode_step(model, following, chunked)),
        lib.numpy(lib.decode_step(model, following, caches)),
        atol=1e-9,
    )


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("chunk", [2, 4])
def test_padding_in_chunks(lib, name, chunk):
    """Whole chunks of a row may be padding."""
    model, tokens, lengths = model_of(lib, name), tokens_of(lib, 3, 9), np.array([9, 2, 5])
    caches = model.new_caches(3, 9)
    found = lib.numpy(lib.prefill(model, tokens, caches, lengths=lib.array(lengths), chunk=chunk))
    for row, length in enumerate(lengths):
        alone = lib.numpy(model(tokens[row : row + 1, 9 - length :]))[:, -1]
        np.testing.assert_allclose(found[row : row + 1], alone, atol=1e-9)


def test_what_a_later_chunk_would_refuse_is_refused_first(lib):
    model, caches = model_of(lib), None
    caches = model.new_caches(1, 8)
    with pytest.raises(CacheOverflowError):
        lib.prefill(model, tokens_of(lib, 1, 9), caches, chunk=4)
    bad = np.array(lib.numpy(tokens_of(lib, 1, 6)))
    bad[0, -1] = 29
    with pytest.raises(ConfigError, match="29"):
        lib.prefill(model, lib.array(bad), caches, chunk=2)
    with pytest.raises(ConfigError, match="chunk"):
        lib.prefill(model, tokens_of(lib, 1, 6), caches, chunk=0)
    assert [cache.slots for cache in caches] == [0, 0]


@pytest.mark.parametrize("name", CONFIGS)
def test_sampling_is_the_same_with_and_without_a_cache(lib, name):
    model, tokens = model_of(lib, name), tokens_of(lib, 2, 5)
    outs = [
        lib.numpy(
            lib.generate(
                model, tokens, max_new_tokens=8, caches=caches, temperature=3.0, top_k=20,
                top_p=0.9, generator=generator(lib, 4),
            )
        )
        for caches in (None, model.new_caches(2, 13))
    ]  # fmt: skip
    assert (outs[0] == outs[1]).all()
    greedy = lib.numpy(lib.generate(model, tokens, max_new_tokens=8))
    assert (outs[0] != greedy).any()


def test_a_cold_draw_is_greedy(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 5)
    cold = lib.generate(model, tokens, max_new_tokens=6, temperature=1e-6)
    greedy = lib.generate(model, tokens, max_new_tokens=6)
    assert (lib.numpy(cold) == lib.numpy(greedy)).all()


def test_top_k_of_one_is_greedy(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 5)
    first = lib.generate(model, tokens, max_new_tokens=6, temperature=3.0, top_k=1)
    assert (lib.numpy(first) == lib.numpy(lib.generate(model, tokens, max_new_tokens=6))).all()


def test_options_of_chance_need_a_temperature(lib):
    model, caches = model_of(lib), None
    caches = model.new_caches(1, 9)
    with pytest.raises(ConfigError, match="top_k need a temperature"):
        lib.generate(model, tokens_of(lib, 1, 3), max_new_tokens=2, top_k=3, caches=caches)
    with pytest.raises(ConfigError, match="top_p"):
        lib.generate(
            model, tokens_of(lib, 1, 3), max_new_tokens=2, temperature=1.0, top_p=2.0, caches=caches
        )
    assert caches[0].slots == 0


@pytest.mark.parametrize("cached", [True, False])
def test_a_row_that_stopped_gets_nothing_else(lib, cached):
    model, tokens = model_of(lib), tokens_of(lib, 3, 4)
    free = lib.numpy(lib.generate(model, tokens, max_new_tokens=9))
    stop = int(free[1, 6])
    caches = model.new_caches(3, 12) if cached else None
    out = lib.numpy(lib.generate(model, tokens, max_new_tokens=9, stop_token=stop, caches=caches))
    assert out.shape == free.shape
    for row, other in zip(out, free, strict=True):
        ends = [i for i in range(4, 13) if other[i] == stop]
        end = ends[0] if ends else 13
        assert (row[:end] == other[:end]).all()
        assert (row[end:] == stop).all()


@pytest.mark.parametrize("cached", [False, True])
def test_a_prompt_may_end_with_a_stop_token(lib, cached):
    model, tokens = model_of(lib), tokens_of(lib, 2, 4)
    free = lib.numpy(lib.generate(model, tokens, max_new_tokens=5))
    last = int(free[0, 3])
    caches = model.new_caches(2, 12) if cached else None
    out = lib.numpy(lib.generate(model, tokens, max_new_tokens=1, stop_token=last, caches=caches))
    np.testing.assert_array_equal(out, free[:, :5])
    assert free[0, 4] != last  # else the row would end at once


def test_a_decoder_with_a_call_of_its_own_is_called(lib):
    """A subclass that changes the logits is what generates, with caches and without."""

    class Seven(lib.Decoder):
        def forward(self, tokens, **options):
            logits = (super().__call__ if lib.name == "numpy" else super().forward)(
                tokens, **options
            )
            logits[..., 7] += 100
            return logits

        if lib.name == "numpy":
            __call__ = forward

    model, tokens = Seven(CONFIGS["gpt2"], dtype="float64"), tokens_of(lib, 2, 4)
    for cached in (False, True):
        caches = model.new_caches(2, 12) if cached else None
        out = lib.numpy(lib.generate(model, tokens, max_new_tokens=3, caches=caches))
        assert (out[:, 4:] == 7).all()
        caches = model.new_caches(2, 12) if cached else None
        found, _ = lib.beam_search(model, tokens, n_beams=1, max_new_tokens=3, caches=caches)
        assert (lib.numpy(found)[:, 0, 4:] == 7).all()


def test_a_generation_is_checked_once(lib, monkeypatch):
    """What follows from checked tokens is right: no step asks again."""
    model, tokens, checked = model_of(lib), tokens_of(lib, 2, 4), []
    check = type(model)._check
    monkeypatch.setattr(type(model), "_check", lambda *given: checked.append(1) or check(*given))
    for caches in (None, model.new_caches(2, 12)):
        lib.generate(model, tokens, max_new_tokens=4, caches=caches)
    lib.prefill(model, tokens, model.new_caches(2, 12), chunk=2)
    lib.beam_search(model, tokens, n_beams=2, max_new_tokens=4, caches=model.new_caches(4, 12))
    assert len(checked) == 4


def test_once_all_rows_stopped_nothing_is_computed(lib):
    model, tokens = model_of(lib), tokens_of(lib, 1, 4)
    stop = int(lib.numpy(lib.generate(model, tokens, max_new_tokens=1))[0, -1])
    caches = model.new_caches(1, 12)
    out = lib.generate(model, tokens, max_new_tokens=8, stop_token=stop, caches=caches)
    assert caches[0].slots == 4
    assert (lib.numpy(out)[:, 4:] == stop).all()


@pytest.mark.parametrize("cached", [True, False])
def test_any_of_several_tokens_ends_a_row(lib, cached):
    model, tokens = model_of(lib), tokens_of(lib, 3, 4)

    def drawn(**options):
        chance = {"temperature": 30.0, "generator": generator(lib, 3)}
        return lib.numpy(lib.generate(model, tokens, max_new_tokens=9, **chance, **options))

    free = drawn()
    stops = [int(free[0, 5]), int(free[1, 7])]  # and nothing ends the last row
    out = drawn(stop_token=stops, caches=model.new_caches(3, 12) if cached else None)
    ended = set()
    for row, other in zip(out, free, strict=True):
        end = next((i for i in range(4, 13) if other[i] in stops), 12)
        assert (row[: end + 1] == other[: end + 1]).all()
        assert (row[end:] == other[end]).all()
        ended.add(int(row[-1]))
    assert len({*stops, *ended}) == 3  # each of them has ended a row, and one goes on


def test_options_of_caches_need_caches(lib):
    model, tokens = model_of(lib), tokens_of(lib, 1, 4)
    options = {"chunk": 2, "step": lib.decode_step}
    for name, value in options.items():
        with pytest.raises(ConfigError, match=f"^{name} need caches"):
            lib.generate(model, tokens, max_new_tokens=2, **{name: value})
    with pytest.raises(ConfigError, match=r"^chunk, step need caches"):
        lib.generate(model, tokens, max_new_tokens=2, **options)


def test_lengths_need_empty_caches(lib):
    model, tokens, lengths = model_of(lib), tokens_of(lib, 1, 4), lib.array(np.array([3]))
    caches = model.new_caches(1, 12)
    lib.prefill(model, tokens, caches)
    for act in (
        lambda: lib.prefill(model, tokens, caches, lengths=lengths),
        lambda: lib.generate(model, tokens, max_new_tokens=2, lengths=lengths, caches=caches),
    ):
        with pytest.raises(CacheStateError, match="here 4 slots are filled"):
            act()
    assert [cache.slots for cache in caches] == [4, 4]


@pytest.mark.parametrize("cached", [True, False])
def test_as_many_beams_as_sequences_find_the_best(lib, cached):
    """Nothing is ever dropped, so the search is a full one."""
    model, prompt = small_model(lib), np.array([[1, 4, 2]])
    every = np.array([[1, 4, 2, *rest] for rest in itertools.product(range(5), repeat=2)])
    scores = log_probabilities(lib, model, every, 3)
    caches = model.new_caches(25, 5) if cached else None
    found, found_scores = lib.beam_search(
        model, lib.array(prompt), n_beams=25, max_new_tokens=2, caches=caches
    )
    order = np.argsort(-scores)
    assert (lib.numpy(found)[0] == every[order]).all()
    np.testing.assert_allclose(lib.numpy(found_scores)[0], scores[order], atol=1e-9)


@pytest.mark.parametrize("name", CONFIGS)
def test_beams_are_scored_by_their_own_past(lib, name):
    """A cache that is reordered wrongly gives scores that no full pass gives."""
    model, tokens = model_of(lib, name), tokens_of(lib, 2, 5)
    found, scores = lib.beam_search(
        model, tokens, n_beams=4, max_new_tokens=6, caches=model.new_caches(8, 10)
    )
    rows = lib.numpy(found)
    assert (rows[:, :, :5] == lib.numpy(tokens)[:, None]).all()
    for beams, values in zip(rows, lib.numpy(scores), strict=True):
        assert len({tuple(beam) for beam in beams}) == 4
        assert (np.diff(values) <= 0).all()
        np.testing.assert_allclose(log_probabilities(lib, model, beams, 5), values, atol=1e-8)
    plain, plain_scores = lib.beam_search(model, tokens, n_beams=4, max_new_tokens=6)
    assert (lib.numpy(plain) == rows).all()
    np.testing.assert_allclose(lib.numpy(plain_scores), lib.numpy(scores), atol=1e-8)


def test_one_beam_is_greedy(lib):
    model, tokens = model_of(lib), tokens_of(lib, 2, 5)
    found, _ = lib.beam_search(model, tokens, n_beams=1, max_new_tokens=6)
    greedy = lib.generate(model, tokens, max_new_tokens=6)
    assert (lib.numpy(found)[:, 0] == lib.numpy(greedy)).all()


@pytest.mark.parametrize("cached", [True, False])
def test_beams_of_padded_prompts(lib, cached):
    model, tokens = model_of(lib), tokens_of(lib, 2, 6)
    lengths, caches = lib.array(np.array([6, 3])), model.new_caches(6, 9) if cached else None
    found, scores = lib.beam_search(
        model, tokens, n_beams=3, max_new_tokens=4, lengths=lengths, caches=caches
    )
    alone, alone_scores = lib.beam_search(model, tokens[1:, 3:], n_beams=3, max_new_tokens=4)
    assert (lib.numpy(found)[1, :, 3:] == lib.numpy(alone)[0]).all()
    np.testing.assert_allclose(lib.numpy(scores)[1], lib.numpy(alone_scores)[0], atol=1e-9)


def test_fewer_continuations_than_beams(lib):
    model = small_model(lib)
    _, scores = lib.beam_search(model, lib.array(np.array([[1]])), n_beams=7, max_new_tokens=1)
    assert np.isfinite(lib.numpy(scores)[0]).tolist() == [True] * 5 + [False] * 2


def test_beam_search_refuses(lib):
    model = small_model(lib)
    caches = model.new_caches(3, 4)
    for options in ({"n_beams": 0}, {"n_beams": 3, "max_new_tokens": 20}):
        with pytest.raises((ConfigError, CacheOverflowError)):
            lib.beam_search(
                model, lib.array(np.array([[1]])), caches=caches,
                **{"max_new_tokens": 2} | options,
            )  # fmt: skip
    assert caches[0].slots == 0


@pytest.mark.parametrize("name", ["prefill", "decode_step"])
def test_what_fills_caches_has_one_for_each_layer(lib, name):
    """A layer without a cache would forget the past, and say nothing."""
    model = model_of(lib, "gpt2")
    caches = model.new_caches(1, 8)
    for given in (None, [None] * len(caches), [caches[0], *[None] * (len(caches) - 1)]):
        with pytest.raises(ConfigError, match="one for each layer"):
            getattr(lib, name)(model, lib.array([[3]]), given)
