"""Bytes bound the time only while they are the largest bound."""

MODEL = """
A kernel takes at least the time of its bytes and at least the time of its FLOPs. With 64 queries in
a block the long prefill waited for keys and values, so halving what is read made it faster. Each
byte that comes in meets as many queries as a block has, and somewhere between 128 and 256 the
products became the larger of the two bounds. From there on fewer bytes save nothing: the FLOPs are
the same for all blocks, or a little more.

On 512 tokens two things get worse. There are only two blocks of 256 queries for each head instead
of eight, so that there are fewer programs than multiprocessors, or too few to share the work out
evenly. And under the causal mask tiles of 256 are coarse: three quarters of the square are computed
if the blocks of keys grow too, against 56 percent with tiles of 64.

A decode step has one query for each sequence, or one group of heads. The block is not full whatever
its size is, and all keys are read once in any case. What helps there is to split the keys, so that
there are more programs.

To test the third explanation I would count programs and tiles that are computed for 512 tokens, and
then measure with more heads or more texts at once: if too few programs are the reason, 256 catches
up when there are enough of them; if it is the coarse diagonal, it stays slower, and without the
mask the difference goes.
"""

SAMPLES = [
    (
        "earns all",
        """
64 -> 128: memory-bound, half the K/V reads -> faster. At 256 the intensity is above the ridge, so
it is compute-bound, and FLOPs don't depend on the block. 512 tokens: with 256 rows only 2 blocks
per head (8 with 64), so most SMs idle, plus more masked work on the diagonal (75 % of the square
instead of 56 %). Decode: one query, K/V are read once anyway, larger block changes nothing; split
the keys instead. Check: run 512 tokens with batch x 16. If it's occupancy, then 256 is as fast as
64 there. Also without causal mask.
""",
        (2, 2, 1, 1),
    ),
    (
        "earns a part",
        """
Larger blocks read less but at some point the GPU is limited by compute, so it isn't faster any
more. For short texts the overhead dominates. Decoding is always memory bound. I would use a
profiler.
""",
        (2, 0, 0, 0),
    ),
]
