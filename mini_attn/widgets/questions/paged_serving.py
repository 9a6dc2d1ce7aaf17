"""The predictions of the chapter on pages that are about serving: hits, steps, a slower kernel."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.caching import Prefixes
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _hit() -> Question:
    tokens, size = list(range(128)), 32
    known = Prefixes(8, size)
    known.learn(tokens, table=range(4))
    found = len(known.find(tokens))
    answer = len(tokens) - size * found
    return Question(
        key="paged/hit",
        text=f"A prompt of {len(tokens)} tokens was run, and its blocks of {size} slots are "
        "cached. The same prompt comes again, word for word. Blocks are shared whole or not at "
        "all. How many of its tokens have to run?",
        answer=answer,
        unit="tokens",
        kind="count",
        signed=True,
        explanation="We need the logits of its last token, so that token has to run. "
        f"Its block can't be shared, then: {found} blocks are shared, {answer} tokens run.",
        mistakes=(
            Mistake(
                0,
                "All keys and values are cached, but they don't say which word comes next. For "
                "that, "
                "the last token has to run.",
            ),
            Mistake(
                1,
                "One token has to run for its logits. But then its block is written into, and only "
                "whole blocks are shared.",
            ),
            Mistake(
                len(tokens),
                "The keys and values of the first blocks are cached: those tokens don't have to "
                "run.",
            ),
            Mistake(
                size * found, "Those are the tokens that don't have to run. We asked for the "
                "others.",
            ),
            Mistake(size - 1, "You left out a token. All tokens of the last block have to run."),
            Mistake(found, "Those are the shared blocks. How many tokens run?"),
            Mistake(size + 1, "You counted the last token twice. It's in the last block, not after "
                "it."),
        ),
    )  # fmt: skip


def _steps() -> Question:
    budget, decoding, prompt = 64, 10, 500
    each = budget - decoding
    answer = -(-prompt // each)
    return Question(
        key="paged/steps",
        text=f"A step runs at most {budget} tokens. {decoding} sequences decode, one token each, "
        f"and come first. What's left of the step goes to a prompt of {prompt} tokens. After how "
        "many steps does the prompt get its first new token?",
        answer=answer,
        unit="steps",
        kind="quotient",
        explanation=f"{budget} − {decoding} = {each} tokens of the prompt fit into a step; "
        f"{prompt} / {each}, rounded up, is {answer}. The last chunk gives the logits.",
        mistakes=(
            Mistake(
                -(-prompt // budget),
                f"You gave the prompt the whole step. The {decoding} decoding sequences take a "
                f"token "
                "each.",
            ),
            Mistake(prompt // each, "You rounded down. The rest of the prompt needs a step, too."),
            Mistake(
                prompt / each,
                "There are no fractions of a step. Round up.",
            ),
            Mistake(
                prompt // decoding,
                f"You divided by {decoding}, which is what the decoding sequences take. The prompt "
                f"gets the rest of the {budget}.",
            ),
            Mistake(
                answer + 1,
                "You added a step. The one that runs the last chunk gives the logits of the first "
                "new token.",
            ),
            Mistake(1, f"The whole prompt doesn't fit into a step of {budget} tokens."),
            Mistake(
                prompt,
                "You run the prompt token by token. All of it is there, so many tokens go at once.",
            ),
            Mistake(each, "Those are the prompt's tokens in one step. How many steps?"),
        ),
    )


def _requests(share: float, length: int = 128) -> int:
    """Requests of a length that run, if this share of the device's memory holds tokens."""
    model, device = MODELS["llama-3-8b"], cost.DEVICES["h100"]
    room = device.memory_bytes - 2 * cost.parameter_count(model)
    return int(share * room / (length * cost.cache_bytes_per_token(model)))


def _throughput(share: float, slower: float = 1.0, length: int = 128) -> float:
    """Tokens per second of a step with so many requests."""
    model, device = MODELS["llama-3-8b"], cost.DEVICES["h100"]
    batch, seconds = _requests(share, length), 0.0
    for part, work in cost.step_operations(model, kv_len=length, batch=batch).items():
        times = slower if part == "attention" else 1.0
        seconds += times * cost.roofline_seconds(*work, device)
    return batch / seconds


def _pays() -> Question:
    before, after, slower = 0.204, 0.963, 1.26
    answer = round(_throughput(after, slower) / _throughput(before), 4)
    more = after / before
    batch = "The batch grows that much, but its step takes longer, too."
    return Question(
        key="paged/pays",
        text="Llama-3-8B serves requests of 128 tokens on an H100 with 80 GB. Pages raise the "
        f"share of the cache's memory that holds tokens from {before:.1%} to {after:.1%}, so "
        f"{more:.1f} times as many requests run in a step. Attention takes 26% longer. By what "
        "factor do the tokens per second change, if each operation takes as long as its roofline "
        "bound?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"Even with {before:.1%} in use, {_requests(before)} requests run, so many "
        "that the weight matmuls are compute-bound. More requests take proportionally longer, and "
        f"only the slower attention remains: a factor of {answer:.2f}.",
        mistakes=(
            Mistake(more, batch),
            Mistake(
                more / slower,
                "You divided by the slower kernel, but a step with more requests takes longer.",
            ),
            Mistake(
                1,
                "Nearly: the larger batch gains nothing here. But attention still takes longer.",
            ),
            Mistake(
                1 / slower,
                "You slowed the whole step down. Only attention takes longer, and it's a part of "
                "the step.",
            ),
            Mistake(slower, "That's how much longer attention takes, not the throughput."),
            Mistake(
                1 / answer,
                "That's how much longer a token takes. We asked for the tokens per second.",
            ),
        ),
    )


ALL = (_hit(), _steps(), _pays())
