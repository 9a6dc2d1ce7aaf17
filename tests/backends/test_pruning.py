"""Which weights go: their scores, how many stay where, and models without them."""

from __future__ import annotations

import numpy as np
import pytest

from mini_attn.config import AttentionConfig, DecoderConfig, LatentConfig, Pattern, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.plain import later

HEADS = AttentionConfig(16, 4, 4, n_kv_heads=2, rope=RopeConfig("half"))
LATENT = LatentConfig(16, 2, 8, 4, 4, 4, rope=RopeConfig("interleaved"))
TOKENS = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]])


def decoder(lib, attention=HEADS, dtype="float64", **options):
    config = DecoderConfig(19, 2, attention, d_ff=24, max_positions=16, **options)
    model, rng = lib.Decoder(config, dtype=dtype), np.random.default_rng(5)
    state = model.state_dict()
    model.load_state_dict({name: rng.standard_normal(tuple(w.shape)) for name, w in state.items()})
    return model


def test_scores(lib, rng):
    weight, x = rng.standard_normal((6, 8)), rng.standard_normal((20, 8))
    magnitude = lib.numpy(lib.magnitude_scores(lib.array(weight)))
    np.testing.assert_array_equal(magnitude, np.abs(weight))
    norms = np.array([np.linalg.norm(x[:, j]) for j in range(8)])
    wanda = lib.numpy(lib.wanda_scores(lib.array(weight), lib.array(norms)))
    np.testing.assert_allclose(wanda, later.wanda_scores(weight, x), rtol=1e-12)
    # What the output loses without one weight, as a norm over the tokens.
    for i, j in ((0, 0), (3, 7), (5, 2)):
        without = weight.copy()
        without[i, j] = 0
        lost = np.linalg.norm(x @ weight.T - x @ without.T)
        assert wanda[i, j] == pytest.approx(lost)


def test_scores_of_narrow_weights_are_wide(lib):
    weight = lib.array(np.full((1, 2), 300.0, "float16"))
    norms = lib.array(np.array([1000.0, 2.0], "float32"))
    assert lib.numpy(lib.wanda_scores(weight, norms)).tolist() == [[300_000, 600]]
    assert lib.numpy(lib.magnitude_scores(weight)).dtype == "float32"


@pytest.mark.parametrize("share", [0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1])
@pytest.mark.parametrize("within", ["row", "matrix"])
def test_the_lowest_go_and_as_many_as_asked(lib, rng, share, within):
    weight, scores = rng.standard_normal((6, 8)), rng.random((6, 8))
    kept = weight.copy()
    found = lib.prune_weight(lib.array(weight), lib.array(scores), share, within=within)
    found = lib.numpy(found)
    np.testing.assert_array_equal(weight, kept)
    gone = found == 0
    np.testing.assert_array_equal(found[~gone], weight[~gone])
    rows = [(gone.ravel(), scores.ravel())] if within == "matrix" else zip(gone, scores, strict=1)
    for lost, score in rows:
        assert lost.sum() == round(share * len(score))
        if lost.any() and not lost.all():
            assert score[lost].max() < score[~lost].min()
    if within == "row":
        expected = later.keep_highest(weight, scores, 8 - round(8 * share))
        np.testing.assert_array_equal(found, expected)


def test_a_row_is_compared_with_itself(lib):
    weight = lib.array(np.array([[1.0, 2.0], [30.0, 40.0]]))
    scores = lib.magnitude_scores(weight)
    assert lib.numpy(lib.prune_weight(weight, scores, 0.5)).tolist() == [[0, 2], [0, 40]]
    whole = lib.prune_weight(weight, scores, 0.5, within="matrix")
    assert lib.numpy(whole).tolist() == [[0, 0], [30, 40]]


def test_of_equal_scores_the_first_goes(lib):
    weight = lib.array(np.arange(1.0, 9).reshape(1, 8))
    found = lib.prune_weight(weight, lib.array(np.zeros((1, 8))), 0.25)
    assert lib.numpy(found).tolist() == [[0, 0, 3, 4, 5, 6, 7, 8]]


