"""Locks the process that it runs in, before any of a student's code does.

Two layers. Where Linux has them, Landlock and seccomp: the kernel then refuses files, network,
processes, signals and other processes' memory, for root too. And on every system limits of
memory and time, and an audit hook by which Python itself refuses; that one can be got round by
somebody who writes into the interpreter's memory. Standard library only: the process must not
load anything that it did not lock.

Sources: Linux `landlock(7)`, `seccomp(2)`, `capset(2)`; PEP 578 for the audit hook.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["MEMORY_BYTES", "PROCESSOR_SECONDS", "lock"]

MEMORY_BYTES = 2**30
PROCESSOR_SECONDS = 6

# System calls that an answer has no use for: name, number on x86-64, number on 64-bit Arm.
# None: the architecture has no such call.
REFUSED: tuple[tuple[str, int | None, int | None], ...] = (
    # the network
    ("socket", 41, 198), ("socketpair", 53, 199), ("connect", 42, 203), ("bind", 49, 200),
    ("listen", 50, 201), ("accept", 43, 202), ("accept4", 288, 242), ("sendto", 44, 206),
    ("sendmsg", 46, 211), ("sendmmsg", 307, 269),
    # processes and threads
    ("fork", 57, None), ("vfork", 58, None), ("clone", 56, 220), ("clone3", 435, 435),
    ("execve", 59, 221), ("execveat", 322, 281), ("setsid", 112, 157), ("setpgid", 109, 154),
    ("unshare", 272, 97), ("setns", 308, 268),
    # other processes, and signals to them
    ("kill", 62, 129), ("tkill", 200, 130), ("tgkill", 234, 131), ("rt_sigqueueinfo", 129, 138),
    ("rt_tgsigqueueinfo", 297, 240), ("pidfd_open", 434, 434), ("pidfd_send_signal", 424, 424),
    ("pidfd_getfd", 438, 438), ("ptrace", 101, 117), ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271), ("kcmp", 312, 272), ("perf_event_open", 298, 241),
    ("setpriority", 141, 140), ("sched_setscheduler", 144, 119), ("sched_setparam", 142, 118),
    ("sched_setattr", 314, 274), ("sched_setaffinity", 203, 122), ("ioprio_set", 251, 30),
    # limits, and that a process ends with the grader
    ("prctl", 157, 167), ("setrlimit", 160, 164), ("prlimit64", 302, 261),
    # memory that outlives a process or does not count as its own
    ("shmget", 29, 194), ("shmat", 30, 196), ("msgget", 68, 186), ("semget", 64, 190),
    ("mq_open", 240, 180), ("shmctl", 31, 195), ("msgctl", 71, 187), ("semctl", 66, 191),
    ("msgsnd", 69, 189), ("msgrcv", 70, 188), ("semop", 65, 193), ("semtimedop", 220, 192),
    ("mq_unlink", 241, 181), ("memfd_create", 319, 279), ("memfd_secret", 447, 447),
    ("add_key", 248, 217), ("request_key", 249, 218), ("keyctl", 250, 219),
    # what Landlock leaves open on files
    ("chmod", 90, None), ("fchmod", 91, 52), ("fchmodat", 268, 53), ("fchmodat2", 452, 452),
    ("chown", 92, None), ("fchown", 93, 55), ("lchown", 94, None), ("fchownat", 260, 54),
    ("utime", 132, None), ("utimes", 235, None), ("futimesat", 261, None),
    ("utimensat", 280, 88), ("setxattr", 188, 5), ("lsetxattr", 189, 6), ("fsetxattr", 190, 7),
    ("removexattr", 197, 14), ("lremovexattr", 198, 15), ("fremovexattr", 199, 16),
    ("truncate", 76, 45), ("name_to_handle_at", 303, 264), ("flock", 73, 32),
    ("inotify_add_watch", 254, 27), ("fanotify_init", 300, 262),
    # the machine, and back doors to the calls above
    ("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("chroot", 161, 51),
    ("swapon", 167, 224), ("swapoff", 168, 225), ("reboot", 169, 142),
    ("sethostname", 170, 161), ("setdomainname", 171, 162), ("init_module", 175, 105),
    ("finit_module", 313, 273), ("kexec_load", 246, 104), ("bpf", 321, 280),
    ("userfaultfd", 323, 282), ("io_uring_setup", 425, 425), ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427), ("open_by_handle_at", 304, 265), ("open_tree", 428, 428),
    ("move_mount", 429, 429), ("fsopen", 430, 430), ("fspick", 433, 433),
    ("mount_setattr", 442, 442), ("open_tree_attr", 467, 467), ("io_setup", 206, 0),
    ("syslog", 103, 116), ("personality", 135, 92), ("process_madvise", 440, 440),
    ("migrate_pages", 256, 238), ("move_pages", 279, 239), ("quotactl", 179, 60), ("acct", 163, 89),
    ("sync", 162, 81), ("syncfs", 306, 267),
    ("delete_module", 176, 106), ("kexec_file_load", 320, 294), ("clock_adjtime", 305, 266),
    ("vhangup", 153, 58), ("iopl", 172, None), ("ioperm", 173, None),
    ("settimeofday", 164, 170), ("clock_settime", 227, 112), ("adjtimex", 159, 171),
)  # fmt: skip

# Calls that are refused for some values of their second argument only: they would let the kernel
# send a signal to another process in the name of a pipe (F_SETOWN, F_SETSIG, F_SETOWN_EX, and the
# same for ioctl), or type into a terminal (TIOCSTI).
REFUSED_VALUES: tuple[tuple[tuple[int, int], tuple[int, ...]], ...] = (
    ((72, 25), (8, 10, 15)), ((16, 29), (0x8901, 0x8902, 0x5412)),
)  # fmt: skip

# Events of PEP 578 that Python refuses, by the beginning of their names.
REFUSED_EVENTS = (
    "ctypes.", "fcntl.", "ftplib.", "gc.get_", "http.", "imaplib.", "mmap.", "msvcrt.", "nntplib.",
    "os.chflags", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.fwalk",
    "os.getxattr", "os.kill", "os.killpg", "os.link", "os.listdir", "os.listxattr", "os.lockf",
    "os.mkdir", "os.posix_spawn", "os.remove", "os.removexattr", "os.rename", "os.rmdir",
    "os.scandir", "os.setxattr", "os.spawn", "os.startfile", "os.symlink", "os.system",
    "os.truncate", "os.unsetenv", "os.utime", "os.walk", "poplib.", "pty.", "resource.", "shutil.",
    "signal.pthread_kill", "smtplib.", "socket.", "sqlite3.", "subprocess.", "sys.addaudithook",
    "syslog.", "telnetlib.", "tempfile.", "urllib.", "webbrowser.", "winreg.", "_thread.start",
    "_winapi.", "_posixsubprocess.", "setopencodehook", "cpython.run_",
)  # fmt: skip

# Modules that reach the system without an event.
REFUSED_MODULES = (
    "_posixsubprocess", "_multiprocessing", "_posixshmem", "_socket", "socket", "_ctypes",
    "ctypes", "subprocess", "multiprocessing",
)  # fmt: skip

# Functions that raise no event: they are taken out of their modules.
DOORS = {
    "_posixsubprocess": ("fork_exec",),
    "signal": ("pidfd_send_signal",),
    "_signal": ("pidfd_send_signal",),
    **dict.fromkeys(
        ("os", "posix"),
        (
            "chroot", "copy_file_range", "initgroups", "memfd_create", "mkfifo", "mknod", "nice",
            "pidfd_open", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sendfile",
            "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setregid",
            "setresgid", "setresuid", "setreuid", "setsid", "setuid", "sync",
        ),
    ),
}  # fmt: skip

_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3


def _readable(extra: list[str]) -> Iterator[str]:
    """Paths that may be read: the standard library without what is installed in it, and NumPy."""
    for name in {"stdlib", "platstdlib"}:
        for entry in os.scandir(sysconfig.get_path(name)):
            if entry.name not in ("site-packages", "dist-packages"):
                yield entry.path
    yield from extra


def _limit_resources() -> bool:
    """Memory, processor time and files written; where the system has such limits."""
    try:
        import resource
    except ImportError:
        return False
    limits = {
        "RLIMIT_CPU": PROCESSOR_SECONDS, "RLIMIT_AS": MEMORY_BYTES, "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0, "RLIMIT_NPROC": 0, "RLIMIT_MEMLOCK": 0, "RLIMIT_NOFILE": 64,
    }  # fmt: skip
    for name, value in limits.items():
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some of them
            resource.setrlimit(getattr(resource, name), (value, value))
    return resource.getrlimit(resource.RLIMIT_CPU)[1] == PROCESSOR_SECONDS


def _set_process(libc: Any, option: int, *values: int) -> bool:
    """Call prctl: four long values, whatever they are."""
    longs = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0)[:4]]
    return int(libc.prctl(ctypes.c_int(option), *longs)) == 0


def _system_call(libc: Any, number: int, *arguments: Any) -> int:
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def _add_landlock(libc: Any, readable: list[str]) -> bool:
    """Only these paths can be read, nothing written or made, no port bound or connected."""
    abi = _system_call(libc, 444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if abi < 1:
        return False
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)  # how many rights on files it knows
    files, net, scopes = (1 << rights) - 1, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0
    rules = (ctypes.c_uint64 * 3)(files, net, scopes)
    size = 8 * (1 + (abi >= 4) + (abi >= 6))
    ruleset = _system_call(libc, 444, rules, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    for path in readable:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)
        rule = allowed.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
        _system_call(libc, 445, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
        os.close(handle)
    done = _system_call(libc, 446, ruleset, ctypes.c_uint32(0)) == 0
    os.close(ruleset)
    return done


class _Filter(ctypes.Structure):
    """One instruction of the classic Berkeley Packet Filter, in which seccomp is programmed."""

    _fields_ = (
        ("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Filter)))


def _add_seccomp(libc: Any) -> bool:
    """The kernel answers every refused call with EPERM."""
    kinds = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
    if platform.machine() not in kinds:
        return False
    architecture, column = kinds[platform.machine()]
    numbers = sorted({int(row[column]) for row in REFUSED if row[column] is not None})  # type: ignore[arg-type]
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    refuse, allow = 0x00050000 | 1, 0x7FFF0000  # EPERM is 1
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, refuse), (load, 0, 0, 0)]
    # x86-64 has a second set of numbers from 2**30 on, for programs with short pointers.
    steps += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, refuse)]
    for number in numbers:
        steps += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    for calls, refused in REFUSED_VALUES:
        values = [pair for v in refused for pair in ((equal, 0, 1, v), (answer, 0, 0, refuse))]
        block = [(load, 0, 0, 24), *values, (load, 0, 0, 0)]  # the second argument, low half
        steps += [(equal, 0, len(block), calls[column - 1]), *block]
    steps.append((answer, 0, 0, allow))
    array = (_Filter * len(steps))(*(_Filter(*step) for step in steps))
    program = _Program(len(steps), array)
    return _set_process(libc, 22, 2, ctypes.addressof(program))


def _drop_capabilities(libc: Any) -> None:
    """Root keeps its number and loses its powers; nothing started later gets them back."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)())


