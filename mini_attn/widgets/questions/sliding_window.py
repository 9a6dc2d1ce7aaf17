"""The predictions of the chapter on the sliding window: pairs, wrapping and keys at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

MISTRAL = MODELS["mistral-7b"]


def _pairs(n: int = 10, window: int = 3) -> Question:
    answer = cost.visible_pairs(n, n, window=window)
    return Question(
        key="sliding-window/pairs",
        text=f"{n} tokens attend causally with a window of {window}, so each attends to at most "
        f"{window} keys, its own included. How many pairs of a query and a key are visible?",
        answer=answer,
        unit="pairs",
        kind="sum",
        explanation="The first token attends to 1 key, the second to 2, and from the third on "
        f"each to {window}: 1 + 2 + {n - 2} × {window} = {answer}.",
        mistakes=(
            Mistake(
                n * window, "You gave every token a full window. The first ones have fewer keys."
            ),
            Mistake(cost.visible_pairs(n, n), "That's the whole triangle, without a window."),
            Mistake(
                cost.visible_pairs(n, n, window=window + 1),
                f"You counted {window} keys and the token's own. The window includes its own.",
            ),
            Mistake(
                cost.visible_pairs(n, n, window=window - 1),
                "You left out the token's own key, which belongs to the window.",
            ),
            Mistake(n * n, "That's the full square, without the mask and the window."),
            Mistake(
                cost.visible_pairs(n, n) - answer,
                "Those are the pairs that the window takes away.",
            ),
        ),
    )


def _keys_at_hand(window: int = 4096, new: int = 1000) -> Question:
    needed = new + window - 1
    return Question(
        key="sliding-window/chunk",
        text=f"A chunk of {new:,} new tokens arrives in the middle of a long text. The window is "
        f"{window:,}. How many different keys do its queries attend to, all together?",
        answer=needed,
        unit="keys",
        kind="count",
        explanation=f"The first new token looks {window - 1:,} positions back, the last also at "
        f"itself: {window - 1:,} old keys and {new:,} new ones. A ring of {window:,} can't hold "
        "them all.",
        mistakes=(
            Mistake(
                window, "That's what one query attends to. The queries are at different positions."
            ),
            Mistake(
                new + window,
                "Nearly. The first new token attends to itself and one fewer of the old ones.",
            ),
            Mistake(
                new, "You counted the new keys alone. The new tokens also attend to older ones."
            ),
            Mistake(
                window - 1,
                "Those are the old keys alone. The new tokens attend to each other as well.",
            ),
            Mistake(new * window, "You counted pairs. Most keys are used by many queries."),
            Mistake(window - new, "You subtracted the new keys. They come on top of the old ones."),
        ),
    )


def _reach() -> Question:
    layers, window = MISTRAL.n_layers, MISTRAL.window or 0
    answer = layers * (window - 1)
    return Question(
        key="sliding-window/reach",
        text=f"Mistral 7B (v0.1) has {layers} layers with a window of {window:,} keys, the "
        "token's own included. How many positions back can a token be and still have an effect "
        "on the last layer's output?",
        answer=answer,
        unit="positions",
        kind="product",
        explanation=f"Each layer reaches {window - 1:,} positions further back, because the "
        f"window counts the token itself: {layers} × {window - 1:,} = {answer:,}.",
        mistakes=(
            Mistake(
                layers * window,
                "Nearly, and it's the number that's usually given. But the window counts the "
                "token's own key, so a layer reaches one position less.",
            ),
            Mistake(
                window - 1,
                "That's one layer. The next one starts from what it brought nearer.",
            ),
            Mistake(window, "That's one layer, and the token itself is in the window."),
            Mistake(
                (layers - 1) * (window - 1),
                "You left out a layer. The first one looks back too.",
            ),
            Mistake(layers + window - 1, "Each layer adds its whole reach, so multiply."),
            Mistake(layers, "That would be one position per layer, as with a window of 2."),
        ),
    )


def _wrap() -> Question:
    window = MISTRAL.window or 0
    return Question(
        key="sliding-window/wrap",
        text=f"A window has {window:,} keys. By mistake, a program rotates each query and key by "
        f"its slot (its position mod {window:,}) instead of its position. How many tokens can a "
        "text have before an output is wrong?",
        answer=window,
        unit="tokens",
        kind="count",
        explanation=f"Positions 0 to {window - 1:,} are also the numbers of their slots. The next "
        "token goes into slot 0 and looks as if it came before all the others. A test with a "
        "shorter text never notices.",
        mistakes=(
            Mistake(window - 1, f"The token at position {window - 1:,} is the last right one. "
                    "Count from 0."),
            Mistake(window + 1, f"The token at position {window:,} goes into slot 0, so it's "
                    "rotated as if it were the first."),
            Mistake(2 * window, "By then the ring has wrapped once, and slots and positions "
                    "differ."),
            Mistake(2 * window - 1, "By then the ring has wrapped, and slots and positions "
                    "differ."),
            Mistake(1, "The first tokens go into the slots with their own numbers, so nothing is "
                    "wrong yet."),
        ),
    )  # fmt: skip


def _faster() -> Question:
    context, window = 32_768, MISTRAL.window or 0
    sizes: dict[str, Any] = {"attention": "gqa", "window": None}
    full = replace(MISTRAL, **sizes)

    def percent(batch: int) -> int:
        read = [
            sum(cost.step_bytes(model, kv_len=context, batch=batch).values())
            for model in (full, MISTRAL)
        ]
        return round(100 * (1 - read[1] / read[0]))

    work = cost.matmul_flops(full, q_len=1, kv_len=context)
    share = round(100 * (work["scores"] + work["weighted sum"]) / sum(work.values()))
    cache = cost.step_bytes(full, kv_len=context)["cache read"] / 1e9
    weights = cost.step_bytes(full, kv_len=context)["weights"] / 1e9
    answer = percent(1)
    return Question(
        key="sliding-window/faster",
        text=f"Mistral 7B (v0.1), one sequence of {context:,} tokens, bfloat16. A decode step "
        f"waits for the bytes that it reads. With a window of {window:,}, how many percent shorter "
        "can the step get?",
        answer=answer,
        unit="%",
        kind="share",
        tolerance=0.04,
        explanation=f"The step reads {weights:.1f} GB of weights either way. The window leaves an "
        f"eighth of the {cache:.1f} GB of cache, which is {answer}% less in all.",
        mistakes=(
            Mistake(
                round(100 * (1 - window / context)),
                "That's how much the cache shrinks. The step also reads the weights.",
            ),
            Mistake(
                share,
                "That's attention's share of the FLOPs. A decode step waits for bytes, and most of "
                "them are weights.",
            ),
            Mistake(
                round(100 / (100 / answer - 1)),
                "You divided what's saved by the shorter step. Divide it by the longer one.",
            ),
            Mistake(
                round(100 * cache / (cache + weights)),
                "That's the whole cache. The window leaves an eighth of it.",
            ),
            Mistake(
                percent(16),
                "That would be 16 sequences, which share one reading of the weights.",
            ),
        ),
    )


def _full_share() -> Question:
    model, context = MODELS["gemma-3-27b"], 131_072
    window, layers = model.window or 0, model.n_layers
    full = layers // model.full_every
    slots = full * context + (layers - full) * window
    answer = round(100 * full * context / slots)
    return Question(
        key="sliding-window/full-share",
        text=f"Gemma 3 27B has {layers} layers. Every {model.full_every}th keeps all tokens, the "
        f"others the last {window:,}. For a text of {context:,} tokens, how many percent of its "
        "cache is in the full layers?",
        answer=answer,
        unit="%",
        kind="share",
        tolerance=0.005,
        explanation=f"{full} layers hold {context:,} entries each, the other {layers - full} "
        f"hold {window:,}. That's {full * context:,} of {slots:,}. In a long text the windows "
        "hardly count.",
        mistakes=(
            Mistake(
                round(100 * full / layers),
                "That's the share of the layers. Each of them holds far more than a window.",
            ),
            Mistake(
                100 - answer,
                "That's the share of the windowed layers.",
            ),
            Mistake(
                round(100 * context / (context + window)),
                "That's one layer of each kind. There are more windowed layers.",
            ),
            Mistake(
                round(100 * (1 - full / layers)),
                "That's the share of windowed layers among all layers.",
            ),
            Mistake(100, "Nearly, but the windows hold something too."),
            Mistake(
                round(100 * slots / (layers * context)),
                "That's the cache against one with every layer full.",
            ),
        ),
    )


ALL = (_pairs(), _wrap(), _keys_at_hand(), _reach(), _faster(), _full_share())
AGAIN = (
    _pairs(14),
    _pairs(20),
    _pairs(12),
    _keys_at_hand(1024, 300),
    _keys_at_hand(2048, 500),
    _keys_at_hand(512, 100),
)
