"""Faults injected from outside of a server's JVM. Faults inside the JVM are done by the agent, which reads the file `ill` in its folder."""

import fcntl
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from kit import control_group
from kit.process import cpu_s

F_SETPIPE_SZ = 1031
PIPE_BYTES = 4096
# A part of the memory that the JVM used before.
QUOTA_PART = 0.5
MEASURED_S = 2
NEIGHBOURS = 12
WRITERS = 10
DATA_MB = 500
# The memory that the server's group keeps in addition to its heap when memory becomes short.
SHORT_MB = 60


class Illness:
    """A fault that begins and ends. The server's JVM is `pid`, its folder `folder`."""

    jvm: list[str] = []

    def __init__(self, word: str, folder: Path) -> None:
        self.word, self.folder = word, folder
        self.stopping = threading.Event()
        self.helpers: list[subprocess.Popen] = []
        self.thread: threading.Thread | None = None

    def prepare(self, pid: int) -> None:
        self.pid = pid

    def begin(self) -> None:
        (self.folder / "ill").write_text(self.word)

    def end(self) -> None:
        (self.folder / "ill").unlink(missing_ok=True)
        self.stopping.set()
        if self.thread:
            self.thread.join()
        for helper in self.helpers:
            os.killpg(helper.pid, signal.SIGKILL)
            helper.wait()

    def remove(self) -> None:
        """Called after the server has ended."""

    def repeat(self, action, seconds: float) -> None:
        def loop() -> None:
            while not self.stopping.is_set():
                action()
                self.stopping.wait(seconds)
        self.thread = threading.Thread(target=loop)
        self.thread.start()

    def helper(self, command: str) -> None:
        self.helpers.append(subprocess.Popen(["sh", "-c", command], cwd=self.folder, start_new_session=True, stderr=subprocess.DEVNULL))


class Callee(Illness):
    def begin(self) -> None:
        (self.folder / "callee-ms").write_text("40")

    def end(self) -> None:
        (self.folder / "callee-ms").write_text("1")


class Rate(Illness):
    def begin(self) -> None:
        (self.folder / "rate").write_text("1200")

    def end(self) -> None:
        (self.folder / "rate").write_text("100")


class Neighbours(Illness):
    def begin(self) -> None:
        for _ in range(NEIGHBOURS):
            self.helper("while :; do :; done")


class Writers(Illness):
    """Other processes write synchronously to the same disk."""

    jvm = ["-Ddurable=true"]

    def begin(self) -> None:
        for i in range(WRITERS):
            self.helper(f"while :; do dd if=/dev/zero of=junk{i} bs=8M count=4 oflag=dsync conv=notrunc; done")

    def remove(self) -> None:
        for junk in self.folder.glob("junk*"):
            junk.unlink()


class Stopped(Illness):
    def begin(self) -> None:
        self.repeat(self.stop, 0.7)

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(self.pid, signal.SIGCONT)


class Group(Illness):
    """A control group for the JVM, with one controller."""

    controller = "cpu"

    def prepare(self, pid: int) -> None:
        super().prepare(pid)
        self.group = control_group.Group(pid, self.controller)

    def remove(self) -> None:
        self.group.remove()


class Quota(Group):
    def begin(self) -> None:
        before = cpu_s(self.pid)
        time.sleep(MEASURED_S)
        used = (cpu_s(self.pid) - before) / MEASURED_S
        self.group.limit_cpus(used * QUOTA_PART)

    def end(self) -> None:
        self.group.limit_cpus(None)


class Memory(Group):
    """Requests read a file that stays in the page cache until the group's memory is limited."""

    controller = "memory"
    jvm = ["-Ddata=data", "-XX:+AlwaysPreTouch"]

    def prepare(self, pid: int) -> None:
        super().prepare(pid)
        with open(self.folder / "data", "wb") as data:
            for _ in range(DATA_MB):
                data.write(os.urandom(1_000_000))
            data.flush()
            os.fsync(data.fileno())
            os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        subprocess.run(["sh", "-c", f"echo $$ > {self.group.folder}/cgroup.procs; cat data > /dev/null"], cwd=self.folder, check=True)

    def begin(self) -> None:
        self.group.limit_memory(self.group.anonymous_bytes() + SHORT_MB * 1_000_000)

    def end(self) -> None:
        self.group.limit_memory(None)

    def remove(self) -> None:
        super().remove()
        (self.folder / "data").unlink()


class Reader(Illness):
    """The reader of the server's output stops for 1.5 of every two seconds."""

    def prepare(self, pid: int) -> None:
        super().prepare(pid)
        self.reader: subprocess.Popen | None = None

    def begin(self) -> None:
        self.repeat(self.stop, 0.5)

    def stop(self) -> None:
        os.kill(self.reader_pid(), signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(self.reader_pid(), signal.SIGCONT)

    def reader_pid(self) -> int:
        return int((self.folder / "reader.pid").read_text())


class GcLog(Reader):
    """The GC log is a pipe whose reader stops in the same way."""

    jvm = ["-Xlog:gc*=debug,safepoint=debug:file=gc.pipe", "-Xmn12m"]

    def reader_pid(self) -> int:
        return int((self.folder / "gc-reader.pid").read_text())


OUTSIDE = {
    "callee": Callee, "rate": Rate, "neighbours": Neighbours, "disk": Writers, "stopped": Stopped, "quota": Quota, "memory": Memory,
    "log": Reader, "gc_log": GcLog,
}


def small_pipe(descriptor: int) -> None:
    fcntl.fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES)


def of(word: str, folder: Path) -> Illness:
    return OUTSIDE.get(word, Illness)(word, folder)
