"""Answer, line by line, what some tests say, each time in a fork that has the imports behind it.

The modules that are slow to import and never change are the arguments; a line on the standard
input is a JSON list of tests, seconds, and whether bytecode may be kept.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence

import pytest

OPTIONS = ["-x", "-q", "--tb=no", "-rfE", "--basetemp=.cache/tmp"]


def ask(tests: Sequence[str], seconds: int, keep: bool) -> tuple[str, str]:
    """A word, and the first test that failed or what else there is to say."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        child = os.fork()
        if not child:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
            # Bytecode is taken for its source if both are of one second: faults keep none.
            sys.dont_write_bytecode = not keep
            signal.alarm(seconds)
            status = int(pytest.main([*OPTIONS, *tests]))
            sys.stdout.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        said = log.read()
    failed = [line.removeprefix("FAILED ") for line in said.splitlines() if line[:7] == "FAILED "]
    if status == 0:
        return "passed", ""
    if status == -signal.SIGALRM:
        return "time", f"longer than {seconds} s"
    if status == 1 and failed:
        return "killed", failed[0].split(" - ")[0]
    return "broken", said[-1000:]


if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    answers = os.fdopen(os.dup(1), "w")
    for request in sys.stdin:
        print(json.dumps(ask(*json.loads(request))), file=answers, flush=True)
