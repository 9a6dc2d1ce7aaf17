"""The time to the first token is a message."""

MODEL = """
A prompt whose beginning is cached runs fewer tokens, so its first token comes earlier. Anyone can
measure that. To test a guess, send a prompt that begins with it and look at the clock: if the first
token comes early, another request had the same beginning not long ago. That takes no foreign key or
value, because the guesser's own tokens are the right ones. So comparing blocks doesn't help at all.

Only whole blocks are found, which cuts both ways. A block of 16 unknown tokens is far too much to
guess at once. But in a text that's known except for a name or a number, such as a form or a system
prompt, the secret is in a few tokens. And blocks can be guessed one after the other: each hit
confirms all blocks before it, so the work adds up instead of multiplying.

I'd share within a company, and between companies only what the provider itself has put at the
beginning of all prompts. A secret number of the company goes into the hash of the first block, and
through the chain into all others, so other companies' guesses find nothing. vLLM calls it a salt.

That costs memory and prefill. A public text that ten companies use is computed and kept ten times.
Large customers lose little. Small ones, whose prefixes leave the pool before they come again, lose
most. Switching off all sharing would be safe, too, but everyone would pay for it in time to the
first token.
"""

SAMPLES = [
    (
        "earns all",
        """
The time to first token is shorter when the prefix hits, so an attacker sends candidate prompts and
measures TTFT. If it's fast, someone used that prefix. Because the cache works block by block, one
can extend the guess one block at a time and needs to guess only 16 tokens, not the whole text,
which is feasible if most of these are known. I would mix a per-customer salt into the hash of the
first block (chained into all later ones), so only requests of one customer share. The cost: common
public prompts are stored once per customer, and all of them wait longer for the first token on
their first request; small customers have lower hit rates.
""",
        (2, 1, 2, 1),
    ),
    (
        "earns a part",
        """
Timing: cached prompts answer faster. So you can try prompts and see which are fast. The provider
should turn off prefix sharing between customers.
""",
        (2, 0, 0, 0),
    ),
]
