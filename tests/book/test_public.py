"""One setting publishes the book: what its address gives each page, and what there is without one.

A small copy of the book is built by jupyter-book itself, with example addresses, from an empty
repository, and is pushed to a remote that is a folder.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

import mini_attn
from tests.book.test_adding import LEFT
from tests.pages import built_page
from tests.scripts import script
from tools import HTML, ROOT, pictures, publish
from tools.pages import MOVED, names

ANNOUNCE = script("book/_ext/announce.py")
PREVIEWS = script("book/_ext/previews.py")
PUBLIC = sys.modules["public"]  # which both import
SITE, REPOSITORY = "https://example.org/attention", "https://github.com/example/attention"
TOC = """format: jb-book
root: index
parts:
  - caption: The road
    chapters: [{file: book/start}]
  - caption: Back matter
    chapters: [{file: book/about}, {file: book/glossary}]
"""
FIRST_PAGE = "# The Living Attention Book\n\nAttention is one formula. [Begin](book/start.ipynb).\n"
ADDRESSED = ("sitemap.xml", "robots.txt", "feed.xml", "CNAME")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def commit(tree: Path) -> None:
    """Commit what is in a tree, as whoever publishes it would."""
    who = ("-c", "user.name=A reader", "-c", "user.email=reader@example.org")
    run("git", "add", "--all", folder=tree)
    run("git", *who, "commit", "--quiet", "-m", "the book", folder=tree)


def build(tree: Path) -> Path:
    run(Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", folder=tree)
    return tree / "_build/html"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new repository with a chapter, two other pages, and the two lines of the setting."""
    tree = tmp_path_factory.mktemp("public") / "attention"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT, "tests"))
    (tree / ".gitignore").write_text("_build/\n__pycache__/\n")
    (tree / "_toc.yml").write_text(TOC)
    (tree / "index.md").write_text(FIRST_PAGE)
    config = tree / "_config.yml"
    config.write_text(
        config.read_text().replace("execute_notebooks: cache", 'execute_notebooks: "off"')
    )
    settings = tree / "pyproject.toml"
    lines = f'[project.urls]\nHomepage = "{SITE}/"\nRepository = "{REPOSITORY}"\n\n'
    text, behind = settings.read_text(), "[project.optional-dependencies]"
    settings.write_text(text.replace(behind, lines + behind))
    run("git", "init", "--quiet", "--initial-branch=main", folder=tree)
    commit(tree)
    build(tree)
    return tree


@pytest.fixture(scope="module")
def pages(tree: Path) -> dict[str, BeautifulSoup]:
    html = tree / "_build/html"
    return {
        name: BeautifulSoup((html / name).read_text(encoding="utf-8"), "html.parser")
        for name in names(html)
    }


def address_of(name: str) -> str:
    return f"{SITE}/{'' if name == 'index.html' else name}"


def test_pages_that_draw_themselves_have_the_drawing_of_their_script() -> None:
    assert pictures.undrawn() == [], "run `make bundle`"


@pytest.mark.slow
def test_each_page_knows_its_address_and_its_picture(
    tree: Path, pages: dict[str, BeautifulSoup]
) -> None:
    assert set(pages) == {"index.html", *(f"book/{s}.html" for s in ("start", "about", "glossary"))}
    for name, page in pages.items():
        assert [link["href"] for link in page.select("link[rel=canonical]")] == [address_of(name)]
        facts = {tag["property"]: tag["content"] for tag in page.select("meta[property]")}
        assert facts["og:url"] == address_of(name)
        assert facts["og:image"].startswith(f"{SITE}/_static/")
        drawn = tree / "_build/html" / facts["og:image"].removeprefix(f"{SITE}/")
        assert drawn.stem == ("home_model-preview" if name == "index.html" else Path(name).stem)
        head = drawn.read_bytes()[:24]
        assert struct.unpack(">II", head[16:]) == (1200, 630), name
        assert facts["og:description"] == page.select_one("meta[name=description]")["content"]
        assert page.select_one("meta[name='twitter:card']")["content"] == "summary_large_image"
        feed = page.select_one("link[type='application/atom+xml']")
        assert feed["href"] == f"{SITE}/feed.xml"
    old = (tree / "_build/html" / MOVED).read_text()
    assert f'<link rel="canonical" href="{SITE}/" />' in old


@pytest.mark.slow
def test_each_page_can_be_mended(tree: Path, pages: dict[str, BeautifulSoup]) -> None:
    head = run("git", "log", "-1", "--format=%h", folder=tree).strip()
    sources = {"index.html": "index.md", "book/start.html": "book/start.ipynb",
               "book/about.html": "book/about.md"}  # fmt: skip
    for name, source in sources.items():
        links = [link["href"] for link in pages[name].select("footer a[href^='https://github']")]
        edit, report = links
        assert edit == f"{REPOSITORY}/edit/main/{source}"
        title = pages[name].select_one("meta[property='og:title']")["content"]
        assert report.startswith(f"{REPOSITORY}/issues/new?template=page.yml&title=")
        asked = parse_qs(urlsplit(report).query)
        assert asked["title"] == [f"{title}: "]
        assert asked["page"] == [f"{source}, commit {head}"]
        assert (ROOT / ".github/ISSUE_TEMPLATE" / asked["template"][0]).exists()


