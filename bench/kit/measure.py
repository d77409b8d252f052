"""Runs one command and measures its cost: wall time, CPU time, peak memory, and what its driver printed."""

import os
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .tools import Tool

PASS = re.compile(rb"^(\d+\.\d+) (\d+)$", re.MULTILINE)

# A tool repeats until its time budget is used up, so that slow ones do not delay the rest.
BUDGET_S = 30
LIMIT_S = 300
COLD_RUNS = 3
WARM_PASSES = 9


@dataclass
class Run:
    """One process, from start to exit."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    passes_s: list[float]
    events: int
    failure: str = ""


@dataclass
class Result:
    """The cost of one tool for one file."""

    tool: Tool
    file: Path
    cold: list[Run]
    warm_s: list[float]
    events: int
    failure: str

    @property
    def best_s(self) -> float:
        """The best pass, or the best whole process if a tool has no passes."""
        return min(self.warm_s or [run.wall_s for run in self.cold])

    @property
    def median_s(self) -> float:
        return median(self.warm_s or [run.wall_s for run in self.cold])

    @property
    def cold_s(self) -> float:
        return min(run.wall_s for run in self.cold)

    @property
    def cpu_s(self) -> float:
        return min(run.cpu_s for run in self.cold)

    @property
    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.cold)


def several(tools: list[Tool], file: Path) -> list[Result]:
    """Runs every tool on one file. Cold rounds alternate between all tools, so that a busy minute affects all of them."""
    cold = {tool.name: [] for tool in tools}
    for _ in range(COLD_RUNS):
        for tool in tools:
            runs = cold[tool.name]
            if sum(run.wall_s for run in runs) < BUDGET_S and not any(run.failure for run in runs):
                runs.append(run_once(tool, file, 1))
    return [finish(tool, file, cold[tool.name]) for tool in tools]


def finish(tool: Tool, file: Path, cold: list[Run]) -> Result:
    """Adds the warm passes (one process that reads the file repeatedly) for tools that are not already slow."""
    failure = next((run.failure for run in cold if run.failure), "")
    first = cold[0]
    passes = min(WARM_PASSES, int(BUDGET_S / first.wall_s)) if tool.takes_passes and not failure else 0
    runs = [*cold, run_once(tool, file, passes)] if passes else cold
    passes_s = [seconds for run in runs for seconds in run.passes_s]
    return Result(tool, file, cold, passes_s, first.events, runs[-1].failure or failure)


def run_once(tool: Tool, file: Path, passes: int) -> Run:
    """One process, measured by the kernel's accounting when it ends."""
    environment = os.environ | tool.environment
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        process = subprocess.Popen(tool.on(file, passes), stdout=out, stderr=errors, env=environment)
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        wall_s = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = PASS.findall(out.read())
        errors.seek(0)
        last_words = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    return Run(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
        passes_s=[float(seconds) for seconds, _ in printed],
        events=int(printed[0][1]) if printed else 0,
        failure=failure_of(process.returncode, wall_s, last_words, bool(printed) or not tool.takes_passes),
    )


def failure_of(code: int, wall_s: float, last_words: list[str], printed: bool) -> str:
    """The error of the run; empty if it is valid."""
    if wall_s >= LIMIT_S:
        return f"stopped after {LIMIT_S} s"
    if code != 0:
        return f"exit {code}: {' '.join(last_words)[:80]}"
    return "" if printed else "printed no pass"
