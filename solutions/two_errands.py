"""One row of weights for two things."""

MODEL = """
Tokens: "red", "ball", "small", "it". Let every value hold four numbers: colour, size, kind, and
nothing else of interest. "red" has a colour, "small" a size, and both of them have some noise in
the other places: "red" was also used of a large car before, "small" of a blue one. Head 1 of "it"
gives "red" the weight 1 and moves the colour alone; head 2 gives "small" the weight 1 and moves the
size alone. What arrives is the colour of "red" and the size of "small", and nothing of the noise.

One head has one row of weights for "it". It can give "red" and "small" one half each, and its value
matrix may pass colour and size together. Then half the colour of "red" arrives, and half the colour
that hangs on "small"; the same for the sizes. The two can no longer be told apart, because the
average is taken before anything looks at it.

More width gives queries and keys more numbers to be compared by, and values more to carry. It does
not give a second row of weights, and every token that is looked at still goes through the same
value matrix.
"""

SAMPLES = [
    (
        "earns all",
        """
Tokens A, B, C. A holds (a1, a2), B holds (b1, b2), and C wants (a1, b2), for any numbers in there.
Head 1: weights (1, 0, 0), moves entry one. Head 2: weights (0, 1, 0), moves entry two. Sum: (a1,
b2). One head has weights (w, 1−w, 0) and one matrix M for both tokens, it gives w·A·M + (1−w)·B·M.
To get a1 it needs w > 0 and M has to pass entry one; but then (1−w)·b1 comes too, unless w = 1. To
get b2 it needs w < 1. Both at once is not possible. A wider head has more numbers for comparing but
still one w. The second head brings a second M: from A one entry is taken, from B the other.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
The cat sat, and it was tired. Head 1 looks from "it" to "cat", head 2 from "it" to "sat". So "it"
knows who and what. One head has only one softmax per row and so it has to share: 0.5 for "cat" and
0.5 for "sat". It gets the mean of the two.
""",
        (1, 1, 0),
    ),
]
