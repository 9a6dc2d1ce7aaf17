"""Inside a decoder: maps, losses and heads that are switched off."""

from __future__ import annotations

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.stories import WORDS, sample_rows
from mini_attn.stories.inside import attention_maps, matrix_inputs, without_heads, word_losses
from mini_attn.stories.members import MEMBERS

OPEN = [name for name, one in MEMBERS.items() if one.latent is None and one.on_pages]
ROWS = sample_rows(2, 40, seed=4)


def decoder(name: str = "mha") -> ma.Decoder:
    """A member with weights that nobody has trained, large enough that heads differ."""
    model = ma.Decoder(MEMBERS[name].config(len(WORDS)), seed=3)
    model.load_state_dict({k: 2 * v for k, v in model.state_dict().items()})
    return model


@pytest.mark.parametrize("name", OPEN)
def test_maps_are_the_weights_that_the_layers_use(name: str) -> None:
    """Values averaged by the maps and projected are what the attention hands on."""
    model = decoder(name)
    maps = attention_maps(model, ROWS)
    assert maps.shape == (2, 2, 4, 40, 40)
    x = model.embed_tokens(ROWS)
    if name == "learned":
        x = x + model.embed_positions(np.arange(40))
    for layer, weights in zip(model.layers, maps, strict=True):
        attn, h = layer.self_attn, layer.input_layernorm(x)
        v = np.repeat(attn.project(h, h)[2], 4 // attn.config.n_kv_heads, axis=1)
        out = attn.o_proj(ma.merge_heads(weights @ v))
        np.testing.assert_allclose(out, attn(h), atol=1e-5)
        x = layer(x)
    sums = maps.sum(axis=-1)
    assert (sums < 0.999).any() == ("sinks" in name)


def test_maps_of_a_layer_that_reads_another_are_of_that_ones_keys() -> None:
    """The first layer's values, averaged by the second's map, are what the decoder goes on with."""
    model = decoder("shared")
    assert model.config.sources == (0, 0)
    maps, x = attention_maps(model, ROWS), model.embed_tokens(ROWS)
    first, second = model.layers
    h = first.input_layernorm(x)
    v = first.self_attn.project(h, h)[2]
    x = first(x)
    x = x + second.self_attn.o_proj(ma.merge_heads(maps[1] @ v))
    x = x + second.mlp(second.post_attention_layernorm(x))
    logits = model.norm(x) @ model.embed_tokens.weight.T
    np.testing.assert_allclose(logits, model(ROWS), atol=1e-4)
    np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["mla", "mla-16"])
@pytest.mark.parametrize("form", ["expanded", "absorbed"])
def test_maps_of_latent_attention_are_the_weights_that_it_uses(name: str, form: str) -> None:
    """Of each form: the latents averaged by the maps, expanded and projected, are what it gives."""
    model = decoder(name)
    maps, x = attention_maps(model, ROWS), model.embed_tokens(ROWS)
    assert maps.shape == (2, 2, 4, 40, 40)
    for layer, weights in zip(model.layers, maps, strict=True):
        attn, h = layer.self_attn, layer.input_layernorm(x)
        sizes = attn.config
        down = attn.kv_a_proj_with_mqa(h)[..., : sizes.kv_lora_rank]
        latent = ma.rms_norm(down, attn.kv_a_layernorm.weight, eps=sizes.eps)
        up = attn.kv_b_proj.weight.reshape(4, -1, sizes.kv_lora_rank)[:, sizes.qk_nope_head_dim :]
        out = attn.o_proj(ma.merge_heads(weights @ latent[:, None] @ up.swapaxes(1, 2)))
        np.testing.assert_allclose(out, attn(h, form=form), atol=1e-5)
        x = layer(x)
    np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)


def test_maps_of_other_attention_are_refused() -> None:
    model = decoder()
    model.layers[1].self_attn = ma.Linear(4, 4)
    with pytest.raises(ConfigError, match=r"layer 1 must have grouped heads .*, got Linear"):
        attention_maps(model, ROWS)


def test_losses_are_those_of_the_probabilities() -> None:
    model = decoder()
    p = ma.softmax(model(ROWS).astype("float64"))
    wanted = [[-np.log(p[b, i, ROWS[b, i + 1]]) for i in range(39)] for b in range(2)]
    np.testing.assert_allclose(word_losses(model, ROWS), wanted, rtol=1e-6)


def test_a_head_that_is_off_adds_nothing_and_the_model_stays() -> None:
    model = decoder()
    before = model(ROWS)
    off = without_heads(model, [(0, 1), (1, 3)])
    np.testing.assert_array_equal(model(ROWS), before)
    x = model.embed_tokens(ROWS)
    for n, layer in enumerate(model.layers):
        attn, h = layer.self_attn, layer.input_layernorm(x)
        v = attn.project(h, h)[2]
        out = attention_maps(model if n == 0 else off, ROWS)[n] @ v
        out[:, [1, 3][n]] = 0
        x = x + attn.o_proj(ma.merge_heads(out))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    logits = model.norm(x) @ model.embed_tokens.weight.T
    np.testing.assert_allclose(off(ROWS), logits, atol=1e-4)
    everything = [(layer, head) for layer in range(2) for head in range(4)]
    assert not np.allclose(without_heads(model, everything)(ROWS), logits, atol=1e-2)
    np.testing.assert_array_equal(without_heads(model, [])(ROWS), before)


@pytest.mark.parametrize("head", [(2, 0), (0, 4), (-1, 0), (0, -1), (0, 1.0)])
def test_heads_that_are_not_there_are_named(head: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=r"layer|head"):
        without_heads(decoder(), [head])


@pytest.mark.parametrize("call", [attention_maps, word_losses])
def test_rows_are_checked(call) -> None:
    for rows, error in ((ROWS[0], ShapeError), (ROWS * 1.0, DTypeError), (ROWS + 99, ConfigError)):
        with pytest.raises(error):
            call(decoder(), rows)
    with pytest.raises(ShapeError, match="seq >= 2"):
        word_losses(decoder(), ROWS[:, :1])


def test_inputs_of_matrices_make_their_outputs() -> None:
    model = decoder()
    inputs = matrix_inputs(model, ROWS)
    norms = ma.feature_norms(model, ROWS)
    assert inputs.keys() == norms.keys()
    for name, x in inputs.items():
        assert len(x) == ROWS.size
        np.testing.assert_allclose(np.linalg.norm(x, axis=0), norms[name], rtol=1e-4)
    attn = model.layers[0].self_attn
    hidden = inputs["layers.0.self_attn.q_proj"]
    np.testing.assert_array_equal(hidden, inputs["layers.0.self_attn.k_proj"])
    q, _, _ = attn.project(*(hidden.reshape(*ROWS.shape, -1),) * 2)
    whole = hidden @ attn.q_proj.weight.T  # (tokens, n_heads * head_dim)
    np.testing.assert_allclose(ma.merge_heads(q).reshape(whole.shape), whole, atol=1e-5)
