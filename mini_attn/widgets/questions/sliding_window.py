"""The predictions of the chapter on the sliding window: pairs, slots and keys at hand."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

MISTRAL = MODELS["mistral-7b"]


def _pairs() -> Question:
    n, window = 10, 3
    answer = cost.visible_pairs(n, n, window=window)
    return Question(
        key="sliding-window/pairs",
        text=f"{n} tokens attend causally with a window of {window}: each sees at most {window} "
        "keys, its own included. How many pairs of a query and a key are visible?",
        answer=answer,
        unit="pairs",
        kind="sum",
        explanation=f"The first token sees 1, the second 2, and from the third on each sees "
        f"{window}: 1 + 2 + {n - 2} × {window} = {answer}.",
        mistakes=(
            Mistake(n * window, "The first tokens have fewer tokens before them than that."),
            Mistake(cost.visible_pairs(n, n), "That is the whole triangle, without a window."),
            Mistake(
                cost.visible_pairs(n, n, window=window + 1),
                f"That is {window} keys besides the token's own. The window counts its own too.",
            ),
            Mistake(
                cost.visible_pairs(n, n, window=window - 1),
                "That leaves out the token's own key, which belongs to the window.",
            ),
            Mistake(n * n, "That is the full square, without mask and without window."),
            Mistake(
                cost.visible_pairs(n, n) - answer,
                "Those are the pairs that the window takes away.",
            ),
        ),
    )


def _slot() -> Question:
    window, position = 4096, 10_000
    slot = position % window
    return Question(
        key="sliding-window/slot",
        text=f"A ring has {window:,} slots, numbered from 0, and the token at position p goes "
        f"into slot p mod {window:,}. In which slot does the token at position {position:,} lie?",
        answer=slot,
        unit="slots",
        kind="place",
        signed=True,
        explanation=f"The ring has gone round {position // window} times: {position:,} − "
        f"{position // window} × {window:,} = {slot:,}.",
        mistakes=(
            Mistake(position - window, "The ring has gone round twice by then, not once."),
            Mistake(slot + 1, "Slots and positions are both counted from 0."),
            Mistake(slot - 1, "Slots and positions are both counted from 0: nothing to subtract."),
            Mistake(window - slot, "That is how many slots are left until the ring begins again."),
            Mistake(position // window, "That is how often the ring has gone round."),
            Mistake(position, "There is no such slot: the ring has fewer."),
        ),
    )


def _keys_at_hand() -> Question:
    window, new = 4096, 1000
    needed = new + window - 1
    return Question(
        key="sliding-window/chunk",
        text=f"A chunk of {new:,} new tokens arrives in the middle of a long text; the window is "
        f"{window:,}. How many different keys does the chunk look at, all its queries together?",
        answer=needed,
        unit="keys",
        kind="count",
        explanation=f"The first new token looks {window - 1:,} positions back, the last at itself: "
        f"{window - 1:,} old keys and {new:,} new ones. A ring of {window:,} cannot hold them "
        "all.",
        mistakes=(
            Mistake(window, "That is what one query sees. The queries are at different positions."),
            Mistake(
                new + window,
                "Nearly: the first new token sees itself and one fewer of the old ones.",
            ),
            Mistake(new, "The new tokens also look at what came before them."),
            Mistake(
                window - 1,
                "Those are the old keys alone. The new tokens see each other as well.",
            ),
            Mistake(new * window, "That counts pairs. Most keys are looked at by many queries."),
            Mistake(window - new, "The ring does not give up old keys before they were read."),
        ),
    )


def _reach() -> Question:
    layers, window = MISTRAL.n_layers, MISTRAL.window or 0
    answer = layers * (window - 1)
    return Question(
        key="sliding-window/reach",
        text=f"Mistral 7B (v0.1) has {layers} layers with a window of {window:,} keys, the "
        "token's own included. How many positions back can a token be that still has an effect "
        "on the last layer's output?",
        answer=answer,
        unit="positions",
        kind="product",
        explanation=f"Each layer reaches {window - 1:,} positions further back, since the window "
        f"counts the token itself: {layers} × {window - 1:,} = {answer:,}.",
        mistakes=(
            Mistake(
                layers * window,
                "Nearly (it is the number that is usually given). The window counts the token's "
                "own key, so a layer reaches one position less.",
            ),
            Mistake(
                window - 1,
                "That is one layer. The next layer carries on from what it brought nearer.",
            ),
            Mistake(window, "That is one layer, and the token itself is in the window."),
            Mistake(
                (layers - 1) * (window - 1),
                "The first layer looks back too: every layer adds its reach.",
            ),
            Mistake(layers + window - 1, "The reaches of the layers add up: multiply, do not add."),
            Mistake(layers, "That would be one position a layer, as with a window of 2."),
        ),
    )


def _ring_bytes() -> Question:
    context, each = 20_480, 2
    layers, heads, size = MISTRAL.n_layers, MISTRAL.n_kv_heads, MISTRAL.head_dim
    window = MISTRAL.window or 0
    total = cost.cache_bytes(MISTRAL, batch=1, context=context, dtype_bytes=each)
    return Question(
        key="sliding-window/bytes",
        text=f"Mistral 7B (v0.1): {layers} layers, {heads} key/value heads of {size}, a window of "
        f"{window:,} in every layer. How many bytes do its rings take for one sequence of "
        f"{context:,} tokens in bfloat16?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 (keys and values) × {layers} × {heads} × {size} × {each} bytes × "
        f"{window:,} slots = {total:,} bytes, whatever the length beyond {window:,}.",
        mistakes=(
            Mistake(
                total * context // window,
                f"That keeps all {context:,} tokens. A ring keeps the last {window:,}.",
            ),
            Mistake(total // 2, "Keys and values are both kept, and each number has 2 bytes."),
            Mistake(total // layers, f"That is one layer of {layers}."),
            Mistake(
                total * MISTRAL.n_heads // heads,
                f"Those are the query heads. Keys and values have {heads} heads.",
            ),
            Mistake(8 * total, "Those are bits."),
            Mistake(2 * total, "In bfloat16 a number takes 2 bytes, not 4."),
        ),
    )


def _hybrid() -> Question:
    model, context = MODELS["gemma-3-27b"], 131_072
    window, layers = model.window or 0, model.n_layers
    full = layers // model.full_every
    slots = full * context + (layers - full) * window
    return Question(
        key="sliding-window/hybrid",
        text=f"Gemma 3 27B has {layers} layers; every {model.full_every}th keeps all tokens, the "
        f"others a window of {window:,}. For a text of {context:,} tokens: how many slots do all "
        "layers together hold?",
        answer=slots,
        unit="slots",
        kind="sum",
        tolerance=0.005,
        explanation=f"{full} layers hold {context:,} each and {layers - full} hold {window:,}: "
        f"{slots:,}. The {full} full layers take {full * context / slots:.0%} of it.",
        mistakes=(
            Mistake(layers * context, "That would be so if all layers kept everything."),
            Mistake(layers * window, "The full layers keep all tokens, not a window of them."),
            Mistake(
                (full + 1) * context + (layers - full - 1) * window,
                f"{layers} / {model.full_every} is not whole: the last two layers are windowed, "
                f"so there are {full} full ones.",
            ),
            Mistake(
                (layers - full) * context + full * window,
                "The other way round: most layers are windowed.",
            ),
            Mistake(full * context // 2, "Half of the full layers is missing."),
            Mistake(context + window, "That is one layer of each kind."),
        ),
    )


ALL = (_pairs(), _slot(), _keys_at_hand(), _reach(), _ring_bytes(), _hybrid())
