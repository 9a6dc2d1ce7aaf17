"""The prompt gains and the answer does not."""

MODEL = """
The waiting time has two parts. First the model reads the prompt. Its 2,000 tokens go through the
weights together, so each weight that is read serves all of them, and the arithmetic takes longer
than the reading. This part gains from the new device: the first word comes up to twice as early.

Then it writes the answer, one token after the other. For each of the 500 tokens, it has to fetch
all weights from memory and uses each of them once. The processor already waits for the memory
today, and a faster one just waits longer. Because most of the time is spent here, the whole answer
takes nearly as long as before.

I'd look for more bytes per second instead of more FLOP/s, or for fewer bytes. Weights in 8 or 4
bits are read two or four times as fast. Or let a small model propose several tokens and have the
large one check them in one read.

Many users at once would make good use of each read, because the same weights serve all of them.
That gives more answers per hour from the same device. But this user doesn't get theirs any sooner.
"""

SAMPLES = [
    (
        "earns all",
        """
Reading the prompt is limited by computing because 2,000 rows use each weight, so the time to the
first token goes down, at best to half. Writing is limited by memory: for every one of the 500
tokens the 16 GB of weights are read once and used for a single row, so twice the FLOP/s change
nothing. Overall it is hardly noticeable. Better: quantise the weights to 8 bits (half the bytes),
or a device with faster memory. A batch lets more users share the reading of the weights but each
user still waits for the same steps.
""",
        (2, 2, 1, 1),
    ),
    (
        "earns a part",
        """
LLM inference is memory bound, so twice the FLOP/s will not help at all. We should buy a device with
higher bandwidth, or use a batch so that the answers come faster.
""",
        (1, 0, 1, 0),
    ),
]
