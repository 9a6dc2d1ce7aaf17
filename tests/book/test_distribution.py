"""What a release holds: built twice with the same bytes, refused for what would be wrong in it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from classroom.sheets.leaks import telling_line
from classroom.sheets.wheel import build_wheel
from mini_attn import __version__
from tools import ROOT, parts, release

IN_TREE = ("mini_attn", "book/_lite", "book/assets", "pyproject.toml", "requirements.txt",
           "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in")  # fmt: skip
WHEEL = f"mini_attn-{__version__}-py3-none-any.whl"
SOURCE = f"mini_attn-{__version__}.tar.gz"
BILL = f"mini_attn-{__version__}.cdx.json"


def commit(folder: Path) -> Path:
    """Make a tree a repository whose only commit has a date."""
    own = {"GIT_AUTHOR_DATE": "2026-11-28T12:00:00Z", "GIT_COMMITTER_DATE": "2026-11-28T12:00:00Z"}
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=folder, env=os.environ | own, check=True)
    return folder


def tracked(folder: Path) -> Path:
    """Copy what a release is made of, as it is now, and commit it."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", *IN_TREE]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return commit(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release, from one of two copies of the tree that gave the same."""
    folders = [tmp_path_factory.mktemp("tree") for _ in range(2)]
    for folder in folders:
        release.main(tracked(folder), folder / "dist")
    one, other = ({p.name: p.read_bytes() for p in (f / "dist").iterdir()} for f in folders)
    assert one == other
    return folders[0] / "dist"


@pytest.mark.exhaustive
def test_a_release_is_four_files_with_their_sums(made: Path) -> None:
    assert {path.name for path in made.iterdir()} == {WHEEL, SOURCE, BILL, "SHA256SUMS"}
    sums = dict(
        reversed(line.split("  ")) for line in (made / "SHA256SUMS").read_text().splitlines()
    )
    found = {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in sums}
    assert sums == found
    assert set(sums) == {WHEEL, SOURCE, BILL}


@pytest.mark.exhaustive
def test_the_wheel_holds_what_the_package_uses_and_no_more(made: Path) -> None:
    assert (made / WHEEL).stat().st_size <= 4_500_000
    names = set(zipfile.ZipFile(made / WHEEL).namelist())
    sources = {p.relative_to(ROOT).as_posix() for p in (ROOT / "mini_attn").rglob("*.py")}
    assert sources <= names
    assert not [name for name in names if name.endswith((".png", "page.js", "index.js", ".md"))]
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = named["tool"]["setuptools"]["package-data"]["mini_attn.stories"]
    here = ROOT / "mini_attn/stories"
    chosen = {path.relative_to(ROOT).as_posix() for one in patterns for path in here.glob(one)}
    assert chosen == {name for name in names if name.startswith("mini_attn/stories/weights/")}
    assert len(chosen) >= len(patterns)


@pytest.mark.exhaustive
def test_students_and_the_site_get_the_same_wheel(made: Path, tmp_path: Path) -> None:
    """One name, one content: `make release` and the book's notebooks build theirs alone."""
    assert build_wheel(tmp_path).read_bytes() == (made / WHEEL).read_bytes()


@pytest.mark.exhaustive
def test_the_source_archive_builds_and_names_nobody(made: Path, tmp_path: Path) -> None:
    with tarfile.open(made / SOURCE) as opened:
        members = opened.getmembers()
        opened.extractall(tmp_path, filter="data")
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert len({m.mtime for m in members}) == 1
    folder = next(tmp_path.iterdir())
    assert (folder / "mini_attn/widgets/js/rotor/index.js").exists(), "sources of the figures"
    assert {path.name for path in folder.iterdir()} <= release.TOPS


@pytest.mark.exhaustive
def test_the_list_of_parts_belongs_to_the_wheel(made: Path) -> None:
    bill = json.loads((made / BILL).read_text(encoding="utf-8"))
    digest = hashlib.sha256((made / WHEEL).read_bytes()).hexdigest()
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert bill["metadata"]["timestamp"] == "2026-11-28T12:00:00Z"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tree with all that's asked before the build."""
    tree = tmp_path / "small"
    for name in ("mini_attn/__init__.py", "CITATION.cff", "CHANGELOG.md"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    return tree


@pytest.mark.parametrize("change", ["a new file", "a changed file"])
def test_uncommitted_changes_are_refused(small: Path, change: str) -> None:
    commit(small)
    name = "note.txt" if change == "a new file" else "CHANGELOG.md"
    (small / name).write_text("mine")
    with pytest.raises(release.ReleaseError, match=rf"commit or remove {name} first"):
        release.main(small)
    assert not (small / "dist").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("CITATION.cff", __version__, "9.9.9", "and CITATION.cff says 9.9.9"),
        ("CITATION.cff", "version:", "edition:", "doesn't say version"),
        ("CHANGELOG.md", f"## {__version__} (", "## 9.9.9 (", "CHANGELOG.md has no heading"),
        ("mini_attn/__init__.py", __version__, "9.9.9", "mini_attn is 9.9.9"),
    ],
)
def test_a_version_that_is_not_the_same_everywhere_is_refused(
    small: Path, name: str, old: str, new: str, words: str
) -> None:
    text = (small / name).read_text(encoding="utf-8")
    assert old in text
    (small / name).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(release.ReleaseError, match=re.escape(words)):
        release.main(commit(small))


