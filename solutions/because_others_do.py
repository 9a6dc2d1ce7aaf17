"""Bound the gain before you pay for it."""

MODEL = """
Before we pay for it, let's bound what it can bring. A decode step reads the weights once, about 15
GB (the embedding table is only looked up), and the cache of all chats: 131,072 bytes per token,
times 2,000 tokens, times 16 chats, about 4.2 GB. So the cache is a fifth of what a step reads. If
it cost nothing at all, a step would be a fifth shorter. A latent of 512 values and a RoPE key of 64
would shrink it to about 1.2 GB, and a step to 84% of today's bytes: a gain of some 16% at the very
best.

The price: our keys and values have to go through a latent that the model wasn't trained with. The
published conversions need 1% of the training data or less, but we don't have that data, and we'd
have to check everything that works today. We need other kernels, and on several devices each of
them has to hold the latent.

I recommend that we leave the attention alone. Weights in 8 bits are the work of a week and remove
more than 7 of the 19 GB, and a cache in 8 bits removes another 2.

The strongest argument against me: chats grow. At 16,000 tokens, or with 128 users, the cache is two
thirds of what a step reads, and then latent attention saves nearly half of it. If that's where
we'll be in a year, the three months are well spent.
"""

SAMPLES = [
    (
        "earns all",
        """
Step = weights 16.1 GB + cache 16·2000·131 kB = 4.2 GB ≈ 20 GB. Cache share 21 %. MLA at best makes
the 4.2 to about 1.2 GB, so ~15 % less, upper bound because kernels will not be perfect at first.
Cost: 3 months, retraining, risk for quality, serving stack. My advice: don't. Quantise the weights
to int8, saves 40 % of the bytes in days. Against me: if users paste long documents (32k) the cache
is 67 GB > weights, then MLA would be the big lever and int8 weights would hardly matter.
""",
        (2, 1, 1, 1),
    ),
    (
        "earns a part",
        """
MLA needs 576 numbers per token and layer and GQA with 8 heads of 128 needs 2,048, so the cache is
3.6 times smaller. This would make decoding up to 3.6 times faster. But the conversion needs
training and may lose quality. I would try it with a small model first, and if the quality is good
go on. If it is not, quantise the cache.
""",
        (0, 0, 1, 1),
    ),
]
