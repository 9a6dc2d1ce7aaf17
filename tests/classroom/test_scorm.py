"""What a SCORM package holds, and what its script makes of a record: without a browser.

The schemas are those of SCORM 1.2 (``classroom/adapters/scorm_files``), and libxml2 judges by them.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from classroom.adapters import export, scorm
from classroom.adapters.page import assets, without_the_book
from classroom.adapters.scorm import scorm_package
from classroom.sheets.sheet import chapters
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise
from mini_attn.exercises.spec import of_chapter
from tests import validation
from tests.javascript import run
from tools import HTML

SPACES = {"c": scorm.CONTENT, "adl": scorm.ADL}
DATA = ("scorm/data.js",)
CHAPTER = {
    "page": "kv-cache", "predictions": ["a", "b"],
    "exercises": [
        {"id": "one", "points": 3, "counts": True}, {"id": "two", "points": 5, "counts": False},
    ],
}  # fmt: skip


def files_of(package: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


# ---------------------------------------------------------------- the script


def record(**kinds: dict[str, object]) -> dict[str, object]:
    return {"kv-cache": {"predictions": {}, "exercises": {}, **kinds}}


def test_points_are_of_what_the_page_can_check() -> None:
    right, solved = {"verdict": "right"}, {"state": "solved"}
    cases = [
        (record(), 0),
        (record(predictions={"a": right, "b": {"verdict": "wrong"}}), 1),
        (record(exercises={"one": solved}), 3),
        (record(exercises={"one": {"state": "done"}}), 0),  # ticked by hand
        (record(exercises={"two": solved}), 0),  # in code, and there is no Python
        (record(predictions={"a": right, "b": right}, exercises={"one": solved}), 5),
        ({}, 0),
    ]
    body = "return input[1].map((record) => living.tally(input[0], record));"
    got = run(body, [CHAPTER, [record for record, _ in cases]], sources=DATA)
    assert got == [{"earned": earned, "total": 5} for _, earned in cases]


def test_what_the_platform_keeps_is_ascii_and_no_longer_than_it_may_be() -> None:
    entry = {"attempt": "⁰" * 40, "verdict": "wrong", "shown": False}
    solved = {"state": "solved", "points": 5}
    for sizes in ([], [10], [3000, 10], [8000], [1500, 1500, 1500, 700], list(range(100, 900, 37))):
        given = record(
            predictions={f"p{n}": entry for n in range(9)},
            exercises={f"e{n}": solved for n in range(6)},
            answers={f"e{n}": {"code": "x" * size} for n, size in enumerate(sizes)},
        )
        text = run("return living.suspended(input);", given, sources=DATA)
        assert len(text) <= 4096
        assert re.fullmatch(r"[\x20-\x7e]+", text)
        kept = json.loads(text)["chapters"]["kv-cache"]
        assert kept["predictions"] == given["kv-cache"]["predictions"]  # type: ignore[index]
        assert kept["exercises"] == given["kv-cache"]["exercises"]  # type: ignore[index]
        answers = sorted(len(one["code"]) for one in kept.get("answers", {}).values())
        assert answers == sorted(sizes)[: len(answers)]  # the shortest
        left = sorted(sizes)[len(answers) :]
        assert not left or len(text) + left[0] > 4000
    assert json.loads(run("return living.suspended({});", sources=DATA))["chapters"] == {}


def test_a_time_is_written_as_the_platform_wants_it() -> None:
    cases = {
        0: "0000:00:00.00", 1_234: "0000:00:01.23", 59_999: "0000:01:00.00", -5: "0000:00:00.00",
        3_600_000: "0001:00:00.00", 86_399_990: "0023:59:59.99",
    }  # fmt: skip
    got = run("return input.map((ms) => living.sessionTime(ms));", list(cases), sources=DATA)
    assert got == list(cases.values())


def test_the_platform_is_looked_for_in_every_window_that_may_be() -> None:
    body = """
      const api = {};
      const top = { API: api }; top.parent = top;
      const deep = [...Array(input.deep)].reduce((parent) => ({ parent, top: parent.top }), top);
      const alone = {}; alone.parent = alone.top = alone;
      const opened = { opener: { parent: top, top } }; opened.parent = opened.top = opened;
      const closed = {}; closed.parent = closed.top = closed;
      Object.defineProperty(closed, "API", { get() { throw new Error("another site's"); } });
      const framed = { parent: closed, top: closed };
      return [top, deep, opened, alone, framed].map((start) => living.findApi(start) === api);"""
    got = run(body, {"deep": 7}, sources=DATA)
    assert got == [True, True, True, False, False]


# ---------------------------------------------------------------- a page on its own


PAGE = """<!DOCTYPE html>
<html><head><link rel="next" href="b.html"><link rel="stylesheet" href="a.css?v=1">
<script src="living.python.js"></script><script>if (1 < 2 && "</a>") {}</script></head><body>
<div class="bd-sidebar-primary x"><b><a href="b.html">B<br></a><img src="no.png"></b></div>
<a class="r" href="b.html#c" target="t">other &amp; page</a> <a href="#here">here</a>
<a href="https://x.org/?a=1&amp;b=2">out</a> <a class="run-here" href="../lite/x">run</a>
<button class="btn search-button">?</button><img src="data:image/png;base64,AA">
<p>&lt;kept&gt; &#8212;
</body></html>"""


def test_a_page_loses_the_book_and_nothing_else() -> None:
    text = without_the_book(PAGE, python=False)
    assert '<a class="r">other &amp; page</a>' in text
    assert '<a href="#here">here</a>' in text
    assert '<a href="https://x.org/?a=1&amp;b=2" target="_blank">out</a>' in text
    assert '<script>if (1 < 2 && "</a>") {}</script>' in text
    assert "<p>&lt;kept&gt; &#8212;" in text
    assert '<link rel="stylesheet" href="a.css?v=1">' in text
    for gone in ("sidebar", "b.html", "no.png", "run-here", "lite", "search", "living.python"):
        assert gone not in text
    assert "living.python.js" in without_the_book(PAGE, python=True)
    assert without_the_book(text, python=True) == text


def test_what_a_page_asks_for_is_found_and_may_not_be_missing(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "s/f").mkdir(parents=True)
    (tmp_path / "s/a.css").write_text('@import "b.css"; x {background: url(f/x.woff2?v=1#y)}')
    (tmp_path / "s/b.css").write_text(
        "y {background: url('data:image/png;base64,AA')} @import 'a.css'"
    )
    (tmp_path / "s/f/x.woff2").write_bytes(b"")
    text = '<link rel="stylesheet" href="../s/a.css?v=2"><a href="c.html">c</a>'
    assert assets(text, tmp_path, "book/a.html") == ["s/a.css", "s/b.css", "s/f/x.woff2"]
    with pytest.raises(ConfigError, match=r"asks for s/none\.js, which is not in"):
        assets(text + '<script src="../s/none.js">', tmp_path, "book/a.html")
    (tmp_path.parent / "out.js").write_text("")
    with pytest.raises(ConfigError, match=r"asks for \.\./out\.js"):
        assets('<script src="../../out.js">', tmp_path, "book/a.html")


# ---------------------------------------------------------------- the packages


@pytest.mark.site
def test_every_chapter_is_a_package_that_the_schemas_of_scorm_allow() -> None:
    manifests = {}
    for page in chapters():
        files = files_of(scorm_package(page, HTML))
        manifests[f"{page}.xml"] = files["imsmanifest.xml"]
        root = ET.fromstring(files["imsmanifest.xml"])
        named = [one.get("href") for one in root.iterfind(".//c:file", SPACES)]
        schemas = {path.name for path in scorm.SCHEMAS.glob("*.xsd")}
        assert len(schemas) == 3
        assert sorted(named) == sorted(set(files) - schemas - {"imsmanifest.xml"})  # type: ignore[type-var]
        (resource,) = root.iterfind(".//c:resource", SPACES)
        assert resource.get(f"{{{scorm.ADL}}}scormtype") == "sco"
        assert (
            resource.get("href") == f"book/{page}.html" == named[named.index(f"book/{page}.html")]
        )
        (item,) = root.iterfind(".//c:item", SPACES)
        assert item.get("identifierref") == resource.get("identifier")
        text = files[f"book/{page}.html"].decode()
        chapter = json.loads(re.search(r"livingScorm=(.*);</script>", text)[1])  # type: ignore[index]
        counted = {task["id"] for task in chapter["exercises"] if task["counts"]}
        assert counted == {i for i in of_chapter(page) if exercise(i).kind == "pencil"}
        assert text.count('class="scorm-said"') == text.count("living.scorm.js") == 1
    assert validation.violations(manifests, validation.SCORM) == []


@pytest.mark.site
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'adlcp:scormtype="sco"', b'adlcp:scormtype="page"'),
        (b"<organizations ", b"<organs "),
        (b'identifier="page"', b'identifier="1 page"'),
        (b"</schema>", b"</schema><place/>"),
    ],
)
def test_the_schemas_find_what_is_wrong(old: bytes, new: bytes) -> None:
    manifest = files_of(scorm_package("start", HTML))["imsmanifest.xml"]
    assert old in manifest
    wrong = manifest.replace(old, new)
    if old.endswith(b"s "):
        wrong = wrong.replace(b"</organizations>", b"</organs>")
    found = validation.violations({"imsmanifest.xml": wrong}, validation.SCORM)
    assert any("validity error" in line for line in found)


@pytest.mark.site
def test_the_same_bytes_twice_and_python_only_where_it_is_asked_for(tmp_path: Path) -> None:
    arguments = ["scorm", "--chapter", "start", "--out", str(tmp_path), "--html", str(HTML)]
    assert export.main(arguments) == 0
    (path,) = (tmp_path / "scorm").iterdir()
    plain = path.read_bytes()
    assert len(plain) < 3e6
    assert not any("pyodide" in name for name in files_of(plain))
    assert export.main([*arguments, "--python"]) == 0
    alive = files_of(path.read_bytes())
    lock = json.loads(alive["lite/static/pyodide/page-lock.json"])["packages"]
    for name in ("numpy", "mini-attn", "matplotlib", "pillow"):
        assert f"lite/static/pyodide/{lock[name]['file_name']}" in alive
    assert b"living.python.js" in alive["book/start.html"]
    assert export.main(arguments) == 0
    assert path.read_bytes() == plain


@pytest.mark.site
def test_a_book_with_a_hole_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = tmp_path / "html"
    (html / "book").mkdir(parents=True)
    (html / "_static").mkdir()
    shutil.copy(HTML / "book/start.html", html / "book")
    out = tmp_path / "out"
    arguments = ["scorm", "--chapter", "start", "--out", str(out), "--html", str(html)]
    for content, words in (
        (None, "run make book first"),
        ("", "has no exercises on start: run make book first"),
        ((HTML / "_static/living.progress.js").read_text(), "asks for _static/"),
    ):
        if content is not None:
            (html / "_static/living.progress.js").write_text(content)
        assert export.main(arguments) == 2
        said = capsys.readouterr()
        assert words in said.err
        assert (said.err.count("\n"), said.out, out.exists()) == (1, "", False)


def test_the_adapter_is_beside_every_other_script() -> None:
    assert (scorm.STATIC / Path(scorm.ADAPTER).name).is_file()
