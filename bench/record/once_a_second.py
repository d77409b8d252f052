"""Copies the procfs files that system monitors read, once a second: the peer that only samples."""

import sys
import time
from pathlib import Path

MACHINE = ["stat", "vmstat", "meminfo", "diskstats", "interrupts", "net/dev", "net/snmp", "net/netstat", "loadavg"]
PROCESS = ["stat", "status", "io", "schedstat"]


def main(pid: str, seconds: str, out: str) -> None:
    files = [Path("/proc", name) for name in MACHINE]
    until = time.monotonic() + float(seconds)
    with open(out, "wb") as samples:
        while time.monotonic() < until:
            for file in files + [Path("/proc", pid, name) for name in PROCESS]:
                if file.exists():
                    samples.write(file.read_bytes())
            for process in Path("/proc").glob("[0-9]*/stat"):
                try:
                    samples.write(process.read_bytes())
                except OSError:  # It ended between the two lines.
                    continue
            time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
