"""Write what tells others about a public book: a sitemap, robots.txt and a feed of its changes.

All three need the book's address (``public.py``), and are not there without one. The feed has an
entry for each release in ``CHANGELOG.md``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from public import FIRST, Public
from sphinx.application import Sphinx
from stamp import changed

RELEASE = re.compile(r"^## (\d+\.\d+\.\d+\S*) \((\d{4}-\d\d-\d\d)\)\n(.*?)(?=^## |\Z)", re.M | re.S)
SITEMAP = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/\
schemas/sitemap/0.9">\n{urls}</urlset>\n'
FEED = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<title>{title}: changes</title>
<id>{site}/feed.xml</id>
<link rel="self" href="{site}/feed.xml" />
<link href="{site}/" />
<updated>{updated}</updated>
<author><name>{author}</name></author>
{entries}</feed>
"""
ENTRY = """<entry>
<title>{title} {version}</title>
<id>{site}/feed.xml#{version}</id>
<link href="{site}/" />
<updated>{date}</updated>
<content type="html">{content}</content>
</entry>
"""


def moment(date: str) -> str:
    """A day as the time that Atom asks for."""
    day = datetime.date.fromisoformat(date)
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC).isoformat()


def releases(changelog: str) -> Iterator[tuple[str, str, str]]:
    """Yield version, date and text of each release; what is unreleased is no news yet."""
    for version, date, text in RELEASE.findall(changelog):
        yield version, date, text.strip()


def feed(public: Public, changelog: str, title: str, author: str) -> str:
    """The releases as an Atom feed.

    Raises
    ------
    ValueError
        If the changelog has no release.
    """
    found = list(releases(changelog))
    if not found:
        raise ValueError("CHANGELOG.md: no release; expected a line such as ## 1.0.0 (2030-01-31)")
    title, site = escape(title), escape(public.site)
    entries = "".join(
        ENTRY.format(
            title=title, version=version, site=site, date=moment(date),
            content=escape(MarkdownIt().render(text)),
        )
        for version, date, text in found
    )  # fmt: skip
    newest = max(date for _, date, _ in found)
    return FEED.format(
        title=title, site=site, updated=moment(newest), author=escape(author), entries=entries
    )


def sitemap(public: Public, dates: dict[str, str]) -> str:
    """All pages with the days of their last changes, the first page first."""
    urls = ""
    for name in sorted(dates, key=lambda name: (name != FIRST, name)):
        changed = f"<lastmod>{dates[name]}</lastmod>" if dates[name] else ""
        urls += f"<url><loc>{escape(public.page(name))}</loc>{changed}</url>\n"
    return SITEMAP.format(urls=urls)


def announce(app: Sphinx, exception: Exception | None) -> None:
    """Write the files, or take away those of an earlier build that had an address."""
    if exception or app.builder.format != "html":
        return
    out, root, public = Path(app.outdir), Path(app.confdir), Public(**app.config.public)
    (out / ".nojekyll").touch()  # GitHub Pages would leave out folders that begin with _
    if public.github and public.own_host:
        (out / "CNAME").write_text(f"{public.own_host}\n", encoding="utf-8")  # each push needs it
    else:
        (out / "CNAME").unlink(missing_ok=True)
    files = ("sitemap.xml", "robots.txt", "feed.xml")
    if not public.site:
        for name in files:
            (out / name).unlink(missing_ok=True)
        return
    dates = {
        name: changed(str(app.confdir), str(app.env.doc2path(name))) for name in app.env.found_docs
    }
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    texts = (
        sitemap(public, dates),
        f"User-agent: *\nAllow: /\nSitemap: {public.site}/sitemap.xml\n",
        feed(public, changelog, app.config.html_title, app.config.author),
    )
    for name, text in zip(files, texts, strict=True):
        (out / name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", announce)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
