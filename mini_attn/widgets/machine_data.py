"""What the page that measures its own tab knows: sizes, right outputs, machines to compare with."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.numpy import scaled_dot_product_attention

__all__ = ["drawn", "expected", "inputs", "machine"]

STORED = Path(__file__).parents[1] / "stored.json"
NUMBER_BYTES = 4  # float32, which every adapter has
CHECK_KEYS = 300  # the last span of keys and its last tile are shorter than the others
EVERY = 13  # of so many outputs one is compared: shares no factor with a size of a kernel
# A factor that makes the softmax choose: with queries as narrow as keys all weights are alike.
QUERY_WIDTH = 8
SEEDS = {"q": 1, "k": 2, "v": 3}
# The page's rows: what is stored is one key and one value a key/value head, or one latent.
SHOWN = {
    "mha": ("MHA", "llama-2-7b"),
    "gqa": ("GQA", "llama-3-8b"),
    "mla": ("MLA, absorbed", "deepseek-v2-lite"),
}

Array = NDArray[Any]


def drawn(seed: int, n: int) -> Array:
    """Numbers from -1 up to 1 that the page's two other languages draw, too.

    Parameters
    ----------
    seed : int
        Which stream.
    n : int
        How many of its numbers, from the first on.

    Returns
    -------
    array (n,) of float64
        Multiples of ``2**-23``, so that float32 holds them exactly.

    Examples
    --------
    >>> drawn(2, 3).tolist() == drawn(2, 5)[:3].tolist()
    True
    """
    x = np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B1)
    x += np.uint32(seed * 0x85EBCA6B & 0xFFFFFFFF)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x21F0AAAD)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x735A2D97)
    x ^= x >> np.uint32(15)
    return (x >> np.uint32(8)) / 2.0**23 - 1


def _case(name: str) -> dict[str, Any]:
    """Sizes of one layer's decode attention, and its FLOPs and bytes for one key."""
    title, listed = SHOWN[name]
    model = MODELS[listed]
    rank, rope = (getattr(model, key, 0) for key in ("kv_lora_rank", "qk_rope_head_dim"))
    key_dim, value_dim = (rank + rope, rank) if rank else (model.head_dim, model.v_head_dim)
    flops = cost.attention_flops(
        1, 1, n_heads=model.n_heads, head_dim=key_dim, v_head_dim=value_dim
    )
    return {
        "title": title,
        "model": model.title,
        "n_heads": model.n_heads,
        "n_kv_heads": 1 if rank else model.n_kv_heads,
        "key_dim": key_dim,
        "value_dim": value_dim,
        "latent": bool(rank),
        "scale": 1 / math.sqrt(model.head_dim),
        "flops_per_key": sum(flops.values()),
        "bytes_per_key": cost.cache_bytes_per_token(model, dtype_bytes=NUMBER_BYTES)
        // model.n_layers,
    }


def inputs(case: dict[str, Any], kv_len: int = CHECK_KEYS) -> tuple[Array, Array, Array]:
    """Queries, keys and values of a case; latents are keys, and values up to their rank.

    Parameters
    ----------
    case : dict
        An entry of ``machine()["cases"]``.
    kv_len : int
        Keys.

    Returns
    -------
    tuple of array
        ``q`` ``(1, n_heads, 1, key_dim)``, ``k`` and ``v`` ``(1, n_kv_heads, kv_len, dim)``.
    """
    heads, kv_heads = case["n_heads"], case["n_kv_heads"]
    key_dim, value_dim = case["key_dim"], case["value_dim"]
    q = QUERY_WIDTH * drawn(SEEDS["q"], heads * key_dim).reshape(1, heads, 1, key_dim)
    k = drawn(SEEDS["k"], kv_heads * kv_len * key_dim).reshape(1, kv_heads, kv_len, key_dim)
    if case["latent"]:
        return q, k, k[..., :value_dim]
    shape = (1, kv_heads, kv_len, value_dim)
    return q, k, drawn(SEEDS["v"], math.prod(shape)).reshape(shape)


def expected(case: dict[str, Any]) -> Array:
    """All outputs of a case in float64, flat.

    Parameters
    ----------
    case : dict
        An entry of ``machine()["cases"]``.

    Returns
    -------
    array (n_heads * value_dim,)
        Of `CHECK_KEYS` keys.
    """
    out: Array = scaled_dot_product_attention(*inputs(case), scale=case["scale"])
    return out.ravel()


def _machines() -> list[dict[str, Any]]:
    """Devices with a float32 rate on their data sheet, and the machine that is stored."""
    listed = [
        {
            "key": key,
            "name": device.name,
            "source": device.source,
            "bytes_per_second": device.bytes_per_second,
            "flops_per_second": device.flops_per_second["float32"],
        }
        for key, device in cost.DEVICES.items()
        if "float32" in device.flops_per_second
    ]
    stored = json.loads(STORED.read_text(encoding="utf-8"))["kv-cache/speedup"]
    name = stored["machine"].rpartition(",")[0]
    return [
        *listed,
        {
            "key": "stored",
            "name": name,
            "source": f"measured with {stored['command']} on {stored['date']}",
            "bytes_per_second": max(stored["read_bytes_per_second"].values()),
            "flops_per_second": stored["matmul_flops_per_second"],
        },
    ]


def machine() -> dict[str, Any]:
    """Data of the page that measures its own tab.

    Returns
    -------
    dict
        ``seeds``, ``query_width``, ``check_keys`` and ``every``, from which the page draws the
        inputs of its check; ``cases`` with their sizes and, in ``expected``, every 13th output;
        ``machines`` with their rates in float32.
    """
    cases = {name: _case(name) for name in SHOWN}
    for case in cases.values():
        case["expected"] = expected(case)[::EVERY].round(7).tolist()
    return {
        "seeds": SEEDS, "query_width": QUERY_WIDTH, "check_keys": CHECK_KEYS, "every": EVERY,
        "cases": cases, "machines": _machines(),
    }  # fmt: skip
