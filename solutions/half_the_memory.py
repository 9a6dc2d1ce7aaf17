"""Some bits from both, and a test that asks for exact words."""

MODEL = """
Both halves take 16 GB, so 32 GB have to become 16. In groups of 32 with a float16 scale, 4-bit
weights take 4.5 bits: 4.5 GB instead of 16, which saves 11.5 GB. That alone isn't half: 4.5 + 16 is
20.5 GB. A 2-bit cache with zero points and scales takes 3 bits: 3 GB, and with the weights
unchanged 19 GB. It needs something from the weights, too. Setting half of the weights to zero saves
nothing as long as the matrices are stored as before. Stored as 2 of 4, they would take 9 GB instead
of 16, and 25 GB together, at a larger loss than that of 4 bits.

So I combine mild steps. Weights in 4 bits, rounded by GPTQ with contracts as its data, take 4.5 GB.
The cache in 8 bits takes 9 GB with scales and zero points in groups of 32, together 13.5 GB. I
don't need 2 bits, where keys lose most, because a rounded key moves weight to other tokens. If I
had to save more, I'd give the values fewer bits before the keys.

A test for exact recall would change my mind: names, sums and dates in a clause 20,000 tokens back,
asked for word for word, before and after. The mean loss over a text wouldn't show such a fault,
because most words don't need it. If recall falls, I'd first put the weights back to 8 bits, then
the keys to 16, and see which of the two it was.
"""

SAMPLES = [
    (
        "earns all",
        """
32 GB → 16. Option 1: 16 × 4.5/16 = 4.5 GB weights + 16 cache = 20.5, not enough. Option 2: 3 GB
cache + weights would need to be 13, so e.g. 8 bit → 8.5 + 3 = 11.5 OK. Option 3: dense zeros are
stored, saves 0 (2:4: 56 % → 9 GB). I take int4 weights (GPTQ) and an 8 bit cache (~9 GB) = 13.5 GB.
2-bit keys change scores and through exp() shift attention to wrong tokens, 2-bit values only get
averaged. For contracts I'd measure whether it still quotes the right amount/paragraph number from
30 pages before, not perplexity. If those answers drop, keys go back to 16 bits.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
I would take 4 bit weights because 4 bits is a quarter of 16, so the weights shrink by 75 % and
all together it is well below... 4 + 16 = 20 GB, hmm, so add a cache of 8 bits. Pruning is bad as
half the weights are gone. I would measure the perplexity on contracts before and after.
""",
        (1, 0, 0),
    ),
]
