"""Is a host's level that of its peers, whatever it was before?

How heavy the tails of healthy levels are is learned from the better half of the hosts: illness makes hosts worse, so what is better
than the median is noise, and its mirror image is what noise does on the other side.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

TAIL_DEGREES = 5.0
"""Of Student's t, where too few hosts are known to learn it. A normal distribution gave false alarms on most days."""

DEGREES_MAX = 30.0
"""However normal the hosts look, no lighter tails are assumed than these."""

HOSTS_TO_LEARN = 200
"""Degrees fitted to half of fewer hosts vary by more than they tell."""


def p_of(z: np.ndarray) -> np.ndarray:
    """How likely a healthy host is this far above its peers; `z` is in robust standard deviations of its role."""
    known = z[~np.isnan(z)]
    degrees, scale = tails(known) if len(known) >= HOSTS_TO_LEARN else (TAIL_DEGREES, 1.0)
    return np.asarray(stats.t.sf(z / scale, degrees))


def tails(known: np.ndarray) -> tuple[float, float]:
    """Degrees and scale of Student's t for the better half and its mirror image."""
    better = known[known < 0]
    degrees, _, scale = stats.t.fit(np.concatenate([better, -better]), floc=0.0)
    return min(float(degrees), DEGREES_MAX), max(float(scale), 1.0)