@pytest.mark.slow
def test_a_chapter_says_what_it_teaches(tree: Path, pages: dict[str, BeautifulSoup]) -> None:
    told = {name: page.select("script[type='application/ld+json']") for name, page in pages.items()}
    assert [name for name, found in told.items() if found] == ["book/start.html"]
    resource = json.loads(told["book/start.html"][0].string)
    assert resource["@type"] == "LearningResource"
    assert resource["name"] == "Before attention"
    assert resource["url"] == f"{SITE}/book/start.html"
    assert resource["isPartOf"]["url"] == f"{SITE}/"
    assert re.fullmatch(r"PT\d+M", resource["timeRequired"])
    assert "compute a dot product" in resource["teaches"][1]
    assert resource["educationalLevel"] == "Beginner"
    assert resource["license"].startswith("https://creativecommons.org/licenses/by/4.0")
    today = run("git", "log", "-1", "--format=%cs", folder=tree).strip()
    assert resource["dateModified"] == today
    assert all(resource.values())


@pytest.mark.slow
def test_the_site_announces_itself(tree: Path) -> None:
    html = tree / "_build/html"
    locations = ET.parse(html / "sitemap.xml").getroot().findall(".//{*}loc")
    assert [place.text for place in locations] == [
        f"{SITE}/", *(f"{SITE}/book/{s}.html" for s in ("about", "glossary", "start"))
    ]  # fmt: skip
    assert f"\nSitemap: {SITE}/sitemap.xml\n" in (html / "robots.txt").read_text()
    feed = ET.parse(html / "feed.xml").getroot()
    entries = feed.findall("{*}entry")
    assert entries[-1].find("{*}title").text == "The Living Attention Book 0.1.0"
    ids = [one.text for one in feed.findall(".//{*}id")]
    assert len(set(ids)) == len(entries) + 1
    assert all(one.startswith(SITE) for one in ids)
    assert "<li>" in entries[0].find("{*}content").text
    assert entries[0].find("{*}title").text.endswith(mini_attn.__version__)
    assert not (html / "CNAME").exists()


@pytest.mark.slow
def test_the_push_replaces_what_was_there(tree: Path, tmp_path: Path) -> None:
    """One commit without a parent; what is not of the last commit is refused."""
    html = tree / "_build/html"
    remote = tmp_path / "remote.git"
    run("git", "init", "--quiet", "--bare", remote, folder=tmp_path)
    (tree / ".git/info/exclude").write_text("*.inv\n")  # what the machine ignores is pushed too
    left = html / "of-an-earlier-build.txt"
    left.write_text("gone by the next push")
    publish.publish(str(remote), html, tree)
    left.unlink()
    assert "on gh-pages of" in publish.publish(str(remote), html, tree)
    assert run("git", "rev-list", "--count", "gh-pages", folder=remote).strip() == "1"
    there = run("git", "ls-tree", "-r", "--name-only", "gh-pages", folder=remote).splitlines()
    files = [path.relative_to(html).as_posix() for path in html.rglob("*") if path.is_file()]
    assert sorted(there) == sorted(files)
    assert {".nojekyll", "index.html", "404.html", "feed.xml"} <= set(there)
    author = run("git", "log", "-1", "--format=%an", "gh-pages", folder=remote).strip()
    assert author == "A reader"
    assert run("git", "status", "--porcelain", folder=tree) == ""
    pushed = run("git", "rev-parse", "gh-pages", folder=remote)
    page = tree / "book/about.md"
    before = page.read_text(encoding="utf-8")
    page.write_text(f"{before}\nMore.\n", encoding="utf-8")
    with pytest.raises(publish.Refusal, match=r"these files have changes: book/about\.md"):
        publish.publish(str(remote), html, tree)
    commit(tree)
    with pytest.raises(publish.Refusal, match="the built book is of commit"):
        publish.publish(str(remote), html, tree)
    assert run("git", "rev-parse", "gh-pages", folder=remote) == pushed
    run("git", "reset", "--quiet", "--hard", "HEAD~1", folder=tree)
    with pytest.raises(publish.Refusal, match="git push"):
        publish.publish(str(tmp_path / "none.git"), html, tree)
    with pytest.raises(publish.Refusal, match="make book"):
        publish.publish(str(remote), tmp_path, tree)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_without_the_lines_nothing_is_left_of_the_address(tree: Path, tmp_path: Path) -> None:
    """Also where an earlier build in the same folder had one."""
    copy = tmp_path / "again"
    shutil.copytree(tree, copy)
    settings = copy / "pyproject.toml"
    settings.write_text(re.sub(r"\[project\.urls\]\n.*\n.*\n", "", settings.read_text()))
    html = build(copy)
    assert not [name for name in ADDRESSED if (html / name).exists()]
    for path in html.rglob("*.html"):
        assert "example" not in "".join(re.findall(r"<(?:link|meta|a) [^>]*>", path.read_text()))


