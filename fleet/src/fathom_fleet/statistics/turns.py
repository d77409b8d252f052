"""Did a host turn worse within the time that is looked at?

Each host's distances from its peers are scanned: the mean of every run of slots is compared with the mean of all slots before
it. How large the best run of a healthy host becomes is learned from the same hosts turned upside down: illness makes hosts
worse, so what *improves* most is noise. Only slots before the run are compared with: with those after it, a sick host's
mirror image would rise as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tails import chance

RUN_MIN_SLOTS = 3
"""Three hours of a day: benign jobs of up to 90 minutes stay below."""
BEFORE_MIN_SLOTS = 5
HOSTS_MIN = 20
"""A null distribution learned from fewer hosts is a guess."""


@dataclass(frozen=True)
class Turns:
    """The best run of each host; NaN and -1 where too little was seen."""

    score: np.ndarray
    p: np.ndarray
    effect: np.ndarray
    """Mean inside the run minus mean before it."""
    begin: np.ndarray
    end: np.ndarray
    """Slots of the run, the end not included."""


def scan(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Score, effect, begin and end of the best run of each row."""
    seen = ~np.isnan(matrix)
    sums = padded(np.cumsum(np.where(seen, matrix, 0.0), axis=1))
    counts = padded(np.cumsum(seen, axis=1))
    hosts, slots = matrix.shape
    best = np.full(hosts, -np.inf)
    effect, begin, end = np.full(hosts, np.nan), np.full(hosts, -1), np.full(hosts, -1)
    for start in range(BEFORE_MIN_SLOTS, slots - RUN_MIN_SLOTS + 1):
        n_before = counts[:, start]
        for stop in range(start + RUN_MIN_SLOTS, slots + 1):
            n_in = counts[:, stop] - counts[:, start]
            with np.errstate(invalid="ignore", divide="ignore"):
                rise = (sums[:, stop] - sums[:, start]) / n_in - sums[:, start] / n_before
                score = rise * np.sqrt(n_in * n_before / (n_in + n_before))
            better = (n_before >= BEFORE_MIN_SLOTS) & (n_in >= RUN_MIN_SLOTS) & (score > best)
            best[better], effect[better] = score[better], rise[better]
            begin[better], end[better] = start, stop
    best[begin < 0] = np.nan
    return best, effect, begin, end


def padded(sums: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)


def turns(matrix: np.ndarray) -> Turns:
    """The best run of each host, and how likely one like it is without any illness."""
    score, effect, begin, end = scan(matrix)
    mirrored = scan(-matrix)[0]
    known = mirrored[~np.isnan(mirrored)]
    if len(known) < HOSTS_MIN or np.ptp(known) == 0:
        return Turns(score, np.full(len(score), np.nan), effect, begin, end)
    return Turns(score, chance(score, known), effect, begin, end)
