"""Tell in a page's head what others show of it: search engines, chats, catalogs of courses.

A page has a description that stands alone, and a chapter says what it teaches and how long it
takes (schema.org's ``LearningResource``). What needs an address, such as a shared link's picture,
is there where the book has one: ``public.py``. Without one, nothing points anywhere.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from chapter_facts import Chapter, read_chapters
from docutils import nodes
from living import PICTURES, drawn, opening
from preview_pictures import preview
from public import FIRST, Public, read_public
from sphinx.application import Sphinx
from sphinx.config import Config

LIMIT = 200  # characters of a description; what shows them cuts them there or sooner
LEAST = 60  # below which a part of the next sentence says more
HOME = f"{PICTURES}/home_model-preview.png"  # 1,200 x 630, as sites ask for
HOME_ALT = "A trained model with one head off: it says that lily has the ball"
DRAWINGS = Path(__file__).with_name("drawings")  # of pages that draw themselves
OWN = "_static/previews"  # <page>.png, where the book has an address
LICENSE = "https://creativecommons.org/licenses/by/4.0/"
SENTENCE = re.compile(r"(?<=[.?!])\s+")
MARKUP = re.compile(r"[*`]|\s*\[[^\]]*, \d{4}\w?\]")  # of Markdown, and citations as they are set
# Pages that Sphinx makes have no text of their own.
MADE = {
    "search": "Search all chapters, exercises, terms and names of the Living Attention Book.",
    "genindex": "Every term and every name of mini_attn, with the sections of the book that treat "
    "it.",
    "py-modindex": "The modules of mini_attn, the package that computes what the book shows.",
}


def shortened(text: str) -> str:
    """As many whole sentences as a description holds, at least a part of the first."""
    first, *others = SENTENCE.split(" ".join(MARKUP.sub("", text).split()))
    while others and len(first) + 1 + len(others[0]) <= LIMIT:
        first += f" {others.pop(0)}"
    if others and len(first) < LEAST:
        first += f" {others[0]}"
    return first if len(first) <= LIMIT else first[: LIMIT - 2].rsplit(" ", 1)[0] + " …"


def promised(chapter: Chapter) -> str:
    """Its question, with the first of its goals that fits behind it."""
    question = opening(chapter)[0]
    for goal in chapter.goals:
        whole = f"{question} Learn to {goal}."
        if "$" not in goal and shortened(whole) == MARKUP.sub("", whole):
            return shortened(whole)
    return shortened(question)


def description(pagename: str, doctree: nodes.document | None, chapter: Chapter | None) -> str:
    """Return what a page says of itself: a chapter's question, or how it begins."""
    if chapter:
        return promised(chapter)
    begins = next(iter(doctree.findall(nodes.paragraph)), None) if doctree else None
    return shortened(begins.astext()) if begins is not None else MADE.get(pagename, "")


def picture(
    app: Sphinx, public: Public, pagename: str, title: str, about: str, chapter: Chapter | None
) -> tuple[str, str]:
    """Address and words of the picture that a shared link shows, which is drawn here.

    Sites take whole addresses alone. Without one, the first page has its picture still; pages
    that Sphinx makes have the first page's.
    """
    if not public.site:
        return (HOME, HOME_ALT) if pagename == FIRST else ("", "")
    if pagename == FIRST or pagename not in app.env.found_docs:
        return f"{public.site}/{HOME}", HOME_ALT
    if chapter:
        drawing = drawn(opening(chapter)[1]).with_suffix(".png")
    else:
        drawing = DRAWINGS / f"{Path(pagename).name}.png"
    shown = drawing if drawing.exists() else None
    path = f"{OWN}/{Path(pagename).name}.png"
    Path(app.outdir, OWN).mkdir(parents=True, exist_ok=True)
    preview(app.config.html_title, title, about, shown).save(Path(app.outdir, path))
    return f"{public.site}/{path}", f"{title}: its first picture" if chapter else title


def resource(
    app: Sphinx, chapter: Chapter, public: Public, name: str, about: str, date: str
) -> str:
    """A chapter as schema.org's ``LearningResource``, in the element that holds it."""
    book = {"@type": "Book", "name": app.config.html_title, "url": public.page(FIRST)}
    told = {
        "@context": "https://schema.org",
        "@type": "LearningResource",
        "name": chapter.title,
        "description": about,
        "url": public.page(name),
        "inLanguage": app.config.language,
        "learningResourceType": ["chapter", "interactive simulation", "exercises"],
        "educationalLevel": "Beginner" if not chapter.needs else "Intermediate",
        "teaches": [re.sub(r"[`$*\\]", "", goal) for goal in chapter.goals],
        "timeRequired": f"PT{chapter.visit}M",
        "license": LICENSE,
        "author": {"@type": "Organization", "name": app.config.author},
        "isPartOf": {key: value for key, value in book.items() if value},
        "dateModified": date,
    }
    kept = {key: value for key, value in told.items() if value}
    written = json.dumps(kept, ensure_ascii=False).replace("</", "<\\/")
    return f'<script type="application/ld+json">{written}</script>\n'


def tags(facts: dict[str, str], kind: str) -> str:
    """Meta elements of those facts that there are."""
    return "".join(
        f'<meta {kind}="{name}" content="{escape(value)}" />\n'
        for name, value in facts.items()
        if value
    )


def tell(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Complete a page's head, and hand the footer the links to mend the page."""
    public = Public(**app.config.public)
    chapter = read_chapters().get(Path(pagename).name)
    about = description(pagename, doctree, chapter)
    title = unescape(re.sub(r"<[^>]*>", "", context.get("title", "")))
    image, words = picture(app, public, pagename, title, about, chapter)
    context["pageurl"] = public.page(pagename) or None  # Sphinx makes it the canonical link
    named = {"description": about, "twitter:card": "summary_large_image" if image else ""}
    facts = {
        "og:type": "website" if pagename == FIRST else "article",
        "og:title": title,
        "og:site_name": app.config.html_title,
        "og:description": about,
        "og:url": public.page(pagename),
        "og:image": image,
        "og:image:alt": words,
    }
    head = tags(named, "name") + tags(facts, "property")
    if public.site:
        head += (
            '<link rel="alternate" type="application/atom+xml" title="Changes of the book" '
            f'href="{public.site}/feed.xml" />\n'
        )
    if doctree is not None:
        source = Path(app.env.doc2path(pagename)).relative_to(app.confdir).as_posix()
        context["edit"] = public.edit(source)
        context["report"] = public.report(title, f"{source}, commit {context['stamp']['commit']}")
        if chapter:
            date = context["stamp"]["page_date"]
            head += resource(app, chapter, public, pagename, about, date)
    context["metatags"] = context.get("metatags", "") + head


def set_public(app: Sphinx, config: Config) -> None:
    """Make the addresses configuration values: when they change, every page is written anew."""
    public = read_public(Path(app.confdir))
    config["public"] = {"site": public.site, "repository": public.repository}
    config["html_baseurl"] = public.site


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; the stamp's dates are there by then."""
    app.add_config_value("public", {}, "html", dict)
    app.connect("config-inited", set_public)
    app.connect("html-page-context", tell, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
