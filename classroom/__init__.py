"""The classroom: release, grade and report, from a checkout of the project.

The commands of the ``Makefile`` call these modules. They stand beside the package and not in
it, because a teacher has the checkout with the solutions and a student has the wheel.

- ``sheets``: what is handed out, as notebooks and on paper.
- ``submissions``: what comes back, read and never believed.
- ``sandbox``: the process in which one answer runs.
- ``reports``: what a class gets back.
- ``grading``: what earns points, in a run that can be interrupted.
- ``adapters``: the same sheets for nbgrader, otter-grader and JupyterHub, chapters for learning
  platforms, and the grades for Moodle, Canvas and Blackboard.

A room imports those above it, and what stands beside the rooms: ``atomic``, which writes files
whole, ``packed``, which makes zip files, ``drawing``, which says who gets which numbers, and
``results``, what one student's submission is given. What is tried against all this stands in
``tests/classroom``.
"""

from pathlib import Path

__all__ = ["BOOK", "ROOT"]

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
