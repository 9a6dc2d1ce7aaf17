"""One conformance suite: what every entry of the registry must do, in both backends.

Nothing here knows a variant by name: configurations, classes, caches and reductions come from
the registry, so that an entry added from anywhere gets all of it.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from math import ceil, prod

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import mini_attn.torch
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, QueryGrowth, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.variants import REGISTRY
from mini_attn.widgets import data
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.cache_calculator import calculate
from mini_attn.widgets.comparison_data import ONE_SHAPE, comparison
from tests.backends.small import decoder_of, small
from tests.forms import own_sizes
from tests.sampling import sampled

D_MODEL = 7
SHOWN = ("n_layers", "n_heads", "n_kv_heads", "head_dim", "v_head_dim")  # of the calculator
AXES = ("batch", "n_heads", "n_kv_heads", "head_dim", "v_head_dim", "seq")
SIZES = [(1, 1, 1, 1, 1, 1), (2, 6, 3, 5, 3, 7), (3, 4, 2, 8, 8, 13), (1, 12, 4, 4, 4, 16)]
ROPE = RopeConfig(layout="half", rotary_dim=2)
OPTIONS = [
    {},
    {"bias": True, "qk_norm": True, "softcap": 2.0},
    {"window": 3},
    {"rope": ROPE},
    {"alibi": True, "scale": 0.3},
    {"sinks": True},
    {"window": 3, "chunked": True},
    {"query_growth": QueryGrowth(0.7, 2, offset=1)},
    {"rope": RopeConfig(layout="interleaved", theta=100.0), "q_lora_rank": None, "bias": True},
    {"conv_bias": True, "bias": True, "out_bias": True},
    {"negative_eigenvalues": True},
    {"norm_over": "width", "scale": 0.3},
    {"out_gate": True, "bias": True},
]


def sizes_of(size, **changed):
    """Every size that a configuration may ask for, by name."""
    batch, n_heads, n_kv_heads, head_dim, v_head_dim, seq = size
    return (
        {
            "batch": batch,
            "seq": seq,
            "d_model": D_MODEL,
            "n_heads": n_heads,
            "n_kv_heads": n_kv_heads,
            "head_dim": head_dim,
            "v_head_dim": v_head_dim,
            "qk_nope_head_dim": head_dim,
            "n_key_heads": n_kv_heads,
        }
        | own_sizes()
        | changed
    )


def config_of(name, size, *, changed=None, **options):
    """The variant's configuration, or None where it has no such option or the sizes forbid it.

    A variant may refuse an option in words; most of them are tried, as a test below says.
    """
    entry = REGISTRY[name]
    sizes = sizes_of(size, **(changed or {}))
    kind = type(entry.configure(sizes))
    known = {field.name for field in dataclasses.fields(kind)}
    if not options.keys() <= known or (options.get("rope") and "head_dim" in known and size[3] < 4):
        return None
    if (
        issubclass(kind, AttentionConfig)
        and options.get("rope")
        and options["rope"].rotary_dim is None
    ):
        options = options | {"rope": dataclasses.replace(options["rope"], rotary_dim=4)}
    try:
        return entry.configure(sizes, **options)
    except ConfigError as refusal:
        if not any(f"{option} has no meaning" in str(refusal) for option in options):
            raise
        return None


def model_of(name, size, **changes):
    """A model of the variant with three layers of these sizes."""
    entry = REGISTRY[name]
    given = sizes_of(size)
    given |= entry.fix(given)
    taken = {"d_model", "n_heads", "n_kv_heads", "v_head_dim", *entry.factors}
    taken |= {"qk_nope_head_dim", "window"} & set(entry.sizes) | set(entry.choice)
    return small(
        name,
        **{key: given[key] for key in taken} | {"head_dim": config_of(name, size).head_dim},
        **changes,
    )


def layer_of(lib, name, config, seed=11):
    """The variant's layer with weights of size 1, the same in both backends."""
    layer = REGISTRY[name].layer_class(lib.name)(config, dtype="float64")
    rng = np.random.default_rng(seed)
    state = {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def new_cache(lib, layer, batch, capacity):
    """A cache with NaN in every slot: what holds no token must not be read."""
    cache = layer.new_cache(batch, capacity)
    own = (*vars(cache).values(), *cache._state.arrays)
    arrays = [a for a in own if "float" in str(getattr(a, "dtype", ""))]
    assert arrays, f"no array of {type(cache).__name__} was found"
    for array in arrays:
        array[...] = float("nan")
    return cache


def cases():
    """Variant, sizes and options, wherever they go together."""
    for name in REGISTRY:
        for size in SIZES:
            for extra in OPTIONS:
                if config_of(name, size, **extra) is not None:
                    words = "-".join(extra) or "plain"
                    yield pytest.param(name, size, extra, id=f"{name}-{size[1]}x{size[3]}-{words}")


every = pytest.mark.parametrize("name", list(REGISTRY))
sizes = pytest.mark.parametrize("size", SIZES, ids=str)
CASES = ("name", "size", "extra")
each_case = pytest.mark.parametrize(CASES, list(cases()))
# Of each entry and each set of options one size.
each_kind = pytest.mark.parametrize(
    CASES, sampled(cases(), lambda case: (case.values[0], case.values[2]))
)


@every
def test_an_entry_is_built_in_both(backends, name):
    entry = REGISTRY[name]
    for lib in backends:
        layer = entry.layer_class(lib.name)
        assert layer.__name__ == entry.class_name
    assert config_of(name, SIZES[1]).variant == name


@every
def test_most_options_are_tried(name):
    tried = [extra for extra in OPTIONS if config_of(name, SIZES[2], **extra) is not None]
    assert len(tried) >= 2


@each_case
def test_shape_and_backends_agree(backends, rng, name, size, extra):
    config = config_of(name, size, **extra)
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    first, second = (run(lib, layer_of(lib, name, config), x) for lib in backends)
    assert first.shape == x.shape
    np.testing.assert_allclose(first, second, atol=1e-11)


@each_kind
def test_the_future_does_not_reach_the_past(lib, rng, name, size, extra):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    out = run(lib, layer, x)
    for changed in {size[5] - 1, size[5] // 2}:
        other = x.copy()
        other[:, changed:] += rng.standard_normal(other[:, changed:].shape)
        moved = run(lib, layer, other)
        assert (moved[:, :changed] == out[:, :changed]).all()  # to the last bit
        assert (moved[:, changed] != out[:, changed]).any()


@each_kind
def test_one_by_one_equals_the_full_pass(lib, rng, name, size, extra):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    cache = new_cache(lib, layer, size[0], size[5])
    steps = [run(lib, layer, x[:, i : i + 1], cache=cache) for i in range(size[5])]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), run(lib, layer, x), atol=1e-11)


