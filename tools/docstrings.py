"""The PyTorch side's docstrings, made from NumPy's: a contract is written by hand once.

Of its own a PyTorch docstring has its examples, and in its Notes the paragraph that begins with
``PyTorch:``; a paragraph of NumPy's that begins with ``NumPy:`` is left out. All else is the
same, with tensors for arrays and an entry for ``device``.
Run it as ``make docstrings``; a test holds the files against what it would write.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "mini_attn"
MARK = "PyTorch:"
DEVICE = (
    "device : torch.device, str or None\n    Where the tensors lie; None means PyTorch's default."
)
Documented = ast.FunctionDef | ast.ClassDef


def documented(tree: ast.Module) -> dict[str, Documented]:
    """Return a module's documented names and public methods, by name."""
    offered = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Documented]]:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
                name = "__call__" if node.name == "forward" else node.name
                if not name.startswith("_") or name == "__call__":
                    yield prefix + name, node
                if isinstance(node, ast.ClassDef):
                    yield from walk(node.body, f"{name}.")

    return {name: node for name, node in walk(tree.body, "") if name.split(".")[0] in offered}


def sections(text: str) -> dict[str, str]:
    """The parts of a docstring by title, in order; what comes before the first under ''."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    return {"": parts[0].strip()} | {
        title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def own_notes(notes: str) -> str:
    """The paragraphs from the one that begins with the mark."""
    start = notes.find(MARK)
    return notes[start:].strip() if start >= 0 else ""


def takes_device(node: Documented) -> bool:
    """Return whether a function, or a class's constructor, takes ``device``."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef) and (inner is node or inner.name == "__init__"):
            return any(argument.arg == "device" for argument in inner.args.kwonlyargs)
    return False


def twin(contract: str, current: str, *, device: bool) -> str:
    """The PyTorch side's docstring, from NumPy's and what the present one has of its own."""
    parts, own = sections(contract), sections(current)
    if device and "Parameters" in parts:
        parts["Parameters"] = f"{parts['Parameters'].strip()}\n{DEVICE}"
    for title in ("", "Parameters", "Returns", "Raises"):
        if title in parts:
            parts[title] = re.sub(r"\b(A|a|An|an) (array)\b", r"a tensor", parts[title])
            parts[title] = re.sub(r"\barray(s?)\b", r"tensor\1", parts[title])
    shared = (
        part for part in parts.get("Notes", "").split("\n\n") if not part.startswith("NumPy:")
    )
    notes = "\n\n".join(filter(None, [*shared, own_notes(own.get("Notes", ""))]))
    if notes:
        parts["Notes"] = notes
    if "Examples" in parts:
        parts["Examples"] = own.get("Examples", parts["Examples"])
    order = ["", "Parameters", "Returns", "Raises", "Notes", "References", "Examples"]
    blocks = [
        parts[title].strip()
        if not title
        else f"{title}\n{'-' * len(title)}\n{parts[title].strip()}"
        for title in order
        if title in parts
    ]
    return "\n\n".join(blocks)


def as_source(text: str, indent: str) -> str:
    """A docstring as it stands in a file."""
    quote = 'r"""' if "\\" in text else '"""'
    if "\n" not in text:
        return f'{quote}{text}"""'
    return f'{quote}{textwrap.indent(text, indent).strip()}\n{indent}"""'


def rewritten(numpy_source: str, torch_source: str) -> str:
    """The PyTorch module's source with the docstrings that it should have."""
    contracts = documented(ast.parse(numpy_source))
    lines = torch_source.split("\n")
    nodes = documented(ast.parse(torch_source))
    for name, node in sorted(nodes.items(), key=lambda item: -item[1].lineno):
        if name not in contracts:
            continue
        contract, current = (ast.get_docstring(n) or "" for n in (contracts[name], node))
        text = twin(contract, current, device=takes_device(node))
        string = node.body[0]
        assert isinstance(string, ast.Expr)
        indent = " " * string.col_offset
        first, last = string.lineno - 1, string.end_lineno
        lines[first:last] = [indent + as_source(text, indent)]
    return "\n".join(lines)


def stale() -> dict[Path, str]:
    """PyTorch modules whose docstrings are not what the contracts make them, and what is right."""
    found = {}
    for path in sorted((PACKAGE / "torch").rglob("*.py")):
        numpy_side = PACKAGE / "numpy" / path.relative_to(PACKAGE / "torch")
        if numpy_side.exists() and not path.name.startswith("_"):
            source = path.read_text(encoding="utf-8")
            right = rewritten(numpy_side.read_text(encoding="utf-8"), source)
            if right != source:
                found[path] = right
    return found


def main() -> None:
    """Write the docstrings, or say which are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    found = stale()
    for path, right in found.items():
        print(f"[docstrings] {path.relative_to(PACKAGE.parent)}")
        if not check:
            path.write_text(right, encoding="utf-8")
    if check and found:
        sys.exit("[docstrings] run `make docstrings`")


if __name__ == "__main__":
    main()
