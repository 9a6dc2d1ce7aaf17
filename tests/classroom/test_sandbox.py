"""The lock on an answer's process: each layer holds alone, and without it the attempt succeeds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from classroom.grading.judge import probe
from classroom.sandbox import system_calls

ROOT = Path(__file__).resolve().parents[2]

# Locks by one layer, tries something, and says what became of it.
PROGRAM = """
import os, socket, sys, threading, time
sys.path.insert(0, {root!r})
from classroom.sandbox import audit, landlock, linux, lock, seccomp
libc = linux.load_libc()
assert linux.prctl(libc, linux.PR_SET_NO_NEW_PRIVS, 1)
readable = list(lock.readable_paths([]))
layers = {{
    "none": lambda: True,
    "landlock": lambda: landlock.restrict(libc, readable),
    "seccomp": lambda: seccomp.refuse_calls(libc),
    "hook": lambda: audit.add_hook(readable) is None,
    "limits": lock.limit_resources,
}}
assert layers[{layer!r}]()
def attempt():
    {attempt}
try:
    attempt()
    print("done")
except BaseException as error:
    print("refused", type(error).__name__)
"""

ATTEMPTS = {
    "read a file": 'open("/etc/passwd").read()',
    "read by number": 'os.read(os.open("/etc/passwd", os.O_RDONLY), 1)',
    "write a file": 'open(os.environ["FOLDER"] + "/new", "w").write("x")',
    "remove a file": 'os.remove(os.environ["FOLDER"] + "/old")',
    "list a folder": 'os.listdir("/etc")',
    "change a mode": 'os.chmod(os.environ["FOLDER"] + "/old", 0o777)',
    "open a socket": "socket.socket()",
    "fork": "os.fork() or os._exit(0)",
    "start a thread": "threading.Thread(target=time.sleep, args=(0,)).start()",
    "start a program": 'os.posix_spawn("/bin/true", ["true"], {})',
    "signal the parent": "os.kill(os.getppid(), 0)",
    "raise a limit": "__import__('resource').setrlimit(0, (1, 1))",
    "kilobytes written": 'os.write(os.open(os.environ["FOLDER"] + "/old", 1), b"x" * 4096)',
    "two gigabytes": "bytearray(2**31)",
    "signal through a pipe": "__import__('fcntl').fcntl(os.pipe()[0], 8, os.getppid())",
}
HOLDS = {
    "landlock": ["read a file", "read by number", "write a file", "remove a file",
                 "list a folder", "kilobytes written"],
    "seccomp": ["change a mode", "open a socket", "fork", "start a thread", "start a program",
                "signal the parent", "raise a limit", "signal through a pipe"],
    # Not threads: before Python 3.12 starting one raises no event.
    "hook": ["read a file", "read by number", "write a file", "remove a file", "list a folder",
             "change a mode", "open a socket", "fork", "start a program", "signal the parent",
             "raise a limit", "kilobytes written"],
    "limits": ["kilobytes written", "two gigabytes"],
}  # fmt: skip


def attempt(layer: str, what: str, folder: Path) -> str:
    """What became of an attempt under one layer."""
    (folder / "old").write_text("kept")
    source = PROGRAM.format(root=str(ROOT), layer=layer, attempt=ATTEMPTS[what])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source],
        capture_output=True,
        text=True,
        env={"FOLDER": str(folder)},
        timeout=60,
        check=False,
    )
    # A process that a limit ends says nothing.
    return done.stdout.strip() or f"ended {done.returncode}"


linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")


@linux
@pytest.mark.parametrize("what", ATTEMPTS)
def test_without_a_layer_every_attempt_succeeds(what: str, tmp_path: Path) -> None:
    """So that the tests below can fail."""
    assert attempt("none", what, tmp_path) == "done"


@linux
@pytest.mark.parametrize(
    ("layer", "what"), [(layer, what) for layer, held in HOLDS.items() for what in held]
)
def test_each_layer_refuses_alone(layer: str, what: str, tmp_path: Path) -> None:
    assert attempt(layer, what, tmp_path) != "done"
    assert (tmp_path / "old").read_text() == "kept"
    assert not (tmp_path / "new").exists()


@linux
def test_every_layer_is_in_force_where_the_kernel_has_them() -> None:
    """The kernel says itself what it has; the answer's process must use all of it."""
    status = Path("/proc/self/status").read_text()
    lists = Path("/sys/kernel/security/lsm")
    held = probe()
    assert held["limits"]
    assert held["hook"]
    assert held["seccomp"] == ("Seccomp:" in status)
    if lists.exists():
        assert held["landlock"] == ("landlock" in lists.read_text())


@linux
def test_the_numbers_of_the_calls_are_the_kernel_s() -> None:
    """Against the kernel's own headers, where they are installed; else only for repeats."""
    import re

    column = {"x86_64": 1, "aarch64": 2}
    headers = {
        "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
        "aarch64": "/usr/include/asm-generic/unistd.h",
    }
    for machine, place in headers.items():
        numbers = [row[column[machine]] for row in system_calls.REFUSED]
        given = [number for number in numbers if number is not None]
        assert len(set(given)) == len(given)
        if Path(place).exists():
            found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(place).read_text())
            known = {name: int(number) for name, number in found}
            for row in system_calls.REFUSED:
                assert known.get(row[0], row[column[machine]]) == row[column[machine]], row[0]
