"""What learning platforms import: read by others' parsers, judged by their rules, never ours.

Moodle's XML is read as its importer does (question/format/xml/format.php, with the numbers of
question/type/numerical/question.php), QTI by the rules of its response processing; both have to
say of a number what the exercise's own check or the page says. The schemas of QTI are those of
IMS, and libxml2 judges by them.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from classroom import ROOT
from classroom.adapters import export
from classroom.adapters.markup import MARK, document
from classroom.adapters.moodle import BOOK_CATEGORY, moodle_file
from classroom.adapters.qti import qti_package
from classroom.adapters.questions import Asked, Essay, Known, asked_of, options
from classroom.sheets.sheet import chosen
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.questions import judge
from mini_attn.widgets.questions import QUESTIONS, inline
from tests import validation
from tests.javascript import run

NAMES = {"q": "http://www.imsglobal.org/xsd/imsqti_v2p1"}
WHOLE = asked_of(chosen())
EVERYTHING = {
    name: [asked for asked in found if isinstance(asked, Asked)] for name, found in WHOLE.items()
}
ESSAYS = [asked for found in WHOLE.values() for asked in found if isinstance(asked, Essay)]
ALL = [asked for found in EVERYTHING.values() for asked in found]
PENCILS = [asked for asked in ALL if asked.is_markdown]
PREDICTIONS = [asked for asked in ALL if not asked.is_markdown]
NASTY = 'a <b> & "c" \' ]]> `x < y && z` <script>alert(1)</script> &amp; \\(q\\) @@PLUGINFILE@@ é₂𝑥'
TINY = Asked(
    key="kv-cache/nasty", title=NASTY, text=f"{NASTY} with $a<b \\& \\frac12$", unit="<b>&s",
    is_markdown=True, points=3, right=Known(5.0, 4.9, 5.2, NASTY), hints=(NASTY,), working=NASTY,
    wrong=(Known(7.0, 7.0, 7.0, f"seven {NASTY}"), Known(7.5, 6.5, 8.0, "about seven")),
)  # fmt: skip
Verdict = tuple[float, str]


# ---------------------------------------------------------------- as the platforms read it


class Words(HTMLParser):
    """The text of HTML as a browser shows it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def moodle_questions(file: bytes) -> list[ET.Element]:
    """The questions of a file, without its category."""
    return ET.fromstring(file).findall("question")[1:]


def moodle_verdict(question: ET.Element, value: float, unit: str = "") -> Verdict:
    """What Moodle gives for a number: the first answer within whose tolerance it lies."""
    units = {
        one.findtext("unit_name", ""): float(one.findtext("multiplier", ""))
        for one in question.iterfind("units/unit")
    }
    assert question.findtext("showunits") == ("0" if units else "3")
    value /= units[unit] if unit else 1
    for answer in question.iterfind("answer"):
        middle = float(answer.findtext("text", ""))
        off = float(answer.findtext("tolerance", "")) + 1e-14 * max(1.0, abs(middle))
        if middle - off <= value <= middle + off:
            share = float(answer.get("fraction", "")) / 100
            words = answer.findtext("feedback/text", "")
            return share * float(question.findtext("defaultgrade", "")), words
    return 0.0, ""


