"""Reports for a class: the numbers are right, and no student's text becomes anything but text."""

from __future__ import annotations

import csv
import html
import io
import itertools
import os
import pickle
import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from classroom.atomic import replace_file
from classroom.reports import report
from classroom.reports.feedback import SO_FAR, STATES, feedback
from classroom.reports.report import grades, reports
from classroom.reports.sanitize import clean, file_names, for_markdown, for_spreadsheet, shown_names
from classroom.reports.summary import summary
from classroom.results import Answer, Result, Run
from classroom.sheets.chapter import headings
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.report import CHECKS
from tests.site import THEMES, WIDTHS, serious_findings, watched
from tools.site import Visit, visiting

ROOT = Path(__file__).resolve().parents[2]
IDS = ["masked_attention", "cached_step", "stale_keys", "best_latency"]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></article><iframe src=//x.org>",
    "[x](javascript:alert(1)) ![y](http://x.org/y.png) <http://x.org> http://x.org www.x.org",
    "a\u202egnp.exe\u2066b\u0000c\u001b[31m\r\n\n# heading\n- list",
    "| a | b |\n|---|---|\n`` ` *em* __strong__ ~~del~~ $x$ {role}`x` &amp; &#60;b&#62;",
    "=HYPERLINK(\"http://x.org\",\"x\")",
    "x;=1+1;\"=2\"\t+3,@SUM(1)",
    "{{ 7 * 7 }} {% raw %} ${7*7} {# x #}",
    "\ud800 half, " + "z" + "\u0301" * 400 + " " + "w" * 5000,
    "../../../etc/passwd",
]  # fmt: skip


def answer(exercise_id: str, state: str = "solved", **changed: Any) -> Answer:
    task = exercise(exercise_id)
    failed = {"not yet": "by hand", "stopped": "runs", "not attempted": "attempted"}.get(state)
    points = task.points if state == "solved" else 0
    made = Answer(exercise_id, task.title, task.page, task.kind, task.points, state, points,
                  failed=failed)  # fmt: skip
    return replace(made, **changed)


def result(student: str, *answers: Answer, **changed: Any) -> Result:
    points, of = sum(a.points for a in answers), sum(a.of for a in answers)
    files = [f"{student}/week1.ipynb"]
    made = Result(student, None, files, [], list(answers), points=points, of=of)
    return replace(made, **changed)


def a_run(ids: list[str] = IDS, **changed: Any) -> Run:
    isolation = {"limits": True, "landlock": True, "seccomp": False, "hook": True}
    made = Run("week1", ids, sum(exercise(i).points for i in ids), "0.1.0", isolation)
    return replace(made, **changed)


def write_reports(out: Path, run: Run, results: list[Result], roster: Sequence[str] = ()) -> None:
    for name, text in reports(run, results, roster=roster).items():
        replace_file(out / name, text, private=True)


def small_class() -> list[Result]:
    """Eight students of whom everything is known."""
    a, b, c, d = IDS
    late = "The mask comes too late."
    return [
        result("ada", *(answer(i) for i in IDS)),
        result("Bob", answer(a, "not yet", message=late), answer(b), answer(c, "not attempted"),
               answer(d, "not handed in"), written_name="Bob B."),
        result("cem", answer(a, "not yet", message=late), answer(b), answer(c), answer(d)),
        result("dee", answer(a, "not yet", message=late), answer(b, "stopped", message="Too long."),
               answer(c), answer(d, "not yet", message="5 is not it. With B rows …")),
        result("eva", answer(a, "not yet", message="Not scaled.", failed="random"), answer(b),
               answer(c), answer(d, "not yet", message="7.5 is not it. With B rows …")),
        result("fay", answer(a, "not yet", failed="runs", message="It raised KeyError: 'a' "
               "(line 3 of the cell, in f)"), answer(b), answer(c), answer(d)),
        result("gus", answer(a, "not yet", failed="runs", message="It raised KeyError: 'a' "
               "(line 9 of the cell, in helper)"), answer(b), answer(c), answer(d)),
        result("hal", *(answer(i, "not handed in") for i in IDS), files=[],
               problems=["week1.ipynb: this file is no notebook (broken JSON)"]),
    ]  # fmt: skip


