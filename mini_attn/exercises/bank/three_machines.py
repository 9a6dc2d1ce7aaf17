"""Open: three servers, and which split each needs."""

from __future__ import annotations

from mini_attn.exercises.spec import Exercise

EXERCISE = Exercise(
    id="three_machines",
    page="devices",
    title="Three servers, three splits",
    kind="open",
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Decode over a split cache",
    text="""
Three teams have eight devices each. The links between the devices are fast within a machine and
slow between two machines.

- One serves a model of 70B parameters with 8 key/value heads in one machine, short chats.
- One serves a latent model, and a single conversation's cache fills several devices.
- One reads prompts of a million tokens with two machines of four devices.

For each, choose how to split and say why: what does each device keep, what does it send, and who
waits? Name a split that wouldn't help, and a number that you'd count before you build it.
""",
    rubric={
        "First: tensor parallel, with a reason: weights are split too, few values per token.": 1,
        "Second: sees that heads don't split a latent, and splits positions or requests.": 2,
        "Third: splits tokens, in an order that balances, and thinks of the slow link.": 1,
        "Names a split that doesn't help, and a number to count first.": 1,
    },
    hints=(
        "Write down for each server what's too large for one device: weights, cache or work.",
        "Count values per token for each split, then ask which link they cross.",
    ),
    common_errors=(
        "Splitting a latent by heads, and counting on an eighth of its cache.",
        "A ring in contiguous order.",
        "Counting bytes only, and not who waits.",
    ),
)
