"""Held and read are two numbers."""

MODEL = """
If every second layer borrows its neighbor's keys and values, half as much is held. What a step
reads stays the same, because a borrowing layer still attends to all keys; they're just the
neighbor's. So the
phone gains: about half of the cache's memory, and the projections of keys and values of half the
layers. The server's complaint isn't addressed. Its steps read as many bytes as before, though more
users fit into memory, and a prompt's prefill can stop early if the readers are the last layers.

Entries of four tokens divide both by about four in a long text: there are fewer keys to hold, and
fewer to read. The window is a fixed cost. So this helps the server's steps, and the phone
as well.

Both can cost recall. A reader can't make keys of its own input, and if the layer it reads is too
early, its keys don't know enough about the context. An entry mixes four keys, so a query that wants
one of them gets a smaller score, and four values come back as one mean.

I'd measure the bytes held and the bytes read in a step, the time of a step at several batch sizes,
and recall: facts at known distances, inside and outside the window, against the same model without
the change. The mean loss alone wouldn't show it.
"""

SAMPLES = [
    (
        "earns all",
        """
sharing: held bytes /2, read per step the same (reader layers still read the keeper's cache).
compressed: held and read both about /4 plus the window. Phone: both help memory. Server: sharing
does not fix it, steps read the same bytes; entries do. Quality: sharing = the reader has no keys
from its own input, so lookups that need later-layer features can fail (induction). Entries = the
score of one key among four is diluted, exact copying gets worse. Measure cache bytes, ms per step,
and a needle test at different distances, not just perplexity.
""",
        (2, 1, 1, 1),
    ),
    (
        "earns a part",
        """
Both make the cache smaller so both make the phone and the server better. With half of the layers
the cache is half and steps are twice as fast, with entries of four tokens it is a quarter. I would
measure cache bytes, ms per step, and whether a fact is found at known distances.
""",
        (0, 0, 0, 1),
    ),
]
