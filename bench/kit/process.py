"""A process that is started: a port for it, and what the kernel says of it while it runs."""

import os
import socket
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """One of the loopback that nothing listens on; another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_s(pid: int) -> float:
    """CPU time of all its threads so far, the program's and the kernel's."""
    # The name of a process may hold spaces and brackets: what follows the last bracket are the numbers.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def busy_s() -> float:
    """CPU time of the whole machine so far that was not idle; what was stolen from it counts, as it was not there to use."""
    user, nice, system, _idle, _iowait, *others = (int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(others)) / TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
