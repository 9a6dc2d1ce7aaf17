"""Questions that ask for a number: one kind of data, and the judge that reads it.

Predictions and pencil exercises are both this data. `judge` reads it here, and
``widgets/js/questions/judge.js`` on a page; a test holds the two equal.
"""

from __future__ import annotations

from mini_attn.questions.judge import Judged, judge
from mini_attn.questions.number import (
    KINDS,
    LeadsTo,
    Mistake,
    NumberQuestion,
    Remark,
    above,
    below,
    foreseen,
    near,
)

__all__ = [
    "KINDS", "Judged", "LeadsTo", "Mistake", "NumberQuestion", "Remark", "above", "below",
    "foreseen", "judge", "near",
]  # fmt: skip
