"""Calls of Linux for which Python has no function, through the C library."""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = [
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "PR_SET_SECCOMP",
    "drop_capabilities",
    "load_libc",
    "prctl",
    "system_call",
]

# linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PRCTL_VALUES = 4  # values that the call takes besides the option

# linux/capability.h
LINUX_CAPABILITY_VERSION_3 = 0x20080522
LINUX_CAPABILITY_U32S_3 = 2
CAPABILITY_SETS = 3  # effective, permitted, inheritable
THIS_PROCESS = 0


def load_libc() -> Any:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def prctl(libc: Any, option: int, *values: int) -> bool:
    """Set an option of this process; whether the kernel accepted it."""
    padded = (*values, *[0] * PRCTL_VALUES)[:PRCTL_VALUES]
    return int(libc.prctl(ctypes.c_int(option), *map(ctypes.c_ulong, padded))) == 0


def system_call(libc: Any, number: int, *arguments: Any) -> int:
    """Make a call by its number; what it returned, -1 for an error."""
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def drop_capabilities(libc: Any) -> None:
    """Root keeps its number and loses its powers; nothing started later gets them back."""
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, THIS_PROCESS)
    libc.capset(header, (ctypes.c_uint32 * (LINUX_CAPABILITY_U32S_3 * CAPABILITY_SETS))())
