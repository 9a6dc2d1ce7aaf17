"""How stories are told: states, lines with slots, chances. Data, and the way to read it.

A row begins in the state ``"start"``, and so does each story in it. Each state has lines; one is
chosen by weight, its words are said, its moves are made, and the story goes on in the state that
it names. Slots of a line:

- ``{X:object}`` says a word of a class, each with the same chance, that no register holds yet, and
  puts it into the register X;
- ``{X}`` says the word that X holds, ``{H|she}`` its pronoun;
- ``{X?}`` says it where a reader has to recall it: who has what, and what was put where.

H holds the thing X. O is the other one, who in a trade holds Y, T a third. A put Y away at the
place P. K and L are colors, Q is where they are, F what somebody felt last.
"""

from __future__ import annotations

from typing import NamedTuple

from mini_attn.stories.vocabulary import CLASSES, START

__all__ = ["PRONOUNS", "REGISTERS", "STATES", "Line", "Slot", "parse"]

REGISTERS = ("", "H", "O", "T", "A", "X", "Y", "P", "Q", "K", "L", "F")  # the first stays empty
PRONOUNS = {
    form: dict.fromkeys(CLASSES["girl"], girl) | dict.fromkeys(CLASSES["boy"], boy)
    for form, girl, boy in (("she", "she", "he"), ("her", "her", "him"))
}


class Line(NamedTuple):
    """One way on: its weight among those of its state, its words, what follows, who moves.

    Parameters
    ----------
    weight : float
        Its chance, relative to the other lines of the state.
    text : str
        Words and slots; an empty text only goes on.
    then : str
        The next state.
    moves : str
        What registers hold afterwards, as ``"H=O O=H"``; those that are not named keep theirs.
    """

    weight: float
    text: str
    then: str
    moves: str = ""


class Slot(NamedTuple):
    """One word of a line: a word of its own, a word that is drawn, or a register's.

    Parameters
    ----------
    word : str
        The word itself, or nothing.
    register : str
        Where a word is put that is drawn, or the one that is said.
    drawn : str
        The class that a word is drawn from, or nothing.
    form : str
        The pronoun that stands for it, or nothing.
    asked : bool
        Whether it has to be recalled.
    """

    word: str = ""
    register: str = ""
    drawn: str = ""
    form: str = ""
    asked: bool = False


def parse(text: str) -> tuple[Slot, ...]:
    """The words and slots of a line.

    Parameters
    ----------
    text : str
        A line of the grammar.

    Returns
    -------
    tuple of Slot
        One for each word.

    Examples
    --------
    >>> [slot.word or slot.register for slot in parse("now {H?} had")]
    ['now', 'H', 'had']
    """
    slots = []
    for part in text.split():
        if not part.startswith("{"):
            slots.append(Slot(word=part))
            continue
        inner = part[1:-1]
        register, _, drawn = inner.removesuffix("?").partition(":")
        register, _, form = register.partition("|")
        slots.append(Slot("", register, drawn, form, inner.endswith("?")))
    return tuple(slots)


_SWAP, _HAND_ON = "H=O O=H", "H=T T=H"
# What can happen in a scene: the thing goes over, or something else is told.
_PAIR = (
    (5, "{H} gave the {X} to {O} .", _SWAP),
    (2, "{O} took the {X} from {H} .", _SWAP),
    (2, "then {H} let {O} have the {X} .", _SWAP),
    (2, "now {H?} had the {X?} .", ""),
    (2, "{H} was {F:feeling} and {O} laughed .", ""),
    (1, "{O} looked at the {X} and {O|she} was {F:feeling} .", ""),
    (1, "{H} liked the {X} very much .", ""),
    (2, "they walked to the {Q:place} together .", ""),
    (1, "the sun was warm and they talked all day .", ""),
    (1, "it began to rain and both ran home .", ""),
)
_TRIO = (
    *_PAIR,
    (5, "{H} gave the {X} to {T} .", _HAND_ON),
    (2, "{T} took the {X} from {H} .", _HAND_ON),
    (2, "then {H} let {T} have the {X} .", _HAND_ON),
    (1, "{T} was {F:feeling} .", ""),
)
_TRADE = (
    (4, "{H} gave {O|her} the {X} for the {Y} .", _SWAP),
    (2, "then they swapped .", _SWAP),
    (1, "{H} was {F:feeling} and {O} laughed .", ""),
    (1, "{O} looked at the {Y} and {O|she} was {F:feeling} .", ""),
    (1, "they walked to the {Q:place} together .", ""),
    (1, "it began to rain and both ran home .", ""),
)


def _scenes(form: str, least: int, most: int) -> dict[str, tuple[Line, ...]]:
    """States of a form of story with `least` to `most` scenes, each number equally likely.

    After scene i the story closes with the hazard of that law. Two are joined by a third at
    most once, so that each number of scenes has a state of two and one of three.
    """
    casts = {"trade": _TRADE} if form == "trade" else {"pair": _PAIR, "trio": _TRIO}
    states = {}
    for cast, scenes in casts.items():
        for told in range(cast == "trio", most + 1):  # a third joins in a scene
            lines = [(w, text, f"{form}.{cast}.{told + 1}", moves) for w, text, moves in scenes]
            if cast == "pair":
                lines.append((2, "{T:name} came too .", f"{form}.trio.{told + 1}", ""))
            close = 1 / (most + 1 - told) if told >= least else 0.0
            share = (1 - close) / sum(line[0] for line in lines)
            ways = [Line(close, "", f"{form}.close")]
            ways += [Line(weight * share, *rest) for weight, *rest in lines]
            states[f"{form}.{cast}.{told}"] = tuple(way for way in ways if way.weight)
    return states


def _meeting(after: str) -> tuple[Line, ...]:
    return (
        Line(3, "one day {H} went to the {Q:place} and met {O:name} .", after),
        Line(1, "one day {O:name} came to {H} .", after),
    )


_CLEAR = " ".join(f"{register}=" for register in REGISTERS[1:])
_NOW = "now {H?} had the {X?} ."
STATES: dict[str, tuple[Line, ...]] = {
    "start": (Line(1, START, "opening", _CLEAR),),
    "opening": tuple(
        Line(1, f"once upon a time there was a {child} named {{H:{child}}} .", "has")
        for child in ("girl", "boy")
    ),
    "has": (
        Line(2, "{H} had a {K:colour} {X:object} .", "form"),
        Line(1, "{H} found a {K:colour} {X:object} by the {Q:place} .", "form"),
    ),
    "form": (
        Line(2, "", "short"),
        Line(1, "", "trade"),
        Line(1, "", "long"),
    ),
    # A thing goes from hand to hand among two or three.
    "short": _meeting("short.pair.0"),
    **_scenes("short", 1, 6),
    "short.close": (Line(1, _NOW, "last"),),
    # Two have a thing each and trade: the thing is known once it is said who is meant.
    "trade": (Line(1, "then {O:name} came with a {L:colour} {Y:object} .", "trade.trade.0"),),
    **_scenes("trade", 1, 5),
    "trade.close": (
        Line(1, "now {H} had the {X?} .", "last"),
        Line(1, "now {O} had the {Y?} .", "last"),
    ),
    # Something is put away before the scenes, and found after them.
    "long": (
        Line(1, "{H} put a {L:colour} {Y:object} under a tree by the {P:place} .", "met", "A=H"),
    ),
    "met": _meeting("long.pair.0"),
    **_scenes("long", 1, 18),
    "long.close": (
        Line(1, "at last {A?} went back to the {P?} and found the {Y?} .", "short.close"),
    ),
    "last": (Line(1, "the end .", "start"),),
}
