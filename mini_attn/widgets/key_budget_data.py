"""What `KeyBudget` shows: a story, two heads that read it, and what was measured on many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import KeepHeavyHitters, KeepObserved, KeepRecent
from mini_attn.notebook import stored
from mini_attn.numpy import Decoder, EvictingCache, softmax
from mini_attn.stories import START, WORDS, encode
from mini_attn.stories.inside import attention_maps
from mini_attn.widgets.inside_data import wide

__all__ = ["KEY", "PROMPT", "SCALE", "STORY", "key_budget", "policy_of"]

KEY = "fewer-keys/budgets"
SCHEMA = Path(__file__).with_name("js") / "key_budget" / "schema.json"
MEMBER = "mha"
STORY = (
    "once upon a time there was a girl named lily . lily had a red ball . "
    "lily put a green cup under a tree by the river . one day ben came to lily . "
    "lily gave the ball to ben . the sun was warm and they talked all day . at last"
)
ANSWER = "lily"  # who goes back for what was put away
PROMPT = 44  # words that are read at once where a cache forgets after the prompt
HEADS = ((1, 0), (0, 1))  # layer and head: one looks for names, one reads the word before
SCALE = 10  # a weight is exp(-code / SCALE), before its line is made to add up to one
LARGEST = 86  # the code of all weights below 0.0002
ZERO = "("  # the character of code 0; those of the others follow it
OBSERVE = 16  # last queries of a prompt that decide, or half of a smaller budget
FIRST = 4
MEASURES = ("excess", "copying", "near")
SHOWN = {"stream": ("recent", "first", "heavy", "all"), "prompt": ("observed", "all")}

Array = NDArray[Any]


def policy_of(name: str, budget: int) -> Any:
    """The rule of a cache under its name in the picture.

    Parameters
    ----------
    name : {"recent", "first", "heavy", "observed"}
        Which keys stay.
    budget : int
        How many.

    Returns
    -------
    KeepRecent, KeepHeavyHitters or KeepObserved
        As measured on many stories.

    Examples
    --------
    >>> policy_of("heavy", 16)
    KeepHeavyHitters(recent=8, sink_tokens=0)
    """
    if name == "heavy":
        return KeepHeavyHitters(recent=budget // 2)
    if name == "observed":
        return KeepObserved(observe=min(OBSERVE, budget // 2))
    return KeepRecent(sink_tokens=FIRST if name == "first" else 0)


def _likeliest(logits: Array) -> list[Any]:
    """The likeliest next word behind the last one, and its chance in percent."""
    chances = softmax(logits[0, -1])
    return [WORDS[chances.argmax()], round(100 * float(chances.max()))]


def _said(model: Decoder, ids: Array, name: str, budget: int) -> list[Any]:
    """The likeliest next word and its chance in percent, where all heads forget by this rule."""
    attention: Any = model.config.attentions[0]
    rule = {"budget": budget, "policy": policy_of(name, budget), "dtype": "float64"}
    sizes = (1, attention.n_kv_heads, attention.head_dim)
    caches = [EvictingCache(*sizes, **rule) for _ in model.layers]
    first = PROMPT if name == "observed" else 1
    for part in np.split(ids, range(first, ids.size)):
        logits = model(part[None], caches=caches)
    return _likeliest(logits)


def _codes(weights: Array) -> list[str]:
    """A line for each word that reads, a character for each weight: -SCALE times its logarithm."""
    lines = []
    for i, row in enumerate(weights):
        codes = -SCALE * np.log(np.maximum(row[: i + 1], 1e-30))
        whole = np.rint(codes - codes.min()).clip(0, LARGEST).astype(int)
        lines.append("".join(chr(ord(ZERO) + code) for code in whole))
    return lines


def _measured(budgets: list[int]) -> dict[str, Any]:
    """By reading, policy and budget the mean and deviation of each measure; the largest means."""
    points = [point for point in stored(KEY)["points"] if point["member"] == MEMBER]
    found: dict[str, Any] = {}
    for reading, names in SHOWN.items():
        found[reading] = {
            name: {
                str(point["budget"] or 0): [point[measure] for measure in MEASURES]
                for point in points
                if (point["reading"], point["policy"]) == (reading, name)
                and (point["budget"] or 0) in budgets
            }
            for name in names
        }
    lists = [one for by in found.values() for each in by.values() for one in each.values()]
    losses = [max(one[i][0] for one in lists) for i in range(2)]
    return found | {"most": [*losses, 1]}


def key_budget() -> dict[str, Any]:
    """Return what the widget needs: the story, its two heads, and the stored measurements.

    Returns
    -------
    dict
        ``words``, the answer behind them; ``prompt``, words of the first step where a cache
        forgets after it; ``scale`` and ``heads``, layer, number and lines each, of a character
        for a weight ``exp(-code / scale)`` before a line is made to add up to one; ``said``, by
        policy and budget the next word and its chance in percent; ``measured``, by reading,
        policy and budget mean and deviation of each measure. A budget of 0 is the whole cache.
    """
    model, ids = wide(MEMBER), encode(f"{START} {STORY}")
    maps = attention_maps(model, ids[None])[:, 0]
    entry = json.loads(SCHEMA.read_text(encoding="utf-8"))
    size = entry["budget"]
    budgets = [*range(size["min"], size["max"] + 1, size["step"])]
    said = {
        name: {str(budget): _said(model, ids, name, budget) for budget in budgets}
        for name in entry["policy"]["values"]
        if name not in ("yours", "all")
    }
    return {
        "words": f"{START} {STORY} {ANSWER}".split(),
        "prompt": PROMPT,
        "scale": SCALE,
        "heads": [[layer + 1, head + 1, _codes(maps[layer, head])] for layer, head in HEADS],
        "said": said | {"all": {"0": _likeliest(model(ids[None]))}},
        "measured": _measured([0, *budgets]),
    }
