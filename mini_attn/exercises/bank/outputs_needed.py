"""Write how much of a prompt each layer has to compute, where later layers read its cache."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
`sources` `(n_layers,)` says for each layer which layer's keys and values it reads: its own number
if it keeps its own, or the number of an earlier layer that keeps. A layer that keeps makes keys and
values from its input, which is the output of the layer below. A prompt of `n_tokens` tokens comes
into empty caches. Afterwards every cache must hold the whole prompt, and we need the output of the
last layer at the last token only. Return `needed` `(n_layers,)`, integers: for each layer, the
number of tokens at which its output is needed.
"""
STARTER = '''
def outputs_needed(sources, n_tokens):
    """Tokens at which each layer's output is needed (n_layers,)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _drawn(rng: np.random.Generator, layers: int, share: float) -> list[int]:
    """Each layer keeps, or reads an earlier one that does."""
    found: list[int] = []
    for layer in range(layers):
        keeping = [i for i, source in enumerate(found) if i == source]
        reads = keeping and rng.random() < share
        found.append(int(rng.choice(keeping)) if reads else layer)
    return found


def cases(rng: np.random.Generator) -> Cases:
    """By hand: readers between and behind. The property: what counts is the last that keeps."""

    def of(*pairs: tuple[list[int], int]) -> list[Inputs]:
        return [{"sources": np.array(sources), "n_tokens": n} for sources, n in pairs]

    some = [(_drawn(rng, 8, 0.6), int(n)) for n in rng.integers(5, 60, 4)]
    return {
        "by hand": of(([0, 0, 2, 2, 2], 10)),
        "random": of(*some),
        "property": of(([0, 0, 0, 3, 0, 3], 7), ([0, 1, 1, 1], 100), ([0, 0, 2, 2, 4, 4], 9)),
        "edges": of(([0, 1, 2], 6), ([0, 0, 0], 8), ([0], 5), ([0, 0, 2, 2], 1)),
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number of tokens for each layer."""
    return {"needed": (inputs["sources"].shape, "i")}


def right(inputs: Inputs) -> Array:
    """All tokens below the last layer that keeps; from there on the last one."""
    sources = inputs["sources"]
    layers = np.arange(len(sources))
    last = layers[sources == layers].max()
    return np.where(layers < last, inputs["n_tokens"], 1)


def slips(inputs: Inputs) -> Slips:
    """The numbers with one idea missing."""
    sources, n = inputs["sources"], inputs["n_tokens"]
    layers = np.arange(len(sources))
    keeps = sources == layers
    last = layers[keeps].max()
    below = np.append(keeps[1:], False)
    return [
        (np.where(layers <= last, n, 1), "You need the last keeping layer's output at all tokens. "
         "Its keys and values come from its input. Who reads its output there?"),
        (np.where(keeps, n, 1), "You let every reader skip the prompt. One that lies below a "
         "keeping layer can't: that layer's keys are made of its output."),
        (np.where(keeps & (layers < last), n, 1), "You let a reader skip the prompt although a "
         "layer above it keeps keys that are made of its output."),
        (np.full(len(layers), n), "You compute every layer for the whole prompt. Above the last "
         "layer that keeps, who reads the outputs at early tokens?"),
        (np.where(below, n, 1), "You only look at the layer just above. A layer's output also "
         "reaches all the layers above that one."),
        (np.where(layers < last, n, 0), "The last token's output is needed in every layer."),
        (np.where(keeps, n, 0), "Readers don't drop out. All their outputs are needed at the last "
         "token, and below a layer that keeps at every token."),
        (np.append(np.full(len(layers) - 1, n), 1), "You spare the last layer only. Above the last "
         "layer that keeps, no cache needs the outputs at early tokens."),
        (np.where(layers < sources[-1], n, 1), "You look at what the last layer reads. A later "
         "layer may keep a cache that others read, and it must be filled too."),
        (np.where(layers < last, n - 1, 1), "The last token counts too: all its keys have to be "
         "in the caches."),
        (np.where(layers < layers[keeps].min() + 1, n, 1), "You only look at the first layer that "
         "keeps. The last one decides."),
        (np.where(layers < sources.max(), n, n - 1), "Above the last layer that keeps, one token "
         "is enough: the last."),
        (np.where(np.isin(layers, sources[~keeps]), n, 1), "To read a layer's cache isn't to read "
         "its output. Keys and values are made of the layer's input."),
        (np.where(layers < max(sources[~keeps], default=0), n, 1), "You leave out layers that keep "
         "and that nobody else reads. Their caches must hold the whole prompt too."),
        (np.where((layers < last) | (keeps & (layers == layers[-1])), n, 1), "The last layer's "
         "output goes into no cache, whether it keeps or not. One token of it is enough."),
        (np.where(layers < last, n, layers == layers[-1]), "A layer between the last one that "
         "keeps and the end can't be left out. The last token goes through every layer."),
        (np.where(layers < np.append(layers[~keeps], len(layers))[0] - 1, n, 1), "You stop at the "
         "first layer that reads. Layers above it may keep, and their keys need every token."),
        (1 + n * (keeps.sum() - keeps.cumsum()), "You add up what the layers above need. They all "
         "use the same outputs, so one output a token is enough."),
        (np.where(keeps, 1, n), "Yours is the wrong way around."),
        (np.where(layers < last, 1, n), "Yours is the wrong way around: above the last layer that "
         "keeps, one token is enough."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="outputs_needed",
    page="shared-layers",
    title="What prefill may skip, layer by layer",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=12,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="What prefill may skip",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Start from the caches: which layers keep one, and what are their keys made of?",
        "The input of the last layer that keeps is needed at all tokens, so the outputs of all "
        "layers below it are. From that layer on, nothing but the last token is needed.",
    ),
    common_errors=(
        "Skipping a reader that lies below a keeping layer.",
        "Computing the output of the last keeping layer for the whole prompt.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Ask of each layer whether some cache above it is made of its output."
    ),
)
