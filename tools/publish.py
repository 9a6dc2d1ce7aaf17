"""Put the built book on the branch ``gh-pages`` of a remote, as a single commit without history.

``make publish TO=remote``, by default to ``origin``. A host such as GitHub Pages serves
that branch, and links of the book to its notebooks lead there. What is published is what a commit
holds: it refuses a build of another commit, and tracked files with changes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import HTML, ROOT

BRANCH = "gh-pages"


class Refusal(Exception):
    """A reason not to publish, with what to do about it."""


def git(*arguments: str, folder: Path, **variables: str) -> str:
    """Run git and return what it prints.

    Raises
    ------
    Refusal
        If git fails, with what it says.
    """
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments],
        cwd=folder, env={**os.environ, **variables}, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise Refusal(f"git {arguments[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def checked(html: Path, root: Path) -> str:
    """Return the commit that the build is of.

    Raises
    ------
    Refusal
        If there is no build, if tracked files have changes, or if it is of another commit.
    """
    stamp = html / "notebooks/stamp.json"
    if not (html / "index.html").exists() or not stamp.exists():
        raise Refusal("there is no built book; run `make book` first")
    if changed := git("status", "--porcelain", "--untracked-files=no", folder=root):
        names = ", ".join(line.split(maxsplit=1)[1] for line in changed.splitlines()[:5])
        raise Refusal(f"these files have changes: {names}; commit them, then run `make book`")
    head = git("rev-parse", "HEAD", folder=root)
    built = json.loads(stamp.read_text(encoding="utf-8"))["commit"]
    if not built or not head.startswith(built):
        of = f"commit {built}" if built else "no commit"
        raise Refusal(f"the built book is of {of}, and you are at {head[:8]}; run `make book`")
    return head


def commit_of(html: Path, root: Path, source: str) -> str:
    """Make a commit of the built site, by whoever made the commit that it is of, and return it."""
    author, mail, date = git(
        "log", "-1", "--format=%an%n%ae%n%aI", source, folder=root
    ).splitlines()
    by = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author), ("EMAIL", mail), ("DATE", date))
    }
    with tempfile.TemporaryDirectory() as folder:
        place = {
            "GIT_DIR": git("rev-parse", "--absolute-git-dir", folder=root),
            "GIT_WORK_TREE": str(html.resolve()),
            "GIT_INDEX_FILE": str(Path(folder, "index")),
        }
        git("add", "--all", "--force", ".", folder=html, **place)
        tree = git("write-tree", folder=html, **place)
    return git("commit-tree", tree, "-m", f"The built book of {source}", folder=root, **by)


def publish(remote: str, html: Path = HTML, root: Path = ROOT) -> str:
    """Push the built book.

    Parameters
    ----------
    remote : str
        A remote's name, address or folder.
    html, root : Path
        The built site, and the checkout that it is of.

    Returns
    -------
    str
        What was pushed and where, in a line.

    Raises
    ------
    Refusal
        If there is no build of what is committed, or git fails; then the remote is as it was.
    """
    source = checked(html, root)
    commit = commit_of(html, root, source)
    git("push", "--force", remote, f"{commit}:refs/heads/{BRANCH}", folder=root)
    files = [path for path in html.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    return f"{len(files)} files, {size:.0f} MB, of commit {source[:8]}, on {BRANCH} of {remote}"


def main(arguments: list[str] | None = None) -> int:
    """Publish and say what was done; the exit status."""
    parser = argparse.ArgumentParser(prog="publish", description="Push the built book to gh-pages.")
    parser.add_argument("remote", nargs="?", default="origin", help="a remote's name or address")
    try:
        print(f"[publish] {publish(parser.parse_args(arguments).remote)}")
    except Refusal as reason:
        print(f"[publish] {reason}", file=sys.stderr)
        return 1
    if not (HTML / "lite/state.sha256").exists():
        print("[publish] it has no browser notebooks: when it was built, they couldn't be fetched")
    return 0


if __name__ == "__main__":
    sys.exit(main())
