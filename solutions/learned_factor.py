"""It could be learned, if anything could be learned."""

MODEL = """
As a statement about what the model can compute, the claim is right. The factor can be multiplied
into W_q, so with and without it the same functions are possible, and in code that serves a trained
model one may even do this.

The trouble is the start. Random queries and keys with entries of variance 1 have scores of variance
128, a standard deviation of more than 11. A softmax of numbers that differ by ten or twenty is
nearly one-hot: one key gets everything, and which one is decided by chance.

There the softmax is flat. Its slope is w (1 − w) for each weight, nearly 0 where w is nearly 0 or
1, so hardly any gradient reaches W_q and W_k. What would have to shrink these weights is the very
gradient that is missing. The factor is not there for what the model can say but for where it begins
to learn.

If W_q starts smaller by the factor 1/√128, the first forward pass is the same as before, and the
claim comes true, up to the size of the steps. Norms on queries and keys do it too, and for all of
the training.
"""

SAMPLES = [
    (
        "earns all",
        """
He is right that nothing is lost in principle: scaling W_q by a constant gives exactly the model
with the factor. But with random weights the dot product of 128 terms has standard deviation √128 ≈
11, so the softmax already puts almost all its weight on one key. Saturated softmax = derivative
close to zero, w(1-w) with w about 1. So W_q gets almost no gradient, and it can't learn to be
smaller, because learning is what is broken. What he can do is to initialise W_q about eleven times
smaller. Then day one looks like the scaled model.
""",
        (1, 2, 2, 1),
    ),
    (
        "earns a part",
        """
This is wrong, since without the root the scores have a standard deviation of about 11 and the
softmax is almost hard. Then attention looks at one token only, which is bad for the model, because
it should look at many. Therefore all papers use the root. One could use a layer norm on q and k
instead.
""",
        (0, 2, 0, 1),
    ),
]
