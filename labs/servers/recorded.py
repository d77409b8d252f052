"""Shared by the labs of servers: a recorded server, its libraries and other processes, and the answer about it."""

import argparse
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
from kit import fetch, processes
from kit.control_group import Group
from kit.places import REPO, jdk_in_path, program
from kit.process import free_port
from kit.processes import NEIGHBOUR_JVM, NOBODY, as_user, readable, wait_until_open, waited_for
from kit.recording import compile_java

BUILT = REPO / "target" / "servers"
# For `--untouched`: nothing is requested from the JVM.
UNTOUCHED = ("--jfr", "never", "--agent", "never")
# Files with the ports of processes: files of an earlier run would be mistaken for those of this one.
PORTS = ["prices", "callee-port", "port"]


class Processes(processes.Processes):
    """A recorded server, and the processes around it."""

    # Whether its JVMs run as an unprivileged user.
    is_a_users = False

    def __init__(self, jdk: Path, classpath: str, folder: Path, untouched: bool = False) -> None:
        super().__init__(jdk / "bin" / "java", classpath, folder)
        self.jdk = jdk
        self.settings = UNTOUCHED if untouched else ()
        self.group: Group | None = None

    def start(self, name: str, command: list[str], stdout=None, stdin=subprocess.DEVNULL) -> subprocess.Popen:
        is_a_users = self.is_a_users and command[0] == str(self.java_program)
        return super().start(name, as_user(command) if is_a_users else command, stdout, stdin)

    def recorder(self, pid: int, seconds: int, name: str = "recording") -> subprocess.Popen:
        return super().recorder(pid, seconds, name, self.settings)

    def answer_of(self, record: subprocess.Popen, patience_s: int, name: str = "recording") -> dict:
        """The answer about the finished recording."""
        self.wait_for_end(record, patience_s, name)
        answer = self.explained(name)
        # If the answer suggests a next command, that is run.
        advice = re.search(r"--slow \S+", answer["headline"]["says"])
        return self.explained(name, *advice[0].split()) if advice else answer

    def wait_for_end(self, record: subprocess.Popen, patience_s: int, name: str) -> None:
        if record.wait(timeout=patience_s):
            raise SystemExit(f"fathom record failed: {(self.folder / f'record-{name}.log').read_text()[-600:]}")

    def explained(self, name: str, *more: str) -> dict:
        explained = subprocess.run([program(), "explain", str(self.folder / name), "--json", *more], capture_output=True, check=True).stdout
        (self.folder / f"answer-{name}.json").write_bytes(explained)
        if more:
            print(f"      {name}: asked again, as the answer says: {' '.join(more)}")
        return json.loads(explained)

    def prices(self) -> int:
        """Starts a service of prices, and returns its port."""
        self.java("prices", ["Prices", str(self.folder / "prices")], NEIGHBOUR_JVM)
        return int(waited_for(self.folder / "prices"))

    def database(self) -> tuple[subprocess.Popen, int]:
        """Starts a database, and returns it with its port."""
        port = free_port()
        database = self.java("database", ["org.h2.tools.Server", "-tcp", "-tcpPort", str(port), "-ifNotExists"], NEIGHBOUR_JVM)
        wait_until_open(port)
        return database, port

    def clients(self, port: str, per_second: int, seconds: int) -> Path:
        """Starts clients, and returns the file of their latencies."""
        latencies = self.folder / "latency.csv"
        self.java("clients", ["Clients", port, str(per_second), str(seconds), str(latencies)], NEIGHBOUR_JVM)
        return latencies

    def end(self) -> None:
        super().end()
        if self.group:
            self.group.remove()


def begin_trouble(port: str, name: str) -> float:
    """Makes a service go wrong from now on; an empty name ends that. Returns the time."""
    urllib.request.urlopen(f"http://127.0.0.1:{port}/trouble?name={name}", timeout=30).read()
    return time.time()


def delay_prices(port: int, delay_ms: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(struct.pack(">i", -delay_ms))
        link.recv(4)


def run_cases(parser: argparse.ArgumentParser, cases: list[str], run: type[Processes], lab: Path = HERE, head: str = "") -> int:
    """Runs the cases that the command line names on each JDK, each in its own folder. A run has a method `wrong` that
    takes the case and the command line and returns the number of wrong answers; the exit code is 1 if there is one. `head` is the table's head."""
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(cases)}; all when none is given")
    parser.add_argument("--jdk", action="append", type=Path, help="home of a JDK; that of `java` when none is given")
    parser.add_argument("--keep", type=Path, help="folder for recordings and answers; else they are thrown away")
    parser.add_argument("--untouched", action="store_true", help="record with --jfr never --agent never")
    chosen = parser.parse_args()
    if unknown := set(chosen.cases) - set(cases):
        print(f"no case {', '.join(sorted(unknown))}: there are {', '.join(cases)}", file=sys.stderr)
        return 2
    jars = fetch.libraries(lab)
    print(head, end="", flush=True)
    wrong = 0
    for jdk in chosen.jdk or [jdk_in_path()]:
        classpath = [compiled(jdk, jars, lab), *jars]
        named = [case for case in cases if case in (chosen.cases or cases)]
        wrong += sum(wrong_answers(run, jdk, classpath, case, chosen) for case in named)
    return min(wrong, 1)


def wrong_answers(lab: type[Processes], jdk: Path, classpath: list[Path], case: str, chosen: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="fathom-servers-") as scratch:
        # An unprivileged server has its folder in there.
        os.chmod(scratch, 0o755)
        folder = (chosen.keep or Path(scratch)) / f"{jdk.name}-{case}"
        folder.mkdir(parents=True, exist_ok=True)
        for port in PORTS:
            (folder / port).unlink(missing_ok=True)
        places = readable(classpath, Path(scratch)) if lab.is_a_users else classpath
        run = lab(jdk, ":".join(map(str, places)), folder, chosen.untouched)
        try:
            return run.wrong(case, chosen)
        finally:
            run.end()


def compiled(jdk: Path, jars: list[Path], lab: Path) -> Path:
    """The classes of a folder's sources, with the other files of that folder."""
    sources = sorted((lab / "src").iterdir())
    java = [source for source in sources if source.suffix == ".java"]
    classes = compile_java(jdk, java, BUILT / lab.name / f"classes-{jdk.name}", jars)
    for other in set(sources) - set(java):
        (classes / other.name).write_bytes(other.read_bytes())
    return classes