def hostile_class(texts: list[str]) -> list[Result]:
    """A class in which every text that a student can set is one of these."""
    states = ("not yet", "stopped", "not attempted", "solved")
    return [
        result(
            f"{n} {text}",
            *(answer(i, state, message=text, failed="by hand" if state == "not yet" else None,
                     notes=[text, text]) for i, state in zip(IDS, states, strict=True)),
            written_name=text, files=[text], problems=[text, text],
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip


class Tags(HTMLParser):
    """The tags of a page with the attributes that do something, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# ---------- words ----------


def test_every_exercise_has_a_section_of_its_own_chapter() -> None:
    for task in map(exercise, exercise_ids()):
        assert task.section in headings(task.page)[1:], task.id


def test_a_page_outside_the_book_is_not_opened() -> None:
    assert headings("../book/attention") == headings("nowhere") == ()


ANY = st.text(st.characters(codec=None), max_size=300)


@given(ANY, st.integers(2, 80))
def test_a_cleaned_text_is_one_short_line_that_can_be_written(text: str, limit: int) -> None:
    line = clean(text, limit)
    assert len(line) <= limit
    assert all(c.isprintable() or c in "\u200c\u200d" for c in line)
    assert line.encode("utf-8").decode() == line
    assert "\n" not in line


def test_what_is_unseen_is_shown_as_a_number_and_ordinary_text_stays() -> None:
    assert clean("a\u202eb\x00c\x1b", 50) == "a\\u202eb\\x00c\\x1b"
    assert clean("  two\r\n\nlines\t", 50) == "two lines"
    assert clean("Zoë Ångström, 明, مها, می\u200cروم", 50) == "Zoë Ångström, 明, مها, می\u200cروم"
    assert clean("q·k ≤ 1/√2 → (3, 4)", 50) == "q·k ≤ 1/√2 → (3, 4)"
    assert clean("a" + "\u0301" * 50, 50) == "a\u0301\u0301\u0301"
    assert clean("x" * 99, 10) == "x" * 9 + "…"
    assert clean(" " * 9999 + "x", 10) == "…"
    assert clean(None, 10) == ""


PIECES = [*"\\`*_{}[]()<>#+-.!|~$&:@=\"'/^%1a ", "http://x", "www.x.org", "a@x.org", "&lt;", "<b>"]
MARKUP = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def rendered(source: str) -> str:
    reader = MarkdownIt("gfm-like")
    reader.linkify.set({"fuzzy_link": False})  # "x.org" alone stays, as it does in GitHub's rules
    return reader.render(source)


ALONE = [
    "www.x.org", "see http://x.org/a", "//x.org", "a@x.org", "![a](b)", "[a]: b", "&amp;", "<b>",
    "- a", "+ a", "* a", "# a", "1. a", "12) a", "> a", "---", "===", "a_b_c _d_", "``` a",
]  # fmt: skip


@given(MARKUP)
def test_markdown_finds_nothing_to_interpret(text: str) -> None:
    stays_text(text)


@pytest.mark.parametrize("text", ALONE)
def test_what_markdown_would_interpret_alone_stays_text(text: str) -> None:
    stays_text(text)


def stays_text(text: str) -> None:
    text = clean(text, 200)
    escaped = for_markdown(text)
    if not text:
        return
    assert html.unescape(rendered(escaped)) == f"<p>{text}</p>\n"
    listed = rendered(f"- {escaped}\n")
    assert html.unescape(listed) == f"<ul>\n<li>{text}</li>\n</ul>\n"
    cell = rendered(f"| a | b |\n|---|---|\n| x | {escaped} |\n")
    assert html.unescape(cell).count("<td>") == 2
    assert f"<td>{text}</td>" in html.unescape(cell)
    strong = rendered(f"**Idea:** {escaped}")
    assert html.unescape(strong) == f"<p><strong>Idea:</strong> {text}</p>\n"


def test_real_messages_stay_readable_in_markdown() -> None:
    same = "Slots that hold no token take part: only the first length + 1 = 4 of k_cache do."
    assert for_markdown(same) == same
    assert for_markdown("see www.x.org") == "see www\\.x.org"  # no link where GitHub makes one
    assert for_markdown("0.5 of 2 - that is h // 2") == "0.5 of 2 - that is h // 2"


FORMULA = re.compile(r"[\s\"']*[=+\-@＝＋－＠]")
CELLS = st.lists(st.sampled_from(["=", "+", "-", "@", "＝", ";", ",", "|", '"', "'", " ", "a", "1",
                                  "\t", "\u200d"]), max_size=12).map("".join)  # fmt: skip


@given(CELLS)
def test_no_spreadsheet_computes_a_text_whatever_separates_its_cells(text: str) -> None:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_NONNUMERIC).writerow([for_spreadsheet(clean(text, 80)), 1])
    for separator in ",;|":
        # As read strictly, and as read by a program that cares for no quotes at all.
        cells = next(csv.reader([line.getvalue()], delimiter=separator))
        for cell in [*cells, *line.getvalue().split(separator)]:
            assert not re.match(r"[\s\"\u200c\u200d]*[=+\-@＝＋－＠]", cell), line.getvalue()


def test_ordinary_texts_go_into_the_table_as_they_are() -> None:
    for text in ("Ann-Marie O'Neil", "Müller, Jo", "a=b", "week1.ipynb: x; y"):
        assert for_spreadsheet(text) == text


def apart(name: str) -> str:
    """What the most forgetful file system keeps of a name."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", name).casefold())


