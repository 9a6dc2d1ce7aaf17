"""Questions as a package of IMS Question and Test Interoperability 2.1.

A zip of ``imsmanifest.xml``, one test and its items. A number is right between two limits, and
response processing looks through the foreseen wrong ones in their order; what is said to them
comes as modal feedback. Formulas are MathML. Hints stand in a block for scorers, as QTI 2.1 has
hints for adaptive items alone, which few platforms import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree as ET

from classroom.adapters.markup import body, child, criteria, document, elements, packed
from classroom.adapters.questions import Asked, Essay, Known, options
from classroom.sheets.chapter import chapter_title
from classroom.sheets.typeset import formula
from mini_attn.widgets.questions import inline

__all__ = ["qti_package"]

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
SCHEMAS = {
    QTI: "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd",
    PACKAGE: "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd",
}
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
TEST = "test.xml"
RESPONSE = "RESPONSE"
Questions = dict[str, Asked | Essay]  # by their files
ET.register_namespace("m", "http://www.w3.org/1998/Math/MathML")


def _identifier(key: str) -> str:
    return re.sub(r"[^\w-]", "_", key)


def _root(tag: str, namespace: str, **attributes: str) -> ET.Element:
    """The root of a file, which says where its schema is."""
    location = {f"{{{INSTANCE}}}schemaLocation": f"{namespace} {SCHEMAS[namespace]}"}
    return ET.Element(tag, {"xmlns": namespace, **location, **attributes})


def _declare(item: ET.Element, name: str, kind: str, value: str | None = None) -> None:
    made = child(item, "outcomeDeclaration", identifier=name, cardinality="single", baseType=kind)
    if value is not None:
        child(child(made, "defaultValue"), "value", value)


def _mathematics(source: str, display: bool) -> str:
    return formula(source, display, "mathml")


def _write(parent: ET.Element, xhtml: str) -> None:
    """Append XHTML; its elements have no namespace of their own but the file's."""
    for element in elements(xhtml, QTI):
        for part in element.iter():
            part.tag = part.tag.removeprefix(f"{{{QTI}}}")
        parent.append(element)


def _set(parent: ET.Element, name: str, kind: str, value: str) -> None:
    outcome = child(parent, "setOutcomeValue", identifier=name)
    child(outcome, "baseValue", value, baseType=kind)


def _between(parent: ET.Element, known: Known) -> None:
    """Whether the response lies within the limits of a number."""
    both = child(parent, "and")
    for tag, limit in (("gte", known.low), ("lte", known.high)):
        comparison = child(both, tag)
        child(comparison, "variable", identifier=RESPONSE)
        child(comparison, "baseValue", repr(limit), baseType="float")


def _chosen(parent: ET.Element, choice: str) -> None:
    """Whether a choice was taken."""
    match = child(parent, "match")
    child(match, "variable", identifier=RESPONSE)
    child(match, "baseValue", choice, baseType="identifier")


def _judged(item: ET.Element, asked: Asked, named: dict[str, Known], *, is_choice: bool) -> None:
    """What a response earns, and which feedback is shown for it."""
    condition = child(child(item, "responseProcessing"), "responseCondition")
    for name, known in named.items():
        branch = child(condition, "responseElseIf" if len(condition) else "responseIf")
        if is_choice:
            _chosen(branch, name)
        else:
            _between(branch, known)
        if known is asked.right:
            _set(branch, "SCORE", "float", str(asked.points))
        _set(branch, "FEEDBACK", "identifier", name)


def _body(item: ET.Element, asked: Asked, texts: dict[str, str]) -> None:
    """What is asked, the field or the choices, and the hints for who scores."""
    made = child(item, "itemBody")
    _write(made, body(asked.text, _mathematics, is_markdown=asked.is_markdown))
    if texts:
        offered = child(
            made, "choiceInteraction", responseIdentifier=RESPONSE, shuffle="true", maxChoices="1"
        )
        for name, text in texts.items():
            child(offered, "simpleChoice", text, identifier=name)
    else:
        field = child(child(made, "p"), "textEntryInteraction", responseIdentifier=RESPONSE)
        field.set("expectedLength", "20")
        field.tail = f" {asked.unit}"
    notes = "".join(f"<p>{inline(hint)}</p>" for hint in asked.hints)
    notes += f"<pre>{escape(asked.working)}</pre>" if asked.working else ""
    if notes:
        _write(child(made, "rubricBlock", view="author scorer tutor"), notes)


