"""Where does a host stand among the hosts of its role?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

MAD_TO_SD = 1.4826
"""Of a normal distribution."""


def robust_z(scores: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """Scores against the median and MAD of their role; NaN where the role says nothing."""
    frame = pd.DataFrame({"score": scores, "role": roles})
    grouped = frame.groupby("role")["score"]
    centred = frame["score"] - grouped.transform("median")
    mad = centred.abs().groupby(frame["role"]).transform("median") * MAD_TO_SD
    # Where more than half of the hosts are equal the MAD is zero; the mean deviation is not (1.2533: of a normal distribution).
    mean = centred.abs().groupby(frame["role"]).transform("mean") * 1.2533
    scale = mad.where(mad > 0, mean)
    return np.asarray(centred / scale.where(scale > 0))


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
