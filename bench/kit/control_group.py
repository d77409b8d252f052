"""Limits of a separate control group, like the limits of a container. Supports both versions of control groups."""

import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
IS_UNIFIED = (ROOT / "cgroup.controllers").exists()
PERIOD_US = 100_000
# The kernel refuses smaller values.
LEAST_QUOTA_US = 1_000


class Group:
    """A control group with one process in it."""

    def __init__(self, pid: int, controller: str) -> None:
        self.folder = (ROOT if IS_UNIFIED else ROOT / controller) / f"fathom-server-{pid}"
        self.folder.mkdir()
        self.take(pid)

    def take(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))

    def limit_cpus(self, cpus: float | None) -> None:
        """Limits the CPUs; without a number, removes the limit."""
        quota = None if cpus is None else max(int(cpus * PERIOD_US), LEAST_QUOTA_US)
        if IS_UNIFIED:
            self.write("cpu.max", f"{'max' if quota is None else quota} {PERIOD_US}")
        else:
            self.write("cpu.cfs_quota_us", str(-1 if quota is None else quota))

    def limit_memory(self, size_bytes: int | None) -> None:
        """Limits memory; without a number, removes the limit."""
        if IS_UNIFIED:
            self.write("memory.max", "max" if size_bytes is None else str(size_bytes))
        else:
            self.write("memory.limit_in_bytes", str(-1 if size_bytes is None else size_bytes))

    def anonymous_bytes(self) -> int:
        """Memory that does not belong to files."""
        rows = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        return int(rows["anon" if IS_UNIFIED else "rss"])

    def limit_writes(self, place: Path, per_second: int) -> None:
        """Limits writes to the disk of `place`."""
        self.limit_requests("w", place, per_second)

    def limit_reads(self, place: Path, per_second: int | None) -> None:
        """Limits reads from the disk of `place`; without a number, removes the limit."""
        self.limit_requests("r", place, per_second)

    def limit_requests(self, direction: str, place: Path, per_second: int | None) -> None:
        number = os.stat(place).st_dev
        device = f"{os.major(number)}:{os.minor(number)}"
        if IS_UNIFIED:
            self.write("io.max", f"{device} {direction}iops={per_second or 'max'}")
        else:
            name = {"r": "read", "w": "write"}[direction]
            self.write(f"blkio.throttle.{name}_iops_device", f"{device} {per_second or 0}")

    def write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text)

    def remove(self) -> None:
        """Removes the group, after the process has ended."""
        self.folder.rmdir()