@pytest.mark.site
def test_the_book_points_where_its_setting_says() -> None:
    """Nowhere if there is none; and never to an empty address."""
    public = PUBLIC.read_public()
    for name in names():
        page = built_page(name)
        assert bool(page.select("link[rel=canonical], meta[property='og:url']")) == bool(
            public.site
        )
        edit = page.select("footer a[href*='/edit/'], footer a[href*='/issues/new']")
        assert len(edit) == (2 if public.github else 0)
        assert not page.select("[href=''], [src=''], meta[content='']:not([name^=docsearch])"), name
    for name in ADDRESSED[:3]:
        assert (HTML / name).exists() == bool(public.site)
    assert (HTML / ".nojekyll").exists()


def test_the_citation_says_what_the_project_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    given, public = project(), PUBLIC.read_public()
    assert str(cited["version"]) == mini_attn.__version__
    assert cited["authors"] == given["authors"]
    assert cited.get("url", "").rstrip("/") == public.site
    assert cited.get("repository-code", "").rstrip("/") == public.repository


def settings(folder: Path, lines: str) -> Path:
    (folder / "pyproject.toml").write_text(f'[project]\nname = "x"\n[project.urls]\n{lines}\n')
    return folder


@pytest.mark.parametrize(
    ("site", "page", "host"),
    [
        ("https://example.org/attention/", "https://example.org/attention/book/mla.html", ""),
        ("https://you.github.io/book", "https://you.github.io/book/book/mla.html", ""),
        ("https://you.github.io", "https://you.github.io/book/mla.html", ""),
        ("https://book.example.org", "https://book.example.org/book/mla.html", "book.example.org"),
        ("", "", ""),
    ],
)
def test_addresses_come_from_the_setting(tmp_path: Path, site: str, page: str, host: str) -> None:
    public = PUBLIC.read_public(settings(tmp_path, f'Homepage = "{site}"'))
    assert (public.page("book/mla"), public.own_host) == (page, host)
    assert public.page("index") == (f"{site.rstrip('/')}/" if site else "")
    assert (public.edit("a.md"), public.report("A", "a")) == ("", "")


def test_github_edits_and_takes_reports_and_others_do_not(tmp_path: Path) -> None:
    public = PUBLIC.read_public(settings(tmp_path, f'Repository = "{REPOSITORY}.git"'))
    assert public.edit("book/a b.md") == f"{REPOSITORY}/edit/main/book/a%20b.md"
    assert public.report("Costs & more", "a").endswith("&title=Costs%20%26%20more%3A%20&page=a")
    other = PUBLIC.read_public(settings(tmp_path, 'Repository = "https://example.com/me/book"'))
    assert (other.edit("a.md"), other.report("A", "a")) == ("", "")
    assert public.folder("a/b c") == f"{REPOSITORY}/tree/main/a/b%20c"
    assert other.folder("a") == "https://example.com/me/book"
    assert PUBLIC.read_public(settings(tmp_path, "")).folder("a") == ""


@pytest.mark.parametrize("given", ["example.org", "https://", "https://a b", "https://a?x=1"])
def test_what_is_no_address_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(ValueError, match="Homepage is"):
        PUBLIC.read_public(settings(tmp_path, f'Homepage = "{given}"'))


def test_only_releases_are_news() -> None:
    log = "## Unreleased\n\n- c\n\n## 0.2.0 (2030-02-01)\n\n- b & <b>\n\n"
    log += "## 0.1.0 (2030-01-01)\n- a\n"
    assert [entry[:2] for entry in ANNOUNCE.releases(log)] == [
        ("0.2.0", "2030-02-01"), ("0.1.0", "2030-01-01")
    ]  # fmt: skip
    public = PUBLIC.Public(SITE)
    feed = ET.fromstring(ANNOUNCE.feed(public, log, "The Book", "Somebody").encode())
    assert feed.find("{*}updated").text == "2030-02-01T00:00:00+00:00"
    with pytest.raises(ValueError, match="no release"):
        ANNOUNCE.feed(public, "# Changelog\n\n## Unreleased\n", "The Book", "Somebody")
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert list(ANNOUNCE.releases(newest)), "a release that the feed does not see"


def test_a_description_ends_where_a_sentence_does() -> None:
    short = "A cache keeps keys. How many? It depends [Shazeer, 2019] on `n_kv_heads`."
    assert PREVIEWS.shortened(short) == "A cache keeps keys. How many? It depends on n_kv_heads."
    enough = "This sentence is one that has enough words to stand alone in a list."
    assert PREVIEWS.shortened(f"{enough} {'word ' * 60}.") == enough
    for text in ("word " * 60 + ".", "Too short. " + "word " * 60 + "."):
        cut = PREVIEWS.shortened(text)
        assert cut.endswith("word …")
        assert len(cut) <= PREVIEWS.LIMIT
