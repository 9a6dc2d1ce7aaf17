"""How far an answer came, and how a learner is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

from mini_attn.exercises.spec import GROUPS, Exercise

__all__ = ["CHECKS", "Report"]

FORM = ("attempted", "runs", "type", "shape", "dtype", "finite", "repeatable")
CHECKS = (*FORM, *GROUPS)
PENCIL_CHECKS = ("attempted", "type", "finite", "by hand")
LINE = 84  # characters that a cell's output shows without scrolling


@dataclass
class Report:
    """How far an answer came.

    Parameters
    ----------
    exercise : Exercise
        Which exercise.
    failed : str or None
        Name of the first check that failed.
    message : str
        The missing idea.
    notes : list of str
        Advice that costs no points.
    passed : list of str
        Groups of checks before the first fault, in which every case is right.
    """

    exercise: Exercise
    failed: str | None = None
    message: str = ""
    notes: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        """All points, or none."""
        return 0 if self.failed else self.exercise.points

    @property
    def partial(self) -> int:
        """Points of the groups before the first fault, where these count one by one."""
        if not self.failed:
            return self.points
        return sum(n for group, n in self.exercise.groups.items() if group in self.passed)

    @property
    def state(self) -> str:
        """The verdict in a word or two: ``solved``, ``not yet`` or ``not attempted``."""
        if not self.failed:
            return "solved"
        return "not attempted" if self.failed == "attempted" else "not yet"

    @property
    def checks(self) -> tuple[str, ...]:
        """Names of all checks, in their order."""
        return PENCIL_CHECKS if self.exercise.kind == "pencil" else CHECKS

    def data(self) -> dict[str, Any]:
        """Return what a page shows, as plain data.

        Returns
        -------
        dict
            ``id``, ``state``, ``points``, ``of``; ``checks``, each a ``name`` and ``passed``,
            ``failed`` or ``not reached``; ``message``, the missing idea; ``notes``.

        Examples
        --------
        >>> from mini_attn.exercises import exercise
        >>> [row["state"] for row in Report(exercise("cache_budget"), "finite").data()["checks"]]
        ['passed', 'passed', 'failed', 'not reached']
        """
        at = self.checks.index(self.failed) if self.failed else len(self.checks)
        states = ["passed"] * at + ["failed"] + ["not reached"] * len(self.checks)
        rows = [{"name": name, "state": s} for name, s in zip(self.checks, states, strict=False)]
        return {
            "id": self.exercise.id, "state": self.state, "points": self.points,
            "of": self.exercise.points, "checks": rows, "message": self.message,
            "notes": list(self.notes),
        }  # fmt: skip

    def __str__(self) -> str:
        passed = self.checks[: self.checks.index(self.failed)] if self.failed else self.checks
        points = f"{self.points} of {self.exercise.points} points"
        lines = [f"{self.exercise.title}: {self.state}, {points}"]
        if passed:
            lines.append(f"  ✓ {', '.join(passed)}")
        if self.failed:
            lines.append(f"  ✗ {self.failed}: {self.message}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(fill(line, LINE, subsequent_indent="    ") for line in lines)
