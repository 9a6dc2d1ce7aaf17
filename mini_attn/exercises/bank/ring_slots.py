"""Write down which token is in which slot of a ring."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
After `n_tokens` tokens, counted from position 0, which position is in each slot of a ring of
`window` slots? Return an integer array of shape `(window,)`, with −1 for a slot that no token has
reached. `n_tokens` can be 0, and it can be so large that a loop over all tokens takes too long.
"""
STARTER = '''
def ring_slots(n_tokens, window):
    """Position of the token in each slot (window,), -1 for none."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: six tokens, four slots. The property: as if they had come one by one."""

    def of(pairs: list[tuple[int, int]]) -> list[Inputs]:
        return [{"n_tokens": n, "window": window} for n, window in pairs]

    random = [(int(n), int(window)) for n, window in rng.integers([8, 2], [40, 8], size=(5, 2))]
    return {
        "by hand": of([(6, 4)]),
        "random": of(random),
        "property": of([(n, 5) for n in range(5, 16)]),
        "edges": of([(0, 3), (2, 5), (3, 3), (7, 1), (1_000_003, 4096)]),
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A position for each slot."""
    return {"positions": ((inputs["window"],), "i")}


def _written(n_tokens: int, window: int) -> Array:
    """The last tokens, each in its slot; -1 where none is."""
    slots = np.full(window, -1)
    last = np.arange(max(0, n_tokens - window), n_tokens)
    slots[last % window] = last
    return slots


def _rounds(inputs: Inputs) -> Slips:
    """Return what the slots would hold with one fault in how the ring goes round."""
    n, window = inputs["n_tokens"], inputs["window"]
    slots, last = np.arange(window), np.arange(max(0, n - window), n)
    first = np.where(slots < n, slots, -1)
    now = n // window * window + slots
    listed = np.pad(last % window, (0, window - len(last)), constant_values=-1)
    turned = np.roll(last, -(n % window)) if n > window else first
    return [
        (np.where(slots < n - window, slots + window, first),
         "You let the ring wrap at most once. It wraps as often as the text is long enough."),
        (np.where(now < n, now, -1),
         "You return −1 for slots that this round has not reached. They still hold tokens of the "
         "round before."),
        (turned, "Your tokens go around the wrong way. Position p goes into slot p mod window."),
        (np.where(slots < n, (n - 1 - slots) // window, -1),
         "Those are the rounds of the ring. Which positions are in the slots?"),
        (n - (n - slots) % window,
         "One token too many, and a slot that no token has reached should be −1."),
        (listed,
         "Those are the slots of the last tokens. Return the reverse: the position in each slot."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the slots would hold with one idea missing."""
    n, window = inputs["n_tokens"], inputs["window"]
    held, slots = _written(n, window), np.arange(window)
    below = n - 1 - (n - 1 - slots) % window
    return [
        (np.where(held < 0, 0, held),
         "You put 0 into an empty slot, so it looks like the slot of the first token. Use −1."),
        (below, "A slot that no token has reached should be −1, not another negative number."),
        (np.sort(held), "That's the order of the text. In a ring, the token at position p is in "
         "slot p mod window."),
        (np.sort(held)[::-1], "That's the order of the text, the newest first. The token at "
         "position p is in slot p mod window."),
        (_written(n + 1, window), f"One token too many. The last of {n} has position {n - 1}."),
        (_written(max(n - 1, 0), window),
         f"One token is missing. {n} tokens have the positions 0 to {n - 1}."),
        (np.where(slots < n, slots, -1),
         "Those are the first tokens. Each new one overwrites the oldest."),
        (slots, "Those are the numbers of the slots. Which positions are in them?"),
        (np.where(held < 0, -1, held % window),
         "Those are the slots again. Return the position itself, not its remainder."),
        *_rounds(inputs),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """The last tokens, each in its slot."""
    return _written(inputs["n_tokens"], inputs["window"])


EXERCISE = Exercise(
    id="ring_slots",
    page="sliding-window",
    title="Which token is in which slot",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="The ring",
    definition="The ring",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Of all positions that go into a slot, the ring holds the last one.",
        "The ring holds the last min(n_tokens, window) tokens. Write each position p into slot "
        "p % window of an array that is full of −1.",
    ),
    common_errors=(
        "Returning the positions in the order of the text.",
        "Counting n_tokens as a position. The last token has position n_tokens − 1.",
        "Leaving 0 in empty slots, which is a position like any other.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