# Compiled into a namespace with nothing in it. What it needs are defaults of its arguments: a
# cell that gets hold of its frame, through an exception that it raised, finds nothing to change.
_HOOK = """
def hook(event, arguments, refused=refused, modules=modules, allowed=allowed, within=within,
         starts=str.startswith, text=str, kind=type, whole=int, flags=flags, error=PermissionError):
    if event == "open":
        path, mode, opened = arguments
        if kind(path) is whole:
            return
        reads = mode is None or mode in ("r", "rb", "rt")
        reads = reads and (opened is None or kind(opened) is whole and not opened & flags)
        if reads and kind(path) is text and "/../" not in path and "\\\\..\\\\" not in path:
            if path in allowed or starts(path, within):
                return
        raise error("there are no files where an answer is graded")
    if event in ("os.listdir", "os.scandir"):  # how the import system looks into a folder
        path = arguments[0]
        if kind(path) is text and "/../" not in path and (path in allowed or starts(path, within)):
            return
    if event == "import" and arguments[0] in modules or starts(event, refused):
        name = arguments[0] if event == "import" else event
        raise error(text(name) + " is closed where an answer is graded")
"""


def _add_hook(readable: list[str]) -> None:
    """Python refuses too: the only layer of this kind outside Linux, and clearer words inside."""
    allowed = tuple({form for p in readable for form in (p, os.path.realpath(p))})
    names = {
        "refused": REFUSED_EVENTS, "modules": REFUSED_MODULES, "allowed": allowed,
        "within": tuple(path + os.sep for path in allowed),
        "flags": os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND,
    }  # fmt: skip
    exec(compile(_HOOK, "<frozen hook>", "exec"), names)
    hook = names["hook"]
    names.clear()
    names["__builtins__"] = {}
    sys.addaudithook(hook)  # type: ignore[arg-type]


