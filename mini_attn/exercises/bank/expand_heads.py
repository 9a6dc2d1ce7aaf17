"""Find the bug: key/value heads that are copied in the wrong order."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.comparing import close, wrong_along
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should copy shared heads, so that we can use attention without groups. It was tested
with one key/value head, where it's right. Find a case where it's wrong, and fix it. `k` has
the shape `(batch, n_kv_heads, kv_len, head_dim)`; return `(batch, n_heads, kv_len, head_dim)`.
"""
STARTER = '''
def expand_heads(k, n_heads):
    """A copy of the key/value heads for each query head."""
    copies = n_heads // k.shape[1]
    return np.tile(k, (1, copies, 1, 1))


expand_heads(np.ones((1, 1, 3, 2)), 4).shape  # one head: looks right
'''


def _case(rng: np.random.Generator, batch: int, kv_heads: int, group: int, kv_len: int,
          size: int) -> Inputs:  # fmt: skip
    k = rng.standard_normal((batch, kv_heads, kv_len, size))
    return {"k": k, "n_heads": kv_heads * group}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two key/value heads for four query heads."""
    k = np.array([[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[-1.0, 0.0], [-3.0, 0.0], [-5.0, 0.0]]]])
    return {
        "by hand": [{"k": k, "n_heads": 4}],
        "random": [_case(rng, 1, 3, 2, 5, 4), _case(rng, 2, 4, 3, 3, 2)],
        # Both ends of the family: one head for all, and one each.
        "property": [_case(rng, 1, 1, 4, 3, 2), _case(rng, 2, 4, 1, 3, 2)],
        "edges": [_case(rng, 1, 2, 5, 1, 1), _case(rng, 1, 1, 1, 1, 3)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One copy for each query head."""
    batch, _, kv_len, size = inputs["k"].shape
    return {"k": ((batch, inputs["n_heads"], kv_len, size), "f")}


def slips(inputs: Inputs) -> Slips:
    """Return what comes out with one idea missing."""
    k, heads = inputs["k"], inputs["n_heads"]
    kv_heads = k.shape[1]
    group = heads // kv_heads
    copied = right(inputs)
    divided = (
        f"Query head h gets key/value head h // {kv_heads}, so you divided by the number of "
        f"key/value heads. Divide by the query heads that share one: {heads} / {kv_heads} = "
        f"{group}."
    )
    shared = f"You divided each copy by {group}. Copy the heads unchanged."
    orders = [
        (np.tile(k, (1, group, 1, 1)),
         f"You assigned the heads round-robin: query head 1 gets key/value head {1 % kv_heads}. "
         f"Neighbors share one, so query heads 0 to {group - 1} get head 0."),
        (copied[:, ::-1], "Your order is reversed. Query head 0 reads key/value head 0."),
        (np.repeat(k[:, :1], heads, axis=1),
         f"Every query head gets head 0, but there are {kv_heads} key/value heads."),
        (np.repeat(k.mean(axis=1, keepdims=True), heads, axis=1),
         "You averaged the key/value heads. Copy each of them unchanged."),
        (np.repeat(k, group, axis=2).reshape(copied.shape),
         "You repeated each token instead of each head. The copies belong on the head axis, axis "
         "1."),
    ]  # fmt: skip
    return [
        *orders,
        (copied / group, shared),
        *((one / group, f"Two things. {idea} And: {shared}") for one, idea in orders),
        (k[:, np.arange(heads) // kv_heads % kv_heads], divided),
        (k[:, np.minimum(np.arange(heads) // kv_heads, kv_heads - 1)], divided),
        (np.broadcast_to(copied[:1], copied.shape),
         "All sequences of the batch get the first one's keys. Each has its own."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Each head as often as it is shared."""
    k = inputs["k"]
    return np.repeat(k, inputs["n_heads"] // k.shape[1], axis=1)


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Name the first head that isn't the one it should be."""
    k, got, wanted = inputs["k"], outputs["k"], right(inputs)
    head = wrong_along(got, wanted, axis=1)[0]
    its = head // (inputs["n_heads"] // k.shape[1])
    for other in range(k.shape[1]):
        if close(got[:, head], k[:, other]):
            return f"Query head {head} should get key/value head {its}; it gets head {other}."
    return None


EXERCISE = Exercise(
    id="expand_heads",
    page="mqa-gqa",
    title="A copy for each query head",
    kind="bug",
    groups={"edges": 3},
    minutes=8,
    difficulty=1,
    stage="transfer",
    assessed=True,
    section="Neighbors share: which repeat is the right one",
    complaint=Complaint(
        "heads",
        "Models with a single key/value head work. With two or more, they run without an error "
        "and write nonsense.",
        "[jax-js, pull request 180](https://github.com/ekzhang/jax-js/pull/180): shared heads "
        "were tiled where they should have been repeated.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "For 2 key/value heads and 4 query heads, write down which one each query head should "
        "get, and print which one it gets.",
        "There are two ways to repeat a list: the whole list again, or each item in place. "
        "Neighboring query heads share, so it's the second.",
    ),
    common_errors=(
        "Testing with one key/value head only, where both ways agree.",
        "Comparing two wrong results with each other: you can't see a bug that both sides have.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
