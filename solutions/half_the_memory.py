"""Some bits from both, and a test that asks for exact words."""

MODEL = """
Both halves take 16 GB, so 32 GB have to become 16. In groups of 32 with a float16 scale, 4-bit
weights take 4.5 bits: 4.5 GB instead of 16, which saves 11.5 GB. That alone is not half: 4.5 + 16
is 20.5 GB. A 2-bit cache with zeros and scales takes 3 bits: 3 GB, and with the weights as they are
19 GB; it needs something from the weights too. Half of the weights set to zero saves nothing at all
as long as the matrices are stored as they were. Stored as 2 of 4, it would be 9 GB instead of 16,
and 25 GB together, at a loss that is larger than that of 4 bits.

So I combine mild steps. Weights in 4 bits, rounded by GPTQ with contracts as its data: 4.5 GB. The
cache in 8 bits takes 9 GB with scales and zeros in groups of 32, together 13.5 GB. There is no need
for 2 bits, where keys lose most, since a rounded key moves the weight to another token. If more had
to go, I would take the values down before the keys.

What would change my mind is a test for exact recall: names, sums and dates in a clause 20,000
tokens back, asked for word for word, before and after. The mean loss of a text would not show such
a fault, as most words do not need it. If recall falls, weights go back to 8 bits first, then the
keys to 16, and I see which of the two it was.
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
