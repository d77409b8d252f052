"""The cost of each question: seconds, CPU and memory, for a day of 1,000 and 10,000 hosts, on DuckDB and on Spark.

Each question runs in a process of its own, with loading; the memory is that process's peak, and with Spark that of its JVM as well.
The load is the machine's average of the minute before: wall-clock times under a high one say little, CPU seconds more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OUT = Path("bench/out/fleet")
QUESTIONS = ("load", "outliers", "onset", "shared", "rollout", "causes", "recurring")
SICK_SHARE = 0.01


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--hosts", type=int, nargs="*", default=[1000, 10_000])
    options.add_argument("--engine", default="duckdb")
    options.add_argument("--questions", nargs="*", default=QUESTIONS)
    options.add_argument("--patience", type=int, default=600, metavar="S", help="for each question")
    options.add_argument("--one", nargs=2, metavar=("FOLDER", "QUESTION"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        print(json.dumps(one(*given.one, given.engine)))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    for hosts in given.hosts:
        with tempfile.TemporaryDirectory(dir=OUT) as folder:
            simulate(hosts, Path(folder))
            for question in given.questions:
                measured(hosts, folder, question, given)


def simulate(hosts: int, folder: Path) -> None:
    from fathom_fleet import simulator

    illness = simulator.Illness(0.5, round(hosts * SICK_SHARE))
    simulator.write(simulator.World(hosts=hosts, days=1, illness=illness), folder)


def measured(hosts: int, folder: str, question: str, given: argparse.Namespace) -> None:
    load, began = os.getloadavg()[0], time.monotonic()
    answer = answer_of([sys.executable, __file__, "--engine", given.engine, "--one", folder, question], given.patience)
    wall_s = round(time.monotonic() - began, 1)
    row = {"hosts": hosts, "engine": given.engine, "question": question, "wall_s": wall_s, "load": round(load, 1)} | answer
    print(json.dumps(row), flush=True)
    with (OUT / "scale.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")


def answer_of(command: list[str], patience_s: int) -> dict:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience_s)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {patience_s} s"}
    last = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else []
    return json.loads(last[0]) if last else {"failed": done.stderr.strip().splitlines()[-1:]}


def jvm_mb() -> dict[str, int]:
    """The peak memory of Spark's JVM, which is a child of this process."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if fields["PPid"] == str(os.getpid()) and fields["Name"] == "java":
            return {"jvm_mb": int(fields["VmHWM"].split()[0]) // 1024}
    return {}


def one(folder: str, question: str, engine: str) -> dict:
    import fathom_fleet as ff

    fleet = ff.load(folder, engine=engine)
    asked = {
        "load": lambda: None,
        "outliers": lambda: ff.outliers(fleet),
        "onset": lambda: ff.onset(fleet),
        "shared": lambda: ff.shared(fleet),
        "rollout": lambda: ff.rollout(fleet, hosts=fleet.subjects["subject"].tolist()[:20], at=fleet.last - 600),
        "causes": lambda: ff.causes(fleet),
        "recurring": lambda: ff.recurring(fleet),
    }
    answer = asked[question]()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": usage.ru_maxrss // 1024,
        "verdict": answer.verdict if answer else "",
        **jvm_mb(),
    }


if __name__ == "__main__":
    main()