@every
@given(chunks=st.lists(st.integers(1, 6), min_size=1, max_size=6), extra=st.sampled_from(OPTIONS))
def test_any_chunks_equal_the_full_pass(lib, name, chunks, extra):
    size = (2, 6, 3, 5, 3, sum(chunks))
    config = config_of(name, size, **extra) or config_of(name, size)
    layer = layer_of(lib, name, config)
    x = np.random.default_rng(len(chunks)).standard_normal((2, size[5], 7))
    cache, start, parts = new_cache(lib, layer, 2, size[5] + 3), 0, []
    for chunk in chunks:
        parts.append(run(lib, layer, x[:, start : start + chunk], cache=cache))
        start += chunk
    np.testing.assert_allclose(np.concatenate(parts, axis=1), run(lib, layer, x), atol=1e-11)


@every
@sizes
def test_rows_of_a_batch_do_not_meet(lib, rng, name, size):
    layer = layer_of(lib, name, config_of(name, size))
    x = rng.standard_normal((3, size[5], 7))
    together = run(lib, layer, x)
    alone = [run(lib, layer, x[i : i + 1]) for i in range(3)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-11)
    other = x.copy()
    other[1] += 1.0
    moved = run(lib, layer, other)
    assert (moved[[0, 2]] == together[[0, 2]]).all()


@every
@sizes
def test_heads_do_not_meet(lib, rng, name, size):
    """A head whose part of the output projection is zero could ask anything: nobody notices."""
    config = config_of(name, size)
    layer = layer_of(lib, name, config)
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    asks = "q_b_proj.weight" if "q_b_proj.weight" in state else "q_proj.weight"
    together = size[1] // size[2] if REGISTRY[name].group_chooses else 1
    rows, columns = len(state[asks]) // size[1], state["o_proj.weight"].shape[1] // size[1]
    columns *= together  # heads that choose together are silent together
    different = state | {asks: state[asks].copy()}
    different[asks][-rows:] += 1.0
    outs = []
    for weights in (state, different):
        layer.load_state_dict(weights)
        heard = run(lib, layer, x)
        silent = weights | {"o_proj.weight": weights["o_proj.weight"].copy()}
        silent["o_proj.weight"][:, -columns:] = 0.0
        layer.load_state_dict(silent)
        outs.append((heard, run(lib, layer, x)))
    np.testing.assert_allclose(outs[0][1], outs[1][1], atol=1e-12)
    assert size[5] == 1 or (outs[0][0] != outs[1][0]).any()


