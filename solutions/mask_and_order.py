"""How many, and only later in which order."""

MODEL = """
Some of it is right. Through the mask a token attends to as many keys as there are positions up to
its own. If one token can be recognized, such as a start token, its weight falls with the number of
the others, so a layer can learn to tell how far it has come. The first token always attends only to
itself.

But one layer doesn't know the order of what it sees. Take "dog bites man ." and "man bites dog .".
The full stop has the same query in both, and the same four keys and values, only in another order.
Its output is a weighted sum over them, and a sum has no order. So the outputs are equal, whatever
the weights of the model are.

With a second layer this no longer holds. In the first input "man" has attended to "dog" and
"bites". In the second it has attended only to itself. So what the first layer made of "man"
differs, and the full stop now averages over other vectors. The order is there, though indirectly:
it has to be worked out from which token has attended to which. So a deep decoder without encodings
isn't blind. It just has to learn what an encoding would give it.
"""

SAMPLES = [
    (
        "earns all",
        """
The mask gives you the count. A token at position 5 sees 5 keys, and e.g. the weight of a start
token is about 1/5 if all scores are equal. But inputs "A B C" and "B A C" look the same from C in a
one-layer model: C has the same q, and the set {A, B, C} of keys and values, and attention is a sum
over the set. In the second layer the vectors at A and B have changed: in the first input A saw only
A and B saw A and B, in the second it is the other way round. So C now gets other keys and values
and can tell.
""",
        (1, 2, 2),
    ),
    (
        "earns a part",
        """
The colleague is wrong because attention is permutation invariant: "dog bites man" and "man bites
dog" have the same output. The mask does not change the scores, it only removes some. So one needs
positions, for example RoPE.
""",
        (0, 1, 0),
    ),
]
