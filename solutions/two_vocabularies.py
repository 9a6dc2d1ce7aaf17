"""Tables are paid once, tokens for each text."""

MODEL = """
One table of 256,000 rows has 0.52B parameters at width 2,048 and 2.1B at width 8,192; logits with
a matrix of their own need as much again. Beside the layers as they are, that's more than a third of
the new model for the phone, with two tables more than half, and in bfloat16 a gigabyte or two;
before, it was an eighth of that. For the server it's three to six percent.

Each step multiplies one vector by all rows. On the phone a chat is short: the product costs
as much as attention to 256,000 / 48 = 5,333 tokens, so it's more than all its attention, and all
rows are read for each token. On the server it's worth attention to 1,600 tokens, little for a long
document.

A text gets fewer tokens. For English perhaps a little, and for languages that were cut into bytes
a lot. The cache and the number of steps shrink in the same proportion. So I'd do it for the server.
For the phone I'd take a smaller vocabulary that was learned on the languages its users speak, and
one table for both uses.

First I'd count tokens per sentence for the same sentences in all twenty languages, then the time
of a step with both sizes, and the loss per character, because losses per token of two vocabularies
can't be compared.

An id is the row of a table that was learned. With another vocabulary, the same id is another piece
of text, so embedding and logits have to be learned again, and the layers have to get used to them.
"""

SAMPLES = [
    (
        "earns all",
        """
Phone: 256k*2048 = 524M per table, 2 tables if untied => >= half of the 1B. Server: 2.1B of 70B,
3%. Fewer tokens/text => KV cache and decode steps go down, esp. non-English (byte-split) text,
English just slightly. Logits = V/(2L) tokens of attention: phone 5.3k (more than a chat), server
1.6k (negligible vs long docs). Server yes, phone no or smaller + tied. Old weights: embedding row
ids change meaning, need retraining. Measure tokens per sentence per language + step time first.
""",
        (2, 1, 1, 1),
    ),
    (
        "earns a part",
        """
More tokens in the vocabulary make texts shorter in every language, so the cache is smaller and
generation takes fewer steps. I would do it for both. The embedding gets larger, but an embedding is
just a lookup. The ids change, so the table has to be trained again; measure tokens per text.
""",
        (0, 1, 0, 1),
    ),
]
