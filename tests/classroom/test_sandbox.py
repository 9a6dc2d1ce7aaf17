"""The lock on an answer's process: each layer holds alone, and without it the attempt succeeds."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from classroom.grading.judge import probe
from classroom.sandbox import seccomp, system_calls
from tests.sampling import sampled

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
@pytest.mark.parametrize("what", sampled(ATTEMPTS, lambda _: "an attempt", 4))
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
        rows = [*system_calls.ALLOWED, *(call for call, _ in system_calls.ALLOWED_COMMANDS)]
        numbers = [row[column[machine]] for row in rows]
        given = [number for number in numbers if number is not None]
        assert len(set(given)) == len(given)
        if Path(place).exists():
            found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(place).read_text())
            known = {name: int(number) for name, number in found}
            known["newfstatat"] = known.get("newfstatat", known.get("fstatat", -1))
            assert max(given) < system_calls.HIGHEST
            for row in rows:
                assert known.get(row[0], row[column[machine]]) == row[column[machine]], row[0]


# Makes each call that is not on the list, with arguments that no call can use, and prints those
# that the kernel looked at; then commands of fcntl and ioctl on a file that may be read.
CALLS = """
import ctypes, errno, os, sys
sys.path.insert(0, {root!r})
from classroom.sandbox import linux, seccomp
libc = linux.load_libc()
handle = os.open({root!r} + "/README.md", os.O_RDONLY)
linux.drop_capabilities(libc)
assert linux.prctl(libc, linux.PR_SET_NO_NEW_PRIVS, 1)
assert seccomp.refuse_calls(libc)
def refused(number, *values):
    ctypes.set_errno(0)
    padded = (*values, *[-1] * 6)[:6]
    done = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, padded))
    return done == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
print([n for n in {numbers!r} if not refused(n)])
print([c for n, c in {commands!r} if not refused(n, handle, c)])
"""
# linux/fs.h and others: flags, attributes, encryption and holes of a file, copies of its blocks;
# asynchronous signals, the owner of a signal, the input of a terminal, a device's buffers.
IOCTLS = (0x40086602, 0x40087602, 0x401C5820, 0x800C6613, 0x4030582A, 0x40049409, 0x4020940D,
          0x5452, 0x5421, 0x8901, 0x8902, 0x5412, 0x5414, 0x5423, 0x540E, 0x1261, 0x4004667F,
          0x541B, 0xC0045878, 0x801C581F, 0x40046629, 0, -1)  # fmt: skip
# linux/fcntl.h: status, locks, owner, signal, lease, notices, size of a pipe, seals, hints.
FCNTLS = (4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 36, 37, 38, 1024, 1025, 1026, 1027, 1028, 1029,
          1031, 1032, 1033, 1034, 1035, 1036, 1037, 1038, 1039, -1)  # fmt: skip


@linux
def test_every_call_that_is_not_listed_is_refused() -> None:
    """Those of kernels to come too, and commands whose upper half the kernel would not read."""
    machine = platform.machine()
    if machine not in seccomp.AUDIT_ARCH:
        pytest.skip(f"no list of calls for {machine}")
    calls = [*system_calls.ALLOWED, *(call for call, _ in system_calls.ALLOWED_COMMANDS)]
    allowed = {getattr(call, machine) for call in calls}
    if machine == "x86_64":  # uretprobe and uprobe pass every filter, and end who calls them
        allowed |= {335, 336}
    numbers = [n for n in range(700) if n not in allowed] + [2**20, 0x40000000, 0x40000001, -1]
    by_name = {call.name: getattr(call, machine) for call in calls}
    asked = [(by_name["ioctl"], c) for c in IOCTLS] + [(by_name["fcntl"], c) for c in FCNTLS]
    asked += [(number, command + 2**32) for number, command in asked if command > 0]
    source = CALLS.format(root=str(ROOT), numbers=numbers, commands=asked)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.stdout.split("\n") == ["[]", "[]", ""], (done.stdout, done.stderr)


def test_no_call_on_the_list_changes_a_file_or_another_process() -> None:
    """So that a line which is added by mistake is seen."""
    words = ("xattr", "chmod", "chown", "utime", "setattr", "link", "rename", "mkdir", "mknod",
             "rmdir", "truncate", "sync", "sock", "send", "recv", "connect", "bind", "listen",
             "accept", "fork", "clone", "exec", "kill", "pidfd", "ptrace", "process_", "prctl",
             "rlimit", "unshare", "setns", "mount", "fs", "key", "bpf", "perf", "io_", "uring",
             "shm", "sem", "msg", "mq_", "memfd", "handle", "inotify", "fanotify", "timer_",
             "timerfd", "signalfd", "eventfd", "epoll", "splice", "tee", "sendfile", "copy_file",
             "set_mempolicy", "sched_set", "setpriority", "landlock", "seccomp", "personality",
             "setuid", "setgid", "setsid", "module", "reboot", "swap", "acct", "quota", "ptr",
             "chroot", "chdir", "umask", "flock", "lock", "pkey", "userfault", "creat")  # fmt: skip
    kept = {"readlink", "readlinkat", "newfstatat", "fstat", "clock_gettime", "clock_getres",
            "clock_nanosleep", "setitimer", "getitimer", "mbind"}  # fmt: skip
    names = {call.name for call in system_calls.ALLOWED} - kept
    assert [name for name in sorted(names) if any(word in name for word in words)] == []