@given(st.lists(st.one_of(ANY, st.sampled_from(["Ada", "ada", "ADA", "Ａda", "a/da", "a-da"]))))
def test_file_names_are_safe_and_different(students: list[str]) -> None:
    names = file_names(students)
    assert set(names) == set(students)
    assert len({apart(name) for name in names.values()}) == len(names)
    for name in names.values():
        assert 1 <= len(name.encode()) <= 240
        assert all(unicodedata.category(c)[0] in "LNM" or c in "-_" for c in name)
        assert not re.fullmatch(r"(?i)con|prn|aux|nul|(com|lpt)\d", name)
    assert file_names(reversed(students)) == names


def test_file_names_are_readable() -> None:
    names = file_names(
        [
            "ada",
            "week 1/bob",
            "Zoë",
            "明",
            "../..",
            "NUL",
            "a\0b",
            "x" * 300,
            "Eve",
            "eve",
            "com¹.x",
        ]
    )
    assert names["ada"] == "ada"
    assert names["week 1/bob"] == "week-1-bob"
    assert (names["Zoë"], names["明"], names["../.."]) == ("Zoë", "明", "student")
    assert (names["NUL"], names["a\0b"], names["x" * 300]) == ("NUL-", "a-b", "x" * 50)
    assert file_names(["z" + "\u0327" * 99]) == {"z" + "\u0327" * 99: "z\u0327\u0327\u0327"}
    assert re.fullmatch("Eve-[0-9a-f]{6}", names["Eve"])
    assert re.fullmatch("eve-[0-9a-f]{6}", names["eve"])


def test_a_student_who_knows_the_addition_still_gets_a_file_of_his_own() -> None:
    guessed = file_names(["Eve", "eve"])["Eve"]
    names = file_names(["Eve", "eve", guessed])
    assert names[guessed] == guessed
    assert len({apart(name) for name in names.values()}) == 3


def test_a_name_of_blanks_alone_is_shown() -> None:
    assert shown_names([" ", "ada"], 80) == {" ": r"\x20", "ada": "ada"}


@given(st.lists(st.one_of(ANY, st.sampled_from(["ada", "ada ", " ada", "a\tda", "ada\u200c"]))))
def test_no_two_students_are_shown_alike(students: list[str]) -> None:
    shown = shown_names(students, 80)
    assert set(shown) == set(students)
    assert len({unicodedata.normalize("NFC", name) for name in shown.values()}) == len(shown)
    assert all(len(name) <= 80 and name == clean(name, 80) for name in shown.values())
    assert shown_names(reversed(students), 80) == shown


