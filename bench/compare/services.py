"""Real runs of three services, of one of them with a delay, and a series of that one with a delay in its middle."""

import csv
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kit.places import REPO, jdk
from kit.process import busy_s
from kit.recording import compile_java

JDK = 17
# Requests per second, so that each has a fifth to a third of one CPU.
SERVICES = {"computes": 200, "talks": 300, "stores": 150}
# The service that is also run with a delay: its requests take the most like time.
DELAYED = "talks"
DELAY = 0.1
DELAY_OF_SERIES = 0.3
WARM_UP_S, MEASURED_S = 2, 6
# A series is longer, so its runs are shorter.
SERIES, OUT_FROM, OUT_TO = 30, 10, 20
SERIES_WARM_UP_S, SERIES_S = 1, 3
# They take one or two when nothing waits for its turn.
OVERLOADED_MS = 50
# What others used of the CPUs during each run.
OTHERS = "others_cpu.jsonl"
# The machine without other programs.
QUIET = "quiet"
# Without the last, the JDK's HTTP server waits 40 ms for the client's acknowledgement.
JVM = ["-XX:+UseG1GC", "-Xms256m", "-Xmx256m", "-Xmn64m", "-Dsun.net.httpserver.nodelay=true"]


@dataclass
class Runner:
    """What is needed to run a service."""

    java: Path
    classes: Path
    folder: Path

    def run(self, place: str, service: str, delay_us: int = 0, seconds: tuple[int, int] = (WARM_UP_S, MEASURED_S)) -> float:
        """One JVM. What was due before the end of its warm-up is left out of its latencies; their median, in µs."""
        out = self.folder / place
        out.mkdir(parents=True)
        rate = SERVICES[service]
        phases = ",".join(f"{name}:{length}:{rate}" for name, length in zip(("warm_up", "measured"), seconds, strict=True))
        words = [f"service={service}", f"delay_us={delay_us}", f"out={out}", f"phases={phases}", "handlers=4", "lab=services", "variant=same"]
        others = others_during([self.java, *JVM, "-cp", self.classes, "Services", *words])
        with (self.folder / OTHERS).open("a") as file:
            file.write(json.dumps([place, others]) + "\n")
        median_ms = warm(out)
        if median_ms > OVERLOADED_MS:
            raise SystemExit(f"{place}: half of the requests took more than {median_ms:.0f} ms: the machine cannot carry this load")
        return median_ms * 1e3


def others_during(command: list) -> float:
    """Runs a program to its end: the part of the machine's CPUs that all others used meanwhile."""
    before, began = busy_s(), time.monotonic()
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise SystemExit(f"the service ended with {program.returncode}")
    busy = busy_s() - before - used.ru_utime - used.ru_stime
    return max(busy, 0) / (time.monotonic() - began) / (os.cpu_count() or 1)


def warm(out: Path) -> float:
    """Leaves in the file of latencies what was due after the warm-up; the median in ms."""
    measured = next(phase for phase in json.loads((out / "dose.json").read_text())["phases"] if phase["name"] == "measured")
    (out / "dose.json").unlink()
    with (out / "latency.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["time"]) >= measured["from_ms"]]
    with (out / "latency.csv").open("w") as file:
        writer = csv.DictWriter(file, ["time", "latency_ms"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return statistics.median(float(row["latency_ms"]) for row in rows)


def record(folder: Path, machine: str, rounds: int) -> None:
    """A folder of the machine with one of each service; where it is quiet also the delayed service, and the series."""
    home = jdk(JDK)
    sources = [Path(__file__).with_name("src") / "Services.java", *sorted((REPO / "labs" / "java" / "fathomlab").glob("*.java"))]
    runner = Runner(home / "bin" / "java", compile_java(home, sources, folder / machine / "classes"), folder)
    if machine != QUIET:
        return rounds_of(runner, machine, rounds, None)
    median_us = statistics.median(runner.run(f"tried/{number}", DELAYED) for number in range(3))
    delay_us = round(DELAY * median_us)
    print(f"{DELAYED}: p50 {median_us:.0f} µs, delayed by {delay_us} µs", flush=True)
    rounds_of(runner, machine, rounds, delay_us)
    for number in range(SERIES):
        by_us = round(DELAY_OF_SERIES * median_us) if OUT_FROM <= number < OUT_TO else 0
        runner.run(f"series/{DELAYED}/{number + 1:02}", DELAYED, by_us, (SERIES_WARM_UP_S, SERIES_S))
    return None


def rounds_of(runner: Runner, machine: str, rounds: int, delay_us: int | None) -> None:
    """The services in turns, so that all of them see the same hour; in each second round, the delayed one as well."""
    for number in range(rounds):
        for service in SERVICES:
            runner.run(f"{machine}/{service}/{number + 1:02}", service)
        if delay_us and number % 2 == 0:
            runner.run(f"{machine}/delayed/{number + 1:02}", DELAYED, delay_us)
