"""The two backends are one contract: names, signatures, and docstrings from one text."""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from pathlib import Path

import pytest

import mini_attn.numpy
import mini_attn.torch
from tools import docstrings


def stems_of(backend):
    """A backend's public modules, each behind its room: ``attention.softmax``."""
    return sorted(
        f"{path.parent.name}.{path.stem}"
        for path in Path(backend.__file__).parent.glob("*/*.py")
        if not path.stem.startswith("_")
    )


STEMS = stems_of(mini_attn.numpy)
TORCH_ONLY = {"kernels.compiled"}  # NumPy has nothing to compile
SHARED = "mini_attn.decoding."
CALL = {"forward": "__call__"}  # torch's modules are called through forward


def pair(stem):
    return tuple(importlib.import_module(f"mini_attn.{b}.{stem}") for b in ("numpy", "torch"))


def methods(thing):
    """Return what a class has of its own, and what a server has from the room of both backends."""
    shared = (vars(kind) for kind in thing.__mro__ if kind.__module__.startswith(SHARED))
    return {**dict(pair for names in shared for pair in names.items()), **vars(thing)}


def public(module):
    """Qualified name -> object, for what a module lists and the public methods of its classes."""
    found = {}
    for name in module.__all__:
        found[name] = getattr(module, name)
        if inspect.isclass(found[name]):
            for key, value in methods(found[name]).items():
                key = CALL.get(key, key)
                if key == "__call__" or not key.startswith("_"):
                    target = value.fget if isinstance(value, property) else value
                    if isinstance(target, types.FunctionType):
                        found[f"{name}.{key}"] = target
    return found


def signature(thing, *, device):
    """Names, kinds and defaults; `device=None` may be there only where it is allowed."""
    parameters = [(p.name, p.kind, p.default) for p in inspect.signature(thing).parameters.values()]
    extra = ("device", inspect.Parameter.KEYWORD_ONLY, None)
    if device and inspect.isclass(thing) and extra in parameters:
        parameters.remove(extra)
    return parameters


def differences(ours, theirs):
    """Sentences, one for each way in which two modules of a stem differ."""
    found = []
    if sorted(ours.__all__) != sorted(theirs.__all__):
        found.append(f"__all__: {sorted(set(ours.__all__) ^ set(theirs.__all__))}")
        return found
    first, second = public(ours), public(theirs)
    if first.keys() != second.keys():
        return [f"public names: {sorted(first.keys() ^ second.keys())}"]
    for name in first:
        if signature(first[name], device=False) != signature(second[name], device=True):
            found.append(f"signature of {name}")
    return found


def test_both_have_the_same_stems():
    # Processes that compute together are PyTorch's: `parallel` has no twin.
    found = {stem for stem in stems_of(mini_attn.torch) if not stem.startswith("parallel.")}
    assert found == set(STEMS) | TORCH_ONLY
    assert "attention.softmax" in STEMS


@pytest.mark.parametrize("stem", STEMS)
def test_a_stem_is_the_same_in_both(stem):
    assert differences(*pair(stem)) == []


def test_the_packages_offer_all_of_their_stems():
    for package in (mini_attn.numpy, mini_attn.torch):
        assert sorted(package.__all__) == sorted(set(package.__all__))
        for stem in STEMS:
            module = importlib.import_module(f"{package.__name__}.{stem}")
            for name in module.__all__:
                assert name in package.__all__
                assert getattr(package, name) is getattr(module, name)
    only = {
        name for s in TORCH_ONLY for name in importlib.import_module(f"mini_attn.torch.{s}").__all__
    }
    assert sorted({*mini_attn.numpy.__all__, *only}) == sorted(mini_attn.torch.__all__)


def fake(body, names=("f",)):
    module = types.ModuleType("fake")
    exec(f"__all__ = {list(names)}\n" + body, vars(module))  # made up here, not from outside
    return module