def test_names_that_look_alike_show_what_tells_them_apart() -> None:
    long, zoe = "x" * 100, "Zo\u00eb"
    names = [
        "ada",
        "ada ",
        "a  b",
        "a b",
        zoe,
        "Zoe\u0308",
        "Ada",
        " alone ",
        f"{long}1",
        f"{long}2",
    ]
    shown = shown_names(names, 80)
    assert (shown["ada"], shown["ada "], shown["Ada"]) == ("ada", r"ada\x20", "Ada")
    assert (shown["a b"], shown["a  b"]) == ("a b", r"a\x20\x20b")
    assert (shown[zoe], shown["Zoe\u0308"]) == (zoe, r"Zoe\u0308")
    assert shown[" alone "] == "alone"  # like nobody else
    assert re.fullmatch("x{49}… #[0-9a-f]{12}", shown[f"{long}1"])


# ---------- grades ----------


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def test_grades_hold_every_number_once() -> None:
    text = grades(a_run(), small_class(), roster=["ADA", "Zed", "bob", "Zed"])
    assert text.startswith("\ufeff")
    rows = table(text)
    assert [row["student"] for row in rows] == [
        "ada", "Bob", "cem", "dee", "eva", "fay", "gus", "hal", "Zed",
    ]  # fmt: skip
    ada, bob, *_, hal, zed = rows
    assert [ada[i] for i in IDS] == ["4", "4", "4", "2"]
    assert (ada["total"], ada["of"], ada["problems"]) == ("14", "14", "")
    assert [bob[i] for i in IDS] == ["0", "4", "0", ""]  # the last was not handed in
    assert (bob["written name"], bob["total"], bob["feedback"]) == (
        "Bob B.",
        "4",
        "feedback/Bob.html",
    )
    assert [hal[i] for i in IDS] == [""] * 4
    assert "no notebook" in hal["problems"]
    assert (zed["total"], zed["problems"], zed["feedback"]) == ("0", "nothing handed in", "")
    assert '"ada","",4,4,4,2,14,14,"","feedback/ada.html"' in text  # numbers are no texts


def test_names_that_look_alike_are_told_apart_in_every_table() -> None:
    twins = [result("ada", problems=["a"]), result("ada ", problems=["b"])]
    rows = table(grades(a_run(), twins, roster=["Ada"]))
    assert [row["student"] for row in rows] == ["ada", r"ada\x20"]
    seen = summary(a_run(), twins, file_names(r.student for r in twins))
    assert [person["name"] for person in seen["problems"]] == ["ada", r"ada\x20"]


def test_the_roster_finds_a_name_however_it_is_written() -> None:
    """Composed or not, as Moodle has it; a number of one's own is part of the name."""
    moodle = result("Ada L_7", files=["Ada L_7_assignsubmission_file_/x.ipynb"])
    lost = result("Cy_9", files=[], problems=["Cy_9_assignsubmission_file_x.pdf: no notebook"])
    results = [result("Zoe\u0308"), moodle, lost, result("bo_7")]
    roster = ["zo\u00eb", "Ada L", "Cy", "bo", "Dee"]
    assert report.missing(results, roster) == ["bo", "Dee"]


def test_hostile_names_change_neither_rows_nor_columns(tmp_path: Path) -> None:
    results = hostile_class(HOSTILE)
    write_reports(tmp_path, a_run(), results)
    rows = table((tmp_path / "grades.csv").read_text("utf-8"))
    assert len(rows) == len(HOSTILE)
    for row in rows:
        assert None not in row
        assert row["total"] == "2"
        assert (tmp_path / row["feedback"]).is_file()
        assert not any(FORMULA.match(row[key]) for key in ("student", "written name", "problems")
                       if not row[key].startswith("'"))  # fmt: skip
    assert len(list((tmp_path / "feedback").iterdir())) == 2 * len(HOSTILE)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "feedback", "grades.csv", "summary.html", "summary.md",
    ]  # fmt: skip


