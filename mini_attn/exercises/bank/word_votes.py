"""Say how much each addend of the stream has raised one word's logit above another's."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import block_row, story_row, trained_stream

TEXT = """
Which parts of a model made it prefer one word to another? `parts`, `(n_parts, d_model)`, are all
addends of the stream of the last word. In some cases they come from the trained decoder: the
embedding, each head and each MLP. `gain`, `(d_model,)`, belongs to the last norm, an RMS norm with
ε = 0, and `table`, `(vocab_size, d_model)`, gives the logits by dot products with its rows. For
each part return its vote, `(n_parts,)`: how much it raised the logit of word `said` over that of
word `other`. The votes add up to the difference of the two logits. A part's vote doesn't depend on
the order of the parts, and if a part were split in two, the votes of the two halves would add up to
its vote.
"""
STARTER = '''
def word_votes(parts, gain, table, said, other):
    """How far each part raised one logit above another."""
    raise NotImplementedError
'''
Array = np.ndarray


def _drawn(rng: np.random.Generator, n_parts: int, size: int, words: int = 7) -> Inputs:
    """Parts of different lengths, and two words."""
    lengths = np.exp(0.7 * rng.standard_normal((n_parts, 1)))
    said, other = (int(n) for n in rng.choice(words, 2, replace=False))
    return {
        "parts": lengths * rng.standard_normal((n_parts, size)),
        "gain": np.exp(0.4 * rng.standard_normal(size)),
        "table": rng.standard_normal((words, size)), "said": said, "other": other,
    }  # fmt: skip


def _real(ids: Array) -> Inputs:
    """The trained decoder's parts for a text, and its two likeliest words."""
    parts, gain, table = trained_stream(ids)
    other, said = (int(n) for n in _logits(parts.sum(axis=0), gain, table).argsort()[-2:])
    return {"parts": parts, "gain": gain, "table": table, "said": said, "other": other}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a root mean square of 2. The property: a short stream, and the trained decoder."""
    hand = {
        "parts": np.array([[3.0, 1, 0, 0], [-1, 0, 2, -3], [0, 1, 0, 1]]),
        "gain": np.array([1.0, 2.0, 1.0, 0.5]),
        "table": np.array([[1.0, 0, 1, 0], [0, 0, -1, 2], [1, 1, 0, 0], [2, 1, 0, 0]]),
        "said": 3, "other": 1,
    }  # fmt: skip
    silent, cancelled, same = _drawn(rng, 4, 5), _drawn(rng, 3, 4), _drawn(rng, 3, 5)
    silent["parts"][1] = 0
    cancelled["parts"][2] = -cancelled["parts"][0]
    same["other"] = same["said"]
    short = _drawn(rng, 3, 5)  # next to it, an ε of 1e-6 is not small
    short["parts"] *= 1e-3
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 5, 6), _drawn(rng, 3, 8)],
        "property": [short, _real(story_row(rng, 40)), _real(block_row(rng, 9)[:14])],
        "edges": [silent, cancelled, same, _drawn(rng, 1, 6), _drawn(rng, 4, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each part."""
    return {"votes": ((len(inputs["parts"]),), "f")}


def _rms(x: Array) -> Array:
    """Root mean square over the last axis, 1 where all is zero."""
    size = np.sqrt(np.square(x).mean(axis=-1, keepdims=True))
    return np.where(size == 0, 1.0, size)


def _logits(x: Array, gain: Array, table: Array) -> Array:
    """Logits of streams (…, d_model), each with its own norm."""
    return np.asarray((x / _rms(x) * gain) @ table.T)


def right(inputs: Inputs) -> Array:
    """One number divides all parts; what is left is linear."""
    parts, gain = inputs["parts"], inputs["gain"]
    between = inputs["table"][inputs["said"]] - inputs["table"][inputs["other"]]
    return np.asarray(parts / _rms(parts.sum(axis=0)) * gain @ between)


def _divided_otherwise(inputs: Inputs) -> Slips:
    """Return what the numbers would be with another divisor than the stream's root mean square."""
    parts, gain, votes = inputs["parts"], inputs["gain"], right(inputs)
    between = inputs["table"][inputs["said"]] - inputs["table"][inputs["other"]]
    stream, size = parts.sum(axis=0), parts.shape[1]
    rms, sizes = _rms(stream), np.sqrt(np.square(parts).mean(axis=1, keepdims=True))
    return [
        (votes / np.sqrt(size), "You divide by the stream's length. Take the root of the *mean* "
         "square."),
        (votes / rms, "You divide by the mean square. The norm takes the root of it."),
        (votes * _rms(stream) / _rms(stream * gain), "You apply the gain before the norm divides. "
         "Apply it after the division: the root mean square is that of the stream alone."),
        (parts / sizes.sum() * gain @ between, "You add up the divisors of the parts. The root "
         "mean square of a sum is not the sum of theirs."),
        (parts / _rms(parts.ravel()) * gain @ between, "You take the root mean square over the "
         "numbers of all parts. The norm takes that of their sum, the stream."),
        (parts / np.sqrt(np.square(sizes).sum()) * gain @ between, "You add up the squares of all "
         "parts. The norm adds up the parts first, then squares their sum."),
        *((votes * rms / np.sqrt(rms**2 + tiny), "You add an ε inside the norm. Here it's 0.")
          for tiny in (1e-5, 1e-6, 1e-8)),
    ]  # fmt: skip


