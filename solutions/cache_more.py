"""Keep what is read again."""

MODEL = """
A step computes one row: the query of the new token against all keys, a softmax, and the sum over
all values. It needs one query, the new one. Old queries and old weights belong to rows that were
finished long ago, and nothing reads them again. The queries would cost as much memory as the keys
of a layer without shared heads, and the weights would grow with the square of the tokens. Nothing
would get faster.

Keys and values are different. Every later query reads all of them, and they don't change, because
a token attends only to what comes before it.

To recompute the values, you need the inputs x of every layer for all earlier tokens. They aren't
there, so you'd have to keep them. They have d_model values per token, often more than the values
they replace. And each step would multiply all of them by W_v, in every layer. That's the work the
cache was meant to save, and it grows with the length of the sequence.

You could consider keeping x instead of both. Without shared heads, x is half as large as keys and
values together. The price is the matmuls with all of them in each step, unless you can move the
matrices to the other side, into the query and the output. That's the idea of latent attention.
"""

SAMPLES = [
    (
        "earns all",
        """
1) For token n you need q_n, all k, all v. q_1..q_{n−1} and the old rows of the softmax are finished
and never used again, so it is only memory (weights even n² numbers). 2) k and v are needed by all
later tokens and stay fixed thanks to causality. Without the v cache I need the x of all tokens in
each layer, which is a cache too, of d_model per token, and each step has n·d² extra work per layer.
It's the recomputation we wanted to avoid. If I keep x then I can drop k too: with plain multi-head
attention this halves the memory, but costs recomputing K and V from x at every step. One could
think of it if memory is the only problem.
""",
        (2, 1, 2, 1),
    ),
    (
        "earns a part",
        """
Queries are not needed for the next token, so the first is useless, but it does not harm. The second
one saves half of the memory but you have to recompute V = x W_v. This costs time, so it is a trade
between time and memory, and for long texts where memory is the problem I would do it.
""",
        (1, 0, 0, 0),
    ),
]
