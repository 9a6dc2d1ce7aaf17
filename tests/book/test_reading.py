"""What helps a reader along: terms with their meaning, a search, a page for dead links."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.pages import built_page
from tests.scripts import script
from tools import ROOT
from tools.site import Visit

FINDER = script("book/_ext/finder.py")
TERMS = script("book/_ext/terms.py")
CHAPTERS = script("book/_ext/living.py").read_chapters()
STEMS = [chapter["page"] for chapter in script("book/_ext/outline.py").outline(ROOT)]
# Typed by somebody who doesn't know the book's words, and the chapters that answer.
ASKED = {
    "why divide by sqrt": "attention",
    "paged attention": "paged",
    "what is kv cache": "kv-cache",
    "gqa vs mqa": "mqa-gqa",
    "deepseek latent attention": "mla",
    "rotary embedding": "rope",
    "flash attention memory": "flash",
    "prefill vs decode": "decoding-roofline",
    "quantize kv cache int4": "bits",
    "sliding window mistral": "sliding-window",
    "attention sinks": "fewer-keys sliding-window",
    "yarn context extension": "rope-scaling",
    "how many flops": "attention-cost",
    "memory bandwidth": "decoding-roofline",
    "prefix caching vllm": "paged",
    "induction head": "model",
    "numerically stable softmax": "start",
    "alibi": "position",
    "why is generation slow": "decoding-roofline kv-cache",
    "my gpu runs out of memory with long prompts": "attention-cost flash",
    "which attention should i use": "choosing",
    "query key value explained": "attention start",
    "what do the heads look at": "multihead model",
    "can a word see the future": "attention",
    "new to transformers where to begin": "start",
    "make llama read longer texts": "rope-scaling",
    "evict tokens from cache": "fewer-keys",
    "arithmetic intensity": "decoding-roofline matmul",
    "how does the model know word order": "position",
    "many users same system prompt": "paged",
    "layers share kv cache gemma": "shared-layers",
    "split a model over several gpus": "devices",
    "byte pair encoding tokenizer": "tokens",
    "linear attention with a fixed state": "state",
}
NAMED = {
    "rope": "rope", "mla": "mla", "kv cache": "kv-cache", "gqa": "mqa-gqa",
    "sliding window": "sliding-window", "roofline": "decoding-roofline",
    "flash": "flash", "paged": "paged", "fewer keys": "fewer-keys",
    "fewer layers": "shared-layers",
}  # fmt: skip


def test_terms_lead_to_their_entries_once_a_page() -> None:
    """Where one first comes in the open text, unless the page is what introduces it."""
    anchors = {
        tag["id"]: tag.get_text() for tag in built_page("book/glossary.html").select("dt[id]")
    }
    glossary = (ROOT / "book/glossary.md").read_text(encoding="utf-8")
    places = TERMS.introduced(glossary)
    counts = []
    for stem in STEMS:
        links = built_page(f"book/{stem}.html").select("a.term-link")
        targets = [link["href"].removeprefix("glossary.html#") for link in links]
        assert len(set(targets)) == len(targets), stem
        assert set(targets) <= set(anchors), stem
        assert not [t for t in targets if stem in places[anchors[t].rstrip("#")]], stem
        assert all(len(link["data-meaning"]) > 20 for link in links), stem
        closed = ["a", "code", "pre", "h2", "h3", "details"]
        assert not [a for a in links if a.find_parent(closed) or a.find_parent(class_="covered")]
        counts.append(len(links))
    assert 8 <= sum(counts) / len(counts) <= 14
    assert max(counts) <= 22


def test_a_term_is_found_in_its_forms() -> None:
    known = {"key": ("term-key", "…"), "causal mask": ("term-mask", "…")}
    either = TERMS.pattern(list(known))
    for words, term in (("Keys", "key"), ("causal masks", "causal mask"), ("key", "key")):
        found = either.search(f"two {words}, and")
        assert (found[0], TERMS.name_of(found[0], known)) == (words, term)
    for words in ("monkey", "keyed", "low-key", "key-value", "CAUSAL MASK"):
        assert either.search(words) is None


@pytest.mark.browser
def test_a_term_says_what_it_means_on_hover_and_focus(visit: Visit) -> None:
    page = visit("book/mla.html")
    box, link = page.get_by_role("tooltip"), page.locator("a.term-link:visible").first
    expect(box).to_be_hidden()
    link.hover()
    expect(box).to_have_text(str(link.get_attribute("data-meaning")))
    expect(link).to_have_attribute("aria-describedby", "term-meaning")
    box.hover()
    expect(box).to_be_visible()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    page.mouse.move(0, 0)
    page.keyboard.press("Tab")
    link.focus()
    expect(box).to_be_visible()
    place = box.bounding_box()
    assert place is not None
    assert 0 <= place["x"] <= 1300 - place["width"]
    link.evaluate("(link) => link.blur()")
    expect(box).to_be_hidden()


def test_each_chapter_says_what_it_is_about() -> None:
    subjects = FINDER.subjects()
    assert list(subjects) == list(CHAPTERS)
    assert all(len(phrases) >= 5 for phrases in subjects.values())


def chapters_found(visit: Visit, words: str) -> list[str]:
    """The chapters that a search offers, best first, in a folder and before any index is read."""
    page = visit.look(f"search.html?q={words.replace(' ', '+')}", protocol="file")
    links = page.locator(".found-chapters li > a").all()
    return [str(link.get_attribute("href")).removeprefix("book/")[:-5] for link in links]


@pytest.mark.browser
@pytest.mark.exhaustive
def test_search_finds_chapters_by_what_they_are_about(visit: Visit) -> None:
    found = {words: chapters_found(visit, words) for words in ASKED}
    assert len(found) == 34
    missed = [words for words, right in ASKED.items() if not {*right.split()} & {*found[words][:3]}]
    assert len(missed) <= 3, missed
    assert max(map(len, found.values())) <= 4


@pytest.mark.browser
def test_search_finds_a_chapter_by_its_name_first(visit: Visit) -> None:
    for words, stem in NAMED.items():
        assert chapters_found(visit, words)[0] == stem
    assert chapters_found(visit, "zebra") == []


@pytest.mark.browser
def test_what_the_search_shows_of_a_page_is_its_text(visit: Visit) -> None:
    """Below the chapters, each with its question, stand the pages that have the words."""
    page = visit("search.html?q=preemption")
    first = page.locator(".found-chapters li").first
    expect(first).to_contain_text("Serving · 21 of ")
    expect(first).to_contain_text(str(built_page("book/paged.html").select_one(".question").text))
    expect(page.locator("#search-results p.context").first).to_be_visible()
    for shown in page.locator("#search-results p.context").all_inner_texts():
        assert not re.search(r"Contents|About this page|Hint 1", shown)


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_the_first_page_offers_where_one_stopped(visit: Visit, protocol: str) -> None:
    page = visit("index.html", protocol=protocol)
    line = page.locator(".resume")
    expect(line).to_be_hidden()
    page.goto(visit.url("book/mla.html", protocol))
    section = page.locator("article section section[id]").nth(3)
    section.evaluate("(one) => one.scrollIntoView()")
    name = section.get_attribute("id")
    heading = section.locator("h2, h3").first.evaluate("(one) => one.firstChild.textContent")
    page.goto(visit.url("index.html", protocol))
    expect(line).to_have_text(f"You stopped at Latent attention: {heading}.")
    line.get_by_role("link").click()
    assert page.url.endswith(f"book/mla.html#{name}")
    page.goto(visit.url("index.html", protocol))  # a chapter keeps its place when it is left
    for damaged in ("{", "null", '{"page": "javascript:alert(1)", "chapter": "x"}', "[]"):
        page.evaluate("(kept) => localStorage.setItem('livingPlace', kept)", damaged)
        page.reload()
        expect(line).to_be_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("address", ["404.html", "book/none/at/all.html"])
def test_a_dead_link_leads_into_the_book(visit: Visit, address: str) -> None:
    page = visit("404.html")
    if address != "404.html":  # as a host shows it: this page under another address
        page.evaluate("(to) => history.replaceState(null, '', to)", f"/{address}")
        page.evaluate(
            "async () => { const text = await (await fetch('/404.html')).text();"
            "document.open(); document.write(text); document.close(); }"
        )
    assert page.locator("li a").count() == len(STEMS)
    page.evaluate("() => document.fonts.ready")
    assert page.evaluate("() => document.fonts.check('1em \"Source Serif 4\"')") is True
    page.get_by_role("link", name="first page").click()
    expect(page.locator("article h1")).to_contain_text("Living Attention Book")


@pytest.mark.parametrize("stem", STEMS)
def test_what_stands_open_takes_no_longer_than_promised(stem: str) -> None:
    """The boxes tell their minutes, begin behind what comes out, and hold no exercise."""
    chapter = CHAPTERS[stem]
    assert chapter.visit <= chapter.limit
    boxes = built_page(f"book/{stem}.html").select("article details.deeper")
    told = [int(box.summary.get_text().split("Go deeper")[1].split()[0]) for box in boxes]
    assert told == [chapter.minutes[cell] for cell in sorted(chapter.minutes) if cell >= 0]
    for box in boxes:
        assert not box.has_attr("open")
        assert box.find_previous_sibling("p").get_text()
        assert not box.select(".exercise-boxes")


@pytest.mark.parametrize("stem", STEMS)
def test_what_there_is_to_try_has_its_minutes(stem: str) -> None:
    """Open or folded; on the road, one picture and three predictions stand open."""
    chapter, tables = CHAPTERS[stem], sys.modules["chapter_facts"]
    tags = [tag for cell in chapter.cells for tag in cell.metadata.get("tags", [])]
    tries = sum(map(tags.count, ("prediction", "widget", "living-plot")))
    assert tries >= 5
    stand_open = round(chapter.trying / tables.MINUTES_A_TRY)
    assert 2 <= stand_open <= (4 if chapter.part == tables.ROAD else tries)
    assert chapter.visit == chapter.reading + chapter.trying
    card = built_page("index.html").select_one(f".chapter-card[data-chapter={stem}] small")
    assert f"{chapter.reading} min to read, {chapter.trying} min to try" in card.get_text()


def test_the_road_takes_what_the_index_says() -> None:
    tables = sys.modules["chapter_facts"]
    road = [c for c in CHAPTERS.values() if c.part == tables.ROAD]
    assert len(road) == 9
    minutes = sum(c.visit for c in road)
    assert minutes <= tables.WHOLE_ROAD_MINUTES
    assert f"({minutes} minutes, predictions included)" in built_page("index.html").get_text()


def test_a_card_changes_with_its_chapter_and_a_picture_with_its_drawing() -> None:
    """The page that shows them is made again when their files are newer."""
    noted: list[str] = []
    living = script("book/_ext/living.py")
    state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(
        env=SimpleNamespace(note_dependency=noted.append))))  # fmt: skip

    def run(directive: str, *arguments: str) -> None:
        made = object.__new__(getattr(living, directive))
        made.state, made.arguments = state, list(arguments)
        made.run()

    run("Chapters")
    assert noted == [str(ROOT / f"book/{stem}.ipynb") for stem in STEMS]
    noted.clear()
    run("Living", "HomeModel")
    assert noted == [str(ROOT / "mini_attn/widgets/static/home_model.svg")]


@pytest.mark.browser
def test_a_link_into_a_folded_section_opens_it(visit: Visit) -> None:
    page = visit.look("book/rope.html")
    boxes = page.locator("details.deeper")
    within = boxes.first.locator("section[id], figure, pre").first
    expect(within).to_be_hidden()
    boxes.first.locator("summary").click()
    expect(within).to_be_visible()
    page.keyboard.press("Enter")
    expect(within).to_be_hidden()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.deeper:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.deeper[open]").count() == 0
    page.emulate_media(media="screen")
    inner = within.evaluate("(node) => { node.id ||= 'inside'; return node.id; }")
    page.evaluate("(id) => { location.hash = id; }", inner)
    expect(within).to_be_in_viewport()