def test_two_results_of_one_student_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two results for the same student: ada"):
        write_reports(tmp_path / "out", a_run(), [result("ada"), result("ada")])
    assert not (tmp_path / "out").exists()


# ---------- feedback ----------


def test_feedback_says_where_a_student_stands() -> None:
    whole, some, *_, nothing = (feedback(a_run(), r) for r in small_class())
    assert whole["headline"] == "Everything is solved."
    assert some["headline"] == "1 of 4 exercises is solved."
    assert (some["name"], some["student"]) == ("Bob B.", "Bob")
    assert nothing["headline"] == "No answer was found yet."
    assert "The reason is below" in nothing["advice"]  # no list of files follows
    waiting = feedback(a_run(), result("ivy", *(answer(i, "not attempted") for i in IDS)))
    assert "list of files below" in waiting["advice"]
    first, second, third, fourth = some["items"]
    assert first["message"] == "The mask comes too late."
    assert first["so_far"] == "It runs, and its result has the right form."
    assert first["chapter"] == "Scaled dot-product attention"
    assert first["section"] == "Hiding the future"
    assert second["message"] == second["so_far"] == ""
    assert third["message"].startswith("This one still waits")
    assert fourth["message"].startswith("No answer to this exercise was found")


def test_what_is_right_already_is_said_for_every_check_and_not_for_a_number() -> None:
    assert set(SO_FAR) == set(CHECKS) - {"attempted", "runs"}
    number = result("x", answer("best_latency", "not yet", message="No."))
    assert feedback(a_run(), number)["items"][0]["so_far"] == ""


def pages(results: list[Result], kind: str) -> Iterator[str]:
    """Feedback of each, then the summary."""
    names = file_names(r.student for r in results)
    for r in results:
        yield report._page("feedback", kind, feedback(a_run(), r))
    yield report._page("summary", kind, summary(a_run(), results, names, ["Zed"]))


@pytest.mark.parametrize("state", STATES)
def test_no_page_holds_a_hint_or_a_solution(state: str) -> None:
    ids = exercise_ids()
    everything = result("x", *(answer(i, state, message="M.") for i in ids))
    for kind in ("html", "md"):
        page = html.unescape(report._page("feedback", kind, feedback(a_run(ids), everything)))
        for exercise_id in ids:
            for hint in exercise(exercise_id).hints:
                assert hint not in page
            source = (ROOT / f"solutions/{exercise_id}.py").read_text("utf-8").splitlines()
            code = {line.strip() for line in source if len(line.strip()) > 25}
            assert not [line for line in code if line in page]
        assert ('hint("stale_keys")' in page) == (state != "solved")


def test_feedback_as_markdown_holds_what_the_page_holds() -> None:
    page = next(iter(pages(small_class()[3:], "md")))
    assert page.startswith("# Feedback for dee\n\nSheet week1 · **4 of 14 points**\n")
    assert "1 of 4 exercises is solved." in page
    assert "\n**What is missing:** The mask comes too late.\n" in page
    assert "\n**What happened:** Too long.\n" in page
    assert "*Scaled dot-product attention*, section *Hiding the future*" in page
    assert "\n- dee/week1.ipynb\n" in page


# ---------- summary ----------


def view() -> dict[str, Any]:
    results = small_class()
    return summary(a_run(), results, file_names(r.student for r in results))


def test_summary_counts_states_points_and_ideas() -> None:
    seen = view()
    first = seen["exercises"][0]
    assert dict(first["states"]) == {
        "solved": 1, "not yet": 6, "stopped": 0, "not attempted": 0, "not handed in": 1,
    }  # fmt: skip
    assert [(idea["count"], idea["text"], idea["varied"]) for idea in first["ideas"]] == [
        (3, "The mask comes too late.", False),
        (2, "It raised KeyError: 'a'", False),  # from different lines of two programs
        (1, "Not scaled.", False),
    ]
    last = seen["exercises"][3]
    assert [(i["count"], i["varied"]) for i in last["ideas"]] == [(2, True)]  # numbers differ
    assert first["mean"] == 4 / 8
    totals = [r.points for r in small_class()]
    assert totals == [14, 4, 10, 4, 8, 10, 10, 0]
    assert (seen["mean"], seen["median"], seen["full"], seen["zero"]) == (7.5, 9.0, 1, 1)
    assert {bar["label"]: bar["count"] for bar in seen["bars"]} == {
        "0": 1, "2": 0, "4": 2, "6": 0, "8": 1, "10": 3, "12": 0, "14": 1,
    }  # fmt: skip


