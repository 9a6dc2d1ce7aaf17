"""A change of both at once explains nothing."""

MODEL = """
The factorization halves both costs. 4,096 · 4,096 is 16.8 million weights, and 2 · 4,096 · 1,024 is
8.4 million. Each weight serves 2 FLOPs per row, and each weight has to be read. So half the FLOPs
and half the bytes go together, and half the time fits both explanations.

With one row, the intensity is half a FLOP per byte in float32, far below the ridge point. The time
is that of reading 67 or 34 MB. With 512 rows, all rows share one read of the weights, and the
product is above the ridge point. There the FLOPs decide, and your colleague is right.

To tell the two apart, change only one. Multiply two, four, eight rows by the same matrix: the FLOPs
double each time, and the bytes of the weights stay the same. If FLOPs decide, the time doubles too.
I expect it to stay nearly the same up to the ridge point, apart from the jump when a library
changes its method. Or store the weights in 8 bits: the FLOPs stay, the bytes fall to a quarter, and
with one row the time should fall with them.
"""

SAMPLES = [
    (
        "earns all",
        """
Both numbers were halved: 16.8M to 8.4M weights, so also 67 to 34 MB in float32. For one row we are
memory bound (0.5 FLOP/byte, the ridge is at tens of FLOP/byte), so the time is halved because of
the bytes. For 512 rows we are compute bound and it's the FLOPs. Experiment: original matrix, one
row against four rows. FLOPs times 4, bytes the same. She says 4 times the time. I say about the
same time. (Two rows may be odd because of the library.)
""",
        (2, 2, 2),
    ),
    (
        "earns a part",
        """
For one row it is memory bound and for 512 rows it is compute bound, so it cannot be only the FLOPs.
One should measure other sizes of the middle, e.g. 512 and 2,048, and see whether the time goes up
proportionally.
""",
        (0, 2, 0),
    ),
]
