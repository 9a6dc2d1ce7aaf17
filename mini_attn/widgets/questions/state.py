"""The predictions of the chapter on a state instead of a cache."""

from __future__ import annotations

import math

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

SIZE, CHUNK = 128, 64  # of a head's keys and values; tokens of a chunk
QWEN = MODELS["qwen3-next-80b-a3b"]
LAYERS = QWEN.n_layers
FULL = sum(QWEN.linear_of(layer) is None for layer in range(LAYERS))  # that attend
HEADS = 32  # of a layer that keeps a state
STATE_BYTES = HEADS * SIZE * SIZE * 4  # of a layer, in float32
TOKEN_BYTES = cost.cache_bytes_per_token(QWEN) // FULL  # of a layer that attends, in bfloat16


def _break_even() -> Question:
    per_token = 6 * SIZE**2 + 3 * CHUNK * SIZE + CHUNK**2
    answer = per_token // (2 * SIZE)
    return Question(
        key="state/break-even",
        text=f"A prompt goes through one head of dimension {SIZE}. By the delta rule in chunks of "
        f"{CHUNK}, it takes {per_token:,} FLOPs per token. With n tokens, causal attention, which "
        f"skips what's masked, takes about 2 · {SIZE} · n FLOPs per token. At how many tokens do "
        "the two take the same FLOPs?",
        answer=answer,
        unit="tokens",
        kind="crossover",
        tolerance=0.01,
        explanation=f"{per_token:,} / (2 · {SIZE}) = {answer}. Below {answer} tokens, attention "
        "takes fewer FLOPs. “Linear” says how the work grows, not how much it is.",
        mistakes=(
            Mistake(CHUNK, "That's the length of a chunk. Set the two costs per token equal."),
            Mistake(SIZE, f"That's the dimension. At {SIZE} tokens, attention still takes fewer "
                    "FLOPs."),
            Mistake(per_token // SIZE, f"Attention takes 2 · {SIZE} per pair: a product for the "
                    "scores and one for the output, halved by the mask."),
            Mistake(per_token // (4 * SIZE), "That would be without the mask's saving: half of "
                    "the pairs aren't computed."),
            Mistake(6 * SIZE**2 // (2 * SIZE), "That's the products with the state alone. Within "
                    "a chunk, tokens are compared too."),
            Mistake(1, "One token costs the state a product with the whole matrix. What does it "
                    "cost attention?"),
        ),
    )  # fmt: skip


