"""Recorded runs: their figures as `fathom runs` has them, copies that are slower by a known part, and which are compared."""

import csv
import json
import random
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .services import OTHERS

# What `fathom compare` is given of a run.
LATENCIES = ["p50_ns", "p90_ns", "p99_ns", "mean_ns"]
FIGURES = ["from_ns", "length_ns", "count", *LATENCIES]
# As in crates/compare/src/comparable.rs.
BUSIER_BY = 0.2
# From this part of a run's requests on they are its tail: what is done to them changes p99, and p50 not at all.
TAIL = 0.98


@dataclass(frozen=True)
class Run:
    """One run of a service."""

    name: str
    figures: dict[str, float]
    requests_ms: np.ndarray
    others_cpu: float

    def p50_ms(self) -> float:
        return self.figures["p50_ns"] / 1e6

    def mean_ms(self) -> float:
        return self.figures["mean_ns"] / 1e6

    def slower(self, by: float) -> "Run":
        """All its requests take so much longer."""
        figures = self.figures | {name: self.figures[name] * (1 + by) for name in LATENCIES}
        return replace(self, figures=figures, requests_ms=self.requests_ms * (1 + by))

    def slower_tail(self, by: float) -> "Run":
        """Only its slowest requests do."""
        is_tail = self.requests_ms >= np.quantile(self.requests_ms, TAIL)
        requests = np.where(is_tail, self.requests_ms * (1 + by), self.requests_ms)
        grown = self.figures["mean_ns"] * requests.sum() / self.requests_ms.sum()
        figures = self.figures | {"p99_ns": self.figures["p99_ns"] * (1 + by), "mean_ns": grown}
        return replace(self, figures=figures, requests_ms=requests)

    def given(self, with_others: bool) -> dict[str, float]:
        return self.figures | ({"others_cpu": self.others_cpu} if with_others else {})


Sides = tuple[list[Run], list[Run]]


def read(fathom: str, folder: Path, place: str) -> list[Run]:
    """In the order of their time."""
    others = dict(json.loads(line) for line in (folder / OTHERS).read_text().splitlines())
    rows = history(fathom, folder / place)["runs"]
    return [of(folder / place / row["name"], row, others[f"{place}/{row['name']}"]) for row in rows]


def history(fathom: str, folder: Path) -> dict:
    answer = subprocess.run([fathom, "runs", folder, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(answer)


def of(folder: Path, row: dict, others_cpu: float) -> Run:
    figures = {name: (row | row["latencies"])[name] for name in FIGURES}
    with (folder / "latency.csv").open() as file:
        requests = np.array([float(line["latency_ms"]) for line in csv.DictReader(file)])
    return Run(row["name"], figures, requests, others_cpu)


def undisturbed(pool: list[Run]) -> list[Run]:
    """Without those that `fathom compare` would refuse beside the others."""
    usual = np.median([run.others_cpu for run in pool])
    return [run for run in pool if run.others_cpu - usual <= BUSIER_BY]


def deviation(runs: list[Run]) -> float:
    """How much log p50 varies from run to run."""
    return float(np.std(np.log([run.p50_ms() for run in runs]), ddof=1))


def drawn(pool: list[Run], runs: int, chance: random.Random) -> Sides:
    """Some of the runs, each once; neighbours are a pair, and chance says which is of which side, so that the order is that of turns."""
    chosen = sorted(chance.sample(pool, 2 * runs), key=lambda run: run.figures["from_ns"])
    pairs = [chance.sample(pair, 2) for pair in zip(chosen[::2], chosen[1::2], strict=True)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def blocks(pool: list[Run], runs: int) -> list[Sides]:
    """All runs in a row of which the first half is compared with the second."""
    return [(pool[start : start + runs], pool[start + runs : start + 2 * runs]) for start in range(len(pool) - 2 * runs + 1)]
