"""Limits of a control group of its own, as a container's are lowered."""

import os
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
IS_UNIFIED = (ROOT / "cgroup.controllers").exists()


class Group:
    """A control group with one process in it."""

    def __init__(self, pid: int, controller: str) -> None:
        self.folder = (ROOT if IS_UNIFIED else ROOT / controller) / f"fathom-real-{pid}"
        self.folder.mkdir()
        (self.folder / "cgroup.procs").write_text(str(pid))

    def limit_cpus(self, cpus: float) -> None:
        if IS_UNIFIED:
            (self.folder / "cpu.max").write_text(f"{int(cpus * 100_000)} 100000")
        else:
            (self.folder / "cpu.cfs_quota_us").write_text(str(int(cpus * 100_000)))

    def limit_writes(self, place: Path, per_second: int) -> None:
        """To the disk on which `place` is."""
        number = os.stat(place).st_dev
        device = f"{os.major(number)}:{os.minor(number)}"
        if IS_UNIFIED:
            (self.folder / "io.max").write_text(f"{device} wiops={per_second}")
        else:
            (self.folder / "blkio.throttle.write_iops_device").write_text(f"{device} {per_second}")

    def remove(self) -> None:
        """When the process has ended."""
        self.folder.rmdir()
