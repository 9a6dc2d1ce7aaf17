"""The check of outside links, tried on a page of its own and a server of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import links
from tools.site import serve


def test_dead_addresses_are_named_with_their_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One address answers, one does not exist, one host refuses; own pages are not asked."""
    host, site = tmp_path / "host", tmp_path / "site"
    host.mkdir()
    site.mkdir()
    (host / "alive.html").write_text("here")
    monkeypatch.setattr(links, "SECONDS", 5)
    with serve(host) as address:
        body = "".join(
            f'<a class="x" href="{target}">x</a>'
            for target in (f"{address}/alive.html#part", f"{address}/dead.html", "own.html",
                           "http://127.0.0.1:9/closed")
        )  # fmt: skip
        (site / "page.html").write_text(body)
        assert links.main(site) == 2
    said = capsys.readouterr().out
    assert "dead.html\n        404" in said
    assert "127.0.0.1:9/closed" in said
    assert "on page.html" in said
    assert "3 addresses, 2 without an answer" in said