def qti_files(package: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def qti_items(package: bytes) -> list[ET.Element]:
    """Its items, in the order of its test, found as a platform finds them."""
    files = qti_files(package)
    test = ET.fromstring(files["test.xml"])
    hrefs = [ref.get("href", "") for ref in test.iterfind(".//q:assessmentItemRef", NAMES)]
    return [ET.fromstring(files[href]) for href in hrefs]


def _holds(node: ET.Element, response: object) -> bool:
    """A condition of response processing."""
    kind = node.tag.split("}")[1]
    if kind == "and":
        return all(_holds(part, response) for part in node)
    variable, limit = node
    assert variable.get("identifier") == "RESPONSE"
    if kind == "match":
        return response == limit.text
    assert isinstance(response, float)
    number = float(limit.text or "")
    return {"gte": response >= number, "lte": response <= number}[kind]


def qti_verdict(item: ET.Element, response: object) -> Verdict:
    """What QTI's response processing makes of a response, and the feedback it shows."""
    outcomes = {"SCORE": "0", "FEEDBACK": ""}
    (condition,) = item.iterfind("q:responseProcessing/q:responseCondition", NAMES)
    for branch in condition:
        if _holds(branch[0], response):
            for outcome in branch[1:]:
                outcomes[outcome.get("identifier", "")] = outcome[0].text or ""
            break
    shown = [
        "".join(one.itertext())
        for one in item.iterfind("q:modalFeedback", NAMES)
        if one.get("identifier") == outcomes["FEEDBACK"]
    ]
    return float(outcomes["SCORE"]), "".join(shown)


def both(asked: Asked) -> Iterator[Callable[[float], Verdict]]:
    """A question on each platform: what it says to a number, as words."""
    (question,) = moodle_questions(moodle_file(asked.page, [asked], "number"))

    def moodle(value: float) -> Verdict:
        points, html = moodle_verdict(question, value)
        return points, Words(html).text

    (item,) = qti_items(qti_package(asked.page, [asked], "number"))
    yield moodle
    yield lambda value: qti_verdict(item, value)


# ---------------------------------------------------------------- what is right and what is said


def numbers_for(asked: Asked) -> list[float]:
    """Numbers on, just inside, just outside and far from everything that is known."""
    values = []
    for known in (asked.right, *asked.wrong):
        values += [known.value, known.low * 0.97, known.high * 1.03, known.value * 3.7]
        for edge, far in ((known.low, 1e-7), (known.high, -1e-7)):
            values += [edge + far * abs(edge), edge - far * abs(edge)]
    return [value for value in values if value == 0 or abs(value) > 1e-9]  # Moodle has 1e-14


@pytest.mark.parametrize("asked", PENCILS, ids=lambda asked: asked.key)
def test_a_platform_says_of_a_pencil_exercise_what_its_check_says(asked: Asked) -> None:
    question = exercise(asked.key.split("/")[1]).question
    units = asked.unit in ("bytes", "FLOPs")
    told = 0
    for platform in both(asked):
        for value in numbers_for(asked):
            points, words = platform(value)
            said = judge(question, value)
            near = any(abs(value - k.value) <= 2e-7 * abs(k.value) for k in (asked.right,))
            if not (units and near):  # in units a byte more or less cannot be told
                assert bool(points) == (said.verdict == "right"), value
            assert points in (0, asked.points)
            if words and not points:
                assert Words(inline(said.message)).text == words, value
                told += 1
        for mistake in question.mistakes:
            assert platform(float(mistake.value)) == (0, Words(inline(mistake.message)).text)
    assert told > 10
    assert len(asked.wrong) >= 5
    assert len(asked.wrong) >= len(question.mistakes)
    assert not any("{" in known.words for known in asked.wrong), "no words for one number alone"


def test_a_platform_says_of_a_prediction_what_the_page_says() -> None:
    typed = [
        [f"{v:.17g}" for k in (asked.right, *asked.wrong) for v in (k.value, k.value * 3.7)]
        for asked in PREDICTIONS
    ]
    judged = run(
        "return input.map(([question, texts]) =>"
        " texts.map((text) => living.judge(question, text)));",
        [
            (QUESTIONS[asked.key].data(), texts)
            for asked, texts in zip(PREDICTIONS, typed, strict=True)
        ],
    )
    seen = {"right": 0, "mistake": 0, "wrong": 0, "unread": 0}
    for asked, texts, pages in zip(PREDICTIONS, typed, judged, strict=True):
        for platform in both(asked):
            for text, page in zip(texts, pages, strict=True):
                points, words = platform(float(text))
                assert bool(points) == (page["verdict"] == "right"), (asked.key, text)
                if page["verdict"] in ("right", "mistake"):
                    assert words == Words(inline(page["message"])).text, (asked.key, text)
                else:
                    assert not words, (asked.key, text)
                seen[page["verdict"]] += 1
    assert seen["right"] >= 2 * len(PREDICTIONS)
    assert seen["mistake"] > 900
    assert seen["wrong"] > 900


def test_bytes_may_be_typed_in_other_units() -> None:
    asked = next(one for one in PREDICTIONS if one.key == "kv-cache/gpt2-bytes")
    assert (asked.unit, asked.right.value) == ("bytes", 7_372_800)
    (question,) = moodle_questions(moodle_file(asked.page, [asked], "number"))
    for value, unit in ((7_372_800, ""), (7_372_800, "bytes"), (7.3728, "MB"), (7200, "KiB")):
        assert moodle_verdict(question, value, unit)[0] == 1
    assert moodle_verdict(question, 7.3728, "kB")[0] == 0
    (whole,) = [
        one for one in question.iterfind("units/unit") if one.findtext("unit_name") == "GiB"
    ]
    assert abs(float(whole.findtext("multiplier", "")) * 2**30 - 1) < 1e-12
    flops = next(one for one in PREDICTIONS if one.unit == "FLOPs")
    (question,) = moodle_questions(moodle_file(flops.page, [flops], "number"))
    assert moodle_verdict(question, flops.right.value / 1e6, "MFLOP")[0] == 1


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_choices_are_the_right_number_among_foreseen_ones(name: str) -> None:
    asked = EVERYTHING[name]
    items = qti_items(qti_package(name, asked, "choice"))
    questions = moodle_questions(moodle_file(name, asked, "choice"))
    for one, item, question in zip(asked, items, questions, strict=True):
        offered = options(one)
        assert list(offered.values()).count(one.right) == 1
        assert 2 <= len(offered) <= 6
        answers = question.findall("answer")
        assert [answer.get("fraction") for answer in answers].count("100") == 1
        texts = [Words(answer.findtext("text", "")).text for answer in answers]
        assert texts == list(offered) == sorted(offered, key=lambda text: offered[text].value)
        choices = item.findall(".//q:simpleChoice", NAMES)
        assert [choice.text for choice in choices] == texts
        for choice, answer in zip(choices, answers, strict=True):
            known = offered[choice.text or ""]
            points, words = qti_verdict(item, choice.get("identifier"))
            assert points == (one.points if known is one.right else 0)
            assert answer.get("fraction") == ("100" if known is one.right else "0")
            assert words == Words(inline(known.words)).text
            assert words == Words(answer.findtext("feedback/text", "")).text
        (correct,) = item.iterfind("q:responseDeclaration/q:correctResponse/q:value", NAMES)
        assert qti_verdict(item, correct.text)[0] == one.points


def test_everything_that_asks_for_a_number_is_exported() -> None:
    pencils = {f"{exercise(i).page}/{i}" for i in exercise_ids() if exercise(i).kind == "pencil"}
    assert {asked.key for asked in PENCILS} == pencils
    assert {asked.key for asked in PREDICTIONS} == set(QUESTIONS)
    assert all(asked.page == name for name, found in EVERYTHING.items() for asked in found)


def test_everything_that_asks_for_words_is_exported_as_an_essay() -> None:
    ids = [i for i in exercise_ids() if exercise(i).kind == "open"]
    assert {essay.key for essay in ESSAYS} == {f"{exercise(i).page}/{i}" for i in ids}
    for essay in ESSAYS:
        (question,) = moodle_questions(moodle_file("kv-cache", [essay], "number"))
        (item,) = qti_items(qti_package("kv-cache", [essay], "choice"))
        assert (question.get("type"), question.findtext("responseformat")) == ("essay", "editor")
        assert question.findtext("defaultgrade") == str(essay.points)
        assert question.findtext("idnumber") == f"mini-attn/{essay.key}"
        assert question.find("answer") is None
        assert item.find(".//q:extendedTextInteraction", NAMES) is not None
        assert item.find(".//q:responseProcessing", NAMES) is None
        assert item.findtext(
            "q:outcomeDeclaration[@identifier='MAXSCORE']//q:value", "", NAMES
        ) == (str(essay.points))
        (block,) = item.iterfind(".//q:rubricBlock", NAMES)
        for_graders = [
            Words(question.findtext("graderinfo/text", "")).text,
            "".join(block.itertext()),
        ]
        asked = Words(question.findtext("questiontext/text", "")).text
        own = importlib.import_module(f"solutions.{essay.key.split('/')[1]}").MODEL.strip()[:40]
        for text in for_graders:
            assert all(Words(inline(says)).text in text for says, _ in essay.rubric)
            assert (own in text) == (not exercise(essay.key.split("/")[1]).assessed)
        assert own not in asked
        assert not any(says in asked for says, _ in essay.rubric)


def test_an_assessed_exercise_keeps_its_solution() -> None:
    kept = [asked for asked in PENCILS if exercise(asked.key.split("/")[1]).assessed]
    assert kept
    for asked in kept:
        (question,) = moodle_questions(moodle_file(asked.page, [asked], "number"))
        assert question.findtext("generalfeedback/text") == ""
    open_ = next(asked for asked in PENCILS if asked not in kept)
    (question,) = moodle_questions(moodle_file(open_.page, [open_], "number"))
    assert "answer" in question.findtext("generalfeedback/text", "")


# ---------------------------------------------------------------- the files


def test_the_importer_finds_what_it_needs() -> None:
    idnumbers = []
    for name, asked in EVERYTHING.items():
        for form, kind in (("number", "numerical"), ("choice", "multichoice")):
            root = ET.fromstring(moodle_file(name, asked, form))
            category, *questions = root.findall("question")
            assert category.get("type") == "category"
            path = category.findtext("category/text", "")
            assert path.startswith(f"{BOOK_CATEGORY}/")
            assert path.count("/") == BOOK_CATEGORY.count("/") + 1
            assert category.findtext("idnumber") == f"mini-attn/{name}"
            for one, question in zip(asked, questions, strict=True):
                assert question.get("type") == kind
                assert question.findtext("name/text") == one.title
                assert question.find("questiontext").get("format") == "html"  # type: ignore[union-attr]
                assert question.findtext("defaultgrade") == str(one.points)
                hints = [Words(h.findtext("text", "")).text for h in question.iterfind("hint")]
                assert hints == [Words(inline(hint)).text for hint in one.hints]
                assert {a.get("fraction") for a in question.iterfind("answer")} == {"0", "100"}
                idnumbers.append(question.findtext("idnumber", ""))
    assert len(set(idnumbers)) == len(idnumbers) == 2 * len(ALL)
    assert max(map(len, idnumbers)) <= 100
    assert "mini-attn/kv-cache/cache_budget" in idnumbers  # as in every version


def test_formulas_are_in_the_form_that_a_platform_sets() -> None:
    asked = next(one for one in PENCILS if one.key == "start/half_temperature")
    (question,) = moodle_questions(moodle_file("start", [asked], "number"))
    text = Words(question.findtext("questiontext/text", "")).text
    assert r"\(\ln 2\)" in text
    assert "$" not in text
    (item,) = qti_items(qti_package("start", [asked], "number"))
    maths = item.findall(".//{http://www.w3.org/1998/Math/MathML}math")
    assert len(maths) == 3
    display = Asked(**{**vars(asked), "text": "$$\na < b\n$$"})
    (question,) = moodle_questions(moodle_file("start", [display], "number"))
    assert r"\[a < b\]" in Words(question.findtext("questiontext/text", "")).text


@pytest.mark.parametrize("form", ["number", "choice"])
def test_marks_of_every_kind_come_through(form: str) -> None:
    """What looks like markup is text on the platform, and nothing of it is lost."""
    (question,) = moodle_questions(moodle_file("kv-cache", [TINY], form))
    assert question.findtext("name/text") == NASTY
    asked = Words(question.findtext("questiontext/text", ""))
    plain = NASTY.replace("`", "").replace("&amp;", "&").replace("\\(q\\)", "(q)")
    assert plain in asked.text  # of Markdown, which has entities and escapes of its own
    assert r"\(a<b \& \frac12\)" in asked.text
    assert "script" not in asked.tags
    words = Words(question.findtext("hint/text", ""))
    assert words.text == NASTY.replace("`", "")
    assert words.tags == {"code"}
    assert Words(question.findtext("generalfeedback/text", "")).text == NASTY
    (item,) = qti_items(qti_package("kv-cache", [TINY], form))
    assert item.get("title") == NASTY
    body = item.find("q:itemBody", NAMES)
    assert body is not None
    assert plain in "".join(body.itertext())
    feedback = ["".join(one.itertext()) for one in item.iterfind("q:modalFeedback", NAMES)]
    assert f"seven {NASTY}".replace("`", "") in feedback
    files = qti_files(qti_package("kv-cache", [TINY], form))
    assert (
        validation.violations({"nasty.xml": files["items/kv-cache_nasty.xml"]}, validation.QTI)
        == []
    )


def test_the_first_of_overlapping_numbers_counts() -> None:
    for platform in both(TINY):
        assert platform(7.0) == (0, f"seven {NASTY}".replace("`", ""))
        assert platform(7.4) == (0, "about seven")
        assert [platform(v)[0] for v in (4.89, 4.9, 5.15, 5.2, 5.21)] == [0, 3, 3, 3, 0]


def test_a_character_that_xml_cannot_hold_is_refused() -> None:
    for broken in ("\x00", "\x0b", "\ud800", "\ufffe"):
        with pytest.raises(ConfigError, match="XML has no character"):
            document(ET.Element("a", title=f"behind {broken}"))


@pytest.mark.parametrize("form", ["number", "choice"])
def test_every_package_is_valid_by_the_schemas_of_ims(form: str) -> None:
    packages = {name: qti_files(qti_package(name, asked, form)) for name, asked in WHOLE.items()}
    kinds: dict[str, dict[str, bytes]] = {validation.QTI: {}, validation.QTI_PACKAGE: {}}
    for name, files in packages.items():
        for path, content in files.items():
            kind = validation.QTI_PACKAGE if path == "imsmanifest.xml" else validation.QTI
            kinds[kind][f"{name}/{path}".replace("/", "_")] = content
    assert len(kinds[validation.QTI]) == len(ALL) + len(ESSAYS) + len(WHOLE)
    for schema, files in kinds.items():
        assert validation.violations(files, schema) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'adaptive="false"', b'adaptive="no"'),
        (b"<responseIf>", b"<responseWhen>"),
        (b'baseType="float"', b'baseType="number"'),
        (b"<m:mn>", b"<m:number>"),
    ],
)
def test_the_schemas_find_what_is_wrong(old: bytes, new: bytes) -> None:
    asked = next(one for one in PENCILS if one.key == "start/half_temperature")
    files = qti_files(qti_package("start", [asked], "number"))
    item = files["items/start_half_temperature.xml"]
    assert old in item
    if old.startswith(b"<"):
        item = item.replace(old.replace(b"<", b"</"), new.replace(b"<", b"</"))
    found = validation.violations({"item.xml": item.replace(old, new)}, validation.QTI)
    assert any("validity error" in line for line in found)
    manifest = files["imsmanifest.xml"].replace(b"QTIv2.1 Package", b"QTI")
    assert validation.violations({"imsmanifest.xml": manifest}, validation.QTI_PACKAGE)


