"""Configurations drawn at random, whole and broken ones, of every family that is read."""

from __future__ import annotations

from random import Random
from typing import Any

from mini_attn.weights.families._fields import BASE, FIELDS

BROKEN: list[Any] = [0, -3, 1.5, "12", True, [], {}, [3], 2**70, "", "full_attention"]
KINDS = ["full_attention", "sliding_attention"]
NAMES = {  # of keys with a list, or whose numbers have to go together
    "layer_types": lambda draw, n: [draw.choice(KINDS) for _ in range(n)],
    "no_rope_layers": lambda draw, n: [draw.randint(0, 1) for _ in range(n)],
    "compress_ratios": lambda draw, n: [draw.choice([0, 4, 128]) for _ in range(n)],
    "hybrid_layer_pattern": lambda draw, n: [draw.randint(0, 1) for _ in range(n)],
    "moe_layer_freq": lambda draw, n: [draw.randint(0, 1) for _ in range(n)],
    "mlp_layer_types": lambda draw, n: [draw.choice(["dense", "sparse"]) for _ in range(n)],
    "mlp_only_layers": lambda draw, n: [draw.randint(0, n + 1) for _ in range(draw.randint(0, n))],
}
SMALL = ("decoder_sparse_step", "first_k_dense_replace", "max_window_layers", "n_shared_experts",
         "no_rope_layer_interval", "sliding_window_pattern", "expansion_ratio",
         "num_kv_shared_layers")  # fmt: skip
UNKNOWN = {"logit_scale": 0.5, "use_qk_norm": True, "attn_bias": False, "my_key": None,
           "constructor": 3, "toString": "x", "vision": {"a": 1}, "empty": {}}  # fmt: skip


def described(family: str, draw: Random) -> dict[str, Any]:
    """A configuration of a family: mostly sound, now and then with a fault."""
    n_layers, kv = draw.randint(1, 12), draw.choice([1, 2, 4, 8])
    heads = kv * draw.choice([1, 1, 2, 8])
    experts = draw.choice([4, 8, 64])
    known = {
        "n_layers": n_layers, "n_heads": heads, "n_kv_heads": kv,
        "full_n_kv_heads": kv, "d_model": heads * draw.choice([8, 24, 64]), "n_experts": experts,
        "experts_per_token": draw.randint(1, experts),
        "linear_heads": heads, "linear_key_heads": kv, "shared_d_ff": draw.randint(0, 3),
    }  # fmt: skip
    entries = "compress_rates" in FIELDS[family]["also"].split()
    if entries:  # one key for all heads
        known["n_kv_heads"] = 1
    made: dict[str, Any] = {"model_type": family}
    for name, spec in (BASE | FIELDS[family]).items():
        if isinstance(spec, str) and " " in spec:
            continue
        if isinstance(spec, str):
            made[spec] = known.get(name) or draw.randint(1, 5000)
        elif key := spec.get("key") or spec.get("list"):
            keys = [key] if isinstance(key, str) else draw.sample(key, draw.randint(1, len(key)))
            if "default" in spec and draw.random() < 0.4 and name not in ("n_experts",):
                continue
            value = _value(name, keys[0], spec, known, draw)
            made |= dict.fromkeys(keys, value)
    if "vocab_size_per_layer_input" in FIELDS[family]["also"]:
        made["vocab_size_per_layer_input"] = made.get("vocab_size", 262144)
    if entries:
        made |= _entries(made, draw)
    if "states" in FIELDS[family] and isinstance(kinds := made.get("layer_types"), list):
        made["layer_types"] = [
            kind.replace("sliding", "linear") if draw.random() < 0.99 else kind for kind in kinds
        ]
    if "expand" in FIELDS[family]["also"].split():  # its heads are as wide as it says
        made |= {"num_heads": heads, "hidden_size": known["d_model"]}
        made["head_dim"] = 2 * known["d_model"] // heads
    for flag in ("multi_query", "new_decoder_architecture", "parallel_attn"):
        if flag in FIELDS[family]["also"] and draw.random() < 0.5:
            made[flag] = draw.choice([True, False, None])
    if draw.random() < 0.2:
        key = draw.choice(list(made))
        made[key] = draw.choice([None, *BROKEN])
    if draw.random() < 0.1:
        made.pop(draw.choice(list(made)))
    if draw.random() < 0.2:
        made |= dict([draw.choice(list(UNKNOWN.items()))])
    return made


def _entries(made: dict[str, Any], draw: Random) -> dict[str, Any]:
    """Other words for layers with entries, and now and then other numbers of tokens."""
    kinds = {4: "compressed_sparse_attention", 128: "heavily_compressed_attention",
             0: "sliding_attention"}  # fmt: skip
    if not made.get("layer_types"):
        told: dict[str, Any] = {}
    elif draw.random() < 0.5:
        told = {"layer_types": None}
    else:
        told = {"layer_types": [draw.choice(list(kinds.values())) for _ in made["layer_types"]]}
    if draw.random() < 0.3:
        told["compress_rates"] = {
            kinds[4]: draw.choice([2, 4, 8]),
            kinds[128]: draw.choice([8, 64]),
        }
    if draw.random() < 0.1:
        told["compress_rate_csa"] = draw.choice([4, 16, None])
    return told


def _value(name: str, key: str, spec: dict[str, Any], known: dict[str, int], draw: Random) -> Any:
    """A value of the kind that the table asks for, null now and then."""
    if draw.random() < 0.08:
        return None
    if key in NAMES:
        return NAMES[key](draw, known["n_layers"] + draw.choice([0, 0, 1, 0, -1]))
    if isinstance(spec.get("default"), bool):
        return draw.random() < 0.5
    if key in SMALL:  # dense or windowed layers: now and then as many as there are
        return draw.choice([draw.randint(spec.get("least", 1), 7), 12])
    return known.get(name) or 2 * draw.randint(1, 2500)  # even: heads may turn