def test_summary_says_what_to_teach_again() -> None:
    seen = view()
    # An exception is no idea, and what one student lacks is no lesson.
    assert [(idea["count"], idea["section"]) for idea in seen["again"]] == [
        (3, "Hiding the future"), (2, "The step-time bound"),
    ]  # fmt: skip
    assert seen["hardest"]["title"] == "Attention with a mask"
    assert seen["easiest"]["title"] in ("The cached step", "The keys that went stale")


def test_at_most_five_ideas_are_listed_and_the_others_counted() -> None:
    ideas = [f"Idea {'abcdefgh'[n % 8]}." for n in range(12)]
    many = [
        result(f"s{n:02}", answer("cached_step", "not yet", message=idea))
        for n, idea in enumerate(ideas)
    ]
    only = a_run(["cached_step"])
    seen = summary(only, many, file_names(r.student for r in many))["exercises"][0]
    assert [idea["count"] for idea in seen["ideas"]] == [2, 2, 2, 2, 1]
    assert (seen["others"], seen["others_count"]) == (3, 3)
    page = report._page("summary", "md", summary(only, many, {r.student: "x" for r in many}))
    assert "- **3:** and 3 others\n" in page


def test_summary_as_markdown_and_page_show_the_same_numbers() -> None:
    *_, md = pages(small_class(), "md")
    assert "8 students · mean 7.5 of 14 points, median 9.0" in md
    assert (
        "| 1. Attention with a mask | `██░░░░░░░░░░░░░░░░░░` | 1 | 6 | 0 | 0 | 1 | 0.5 of 4 |" in md
    )
    assert "1. **3 of 8:** The mask comes too late." in md
    tables = MarkdownIt("gfm-like").render(md)
    assert tables.count("<table>") == 2
    assert "On the roster, and nothing came" in md
    *_, page = pages(small_class(), "html")
    assert 'aria-label="Attention with a mask: 1 solved, 6 not yet, 0 stopped, ' in page
    assert 'aria-label="Students by points: 0 points 1, 2 points 0, 4 points 2, ' in page
    for text in (md, html.unescape(page)):
        assert "the kernel gives the answers no files (Landlock)" in text
        lacking = text.split("Not available on this machine:")[1]
        assert "(seccomp)" in lacking
        assert "hal" in text


def test_unknown_measures_are_named_and_an_empty_class_has_a_summary(tmp_path: Path) -> None:
    run = a_run(isolation={"own_disk": "tmpfs", "limits": 3})
    write_reports(tmp_path, run, [], roster=["ada"])
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "- own disk: tmpfs" in text
    assert "0 students" in text
    assert table((tmp_path / "grades.csv").read_text("utf-8"))[0]["student"] == "ada"


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", ["plain", "hostile"])
def test_a_summary_of_200_stays_light(tmp_path: Path, words: str) -> None:
    rng = random.Random(0)
    results = []
    for n in range(200):
        text = "The scores are not scaled." if words == "plain" else "<" * 3000
        answers = [
            answer(i, rng.choice(STATES), message=f"{text} {'abcdefghijklmnop'[(n + k) % 16]}")
            for k, i in enumerate(IDS)
        ]
        problems = [] if words == "plain" else [f"{text} {k}" for k in range(1000)]
        results.append(result(f"{text[:90]} {n}", *answers, problems=problems))
    write_reports(tmp_path, a_run(), results)
    assert (tmp_path / "summary.html").stat().st_size < 500_000
    assert max(p.stat().st_size for p in (tmp_path / "feedback").iterdir()) < 60_000


# ---------- what students wrote stays text ----------