def test_a_package_names_each_of_its_files() -> None:
    files = qti_files(qti_package("kv-cache", EVERYTHING["kv-cache"], "number"))
    manifest = ET.fromstring(files["imsmanifest.xml"])
    space = {"p": "http://www.imsglobal.org/xsd/imscp_v1p1"}
    named = [file.get("href") for file in manifest.iterfind(".//p:file", space)]
    assert sorted(named) == sorted(set(files) - {"imsmanifest.xml"})
    own = {one.get("identifier") for one in manifest.iterfind(".//p:resource", space)}
    assert {one.get("identifierref") for one in manifest.iterfind(".//p:dependency", space)} < own


# ---------------------------------------------------------------- the command


def out_of(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.parametrize("to", ["moodle", "qti"])
def test_the_same_bytes_in_every_run_for_their_owner_alone(
    to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert export.main([to, "--chapter", "start", "--out", str(first)]) == 0
    said = capsys.readouterr().out
    assert "1 file with 6 questions" in said
    environment = {**os.environ, "PYTHONHASHSEED": "1", "TZ": "UTC-1"}
    command = [sys.executable, "-m", "classroom.adapters.export", to, "--chapter", "start"]
    subprocess.run([*command, "--out", str(second)], env=environment, cwd=ROOT, check=True)
    assert out_of(first) == out_of(second)
    assert export.main([to, "--chapter", "start", "--out", str(second)]) == 0  # in its place
    assert out_of(first) == out_of(second)
    (path,) = (p for p in first.rglob("*") if p.is_file())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("to", ["moodle", "qti"])
def test_what_is_not_ours_stays_and_nothing_is_written_beside_it(
    to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / to).mkdir()
    own = tmp_path / to / ("start.xml" if to == "moodle" else "start.zip")
    own.write_text("a teacher's own questions")
    assert export.main([to, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(own) in said
    assert out_of(tmp_path) == {own.relative_to(tmp_path).as_posix(): b"a teacher's own questions"}
    own.unlink()
    own.mkdir()  # a folder has its name
    assert export.main([to, "--out", str(tmp_path)]) == 2
    assert own.is_dir()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["canvas"], "exports go to moodle, qti, scorm, not to 'canvas'"),
        (["moodle", "--form", "essay"], "number or choice, not 'essay'"),
        (["moodle", "--chapter", "nowhere"], "no chapter 'nowhere'"),
        (["qti", "--exercises", "cached_step"], "nothing among these is answered by a number"),
        (["qti", "--exercises", "cache_budget", "--name", "A b"], "small letters"),
        (["scorm", "--exercises", "cache_budget"], "a SCORM package is a chapter's page"),
        (["scorm", "--chapter", "start", "--html", "/nowhere"], "run make book first"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("a file")
    assert export.main(["moodle", "--chapter", "start", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_problem_sheet_has_its_pencil_exercises_and_points_of_its_own() -> None:
    sheets = chosen(exercises="cache_budget cached_step best_latency", name="week1")
    files, questions = export.exported("moodle", sheets)
    assert (list(files), questions) == (["week1.xml"], 2)
    root = ET.fromstring(files["week1.xml"])
    assert root.findtext("question/category/text") == f"{BOOK_CATEGORY}/week1"
    assert MARK.encode() in files["week1.xml"]


def test_the_title_of_a_category_may_hold_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.adapters.moodle.chapter_title", lambda name: "Keys/values")
    root = ET.fromstring(moodle_file("kv-cache", [TINY], "number"))
    path = root.findtext("question/category/text", "")
    assert re.split(r"(?<!/)/(?!/)", path)[-1] == "Keys//values"
