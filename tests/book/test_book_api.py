"""Every public name has its entry on one of the API pages, which are made from docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import mini_attn
import mini_attn.numpy
import mini_attn.torch
from mini_attn import example, plain
from tests.scripts import script

BOOK = Path(__file__).parents[2] / "book"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("api-*.md"))}
DOCSTRINGS = script("book/_ext/docstrings.py")  # which makes the pages
BACKENDS = (mini_attn.numpy, mini_attn.torch)


def words_of(text: str) -> list[str]:
    """Return what a page names: modules, and rooms as ``caches.*``."""
    return " ".join(DOCSTRINGS.SHOWS.findall(text)).split()


def stems_of(text: str) -> list[str]:
    """Return the stems of the modules that a page shows."""
    return DOCSTRINGS.stems_of(" ".join(words_of(text)))


def missing(wanted: set[str], pages: dict[str, str]) -> set[str]:
    """Stems that no page shows."""
    return wanted - {stem for text in pages.values() for stem in stems_of(text)}


def public_stems() -> set[str]:
    """Modules without an underscore: the package's own, and those of both backends' rooms."""
    rooms = {room for backend in BACKENDS for room in Path(backend.__file__).parent.glob("*/")}
    folders = [mini_attn.__path__, *([str(room)] for room in rooms)]
    names = {info.name for folder in folders for info in pkgutil.iter_modules(folder)}
    for room in (example, plain):  # whose modules are read one by one
        stem = room.__name__.removeprefix("mini_attn.")
        names |= {f"{stem}.{info.name}" for info in pkgutil.iter_modules(room.__path__)}
    return {name for name in names if not name.startswith("_")} - {"numpy", "torch"}


def test_every_module_is_on_a_page():
    assert missing(public_stems(), PAGES) == set()


def test_no_page_shows_what_is_not_there_or_shows_it_twice():
    shown = [stem for text in PAGES.values() for stem in stems_of(text)]
    assert len(shown) == len(set(shown))
    assert set(shown) <= public_stems()


def test_a_room_is_each_of_its_modules_that_no_page_names():
    shown = stems_of(PAGES["api-heads"])
    # Others are on another.
    assert shown == ["heads", "compressed", "indexed", "latent", "nsa", "conversion"]


def test_a_missing_module_is_seen():
    assert missing({"softmax", "mask"}, {"api-x": "```\n.. api:: softmax\n```"}) == {"mask"}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda module: module.__name__)
def test_every_public_name_of_a_backend_is_in_a_module_of_a_page(backend):
    """Also the names that a backend takes from the modules that both share."""
    shown = set()
    for stem in sorted(public_stems()):
        shown |= {name for side in DOCSTRINGS.modules_of(stem) for name in DOCSTRINGS.public(side)}
    assert set(backend.__all__) <= shown


@pytest.mark.parametrize("stem", sorted(public_stems()))
def test_every_name_of_a_module_gets_an_entry(stem):
    module = DOCSTRINGS.modules_of(stem)[0]
    lines = DOCSTRINGS.entries(module)
    for name in DOCSTRINGS.public(module):
        thing = getattr(module, name)
        kind = "autoclass" if inspect.isclass(thing) else "autofunction"
        kind = kind if DOCSTRINGS.is_entry(thing) else "py:data"
        assert f".. {kind}:: {name}" in lines, name


def test_torch_notes_that_differ_are_shown():
    lines = DOCSTRINGS.torch_lines(*DOCSTRINGS.modules_of("dot_product"))
    assert any("``scaled_dot_product_attention``" in line for line in lines)
    assert any("fused" in line for line in lines)


def test_the_first_page_leads_to_all_others():
    front = PAGES["api-mini-attn"]
    for name, text in PAGES.items():
        if name == "api-mini-attn":
            continue
        row = next(line for line in front.splitlines() if f"({name}.md)" in line)
        title = text.splitlines()[0].removeprefix("# ")
        assert f"[{title}]" in row
        for stem in words_of(text):
            assert f"`{stem}`" in row, f"{stem} is not on the row of {name}"


IN_NO_BACKEND = ("cost", "models", "weights", "tokens", "stories", "config", "variants")


@pytest.mark.parametrize("stem", IN_NO_BACKEND)
def test_what_is_in_no_backend_says_what_goes_in_and_shows_an_example(stem):
    module = importlib.import_module(f"mini_attn.{stem}")
    for name in module.__all__:
        thing = getattr(module, name)
        text = inspect.getdoc(thing) or ""
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            titles = ["Parameters"] if signature.parameters else []
            returns = signature.return_annotation not in (None, "None")
            titles += ["Examples", "Returns"] if returns else ["Examples"]
            for title in titles:
                assert f"\n{title}\n---" in text, f"{name} has no {title}"
