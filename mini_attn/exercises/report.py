"""How far an answer came, and how a learner is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import fill

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
    """

    exercise: Exercise
    failed: str | None = None
    message: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        """All points, or none."""
        return 0 if self.failed else self.exercise.points

    def __str__(self) -> str:
        checks = PENCIL_CHECKS if self.exercise.kind == "pencil" else CHECKS
        passed = checks[: checks.index(self.failed)] if self.failed else checks
        head = "solved" if not self.failed else "not yet"
        if self.failed == "attempted":
            head = "not attempted"
        lines = [f"{self.exercise.title}: {head}, {self.points} of {self.exercise.points} points"]
        if passed:
            lines.append(f"  ✓ {', '.join(passed)}")
        if self.failed:
            lines.append(f"  ✗ {self.failed}: {self.message}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(fill(line, LINE, subsequent_indent="    ") for line in lines)
