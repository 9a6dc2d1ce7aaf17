"""The widgets' JavaScript run in Node, for the tests: built, or file by file as it stands."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mini_attn.widgets.data import FOLDER
from tools import bundle

SOURCES = FOLDER.parent


@cache
def built() -> Path:
    """A folder with everything that ``make bundle`` writes, built afresh once a session."""
    folder = Path(tempfile.mkdtemp(prefix="living-"))
    bundle.build(folder)
    return folder


# BigInt has no JSON form; whole numbers travel as texts then. Typed arrays become lists.
RUNNER = """
const living = Object.assign({}, ...await Promise.all(%s.map((module) => import(module))));
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const input = JSON.parse(Buffer.concat(chunks).toString());
const run = async (living, input) => { %s };
const plain = (value) => ArrayBuffer.isView(value) ? Array.from(value) : value;
const exact = (_, value) => typeof value === "bigint" ? value.toString() : plain(value);
process.stdout.write(JSON.stringify((await run(living, input)) ?? null, exact));
"""


def run(body: str, data: Any = None, *, sources: Sequence[str] = ()) -> Any:
    """Run a function body with ``living`` (all exports) and ``input``; gives what it returns.

    The exports are those of everything that is bundled, or of the sources that are named.
    """
    modules = [SOURCES / name for name in sources] or [built() / "living.node.mjs"]
    source = RUNNER % (json.dumps([module.as_uri() for module in modules]), body)
    done = subprocess.run(
        [bundle.NODE, "--input-type=module", "--eval", source],
        input=json.dumps(data).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
