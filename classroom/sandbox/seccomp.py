"""The kernel refuses system calls, for root too: a filter of `seccomp(2)`.

The filter is a program for the classic Berkeley Packet Filter: it looks at a call's number and
arguments, and its last value says what becomes of the call.
"""

from __future__ import annotations

import ctypes
import errno
import platform
from typing import Any

from classroom.sandbox.linux import PR_SET_SECCOMP, prctl
from classroom.sandbox.system_calls import ALLOWED, ALLOWED_COMMANDS, HIGHEST

__all__ = ["refuse_calls"]

# linux/bpf_common.h: class, size, mode and comparison of an instruction
BPF_LD, BPF_JMP, BPF_RET = 0x00, 0x05, 0x06
BPF_W, BPF_ABS, BPF_K = 0x00, 0x20, 0x00
BPF_JEQ, BPF_JGE = 0x10, 0x30
LOAD_WORD = BPF_LD | BPF_W | BPF_ABS
JUMP_IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K
JUMP_IF_AT_LEAST = BPF_JMP | BPF_JGE | BPF_K
RETURN = BPF_RET | BPF_K

# linux/seccomp.h: what becomes of the call, and where struct seccomp_data holds what
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7FFF0000
NUMBER_OFFSET, ARCHITECTURE_OFFSET = 0, 4
SECOND_ARGUMENT_OFFSET = 24  # the low half of args[1]: both architectures are little-endian
REFUSE = SECCOMP_RET_ERRNO | errno.EPERM
# As a kernel says that has no such call: a C library newer than the list then takes an older one.
UNKNOWN = SECCOMP_RET_ERRNO | errno.ENOSYS

# linux/audit.h: the word of __AUDIT_ARCH_64BIT, __AUDIT_ARCH_LE and the machine's ELF number
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# asm/unistd.h: x86-64 has a second set of numbers from here on, for programs with short pointers
X32_SYSCALL_BIT = 0x40000000

Step = tuple[int, int, int, int]  # code, steps to skip if true, if false, value


class SockFilter(ctypes.Structure):
    """One instruction: ``struct sock_filter`` of linux/filter.h."""

    _fields_ = (
        ("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )  # fmt: skip


class SockFprog(ctypes.Structure):
    """The program: ``struct sock_fprog`` of linux/filter.h."""

    _fields_ = (("len", ctypes.c_uint16), ("filter", ctypes.POINTER(SockFilter)))


def _allow_if_equal(value: int) -> list[Step]:
    """Two instructions: allow the call if the word that was loaded last is this."""
    return [(JUMP_IF_EQUAL, 0, 1, value), (RETURN, 0, 0, SECCOMP_RET_ALLOW)]


def _program(machine: str) -> list[Step]:
    """Return the instructions for a machine: what no step allows is refused at the end."""
    steps: list[Step] = [
        (LOAD_WORD, 0, 0, ARCHITECTURE_OFFSET),
        (JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (RETURN, 0, 0, REFUSE),
        (LOAD_WORD, 0, 0, NUMBER_OFFSET),
        (JUMP_IF_AT_LEAST, 0, 1, X32_SYSCALL_BIT),
        (RETURN, 0, 0, REFUSE),
        (JUMP_IF_AT_LEAST, 0, 1, HIGHEST + 1),
        (RETURN, 0, 0, UNKNOWN),
    ]
    for number in sorted({getattr(call, machine) for call in ALLOWED} - {None}):
        steps += _allow_if_equal(number)
    for call, commands in ALLOWED_COMMANDS:
        block: list[Step] = [(LOAD_WORD, 0, 0, SECOND_ARGUMENT_OFFSET)]
        for command in commands:
            block += _allow_if_equal(command)
        block.append((RETURN, 0, 0, REFUSE))
        steps += [(JUMP_IF_EQUAL, 0, len(block), getattr(call, machine)), *block]
    return [*steps, (RETURN, 0, 0, REFUSE)]


def refuse_calls(libc: Any) -> bool:
    """Return the kernel answers every call that is not allowed with EPERM.

    Parameters
    ----------
    libc : ctypes.CDLL
        The C library.

    Returns
    -------
    bool
        Whether it is in force; False on an architecture whose numbers are not listed.
    """
    machine = platform.machine()
    if machine not in AUDIT_ARCH:
        return False
    steps = _program(machine)
    array = (SockFilter * len(steps))(*(SockFilter(*step) for step in steps))
    program = SockFprog(len(steps), array)
    return prctl(libc, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))
