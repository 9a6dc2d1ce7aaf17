"""A stamp of version, commit and date on every page and in every notebook that is handed out."""

from __future__ import annotations

import datetime
import os
import subprocess
from functools import cache
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from mini_attn import __version__


def git(folder: str, *arguments: str) -> str:
    """Output of a git command in a folder; empty where there is no git or no repository."""
    try:
        answer = subprocess.run(
            ["git", "-C", folder, *arguments], capture_output=True, encoding="utf-8", check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


@cache
def changed(folder: str, source: str) -> str:
    """Day of a file's last change, or "" where git doesn't know it."""
    return git(folder, "log", "-1", "--format=%cs", "--", source)


def read_stamp(folder: str) -> dict[str, str]:
    """Version of the package; commit and its date, or today where there is no repository."""
    commit, _, date = git(folder, "log", "-1", "--format=%h %cs").partition(" ")
    if commit and git(folder, "status", "--porcelain", "--untracked-files=no"):
        commit += " with changes"
    if not date:
        seconds = os.environ.get("SOURCE_DATE_EPOCH")
        moment = datetime.datetime.fromtimestamp(
            float(seconds) if seconds else datetime.datetime.now().timestamp(), datetime.UTC
        )
        date = moment.date().isoformat()
    return {"version": __version__, "commit": commit, "date": date}


def set_stamp(app: Sphinx, config: Config) -> None:
    """Make the stamp a configuration value: when it changes, Sphinx writes every page anew."""
    config["stamp"] = read_stamp(app.confdir)


def add_stamp(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the stamp and the page's own date to the footer's template."""
    date = ""
    if doctree is not None:
        date = changed(str(app.confdir), str(app.env.doc2path(pagename)))
    context["stamp"] = {**app.config["stamp"], "page_date": date}
    context["author"] = app.config.author


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the stamp."""
    app.add_config_value("stamp", {}, "html", dict)
    app.connect("config-inited", set_stamp)
    app.connect("html-page-context", add_stamp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
