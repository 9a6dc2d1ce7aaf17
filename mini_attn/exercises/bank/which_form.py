"""Write the rule that chooses between the two forms of latent attention."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from mini_attn import cost
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the rule that chooses the form. `q_len` and `kv_len` are integer arrays `(n,)`: the new
tokens, and all tokens including the new ones. The three sizes are integers. Count one head's
multiplications with $W_{UK}$ and $W_{UV}$ and those between queries and tokens, for all `q_len *
kv_len` pairs. Return a boolean array `(n,)`, True where the absorbed form has fewer.
"""
STARTER = '''
def which_form(
    q_len, kv_len, kv_lora_rank, qk_nope_head_dim, v_head_dim
):
    """True where the absorbed form has fewer multiplications."""
    raise NotImplementedError
'''


def _case(
    q_len: list[int], kv_len: list[int], rank: int = 512, nope: int = 128, v: int = 128
) -> Inputs:
    lengths = {"q_len": np.array(q_len, np.int64), "kv_len": np.array(kv_len, np.int64)}
    return {**lengths, "kv_lora_rank": rank, "qk_nope_head_dim": nope, "v_head_dim": v}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a step and a prompt. The property: chunks, where length alone does not decide."""
    drawn = []
    for _ in range(4):
        kv_len = rng.integers(1, 3000, size=60)
        q_len = rng.integers(1, np.minimum(kv_len, 400) + 1)
        rank, nope, v = (int(size) for size in rng.integers([40, 8, 8], [600, 130, 130]))
        drawn.append(_case(q_len.tolist(), kv_len.tolist(), rank, nope, v))
    chunks, past = np.arange(100, 260), int(rng.integers(8000, 9000))
    return {
        "by hand": [_case([1, 4096], [4096, 4096])],
        "random": drawn,
        "property": [_case(chunks.tolist(), [past] * len(chunks)),
                     _case([64, 128, 192, 64, 128, 192], [256] * 3 + [65536] * 3),
                     _case([100, 150, 170, 171], [200, 4096, 100000, 100000])],
        # A first token alone, a tie, and a latent smaller than half of a key and a value.
        "edges": [_case([1], [1]), _case([1, 5, 9], [9, 9, 9], 16, 32, 32),
                  _case([2, 7], [7, 7], 8, 8, 8), _case([1, 4], [past, past], 8, 128, 128)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value for each pass."""
    return {"absorb": (inputs["q_len"].shape, "b")}


def _sizes(inputs: Inputs) -> SimpleNamespace:
    names = ("kv_lora_rank", "qk_nope_head_dim", "v_head_dim")
    return SimpleNamespace(
        d_model=1, n_heads=1, qk_rope_head_dim=1, q_lora_rank=0, **{n: inputs[n] for n in names}
    )