def _pays() -> Question:
    states = LAYERS - FULL
    answer = STATE_BYTES // TOKEN_BYTES
    return Question(
        key="state/pays",
        text=f"In Qwen3-Next, {states} of {LAYERS} layers keep a state: {HEADS} heads of {SIZE} by "
        f"{SIZE} numbers in float32. The other {FULL} attend with 2 key/value heads of 256 in "
        f"bfloat16. At how many tokens does this take as much memory as {LAYERS} layers that "
        "attend?",
        answer=answer,
        unit="tokens",
        kind="crossover",
        tolerance=0.005,
        explanation=f"A layer's state takes {STATE_BYTES:,} bytes, and a token takes "
        f"{TOKEN_BYTES:,} in a layer that attends: {STATE_BYTES:,} / {TOKEN_BYTES:,} = "
        f"{answer:,}. In a shorter chat, the states take more.",
        mistakes=(
            Mistake(1, "A state has its full size from the first token on. How many tokens' keys "
                    "and values fit into it?"),
            Mistake(answer // 2, "The states are in float32, 4 bytes per number."),
            Mistake(2 * answer, "A token leaves keys *and* values in a layer that attends."),
            Mistake(4 * answer, f"That leaves out the bytes: 4 per number of a state, "
                    f"{TOKEN_BYTES:,} per token and layer."),
            Mistake(states * answer // FULL, f"You compare {states} states with {FULL} caches. "
                    f"Compare one state with the one cache that it replaces."),
            Mistake(answer // HEADS, f"That's one head's state. There are {HEADS}."),
            Mistake(SIZE // 2, "That's for one head with keys and values of this size in the same "
                    "format. Here the cache has fewer heads."),
        ),
    )  # fmt: skip


def _capacity(size: int = SIZE) -> Question:
    answer = size // 4 + 1
    return Question(
        key="state/capacity",
        text=f"Keys are random directions of dimension {size} with length 1, and the values have "
        "length 1 too. Pairs are added up in a matrix. Two random keys have a squared product of "
        f"1/{size} on average. With how many pairs is the error of what's read half as long as the "
        "value (root mean square)?",
        answer=answer,
        unit="pairs",
        kind="count",
        explanation=f"Each other pair adds 1/{size} to the squared error, and a half squared is "
        f"1/4: that takes {size // 4} others. So the matrix of {size} × {size} numbers is half "
        f"wrong with {answer} pairs, which have only {2 * answer * size:,} numbers themselves.",
        mistakes=(
            Mistake(size // 2, "Squared errors add up, not errors. What's the square of a half?"),
            Mistake(size // 2 + 1, "Squared errors add up, not errors. What's the square of a "
                    "half?"),
            Mistake(size, f"With {size} pairs, the error is nearly as long as the value. Only keys "
                    "at right angles fit that many."),
            Mistake(size + 1, "Then the error is as long as the value."),
            Mistake(size // 4, "Those are the others. The pair itself is in the matrix too."),
            Mistake(size * size // 2, f"The numbers of the matrix don't count pairs. With {size} "
                    "pairs the error is nearly as long as the value."),
            Mistake(math.isqrt(size), f"Each other pair adds 1/{size} to the *squared* error."),
        ),
    )  # fmt: skip


def _half_life(decay: float = 0.99) -> Question:
    answer = math.ceil(math.log(0.5) / math.log(decay))
    slower = math.ceil(math.log(0.5) / math.log(1 - (1 - decay) / 10))
    return Question(
        key="state/half-life",
        text=f"A head's state is multiplied by {decay} at each token. After how many tokens is "
        "less than half left of what was written?",
        answer=answer,
        unit="tokens",
        kind="count",
        explanation=f"{decay}^{answer - 1} = {decay ** (answer - 1):.4f}, and one more is below a "
        f"half. After 1,000 tokens, {decay**1000:.1g} is left. So a head that should remember a "
        "long text needs a decay much nearer to 1, and most models let each token set it.",
        mistakes=(
            Mistake(round(0.5 / (1 - decay)), "At each token, a part of what's left goes, not of "
                    "the whole."),
            Mistake(answer - 1, f"After {answer - 1}, it's {decay ** (answer - 1):.4f}, just above "
                    "a half."),
            Mistake(round(1 / (1 - decay)), "That's about where 1/e is left, which is 0.37."),
            Mistake(slower, "That's for a decay ten times as near to 1."),
            Mistake(7, "That's for a decay of 0.9."),
            Mistake(1000, f"After 1,000 tokens, {decay**1000:.1g} is left. When is it a half?"),
        ),
    )  # fmt: skip


def _newest() -> Question:
    size = 8
    return Question(
        key="state/newest",
        text=f"Keys have dimension {size}. The first {size} are at right angles to each other, and "
        f"so are the next {size}. All {2 * size} pairs are written by the delta rule with β = 1. "
        "How many come back without an error?",
        answer=size,
        unit="pairs",
        kind="count",
        explanation=f"The newest {size}. Each write replaces what its key finds, and {size} keys "
        f"at right angles find everything there is. So the first {size} are gone, and the last "
        "ones are exact. A sum would have blurred all of them alike.",
        mistakes=(
            Mistake(2 * size, f"A matrix of {size} × {size} can't hold {2 * size} pairs exactly. "
                    "Which of them did the last writes replace?"),
            Mistake(2 * size - 1, f"The last {size} keys find everything there is. What's left of "
                    f"the first {size}?"),
            Mistake(1, "The last pair is exact, but the one before it has a key at right angles to "
                    "the last. Does the last write touch it?"),
            Mistake(size - 1, f"All of the last {size} keys are at right angles to each other, so "
                    "none of their writes touches another's."),
            Mistake(size // 2, "Think of the last ones only: their keys are at right angles, so "
                    "they don't disturb each other."),
            Mistake(size * size, "That's how many numbers the matrix has."),
        ),
    )  # fmt: skip


def _snapshots() -> Question:
    drafts, states = 8, LAYERS - FULL
    each = states * STATE_BYTES
    answer = drafts * each // (FULL * TOKEN_BYTES)
    return Question(
        key="state/snapshots",
        text=f"Qwen3-Next guesses {drafts} tokens ahead, and any number of them may have to be "
        f"taken back. So a copy of all {states} states is kept for each of the {drafts}, "
        f"{each:,} bytes a copy. In the {FULL} layers that attend, a token leaves "
        f"{FULL * TOKEN_BYTES:,} bytes. The cache of how many tokens takes as much memory as these "
        "copies?",
        answer=answer,
        unit="tokens",
        kind="quotient",
        tolerance=0.005,
        explanation=f"{drafts} · {each:,} / {FULL * TOKEN_BYTES:,} = {answer:,} tokens, so that "
        f"{drafts} can be undone. In a cache, undoing is free: the length is set back.",
        mistakes=(
            Mistake(drafts, "That would be so if a token left as little in a state as in a cache. "
                    "A copy is a whole state."),
            Mistake(answer // drafts, f"That's one copy. There are {drafts}."),
            Mistake(answer // states, f"That's the state of one layer. There are {states}."),
            Mistake(answer * FULL, f"That compares with the cache of one layer. {FULL} attend."),
            Mistake(drafts * STATE_BYTES // TOKEN_BYTES, f"That compares one state with one cache. "
                    f"There are {states} and {FULL}."),
            Mistake(answer // 2, "The bytes are given, so 2 or 4 per number is in them already."),
        ),
    )  # fmt: skip


ALL = (_break_even(), _pays(), _capacity(), _half_life(), _newest(), _snapshots())
AGAIN = (
    _capacity(32),
    _capacity(64),
    _capacity(256),
    _half_life(0.95),
    _half_life(0.98),
    _half_life(0.995),
)
