"""What the real-server labs share: the libraries, the processes around the one that is recorded, and the recording."""

import argparse
import json
import pwd
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
from kit import fetch
from kit.places import REPO, jdk_in_path, program
from kit.process import free_port

BUILT = REPO / "target" / "real-labs"
NEIGHBOUR_JVM = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


NOBODY = "nobody"
# What `--untouched` means: nothing is asked of the JVM.
UNTOUCHED = ["--jfr", "never", "--agent", "never"]
# Files in which processes tell their ports: those of a run before would be taken for those of this one.
PORTS = ["prices", "callee-port", "port"]


class Processes:
    """Programs that end together, with their logs in a folder."""

    def __init__(self, jdk: Path, classpath: str, folder: Path, untouched: bool) -> None:
        self.jdk, self.classpath, self.folder = jdk, classpath, folder
        self.manners = UNTOUCHED if untouched else []
        self.running: list[subprocess.Popen] = []

    def recorder(self, pid: int, seconds: int, name: str = "recording") -> subprocess.Popen:
        """Records a process from now on: on a busy machine it takes a while to get at it, and that is waited for."""
        recording = self.folder / name
        command = [program(), "record", "--pid", str(pid), "--for", f"{seconds}s", "-o", str(recording), *self.manners]
        record = self.start(f"record-{name}", command)
        waited_for(recording / "journal")
        return record

    def answer_of(self, record: subprocess.Popen, patience_s: int, name: str = "recording") -> dict:
        """What is said of the recording when it has ended."""
        if record.wait(timeout=patience_s):
            raise SystemExit(f"fathom record failed: {(self.folder / f'record-{name}.log').read_text()[-600:]}")
        answer = self.explained(name)
        # Where it says what to ask next, that is asked.
        advice = re.search(r"--slow \S+", answer["headline"]["says"])
        return self.explained(name, *advice[0].split()) if advice else answer

    def explained(self, name: str, *more: str) -> dict:
        explained = subprocess.run([program(), "explain", str(self.folder / name), "--json", *more], capture_output=True, check=True).stdout
        (self.folder / f"answer-{name}.json").write_bytes(explained)
        if more:
            print(f"      {name}: asked again, as the answer says: {' '.join(more)}")
        return json.loads(explained)

    def java(self, name: str, words: list[str], jvm: list[str], stdout=None) -> subprocess.Popen:
        return self.start(name, [str(self.jdk / "bin" / "java"), *jvm, "-cp", self.classpath, *words], stdout)

    def start(self, name: str, command: list[str], stdout=None) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log, cwd=self.folder)
        self.running.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.running):
            process.kill()
            process.wait()


def run_cases(parser: argparse.ArgumentParser, cases: list[str], lab: type[Processes]) -> int:
    """Runs those of a lab's cases that the command line names, each in a folder of its own. A lab has a method `wrong` that takes the
    case and the seconds, and gives how many answers are wrong; the exit code is 1 if one is."""
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(cases)}; all when none is given")
    parser.add_argument("--jdk", type=Path, help="home of a JDK; that of `java` when none is given")
    parser.add_argument("--keep", type=Path, help="folder for recordings and answers; else they are thrown away")
    parser.add_argument("--untouched", action="store_true", help="record with --jfr never --agent never")
    chosen = parser.parse_args()
    if unknown := set(chosen.cases) - set(cases):
        print(f"no case {', '.join(sorted(unknown))}: there are {', '.join(cases)}", file=sys.stderr)
        return 2
    jdk = chosen.jdk or jdk_in_path()
    jars = libraries()
    classpath = f"{compiled(jdk, jars)}:{jars}"
    named = [case for case in cases if case in (chosen.cases or cases)]
    return min(sum(wrong_answers(lab, jdk, classpath, case, chosen) for case in named), 1)


def wrong_answers(lab: type[Processes], jdk: Path, classpath: str, case: str, chosen: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="fathom-real-") as scratch:
        folder = (chosen.keep or Path(scratch)) / f"{jdk.name}-{case}"
        folder.mkdir(parents=True, exist_ok=True)
        for port in PORTS:
            (folder / port).unlink(missing_ok=True)
        run = lab(jdk, classpath, folder, chosen.untouched)
        try:
            return run.wrong(case, chosen.seconds)
        finally:
            run.end()


def as_user(command: list[str]) -> list[str]:
    """The command as a user without rights runs it."""
    group = str(pwd.getpwnam(NOBODY).pw_gid)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups", *command]


def libraries(lab: Path = HERE) -> str:
    """The part of the class path that a folder pins."""
    return ":".join(map(str, fetch.libraries(lab)))


def compiled(jdk: Path, jars: str, lab: Path = HERE) -> Path:
    """The classes of a folder's sources, with the other files that lie beside these."""
    classes = BUILT / lab.name / f"classes-{jdk.name}"
    classes.mkdir(parents=True, exist_ok=True)
    sources = sorted(str(source) for source in (lab / "src").glob("*.java"))
    subprocess.run([str(jdk / "bin" / "javac"), "-g", "-cp", jars, "-d", str(classes), *sources], check=True)
    for other in (lab / "src").iterdir():
        if other.suffix != ".java":
            (classes / other.name).write_bytes(other.read_bytes())
    return classes


def waited_for(path: Path) -> str:
    for _ in range(600):
        if path.is_file() and (text := path.read_bytes()):
            return text.decode(errors="replace")
        time.sleep(0.1)
    raise SystemExit(f"{path} did not appear: look at the logs in {path.parent}")


def wait_until_open(port: int) -> None:
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the database did not start")
