"""A layer's FLOPs, part by part."""

import numpy as np


def layer_flops(seq, d_model, n_heads, n_kv_heads, head_dim, causal):
    pairs = seq * (seq + 1) // 2 if causal else seq * seq
    projections = 2 * seq * d_model * head_dim * (n_heads + 2 * n_kv_heads)
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


WRONG = [
    ("multiply-adds", _multiply_adds, "by hand", "2 FLOPs"),
    ("one head", _one_head, "by hand", "one head"),
    ("heads twice", _heads_twice, "by hand", "counted twice"),
    ("always the full square", _always_full, "random", "visible pairs"),
    ("half of the square", _half_square, "random", "splits the diagonal"),
    ("no diagonal", _no_diagonal, "random", "diagonal is missing"),
    ("nothing shared", _no_sharing, "property", "n_kv_heads heads"),
    ("key/value heads only", _kv_heads_only, "property", "its own scores"),
    ("width is d_model", _square_weights, "property", "need not be d_model"),
    ("no weighted sum", _no_values, "by hand", "Wrong here: the weighted sum"),
    ("32 bits", _overflows, "edges", "too large for 32 bits"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("a list", _list, "type", "NumPy array"),
    ("one sum", _sum, "shape", "shape"),
]
