"""Where the book explains what an exercise asks: for feedback that sends a student there."""

from __future__ import annotations

import json
import re
from functools import cache

from classroom import BOOK

__all__ = ["EXPLAINED", "chapter_title", "headings"]

# Heading of the section, by exercise. A test finds each of them in the exercise's own chapter.
EXPLAINED = {
    "soft_choice": "The score that breaks the formula",
    "soft_lookup": "A soft lookup",
    "half_temperature": "Temperature",
    "masked_attention": "Hiding the future",
    "late_mask": "The causal mask, three ways",
    "score_spread": "The variance argument",
    "sharp_choice": "By hand, in four steps",
    "attention_gradient": "The way back: gradients",
    "multi_head": "From one head to many",
    "lost_rows": "Putting the heads together",
    "prune_heads": "Pruning and tying",
    "pruned_parameters": "What heads cost",
    "tile_product": "Tiles",
    "tile_traffic": "Tiles",
    "chain_flops": "Where the brackets stand",
    "busy_rows": "Counting what moves",
    "layer_flops": "A layer, part by part",
    "square_half": "Where the square takes over",
    "block_softmax": "In tiles: exact, with linear memory",
    "linear_step": "Another order: linear attention",
    "sinusoid_rows": "Sinusoids: a set of clocks",
    "sinusoid_shift": "A step is a turn",
    "shaw_scores": "Shaw: a vector for each distance",
    "alibi_step": "With a cache, the query is the last token",
    "alibi_reach": "ALiBi: a penalty that grows",
    "rope_turn": "The efficient form",
    "rope_chunk": "With a cache",
    "rope_layout": "Converting weights",
    "rope_slow_planes": "Many planes, many speeds",
    "rope_look_back": "A head that needs no clock",
    "ntk_frequencies": "NTK-aware scaling",
    "yarn_ramp": "YaRN",
    "stale_keys": "Keys that go stale",
    "yarn_factor": "The factor on the scores",
    "cached_step": "The cached step",
    "chunk_mask": "Prompts, chunks and batches",
    "cache_budget": "What the cache costs",
    "decode_bound": "The step-time bound",
    "attention_intensity": "Attention does not profit from the batch",
    "ridge_batch": "The ridge",
    "best_latency": "The step-time bound",
    "grouped_attention": "Groups between the ends",
    "expand_heads": "Neighbours share: which repeat is the right one",
    "pool_heads": "Fewer heads from a trained model",
    "tiled_heads": "Neighbours share: which repeat is the right one",
    "ring_slots": "The ring",
    "window_mask": "One key too many",
    "ring_chunk": "A prompt that is longer than the ring",
    "hybrid_bytes": "Layers of both kinds",
    "absorbed_step": "Absorbing the expansion",
    "latent_rows": "What is cached",
    "latent_tokens": "What is cached",
    "which_form": "What each form costs",
    "cache_table": "The same shape, five caches",
    "same_result": "Equal by different routes",
    "step_bound": "Side by side",
    "longest_context": "What the context changes",
}

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@cache
def headings(page: str) -> tuple[str, ...]:
    """All headings of a chapter in order, its title first; none where there is no such page."""
    path = BOOK / f"{page}.ipynb"
    if not re.fullmatch(r"[a-z0-9-]+", page) or not path.is_file():
        return ()
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return tuple(found for text in texts for found in HEADING.findall(text))


def chapter_title(page: str) -> str:
    """Title of a chapter, or the page's own name where there is no such chapter."""
    return headings(page)[0] if headings(page) else page
