"""Answers that are alike beyond what the task makes them: a hint for the teacher, never a mark.

What is compared are short runs of each statement's syntax tree, without comments, layout and the
names that a student chose, and each statement apart, so that their order does not count. Runs
that stand in the starter or in a solution, or in the answers of many, say nothing.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

from classroom import ROOT
from classroom.results import Alike
from classroom.submissions.collect import Submission
from mini_attn.exercises.spec import exercise

__all__ = ["alike"]

RUN = 8  # tokens: about a call with its arguments
MANY = 8  # students, at most, in whose answers a run still says something; fewer in a small class
EVIDENCE = 15  # runs that two answers share and few others have: some lines, never one
NEAR = 0.7  # of the runs of the shorter answer that say something
CHARACTERS, TOKENS, DEPTH = 20_000, 4_000, 60  # of one answer; what is larger is not compared
KNOWN = {*dir(builtins), "np", "math", "numpy"}  # names that nobody chose


def _tree(text: str) -> list[ast.stmt]:
    """Return an answer's statements; none, if it cannot be read or is no ordinary answer."""
    if len(text) > CHARACTERS:
        return []
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _statements(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, list[ast.AST]]]:
    """Each statement with the parts that are its own: of a loop or a function the head alone."""
    waiting: list[tuple[ast.stmt, int]] = [(node, 0) for node in reversed(body)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom) or depth > DEPTH:
            continue
        parts = list(ast.iter_child_nodes(node))
        inner = [part for part in parts if isinstance(part, ast.stmt)]
        waiting += [(part, depth + 1) for part in reversed(inner)]
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not text:
            yield node, [part for part in parts if not isinstance(part, ast.stmt)]


def _token(node: ast.AST) -> str:
    """Return a node as one word; a name that a student chose begins with a colon."""
    kind = type(node).__name__
    if isinstance(node, ast.Name):
        return node.id if node.id in KNOWN else f":{node.id}"
    if isinstance(node, ast.arg):
        return f":{node.arg}"
    if isinstance(node, ast.Attribute):
        return f"{kind} {node.attr}"
    if isinstance(node, ast.keyword):
        return f"{kind} {node.arg}"
    if isinstance(node, ast.Constant):
        return f"{kind} {type(node.value).__name__} {str(node.value)[:40]}"
    return kind


def _tokens(statement: ast.stmt, parts: list[ast.AST]) -> list[str]:
    """Return a statement's tokens, in the order in which it is written."""
    found, waiting = [type(statement).__name__], list(reversed(parts))
    while waiting and len(found) < TOKENS:
        node = waiting.pop()
        if not isinstance(node, ast.expr_context):
            found.append(_token(node))
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return found


def _renamed(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the same with chosen names by the order in which they come."""
    names: dict[str, str] = {}
    return tuple(names.setdefault(t, f":{len(names)}") if t[0] == ":" else t for t in tokens)


def _runs(text: str) -> set[int]:
    """Return an answer as the runs that it has."""
    found: set[int] = set()
    total = 0
    try:
        for statement, parts in _statements(_tree(text)):
            tokens = _tokens(statement, parts)
            total += len(tokens)
            if total > TOKENS:
                break
            last = max(len(tokens) - RUN, 0) + 1
            found.update(hash(_renamed(tokens[at : at + RUN])) for at in range(last))
    except (RecursionError, MemoryError, ValueError):  # str of a number with very many digits
        return set()
    return found


@cache
def _given(exercise_id: str) -> frozenset[int]:
    """Runs that everybody was given, or that the task forces: of the starter and the solution."""
    solution = (ROOT / f"solutions/{exercise_id}.py").read_text(encoding="utf-8")
    right = solution.split("\nWRONG", 1)[0]
    return frozenset(_runs(exercise(exercise_id).starter) | _runs(right))


def _pairs(exercise_id: str, texts: dict[str, str], many: int) -> dict[tuple[str, str], float]:
    """Return how near the answers of two students are, for those that are near."""
    runs = {student: _runs(text) - _given(exercise_id) for student, text in texts.items()}
    having: dict[int, list[str]] = defaultdict(list)
    for student, own in runs.items():
        for run in own:
            having[run].append(student)
    shared: Counter[tuple[str, str]] = Counter()
    telling: Counter[str] = Counter()
    for students in having.values():
        if len(students) <= many:  # so that the work grows with the class and not with its square
            telling.update(students)
            shared.update(combinations(sorted(students), 2))
    near = {
        pair: count / min(telling[pair[0]], telling[pair[1]])
        for pair, count in shared.items() if count >= EVIDENCE
    }  # fmt: skip
    return {pair: share for pair, share in near.items() if share >= NEAR}


def alike(sent: Sequence[Submission], exercises: Sequence[str]) -> list[Alike]:
    """Pairs of students with answers that are alike, those with most of them first.

    Parameters
    ----------
    sent : sequence of Submission
        All of the run.
    exercises : sequence of str
        The sheet. Numbers are too short to be compared, and words are not code.

    Returns
    -------
    list of Alike
        How near by exercise, from `NEAR` to 1.
    """
    many = min(MANY, max(2, math.ceil(len(sent) / 5)))
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for key in exercises:
        if exercise(key).kind not in ("pencil", "open"):
            texts = {one.student: "\n".join(one.cells[key]) for one in sent if key in one.cells}
            for pair, share in _pairs(key, texts, many).items():
                found[pair][key] = round(share, 2)
    ordered = sorted(found.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    return [Alike(pair, shares) for pair, shares in ordered]