@each_kind
@pytest.mark.parametrize("cached", [True, False])
def test_left_padding_changes_nothing(lib, rng, name, size, extra, cached):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    seq = size[5]
    x = rng.standard_normal((1, seq, 7))
    expected = run(lib, layer, x)
    padded = np.concatenate([rng.standard_normal((1, 3, 7)), x], axis=1)
    positions = np.concatenate([np.full(3, -1), np.arange(seq)])
    if not cached:
        out = run(lib, layer, padded, positions=positions)
    else:
        cache = new_cache(lib, layer, 1, seq + 3)
        half = 3 + seq // 2
        parts = [run(lib, layer, padded[:, :half], cache=cache, positions=positions[:half])]
        for i in range(half, seq + 3):  # positions continue by themselves
            parts.append(run(lib, layer, padded[:, i : i + 1], cache=cache))
        out = np.concatenate(parts, axis=1)
        assert lib.numpy(cache.length).tolist() == [seq]
    np.testing.assert_allclose(out[:, 3:], expected, atol=1e-11)
    assert np.isfinite(out).all()


@every
@sizes
@pytest.mark.parametrize(("dtype", "dtype_bytes"), [("float16", 2), ("float32", 4)])
def test_cache_bytes_equal_the_formula(lib, name, size, dtype, dtype_bytes):
    batch, seq = size[0], size[5]
    config, model = config_of(name, size), model_of(name, size)
    decoder = lib.Decoder(DecoderConfig(5, 3, config, d_ff=2, max_positions=seq + 2), dtype=dtype)
    caches = decoder.new_caches(batch, seq + 2)
    decoder(lib.array(np.zeros((batch, seq), int)), caches=caches)
    for context, total in (
        (seq + 2, sum(cache.allocated_bytes for cache in caches)),
        (seq, sum(cache.used_bytes for cache in caches)),
    ):
        expected = cost.cache_bytes(model, batch=batch, context=context, dtype_bytes=dtype_bytes)
        assert total == expected
    held = sum(a.nbytes for cache in caches for a in cache.view()[:-1])  # all but positions
    assert held == sum(cache.used_bytes for cache in caches)


@every
@sizes
def test_a_cache_holds_the_fields_of_its_entry(lib, name, size):
    """One array for each field, in that order, of that many numbers a token or block."""
    entry, model = REGISTRY[name], model_of(name, size)
    layer = layer_of(lib, name, config_of(name, size))
    cache = layer.new_cache(size[0], size[5])
    assert type(cache) is entry.cache_type(lib.name)
    for tokens in range(1, size[5] + 1):
        layer(lib.array(np.zeros((size[0], 1, D_MODEL))), cache=cache)
        *arrays, positions = cache.view()
        kept = positions.shape[1]
        assert kept == tokens if entry.length_rule == "all" else kept <= tokens
        kept = tokens if entry.length_rule == "state" else kept
        counts = [int(np.prod(array.shape)) // size[0] for array in arrays]
        assert counts == [field.held(model, kept) for field in entry.cache]


@every
def test_a_decoder_runs_the_layer_whole(lib, rng, name):
    """Every weight of the layer reaches the logits, and decoding equals the full pass."""
    config = DecoderConfig(5, 1, config_of(name, SIZES[1]), d_ff=2, max_positions=9)
    decoder = lib.Decoder(config, dtype="float64")
    state = {key: np.array(lib.numpy(w)) for key, w in decoder.state_dict().items()}
    state |= {key: rng.standard_normal(w.shape) for key, w in state.items()}
    decoder.load_state_dict(state)
    tokens = lib.array(rng.integers(0, 5, (2, 7)))
    out = lib.numpy(decoder(tokens))
    caches = decoder.new_caches(2, 7)
    steps = [lib.numpy(decoder(tokens[:, i : i + 1], caches=caches)) for i in range(7)]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), out, atol=1e-10)
    layer = layer_of(lib, name, config_of(name, SIZES[1]))
    own = [key for key in state if any(key.endswith(f".{part}") for part in layer.state_dict())]
    assert len(own) >= len(layer.state_dict())

    def changes(key):
        decoder.load_state_dict(state | {key: state[key] + rng.standard_normal(state[key].shape)})
        return (lib.numpy(decoder(tokens)) != out).any()

    for key in own:  # a weight that only chooses may leave the choice as it was
        assert any(changes(key) for _ in range(20)), key


