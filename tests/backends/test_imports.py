"""Who may import whom, and what an import costs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mini_attn

ROOT = Path(mini_attn.__file__).parent
TREE = ROOT.parent

# Lower layers first: a module imports its own layer's own part, or what stands before it.
LAYERS = [
    {"errors"},
    {"shapes", "_json"},
    {"tokens"},
    {"config"},
    {"_variant_fields"},
    {"variants", "example"},
    {"models"},
    {"cost", "caching", "plain", "weights", "equivalences", "questions"},
    {"decoding"},
    {"numpy", "torch"},
    {"stories"},
    {"notebook"},
    {"widgets", "exercises"},
]
# The folders of the project in the same order; what stands in one line stays apart.
ROOMS = [
    {"mini_attn", "solutions"},
    {"classroom"},
    {"book"},
    {"tools"},
    {"benchmarks"},
    {"training"},
    {"tests"},
]
APART = [("torch", "numpy"), ("numpy", "torch"), ("widgets", "torch"), ("widgets", "exercises")]
HEAVY = ("torch", "matplotlib", "anywidget", "ipywidgets", "transformers", "IPython")


def imported(source: str, *, eager: bool = False) -> set[str]:
    """Dotted names of all modules that a source imports; `eager` leaves out functions' bodies."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            if not (eager and isinstance(child, ast.FunctionDef | ast.Lambda)):
                visit(child)

    visit(ast.parse(source))
    return found


def part(dotted: str) -> str | None:
    """The part of the package that a dotted name belongs to, None for others' modules."""
    names = dotted.split(".")
    return names[1] if names[0] == "mini_attn" and len(names) > 1 else None


def violations(sources: dict[str, str]) -> list[str]:
    """Sentences, one for each import that a layer rule forbids; keys are `part/…` paths."""
    rank = {name: i for i, names in enumerate(LAYERS) for name in names}
    found = []
    for path, source in sources.items():
        own = path.split("/")[0].removesuffix(".py")
        if own == "__init__":
            found += [f"{path} imports {name}" for name in imported(source, eager=True)
                      if part(name) or name.split(".")[0] in HEAVY]  # fmt: skip
            continue
        for name in imported(source):
            other = part(name)
            if other and other != own and other != "__version__":
                if (own, other) in APART or rank[other] >= rank[own]:
                    found.append(f"{path} imports {name}")
            elif name.split(".")[0] == "torch" and own != "torch":
                found.append(f"{path} imports {name}")
        if own != "torch":
            found += [f"{path} imports {name} at once" for name in imported(source, eager=True)
                      if name.split(".")[0] in HEAVY and own != "widgets"]  # fmt: skip
    return found


def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in ROOT.rglob("*.py")
    }


def test_every_part_has_a_layer():
    known = set().union(*LAYERS)
    parts = {path.split("/")[0].removesuffix(".py") for path in sources()}
    assert parts - known == {"__init__"}


def test_no_import_breaks_a_layer():
    assert violations(sources()) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("torch/a.py", "from mini_attn.numpy.attention.softmax import softmax"),
        ("torch/a.py", "def f():\n    import mini_attn.numpy"),
        ("numpy/a.py", "import torch"),
        ("numpy/a.py", "from mini_attn.widgets import base"),
        ("shapes.py", "from mini_attn.config import AttentionConfig"),
        ("models/a.py", "from mini_attn import cost"),
        ("widgets/a.py", "def f():\n    import torch"),
        ("widgets/a.py", "from mini_attn.exercises import check"),
        ("notebook.py", "import matplotlib"),
        ("__init__.py", "from mini_attn import cost"),
    ],
)
def test_the_layer_check_can_fail(path, source):
    assert len(violations({path: source})) >= 1


def test_a_relative_import_is_refused():
    with pytest.raises(AssertionError, match="relative"):
        violations({"numpy/a.py": "from .softmax import softmax"})


LATE = re.compile(r"""\bimport_module\(f?["'](\w+)""")  # by a name that is put together


def room_violations(sources: dict[str, str]) -> list[str]:
    """Sentences, one for each import between folders that is not downwards; keys are paths."""
    rank = {name: i for i, names in enumerate(ROOMS) for name in names}
    book = {Path(path).stem for path in sources if re.match(r"book/_\w+/", path)}
    found = []
    for path, source in sources.items():
        own = path.split("/")[0]
        for name in imported(source) | set(LATE.findall(source)):
            other = name.split(".")[0]
            alone = own == "solutions" and other not in {*sys.stdlib_module_names, "numpy", own}
            upward = other != own and rank.get(other, -1) >= rank[own]
            # The book's modules are found by their bare names where Sphinx loads them.
            in_book = other == "book" or (other in book and other not in rank)
            if alone or upward or (in_book and own != "book"):
                found.append(f"{path} imports {name}")
    return found