def _not_divided_once(inputs: Inputs) -> Slips:
    """Return what the numbers would be without the norm or its gain, or with one for each part."""
    parts, gain = inputs["parts"], inputs["gain"]
    between = inputs["table"][inputs["said"]] - inputs["table"][inputs["other"]]
    rms, sizes = _rms(parts.sum(axis=0)), np.sqrt(np.square(parts).mean(axis=1, keepdims=True))
    with np.errstate(all="ignore"):  # 0 where nothing was added
        unguarded = parts / sizes * gain @ between
    no_norm = "You left out the norm. It divides the stream by its root mean square."
    no_gain = "You left out the gain of the norm."
    own = (
        "You divide each part by its own root mean square. The model divides once, by that of the "
        "whole stream, so a long part counts for more than a short one."
    )
    return [
        (parts / _rms(parts) * gain @ between, own),
        (unguarded, own),
        (parts * gain @ between, no_norm),
        (parts / rms @ between, no_gain),
        (parts @ between, "You left out both the norm and its gain."),
        (parts / _rms(parts) @ between, "Two things. " + own + " And: " + no_gain),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the numbers would be with one idea missing."""
    parts, gain, table = inputs["parts"], inputs["gain"], inputs["table"]
    said, other = table[inputs["said"]], table[inputs["other"]]
    between, stream, votes = said - other, parts.sum(axis=0), right(inputs)
    rms, total, n = _rms(stream), votes.sum(), len(parts)

    def lead(x: Array) -> Array:
        return np.asarray((x / _rms(x) * gain) @ between)

    with np.errstate(all="ignore"):
        centred = (parts - parts.mean(axis=1, keepdims=True)) / stream.std() * gain @ between
    begun = lead(np.cumsum(parts, axis=0))
    chances = ma.softmax(_logits(parts, gain, table))
    return [
        *_not_divided_once(inputs),
        *_divided_otherwise(inputs),
        (-votes, "You have the sign reversed: that's `other` above `said`."),
        (parts / rms * gain @ said, "You took the parts of one logit, that of `said`. A part that "
         "raises both words alike prefers neither."),
        (parts / rms * gain @ other, "You took the parts of the logit of `other` alone."),
        (np.diff(begun, prepend=0.0), "You took the steps of the logit lens, which divides anew "
         "after every part. So a step also rescales everything before it, and a part's vote "
         "depends on the order. The model divides once, at the end."),
        (parts / _rms(np.cumsum(parts, axis=0)) * gain @ (said - other), "You divide each part by "
         "the root mean square of the stream up to it. The model divides once, at the end, so all "
         "parts share one divisor."),
        (begun, "That's the difference after each part, all parts before it included, each time "
                "with "
         "another divisor. What does one part add?"),
        (np.cumsum(votes), "You add up the votes from part to part. What does each one add?"),
        (total - lead(stream - parts), "You leave each part out in turn, so the norm divides by "
         "another number each time. These differences don't add up to that of the logits."),
        (votes / (total or 1.0), "These are shares of the difference. Return the votes "
         "themselves."),
        (np.full(n, total / n), "You give every part the same vote. What does each one bring on "
                                "its own?"),
        (votes * n, "You take the root mean square of the parts' mean. The stream is their sum."),
        (centred, "You subtract a mean. That's another norm: this one only divides."),
        (chances[:, inputs["said"]] - chances[:, inputs["other"]], "These are probabilities. They "
         "don't add up over the parts, but logits do."),
        (votes * rms * rms, "You multiply by the root mean square. Divide by it."),
        (total * (parts @ stream) / (stream @ stream or 1.0), "You split the difference by how "
         "far each part points along the stream. The rows of the table decide what counts."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what they add up to, or that one of them does not belong to its part."""
    got, wanted = outputs["votes"], right(inputs)
    if not np.isclose(got.sum(), wanted.sum(), rtol=1e-4, atol=1e-6):
        return (
            f"The votes add up to {got.sum():.4g}, and the two logits differ by {wanted.sum():.4g}."
        )
    silent = ~inputs["parts"].any(axis=1)
    if np.abs(got[silent]).max(initial=0) > 1e-6:
        return "A part that's all zeros raises nothing."
    return (
        "Your votes add up to the difference of the logits, but not every part has its own. If a "
        "part were split in two, would the votes of the halves add up to its vote?"
    )


EXERCISE = Exercise(
    id="word_votes",
    page="model",
    title="Who voted for it",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="The residual stream",
    text=TEXT,
    starter=STARTER,
    hints=(
        "From the stream to the difference of two logits there are three steps. Which of them "
        "treat a sum term by term, and which one does not?",
        "Only the divisor of the norm depends on all parts together. Compute it once, from their "
        "sum. Then every part goes through gain and table by itself, and you can replace two dot "
        "products with one.",
    ),
    common_errors=(
        "Dividing each part by its own root mean square.",
        "Reading the stream after each part and taking differences. They depend on the order.",
        "Leaving each part out in turn. The norm changes with it.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
