"""The system calls of Linux that an answer needs: what seccomp allows; all others are refused.

A list of what is forbidden would let through what the next kernel adds. Names and numbers as in
the kernel's headers: ``asm/unistd_64.h`` of x86-64, and ``asm-generic/unistd.h``, which 64-bit
Arm uses.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ALLOWED", "ALLOWED_COMMANDS", "HIGHEST"]

HIGHEST = 469  # file_setattr, of Linux 6.17; both architectures count on from 424 together


class SystemCall(NamedTuple):
    """A call with its number on each architecture; None where there is no such call."""

    name: str
    x86_64: int | None
    aarch64: int | None


ALLOWED = tuple(
    SystemCall(*row)
    for row in (
        # what is open already, and descriptors
        ("read", 0, 63), ("write", 1, 64), ("readv", 19, 65), ("writev", 20, 66),
        ("pread64", 17, 67), ("pwrite64", 18, 68), ("lseek", 8, 62), ("close", 3, 57),
        ("close_range", 436, 436), ("dup", 32, 23), ("dup2", 33, None), ("dup3", 292, 24),
        ("pipe", 22, None), ("pipe2", 293, 59), ("poll", 7, None), ("ppoll", 271, 73),
        ("select", 23, None), ("pselect6", 270, 72),
        # files and folders, as far as Landlock and the audit hook let them; names and sizes
        ("open", 2, None), ("openat", 257, 56), ("stat", 4, None), ("lstat", 6, None),
        ("fstat", 5, 80), ("newfstatat", 262, 79), ("statx", 332, 291), ("access", 21, None),
        ("faccessat", 269, 48), ("faccessat2", 439, 439), ("readlink", 89, None),
        ("readlinkat", 267, 78), ("getdents", 78, None), ("getdents64", 217, 61),
        ("getcwd", 79, 17),
        # memory of its own
        ("brk", 12, 214), ("mmap", 9, 222), ("munmap", 11, 215), ("mremap", 25, 216),
        ("mprotect", 10, 226), ("madvise", 28, 233), ("mbind", 237, 235),
        ("get_mempolicy", 239, 236),
        # signals that it gets, and alarms
        ("rt_sigaction", 13, 134), ("rt_sigprocmask", 14, 135), ("rt_sigpending", 127, 136),
        ("rt_sigreturn", 15, 139), ("sigaltstack", 131, 132), ("restart_syscall", 219, 128),
        ("setitimer", 38, 103), ("getitimer", 36, 102), ("alarm", 37, None),
        # time
        ("time", 201, None), ("gettimeofday", 96, 169), ("times", 100, 153),
        ("clock_gettime", 228, 113), ("clock_getres", 229, 114), ("clock_nanosleep", 230, 115),
        ("nanosleep", 35, 101),
        # what it is and runs on
        ("getpid", 39, 172), ("getppid", 110, 173), ("gettid", 186, 178), ("getpgrp", 111, None),
        ("getuid", 102, 174), ("geteuid", 107, 175), ("getgid", 104, 176), ("getegid", 108, 177),
        ("uname", 63, 160), ("sysinfo", 99, 179), ("getrusage", 98, 165), ("getcpu", 309, 168),
        ("sched_getaffinity", 204, 123), ("sched_yield", 24, 124), ("getrandom", 318, 278),
        # locks within one process, and its end
        ("futex", 202, 98), ("set_robust_list", 273, 99), ("rseq", 334, 293),
        ("membarrier", 324, 283), ("exit", 60, 93), ("exit_group", 231, 94),
    )
)  # fmt: skip

FCNTL, IOCTL = SystemCall("fcntl", 72, 25), SystemCall("ioctl", 16, 29)
# linux/fcntl.h, asm-generic/fcntl.h: copies of a descriptor, and whether it is handed on. Others
# send signals in the name of a pipe, lock files, or enlarge what the kernel keeps for a pipe.
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC = 0, 1, 2, 3, 1030
# asm-generic/ioctls.h: whether it is a terminal, and whether it is handed on. Others type into a
# terminal, change what a file system keeps about a file that can be read, and talk to devices.
TCGETS, TCGETS2, FIONCLEX, FIOCLEX = 0x5401, 0x802C542A, 0x5450, 0x5451

# Calls that are allowed for some commands only, which are their second argument.
ALLOWED_COMMANDS: tuple[tuple[SystemCall, tuple[int, ...]], ...] = (
    (FCNTL, (F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC)),
    (IOCTL, (TCGETS, TCGETS2, FIONCLEX, FIOCLEX)),
)
