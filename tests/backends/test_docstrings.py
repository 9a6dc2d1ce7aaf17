"""Docstrings: the sections, their order, known references, examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import types
from pathlib import Path

import pytest

import mini_attn
from tests.scripts import script
from tools.lines import code_lines

ORDER = ["Parameters", "Returns", "Raises", "Notes", "References", "Examples"]
BACKENDS = ("mini_attn.numpy", "mini_attn.torch")
BIB = Path(__file__).parents[2] / "book" / "references.bib"
KEYS = set(re.findall(r"^@\w+\{([^,]+),", BIB.read_text(encoding="utf-8"), flags=re.M))
MODULES = [
    info.name
    for info in pkgutil.walk_packages(mini_attn.__path__, "mini_attn.")
    if not info.name.startswith(("mini_attn.exercises", "mini_attn.widgets"))
]


def sections(text: str) -> list[str]:
    return re.findall(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.M)


def body(text: str, title: str) -> str:
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-{{3,}}$|\Z)", text, flags=re.M | re.S)
    return found.group(1).rstrip() if found else ""


def faults(name: str, thing: object, *, full: bool, shape: tuple[bool, bool]) -> list[str]:
    """Sentences, one for each rule of the design that a docstring breaks."""
    text = inspect.getdoc(thing) or ""
    found, titles = [], sections(text)
    first = text.split("\n", 1)[0]
    if not first.endswith("."):
        found.append(f"{name}: the first line is no sentence: {first!r}")
    if titles != [title for title in ORDER if title in titles]:
        found.append(f"{name}: sections stand in the order {titles}")
    if full:
        summary = text.split("\nParameters\n")[0]
        if not re.search(r"^``.+?``$", summary, flags=re.M | re.S):
            found.append(f"{name}: no formula after the first line")
        required = {"Raises", "Notes", "References", "Examples"}
        required |= {"Parameters"} if shape[0] else set()
        required |= {"Returns"} if shape[1] else set()
        found += [f"{name}: no {title}" for title in ORDER if title in required - set(titles)]
        if ">>>" not in body(text, "Examples"):
            found.append(f"{name}: no example")
    for line in body(text, "References").splitlines():
        key = line.strip().split(",")[0]
        if not line.startswith(" ") and key not in KEYS:
            found.append(f"{name}: {key!r} is not in references.bib")
    named = body(text, "Parameters")
    described = re.findall(r"^\*{0,2}([\w, *]+?)(?: :.*)?$", named, flags=re.M)
    listed = {part.strip(" *") for line in described for part in line.split(",")}
    if named and isinstance(thing, types.FunctionType | type):
        wanted = [p for p in inspect.signature(thing).parameters if p not in ("self", "device")]
        found += [f"{name}: {p} is not described" for p in wanted if p not in listed]
    return found


def public_of(module: types.ModuleType) -> dict[str, object]:
    return {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}


def gives(thing: object) -> bool:
    return not inspect.isclass(thing)


@pytest.mark.parametrize("package", BACKENDS)
def test_every_public_name_of_a_backend_keeps_the_order(package):
    found = []
    names = public_of(importlib.import_module(package))
    for name, thing in names.items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            continue
        found += faults(name, thing, full=True, shape=(True, gives(thing)))
    assert found == []


@pytest.mark.parametrize("package", BACKENDS)
def test_methods_keep_the_order_too(package):
    found = []
    for name, thing in public_of(importlib.import_module(package)).items():
        if not inspect.isclass(thing) or issubclass(thing, Exception):
            continue
        own = [vars(kind) for kind in thing.__mro__ if kind.__module__.startswith("mini_attn")]
        for key, method in (pair for names in own for pair in names.items()):
            shown = key in ("__call__", "forward") or not key.startswith("_")
            if shown and isinstance(method, types.FunctionType | property):
                target = method.fget if isinstance(method, property) else method
                text = inspect.getdoc(target)
                found += [] if text else [f"{name}.{key} has no docstring"]
                found += faults(f"{name}.{key}", target, full=False, shape=(0, 0))
    assert found == []


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_public_names_are_described(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"
    found = []
    for key in getattr(module, "__all__", []):
        thing = getattr(module, key)
        if isinstance(thing, types.FunctionType | type):
            found += faults(f"{name}.{key}", thing, full=False, shape=(0, 0))
    assert found == []


GOOD = '''def f(x):
    """Double it.

    ``y = 2 * x``

    Parameters
    ----------
    x : int
        A number.

    Returns
    -------
    int
        Twice the number.

    Raises
    ------
    TypeError
        If it is none.

    Notes
    -----
    None.

    References
    ----------
    vaswani2017attention, equation 1

    Examples
    --------
    >>> f(1)
    2
    """
    return 2 * x
'''
FAULTS = {
    "order": (GOOD.replace("Raises\n    ------", "Examples\n    ------"), "order"),
    "formula": (GOOD.replace("``y = 2 * x``", "y is twice x"), "formula"),
    "reference": (GOOD.replace("vaswani2017attention", "somebody2030"), "references.bib"),
    "parameter": (GOOD.replace("def f(x)", "def f(x, y=0)"), "y is not described"),
    "sentence": (GOOD.replace("Double it.", "Double it"), "no sentence"),
    "example": (GOOD.replace(">>> f(1)\n    2", "None yet."), "no example"),
    "notes": (GOOD.replace("Notes\n    -----\n    None.\n", ""), "no Notes"),
}


def made(source: str) -> object:
    names: dict[str, object] = {}
    exec(source, names)  # made up here, not from outside
    return names["f"]


def test_the_docstring_check_passes_what_is_right():
    assert faults("f", made(GOOD), full=True, shape=(True, True)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_docstring_check_can_fail(fault):
    source, words = FAULTS[fault]
    found = faults("f", made(source), full=True, shape=(True, True))
    assert any(words in sentence for sentence in found), found


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    report: list[str] = []
    for test in finder.find(module, name):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def too_long(sources: dict[str, str]) -> dict[str, int]:
    return {
        key: count
        for name, source in sources.items()
        for key, count in code_lines(source, name).items()
        if count > (300 if ":" not in key else 60 if key.startswith("exercises/bank/") else 40)
    }


def test_no_two_publications_read_alike():
    """A name and a year are all that a text shows of one; letters tell those of a year apart."""
    cite = script("book/_ext/citations.py").citations(BIB)
    read = [cite(key) for key in sorted(KEYS)]
    assert {name for name in read if read.count(name) > 1} == set()


def test_functions_and_modules_stay_short():
    root = Path(mini_attn.__file__).parent
    sources = {p.relative_to(root).as_posix(): p.read_text("utf-8") for p in root.rglob("*.py")}
    sources = {name: text for name, text in sources.items() if "questions" not in name}  # prose
    assert too_long(sources) == {}


def test_the_length_check_can_fail():
    body = "    x = 1\n" * 41
    assert too_long({"a.py": f"def f(\n    a,\n):\n{body}"}) == {"a.py:f": 41}
    assert too_long({"a.py": f"def f():\n{body[:-10]}"}) == {}
    assert too_long({"a.py": "import os\n" * 301}) == {"a.py": 301}
    # The foreseen mistakes of an exercise are its text: as many as there are, in one list.
    assert too_long({"exercises/bank/a.py": f"def f():\n{body}"}) == {}
    assert too_long({"exercises/bank/a.py": f"def f():\n{body * 2}"}) != {}


# What a docstring of a function does not begin with: it says what the function does, with a verb.
NO_VERBS = re.compile(r"(What|How|Whether|That|Who|Where|Which|When)\b")


def first_lines(source: str) -> dict[str, str]:
    """Return the first line of each function's docstring; properties may be noun phrases."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            attribute = any("property" in ast.unparse(each) for each in node.decorator_list)
            text = ast.get_docstring(node)
            if text and not (attribute and not text.startswith("Whether")):
                found[f"{node.name}:{node.lineno}"] = text.partition("\n")[0]
    return found


def test_docstrings_of_functions_begin_with_a_verb():
    seen, wrong = 0, []
    root = Path(mini_attn.__file__).parents[1]
    rooms = ("mini_attn", "tools", "book/_ext", "training", "benchmarks")
    for path in sorted(path for room in rooms for path in (root / room).rglob("*.py")):
        lines = first_lines(path.read_text(encoding="utf-8"))
        seen += len(lines)
        wrong += [f"{path.name} {at} {line}" for at, line in lines.items() if NO_VERBS.match(line)]
    assert seen > 1500
    assert wrong == []


@pytest.mark.parametrize("line", ["What it holds.", "How many.", "Whether it is.", "Which one."])
def test_a_docstring_without_a_verb_is_found(line):
    (found,) = first_lines(f'def f():\n    """{line}"""\n').values()
    assert NO_VERBS.match(found)
    assert first_lines(f'@property\ndef f(self):\n    """{line}"""\n').keys() <= {"f:2"}
    assert not NO_VERBS.match("Return what it holds.")
