"""The kernel refuses files, for root too: Landlock, `landlock(7)`."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

from classroom.sandbox.linux import system_call

__all__ = ["restrict"]

# asm-generic/unistd.h; the same numbers on every architecture
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446

# linux/landlock.h
LANDLOCK_CREATE_RULESET_VERSION = 1 << 0
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_ACCESS_FS_READ_FILE = 1 << 2
LANDLOCK_ACCESS_FS_READ_DIR = 1 << 3
LANDLOCK_ACCESS_NET = 1 << 0 | 1 << 1  # BIND_TCP and CONNECT_TCP
LANDLOCK_SCOPE = 1 << 0 | 1 << 1  # ABSTRACT_UNIX_SOCKET and SIGNAL
RULESET_ATTR = struct.Struct("=QQQ")  # handled_access_fs, handled_access_net, scoped
PATH_BENEATH_ATTR = struct.Struct("=Qi")  # allowed_access, parent_fd; packed
FIELD_BYTES = 8
# Rights on files that a version of the interface (ABI) knows: 2 added REFER, 3 TRUNCATE, and 5
# IOCTL_DEV.
FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
LATEST_FS_RIGHTS = 16
ABI_WITH_NET, ABI_WITH_SCOPE = 4, 6


def _create_ruleset(libc: Any, abi: int) -> int:
    """Handle of a set of rules that refuses all that this version can refuse; -1 for an error."""
    with_net, with_scope = abi >= ABI_WITH_NET, abi >= ABI_WITH_SCOPE
    files = (1 << FS_RIGHTS.get(abi, LATEST_FS_RIGHTS)) - 1
    attributes = RULESET_ATTR.pack(
        files, LANDLOCK_ACCESS_NET * with_net, LANDLOCK_SCOPE * with_scope
    )
    size = ctypes.c_size_t(FIELD_BYTES * (1 + with_net + with_scope))
    return system_call(libc, LANDLOCK_CREATE_RULESET, attributes, size, ctypes.c_uint32(0))


def _allow_reading(libc: Any, ruleset: int, path: str) -> None:
    """Except a file, or a folder with all that is in it; a path that is not there is none."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    allowed = LANDLOCK_ACCESS_FS_READ_FILE
    if os.path.isdir(path):
        allowed |= LANDLOCK_ACCESS_FS_READ_DIR
    rule, kind = PATH_BENEATH_ATTR.pack(allowed, handle), ctypes.c_int(LANDLOCK_RULE_PATH_BENEATH)
    system_call(libc, LANDLOCK_ADD_RULE, ruleset, kind, rule, ctypes.c_uint32(0))
    os.close(handle)


def restrict(libc: Any, readable: list[str]) -> bool:
    """Only these paths can be read, nothing written or made, no port bound or connected.

    Parameters
    ----------
    libc : ctypes.CDLL
        The C library.
    readable : list of str
        Files and folders.

    Returns
    -------
    bool
        Whether it is in force; False where the kernel has no Landlock.
    """
    version = ctypes.c_uint32(LANDLOCK_CREATE_RULESET_VERSION)
    abi = system_call(libc, LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), version)
    ruleset = _create_ruleset(libc, abi) if abi >= 1 else -1
    if ruleset < 0:
        return False
    for path in readable:
        _allow_reading(libc, ruleset, path)
    done = system_call(libc, LANDLOCK_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0
    os.close(ruleset)
    return done
