"""The smallest batch whose products with weights reach the ridge."""

import math

REFERENCE = math.ceil(989.4e12 / 3.35e12)

WRONG = [
    ("starter", ..., "attempted", "three dots"),
    ("rounded down", 295, "by hand", "Rounded down"),
    ("half", 148, "by hand", "Half of it"),
    ("twice", 591, "by hand", "Twice too many"),
    ("doubled after rounding", 590, "by hand", "Twice too many"),
    ("bits", 2363, "by hand", "bytes, not bits"),
    ("powers of 1,024", 269, "by hand", "not 2^40"),
    ("next power of two", 512, "by hand", "next power of two"),
    ("one", 1, "by hand", "single FLOP"),
    ("a thousand", 295344, "by hand", "A factor 1,000"),
    ("the quotient", 295.34, "by hand", "whole number"),
    ("upside down", 0.00339, "by hand", "upside down"),
    ("another number", 64, "by hand", "is not it"),
    ("a text", "296", "type", "one number"),
]