@pytest.mark.parametrize(("n", "m"), [(2, 4), (1, 4), (3, 4), (4, 8), (1, 3)])
def test_n_of_m(lib, rng, n, m):
    weight, scores = rng.standard_normal((5, 24)), rng.random((5, 24))
    found = lib.numpy(lib.n_of_m(lib.array(weight), lib.array(scores), n=n, m=m))
    groups = found.reshape(-1, m)
    assert ((groups != 0).sum(axis=1) == n).all()
    expected = later.keep_highest(weight.reshape(-1, m), scores.reshape(-1, m), n)
    np.testing.assert_array_equal(groups, expected)


def test_what_is_refused(lib, rng):
    weight, scores = lib.array(rng.standard_normal((2, 6))), lib.array(rng.random((2, 6)))
    for share in (-0.1, 1.1, np.nan, "half", None, True):
        with pytest.raises(ConfigError, match="share must"):
            lib.prune_weight(weight, scores, share)
    with pytest.raises(ConfigError, match="within must be one of row, matrix, got 'column'"):
        lib.prune_weight(weight, scores, 0.5, within="column")
    with pytest.raises(ShapeError, match="scores has columns = 5"):
        lib.prune_weight(weight, scores[:, :5], 0.5)
    with pytest.raises(ShapeError, match="norms has columns = 2"):
        lib.wanda_scores(weight, scores[:, 0])
    with pytest.raises(ShapeError, match="4 neighbors at a time do not divide 6 columns"):
        lib.n_of_m(weight, scores)
    with pytest.raises(ConfigError, match="n of m needs n below m, got n = 4 and m = 4"):
        lib.n_of_m(weight, scores, n=4)
    with pytest.raises(ConfigError, match="scores hold NaN"):
        lib.n_of_m(weight, scores * np.nan, m=3)
    with pytest.raises(DTypeError, match="weight must be"):
        lib.magnitude_scores([[1.0]])
    with pytest.raises(DTypeError, match="scores must be floating point"):
        lib.prune_weight(weight, lib.array(np.ones((2, 6), int)), 0.5)
    with pytest.raises(ShapeError, match="weight should have 2 axes"):
        lib.magnitude_scores(weight[0])


# ---- Models ----


@pytest.mark.parametrize("attention", [HEADS, LATENT])
def test_norms_of_what_comes_in(lib, attention):
    model = decoder(lib, attention, mlp="gated", positions="none")
    norms = lib.feature_norms(model, lib.array(TOKENS))
    named = {key.removesuffix(".weight") for key, w in model.state_dict().items() if w.ndim == 2}
    assert norms.keys() == named - {"embed_tokens"}
    x = model.embed_tokens(lib.array(TOKENS))
    first = lib.numpy(model.layers[0].input_layernorm(x)).reshape(-1, 16)
    expected = np.linalg.norm(first, axis=0)
    found = lib.numpy(norms["layers.0.self_attn.q_proj"])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    x = model.layers[0](x)
    before = lib.numpy(model.layers[1].input_layernorm(x)).reshape(-1, 16)
    found = lib.numpy(norms["layers.1.self_attn.q_proj"])
    np.testing.assert_allclose(found, np.linalg.norm(before, axis=0), rtol=1e-9)


def test_both_backends_measure_the_same(backends):
    found = [lib.feature_norms(decoder(lib), lib.array(TOKENS)) for lib in backends]
    assert found[0].keys() == found[1].keys()
    for name in found[0]:
        ours, theirs = (lib.numpy(one[name]) for lib, one in zip(backends, found, strict=True))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("attention", [HEADS, LATENT])