def _close_doors() -> None:
    """Take away what the hook cannot see; a fence, as a module can be made anew."""
    for module, functions in DOORS.items():
        for function in functions:
            if hasattr(sys.modules.get(module), function):
                delattr(sys.modules[module], function)
    for name in [name for name in sys.modules if name.split(".")[0] in REFUSED_MODULES]:
        del sys.modules[name]


def lock(readable: list[str]) -> dict[str, bool]:
    """Lock this process for good.

    Parameters
    ----------
    readable : list of str
        Files and folders that may still be read, besides the standard library.

    Returns
    -------
    dict of str to bool
        Which layers are in force: ``limits``, ``landlock``, ``seccomp``, ``hook``.
    """
    paths = list(_readable(readable))
    in_force = {"limits": _limit_resources(), "landlock": False, "seccomp": False, "hook": True}
    layers: dict[str, Callable[[Any], bool]] = {
        "landlock": lambda libc: _add_landlock(libc, paths), "seccomp": _add_seccomp,
    }  # fmt: skip
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        _set_process(libc, 1, 9)  # when the grader is killed, the answers go with it
        _drop_capabilities(libc)
        if _set_process(libc, 38, 1):  # no new privileges: both layers ask for it
            in_force |= {name: add(libc) for name, add in layers.items()}
    _close_doors()
    _add_hook(paths)
    return in_force
