"""The predictions of the chapter on pages that are about serving: hits, steps, a slower kernel."""

from __future__ import annotations

from mini_attn.caching import Prefixes
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
        "known. The same prompt comes again, word for word. Blocks are shared whole or not at "
        "all. How many of its tokens are run?",
        answer=answer,
        unit="tokens",
        kind="count",
        signed=True,
        explanation="Somebody wants the logits of its last token, so that token has to be run. "
        f"Its block cannot be taken as it is: {found} blocks are shared, {answer} tokens run.",
        mistakes=(
            Mistake(
                0,
                "Keys and values of all are known, but they do not say which word comes next: for "
                "that the last token has to be run.",
            ),
            Mistake(
                1,
                "One is what has to be run. But then its block is written into, and only whole "
                "blocks are shared.",
            ),
            Mistake(
                len(tokens),
                "Keys and values of the first blocks are known: those tokens need not be run.",
            ),
            Mistake(
                size * found, "Those are the tokens that need not be run. The question asks for "
                "the others.",
            ),
            Mistake(size - 1, "The block's first tokens and its last one all have to be run."),
            Mistake(found, "Those are the blocks that are shared."),
            Mistake(size + 1, "The last token is one of the last block, not behind it."),
        ),
    )  # fmt: skip


def _steps() -> Question:
    budget, decoding, prompt = 64, 10, 500
    each = budget - decoding
    answer = -(-prompt // each)
    return Question(
        key="paged/steps",
        text=f"A step runs at most {budget} tokens. {decoding} sequences decode, one token each, "
        f"and come first; what is left of the step goes to a prompt of {prompt} tokens. After "
        "how many steps does the prompt get its first new token?",
        answer=answer,
        unit="steps",
        kind="quotient",
        explanation=f"{budget} − {decoding} = {each} tokens of the prompt fit into a step; "
        f"{prompt} / {each}, rounded up, is {answer}. The last piece gives the logits.",
        mistakes=(
            Mistake(
                -(-prompt // budget),
                f"The {decoding} sequences that decode take a token each out of every step.",
            ),
            Mistake(prompt // each, "The rest of the prompt needs a step too: round up."),
            Mistake(
                prompt / each,
                "A step is run whole, even for the rest of the prompt: round up.",
            ),
            Mistake(
                prompt // decoding,
                f"{decoding} is what those that decode take of a step. The prompt gets what they "
                f"leave of the {budget}.",
            ),
            Mistake(
                answer + 1,
                "The step that runs the last piece gives the logits of the first new token.",
            ),
            Mistake(1, f"The whole prompt does not fit into a step of {budget} tokens."),
            Mistake(
                prompt,
                "That runs the prompt token by token. It is known, so many go at once.",
            ),
            Mistake(each, "Those are the tokens of the prompt in one step."),
        ),
    )


def _slower() -> Question:
    share, slower = 30, 26
    answer = share * slower / 100
    return Question(
        key="paged/slower",
        text=f"Attention takes {share} % of the time of a step. A kernel that reads pages takes "
        f"{slower} % longer than one that reads a contiguous cache; the rest of the step stays as "
        "it is. How many percent longer does the step take?",
        answer=answer,
        unit="percent",
        kind="product",
        tolerance=0.005,
        explanation=f"Only attention's share grows: {share} % × {slower} % = {answer:.1f} % of the "
        "step.",
        mistakes=(
            Mistake(slower, "That is attention alone. The rest of the step does not change."),
            Mistake(share, "That is attention's share of the step."),
            Mistake(share + slower, "The two shares multiply: one is a part of the other."),
            Mistake(
                share * (100 + slower) / 100,
                "That is how long attention takes now, as a share of the old step. How much "
                "longer is that than before?",
            ),
            Mistake(
                100 + answer, "That is the whole step in percent of the old one. How much longer?"
            ),
            Mistake(
                (100 - share) * slower / 100,
                "That makes the rest of the step slower. It is attention that is.",
            ),
        ),
    )


ALL = (_hit(), _steps(), _slower())
