"""Pencil exercises on paper: a sheet that tells nothing, and a key that tells a marker all."""

from __future__ import annotations

import importlib
import math
import re
from html import unescape
from pathlib import Path

import pytest
from pypdf import PdfReader

from classroom.sheets import handout
from classroom.sheets.key import key, number
from classroom.sheets.leaks import telling_line
from classroom.sheets.sheet import Sheet, chosen, weighted
from classroom.sheets.typeset import formula, html
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.questions import judge
from tests.site import serious_findings
from tools.browser import launched
from tools.handout import print_pages

PENCILS = [i for i in exercise_ids() if exercise(i).kind == "pencil"]
EVERY = chosen(exercises=" ".join(PENCILS), name="every")[0]
# Paper at 96 dots an inch, without the margins of paper.css.
HEIGHTS = {"A4": (297 - 32) / 25.4 * 96, "Letter": (279.4 - 32) / 25.4 * 96}


def words(page: str) -> str:
    """What a reader sees, without styles and without the formulas' second form."""
    page = re.sub(r"<(style|math)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def told(page: str, exercise_id: str) -> list[str]:
    """What a page tells of an answer."""
    task_ = exercise(exercise_id)
    if task_.kind == "open":
        solution = importlib.import_module(f"solutions.{exercise_id}")
        samples = [words(html(sample)) for _, sample, _ in solution.SAMPLES]
        secrets = [telling_line(exercise_id), *task_.hints, *samples]
        return [secret for secret in secrets if " ".join(secret.split()) in words(page)]
    found = key(exercise_id)
    secrets = [telling_line(exercise_id), *task_.hints, *task_.common_errors, found.working]
    secrets += [slip.idea for slip in found.slips]
    text = words(page)
    tells = [secret for secret in secrets if " ".join(secret.split()) in text]
    # A number may stand in a task by chance, but nowhere else.
    own = words(html(exercise(exercise_id).text)).split()
    numbers = [word for word in text.split() if word == found.answer and word not in own]
    return tells + (numbers if len(found.answer) > 2 else [])


# The key


def test_every_pencil_exercise_has_a_unit() -> None:
    assert [i for i in exercise_ids() if exercise(i).number] == PENCILS


@pytest.mark.parametrize("exercise_id", PENCILS)
def test_answer_of_the_key_is_right(exercise_id: str) -> None:
    found = key(exercise_id)

    def said(value: float) -> str | None:
        judged = judge(exercise(exercise_id).question, value)
        return None if judged.verdict == "right" else judged.message

    answer = float(found.answer.replace(",", ""))
    assert said(answer) is None
    if found.accepted:
        low, high = (float(end.replace(",", "")) for end in found.accepted.split(" to "))
        assert said(low) is said(high) is None
        assert low < answer < high
        assert said(low - (high - low) / 10)
        assert said(high + (high - low) / 10)
    else:
        assert said(answer + 1)
        assert said(answer - 1)


@pytest.mark.parametrize("exercise_id", PENCILS)
def test_working_arrives_at_the_answer(exercise_id: str) -> None:
    names = {"log": math.log, "sqrt": math.sqrt, "ceil": math.ceil, "pi": math.pi}
    exec(key(exercise_id).working, names)  # our own lines, from solutions/
    reference = importlib.import_module(f"solutions.{exercise_id}").REFERENCE
    assert names["answer"] == reference
    assert key(exercise_id).answer == number(reference)


@pytest.mark.parametrize("exercise_id", PENCILS)
def test_wrong_numbers_get_what_the_check_says(exercise_id: str) -> None:
    slips = key(exercise_id).slips
    assert len(slips) >= 5
    for slip in slips:
        value = float(slip.value.replace(",", ""))
        assert judge(exercise(exercise_id).question, value).message == slip.idea
    values = [float(slip.value.replace(",", "")) for slip in slips]
    assert values == sorted(values)
    # Advice that fits any number is no diagnosis of this one.
    assert not any(slip.what in ("Far off", "A guess", "Another number") for slip in slips)


def test_numbers_are_written_as_by_hand() -> None:
    written = [number(x) for x in (24_704, 0.57735, 589.46, 26_923.31, 16.0, 3.12e9, 0.00339, -2)]
    assert written == ["24,704", "0.5774", "589.5", "26,923.3", "16", "3,120,000,000",
                       "0.00339", "-2"]  # fmt: skip


# The sheet


@pytest.mark.parametrize("sheet", [*chosen(), EVERY], ids=lambda sheet: sheet.name)
def test_sheet_tells_no_answer_and_the_key_does(sheet: Sheet) -> None:
    page, answers = handout.sheet_page(sheet), handout.key_page(sheet)
    on_it = [exercise_id for _, exercise_id in handout.on_paper(sheet)]
    assert on_it
    for exercise_id in on_it:
        assert told(page, exercise_id) == []
        assert len(told(answers, exercise_id)) >= 3  # the test can fail


def test_sheet_has_all_that_a_student_needs() -> None:
    page = handout.sheet_page(EVERY)
    text = words(page)
    total = sum(exercise(i).points for i in PENCILS)
    assert all(word in text for word in ("Problem sheet: every", "Name", "Date", f"of {total}"))
    assert page.count('class="room"') == page.count("<b>Answer</b>") == len(PENCILS)
    for place, exercise_id in enumerate(PENCILS, 1):
        found = exercise(exercise_id)
        assert f"Exercise {place}: {found.title} ___ / {found.points} points" in text
        assert exercise(exercise_id).question.unit in text
    assert "With pencil and paper:" not in text
    assert "W_q" not in words(handout.sheet_page(chosen(chapter="multihead")[0]))  # typeset


def test_a_question_in_words_has_lines_and_its_rubric() -> None:
    sheet = chosen(exercises="cache_budget learned_factor", name="two")[0]
    page, answers = handout.sheet_page(sheet), handout.key_page(sheet)
    assert page.count('class="room ruled"') == page.count('class="room"') == 1
    assert page.count("<b>Answer</b>") == 1
    text = words(page)
    for says, points in exercise("learned_factor").rubric.items():
        assert f"{points} {says}" in text
        assert says in words(answers)
    solution = importlib.import_module("solutions.learned_factor")
    for sample in (solution.MODEL, *(text for _, text, _ in solution.SAMPLES)):
        assert words(html(sample)) in words(answers)


def test_numbers_on_paper_are_those_of_the_notebook() -> None:
    sheet = chosen(chapter="kv-cache")[0]
    assert handout.on_paper(sheet) == [(3, "cache_budget"), (5, "cache_more")]
    assert "Exercise 3: How many fit?" in words(handout.sheet_page(sheet))
    assert "From the chapter" not in words(handout.sheet_page(sheet))
    assert "From the chapter KV caching." in words(handout.sheet_page(EVERY))


@pytest.mark.parametrize("page", [handout.sheet_page(EVERY), handout.key_page(EVERY)])
def test_pages_need_no_other_file(page: str) -> None:
    assert set(re.findall(r"url\((.{5})", page)) == {"data:"}
    assert not re.search(r"https?://(?!www\.w3\.org/)|\bsrc=|<link|<script|@import", page)


def test_markdown_and_mathematics() -> None:
    page = html("so $a_i < 2$ and\n\n$$\n\\sqrt{2}\n$$\n\n<b>no</b>")
    assert page.count('<span class="katex">') == 2
    assert "katex-display" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page
    with pytest.raises(ValueError, match=r"cannot be set.*ParseError"):
        formula(r"\frac{1")
    with pytest.raises(ValueError, match=r"^'a & b' cannot be set: ParseError: .{1,99}$"):
        formula("a & b")  # in a line, and without the whole of KaTeX


# The command


def test_the_paper_has_the_points_of_the_sheet() -> None:
    sheet = weighted(chosen(exercises="cache_budget half_temperature")[0], {"cache_budget": 7})
    of = 7 + exercise("half_temperature").points
    for page in (handout.sheet_page(sheet), handout.key_page(sheet)):
        assert "7 points</span>" in page
        assert f"{of} points in all" in page or f"of {of}</span>" in page


def test_sheets_and_keys_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen_ = ["--exercises", "cache_budget cached_step", "--name", "week1"]
    assert handout.main([*chosen_, "--out", str(tmp_path), "--no-pdf"]) == 0
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"sheets/week1.html", "keys/week1-key.html"}
    assert "answered with code: 1 of the exercises" in capsys.readouterr().out
    before = (tmp_path / "sheets/week1.html").read_bytes()
    assert handout.main([*chosen_, "--out", str(tmp_path), "--no-pdf"]) == 0
    assert (tmp_path / "sheets/week1.html").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exercises", "cached_step"], "no pencil exercise"),
        (["--chapter", "nowhere"], "there is no chapter"),
        (["--exercises", "cache_budget", "--name", "a/b"], "small letters"),
    ],
)
def test_wrong_choices_end_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert handout.main([*arguments, "--out", str(tmp_path), "--no-pdf"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("[handout] ")
    assert said in message
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_browser_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.handout.find", lambda: None)
    chosen_ = ["--chapter", "kv-cache", "--out", str(tmp_path)]
    assert handout.main(chosen_, printer=print_pages) == 2
    assert "no Chromium to print with" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.exhaustive
def test_printed(tmp_path: Path) -> None:
    """Two exercises to a page; the answers are in the other file."""
    handout.write([EVERY], tmp_path, printer=print_pages)
    sheet = PdfReader(tmp_path / "sheets/every.pdf")
    answers = PdfReader(tmp_path / "keys/every-key.pdf")
    assert len(sheet.pages) == math.ceil(len(PENCILS) / 2)
    text = " ".join(" ".join(page.extract_text() for page in sheet.pages).split())
    for exercise_id in PENCILS:
        assert exercise(exercise_id).title in text
    assert f"{len(sheet.pages)} / {len(sheet.pages)}" in text
    for found in (key(i).answer for i in PENCILS if len(key(i).answer) > 4):
        assert found not in text
        assert any(found in page.extract_text() for page in answers.pages)
    for path in tmp_path.rglob("*.pdf"):
        assert b"/tmp/" not in path.read_bytes()
        assert b"127.0.0.1" not in path.read_bytes()


@pytest.mark.browser
def test_pages_fit_are_light_and_can_be_read_aloud() -> None:
    with launched() as browser:
        context = browser.new_context(color_scheme="dark", viewport={"width": 1000, "height": 900})
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: complaints.append(request.url[:80]))
        for content in (handout.sheet_page(EVERY), handout.key_page(EVERY)):
            page.set_content(content)
            page.emulate_media(media="print", color_scheme="dark")
            page.evaluate("document.fonts.ready.then(() => undefined)")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
                "rgb(255, 255, 255)"
            )
            loaded = page.evaluate(
                "[...document.fonts].filter(f => f.status === 'loaded')"
                ".map(f => f.family.replaceAll('\"', ''))"
            )
            assert {"Source Serif 4", "Source Sans 3", "KaTeX_Math"} <= set(loaded)
            heights = page.locator(".page").evaluate_all("all => all.map(p => p.offsetHeight)")
            assert all(height <= min(HEIGHTS.values()) for height in heights)
            assert page.evaluate("document.documentElement.scrollWidth") <= 1000
        assert [line for line in complaints if not line.startswith("data:font")] == []
        page.set_content(handout.key_page(EVERY).replace("default-src 'none'", "default-src *"))
        assert serious_findings(page) == []
        context.close()
