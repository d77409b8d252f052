"""A started process: a port for it, and the kernel's data about it."""

import os
import socket
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A free port on loopback. Another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_s(pid: int) -> float:
    """The CPU time of all its threads so far, user and system."""
    # The name of a process may contain spaces and brackets: the numbers follow the last bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def busy_s() -> float:
    """The CPU time of the whole machine so far that was not idle. Stolen time counts, as it could not be used."""
    user, nice, system, _idle, _iowait, *others = (int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(others)) / TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
