"""List predictions and exercises, chapter by chapter, for the reader's progress.

It comes from the notebooks and the bank of exercises, so that no title is typed twice; the
page's script gets it as one line in front of the bundle, because a page that was opened as a
file may load no data.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import yaml

from mini_attn.exercises.spec import Exercise, exercise

PREDICTION = re.compile(r'\bPrediction\("([a-z0-9-]+)/([a-z0-9-]+)"\)')


def answered(task: Exercise) -> dict[str, Any]:
    """Say how an answer is given, for the notebook made of it: in words, as a number."""
    if task.kind == "open":
        return {"open": True}
    return {"unit": task.question.unit} if task.kind == "pencil" else {"name": task.name}


def chapter(path: Path) -> dict[str, Any]:
    """Title, predictions and exercises of a notebook, in the order of the page."""
    cells = nbformat.read(path, as_version=4).cells
    predictions, tasks = [], []
    for cell in cells:
        if "prediction" in cell.metadata.get("tags", []):
            predictions += [name for _, name in PREDICTION.findall(cell.source)]
        tag = cell.metadata.get("exercise", {})
        if tag.get("role") == "check":
            task = exercise(tag["id"])
            about = {"id": task.id, "title": task.title, "points": task.points}
            tasks.append(about | answered(task))
    title = cells[0].source.splitlines()[0].removeprefix("# ").replace("`", "")
    return {"page": path.stem, "title": title, "predictions": predictions, "exercises": tasks}


def outline(root: Path) -> list[dict[str, Any]]:
    """All chapters that have predictions or exercises, in the order of the table of contents."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [root / f"{c['file']}.ipynb" for part in toc["parts"] for c in part["chapters"]]
    chapters = [chapter(path) for path in files if path.exists()]
    return [found for found in chapters if found["predictions"] or found["exercises"]]


def as_script(chapters: list[dict[str, Any]]) -> str:
    """The line that hands the outline to the script behind it."""
    return f"globalThis.livingOutline={json.dumps(chapters, ensure_ascii=False)};\n"
