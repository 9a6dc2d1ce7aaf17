"""Planes that need more positions for a rotation than the context has."""

import math

first = math.ceil(64 * math.log(2048 / (2 * math.pi)) / math.log(10000))
REFERENCE = 64 - first

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("the others", 41, "by hand", "do complete a rotation"),
    ("one radian", 11, "by hand", "one radian"),
    ("half a rotation", 18, "by hand", "half a rotation"),
    ("twice as many planes", 47, "by hand", "128 planes"),
    ("planes 0 to 127", 87, "by hand", "128 planes"),
    ("numbers of a head", 46, "by hand", "Two of them make a plane"),
    ("exponent without the 2", 0, "by hand", "not -i / 128"),
    ("where they stop", 40.2, "by hand", "count from there"),
    ("one too many", 24, "by hand", "One too many"),
    ("one too few", 22, "by hand", "One too few"),
    ("all", 64, "by hand", "all planes"),
    ("more than all", 128, "by hand", "There are 64 planes"),
    ("degrees", 51, "by hand", "not 360"),
    ("not whole", 23.8, "by hand", "an integer"),
    ("a guess", 30, "by hand", "logarithms"),
    ("a text", "23", "type", "one number"),
    ("numbers of the others", 82, "by hand", "dimensions of the planes that do"),
    ("a share", 23 / 64, "by hand", "a share"),
]
