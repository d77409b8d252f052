"""The minute in which a level changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIDE_MIN = 10
"""Minutes on either side: fewer say nothing about a level."""

CHI2_95 = 3.841
"""95 % quantile of χ² with one degree of freedom: minutes whose fit is not worse by more are possible."""


@dataclass(frozen=True)
class Step:
    minute: int
    """The first of the new level."""
    earliest: int
    latest: int


def step(minutes: np.ndarray, values: np.ndarray) -> Step | None:
    """The step that fits best by least squares, and an interval of about 95 % that allows for minutes that follow each other."""
    n = len(values)
    if n < 2 * SIDE_MIN:
        return None
    sums, squares = np.cumsum(values), np.cumsum(values**2)
    cuts = np.arange(SIDE_MIN, n - SIDE_MIN + 1)
    left, right = sums[cuts - 1], sums[-1] - sums[cuts - 1]
    errors = squares[-1] - left**2 / cuts - right**2 / (n - cuts)
    best = int(np.argmin(errors))
    cut = cuts[best]
    residuals = np.concatenate([values[:cut] - values[:cut].mean(), values[cut:] - values[cut:].mean()])
    variance = max(float(errors[best]) / (n - 2), np.finfo(float).tiny)
    possible = cuts[errors - errors[best] <= CHI2_95 * variance * inflation(residuals)]
    return Step(int(minutes[cut]), int(minutes[possible[0]]), int(minutes[possible[-1]]))


def inflation(residuals: np.ndarray) -> float:
    """By how much minutes that follow each other make sums vary more: (1 + ρ) / (1 - ρ)."""
    total = float(residuals @ residuals)
    rho = float(residuals[1:] @ residuals[:-1]) / total if total else 0.0
    rho = min(max(rho, 0.0), 0.99)
    return (1 + rho) / (1 - rho)
