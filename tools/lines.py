"""Lines of code, counted as the project limits them."""

from __future__ import annotations

import ast


def span(node: ast.stmt | ast.expr) -> range:
    """The lines of a piece of code."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def code_lines(source: str, name: str) -> dict[str, int]:
    """Lines of code of a module and of each function's body.

    Docstrings, comments, blank lines, signatures and tables of data at the top level are no code.
    """
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            text = node.body[0]
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                skipped |= set(span(text))
        if isinstance(node, ast.FunctionDef):
            skipped |= set(range(node.lineno + 1, node.body[0].lineno))
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            skipped |= set(span(node)[1:])
    lines = [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in skipped
    ]
    counts = {name: len(lines)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            inside = [n for n in lines if n in span(node)[1:]]
            counts[f"{name}:{node.name}"] = len(inside)
    return counts
