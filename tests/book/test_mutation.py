"""The list of faults cannot rot, and what tries them can tell a noticed fault from another."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutation import run
from tests.mutation.faults import LISTS, ROOT, Fault, all_faults, changed

FAULTS = all_faults()
MODULE = "def double(x):\n    return 2 * x\n"
TEST = "from pkg import double\n\n\ndef test_double():\n    assert double(3) == 6\n"


@pytest.mark.parametrize("room", sorted({fault.at.partition("::")[0] for fault in FAULTS}))
def test_every_fault_fits_and_is_still_python(room):
    for fault in FAULTS:
        if fault.at.partition("::")[0] == room:
            changed(fault)


def test_every_fault_names_tests_that_exist():
    for test in {test for fault in FAULTS for test in fault.tests}:
        path, _, name = test.partition("::")
        assert f"def {name or 'test_'}" in (ROOT / path).read_text(encoding="utf-8"), test
    assert all(fault.tests for fault in FAULTS)


def test_there_are_enough_faults_with_names_of_their_own():
    assert len(FAULTS) >= 40
    assert [name for name, n in Counter(fault.name for fault in FAULTS).items() if n > 1] == []
    assert {path.stem for path in LISTS.glob("*.toml")} > {"attention", "caches", "latent", "cost"}


def fault(old="2 * x", new="3 * x", argued=""):
    return Fault("wrong factor", "pkg.py", old, new, ("test_pkg.py",), argued)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A package of one module with one test."""
    (tmp_path / "pkg.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_pkg.py").write_text(TEST, encoding="utf-8")
    monkeypatch.setattr(run, "COPIED", ("pkg.py", "test_pkg.py"))
    monkeypatch.setattr(run, "IMPORTED", ())
    return tmp_path


@pytest.mark.parametrize("old", ["4 * x", "x"])
def test_a_fault_that_no_longer_fits_is_refused(tree, old):
    with pytest.raises(ValueError, match="not once"):
        changed(fault(old), tree)
    with pytest.raises(ValueError, match="not once"):
        run.try_all([fault(), fault(old)], root=tree)


def test_a_fault_that_changes_nothing_is_refused(tree):
    with pytest.raises(ValueError, match="stays the same"):
        changed(fault(new="(2 * x)"), tree)


ROOM = {
    "one.py": "class A:\n    def f(self):\n        return self.g(\n            1, 'two',  # why\n"
    "        )\n\n    def g(self):\n        return self.g(1, 'two')\n",
    "deep/two.py": "LIMIT = 3\n\n\ndef f(limit):\n    if limit:\n        limit = LIMIT\n",
    "three.js": "export function f(x) {\n  return x * 2;\n}\nconst g = (x) => x * 2;\n",
}


@pytest.mark.parametrize(
    ("at", "old", "new", "path", "line"),
    [
        ("room::A.f", 'return self.g(1, "two")', "pass", "one.py", "        pass"),
        ("room::A.g", "self.g(1, 'two')", "1", "one.py", "        return 1"),
        ("room::LIMIT", "3", "4", "deep/two.py", "LIMIT = 4"),
        ("room::f", "limit = LIMIT", "if 0:\n    pass", "deep/two.py", "            pass"),
        ("room::f", "x*2", "x", "three.js", "  return x;"),
        ("room/three.js::g", "x * 2", "x", "three.js", "const g = (x) => x;"),
        ("room/deep/two.py", "limit):", "limit=0):", "deep/two.py", "def f(limit=0):"),
    ],
)
def test_a_fault_is_found_by_name_and_code(at, old, new, path, line, tmp_path):
    """Neither its file nor how its lines are broken, quoted or commented has to be said."""
    for name, source in ROOM.items():
        file = tmp_path / "room" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    where, wrong = changed(Fault("", at, old, new, ()), tmp_path)
    assert where == f"room/{path}"
    assert set(wrong.splitlines()) - set(ROOM[path].splitlines()) >= {line}


def test_a_fault_that_is_no_python_is_refused(tree):
    with pytest.raises(SyntaxError):
        changed(fault(new="2 *"), tree)


@pytest.mark.exhaustive
def test_verdicts(tree):
    """Several faults in one copy: each is taken out before the next comes in."""
    cases = [
        (fault(), "killed", "test_pkg.py::test_double"),
        (fault(new="x + 3"), "survived", ""),
        (fault(new="x + 3", argued="3 is the only number"), "argued", "3 is the only number"),
        (fault(old="return 2 * x", new="\n    while x:\n        pass"), "time", "longer than 10 s"),
        (fault(old="def double", new="def triple"), "broken", None),
        (fault(new="4 * x"), "killed", "test_pkg.py::test_double"),
    ]
    found = run.try_all([case[0] for case in cases], root=tree, jobs=1, seconds=10)
    assert [verdict["verdict"] for verdict in found] == [case[1] for case in cases]
    for verdict, (_, _, by) in zip(found, cases, strict=True):
        assert by in (verdict["by"], None)
    assert (tree / "pkg.py").read_text(encoding="utf-8") == MODULE


def test_a_tree_that_fails_by_itself_is_refused(tree):
    (tree / "pkg.py").write_text(MODULE.replace("2", "5"), encoding="utf-8")
    with pytest.raises(SystemExit, match="fail already"):
        run.try_all([fault(old="5 * x")], root=tree, jobs=1, seconds=30)
