"""Ask every outside address of the built book whether it still answers. ``make links``.

Links between the pages are checked by ``make test``; this needs a network and other people's
servers, so it is a command of its own.
"""

import re
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

from tools import HTML

HREF = re.compile(r'<a [^>]*href="(https?://[^"#]+)')
SECONDS = 20
# An answer that says "not for programs" is an answer.
ALIVE = {401, 403, 405, 406, 418, 429, 503, 999}


def addresses(folder: Path) -> dict[str, list[str]]:
    """Outside addresses, each with the pages that link to it."""
    found = defaultdict(list)
    for path in sorted(folder.rglob("*.html")):
        if "lite" in path.relative_to(folder).parts:
            continue
        for address in sorted(set(HREF.findall(path.read_text(encoding="utf-8")))):
            if "//localhost" not in address:
                found[unescape(address)].append(path.relative_to(folder).as_posix())
    return dict(found)


def fault(address: str) -> str | None:
    """Why an address does not answer, or None."""
    request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):
            return None
    except urllib.error.HTTPError as error:
        return None if error.code in ALIVE else f"{error.code} {error.reason}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))


def main(folder: Path = HTML) -> int:
    """Print each address that fails with the pages that name it; the number of failures."""
    if not folder.exists():
        sys.exit("[links] there is no built book; run `make book` first")
    found = addresses(folder)
    with ThreadPoolExecutor(8) as pool:
        faults = dict(zip(found, pool.map(fault, found), strict=True))
    dead = {address: reason for address, reason in faults.items() if reason}
    for address, reason in dead.items():
        print(f"[links] {address}\n        {reason}; on {', '.join(found[address])}")
    print(f"[links] {len(found)} addresses, {len(dead)} without an answer")
    return len(dead)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
