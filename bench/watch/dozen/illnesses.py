"""The faults of the services, one after another. The expected results of `fathom watch` were written before it saw any of them."""

import ctypes
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from . import services
from .services import Host, Service
import illness
from kit import control_group

ILLNESSES = json.loads((services.HERE / "illnesses.json").read_text())["illnesses"]
# A limit of the disk, for a JVM that reads pages that are no longer in memory.
READS_PER_S = 30
# The memory that the group of the killed JVM keeps in addition to its current memory.
SHORT_MB = 60
TRAFFIC = 3
PROCESS_MADVISE, MADV_PAGEOUT = 440, 21


class Callee(illness.Illness):
    """The service's callee becomes slow: `words` are written to its file."""

    def begin(self) -> None:
        (self.folder / "callee-ms").write_text(self.word)

    def end(self) -> None:
        (self.folder / "callee-ms").write_text(self.normal)


class FirstCalls(illness.Illness):
    """Native functions are called for the first time while the pages with their symbols must be read from a slow disk."""

    def prepare(self, pid: int) -> None:
        super().prepare(pid)
        self.group = control_group.Group(pid, "blkio")

    def begin(self) -> None:
        super().begin()
        self.group.limit_reads(self.folder, READS_PER_S)
        self.repeat(self.forget, 0.3)

    def forget(self) -> None:
        """Evicts the library's symbols from memory, as happens when memory becomes short."""
        library = self.folder / "librare.so"
        page_out(self.pid, library)
        file = os.open(library, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def end(self) -> None:
        super().end()
        self.group.limit_reads(self.folder, None)

    def remove(self) -> None:
        self.group.remove()


def page_out(pid: int, file: Path) -> None:
    """The read-only data of a file that a process has mapped."""
    process = os.pidfd_open(pid)
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(str(file)) and " r--p " in line:
            begin, end = (int(address, 16) for address in line.split()[0].split("-"))
            vector = (ctypes.c_void_p * 2)(begin, end - begin)
            ctypes.CDLL(None).syscall(PROCESS_MADVISE, process, vector, 1, MADV_PAGEOUT, 0)
    os.close(process)


class OutOfMemory(illness.Group):
    controller = "memory"

    def begin(self) -> None:
        self.group.limit_memory(self.group.anonymous_bytes() + SHORT_MB * 1_000_000)
        (self.folder / "ill").write_text("ballast")


class Deploy(illness.Illness):
    def begin(self) -> None:
        self.service.deploy()


class Traffic(illness.Illness):
    def begin(self) -> None:
        (self.folder / "rate").write_text(str(TRAFFIC * self.service.rate))

    def end(self) -> None:
        (self.folder / "rate").unlink()


KINDS = {"callee": Callee, "first_calls": FirstCalls, "out_of_memory": OutOfMemory, "deploy": Deploy, "traffic": Traffic}


@dataclass
class Planted:
    """An illness of the list, and its time."""

    about: dict
    service: Service | None
    deed: illness.Illness
    pids: set[int]
    from_s: float = 0.0
    to_s: float = 0.0

    def befall(self) -> None:
        self.from_s = time.time()
        self.deed.begin()
        time.sleep(max(0.0, self.from_s + self.about["seconds"] - time.time()))
        self.deed.end()
        self.to_s = time.time()
        if self.service:
            self.pids.add(self.service.pid)


def planted(about: dict, host: Host) -> Planted:
    """Ready to begin."""
    service = host[about["of"]] if about["of"] else None
    folder: Path = service.folder if service else host.folder
    kind = KINDS.get(about["what"], illness.OUTSIDE.get(about["what"], illness.Illness))
    deed = kind(about.get("words", about["what"]), folder)
    if service:
        deed.service, deed.normal = service, service.normal_callee
        deed.prepare(service.pid)
    return Planted(about, service, deed, {service.pid} if service else set())
