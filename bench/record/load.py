"""The service under load, and its clients' results while it is recorded."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit.places import Refused
from kit.recording import compile_java

from watchers import Watcher

CONNECTIONS = 8
RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
P99 = re.compile(r"99%\s+([\d.]+)(us|ms|s)\b")
MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
# The time for a watcher to attach before requests are counted, and to end afterwards.
BEFORE_S = 3.0
AFTER_S = 60


@dataclass
class Seen:
    """One period of load."""

    per_second: float
    p99_ms: float
    cpu_cores: float = 0.0
    peak_bytes: int = 0
    failure: str = ""


@contextmanager
def server(home: Path, into: Path, numbers: int = 400):
    """Runs the service, which sorts this many numbers for each request. Yields its pid and address."""
    classes = compile_java(home, [Path(__file__).parent / "server" / "BenchServer.java"], into)
    # Head and body are written separately: without this the kernel would delay the body until an acknowledgement.
    command = [home / "bin" / "java", "-Dsun.net.httpserver.nodelay=true", "-Xmx512m", "-cp", classes, "BenchServer", numbers]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        try:
            _, port, _, pid = process.stdout.readline().split()
            yield int(pid), f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def load(address: str, seconds: float) -> Seen:
    """Eight connections, each sending its next request as soon as it has the answer."""
    if not shutil.which("wrk"):
        raise Refused("wrk is not installed: apt-get install wrk")
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "--latency", address]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate, p99 = RATE.search(printed), P99.search(printed)
    if not rate or not p99:
        raise Refused(f"wrk printed no rate: {printed[:200]}")
    return Seen(float(rate[1]), float(p99[1]) * MS[p99[2]])


def served(address: str) -> int:
    """The number of requests that the service has answered so far."""
    with urllib.request.urlopen(address + "served") as answer:
        return int(answer.read())


def watched(watcher: Watcher, pid: int, address: str, seconds: float) -> Seen:
    """The same load while `watcher` runs."""
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile() as words:
        command = watcher.on(pid, seconds + 2 * BEFORE_S, Path(out))
        process = subprocess.Popen(command, stdout=words, stderr=words, env=os.environ | watcher.environment)
        time.sleep(BEFORE_S)
        seen = load(address, seconds)
        code, usage, wall_s = end(process, seconds + 2 * BEFORE_S)
        words.seek(0)
        last = words.read().decode(errors="replace").strip().splitlines()[-1:]
    seen.cpu_cores = (usage.ru_utime + usage.ru_stime) / wall_s
    seen.peak_bytes = usage.ru_maxrss * 1024
    # Interrupted watchers end with their own exit codes; any other code means that it never ran.
    seen.failure = "" if code in (0, 1, -signal.SIGINT, 130) else f"exit {code}: {' '.join(last)[:60]}"
    return seen


def end(process: subprocess.Popen, wall_s: float):
    """Interrupts the watcher if it has not ended by itself, and returns its cost."""
    ended = wait(process, BEFORE_S + 1)
    if not ended:
        os.kill(process.pid, signal.SIGINT)
        ended = wait(process, AFTER_S)
    if ended:
        return *ended, wall_s
    os.kill(process.pid, signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    return "none, killed", usage, wall_s


def wait(process: subprocess.Popen, seconds: float):
    """The exit code and cost of a process, if it ends in time. No other code may wait for it: a second wait would find nothing."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        time.sleep(0.05)
    return None
