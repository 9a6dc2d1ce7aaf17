"""Notebooks are tested side by side: each worker's kernels have ports where nobody else looks.

A free port is found first and bound by the kernel half a second later. Taken from the range that
the system gives to everybody, it was gone by then about once in sixty runs, and the kernel died.
"""

from __future__ import annotations

import os
import socket
from itertools import count

from jupyter_client.connect import LocalPortCache

BELOW = 32_768  # where Linux begins to give ports away
ROOM = 220  # ports of a worker, five for each kernel


class OwnPorts(LocalPortCache):
    """The next free ones of a room that is this process's own."""

    def __init__(self) -> None:
        super().__init__()
        self.candidates = count(BELOW - ROOM * (1 + os.getpid() % 100))

    def find_available_port(self, ip: str) -> int:
        """The next port of this room at which nobody listens."""
        for port in self.candidates:
            with socket.socket() as probe:
                if probe.connect_ex((ip, port)) == 0:  # somebody listens there
                    continue
            return port
        raise AssertionError("count() does not end")


OwnPorts.instance()  # from now on LocalPortCache.instance() is this one