def test_a_folder_that_is_no_repository_is_refused(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(release.ReleaseError, match="isn't a repository with a commit"):
        release.main(small)


def test_version_and_date_are_cited() -> None:
    assert release.read_version(ROOT) == __version__
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__


def archives(folder: Path, wheel: dict[str, bytes], source: dict[str, bytes]) -> tuple[Path, Path]:
    """A wheel and a source archive with these files besides what they must have."""
    one, other = folder / "x.whl", folder / "x.tar.gz"
    with zipfile.ZipFile(one, "w") as opened:
        for name in release.MUST:
            opened.writestr(f"mini_attn/{name}", b"")
        for name, content in wheel.items():
            opened.writestr(name, content)
    with tarfile.open(other, "w:gz") as packed:
        for name, content in {"README.md": b"", **source}.items():
            member = tarfile.TarInfo(f"mini_attn-1/{name}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return one, other


SOLVED = telling_line("late_mask").encode()


@pytest.mark.parametrize(
    ("wheel", "source", "words"),
    [
        ({"tests/x.py": b""}, {}, ["x.whl holds tests, which isn't the package's"]),
        ({"mini_attn/big": bytes(4_500_001)}, {}, ["x.whl has .* and may have 4,500,000"]),
        ({"mini_attn/x.py": SOLVED}, {}, ["x.whl/mini_attn/x.py: late_mask"]),
        ({}, {"solutions/x.py": b""}, ["x.tar.gz holds solutions, which isn't"]),
        ({}, {"mini_attn/x.py": SOLVED}, ["mini_attn-1|x.py: late_mask"]),
        ({}, {}, []),
    ],
)
def test_what_does_not_belong_is_named(
    tmp_path: Path, wheel: dict[str, bytes], source: dict[str, bytes], words: list[str]
) -> None:
    found = release.faults(*archives(tmp_path, wheel, source))
    assert len(found) == len(words)
    for fault, pattern in zip(found, words, strict=True):
        assert re.search(pattern, fault)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = archives(tmp_path, {}, {})
    monkeypatch.setattr(release, "MUST", ("py.typed", "absent.py"))
    assert release.faults(one, other) == ["x.whl lacks mini_attn/absent.py"]


def bill(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "x.whl").write_bytes(b"a wheel")
    return parts.bill("1.2.3", 0, tmp_path / "x.whl")


def test_every_part_has_version_license_and_sum(tmp_path: Path) -> None:
    """The format's own fields: a tool that reads it finds what it needs."""
    made = bill(tmp_path)
    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made["serialNumber"])
    refs = [one["bom-ref"] for one in made["components"]]
    assert len(refs) == len(set(refs))
    assert {one["ref"] for one in made["dependencies"]} == {*refs, "mini_attn@1.2.3"}
    for one in made["components"]:
        assert one["type"] == "library"
        assert one["version"]
        assert one["licenses"]
        for inner in one.get("components", ()):
            assert re.fullmatch(r"[0-9a-f]{64}", inner["hashes"][0]["content"])
    bare = {r for r, one in zip(refs, made["components"], strict=True)
            if not one.get("hashes") and not one.get("components")}  # fmt: skip
    assert {ref.rpartition("@")[0] for ref in bare} == {  # what pip takes from the index
        "package/numpy", "browser/jupyterlite-core", "browser/jupyterlite-pyodide-kernel",
    }  # fmt: skip


def test_parts_are_all_that_others_wrote(tmp_path: Path) -> None:
    names = {one["name"] for one in bill(tmp_path)["components"]}
    assert {"d3-scale", "@codemirror/view", "KaTeX", "pyodide", "numpy", "matplotlib"} <= names
    assert set(parts.LICENSES) <= names, "a license of something that's gone"
    folders = {p.name for p in (ROOT / "book/assets").iterdir() if p.is_dir()}
    assert folders == {folder for folder, *_ in parts.VENDORED}
    own = [one for one in bill(tmp_path)["components"] if one["name"] == "Source Sans 3"]
    assert own[0]["version"] == "5.3.0"
    assert [file["name"].rpartition("/")[2] for file in own[0]["components"]] == [
        "source-sans-3-latin-wght-normal.woff2"
    ]


def test_a_vendored_folder_without_a_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "VENDORED", [("katex", "KaTeX", r"edition ([\d.]+)", "MIT", "*")])
    with pytest.raises(ValueError, match="doesn't say the version of KaTeX"):
        bill(tmp_path)
