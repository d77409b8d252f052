"""Simulated runs: how often `fathom compare` is wrong about them."""

from collections import Counter

import numpy as np

from .methods import judged

SEED = 46
# Standard deviations of log p50 from run to run: within a machine that is quiet, one that is busy, and one that drifts.
NOISE = {"quiet": (0.028, 0.0), "busy": (0.093, 0.0), "drift": (0.059, 0.06)}
SECOND_NS = 1_000_000_000


def simulate(verdicts: str) -> None:
    """Rates by machine, order, number of runs and true change."""
    random_numbers = np.random.default_rng(SEED)
    print("| machine | order | runs a side | true change | better or worse | not comparable |\n|---|---|---|---|---|---|")
    for machine, (deviation, walk) in NOISE.items():
        for order in ("turns", "blocks"):
            for runs in (3, 5, 10):
                for change in (0.0, 0.05, 0.1, 0.2):
                    lines = [simulated(random_numbers, order, runs, change, deviation, walk) for _ in range(2_000)]
                    kinds = Counter(kind for kind, *_ in judged(verdicts, lines))
                    found = (kinds["Better"] + kinds["Worse"]) / len(lines)
                    refused = kinds["NotComparable"] / len(lines)
                    print(f"| {machine} | {order} | {runs} | {change:+.0%} | {found:.1%} | {refused:.1%} |", flush=True)


def simulated(random_numbers: np.random.Generator, order: str, runs: int, change: float, deviation: float, walk: float) -> dict:
    """One comparison. The mean of a run varies half as much again as its median, and mostly with it."""
    drift = np.cumsum(random_numbers.normal(0, walk, 2 * runs)) if walk else np.zeros(2 * runs)
    own = random_numbers.normal(0, deviation, 2 * runs)
    tail = random_numbers.normal(0, deviation, 2 * runs)
    letters = ("ABBA" * runs)[: 2 * runs] if order == "turns" else "A" * runs + "B" * runs
    sides: dict[str, list] = {"a": [], "b": []}
    for number, letter in enumerate(letters):
        by = drift[number] + own[number] + (np.log1p(change) if letter == "B" else 0.0)
        numbers = {"p50_ns": 1e6 * np.exp(by), "mean_ns": 2e6 * np.exp(by + tail[number])}
        sides[letter.lower()].append(numbers | {"from_ns": number * 60 * SECOND_NS, "length_ns": 60 * SECOND_NS, "count": 6e4})
    return sides
