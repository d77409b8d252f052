"""Two groups of hosts, a number of each: how different, and how sure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
GROUP_MIN = 3
"""Hosts on both sides for a comparison of means. Fewer treated hosts are compared with the spread of the others."""


@dataclass(frozen=True)
class Difference:
    effect: float
    low: float
    high: float
    p: float
    smallest: float
    """What would have been seen: half the width of the interval."""


def difference(treated: np.ndarray, control: np.ndarray) -> Difference | None:
    """Welch's t of hosts; for a canary, where it stands among the others. None where nothing can be said."""
    treated, control = treated[~np.isnan(treated)], control[~np.isnan(control)]
    if len(control) < GROUP_MIN or not len(treated):
        return None
    if len(treated) >= GROUP_MIN:
        test = stats.ttest_ind(treated, control, equal_var=False)
        interval = test.confidence_interval(CONFIDENCE)
        return of_interval(float(treated.mean() - control.mean()), interval.low, interval.high, test.pvalue)
    return canary(float(treated.mean()), len(treated), control)


def canary(value: float, hosts: int, control: np.ndarray) -> Difference:
    """A prediction interval: by how much another such host would differ by chance."""
    effect = value - float(control.mean())
    error = float(control.std(ddof=1)) * math.sqrt(1 / hosts + 1 / len(control))
    freedom = len(control) - 1
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(effect) / error, freedom)) if error else float("nan")
    return of_interval(effect, effect - half, effect + half, p)


def change(values: np.ndarray) -> Difference | None:
    """The mean of one group against zero."""
    values = values[~np.isnan(values)]
    if len(values) < GROUP_MIN:
        return None
    test = stats.ttest_1samp(values, 0.0)
    interval = test.confidence_interval(CONFIDENCE)
    return of_interval(float(values.mean()), interval.low, interval.high, test.pvalue)


def of_interval(effect: float, low: float, high: float, p: float) -> Difference:
    return Difference(effect, float(low), float(high), float(p), (float(high) - float(low)) / 2)
