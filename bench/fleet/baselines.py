"""Today's usual methods on the same data: threshold rules and a z-score, and the fact that most of the flagged hosts share."""

from __future__ import annotations

import numpy as np
from scipy import stats

QUIET = 0.999
"""A limit for each role, as a quantile of the day before: a rule that was quiet yesterday."""
MINUTES_OF_20 = 15
Z = 3.0
P = 0.05


def threshold_rule(values: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """An alert: above the role's limit in 15 of 20 minutes, on the last day."""
    before, today = values[:, :-1440], values[:, -1440:]
    above = np.zeros(today.shape, dtype=np.int16)
    for role in np.unique(roles):
        rows = roles == role
        above[rows] = today[rows] > np.quantile(before[rows], QUIET)
    sums = np.cumsum(above, axis=1)
    return (sums[:, 20:] - sums[:, :-20] >= MINUTES_OF_20).any(axis=1)


def z_score(values: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """The mean of the last day against mean and standard deviation of the role: above 3."""
    means = values[:, -1440:].mean(axis=1)
    z = np.zeros(len(means))
    for role in np.unique(roles):
        rows = roles == role
        z[rows] = (means[rows] - means[rows].mean()) / max(means[rows].std(), 1e-12)
    return z > Z


def top_fact(flagged: np.ndarray, held: np.ndarray) -> tuple[int, bool]:
    """The fact with the smallest Fisher p, and whether it is below 0.05, as read off a dashboard."""
    with_fact = held.sum(axis=0)
    sick_with = held[flagged].sum(axis=0)
    p = stats.hypergeom.sf(sick_with - 1, len(flagged), int(flagged.sum()), with_fact)
    best = int(np.argmin(p))
    return best, bool(p[best] < P)
