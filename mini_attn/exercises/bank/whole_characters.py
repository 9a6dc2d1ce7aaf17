"""Write what a stream may show: whole characters only."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A model writes a text token by token. `data` `(n,)` holds all its bytes, valid UTF-8, and `sizes`
`(n_tokens,)` how many of them each token has. A token may end in the middle of a character, and
then a screen would show �. In UTF-8, a character's first byte says how many bytes it has: 1 if the
byte is below 128, 2 from 192, 3 from 224, 4 from 240. All its other bytes are from 128 to 191.
Return `shown` `(n_tokens,)`, integers: how many bytes of the text can be shown after each token, as
many as possible, but only whole characters.
"""
STARTER = '''
def whole_characters(data, sizes):
    """Bytes that can be shown after each token (n_tokens,)."""
    raise NotImplementedError
'''

Array = np.ndarray
LETTERS = "abc nr.äßéλжשक人の字🙂🌍"


def _case(text: str, sizes: list[int]) -> Inputs:
    return {"data": np.frombuffer(text.encode(), np.uint8).astype(np.int64),
            "sizes": np.array(sizes)}  # fmt: skip


def _drawn(rng: np.random.Generator, n: int, most: int) -> Inputs:
    """A text of letters of every length, cut anywhere."""
    text = "".join(rng.choice(list(LETTERS), n))
    left, sizes = len(text.encode()), []
    while left:
        sizes.append(min(left, int(rng.integers(1, most + 1))))
        left -= sizes[-1]
    return _case(text, sizes)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: an ö in two tokens, then an emoji in three. The property: any text, cut anywhere."""
    return {
        "by hand": [_case("aö b", [2, 1, 2]), _case("hi 🙂人!", [3, 1, 2, 2, 1, 2])],
        "random": [_drawn(rng, 12, 3), _drawn(rng, 15, 5)],
        "property": [_drawn(rng, 40, 1), _drawn(rng, 40, 4), _drawn(rng, 60, 7)],
        "edges": [_case("a", [1]), _case("🌍", [1, 1, 1, 1]), _case("人人", [6])],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One number per token."""
    return {"shown": (inputs["sizes"].shape, "i")}


def _starts(data: Array) -> Array:
    """Places where a character begins, and the end of the text."""
    return np.append(np.flatnonzero((data < 128) | (data >= 192)), len(data))


def right(inputs: Inputs) -> Array:
    """The last place up to each token's end where a character begins or the text ends."""
    ends, starts = np.cumsum(inputs["sizes"]), _starts(inputs["data"])
    return np.asarray(starts[np.searchsorted(starts, ends, side="right") - 1])


def slips(inputs: Inputs) -> Slips:
    """Too much, too little, or something else counted."""
    data, sizes = inputs["data"], inputs["sizes"]
    ends, starts, shown = np.cumsum(sizes), _starts(data), right(inputs)
    back = ends - sizes
    whole = shown == ends
    tokens = np.maximum.accumulate(np.where(whole, ends, 0))
    plain = np.append(0, np.flatnonzero(data < 128) + 1)
    ascii_only = plain[np.searchsorted(plain, ends, side="right") - 1]
    last = data[ends - 1]
    lead = np.where(last >= 192, ends - 1, ends)
    tail = np.where((last >= 128) & (last < 192), shown, ends)
    before = starts[np.maximum(np.searchsorted(starts, ends, side="left") - 1, 0)]
    apart = np.array([len(bytes(data[a:b].astype(np.uint8)).decode(errors="ignore").encode())
                      for a, b in zip(back, ends, strict=True)])  # fmt: skip
    return [
        (ends, "You show every byte that has come, also a part of a character."),
        (np.cumsum(apart), "You decode each token by itself. A character whose bytes are in two "
         "tokens then never appears: keep the first bytes until the others come."),
        (tokens, "You hold the whole token back if it ends inside a character. The characters "
         "before that one are complete."),
        (ascii_only, "You only show text up to the last byte below 128. A character of several "
         "bytes is complete as soon as its last byte is there."),
        (lead, "You hold back a first byte at the end, but not the bytes after it. A character of "
         "3 or 4 bytes can be cut later, too."),
        (tail, "You hold back a character whose second or third byte came last, but not one of "
         "which only the first byte is there."),
        (np.where(whole, ends, ends - 1), "You hold back the last byte alone. Of a character of 4 "
         "bytes, up to 3 can be waiting."),
        (starts[np.searchsorted(starts[:-1], ends, side="right") - 1], "The end of the text is "
         "missing among the places where a stream can stop. The last character is whole, too."),
        (before, "You always hold the last character back. It's shown as soon as it's complete."),
        (np.searchsorted(starts, shown), "Those are characters. Return bytes."),
        (np.diff(shown, prepend=0), "That's what is new after each token. Return how many bytes "
         "can be shown in all."),
        (ends - shown, "Those are the bytes that are held back. Return those that are shown."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="whole_characters",
    page="tokens",
    title="No half characters",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Bytes, so that every text has tokens",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Where in the text can a stream stop? Mark those places first, for the text as a whole.",
        "A stream can stop where the next byte begins a character, and at the end of the text. For "
        "each token, you want the last such place up to its end: `np.searchsorted`.",
    ),
    common_errors=(
        "Decoding each token by itself.",
        "Holding back a whole token, or only the last byte.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Write the bytes of the case in a row, mark where characters begin, and compare."
    ),
)
