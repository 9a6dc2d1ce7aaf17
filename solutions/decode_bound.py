"""The least time of a decode step."""

import numpy as np


def decode_bound(
    batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
    bytes_per_second, flops_per_second,
):  # fmt: skip
    weights = np.maximum(
        weight_bytes / bytes_per_second,
        batch * row_flops / flops_per_second,
    )
    attention = np.maximum(
        batch * context * cache_bytes / bytes_per_second,
        batch * context * pair_flops / flops_per_second,
    )
    return weights + attention


REFERENCE = decode_bound


def _variant(join=np.maximum, *, end=np.add, per_batch=False, **change):
    """The bound with some of its factors changed."""

    def answer(
        batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
        bytes_per_second, flops_per_second,
    ):  # fmt: skip
        named = {"one": np.ones_like(batch), "batch": batch, "none": 0 * batch}
        weights = named[change.get("weights", "one")] * weight_bytes
        seen = context if change.get("seen", True) else 1
        met = context if change.get("met", True) else 1
        caches = named[change.get("caches", "batch")] * seen * cache_bytes
        rows = named[change.get("rows", "batch")]
        pairs = named[change.get("pairs", "batch")] * met * pair_flops
        seconds = end(
            join(weights / bytes_per_second, rows * row_flops / flops_per_second),
            join(caches / bytes_per_second, pairs / flops_per_second),
        )
        return seconds / batch if per_batch else seconds

    return answer


def _starter(
    batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
    bytes_per_second, flops_per_second,
):  # fmt: skip
    raise NotImplementedError


def _one_number(**inputs):
    return float(decode_bound(**inputs)[0])


def _rates_swapped(**inputs):
    inputs["bytes_per_second"], inputs["flops_per_second"] = (
        inputs["flops_per_second"],
        inputs["bytes_per_second"],
    )
    return decode_bound(**inputs)


def _times(inputs):
    batch, context = inputs["batch"], inputs["context"]
    rate, peak = inputs["bytes_per_second"], inputs["flops_per_second"]
    return (
        inputs["weight_bytes"] / rate + 0 * batch, batch * context * inputs["cache_bytes"] / rate,
        batch * inputs["row_flops"] / peak, batch * context * inputs["pair_flops"] / peak,
    )  # fmt: skip


def _one_side(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    products = weights if weights.max() > rows.max() else rows
    return products + np.maximum(caches, pairs)


def _totals(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights + caches, rows + pairs)


def _prompt(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    context = inputs["context"]
    return np.maximum(weights, rows * context) + np.maximum(caches, pairs * context)


def _pairs_once(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights, rows) + np.maximum(caches, pairs / inputs["batch"])


def _row_once(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights, rows / inputs["batch"]) + np.maximum(caches, pairs)


def _twice(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights, 2 * rows) + np.maximum(caches, 2 * pairs)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one number", _one_number, "type", "NumPy array"),
    ("added", _variant(np.add), "by hand", "overlap"),
    ("shorter", _variant(np.minimum), "by hand", "when both are"),
    ("one cache", _variant(caches="one"), "by hand", "Each sequence has its own"),
    ("weights for each", _variant(weights="batch"), "by hand", "serves the whole batch"),
    ("one token read", _variant(seen=False), "by hand", "all of the context"),
    ("one token met", _variant(met=False), "by hand", "meets all of the context"),
    ("one row", _variant(rows="one", pairs="one"), "by hand", "single sequence"),
    ("no cache", _variant(caches="none"), "by hand", "don't read the caches"),
    ("no pairs", _variant(pairs="none"), "by hand", "left the pairs"),
    ("reading only", _variant(lambda a, b: a), "by hand", "only the reading"),
    ("arithmetic only", _variant(lambda a, b: b), "by hand", "only the arithmetic"),
    ("each token", _variant(per_batch=True), "by hand", "per token"),
    ("rates swapped", _rates_swapped, "by hand", "should be"),
    ("one side for all", _one_side, "by hand", "entry by entry"),
    ("totals first", _totals, "by hand", "nothing multiplies weights"),
    ("longer operation", _variant(end=np.maximum), "by hand", "follow one another"),
    ("no attention", _variant(caches="none", pairs="none"), "by hand", "left out attention"),
    ("totals, each token", lambda **i: _totals(**i) / i["batch"], "by hand", "Two things"),
    ("a prompt's arithmetic", _prompt, "by hand", "arithmetic of a prompt"),
    ("pairs of one sequence", _pairs_once, "by hand", "one sequence's pairs"),
    ("row of one sequence", _row_once, "by hand", "one sequence's row"),
    ("added, one cache", _variant(np.add, caches="one"), "by hand", "Two things"),
    ("FLOPs twice", _twice, "by hand", "FLOPs already"),
]
