"""A layer's FLOPs, part by part."""

import numpy as np


def layer_flops(seq, d_model, n_heads, n_kv_heads, head_dim, causal):
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    heads = n_heads + 2 * n_kv_heads
    projections = 2 * seq * d_model * head_dim * heads
    scores = 2 * pairs * n_heads * head_dim
    output = 2 * seq * n_heads * head_dim * d_model
    return np.array([projections, scores, scores, output])


REFERENCE = layer_flops


def _multiply_adds(*sizes, **named):
    return layer_flops(*sizes, **named) // 2


def _one_head(*, n_heads, **named):
    flops = layer_flops(n_heads=n_heads, **named)
    return flops // np.array([1, n_heads, n_heads, 1])


def _heads_twice(*, n_heads, **named):
    return layer_flops(n_heads=n_heads, **named) * np.array([1, n_heads, n_heads, 1])


def _always_full(*, causal, **named):
    return layer_flops(causal=False, **named)


def _half_square(*, causal, **named):
    flops = layer_flops(causal=False, **named)
    return flops // np.array([1, 2, 2, 1]) if causal else flops


def _half_rounded(*, seq, causal, **named):
    flops = layer_flops(seq=seq, causal=causal, **named)
    pairs = seq * seq // 2 if causal else seq * seq
    part = 2 * pairs * named["n_heads"] * named["head_dim"]
    return np.array([flops[0], part, part, flops[3]])


def _queries_of_d_model(*, seq, d_model, n_kv_heads, head_dim, **named):
    flops = layer_flops(seq=seq, d_model=d_model, n_kv_heads=n_kv_heads, head_dim=head_dim, **named)
    return np.array([2 * seq * d_model * (d_model + 2 * n_kv_heads * head_dim), *flops[1:]])


def _no_diagonal(*, seq, causal, **named):
    flops = layer_flops(seq=seq, causal=causal, **named)
    less = seq * (seq - 1) // 2 if causal else seq * seq
    pair = 2 * named["n_heads"] * named["head_dim"]
    return np.array([flops[0], less * pair, less * pair, flops[3]])


def _no_sharing(*, n_kv_heads, n_heads, **named):
    return layer_flops(n_kv_heads=n_heads, n_heads=n_heads, **named)


def _kv_heads_only(*, n_kv_heads, n_heads, **named):
    return layer_flops(n_kv_heads=n_kv_heads, n_heads=n_kv_heads, **named)


def _square_weights(*, seq, d_model, **named):
    flops = layer_flops(seq=seq, d_model=d_model, **named)
    flops[[0, 3]] = 6 * seq * d_model**2, 2 * seq * d_model**2
    return flops


def _floats(**named):
    return layer_flops(**named).astype(float)


def _list(**named):
    return layer_flops(**named).tolist()


def _sum(**named):
    return layer_flops(**named).sum()


def _no_values(**named):
    return layer_flops(**named) * np.array([1, 1, 0, 1])


def _overflows(**named):
    return layer_flops(**named).astype(np.int32)


def _only_scores_causal(*, causal, **named):
    full, flops = layer_flops(causal=False, **named), layer_flops(causal=causal, **named)
    return np.array([flops[0], flops[1], full[2], flops[3]])


def _turned_round(*, causal, **named):
    return layer_flops(causal=not causal, **named)


def _no_values_projected(**named):
    flops = layer_flops(**named)
    flops[0] -= 2 * named["seq"] * named["d_model"] * named["n_kv_heads"] * named["head_dim"]
    return flops


def _output_twice(**named):
    flops = layer_flops(**named)
    flops[0] += flops[3]
    return flops


def _shared_scores(*, n_heads, n_kv_heads, **named):
    flops = layer_flops(n_heads=n_heads, n_kv_heads=n_kv_heads, **named)
    flops[1:3] = flops[1:3] // n_heads * n_kv_heads
    return flops


def _width_of_d_model(*, seq, d_model, n_kv_heads, head_dim, causal, **_):
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    projections = 2 * seq * d_model * (d_model + 2 * n_kv_heads * head_dim)
    return np.array([projections, 2 * pairs * d_model, 2 * pairs * d_model, 2 * seq * d_model**2])


def _full_unshared_halved(*, causal, n_heads, n_kv_heads, **named):
    return layer_flops(causal=False, n_heads=n_heads, n_kv_heads=n_heads, **named) // 2


def _half_square_unshared(*, causal, n_heads, n_kv_heads, **named):
    return _half_square(causal=causal, n_heads=n_heads, n_kv_heads=n_heads, **named)


def _narrow_output(*, n_kv_heads, n_heads, **named):
    flops = layer_flops(n_kv_heads=n_kv_heads, n_heads=n_heads, **named)
    flops[3] = flops[3] // n_heads * n_kv_heads
    return flops


def _no_head_dim(*, head_dim, **named):
    flops = layer_flops(head_dim=head_dim, **named)
    return flops // np.array([1, head_dim, head_dim, 1])


def _changed(change):
    def answer(**named):
        return change(layer_flops(**named), named)

    return answer


def _queries_only(flops, named):
    flops[0] = 2 * named["seq"] * named["d_model"] * named["n_heads"] * named["head_dim"]
    return flops


def _not_halved(flops, named):
    return flops * np.array([1, 2, 2, 1]) if named["causal"] else flops


WRONG = [
    ("queries only", _changed(_queries_only), "by hand", "queries only"),
    ("three times", _changed(lambda f, n: f * np.array([3, 1, 1, 1])), "by hand", "three times"),
    ("one token", _changed(lambda f, n: f // [n["seq"], 1, 1, n["seq"]]), "by hand", "one token"),
    ("not halved", _changed(_not_halved), "random", "forgot to halve"),
    ("multiply-adds", _multiply_adds, "by hand", "2 FLOPs"),
    ("one head", _one_head, "by hand", "one head"),
    ("heads twice", _heads_twice, "by hand", "heads twice in the pairs"),
    ("always the full square", _always_full, "random", "visible pairs"),
    ("half of the square", _half_square, "random", "the diagonal is whole"),
    ("half of the square, rounded", _half_rounded, "random", "the diagonal is whole"),
    ("queries of d_model", _queries_of_d_model, "property", "d_model as the width"),
    ("no diagonal", _no_diagonal, "random", "left out the diagonal"),
    ("nothing shared", _no_sharing, "property", "They have n_kv_heads"),
    ("key/value heads only", _kv_heads_only, "property", "its own scores"),
    ("width is d_model", _square_weights, "property", "d_model as the width"),
    ("no weighted sum", _no_values, "by hand", "Wrong here: the weighted sum"),
    ("32 bits", _overflows, "edges", "too large for 32 bits"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("a list", _list, "type", "NumPy array"),
    ("one sum", _sum, "shape", "shape"),
    ("only the scores causal", _only_scores_causal, "random", "In the weighted sum alone"),
    ("causal turned round", _turned_round, "by hand", "wrong way around"),
    ("no projection of values", _no_values_projected, "by hand", "left out one projection"),
    ("output counted twice", _output_twice, "by hand", "among the projections"),
    ("scores of shared keys", _shared_scores, "property", "its own scores"),
    ("width of the queries is d_model", _width_of_d_model, "property", "d_model as the width"),
    ("half square, nothing shared", _half_square_unshared, "random", "the diagonal is whole"),
    ("three things", _full_unshared_halved, "by hand", "Wrong here"),
    ("output of shared heads", _narrow_output, "property", "takes n_heads heads in"),
    ("scores without head_dim", _no_head_dim, "by hand", "left out head_dim"),
]