def allowed(page: str) -> None:
    """No script, no event, nothing from elsewhere; only what the templates hold."""
    found = Tags(page)
    assert {tag for tag, *_ in found.tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "article", "section", "header",
        "footer", "h1", "h2", "h3", "p", "b", "em", "bdi", "span", "small", "code", "ul", "ol",
        "li", "dl", "dt", "dd", "div", "a", "svg", "defs", "pattern", "rect", "text", "line",
        "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    names = {name for _, *rest in found.tags for name in rest}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src")]
    assert all(re.fullmatch(r"feedback/[\w%-]+\.html|#x\d+", link) for link in found.links)
    assert "script-src" not in page
    assert "default-src 'none'" in page


def test_hostile_texts_add_no_tag_to_any_page() -> None:
    plain = [f"plain {'abcdefghijklmnop'[n]}" for n in range(len(HOSTILE))]
    ours = [Tags(page).tags for page in pages(hostile_class(plain), "html")]
    for tags, page in zip(ours, pages(hostile_class(HOSTILE), "html"), strict=True):
        allowed(page)
        assert Tags(page).tags == tags


@given(st.lists(st.one_of(ANY, st.sampled_from(HOSTILE), MARKUP), min_size=1, max_size=3))
def test_any_text_adds_no_tag(texts: list[str]) -> None:
    texts = [f"t{text}" for text in texts]  # an empty text leaves out its paragraph
    plain = [f"t{n}" for n in range(len(texts))]
    for hostile, ours in zip(
        list(pages(hostile_class(texts), "html"))[:-1],
        list(pages(hostile_class(plain), "html"))[:-1],
        strict=True,
    ):
        assert Tags(hostile).tags == Tags(ours).tags


def test_hostile_texts_are_read_as_they_were_written() -> None:
    first = next(pages(hostile_class(HOSTILE[:1]), "html"))
    assert "<script>alert(1)</script>" in "".join(Tags(first).words)
    assert "<script" not in first
    formula = next(pages(hostile_class([HOSTILE[8]]), "html"))
    assert "{{ 7 * 7 }} {% raw %}" in formula


def test_hostile_texts_stay_text_in_markdown() -> None:
    plain = [f"plain {'abcdefghijklmnop'[n]}" for n in range(len(HOSTILE))]
    ours = [Tags(rendered(page)).tags for page in pages(hostile_class(plain), "md")]
    for tags, page in zip(ours, pages(hostile_class(HOSTILE), "md"), strict=True):
        assert Tags(rendered(page)).tags == tags
        assert "<script" not in page
        assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)


# ---------- files ----------


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


PROGRAM = """
import pickle, sys
from pathlib import Path
from classroom.atomic import replace_file
from classroom.reports.report import reports
for name, text in reports(*pickle.load(open(sys.argv[1], "rb"))).items():
    replace_file(Path(sys.argv[2], name), text, private=True)
"""


def test_same_results_give_the_same_bytes_in_any_order_and_any_process(tmp_path: Path) -> None:
    results = [*small_class(), *hostile_class(HOSTILE)]
    write_reports(tmp_path / "here", a_run(), results)
    shuffled = random.Random(1).sample(results, len(results))
    (tmp_path / "data").write_bytes(pickle.dumps([a_run(), shuffled]))
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / "data", tmp_path / f"there{seed}"],
            cwd=ROOT, check=True, timeout=120,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"},
        )  # fmt: skip
        assert contents(tmp_path / f"there{seed}") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "here")) == 3 + 2 * len(results)


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(tmp_path, a_run(), small_class())
    before = contents(tmp_path)
    moves = []

    def full_disk(part: Path, path: Path) -> None:
        moves.append(path)
        if len(moves) == 3:
            raise OSError("no space left on device")
        Path(part).rename(path)

    monkeypatch.setattr(os, "replace", full_disk)
    changed = [replace(r, points=1) for r in small_class()]
    with pytest.raises(OSError, match="no space left"):
        write_reports(tmp_path, a_run(), changed)
    after = contents(tmp_path)
    assert set(after) == set(before)  # and nothing half-written beside them
    assert sum(after[name] != before[name] for name in after) == 2


