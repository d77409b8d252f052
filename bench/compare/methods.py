"""Methods that say whether two sides differ: that of `fathom compare`, and what others use."""

import json
import subprocess
from collections.abc import Callable

import numpy as np
from scipy import stats

from .runs import Sides

LEVEL = 0.05


def verdicts(program: str, comparisons: list[Sides], with_others: bool = True) -> list[list[str]]:
    """Kind of each verdict, whether the interval of p99 is without zero, and the sentence."""
    given = lambda side: [run.given(with_others) for run in side]  # noqa: E731
    return judged(program, [{"a": given(a), "b": given(b)} for a, b in comparisons])


def judged(program: str, comparisons: list[dict]) -> list[list[str]]:
    text = "\n".join(json.dumps(one) for one in comparisons)
    lines = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t", 2) for line in lines]


def welch(a: list, b: list) -> bool:
    return stats.ttest_ind([run.mean_ms() for run in a], [run.mean_ms() for run in b], equal_var=False).pvalue < LEVEL


def mann_whitney(a: list, b: list) -> bool:
    of_a, of_b = (np.concatenate([run.requests_ms for run in side]) for side in (a, b))
    return stats.mannwhitneyu(of_a, of_b).pvalue < LEVEL


def change_points(series: list[float]) -> list[int]:
    """Of otava, by what it does when nothing else is asked for: the runs after a change, counted from 1."""
    from otava.analysis import compute_change_points

    return [point.index + 1 for point in compute_change_points(series)[0]]


def otava(a: list, b: list) -> bool:
    """Both sides as one series."""
    return bool(change_points([run.p50_ms() for run in [*a, *b]]))


OTHERS: dict[str, Callable[[list, list], bool]] = {
    "Welch, means of runs": welch,
    "Mann-Whitney, requests": mann_whitney,
    "otava, p50 of runs": otava,
}


def rates(comparisons: list[Sides]) -> dict[str, float]:
    """How often each of the others says that the sides differ."""
    return {name: float(np.mean([differs(a, b) for a, b in comparisons])) for name, differs in OTHERS.items()}