@every
def test_costs_equal_what_a_decoder_has_and_does(name):
    """Parameters counted in the real decoder, FLOPs as torch counts them."""
    model = model_of(name, SIZES[1], rope=ROPE)
    decoder = decoder_of(mini_attn.torch, model)
    parameters = sum(w.numel() for w in decoder.parameters())
    assert cost.parameter_count(model) == parameters
    for form in REGISTRY[name].forms or [None]:
        parts = cost.matmul_flops(model, q_len=3, kv_len=5, batch=2, form=form)
        assert set(parts) >= {"projections", "scores", "weighted sum", "output", "mlp", "logits"}
        assert all(flops > 0 for flops in parts.values())
    caches, tokens = decoder.new_caches(2, 8), torch.zeros((2, 7), dtype=torch.int64)
    for new, held in ((7, 7), (1, 8)):
        with (
            torch.no_grad(),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            decoder(tokens[:, :new], caches=caches)
        parts = cost.matmul_flops(model, q_len=new, kv_len=held, batch=2, logit_rows=new)
        # A triangular system and, for one token, an outer product: torch counts neither.
        unseen = parts.get("solve", 0) + (parts.get("write", 0) if new == 1 else 0)
        assert counter.get_total_flops() == sum(parts.values()) - unseen
    step = cost.step_bytes(model, kv_len=8, dtype_bytes=1)
    assert step["weights"] <= parameters
    assert cost.cache_intensity(model, dtype_bytes=1) > 0


@every
def test_calculator_and_comparison_have_their_rows(name):
    """The calculator, by hand and from the generated data; a row beside all other variants."""
    entry, model = REGISTRY[name], model_of(name, SIZES[1])
    (layout,) = [one for one in data.generate()["layouts.json"] if one["name"] == name]
    sizes = [size.name for one in REGISTRY.values() for size in one.cache_sizes]
    own = {key: getattr(model, key) or 1 for key in (*SHOWN, *sizes)}
    own |= {"batch": 3, "context": 11}
    state = {key: item["default"] for key, item in load_schema("cache_calculator").items()}
    got = calculate(state | own | {"model": "own", "attention": name, "full_every": 0})
    assert got["bytes_per_token"] == cost.cache_bytes_per_token(model)
    assert got["total_bytes"] == cost.cache_bytes(model, batch=3, context=11)
    numbers = sum(
        Fraction(prod(own[size] for size in field["factors"]), own.get(field["per"], 1))
        for field in layout["cache"]
        if not (field["last"] or field["once"])  # which no further token adds to
    )
    assert got["bytes_per_token"] == ceil(2 * numbers * model.n_layers)
    terms = [prod(factor.value for factor in term) for term in got["formula"]]
    assert sum(terms) == got["total_bytes"]
    rows = [row for row in comparison()["variants"] if row["name"] == name]
    assert len(rows) == entry.in_comparison
    if not rows:
        assert name not in ONE_SHAPE
        return
    (row,), compared = rows, ONE_SHAPE[name]
    assert row["title"] == entry.title
    assert row["short"]
    assert "{" not in row["short"]
    assert [field["name"] for field in row["fields"]] == [field.name for field in entry.cache]
    per_token = cost.cache_bytes_per_token(compared, dtype_bytes=1)
    numbers = sum(Fraction(field["numbers"], field["tokens"]) for field in row["fields"])
    assert numbers * compared.n_layers == per_token
    form = entry.step_form
    parts = cost.matmul_flops(compared, q_len=1, kv_len=9, causal="exact", form=form)
    assert row["row_flops"] + 9 * row["pair_flops"] == sum(parts.values())


@sizes
@pytest.mark.parametrize(
    ("name", "reduction"),
    [pytest.param(n, r, id=f"{n}-{r.to}-{r}") for n in REGISTRY for r in REGISTRY[n].reduces_to],
)
def test_reductions(lib, rng, name, reduction, size):
    """At the sizes that the registry names, two variants are one, to the last bit."""
    value = sizes_of(size).get(reduction.equals, reduction.equals)
    changed = {reduction.size: value}
    x = rng.standard_normal((size[0], size[5], D_MODEL))
    if reduction.size == "n_heads":
        changed["n_kv_heads"] = value
    first, second = (
        run(lib, layer_of(lib, which, config_of(which, size, changed=changed)), x)
        for which in (name, reduction.to)
    )
    assert (first == second).all()