def test_nothing_is_written_if_one_result_cannot_be_shown(tmp_path: Path) -> None:
    broken = [*small_class(), result("zoe", answer("cached_step", "a state that is none"))]
    with pytest.raises(KeyError):
        write_reports(tmp_path / "out", a_run(), broken)
    assert not (tmp_path / "out").exists()


# ---------- in a browser ----------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grades")
    write_reports(folder / "small", a_run(), small_class(), roster=["Zed"])
    write_reports(folder / "hostile", a_run(), hostile_class(HOSTILE), roster=HOSTILE)
    ids = exercise_ids()
    whole = [result(f"s{n}", *(answer(i, STATES[(n + k) % 5], message="One idea.")
             for k, i in enumerate(ids))) for n in range(10)]  # fmt: skip
    write_reports(folder / "whole", a_run(ids), whole)
    return folder


@pytest.fixture(scope="module")
def opened(written: Path) -> Iterator[Visit]:
    with visiting(written) as visits:
        yield visits


@pytest.fixture
def visit(opened: Visit) -> Iterator[Visit]:
    yield from watched(opened)


def hostile_file(folder: Path) -> str:
    rows = table((folder / "hostile/grades.csv").read_text("utf-8"))
    return next(f"hostile/{row['feedback']}" for row in rows if "script" in row["student"])


@pytest.mark.browser
@pytest.mark.exhaustive
def test_pages_are_accessible_and_fit(visit: Visit) -> None:
    rows = table((visit.folder / "small/grades.csv").read_text("utf-8"))
    files = [f"small/{row['feedback']}" for row in rows if row["student"] in ("dee", "hal")]
    for name in (*files, hostile_file(visit.folder), "small/summary.html", "hostile/summary.html",
                 "whole/summary.html"):  # fmt: skip
        page = visit.look(name, protocol="file")
        for theme, width in itertools.product(THEMES, WIDTHS):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            assert serious_findings(page, colours=theme == "dark") == [], (name, theme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[theme]
        levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => +h.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


@pytest.mark.browser
def test_bars_are_as_long_as_their_numbers(visit: Visit) -> None:
    page = visit.look("small/summary.html", protocol="file")
    bar = page.locator("section.card").first.locator("svg[role=img]")
    whole = bar.bounding_box()["width"]
    for state, count in (("solved", 1), ("not-yet", 6), ("not-handed-in", 1)):
        part = bar.locator(f"rect.{state}").bounding_box()["width"]
        assert part / whole == pytest.approx(count / 8, abs=0.01)
    tall = page.locator("svg.chart rect").evaluate_all(
        "all => all.map(r => +r.getAttribute('height'))"
    )
    assert tall == [40, 80, 40, 120, 40]  # 1, 2, 1, 3 and 1 students


@pytest.mark.browser
def test_a_link_of_the_summary_opens_the_feedback(visit: Visit) -> None:
    page = visit.look("hostile/summary.html", protocol="file", width=1300)
    links = page.locator(".names a").evaluate_all("all => all.map(a => a.href)")
    assert len(links) == 2 * len(HOSTILE)
    for link in links[: len(HOSTILE)]:
        page.goto(link)
        assert page.locator("h1").count() == 1


@pytest.mark.browser
def test_feedback_prints_on_two_pages_at_most_and_names_on_their_own(
    visit: Visit, tmp_path: Path
) -> None:
    from pypdf import PdfReader

    page = visit.look("small/feedback/dee.html", protocol="file", theme="dark")
    page.pdf(path=tmp_path / "dee.pdf", format="A4")
    assert len(PdfReader(tmp_path / "dee.pdf").pages) <= 2
    page = visit.look("small/summary.html", protocol="file")
    page.pdf(path=tmp_path / "summary.pdf", format="A4")
    texts = [sheet.extract_text() for sheet in PdfReader(tmp_path / "summary.pdf").pages]
    assert "With names" in texts[-1]
    assert not [text for text in texts[:-1] if "hal" in text.split()]
