"""Locks the process that it runs in, before any of a student's code does.

Where Linux has them, Landlock and seccomp: the kernel then refuses files, network, processes,
signals and other processes' memory, for root too. And on every system limits of memory and time,
and an audit hook by which Python itself refuses. Standard library only: the process must not load
anything that it did not lock.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import sysconfig
from collections.abc import Iterator

from classroom.sandbox import audit, landlock, linux, seccomp

__all__ = ["CPU_SECONDS", "MEMORY_BYTES", "limit_resources", "lock", "readable_paths"]

MEMORY_BYTES = 2**30
CPU_SECONDS = 6
OPEN_FILES = 64


def readable_paths(extra: list[str]) -> Iterator[str]:
    """Paths that may be read: the standard library without what is installed in it, and more."""
    for name in {"stdlib", "platstdlib"}:
        for entry in os.scandir(sysconfig.get_path(name)):
            if entry.name not in ("site-packages", "dist-packages"):
                yield entry.path
    yield from extra


def limit_resources() -> bool:
    """Memory, processor time and files written; where the system has such limits."""
    try:
        import resource
    except ImportError:
        return False
    limits = {
        "RLIMIT_CPU": CPU_SECONDS, "RLIMIT_AS": MEMORY_BYTES, "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0, "RLIMIT_NPROC": 0, "RLIMIT_MEMLOCK": 0, "RLIMIT_NOFILE": OPEN_FILES,
    }  # fmt: skip
    for name, value in limits.items():
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some of them
            resource.setrlimit(getattr(resource, name), (value, value))
    return resource.getrlimit(resource.RLIMIT_CPU)[1] == CPU_SECONDS


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
    paths = list(readable_paths(readable))
    in_force = {"limits": limit_resources(), "landlock": False, "seccomp": False, "hook": True}
    if sys.platform == "linux":
        libc = linux.load_libc()
        # When the grader is killed, the answers go with it.
        linux.prctl(libc, linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.drop_capabilities(libc)
        if linux.prctl(libc, linux.PR_SET_NO_NEW_PRIVS, 1):  # both layers ask for it
            in_force["landlock"] = landlock.restrict(libc, paths)
            in_force["seccomp"] = seccomp.refuse_calls(libc)
    audit.remove_unaudited()
    audit.add_hook(paths)
    return in_force
