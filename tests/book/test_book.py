"""Static checks of the sources of the book and of the built pages in ``_build/html``.

``make book`` builds the pages; without them these tests fail and say so.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

import mini_attn
from mini_attn.stories.family import on_pages
from mini_attn.variants import REGISTRY
from tools import HTML, ROOT
from tools.pages import MOVED, Page, css_addresses, is_outside, local, names, weight

BUDGET_BYTES = 900_000
MADE = ("404.html", "search.html", "genindex.html", "py-modindex.html")  # by Sphinx
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
PACKAGE = sorted((ROOT / "mini_attn").rglob("*.py"))
# Other spellings of names that book/notation.md fixes.
REFUSED = re.compile(r"^(nh|hs|bsz|dim|n_groups?|n_rep|num_heads|num_kv_heads|n_embd|seqlen|C)$")


@cache
def ids_of(path: Path) -> set[str]:
    """The places on a page that a link can name."""
    return set(Page(path).ids)


@cache
def pages() -> dict[str, Page]:
    """Every page of the built book by its path."""
    assert (HTML / "index.html").exists(), f"no pages in {HTML}: run `make book` first"
    return {name: Page(HTML / name) for name in (*names(), *MADE)}


def test_the_reader_of_pages_sees_faults(tmp_path: Path) -> None:
    """What the checks below look for is found where it is."""
    path = tmp_path / "page.html"
    path.write_text(
        '<p id="a">x</p><p id="a"></p><script src="https://host/x.js"></script>'
        '<link rel="next" href="b.html"><style>p { background: url(//host/p.png) }</style>'
    )
    page = Page(path)
    assert page.ids == ["a", "a"]
    assert page.resources == ["https://host/x.js"]
    assert is_outside(page.resources[0])
    assert css_addresses(page.styles[0]) == ["//host/p.png"]
    assert page.text == ["x"]


def test_no_resource_of_another_host() -> None:
    """Scripts, styles, pictures, frames and what the styles load are all local files."""
    for name, page in pages().items():
        for address in page.resources:
            assert not is_outside(address), f"{name} loads {address}"
            if not address.startswith("data:"):
                assert local(page, address).is_file(), f"{name} loads a missing file {address}"
        for text in page.styles:
            assert not [a for a in css_addresses(text) if is_outside(a)], f"{name} has outside css"


def test_style_sheets_load_local_files() -> None:
    """Every ``url()`` of a style sheet that a page uses is a file beside it."""
    sheets = {local(page, a) for page in pages().values() for a in page.resources if ".css" in a}
    assert sheets
    for sheet in sorted(sheets):
        for address in css_addresses(sheet.read_text(encoding="utf-8")):
            assert not is_outside(address), f"{sheet.name} loads {address}"
            target = sheet.parent / urlsplit(address).path
            assert target.is_file(), f"{sheet.name} loads a missing file {address}"


def test_no_remnant_of_other_loaders() -> None:
    """No MathJax, require.js, thebe or widget manager, and no widget state."""
    for name, page in pages().items():
        text = page.path.read_text(encoding="utf-8")
        for word in ("mathjax", "require.min.js", "thebe", "html-manager", "widget-state+json"):
            assert word not in text.lower(), f"{name} holds {word}"


def test_mathematics_is_set() -> None:
    """Formulas are set at build time: KaTeX's markup, no TeX left over, no error in red."""
    text = pages()["book/notation.html"].path.read_text(encoding="utf-8")
    assert text.count('class="katex-mathml"') > 10
    for name, page in pages().items():
        assert "katex-error" not in page.path.read_text(encoding="utf-8"), name
        shown = "".join(page.text)
        assert not re.search(r"\\\(|\\\[|\$\$", shown), f"{name} shows raw TeX"


def test_one_bundle_where_something_lives() -> None:
    """Exactly the pages with a living picture load the bundle, once; *Your model* has its own."""
    for name, page in pages().items():
        if name == "book/your-model.html":
            continue
        bundles = [a for a in page.resources if "living.page" in a]
        assert len(bundles) == (1 if page.living else 0), f"{name}: {page.living} living, {bundles}"
    assert pages()["book/kv-cache.html"].living > 0


def test_trained_decoders_are_scripts_of_their_own() -> None:
    """Each lies beside the bundle that asks for it; no page loads or holds one."""
    bundle = (HTML / "_static/living.trained.js").read_text(encoding="utf-8")
    line = bundle.partition("\n")[0].removeprefix("globalThis.livingVersions=").removesuffix(";")
    files = {path.stem: path.read_bytes() for path in (HTML / "_static/models").iterdir()}
    assert list(json.loads(line)) == list(on_pages())
    assert json.loads(line) == {n: hashlib.sha256(b).hexdigest()[:8] for n, b in files.items()}
    for name, page in pages().items():
        text = page.path.read_text(encoding="utf-8")
        bundles = [a for a in page.resources if "living.trained" in a]
        decoders = re.findall(r'data-widget="(inside_model|home_model)"', text)
        assert len(bundles) == len(decoders), name
        assert not [a for a in page.resources if "/models/" in a], name
        assert "livingModels" not in text, name


def test_ids_are_unique() -> None:
    """No id stands twice on a page."""
    for name, page in pages().items():
        twice = {one for one in page.ids if page.ids.count(one) > 1}
        assert not twice, f"{name} repeats {sorted(twice)}"


