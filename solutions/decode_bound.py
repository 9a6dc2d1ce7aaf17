"""The least time of a decode step."""

import numpy as np


def decode_bound(
    batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
    bytes_per_second, flops_per_second,
):  # fmt: skip
    moved = weight_bytes + batch * context * cache_bytes
    flops = batch * (row_flops + context * pair_flops)
    return np.maximum(moved / bytes_per_second, flops / flops_per_second)


REFERENCE = decode_bound


def _variant(join=np.maximum, *, per_batch=False, **change):
    """The bound with some of its factors changed."""

    def answer(
        batch, context, weight_bytes, cache_bytes, row_flops, pair_flops,
        bytes_per_second, flops_per_second,
    ):  # fmt: skip
        named = {"one": np.ones_like(batch), "batch": batch, "none": 0 * batch}
        weights = named[change.get("weights", "one")]
        caches = named[change.get("caches", "batch")]
        rows = named[change.get("rows", "batch")]
        seen = context if change.get("seen", True) else 1
        met = context if change.get("met", True) else 1
        moved = weights * weight_bytes + caches * seen * cache_bytes
        flops = rows * (row_flops + change.get("pairs", 1) * met * pair_flops)
        seconds = join(moved / bytes_per_second, flops / flops_per_second)
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
    reading, computing = weights + caches, rows + pairs
    return reading if reading.max() > computing.max() else computing


def _part_by_part(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights, rows) + np.maximum(caches, pairs)


def _prompt(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights + caches, (rows + pairs) * inputs["context"])


def _pairs_once(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights + caches, rows + pairs / inputs["batch"])


def _row_once(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights + caches, rows / inputs["batch"] + pairs)


def _twice(**inputs):
    weights, caches, rows, pairs = _times(inputs)
    return np.maximum(weights + caches, 2 * (rows + pairs))


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one number", _one_number, "type", "NumPy array"),
    ("added", _variant(np.add), "by hand", "side by side"),
    ("shorter", _variant(np.minimum), "by hand", "when both are"),
    ("one cache", _variant(caches="one"), "by hand", "Each sequence has its own"),
    ("weights for each", _variant(weights="batch"), "by hand", "serves the whole batch"),
    ("one token read", _variant(seen=False), "by hand", "all of the context"),
    ("one token met", _variant(met=False), "by hand", "meets all of the context"),
    ("one row", _variant(rows="one"), "by hand", "single sequence"),
    ("no cache", _variant(caches="none"), "by hand", "not read"),
    ("no pairs", _variant(pairs=0), "by hand", "left out"),
    ("reading only", _variant(lambda a, b: a), "by hand", "Only the reading"),
    ("arithmetic only", _variant(lambda a, b: b), "by hand", "Only the arithmetic"),
    ("each token", _variant(per_batch=True), "by hand", "for each token"),
    ("rates swapped", _rates_swapped, "by hand", "should be"),
    ("one side for all", _one_side, "by hand", "entry by entry"),
    ("part by part", _part_by_part, "by hand", "totals"),
    ("a prompt's arithmetic", _prompt, "by hand", "arithmetic of a prompt"),
    ("pairs of one sequence", _pairs_once, "by hand", "one sequence's pairs"),
    ("row of one sequence", _row_once, "by hand", "one sequence's row"),
    ("added, one cache", _variant(np.add, caches="one"), "by hand", "Two things"),
    ("FLOPs twice", _twice, "by hand", "FLOPs already"),
]
