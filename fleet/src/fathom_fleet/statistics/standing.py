"""Where does a host stand among the hosts of its role?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

MAD_TO_SD = 1.4826
"""Of a normal distribution."""

MEAN_TO_SD = 1.2533
"""The same for the mean absolute deviation: it is not zero where more than half of the hosts are equal."""

MAD_BIAS = 0.8
"""The median absolute deviation of n hosts is too small by n / (n - 0.8)."""

LOG_MAD_VARIANCE = 1.36
"""Of the logarithm of a median absolute deviation of n normal values, times n."""


def robust_z(scores: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """Scores against the median and the spread of their role; NaN where the role says nothing."""
    frame = pd.DataFrame({"score": scores, "role": roles})
    centred = frame["score"] - frame.groupby("role")["score"].transform("median")
    return np.asarray(centred / frame["role"].map(spreads(centred, frame["role"])))


def spreads(centred: pd.Series, roles: pd.Series) -> pd.Series:
    """The spread of each role.

    That of a small role is uncertain, and where it is too small by chance a healthy host looks sick. So it is drawn towards that of all
    roles, the more the fewer its hosts and the more alike the roles are (a random-effects mean of their logarithms).
    """
    distances = centred.abs().groupby(roles)
    hosts = distances.count()
    mad = distances.median() * MAD_TO_SD * hosts / (hosts - MAD_BIAS)
    own = mad.where(mad > 0, distances.mean() * MEAN_TO_SD)
    known = own[own > 0]
    if len(known) < 2:
        return known
    logs, variance = np.log(known), LOG_MAD_VARIANCE / hosts[known.index]
    with np.errstate(invalid="ignore"):
        of_roles = combine_effects(logs, variance, method_re="chi2")
    if of_roles.tau2 <= 0:  # Roles do not differ by more than chance.
        return np.exp(pd.Series(of_roles.mean_effect_fe, known.index))
    weight = of_roles.tau2 / (of_roles.tau2 + variance)
    return np.exp(weight * logs + (1 - weight) * of_roles.mean_effect_re)


def normal_scores(scores: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """Scores (hosts × columns) as normal quantiles of their ranks among all hosts; zero where not known.

    A host is ranked by how it stands in its role. Ranks within roles would hide the sick ones of small roles: the worst of ten hosts
    would never count more than the worst tenth of a hundred.
    """
    standing = np.column_stack([robust_z(column, roles) for column in scores.T])
    known = ~np.isnan(standing)
    ranks = stats.rankdata(standing, axis=0, nan_policy="omit")
    result = pd.DataFrame(stats.norm.ppf((ranks - 0.5) / np.maximum(known.sum(axis=0), 1)))
    return np.where(known, result - result.groupby(roles).transform("mean"), 0.0)
