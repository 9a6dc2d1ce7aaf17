"""Exercises: ``check`` names the missing idea, ``hint`` helps, ``progress`` shows where you are."""

from mini_attn.exercises.checker import check, grade
from mini_attn.exercises.hints import hint
from mini_attn.exercises.progress_transfer import (
    export_progress,
    import_progress,
    reset_progress,
)
from mini_attn.exercises.progress_view import progress
from mini_attn.exercises.spec import Exercise, exercise, exercise_ids
from mini_attn.exercises.variants import variant

__all__ = [
    "Exercise",
    "check",
    "exercise",
    "exercise_ids",
    "export_progress",
    "grade",
    "hint",
    "import_progress",
    "progress",
    "reset_progress",
    "variant",
]
