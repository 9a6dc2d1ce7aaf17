"""Values that carry where they stood."""

MODEL = """
A score is the product of a query rotated by i and a key rotated by j. The two rotations combine
into one by the difference, so a move of the whole text changes no score and no weight.

The output is then the sum of w_ij R_j v_j. There is nothing on the other side of R_j. If everything
moves by ten positions, the weights stay and each value is rotated by ten steps more, so that the
output is the old one rotated by ten steps. It depends on where the text stands, and not on
distances alone. That is the very fault of absolute positions that rotary embeddings avoid: the same
sentence gives another result further back.

The mending is the same as for the scores: put the query's rotation on the other side. Rotate the
output of token i by −i. Then each value comes with R_(j−i), a rotation by the distance, and a move
of the text cancels. This costs one more rotation for each new token, and rotated values can be kept
in the cache as rotated keys are.

The projection behind the heads cannot do it. It is one matrix for all positions, and the rotation
that has to be undone differs with i.
"""

SAMPLES = [
    (
        "earns all",
        """
q·k: (R_i q)·(R_j k) = q·R_{j−i} k, so only j − i matters. With rotated values o_i = Σ w_ij R_j v_j.
Shift by 10: the w are the same, R_{j+10} = R_10 R_j, so o_i becomes R_10 o_i. So the outputs do
depend on the absolute position. Fix: multiply o_i by R_{−i}: Σ w_ij R_{j−i} v_j, now everything is
relative. W_o cannot learn it, since W_o does not know i.
""",
        (1, 2, 2, 1),
    ),
    (
        "earns a part",
        """
Queries and keys give only the relative position because the angles subtract. With values there is
no second vector, so the output has the absolute angle of the key in it and is different if the text
is shifted. It would be better not to rotate values; the projection W_o would otherwise have to
learn to rotate them back, which takes longer.
""",
        (1, 1, 0, 0),
    ),
]
