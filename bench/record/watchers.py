"""The watchers of a JVM, each as one command. `{pid}`, `{seconds}` and `{out}` are filled in."""

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from kit import profiler

HERE = Path(__file__).resolve().parent


@dataclass
class Watcher:
    """A command that watches a process for a while and ends by itself, or on SIGINT."""

    name: str
    command: list[str]
    needs: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        return not self.needs or shutil.which(self.needs) is not None

    def on(self, pid: int, seconds: float, out: Path) -> list[str]:
        fill = {"pid": pid, "seconds": f"{seconds:g}", "out": out}
        return [word.format(**fill) for word in self.command]


def ours(fathom: str, collectors: list[str]) -> list[Watcher]:
    """A default recording, and recordings with one collector each."""
    record = [fathom, "record", "--pid", "{pid}", "--for", "{seconds}s", "-o", "{out}/recording.fathom", "--json"]
    alone = [Watcher(f"fathom, {name} alone", [*record, "--only", name]) for name in collectors]
    return [Watcher("fathom record", record), *alone]


def peers(home: Path) -> list[Watcher]:
    """Today's tools."""
    profile = [sys.executable, str(HERE / "async_profiler.py"), str(home / "bin" / "jcmd"), str(profiler.library())]
    return [
        Watcher("async-profiler (cpu, 10 ms)", [*profile, "{pid}", "{seconds}", "{out}/a.jfr"]),
        Watcher("strace -c -f", ["strace", "-c", "-f", "-o", "{out}/strace.txt", "-p", "{pid}"], needs="strace"),
        Watcher("perf trace -s", ["perf", "trace", "-s", "-o", "{out}/trace.txt", "-p", "{pid}"], needs="perf"),
        Watcher(
            "perf record -F 99 -g",
            ["perf", "record", "-q", "-F", "99", "-g", "-e", "cpu-clock", "-o", "{out}/perf.data", "-p", "{pid}"],
            needs="perf",
        ),
        Watcher("procfs once a second", [sys.executable, str(HERE / "once_a_second.py"), "{pid}", "{seconds}", "{out}/samples"]),
    ]
