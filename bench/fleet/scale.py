"""What the questions cost: seconds, CPU and memory of each, on 1,000 and 10,000 hosts of a day, on DuckDB and on Spark.

Each question runs in a process of its own, with loading; the memory is that process's peak (and, with Spark, not its JVM's).
"""

from __future__ import annotations

import argparse
import json
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
    options.add_argument("--one", nargs=2, metavar=("FOLDER", "QUESTION"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        print(json.dumps(one(*given.one, given.engine)))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    for hosts in given.hosts:
        with tempfile.TemporaryDirectory(dir=OUT) as folder:
            simulate(hosts, Path(folder))
            for question in QUESTIONS:
                measured(hosts, folder, question, given.engine)


def simulate(hosts: int, folder: Path) -> None:
    from fathom_fleet import simulator

    illness = simulator.Illness(0.5, round(hosts * SICK_SHARE))
    simulator.write(simulator.World(hosts=hosts, days=1, illness=illness), folder)


def measured(hosts: int, folder: str, question: str, engine: str) -> None:
    began = time.monotonic()
    command = [sys.executable, __file__, "--engine", engine, "--one", folder, question]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    row = {"hosts": hosts, "engine": engine, "question": question, "wall_s": round(time.monotonic() - began, 1)}
    last = done.stdout.strip().splitlines()[-1:] if done.returncode == 0 else []
    row |= json.loads(last[0]) if last else {"failed": done.stderr.strip().splitlines()[-1:]}
    print(json.dumps(row), flush=True)
    with (OUT / "scale.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")


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
    }


if __name__ == "__main__":
    main()
