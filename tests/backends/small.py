"""Small models for the tests of costs, real decoders of their sizes, and a counter of products."""

from __future__ import annotations

import numpy as np

from mini_attn.models import ModelConfig


def small(attention="gqa", **changes):
    """A model whose sizes are all different, so that no two can be mistaken for each other."""
    sizes = {
        "n_layers": 3,
        "d_model": 20,
        "n_heads": 6,
        "n_kv_heads": {"mha": 6, "mqa": 1}.get(attention, 2),
        "head_dim": 4,
        "v_head_dim": 5,
        "d_ff": 28,
        "vocab_size": 37,
        "max_context": 64,
        "mlp_matrices": 2,
    }
    return ModelConfig("small", "Small", "made up", attention, **(sizes | changes))


def decoder_of(lib, model):
    """A real decoder with the sizes of a model."""
    return lib.Decoder(model.decoder(), dtype="float32")


class CountedArray(np.ndarray):
    """An array that adds up the FLOPs of every matrix product it takes part in."""

    flops = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [x.view(np.ndarray) if isinstance(x, CountedArray) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(np.asarray(x) for x in out)
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            CountedArray.flops += 2 * result.size * plain[0].shape[-1]
        return result.view(CountedArray) if isinstance(result, np.ndarray) else result
