"""The text of an exercise outside its chapter: plain Markdown that stands alone.

In a chapter a task may say "the equation above" or "as in exercise 1". On a sheet the equation
comes with it, a reference is spelled out, and what cannot be said in a sentence is named with
its chapter and section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import nbformat

from classroom import BOOK
from classroom.sheets.sheet import task
from mini_attn.exercises.markdown import plain_markdown

__all__ = ["Equation", "alone", "chapter_title", "equation", "source_line"]

REFERENCE = re.compile(r"equation \{eq\}`([\w-]+)`")
# What a chapter says in passing, and what a sheet says instead.
SPELLED_OUT = {
    "prune_heads": (
        "The four matrices are as in exercise 1;",
        "`W_q`, `W_k`, `W_v` are `(d_model, n_heads * head_dim)` and `W_o` is "
        "`(n_heads * head_dim, d_model)`, as in multi-head attention;",
    ),
    "tile_traffic": (
        "one of each matrix in fast memory, as in the picture.",
        "one of each matrix in fast memory: a tile of the result stays there until it is complete.",
    ),
    "sinusoid_shift": ("rows of exercise 1", "rows of equation {eq}`eq-position-sinusoids`"),
    "rope_layout": (
        "the formula under [Converting weights](#converting-weights)",
        "equation {eq}`eq-rope-convert`",
    ),
    "rope_look_back": (
        "Query and key are then turned as in exercise 1, with base `theta`.",
        "Query and key are then turned to their positions: neighbours make a pair, $(2i, 2i+1)$, "
        "and pair $i$ turns by `theta ** (-2i / head_dim)` radians a position.",
    ),
    "tiled_heads": (
        "In the example of this page, heads 0 and 3 of 4 were right all the same.",
        "With 2 key/value heads for 4 query heads, heads 0 and 3 are right all the same.",
    ),
    "cache_table": (
        "Compute the column *cache*",
        "Compute one column of a table of attention variants, the size of the cache,",
    ),
    "step_bound": ("Compute the column *step*", "Compute the least time of a decode step"),
    "longest_context": (
        "the latent variant of the picture has",
        "a model of the shape of Llama-3-8B, but with latent attention, has",
    ),
}  # fmt: skip
# What the letters of an equation are called in the tasks that use it.
LETTERS = {
    "eq-attention-cost-linear": "The sums run over the keys $j$ that query $i$ may see.",
    "eq-position-sinusoids": "$p_s$ is the row of position $s$, and $d$ is `d_model`.",
    "eq-position-shaw": "$s_{ij}$ is the score of query $i$ for key $j$, $a_r$ the vector of the "
    "distance $r$, $m$ is `most`, and $d_k$ is `head_dim`.",
    "eq-rope-convert": "$d$ is `head_dim`.",
    "eq-roofline-step": "$n$ is `context`, $\\beta$ is `bytes_per_second`, and $\\pi$ is "
    "`flops_per_second`.",
    "eq-gqa-pool": "$H$ is `n_heads`, $H_{kv}$ is `n_kv_heads`, and $W_v$ is pooled as $W_k$ is.",
}
# Where a task rests on a definition that is too long for it.
SECTION = {
    "tile_traffic": "Tiles",
    "alibi_step": "ALiBi: a penalty that grows",
    "alibi_reach": "ALiBi: a penalty that grows",
    "yarn_factor": "The factor on the scores",
    "stale_keys": "Dynamic NTK",
    "ridge_batch": "The ridge",
    "ring_slots": "The ring",
    "absorbed_step": "The scale stays",
    "latent_rows": "What is cached",
    "which_form": "What each form costs",
}


@dataclass(frozen=True)
class Equation:
    """An equation of a chapter: its mathematics with the dollars, and the section it is from."""

    source: str
    section: str


@cache
def _markdown(page: str) -> str:
    """All prose of a chapter."""
    cells = nbformat.read(BOOK / f"{page}.ipynb", as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def chapter_title(page: str) -> str:
    """The title of a chapter, as the reader sees it."""
    return _markdown(page).split("\n", 1)[0].removeprefix("# ")


def equation(page: str, label: str) -> Equation:
    """An equation by its label."""
    before, _, _ = _markdown(page).partition(f"$$ ({label})")
    headings = re.findall(r"^#{2,} (.*)$", before, re.MULTILINE)
    return Equation(f"$${before.rpartition('$$')[2]}$$", headings[-1])


def source_line(exercise_id: str) -> str:
    """Which chapter an exercise is from, and the section that it needs."""
    page = task(exercise_id).exercise.page
    line = f"From the chapter *{chapter_title(page)}*"
    section = SECTION.get(exercise_id)
    return f"{line}; see its section *{section}*." if section else f"{line}."


def alone(exercise_id: str) -> str:
    """The task in plain Markdown, with the equations that it speaks of.

    Raises
    ------
    ConfigError
        If there is no such exercise.
    """
    found = task(exercise_id)
    page, text = found.exercise.page, found.text
    if exercise_id in SPELLED_OUT:
        text = text.replace(*SPELLED_OUT[exercise_id])
    labels = list(dict.fromkeys(REFERENCE.findall(text)))
    text = REFERENCE.sub("the equation below", text)
    for label in labels:
        came = equation(page, label)
        text += f"\n\nThe equation, from the section *{came.section}*:\n\n{came.source}\n\n"
        text += LETTERS[label]
    return plain_markdown(text).strip()
