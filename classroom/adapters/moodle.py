r"""Questions for Moodle's question bank, as its importer reads them.

Moodle XML (``question/format/xml/format.php``): texts are HTML inside XML, formulas stand in
``\( … \)`` and ``\[ … \]`` for its MathJax filter. A number is looked up among the answers
from the top, so the right one comes first; a tolerance is absolute, and an answer that has a unit
may be typed in any of the units that are named. An ``idnumber`` is the same in every export, and
Moodle leaves it out where a category has it already. What is answered in words is an essay, with
its rubric for graders.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree as ET

from classroom.adapters.markup import body, child, criteria, document
from classroom.adapters.questions import Asked, Essay, Known, options
from classroom.sheets.chapter import chapter_title
from mini_attn.widgets.questions import inline

__all__ = ["BOOK_CATEGORY", "moodle_file"]

BOOK_CATEGORY = "$course$/top/The Living Attention Book"
TRIES = "0.3333333"  # of the points, for each wrong try
IN_UNITS = 1e-9  # Moodle keeps 19 decimals of how many of a unit are one of another
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
NO_UNITS, OPTIONAL_UNITS = "3", "0"


def _formula(source: str, display: bool) -> str:
    left, right = (r"\[", r"\]") if display else (r"\(", r"\)")
    return f"{left}{escape(source.strip(), quote=False)}{right}"


def _text(parent: ET.Element, tag: str, html: str) -> ET.Element:
    """An element with a text in HTML."""
    made = child(parent, tag, format="html")
    child(made, "text", html)
    return made


def _digits(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _units(unit: str) -> dict[str, float]:
    """The units that a number may be typed in, by how many of the first one each is."""
    if unit == "bytes":
        sizes = PREFIXES | BINARY
        return {"bytes": 1.0} | {f"{prefix}B": size for prefix, size in sizes.items()}
    if unit == "FLOPs":
        return {"FLOPs": 1.0} | {f"{prefix}FLOP": size for prefix, size in PREFIXES.items()}
    return {}


def _spans(known: Known, *, is_right: bool) -> list[tuple[float, float]]:
    """Numbers with tolerances that cover what is meant; the right answer is the first's middle."""
    below, above = known.value - known.low, known.high - known.value
    if abs(above - below) <= IN_UNITS * abs(known.value):
        return [(known.value, min(below, above))]
    whole = ((known.low + known.high) / 2, (known.high - known.low) / 2)
    return [(known.value, min(below, above)), whole] if is_right else [whole]


def _answer(
    question: ET.Element, text: str, words: str, *, is_right: bool, form: str
) -> ET.Element:
    made = child(question, "answer", fraction="100" if is_right else "0", format=form)
    child(made, "text", text)
    _text(made, "feedback", inline(words))
    return made


def _numerical(question: ET.Element, asked: Asked) -> None:
    """The answers, their tolerances and the units of a question for a number."""
    units = _units(asked.unit)
    for known in (asked.right, *asked.wrong):
        is_right = known is asked.right
        for value, off in _spans(known, is_right=is_right):
            form = "moodle_auto_format"
            made = _answer(question, _digits(value), known.words, is_right=is_right, form=form)
            least = IN_UNITS * abs(value) if units else 0.0
            child(made, "tolerance", _digits(max(off, least)))
    if units:
        listed = child(question, "units")
        for name, size in units.items():
            unit = child(listed, "unit")
            child(unit, "multiplier", _digits(1 / size))
            child(unit, "unit_name", name)
    child(question, "unitgradingtype", "0")
    child(question, "unitpenalty", "0")
    child(question, "showunits", OPTIONAL_UNITS if units else NO_UNITS)
    child(question, "unitsleft", "0")


def _choices(question: ET.Element, asked: Asked) -> None:
    """The same question with the right number among foreseen wrong ones."""
    child(question, "single", "true")
    child(question, "shuffleanswers", "true")
    child(question, "answernumbering", "abc")
    for text, known in options(asked).items():
        is_right = known is asked.right
        _answer(question, escape(text), known.words, is_right=is_right, form="html")


def _explained(asked: Asked) -> str:
    """What everyone is shown at the end; nothing of an exercise whose solution is kept."""
    if asked.working:
        return f"<pre>{escape(asked.working)}</pre>"
    return f"<p>{inline(asked.right.words)}</p>" if asked.right.words else ""


def _question(parent: ET.Element, asked: Asked, form: str) -> None:
    is_choice = form == "choice"
    made = child(parent, "question", type="multichoice" if is_choice else "numerical")
    child(child(made, "name"), "text", asked.title)
    text = body(asked.text, _formula, is_markdown=asked.is_markdown)
    unit = "" if is_choice else f"\n<p>Unit: {inline(asked.unit.strip('()'))}</p>"
    _text(made, "questiontext", text + unit)
    _text(made, "generalfeedback", _explained(asked))
    child(made, "defaultgrade", str(asked.points))
    child(made, "penalty", TRIES)
    child(made, "hidden", "0")
    child(made, "idnumber", f"mini-attn/{asked.key}{'/choice' * is_choice}")
    (_choices if is_choice else _numerical)(made, asked)
    for hint in asked.hints:
        _text(made, "hint", inline(hint))


def _for_graders(essay: Essay) -> str:
    """The rubric, and a model answer of practice: Moodle shows it to graders alone."""
    model = body(essay.model, _formula) if essay.model else ""
    return f"{criteria(essay.rubric)}{model}"


def _essay(parent: ET.Element, essay: Essay) -> None:
    """A question that people mark."""
    made = child(parent, "question", type="essay")
    child(child(made, "name"), "text", essay.title)
    _text(made, "questiontext", body(essay.text, _formula))
    _text(made, "generalfeedback", "")
    settings = {
        "defaultgrade": str(essay.points), "penalty": "0", "hidden": "0",
        "idnumber": f"mini-attn/{essay.key}", "responseformat": "editor",
        "responserequired": "1", "responsefieldlines": "15", "attachments": "0",
        "attachmentsrequired": "0",
    }  # fmt: skip
    for tag, value in settings.items():
        child(made, tag, value)
    _text(made, "graderinfo", _for_graders(essay))
    _text(made, "responsetemplate", "")


def moodle_file(name: str, questions: Sequence[Asked | Essay], form: str) -> bytes:
    """The questions of a sheet as Moodle XML.

    Parameters
    ----------
    name : str
        Of the sheet: a chapter's questions go into its category, a problem sheet's into its own.
    questions : sequence of Asked and Essay
        What is asked.
    form : {"number", "choice"}
        Whether a number is typed, or chosen among foreseen wrong ones.

    Returns
    -------
    bytes
        The file, the same bytes for the same questions.
    """
    quiz = ET.Element("quiz")
    category = child(quiz, "question", type="category")
    title = chapter_title(name).replace("/", "//")  # a single one leads into a category
    child(child(category, "category"), "text", f"{BOOK_CATEGORY}/{title}")
    _text(category, "info", "")
    child(category, "idnumber", f"mini-attn/{name}")
    for asked in questions:
        if isinstance(asked, Essay):
            _essay(quiz, asked)
        else:
            _question(quiz, asked, form)
    ET.indent(quiz, " ")
    return document(quiz)
