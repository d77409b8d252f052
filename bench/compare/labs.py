"""Labs, five sick runs against five fixed ones, and these against five more fixed ones."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kit.figures import head, row

RUNS = 5
# Made in turns, and each second time in the reverse order: a machine that drifts does so on all sides. Labs that run at the same time begin
# with different ones, so that none of them has all sick ones beside its own.
SIDES = {"sick": "sick", "fixed": "fixed", "again": "fixed"}
DECIDING = ("p50", "mean")


def run(fathom: str, folder: Path, together: int, labs: list[str]) -> None:
    """The runs of some labs, or all that have a remedy, so many at the same time."""
    with ThreadPoolExecutor(together) as pool:
        list(pool.map(lambda lab: runs_of(fathom, folder, lab), labs or with_a_remedy(fathom)))


def with_a_remedy(fathom: str) -> list[str]:
    labs = json.loads(subprocess.run([fathom, "lab", "list", "--json"], capture_output=True, text=True, check=True).stdout)["labs"]
    return [lab["id"] for lab in labs if {"sick", "fixed"} <= set(lab["variants"])]


def runs_of(fathom: str, folder: Path, lab: str) -> None:
    for number in range(RUNS):
        sides = turned(list(SIDES), len(lab))
        if number % 2:
            sides.reverse()
        for side in sides:
            complaint = one_run(fathom, folder / lab / side / f"{number + 1}", lab, SIDES[side])
            if complaint:
                print(f"{lab}, {side}: {complaint}", flush=True)
                return
    print(f"{lab}: {RUNS} runs of each", flush=True)


def turned(sides: list[str], times: int) -> list[str]:
    return sides[times % len(sides) :] + sides[: times % len(sides)]


def one_run(fathom: str, out: Path, lab: str, variant: str) -> str | None:
    """Leaves the recording and the answer, or says why it cannot; a run that was made before is kept."""
    if (out / "run.json").exists():
        return None
    shutil.rmtree(out, ignore_errors=True)
    ended = subprocess.run([fathom, "lab", "run", lab, "--variant", variant, "-o", out, "--short", "--at-once", "--json"], capture_output=True, text=True, check=False)
    # A lab that fails at its end has a recording, and no answer.
    if not ended.stdout.strip() or not (out / variant / "recording.fathom").exists():
        return (ended.stderr.strip().splitlines() or ["no recording"])[-1]
    (out / variant).rename(out / "run")
    (out / "run.json").write_text(ended.stdout)
    return None


def table(fathom: str, folder: Path) -> None:
    """What `fathom compare` says of the labs of which all runs are there."""
    columns = ["lab", "verdict", "mean latency", "its cause per request", "shown in"]
    titles = [*columns, "fixed and fixed", "would have been found"]
    print(head(titles, len(titles)))
    whole = sorted(path.name for path in folder.iterdir() if len(list(path.glob("*/*/run.json"))) == RUNS * len(SIDES))
    with ThreadPoolExecutor() as pool:
        for cells in pool.map(lambda lab: cells_of(fathom, folder / lab, lab), whole):
            print(row(cells), flush=True)


def cells_of(fathom: str, runs: Path, lab: str) -> list[str]:
    cured, equal = compared(fathom, runs, "sick", "fixed"), compared(fathom, runs, "fixed", "again")
    mean = next(measure for measure in cured["measures"] if measure["measure"] == "mean")
    found = [f"{measure['measure']} {measure['found_from']:.0%}" for measure in equal["measures"] if measure["measure"] in DECIDING and measure["found_from"]]
    return [f"`{lab}`", verdict(cured), ms(mean["a"]["value"], mean["b"]["value"]), *of_cause(cured, lab), verdict(equal), ", ".join(found)]


def verdict(answer: dict) -> str:
    return answer["verdict"]["kind"].replace("_", " ")


def of_cause(answer: dict, lab: str) -> tuple[str, str]:
    """The lab's own cause on both sides."""
    cause = next((cause for cause in answer["causes"] if cause["id"] == lab), None)
    return (ms(cause["a_ns"], cause["b_ns"]), f"{cause['a_runs']}, {cause['b_runs']}") if cause else ("not named", "0, 0")


def ms(a_ns: float, b_ns: float) -> str:
    return f"{a_ns / 1e6:.3g} and {b_ns / 1e6:.3g} ms"


def compared(fathom: str, runs: Path, a: str, b: str) -> dict:
    """Whatever CPUs others used: some labs are about that, and those that run at the same time are others to each other. A container
    that gets more memory counts as another machine, and is how some labs are fixed; the fault of one is that its JVM is young."""
    command = [fathom, "compare", *sorted((runs / a).glob("*/run")), "--with", *sorted((runs / b).glob("*/run")), "--json"]
    for reason in ["busy", "machine", "warm-up"]:
        command += ["--accept", reason]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
