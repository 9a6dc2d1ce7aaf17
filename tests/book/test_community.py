"""Forms for issues are what a code host takes, and what people have to fill in says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools import ROOT

FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
KINDS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}


def test_the_pages_link_finds_its_form() -> None:
    assert {path.name for path in FORMS} == {"grader.yml", "idea.yml", "package.yml", "page.yml"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_the_host_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form.keys() <= {"name", "description", "title", "labels", "assignees", "body"}
    assert form["name"]
    assert 10 <= len(form["description"]) <= 200
    ids = [one["id"] for one in form["body"]]
    assert len(ids) == len(set(ids))
    assert any(one.get("validations", {}).get("required") for one in form["body"])
    for one in form["body"]:
        assert one.keys() <= {"type", "id", "attributes", "validations"}
        assert one["type"] in KINDS
        assert one["attributes"]["label"]


def test_support_names_each_form() -> None:
    text = (ROOT / "SUPPORT.md").read_text(encoding="utf-8")
    for path in FORMS:
        name = yaml.safe_load(path.read_text(encoding="utf-8"))["name"]
        assert f"*{name}*" in text, name


def test_a_contact_is_there_or_missing_in_words() -> None:
    """No one is invented: until somebody fills it in, both files say that it's open."""
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md"):
        lines = [x for x in (ROOT / name).read_text(encoding="utf-8").splitlines() if "ontact" in x]
        assert any("not filled in yet" in line or "@" in line for line in lines), name
