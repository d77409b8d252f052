"""A server and the processes around it, which end together, and functions that wait for them."""

import pwd
import shutil
import socket
import subprocess
import time
from pathlib import Path

from .places import Refused, program

# For processes that are not recorded, so that they use little.
NEIGHBOUR_JVM = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
LOOKS, LOOK_EVERY_S = 600, 0.1
NOBODY = "nobody"


class Processes:
    """Programs that run in one folder, which has their logs, and end together."""

    def __init__(self, java: Path, classpath: str, folder: Path) -> None:
        # A program that is started in that folder would misinterpret a relative path.
        self.java_program, self.classpath, self.folder = java, classpath, folder.absolute()
        self.running: list[subprocess.Popen] = []

    def java(self, name: str, words: list[str], jvm: list[str], stdout=None) -> subprocess.Popen:
        return self.start(name, [str(self.java_program), *jvm, "-cp", self.classpath, *words], stdout)

    def start(self, name: str, command: list[str], stdout=None, stdin=subprocess.DEVNULL) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout or log, stderr=log, cwd=self.folder)
        self.running.append(process)
        return process

    def recorder(self, pid: int, seconds: int, name: str = "recording", more: tuple[str, ...] = ()) -> subprocess.Popen:
        """Records a process from now on. Waits until recording has started, which takes a while on a busy machine."""
        recording = self.folder / name
        record = self.start(f"record-{name}", self.as_recorder([program(), "record", "--pid", str(pid), "--for", f"{seconds}s", "-o", str(recording), *more]))
        waited_for(recording / "journal")
        return record

    def as_recorder(self, command: list[str]) -> list[str]:
        """The command as the recording user runs it."""
        return command

    def end(self) -> None:
        for process in reversed(self.running):
            process.kill()
            process.wait()


def as_user(command: list[str]) -> list[str]:
    """The command as an unprivileged user runs it."""
    group = str(pwd.getpwnam(NOBODY).pw_gid)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups", *command]


def readable(classpath: list[Path], folder: Path) -> list[Path]:
    """A copy of the class path that an unprivileged user may read: root's caches are often private."""
    folder.mkdir(exist_ok=True)
    copies = [folder / place.name for place in classpath]
    for place, copy in zip(classpath, copies):
        shutil.copytree(place, copy) if place.is_dir() else shutil.copy(place, copy)
    return copies


def waited_for(path: Path) -> str:
    """Waits until a file has text, and returns it."""
    for _ in range(LOOKS):
        if path.is_file() and (text := path.read_bytes()):
            return text.decode(errors="replace")
        time.sleep(LOOK_EVERY_S)
    raise Refused(f"{path} did not appear: look at the logs in {path.parent}")


def wait_until_open(port: int) -> None:
    for _ in range(LOOKS):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(LOOK_EVERY_S)
    raise Refused(f"no server opened port {port}: look at the logs beside it")
