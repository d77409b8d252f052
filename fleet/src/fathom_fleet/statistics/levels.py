"""Is a host's level that of its peers, whatever it was before?"""

from __future__ import annotations

import numpy as np
from scipy import stats

TAIL_DEGREES = 5
"""Of Student's t. Levels of healthy hosts have heavier tails than a normal distribution, which gave false alarms on most days."""


def p_of(z: np.ndarray) -> np.ndarray:
    """How likely a healthy host is this far above its peers; `z` is in robust standard deviations."""
    return np.asarray(stats.t.sf(z, TAIL_DEGREES))
