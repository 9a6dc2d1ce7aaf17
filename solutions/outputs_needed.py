"""What lies below the last layer that keeps, and the last token of the rest."""

import numpy as np


def outputs_needed(sources, n_tokens):
    layers = np.arange(len(sources))
    last = layers[sources == layers].max()  # the last that keeps
    # Its keys and values are made of its input, the output of the layer
    # below, at every token. Above that, only the last token counts.
    return np.where(layers < last, n_tokens, 1)


REFERENCE = outputs_needed


def _starter(sources, n_tokens):
    raise NotImplementedError


def _by(rule):
    """An answer from a rule for the layers that need all tokens."""

    def answer(sources, n_tokens):
        layers = np.arange(len(sources))
        keeps = sources == layers
        return np.where(rule(layers, keeps, layers[keeps].max()), n_tokens, 1)

    return answer


def _less(sources, n_tokens, rest=1, fewer=0):
    needed = outputs_needed(sources, n_tokens)
    layers = np.arange(len(sources))
    below = layers < layers[sources == layers].max()
    return np.where(below, needed - fewer, rest)


def _below(layers, keeps, last):
    return np.append(keeps[1:], False)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the last keeper too", _by(lambda layers, keeps, last: layers <= last), "by hand",
     "Who reads its output"),
    ("keepers", _by(lambda layers, keeps, last: keeps), "by hand", "every reader skip"),
    ("keepers but the last", _by(lambda layers, keeps, last: keeps & (layers < last)), "by hand",
     "although a layer above"),
    ("all", _by(lambda layers, keeps, last: layers >= 0), "by hand", "whole prompt"),
    ("just above", _by(_below), "by hand", "just above"),
    ("nothing else", lambda **given: _less(**given, rest=0), "by hand", "every layer"),
    ("readers drop out", lambda sources, n_tokens: np.where(
        sources == np.arange(len(sources)), n_tokens, 0), "by hand", "drop out"),
    ("the last layer alone", _by(lambda layers, keeps, last: layers < layers[-1]), "by hand",
     "last layer only"),
    ("what the last layer reads", lambda sources, n_tokens: np.where(
        np.arange(len(sources)) < sources[-1], n_tokens, 1), "random", "last layer reads"),
    ("all but the last", lambda **given: _less(**given, fewer=1), "by hand", "counts too"),
    ("the wrong way around", _by(lambda layers, keeps, last: ~keeps), "by hand",
     "wrong way around"),
    ("the first keeper", _by(lambda layers, keeps, last: layers < 1), "by hand", "first layer"),
    ("a total", lambda **given: outputs_needed(**given).sum(), "shape", "Axis 0 is missing"),
    ("fractions", lambda **given: outputs_needed(**given) / 1, "dtype", "whole numbers"),
    ("twice", lambda **given: 2 * outputs_needed(**given), "by hand", "Ask of each layer"),
]  # fmt: skip
