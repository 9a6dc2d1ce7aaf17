"""The widgets' JavaScript run in Node, for the tests: built, or file by file as it stands."""

from __future__ import annotations

import atexit
import json
import os
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


# BigInt has no JSON form; whole numbers travel as texts then. Typed arrays become lists. What a
# body leaves behind as a global name is gone at its end.
RUNNER = """
import { createInterface } from "node:readline";
const plain = (value) => ArrayBuffer.isView(value) ? Array.from(value) : value;
const exact = (_, value) => typeof value === "bigint" ? value.toString() : plain(value);
const AsyncFunction = (async () => {}).constructor;
const names = new Set(Object.getOwnPropertyNames(globalThis));
for await (const line of createInterface({ input: process.stdin })) {
  const { modules, body, input } = JSON.parse(line), said = {};
  try {
    const living = Object.assign({}, ...await Promise.all(modules.map((one) => import(one))));
    const strict = new AsyncFunction("living", "input", `"use strict"; ${body}`);
    said.value = (await strict(living, input)) ?? null;
  } catch (error) {
    said.error = error?.stack ?? String(error);
  }
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!names.has(name)) delete globalThis[name];
  }
  process.stdout.write(`${JSON.stringify(said, exact)}\\n`);
}
"""


class Node:
    """One process for the tests of a file, as to start it and to read the bundle takes longest."""

    def __init__(self) -> None:
        self.file = ""
        self.process: subprocess.Popen[str] | None = None

    def ask(self, file: str, question: dict[str, Any]) -> dict[str, Any]:
        """What it says for this file of tests; another file gets a process of its own."""
        if self.process is None or self.file != file or self.process.poll() is not None:
            self.end()
            self.file, self.process = file, subprocess.Popen(
                [bundle.NODE, "--input-type=module", "--eval", RUNNER],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
            )  # fmt: skip
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{json.dumps(question)}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said, "Node ended; what it said stands above"
        return json.loads(said)

    def end(self) -> None:
        """Let it end."""
        if self.process:
            self.process.communicate()
            self.process = None


NODE = Node()
atexit.register(NODE.end)


def run(body: str, data: Any = None, *, sources: Sequence[str] = ()) -> Any:
    """Run a function body with ``living`` (all exports) and ``input``; gives what it returns.

    The exports are those of everything that is bundled, or of the sources that are named.
    """
    modules = [SOURCES / name for name in sources] or [built() / "living.node.mjs"]
    question = {"modules": [module.as_uri() for module in modules], "body": body, "input": data}
    said = NODE.ask(os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0], question)
    assert "error" not in said, said["error"]
    return said["value"]
