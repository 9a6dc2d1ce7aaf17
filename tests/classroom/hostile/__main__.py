"""Try every hostile answer and print what became of it: ``python -m tests.classroom.hostile``."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from classroom.grading.judge import Judged, judge, probe
from classroom.reports.sanitize import clean, for_markdown
from mini_attn.exercises.spec import exercise
from tests.classroom.hostile import Hostile, hostile

MESSAGE = 140  # characters of what an answer is told


def outcome(judged: Judged) -> str:
    """What became of an answer, in a word or two."""
    if judged.stopped:
        return "stopped"
    return f"fails *{judged.report.failed}*" if judged.report.failed else "harmless, full points"


def main() -> None:
    """Judge them as ``make grade`` does, with something in reach to attack."""
    with (
        tempfile.TemporaryDirectory() as name,
        socket.create_server(("127.0.0.1", 0)) as server,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        scratch = Path(name)
        (scratch / "keep.txt").write_text("keep", encoding="utf-8")
        port = server.getsockname()[1]

        def tried(one: Hostile) -> Judged:
            asked = exercise(one.exercise)
            cells = [one.source(scratch=scratch, port=port, canary="canary")]
            return judge(asked, cells, asked.name, seed=7)

        results = list(zip(hostile(), pool.map(tried, hostile()), strict=True))
    counted = Counter(outcome(judged).split(" ")[0] for _, judged in results)
    points = sum(judged.report.points for one, judged in results if one.failed)
    layers = ", ".join(layer for layer, held in probe().items() if held)
    print("# Hostile answers and their outcomes\n")
    print("Written by `python -m tests.classroom.hostile` on", sys.platform, "with", layers + ".")
    print(
        f"{len(results)} answers: {dict(counted)}; points of those that must earn none: {points}."
    )
    print("\n| kind | what it tries | points | outcome | what it is told |\n|---|---|---|---|---|")
    for one, judged in results:
        said = judged.report.message or "; ".join([*judged.report.notes, *judged.notes])
        told = for_markdown(clean(said, MESSAGE))
        print(f"| {one.group} | {one.name} | {judged.report.points} | {outcome(judged)} | {told} |")


if __name__ == "__main__":
    main()
