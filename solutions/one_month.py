"""Count the pairs' share before you choose."""

MODEL = """
Count first. In a layer with an MLP of the usual width, the weight matmuls cost 24 n d² FLOPs and
the pairs 4 n² d. Their ratio is n/(6 d), here one sixth, so the pairs are one seventh of the
layer's work. Even if sparse or linear attention made the pairs free, only a seventh of the FLOPs
would be gone.

The time tells another story. Standard attention writes n² scores per head, reads them again several
times, and keeps them for the backward pass, in every layer. That traffic takes longer than its
FLOPs suggest, and the memory limits the batch. A fused kernel removes both. It doesn't save any
FLOPs in the forward pass, and in the backward pass it even computes the scores again.

It also computes the same function. I can test it against the old code up to rounding and continue
with the same checkpoint. The other two give another model, whose quality has to be measured in
training runs. That alone takes more than a month.

So I choose the fused kernel. With sequences of 100,000 tokens, n/(6 d) is about four. Then the
pairs are most of the work, a kernel doesn't change that, and I'd look at fewer pairs, at least in
some of the layers. And if the framework already has a fused kernel, the month is better spent
elsewhere.
"""

SAMPLES = [
    (
        "earns all",
        """
n/(6d) = 4096/24576 = 1/6, so pairs are 1/7 of the FLOPs in a layer (with causal kernels that skip
the hidden half even less). Sparse with 512 of 4096 saves 7/8 of that = 12 %, linear a bit more.
Both change what the model computes and would have to be validated. The fused kernel changes nothing
in the result, it saves the writing and reading of 32 heads × 16.8M scores per layer and the memory
for the backward pass, so we can use bigger batches. I take the kernel. From about 6d = 25,000
tokens on the square would be the larger part and I would reconsider.
""",
        (2, 2, 1),
    ),
    (
        "earns a part",
        """
I would take linear attention, as attention is quadratic and 4,096² = 16.8 million scores per head.
The fused kernel only moves memory around and the FLOPs are the same. If the texts were short, say
512 tokens, I would not do anything.
""",
        (0, 1, 1),
    ),
]