def test_every_page_has_its_stamp() -> None:
    """The footer names version and date; chapters offer a stamped notebook."""
    own = set(names())
    stamp = json.loads((HTML / "notebooks/stamp.json").read_text(encoding="utf-8"))
    assert stamp["version"] == mini_attn.__version__
    for name, page in pages().items():
        if name in own:
            shown = " ".join("".join(page.text).split())
            assert f"mini_attn {stamp['version']}" in shown, name
            assert stamp["date"] in shown, name
    for source in NOTEBOOKS:
        copy = HTML / "notebooks" / f"{source.stem}-{stamp['version']}.ipynb"
        metadata = nbformat.read(copy, as_version=4).metadata
        assert metadata["mini_attn"]["version"] == mini_attn.__version__
        assert f"../notebooks/{copy.name}" in pages()[f"book/{source.stem}.html"].links


def test_internal_links_resolve() -> None:
    """Every link to a file of the book finds it, and the place in it where one is named."""
    for name, page in pages().items():
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or parts.path.startswith("../lite/"):
                continue  # tests/book/test_lite.py checks what is in lite
            target = local(page, address)
            assert target.is_file(), f"{name} links to a missing file: {address}"
            if parts.fragment and target.suffix == ".html" and ":" not in parts.fragment:
                found = unquote(parts.fragment) in ids_of(target)
                assert found, f"{name} links to a missing place: {address}"


def test_every_variant_has_its_section() -> None:
    """The place that the registry names for a variant is in the book."""
    for entry in REGISTRY.values():
        stem, _, anchor = entry.page.partition("#")
        assert anchor in pages()[f"book/{stem}.html"].ids, entry.page


def test_the_index_leads_to_sections_and_names() -> None:
    """Under a term of the glossary stand the sections whose headings name it."""
    links = set(pages()["genindex.html"].links)
    assert "book/attention.html#the-causal-mask-three-ways" in links
    assert "book/glossary.html#term-causal-mask" in links
    assert "book/api-attention.html#mini_attn.numpy.attention.mask.causal_mask" in links
    assert "../genindex.html" in pages()["book/glossary.html"].links


@pytest.mark.parametrize("source", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapter_is_light(source: Path) -> None:
    """A chapter with everything it could load, all fonts included, stays in the budget."""
    total = weight(pages()[f"book/{source.stem}.html"])
    assert 50_000 < total < BUDGET_BYTES, f"{source.stem}: {total:,} bytes"


def test_where_the_first_page_was_leads_to_it() -> None:
    """Also without JavaScript; the folder's first page is the book's, whole."""
    page = Page(HTML / MOVED)
    assert page.links == ["../index.html"]
    assert "url=../index.html" in page.path.read_text(encoding="utf-8")
    assert "The chapters" in "".join(pages()["index.html"].text)
    assert "refresh" not in (HTML / "index.html").read_text(encoding="utf-8")


def test_search_needs_no_server() -> None:
    """The search index is a script, which works from a folder as well."""
    assert (HTML / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")
    assert any("searchindex.js" in a for a in pages()["search.html"].resources)


@pytest.mark.parametrize("source", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stripped(source: Path) -> None:
    """No outputs, counts or widget state are committed; the kernel is the plain one."""
    notebook = nbformat.read(source, as_version=4)
    assert "widgets" not in notebook.metadata
    assert notebook.metadata.kernelspec.name == "python3"
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            assert cell.outputs == [], f"cell {number} has outputs"
            assert cell.execution_count is None, f"cell {number} has a count"


def refused_names(code: str) -> set[str]:
    """Names in a piece of Python that ``book/notation.md`` spells in another way.

    Keywords of a call (``torch.cat(..., dim=2)``) are another library's names.
    """
    words = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.arg):
            words.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            words.add(node.attr)
    return {word for word in words if REFUSED.match(word)}


def test_linter_of_names_sees_a_fault() -> None:
    """The check of names can fail."""
    code = "def f(bsz, n_heads):\n    return n_rep * sum(n_heads, dim=1)\n"
    assert refused_names(code) == {"bsz", "n_rep"}


@pytest.mark.parametrize("path", PACKAGE, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_names_in_the_package(path: Path) -> None:
    """The package uses the names of the notation page."""
    assert refused_names(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("source", NOTEBOOKS, ids=lambda path: path.stem)
def test_names_in_the_cells(source: Path) -> None:
    """The chapters' cells are plain Python with the names of the notation page."""
    for cell in nbformat.read(source, as_version=4).cells:
        if cell.cell_type == "code":
            assert refused_names(cell.source) == set()


def test_notation_names_what_the_package_uses() -> None:
    """Each field of a configuration has its row on the notation page."""
    text = (ROOT / "book/notation.md").read_text(encoding="utf-8")
    for name in ("n_heads", "n_kv_heads", "head_dim", "v_head_dim", "d_model", "q_len", "kv_len"):
        assert re.search(rf"^\|.*`[^`|]*\b{name}\b", text, re.MULTILINE), name
    for word in ("GiB", "True = may attend", "multiply-add", "-inf"):
        assert word in text, word


def glossary_terms() -> set[str]:
    """Terms that the glossary defines."""
    text = (ROOT / "book/glossary.md").read_text(encoding="utf-8")
    body = text.split("```{glossary}")[1].split("```")[0]
    return {line for line in body.splitlines() if re.match(r"[A-Za-z]", line)}


WORDS = """attention autoregressive batch cache context decode FLOP GQA head key latent logits mask
MHA MLA MQA prefill query roofline scores softmax value weights"""
TERMS = ["causal mask", "KV cache", "left padding", "memory bandwidth", "ring buffer"]
TERMS += ["sliding window", "token pass", *WORDS.split()]


@pytest.mark.parametrize("term", TERMS)
def test_glossary_has(term: str) -> None:
    """The terms of the chapters are explained."""
    assert term in glossary_terms()
