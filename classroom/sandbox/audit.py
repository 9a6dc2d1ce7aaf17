"""Python refuses too: an audit hook, and functions taken away that no hook sees.

The only layer of this kind outside Linux, and clearer words inside. It can be got round by
somebody who writes into the interpreter's memory.

Source: PEP 578, and the events that Python's documentation lists.
"""

from __future__ import annotations

import importlib
import os
import sys

__all__ = ["add_hook", "remove_unaudited"]

# Events that are refused, by the beginning of their names.
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
    "cpython.PyInterpreterState",
)  # fmt: skip

# Modules that reach the system without an event: processes and the network, interpreters in
# which no hook listens, what tests Python from inside, and libraries that open files or start
# programs themselves.
REFUSED_MODULES = (
    "_posixsubprocess", "_multiprocessing", "_posixshmem", "_socket", "socket", "_ctypes",
    "ctypes", "subprocess", "multiprocessing", "_overlapped",
    "_xxsubinterpreters", "_xxinterpchannels", "_interpreters", "_interpchannels", "_interpqueues",
    "_testcapi", "_testlimitedcapi", "_testinternalcapi", "_testmultiphase", "_testsinglephase",
    "_testbuffer", "_testclinic", "_testclinic_limited", "_testexternalinspection",
    "_testimportmultiple", "_ctypes_test", "_xxtestfuzz", "_remote_debugging",
    "_tkinter", "tkinter", "_dbm", "_gdbm", "readline", "_ssl", "ssl",
)  # fmt: skip

# Functions that raise no event: they are taken out of their modules.
UNAUDITED = {
    "_posixsubprocess": ("fork_exec",),
    **dict.fromkeys(("signal", "_signal"), ("pidfd_send_signal", "raise_signal")),
    # Makes a module of the interpreter's own anew, with all that is taken away here.
    "_imp": ("create_builtin",),
    **dict.fromkeys(
        ("os", "posix"),
        (
            "chroot", "copy_file_range", "initgroups", "memfd_create", "mkfifo", "mknod", "nice",
            "pidfd_open", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sendfile",
            "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setregid",
            "setresgid", "setresuid", "setreuid", "setsid", "setuid", "sync", "unshare", "setns",
            "login_tty",
        ),
    ),
}  # fmt: skip


# Compiled into a namespace with nothing in it. What it needs are defaults of its arguments: a
# cell that gets hold of its frame, through an exception that it raised, finds nothing to change.
HOOK = """
def hook(event, arguments, refused=refused, modules=modules, allowed=allowed, within=within,
         starts=str.startswith, text=str, kind=type, whole=int, flags=flags, error=PermissionError,
         parts=str.rpartition):
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
    name = event
    if event == "import":
        name = arguments[0]  # a library is looked for by what stands behind the last dot
        if kind(name) is text and name not in modules and parts(name, ".")[2] not in modules:
            return
        name = name if kind(name) is text else "this"
    elif not starts(event, refused):
        return
    raise error(name + " is closed where an answer is graded")
"""


def add_hook(readable: list[str]) -> None:
    """Let Python refuse files other than these, the network, processes and signals.

    Parameters
    ----------
    readable : list of str
        Files and folders that may still be read.
    """
    allowed = tuple({form for p in readable for form in (p, os.path.realpath(p))})
    names = {
        "refused": REFUSED_EVENTS, "modules": REFUSED_MODULES, "allowed": allowed,
        "within": tuple(path + os.sep for path in allowed),
        "flags": os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND,
    }  # fmt: skip
    exec(compile(HOOK, "<frozen hook>", "exec"), names)
    hook = names["hook"]
    names.clear()
    names["__builtins__"] = {}
    sys.addaudithook(hook)  # type: ignore[arg-type]


def remove_unaudited() -> None:
    """Take away what the hook cannot see.

    The interpreter's own modules are loaded before, as none can be made afterwards.
    """
    for name in sys.builtin_module_names:
        if name not in REFUSED_MODULES:
            importlib.import_module(name)
    for module, functions in UNAUDITED.items():
        for function in functions:
            if hasattr(sys.modules.get(module), function):
                delattr(sys.modules[module], function)
    for name in [name for name in sys.modules if name.split(".")[0] in REFUSED_MODULES]:
        del sys.modules[name]
