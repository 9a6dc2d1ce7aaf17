"""Which keys may stay: a story read with a budget for its keys."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import traitlets

from mini_attn.widgets.base import LivingWidget, carried
from mini_attn.widgets.data import FOLDER

__all__ = ["KeyBudget"]


@cache
def _story() -> dict[str, Any]:
    """The story, its heads and what was measured, as generated."""
    found: dict[str, Any] = json.loads((FOLDER / "key_budget.json").read_text(encoding="utf-8"))
    return found


class KeyBudget(LivingWidget):
    """Which keys of a story two heads still read, under a policy and a budget.

    Parameters
    ----------
    policy : {"recent", "first", "heavy", "observed", "yours", "all"}
        How keys are evicted: a recency window, with the first four, H2O, SnapKV, by your choice,
        or not at all.
    budget : int
        Keys per head that stay after each word, 8 to 48.
    head : {1, 2}
        The head whose weights are shown: 1 retrieves names, 2 attends to the previous token.
    step : int
        Words that have been read, 1 to 56.
    kept : str
        Your choice: positions with dots between, as ``"10.29"``, at most 160 characters. Of too
        many, the last count.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Notes
    -----
    The weights are those of a trained decoder in whole codes, as `mini_attn.widgets.data` writes
    them. What was measured on many stories is shown for the budgets that were measured.

    Examples
    --------
    >>> KeyBudget(policy="heavy", step=56)
    KeyBudget(policy='heavy', budget=16, head=1, step=56, kept='')
    """

    _widget = "key_budget"
    _story = traitlets.Dict().tag(sync=True)
    caption = (
        "Thirty words of a story, with a recency window of 16 keys. The full stop after “river” "
        "would attend to the name at position 10, whose key was evicted."
    )

    def __init__(self, **state: Any) -> None:
        super().__init__(**state)
        self._story = _story()

    def _data(self) -> str:
        return carried(self._story, " data-story")
