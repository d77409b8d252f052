"""Labs, five sick runs against five fixed ones, and these against five more fixed ones."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kit.figures import head, row

RUNS = 5
# Made in turns, and each second time in the reverse order: a machine that drifts does so on all sides.
SIDES = {"sick": "sick", "fixed": "fixed", "again": "fixed"}
DECIDING = ("p50", "mean")


def run(fathom: str, folder: Path, together: int, labs: list[str]) -> None:
    """The runs of some labs, so many at the same time."""
    with ThreadPoolExecutor(together) as pool:
        list(pool.map(lambda lab: runs_of(fathom, folder, lab), labs))


def runs_of(fathom: str, folder: Path, lab: str) -> None:
    for number in range(RUNS):
        sides = list(SIDES) if number % 2 == 0 else list(reversed(SIDES))
        for side in sides:
            one_run(fathom, folder / lab / side / f"{number + 1}", lab, SIDES[side])
    print(f"{lab}: {RUNS} runs of each", flush=True)


def one_run(fathom: str, out: Path, lab: str, variant: str) -> None:
    """Leaves the recording and the answer; a run that was made before is kept."""
    if (out / "run.json").exists():
        return
    shutil.rmtree(out, ignore_errors=True)
    ended = subprocess.run([fathom, "lab", "run", lab, "--variant", variant, "-o", out, "--json"], capture_output=True, text=True, check=False)
    recording = out / variant / "recording.fathom"
    if not recording.exists():
        raise SystemExit(f"{lab}, {variant}: {ended.stderr.strip().splitlines()[-1:]}")
    recording.rename(out / "recording.fathom")
    shutil.rmtree(out / variant)
    (out / "run.json").write_text(ended.stdout)


def table(fathom: str, folder: Path) -> None:
    """What `fathom compare` says of the runs that are there."""
    columns = ["lab", "verdict", "mean latency", "its cause per request", "shown in"]
    titles = [*columns, "fixed and fixed", "would have been found"]
    print(head(titles, len(titles)))
    for lab in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        print(row(cells_of(fathom, folder / lab, lab)))


def cells_of(fathom: str, runs: Path, lab: str) -> list[str]:
    cured, equal = compared(fathom, runs, "sick", "fixed"), compared(fathom, runs, "fixed", "again")
    mean = next(measure for measure in cured["measures"] if measure["measure"] == "mean")
    found = [f"{measure['measure']} {measure['found_from']:.0%}" for measure in equal["measures"] if measure["measure"] in DECIDING and measure["found_from"]]
    return [f"`{lab}`", cured["verdict"]["says"], ms(mean["a"]["value"], mean["b"]["value"]), *of_cause(cured, lab), equal["verdict"]["says"], ", ".join(found)]


def of_cause(answer: dict, lab: str) -> tuple[str, str]:
    """The lab's own cause on both sides."""
    cause = next((cause for cause in answer["causes"] if cause["id"] == lab), None)
    return (ms(cause["a_ns"], cause["b_ns"]), f"{cause['a_runs']}, {cause['b_runs']}") if cause else ("not named", "0, 0")


def ms(a_ns: float, b_ns: float) -> str:
    return f"{a_ns / 1e6:.3g} and {b_ns / 1e6:.3g} ms"


def compared(fathom: str, runs: Path, a: str, b: str) -> dict:
    command = [fathom, "compare", *sorted((runs / a).glob("*/recording.fathom")), "--with", *sorted((runs / b).glob("*/recording.fathom")), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