DOC = (
    '"""One.\n\n    ``y = x``\n\n    Parameters\n    ----------\n    x : array (n,)\n        In.\n'
)
BASE = f'def f(x, *, axis=-1):\n    {DOC}\n    Notes\n    -----\n    A.\n    """\n'
FAULTS = {
    "__all__": ("g = 1\n" + BASE, ("f", "g")),
    "signature of f": (BASE.replace("axis=-1", "axis=0"), ("f",)),
    "signature of f ": (BASE.replace("x, *, axis", "x, axis"), ("f",)),
    "signature of f  ": (BASE.replace("axis=-1", "axis=-1, device=None"), ("f",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_comparison_can_fail(fault):
    body, names = FAULTS[fault]
    found = differences(fake(BASE), fake(body, names))
    assert len(found) == 1
    assert found[0].startswith(fault.strip())


def test_the_comparison_allows_what_it_should():
    assert differences(fake(BASE), fake(BASE.replace("    A.", "    Another note."))) == []
    numpy = "class C:\n    def __init__(self, a): ...\n    def __call__(self, x): ...\n"
    torch = numpy.replace("(self, a)", "(self, a, *, device=None)").replace("__call__", "forward")
    assert differences(fake(numpy, ("C",)), fake(torch, ("C",))) == []
    broken = torch.replace("forward(self, x)", "forward(self, y)")
    assert differences(fake(numpy, ("C",)), fake(broken, ("C",))) == ["signature of C.__call__"]


def test_pytorchs_docstrings_are_made_from_numpys():
    assert list(docstrings.stale()) == [], "run `make docstrings`"


NUMPY_SIDE = """__all__ = ["f"]

def f(x):
    \"\"\"Double an array.

    Parameters
    ----------
    x : array (n,)
        Numbers.

    Notes
    -----
    Exact.

    NumPy: slow.

    Examples
    --------
    >>> f(np.ones(1))
    \"\"\"
"""


def test_a_docstring_of_its_own_is_its_example_and_what_it_notes():
    own = NUMPY_SIDE.replace("Numbers.", "Other words.").replace("NumPy: slow", "PyTorch: fast")
    own = own.replace("np.ones", "torch.ones").replace("def f(x)", "def f(x, *, device=None)")
    made = docstrings.rewritten(NUMPY_SIDE, own)
    assert "Double a tensor." in made
    assert "x : tensor (n,)\n        Numbers." in made
    assert "device : torch.device" in made
    assert "Exact.\n\n    PyTorch: fast." in made
    assert "torch.ones(1)" in made
    assert "slow" not in made
    assert docstrings.rewritten(NUMPY_SIDE, made) == made


# The same idea in each backend's own types, or PyTorch's own contract.
OWN_TYPES = {
    "Module.load_state_dict": ("None", "Any"),  # PyTorch's says which keys were missing
    "draw_sinks": ("Array", "nn.Parameter"),
    "KVCache._integers": ("Array", "Integers"),  # NumPy's, on the host
    "StateCache._integers": ("Array", "Integers"),
}


def returned(backend):
    """(File, name) -> what a function says that it gives, private ones too."""
    folder, found = Path(backend.__file__).parent, {}

    def walk(file, body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(file, node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef) and node.returns is not None:
                found[file, prefix + node.name] = ast.unparse(node.returns)

    for path in folder.rglob("*.py"):
        walk(path.relative_to(folder), ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def in_numpys_words(kind):
    return kind.replace("Tensor", "Array").replace("torch.dtype", "np.dtype[Any]")


def test_what_has_one_name_gives_one_kind_in_both():
    """A helper that gives a tuple here and an array there misleads who reads both."""
    ours, theirs = returned(mini_attn.numpy), returned(mini_attn.torch)
    both = ours.keys() & theirs.keys()
    assert len(both) > 300
    different = {
        key[1]: (ours[key], theirs[key])
        for key in both
        if ours[key] != in_numpys_words(theirs[key])
    }
    assert different == OWN_TYPES