@pytest.mark.parametrize("scored", ["magnitude", "wanda"])
@pytest.mark.parametrize("share", [0.5, Pattern(1, 4)])
def test_a_model_without_the_least(lib, attention, scored, share):
    model = decoder(lib, attention)
    before = {name: lib.numpy(w).copy() for name, w in model.state_dict().items()}
    norms = lib.feature_norms(model, lib.array(TOKENS)) if scored == "wanda" else None
    pruned = lib.prune_weights(model, share, norms=norms)
    for name, after in pruned.state_dict().items():
        after, own = lib.numpy(after), before[name]
        np.testing.assert_array_equal(lib.numpy(model.state_dict()[name]), own)
        if own.ndim < 2 or "embed" in name:
            np.testing.assert_array_equal(after, own)
            continue
        scores = np.abs(own)
        if norms is not None:
            scores = scores * lib.numpy(norms[name.removesuffix(".weight")])
        one = lib.array(own), lib.array(scores)
        half = lib.prune_weight(*one, 0.5) if share == 0.5 else lib.n_of_m(*one, n=1, m=4)
        np.testing.assert_array_equal(after, lib.numpy(half))
    logits = lib.numpy(pruned(lib.array(TOKENS)))
    assert np.isfinite(logits).all()
    assert np.abs(logits - lib.numpy(model(lib.array(TOKENS)))).max() > 0.1


def test_models_that_cannot_be_pruned(lib):
    model = decoder(lib)
    with pytest.raises(ConfigError, match=r"q_proj: norms lack it"):
        lib.prune_weights(model, 0.5, norms={})
    with pytest.raises(ConfigError, match=r"layers\.0\.self_attn\.q_proj: the weights are codes"):
        lib.prune_weights(lib.quantize_weights(model, "int8"), 0.5)
    with pytest.raises(ConfigError, match=r"layers\.0\.self_attn\.q_proj: the weights are codes"):
        lib.feature_norms(lib.quantize_weights(model, "int8"), lib.array(TOKENS))
    with pytest.raises(ConfigError, match="share must lie within 0 and 1"):
        lib.prune_weights(model, 2)
    with pytest.raises(ConfigError, match="share must be a finite number"):
        lib.prune_weights(model, "2:4")
    with pytest.raises(ConfigError, match="within must be one of"):
        lib.prune_weights(model, 0.5, within="model")
    with pytest.raises(ShapeError, match=r"q_proj: 3 neighbors at a time do not divide 16"):
        lib.prune_weights(model, Pattern(1, 3))
    three = {"layers.0.self_attn.q_proj": lib.array(np.ones(3))}
    with pytest.raises(ShapeError, match=r"q_proj: norms has columns = 3"):
        lib.prune_weights(model, 0.5, norms=three)
    with pytest.raises(DTypeError, match="model must be a"):
        lib.prune_weights({}, 0.5)


@pytest.mark.parametrize("attention", [HEADS, LATENT])
def test_what_a_head_is_worth(lib, attention):
    model, tokens = decoder(lib, attention), lib.array(TOKENS)
    before = {name: lib.numpy(w).copy() for name, w in model.state_dict().items()}
    scores = lib.numpy(lib.head_scores(model, tokens))
    assert scores.shape == (2, attention.n_heads)
    for name, weight in model.state_dict().items():
        np.testing.assert_array_equal(lib.numpy(weight), before[name])

    def loss(state):
        other = decoder(lib, attention)
        other.load_state_dict(state)
        logits = lib.numpy(other(tokens))[:, :-1]
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return -np.log(np.take_along_axis(shares, TOKENS[:, 1:, None], 2)).mean()

    for layer, head in ((0, 0), (1, attention.n_heads - 1)):
        key, width = f"layers.{layer}.self_attn.o_proj.weight", attention.v_head_dim
        changed = before[key].copy()
        changed[:, head * width : (head + 1) * width] = 0
        expected = loss(before | {key: changed}) - loss(before)
        assert scores[layer, head] == pytest.approx(expected, rel=1e-6)


def test_heads_that_cannot_be_scored(lib):
    model = decoder(lib)
    with pytest.raises(DTypeError, match="model must be a Decoder of mini_attn"):
        lib.head_scores(model.layers[0], lib.array(TOKENS))
    with pytest.raises(ShapeError, match=r"a row needs two tokens or more, got shape \(2, 1\)"):
        lib.head_scores(model, lib.array(TOKENS[:, :1]))
    with pytest.raises(ConfigError, match="an index must lie in"):
        lib.head_scores(model, lib.array(TOKENS + 50))
    with pytest.raises(ConfigError, match="the weights are codes already"):
        lib.head_scores(lib.quantize_weights(model, "int8"), lib.array(TOKENS))
