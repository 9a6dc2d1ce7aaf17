"""Put together what several devices made of their parts of a latent cache."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
The latent cache of one long text is spread over several devices, and each holds some of the tokens.
For one new token, every device has done the absorbed step over its own tokens alone, as if they
were all there is. For each head, it sends `mixed` `(n_devices, n_heads, kv_lora_rank)`, the
weighted sum of its latents, and `lse` `(n_devices, n_heads)`, the logarithm of the sum of the
exponentials of its scores. `w_uv` is `(n_heads, kv_lora_rank, v_head_dim)`. Return `share`
`(n_devices, n_heads)`, the share of each head's weight that belongs to each device's tokens, and
`out` `(n_heads, v_head_dim)`, the output of a device that held them all. Scores can be in the
thousands. A device without tokens sends zeros and −inf; at least one has some.
"""
STARTER = '''
def latent_shards(mixed, lse, w_uv):
    """Each device's weight, and the output: (share, out)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(mixed: Array, lse: Array, w_uv: Array) -> Inputs:
    return {"mixed": mixed, "lse": lse, "w_uv": w_uv}


def _split(rng: np.random.Generator, tokens: tuple[int, ...], heads: int, height: float) -> Inputs:
    """A cache of this many tokens on each device, and what the devices make of a query."""
    rank, mixed, sums = 5, [], []
    query = rng.standard_normal((heads, rank))
    for n in tokens:
        latent = rng.standard_normal((n, rank))
        scores = query @ latent.T + height
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(axis=1, keepdims=True)
        mixed.append(weights / total @ latent)
        sums.append((top + np.log(total))[:, 0])
    return _case(np.stack(mixed), np.stack(sums), rng.standard_normal((heads, rank, 3)))


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two devices with sums of 6 and 2. The property: a cache that was really split."""
    hand = _case(
        np.array([[[1.0, 0.0]], [[0.0, 2.0]]]),
        np.log([[6.0], [2.0]]),
        np.array([[[4.0, 8.0], [2.0, 0.0]]]),
    )
    empty, apart = _split(rng, (4, 2, 5), 2, 0.0), _split(rng, (3, 6), 3, 0.0)
    empty["lse"][1], empty["mixed"][1] = -np.inf, 0.0
    apart["lse"] += np.array([2000.0, -2000.0, 0.0])
    return {
        "by hand": [hand],
        "random": [_split(rng, (3, 5, 2), 4, 0.0), _split(rng, (6, 1), 3, 1.0)],
        "property": [_split(rng, (1, 30, 9, 4), 2, 0.0), _split(rng, (7, 7, 7), 3, 0.0)],
        "edges": [_split(rng, (4, 5), 2, 2000.0), _split(rng, (4, 5), 2, -2000.0), apart, empty,
                  _split(rng, (6,), 2, 0.0)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A share for each device and head, and an output for each head."""
    out = (inputs["w_uv"].shape[0], inputs["w_uv"].shape[2])
    return {"share": (inputs["lse"].shape, "f"), "out": (out, "f")}


def _shares(lse: Array, axis: int = 0) -> Array:
    """The softmax over devices, or over another axis."""
    parts = np.exp(lse - lse.max(axis=axis, keepdims=True))
    return np.asarray(parts / parts.sum(axis=axis, keepdims=True))


def _out(share: Array, mixed: Array, w_uv: Array) -> Array:
    """The mixtures by their shares, then through W_UV once."""
    return np.einsum("gh,ghr,hrv->hv", share, mixed, w_uv)


def right(inputs: Inputs) -> dict[str, Array]:
    """Each device's share, then the output."""
    share = _shares(inputs["lse"])
    return {"share": share, "out": _out(share, inputs["mixed"], inputs["w_uv"])}


def _wrong_shares(inputs: Inputs) -> list[tuple[Array, str]]:
    """Shares with one idea missing."""
    lse = inputs["lse"]
    with np.errstate(all="ignore"):
        plain, powers = np.exp(lse), 2.0 ** (lse - lse.max(axis=0))
        over_heads = _shares(lse, axis=1)
        at_once, to_top = np.exp(lse - lse.max()), np.exp(lse - lse.max(axis=0))
        return [
            (np.full(lse.shape, 1 / len(lse)),
             "You gave all devices the same share. Tokens that match the query better take more of "
             "the weight, and so does a device with more tokens."),
            *((one / one.sum(axis=0),
               "You took shares of lse, which is a logarithm. Take them of the sums of "
               "exponentials.") for one in (lse, np.where(np.isneginf(lse), 0.0, lse))),
            (plain, "That's each device's own sum of exponentials. A share is its part of the "
             "sum over all devices."),
            (to_top, "You compared each sum with the largest one. A share is its part of the sum "
             "over all devices, so divide by that."),
            *((one, "Your shares sum to 1 over the heads on a device. Each head divides its own "
               "weight over the devices.") for one in (over_heads, np.nan_to_num(over_heads))),
            (at_once / at_once.sum(),
             "All heads and devices together sum to 1. Each head has its own weight of 1 to "
             "divide."),
            (plain / plain.sum(axis=0),
             "Your exponentials of scores in the thousands overflow, or all of them vanish. Take "
             "exponentials of differences of two such logarithms."),
            (at_once / at_once.sum(axis=0),
             "You used one maximum for all heads. In a head whose scores are far lower, every "
             "exponential vanishes."),
            (np.asarray(lse == lse.max(axis=0)) * 1.0,
             "You gave everything to the device with the largest sum. The others keep their part."),
            (powers / powers.sum(axis=0), "You took powers of 2, but lse is a natural logarithm."),
        ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Other shares, or outputs that the right shares do not make."""
    mixed, w_uv = inputs["mixed"], inputs["w_uv"]
    share = _shares(inputs["lse"])
    alike = np.full(share.shape, 1 / len(share))
    outs = [
        (_out(alike, mixed, w_uv), "You averaged the mixtures. Each counts by its share."),
        (_out(np.ones_like(share), mixed, w_uv), "You added the mixtures unweighted. On each "
         "device the weights sum to 1, but they have to over all of them."),
        (_out(share, mixed, w_uv[:1].repeat(len(w_uv), axis=0)),
         "You sent all heads through the first head's W_UV. Each has its own."),
        (_out(share, mixed, w_uv) / len(share), "You also divided by the number of devices. The "
         "shares already sum to 1."),
        (_out(share**2, mixed, w_uv), "You applied the shares twice."),
        (_out(_shares(inputs["lse"], axis=1), mixed, w_uv), "Your output weighs the heads of a "
         "device against each other. Use the shares over devices."),
    ]  # fmt: skip
    shares = [({"share": one}, idea) for one, idea in _wrong_shares(inputs)]
    return shares + [({"out": one}, idea) for one, idea in outs]


SHOULD_BE = {
    "share": "share is a device's part of the sum of exponentials over all tokens.",
    "out": "Which weight would each latent have in a softmax over all tokens?",
}


EXERCISE = Exercise(
    id="latent_shards",
    page="mla",
    title="One cache on several devices",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Absorbing the expansion",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Write down the weight of one token, with the sum over all tokens as denominator. How does "
        "it differ from the weight its own device gave it?",
        "Every weight of a device shrinks by exp(lse) of that device over the sum of exp(lse) of "
        "all, a softmax of lse over the devices. Weight the mixtures with it, add them up, and go "
        "through W_UV once.",
    ),
    common_errors=(
        "Averaging the mixtures, as if every device held the same weight.",
        "Computing exp of scores in the thousands.",
        "A softmax over the heads instead of the devices.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
)
