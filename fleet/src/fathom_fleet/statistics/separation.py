"""Which facts do the hosts with high scores share? A permutation test over all facts and scores at once.

Scores become normal scores of their ranks, so no host weighs more than its rank. For each fact the sum
over its holders is compared with what drawing as many hosts of the same roles by chance gives. How large the largest of all
these becomes by chance is found by shuffling hosts within their roles: that answers how many facts were tried, and that many
of them are held by the same hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .standing import normal_scores

HOLDERS_MIN = 3
"""Hosts with a fact, and hosts without it. Chance alone puts one fact of two hosts of a large fleet first."""
SHUFFLES = 999
SHUFFLES_AT_ONCE = 64
"""Bounds memory: facts × scores × this many floats."""
EXCEEDED_ENOUGH = 50
"""Shuffles in which chance got as far as the best fact did. So many of 999 mean q > 0.05, and more shuffles cannot change that."""


@dataclass(frozen=True)
class Separation:
    """Of each fact (row) and score (column)."""

    z: np.ndarray
    q: np.ndarray
    """Chance that any fact and any score reaches this without a cause: corrected for all that was tried."""
    critical: float
    """The z that q = `alpha` needs."""


def spread(held: np.ndarray, scores: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Standard deviation of the sum over a fact's holders when hosts are shuffled within strata (facts × columns)."""
    variance = np.zeros((held.shape[1], scores.shape[1]))
    for stratum in np.unique(strata):
        rows = strata == stratum
        hosts = int(rows.sum())
        if hosts > 1:
            holders = held[rows].sum(axis=0, dtype=np.float64)
            drawn = holders * (hosts - holders) / (hosts - 1)
            variance += np.outer(drawn, scores[rows].var(axis=0))
    return np.sqrt(variance)


def z_of(held: np.ndarray, scores: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """How far the sum over each fact's holders is from chance, in standard deviations."""
    centred = scores - stratum_means(scores, strata)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (held.T.astype(np.float64) @ centred) / spread(held, centred, strata)
    return np.where(np.isfinite(z), z, 0.0)


def stratum_means(scores: np.ndarray, strata: np.ndarray) -> np.ndarray:
    codes = np.unique(strata, return_inverse=True)[1]
    counts = np.bincount(codes)
    columns = [np.bincount(codes, weights=scores[:, column]) / counts for column in range(scores.shape[1])]
    return np.column_stack(columns)[codes]


def separate(held: np.ndarray, scores: np.ndarray, roles: np.ndarray, alpha: float, seed: int = 1) -> Separation:
    """Tests every fact (a column of `held`) on every score. Facts with too few hosts on either side are not tested."""
    ranked = normal_scores(scores, roles)
    hosts = held.sum(axis=0)
    testable = (hosts >= HOLDERS_MIN) & (len(held) - hosts >= HOLDERS_MIN)
    z = np.where(testable[:, None], z_of(held, ranked, roles), 0.0)
    largest = largest_by_chance(held[:, testable], ranked, roles, float(z.max(initial=0.0)), seed)
    exceeded = len(largest) - np.searchsorted(np.sort(largest), z - 1e-9)
    q = np.where(testable[:, None], (1 + exceeded) / (1 + len(largest)), 1.0)
    critical = float(np.quantile(largest, 1 - alpha)) if len(largest) else float("inf")
    return Separation(z, q, critical)


def largest_by_chance(held: np.ndarray, ranked: np.ndarray, roles: np.ndarray, best: float, seed: int) -> np.ndarray:
    """The largest z of all facts and scores in each shuffle of hosts within roles.

    It stops early when chance has reached `best` so often that no fact can pass (Besag and Clifford's sequential test).
    """
    if not held.shape[1]:
        return np.zeros(0)
    with np.errstate(divide="ignore"):
        weights = 1.0 / spread(held, ranked, roles)
    weights = np.where(np.isfinite(weights), weights, 0.0).astype(np.float32)
    random = np.random.default_rng(seed)
    codes = np.unique(roles, return_inverse=True)[1].astype(np.float64)
    order = np.argsort(codes, kind="stable")
    facts = np.ascontiguousarray(held.T, dtype=np.float32)
    source = ranked.astype(np.float32)
    largest: list[np.ndarray] = []
    for begin in range(0, SHUFFLES, SHUFFLES_AT_ONCE):
        times = min(SHUFFLES_AT_ONCE, SHUFFLES - begin)
        shuffled = np.empty((len(ranked), times, ranked.shape[1]), dtype=np.float32)
        for index in range(times):
            shuffled[order, index] = source[np.argsort(codes + random.random(len(codes)))]
        sums = (facts @ shuffled.reshape(len(ranked), -1)).reshape(len(facts), times, -1)
        largest.append((sums * weights[:, None, :]).max(axis=(0, 2)))
        if sum(int((some >= best).sum()) for some in largest) >= EXCEEDED_ENOUGH:
            break
    return np.concatenate(largest).astype(np.float64)
