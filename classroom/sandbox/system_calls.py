"""The system calls of Linux that an answer has no use for: the list that seccomp refuses.

Names and numbers as in the kernel's headers: ``asm/unistd_64.h`` of x86-64, and
``asm-generic/unistd.h``, which 64-bit Arm uses.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["REFUSED", "REFUSED_COMMANDS", "SystemCall"]


class SystemCall(NamedTuple):
    """A call with its number on each architecture; None where there is no such call."""

    name: str
    x86_64: int | None
    aarch64: int | None


REFUSED = tuple(
    SystemCall(*row)
    for row in (
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
        ("migrate_pages", 256, 238), ("move_pages", 279, 239), ("quotactl", 179, 60),
        ("acct", 163, 89),
        ("sync", 162, 81), ("syncfs", 306, 267),
        ("delete_module", 176, 106), ("kexec_file_load", 320, 294), ("clock_adjtime", 305, 266),
        ("vhangup", 153, 58), ("iopl", 172, None), ("ioperm", 173, None),
        ("settimeofday", 164, 170), ("clock_settime", 227, 112), ("adjtimex", 159, 171),
    )
)  # fmt: skip

FCNTL, IOCTL = SystemCall("fcntl", 72, 25), SystemCall("ioctl", 16, 29)
# linux/fcntl.h, asm-generic/fcntl.h: who gets the signal of a descriptor, and which signal.
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15
# asm-generic/sockios.h: the same for ioctl. asm-generic/ioctls.h: type into a terminal.
FIOSETOWN, SIOCSPGRP, TIOCSTI = 0x8901, 0x8902, 0x5412

# Calls that are refused for some commands only, which are their second argument: these would let
# the kernel send a signal to another process in the name of a pipe, or type into a terminal.
REFUSED_COMMANDS: tuple[tuple[SystemCall, tuple[int, ...]], ...] = (
    (FCNTL, (F_SETOWN, F_SETSIG, F_SETOWN_EX)),
    (IOCTL, (FIOSETOWN, SIOCSPGRP, TIOCSTI)),
)
