"""How likely is a score among healthy hosts, far beyond where scores of healthy hosts were seen?

The largest scores of the null distribution exceed a threshold by amounts that follow an exponential distribution (peaks over threshold), whatever
the rest looks like. A Gumbel distribution of all of them is bent by their bulk: it left one in ten hosts at +50 % undetected.
"""

from __future__ import annotations

import numpy as np

TAIL_SHARE = 0.1
TAIL_HOSTS_MIN = 30
"""In the tail. Of small fleets up to half of the hosts are taken instead, which makes it heavier than it is."""


def chance(scores: np.ndarray, null: np.ndarray) -> np.ndarray:
    """The chance of each score or a larger one, learned from scores without illness. NaN stays NaN."""
    null, hosts = np.sort(null), len(null)
    count = min(max(int(hosts * TAIL_SHARE), TAIL_HOSTS_MIN), hosts // 2)
    threshold = null[-count - 1]
    scale = float((null[-count:] - threshold).mean())
    at_least = (hosts - np.searchsorted(null, scores) + 1) / (hosts + 1)
    if not scale:
        return np.where(np.isnan(scores), np.nan, at_least)
    # The predictive distribution: that the scale is an estimate of `count` hosts makes the tail heavier.
    beyond = count / hosts * (1 + np.maximum(scores - threshold, 0.0) / (count * scale)) ** -count
    return np.where(np.isnan(scores), np.nan, np.where(scores > threshold, beyond, at_least))