def cells_of(path: Path) -> str:
    """A notebook's code as one source."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def tree() -> dict[str, str]:
    """Every module of the project and every chapter."""
    rooms = [path for path in TREE.iterdir() if path.is_dir() and re.match(r"[a-z]", path.name)]
    rooms = [path for path in rooms if path.name not in ("build", "dist")]
    modules = [path for room in rooms for path in room.rglob("*.py")]
    found = {path.relative_to(TREE).as_posix(): path.read_text("utf-8") for path in modules}
    chapters = (TREE / "book").glob("*.ipynb")
    return found | {path.relative_to(TREE).as_posix(): cells_of(path) for path in chapters}


def test_every_folder_has_its_place():
    assert {path.split("/")[0] for path in tree()} <= set().union(*ROOMS)


def test_no_import_leads_upward_in_the_tree():
    found = tree()
    assert len(found) > 300
    assert room_violations(found) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("mini_attn/cost/a.py", "from classroom import sheet"),
        ("mini_attn/a.py", "import_module(f'solutions.{name}')"),
        ("mini_attn/torch/a.py", "def f():\n    import training.train"),
        ("solutions/a.py", "import torch"),
        ("solutions/a.py", "from mini_attn.numpy import softmax"),
        ("solutions/a.py", "import scipy.special"),
        ("classroom/a.py", "from tests.site import serve"),
        ("classroom/a.py", "def f():\n    from tools.browser import find"),
        ("classroom/a.py", "from book._ext.pages import setup"),
        ("classroom/a.py", "importlib.import_module('training.data')"),
        ("classroom/a.py", "import training"),
        ("book/_ext/a.py", "import tools.build"),
        ("book/a.ipynb", "from benchmarks import machine"),
        ("tools/a.py", "from tests.javascript import run"),
        ("tools/a.py", "from benchmarks import machine"),
        ("tools/a.py", "from register import index"),
        ("tools/a.py", "import book"),
        ("benchmarks/a.py", "import_module('tests.backends.small')"),
        ("tests/book/a.py", "import book._ext.pages"),
    ],
)
def test_the_check_of_rooms_can_fail(path, source):
    there = {"book/_ext/register.py": "", "book/_ext/pages.py": ""}
    assert len(room_violations(there | {path: source})) == 1


def test_the_check_of_rooms_lets_downward_imports_pass():
    right = {
        "solutions/a.py": "import math\nimport numpy as np\nfrom solutions import b",
        "classroom/a.py": "from mini_attn import cost\nimport_module(f'solutions.{x}')",
        "book/_ext/a.py": "import b\nfrom classroom.plain import plain",
        "book/_ext/b.py": "import sphinx",
        "benchmarks/a.py": "from tools.lines import code_lines",
        "tests/a.py": "from tools import pages\nfrom benchmarks import run",
    }
    assert room_violations(right) == []


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )


BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Blocked())
"""


def modules_without(prefix: str) -> list[str]:
    """Every module of the package outside a part, as dotted names."""
    dotted = (
        "mini_attn." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path in sources()
    )
    return sorted(name for name in dotted if not name.startswith(f"mini_attn.{prefix}"))


def test_all_but_the_torch_side_imports_with_torch_blocked():
    names = [name for name in modules_without("torch") if name != "mini_attn.__init__"]
    assert "mini_attn.numpy.layers.decoder" in names
    code = BLOCK.format(blocked=["torch"]) + "import importlib\n"
    code += f"for name in {names!r}:\n    importlib.import_module(name)\n"
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_the_blocked_import_check_can_fail():
    done = python(BLOCK.format(blocked=["torch"]) + "import mini_attn.torch")
    assert done.returncode == 1
    assert "torch is blocked" in done.stderr


def test_numpy_needs_nothing_but_numpy():
    blocked = ["torch", "matplotlib", "anywidget", "ipywidgets", "IPython", "scipy", "traitlets"]
    done = python(BLOCK.format(blocked=blocked) + "import mini_attn.numpy, mini_attn.notebook")
    assert done.returncode == 0, done.stderr


def loaded(code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_package_loads_next_to_nothing():
    """Counted in modules, as a clock would depend on the machine's other work."""
    plain, ours = loaded(""), loaded("import mini_attn")
    assert {name for name in ours - plain if not name.startswith("mini_attn")} <= {"__future__"}
    assert not {name.split(".")[0] for name in ours} & {*HEAVY, "numpy"}
    numpy, reference = loaded("import numpy"), loaded("import mini_attn.numpy")
    added = {name for name in reference - numpy if not name.startswith("mini_attn")}
    assert len(added) < 30, sorted(added)
    assert not {name.split(".")[0] for name in reference} & set(HEAVY)


def test_importing_the_package_takes_no_longer_than_thrice_numpy():
    """Of the same process and in time of the processor: how fast or busy it is makes no odds."""
    clock = "import time\nnow = time.process_time\nstart = now()\nimport numpy\nhalf = now()\n"
    code = clock + "import mini_attn, mini_attn.numpy\nprint((now() - half) / (half - start))"
    assert min(float(python(code).stdout) for _ in range(5)) < 3