def _absorbs(
    inputs: Inputs,
    *,
    made: str = "both",
    latent: int = 2,
    pairs: float | np.ndarray = 1.0,
    narrow: bool = True,
    widths: str = "both",
    more: bool = False,
    less: str = "fewer",
) -> np.ndarray:
    """Return where the absorbed form has fewer multiplications, or what that becomes otherwise."""
    q, nope, v = inputs["q_len"], inputs["qk_nope_head_dim"], inputs["v_head_dim"]
    kv, rank = inputs["kv_len"] + q * more, inputs["kv_lora_rank"]
    both = {"both": nope + v, "keys": 2 * nope, "values": 2 * v, "W_UK": nope}[widths]
    expanded, absorbed = {
        "both": (kv, q), "absorbing free": (kv, 0), "expanding free": (0, q), "new": (q, q),
        "old": (kv - q, q),
    }[made]  # fmt: skip
    wide = nope + v if widths == "W_UK" else both
    by_expanding = rank * both * expanded + pairs * wide * narrow * q * kv
    by_absorbing = rank * both * absorbed + pairs * latent * rank * q * kv
    return np.asarray({
        "fewer": by_absorbing < by_expanding,
        "ties": by_absorbing <= by_expanding,
        "other": by_expanding < by_absorbing,
    }[less])  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the choice would be with one idea missing, or two."""
    q, kv = inputs["q_len"], inputs["kv_len"]
    both, rank = inputs["qk_nope_head_dim"] + inputs["v_head_dim"], inputs["kv_lora_rank"]
    wider = 2 * rank - both
    causal: tuple[dict[str, Any], str] = (
        {"pairs": (kv - (q - 1) / 2) / kv},
        "You counted the pairs that a causal mask shows. Count all q_len * kv_len.",
    )
    return [
        (np.ones(q.shape, bool), "You absorb everything, even whole prompts."),
        (np.zeros(q.shape, bool), "You never absorb, even one token after a long context."),
        (q == 1, "You absorb only single tokens. Absorb short chunks after a long context too: "
         "their few queries don't pay for expanding every old latent."),
        (q < kv, "You absorb whenever there's a context. A long chunk uses each old latent "
         "many times, and then it pays to expand it once."),
        *((short & (q < kv),
           "Your rule ignores the length of the context. It counts: the expanded form saves "
           "nothing on new tokens, and pays for each old one.")
          for short in (q * wider < rank * both, (wider > 0) & (q * wider < rank * both))),
        (~right(inputs), MISTAKES[0][1]),
        *with_pairs(partial(_absorbs, inputs), [*MISTAKES, causal]),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"less": "other"},
     "Your answer is upside down. True means that the absorbed form has fewer FLOPs."),
    ({"less": "ties"},
     "You absorb ties too. Absorb only when it has fewer FLOPs."),
    ({"made": "absorbing free"},
     "You left out a part of the absorbed form. It multiplies with W_UK and W_UV too, once for "
     "each new token."),
    ({"narrow": False},
     "You left out a part of the expanded form. It multiplies pairs too."),
    ({"latent": 1},
     "You counted the latent once per absorbed pair. It's needed twice, for the score and for the "
     "mixture."),
    ({"made": "new"},
     "You expand only the new tokens. The expanded form makes keys and values of all kv_len "
     "tokens, because only their latents are cached."),
    ({"made": "expanding free"},
     "You left out a part of the expanded form. It multiplies every token with W_UK and W_UV "
     "before it can attend."),
    ({"made": "old"},
     "You expand only the old tokens. The new ones need it too, and kv_len counts them already."),
    ({"widths": "keys"},
     "You used one width for both. Keys and values each have their own: qk_nope_head_dim and "
     "v_head_dim."),
    ({"widths": "values"},
     "You used one width for both. Keys and values each have their own: qk_nope_head_dim and "
     "v_head_dim."),
    ({"widths": "W_UK"}, "You left out W_UV. Each form multiplies with it as well as with W_UK."),
    ({"pairs": 0.5}, "You counted half of the pairs. Count all q_len * kv_len."),
    ({"more": True}, "You added the new tokens again. kv_len counts them already."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The form with fewer multiplications, pass by pass."""
    pairs = zip(inputs["q_len"].tolist(), inputs["kv_len"].tolist(), strict=True)
    chosen = [cost.cheaper_form(_sizes(inputs), q_len=q, kv_len=kv) for q, kv in pairs]
    return np.array([form == "absorbed" for form in chosen])


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Name the first pass that takes the more expensive form."""
    wanted = right(inputs)
    if len(set(outputs["absorb"])) < len(set(wanted)):
        return "You made one choice for all of these passes. Each has its own."
    i = int((outputs["absorb"] != wanted).argmax())
    verb = "fewer" if wanted[i] else "no fewer"
    return (
        f"With {inputs['q_len'][i]} new of {inputs['kv_len'][i]} tokens, rank "
        f"{inputs['kv_lora_rank']}, key part {inputs['qk_nope_head_dim']} and value "
        f"{inputs['v_head_dim']}, absorbing takes {verb} multiplications. Write down both sums and "
        "compare."
    )


EXERCISE = Exercise(
    id="which_form",
    page="mla",
    title="Expand or absorb",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="What each form costs",
    definition="What each form costs",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Count multiplications of one head in each form. Two kinds: with W_UK and W_UV, and "
        "between a query and a token.",
        "Expanded: rank times (nope + v) for every token, and nope + v for every pair. Absorbed: "
        "rank times (nope + v) for every new token, and twice the rank for every pair. The "
        "rotated part is the same in both.",
    ),
    common_errors=(
        "Deciding by q_len == 1 alone.",
        "Forgetting that the absorbed form also multiplies with W_UK and W_UV.",
        "Expanding only the new tokens: the old ones are cached as latents, not as keys.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