def _item(asked: Asked, form: str) -> ET.Element:
    """One question as an item."""
    is_choice = form == "choice"
    offered = options(asked) if is_choice else {}
    listed = offered.values() if is_choice else (asked.right, *asked.wrong)
    named = {f"NUMBER_{n}": known for n, known in enumerate(listed, 1)}
    title = {"title": asked.title, "adaptive": "false", "timeDependent": "false"}
    item = _root("assessmentItem", QTI, identifier=_identifier(asked.key), **title)
    kind = "identifier" if is_choice else "float"
    response = child(
        item, "responseDeclaration", identifier=RESPONSE, cardinality="single", baseType=kind
    )
    right = next(name for name, known in named.items() if known is asked.right)
    correct = right if is_choice else repr(asked.right.value)
    child(child(response, "correctResponse"), "value", correct)
    _declare(item, "SCORE", "float", "0")
    _declare(item, "MAXSCORE", "float", str(asked.points))
    _declare(item, "FEEDBACK", "identifier")
    _body(item, asked, dict(zip(named, offered, strict=False)))
    _judged(item, asked, named, is_choice=is_choice)
    for name, known in named.items():
        if known.words:
            feedback = child(item, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=name)
            feedback.set("showHide", "show")
            _write(feedback, f"<p>{inline(known.words)}</p>")
    return item


def _essay(essay: Essay) -> ET.Element:
    """An answer in words: a field, and the rubric for who scores it; nothing is processed."""
    title = {"title": essay.title, "adaptive": "false", "timeDependent": "false"}
    item = _root("assessmentItem", QTI, identifier=_identifier(essay.key), **title)
    about = {"identifier": RESPONSE, "cardinality": "single", "baseType": "string"}
    child(item, "responseDeclaration", **about)
    _declare(item, "SCORE", "float", "0")
    _declare(item, "MAXSCORE", "float", str(essay.points))
    made = child(item, "itemBody")
    _write(made, body(essay.text, _mathematics))
    child(made, "extendedTextInteraction", responseIdentifier=RESPONSE, expectedLines="15")
    notes = "".join(f"<p>{inline(hint)}</p>" for hint in essay.hints)
    model = body(essay.model, _mathematics) if essay.model else ""
    _write(
        child(made, "rubricBlock", view="author scorer tutor"),
        f"{criteria(essay.rubric)}{notes}{model}",
    )
    return item


def _test(name: str, items: Questions) -> ET.Element:
    """The test that holds the items."""
    title = chapter_title(name)
    test = _root("assessmentTest", QTI, identifier=_identifier(f"test_{name}"), title=title)
    _declare(test, "SCORE", "float", "0")
    part = child(test, "testPart", identifier="part", navigationMode="nonlinear")
    part.set("submissionMode", "individual")
    section = child(part, "assessmentSection", identifier="section", title=title, visible="true")
    for path, asked in items.items():
        child(section, "assessmentItemRef", identifier=_identifier(asked.key), href=path)
    outcome = child(child(test, "outcomeProcessing"), "setOutcomeValue", identifier="SCORE")
    child(child(outcome, "sum"), "testVariables", variableIdentifier="SCORE")
    return test


def _manifest(name: str, items: Questions) -> ET.Element:
    """What is in the package."""
    manifest = _root("manifest", PACKAGE, identifier=_identifier(f"mini-attn_{name}"))
    about = child(manifest, "metadata")
    child(about, "schema", "QTIv2.1 Package")
    child(about, "schemaversion", "1.0.0")
    child(manifest, "organizations")
    resources = child(manifest, "resources")
    test = child(resources, "resource", identifier="test", type="imsqti_test_xmlv2p1", href=TEST)
    child(test, "file", href=TEST)
    for path, asked in items.items():
        own = {"identifier": f"item_{_identifier(asked.key)}", "type": "imsqti_item_xmlv2p1"}
        child(child(resources, "resource", href=path, **own), "file", href=path)
        child(test, "dependency", identifierref=own["identifier"])
    return manifest


def qti_package(name: str, questions: Sequence[Asked | Essay], form: str) -> bytes:
    """The questions of a sheet as a zip.

    Parameters
    ----------
    name : str
        Of the sheet, which becomes one test.
    questions : sequence of Asked and Essay
        What is asked.
    form : {"number", "choice"}
        Whether a number is typed, or chosen among foreseen wrong ones.

    Returns
    -------
    bytes
        The package, the same bytes for the same questions.
    """
    items: Questions = {f"items/{_identifier(asked.key)}.xml": asked for asked in questions}
    files = {path: document(_essay(asked) if isinstance(asked, Essay) else _item(asked, form))
             for path, asked in items.items()}  # fmt: skip
    for path, root in ((TEST, _test(name, items)), ("imsmanifest.xml", _manifest(name, items))):
        ET.indent(root, " ")
        files[path] = document(root)
    return packed(files)
