"""The widgets' JavaScript, built from its sources and run in Node, for the tests."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tools import bundle


@cache
def built() -> Path:
    """A folder with everything that ``make bundle`` writes, built afresh once a session."""
    folder = Path(tempfile.mkdtemp(prefix="living-"))
    bundle.build(folder)
    return folder


# BigInt has no JSON form; whole numbers travel as texts then.
RUNNER = """
import * as living from %s;
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const input = JSON.parse(Buffer.concat(chunks).toString());
const run = async (living, input) => { %s };
const exact = (_, value) => typeof value === "bigint" ? value.toString() : value;
process.stdout.write(JSON.stringify((await run(living, input)) ?? null, exact));
"""


def run(body: str, data: Any = None) -> Any:
    """Run a function body with ``living`` (all exports) and ``input``; gives what it returns."""
    module = (built() / "living.node.mjs").as_uri()
    source = RUNNER % (json.dumps(module), body)
    done = subprocess.run(
        [bundle.NODE, "--input-type=module", "--eval", source],
        input=json.dumps(data).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
