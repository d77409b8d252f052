"""Charts of one signal: hosts × time, and small multiples of the worst hosts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from .assessment import Assessment

HOSTS_MAX = 60
"""Rows of the heat map; the worst ones."""

MULTIPLES_MAX = 8
LIMIT = float(np.log(2))
"""Of the colours: a factor of two either way."""


def frame_of(one: Assessment, rows: np.ndarray) -> pd.DataFrame:
    """`subject`, `time`, `ratio` of some hosts: how many times their peers' median."""
    times = [datetime.fromtimestamp(int(minute) * 60, UTC) for minute in one.distances.starts]
    names = one.distances.subjects["subject"].to_numpy()[rows]
    frame = pd.DataFrame(one.distances.matrix[rows], index=names, columns=times)
    long = frame.rename_axis("subject").reset_index().melt("subject", var_name="time", value_name="log_ratio").dropna()
    return long.assign(time=pd.to_datetime(long["time"], utc=True), ratio=np.exp(long["log_ratio"]))


def worst(one: Assessment, at_most: int) -> np.ndarray:
    """Rows of the hosts that are worst in any of the scores."""
    z = np.where(np.isnan(one.z), -np.inf, one.z).max(axis=1)
    return np.argsort(-z, kind="stable")[:at_most]


def heat_map(one: Assessment) -> Any:
    """Hosts × time: blue below the peers, red above."""
    rows = worst(one, HOSTS_MAX)
    frame = frame_of(one, rows)
    order = one.distances.subjects["subject"].to_numpy()[rows].tolist()
    width = timespan(one)
    frame = frame.assign(end=frame["time"] + width)
    return (
        alt.Chart(frame, width=640, height=max(60, 9 * len(rows)), title=f"{one.signal}: times the peers' median")
        .mark_rect()
        .encode(
            x=alt.X("time:T", title=None),
            x2="end:T",
            y=alt.Y("subject:N", sort=order, title=None, axis=alt.Axis(labelFontSize=8)),
            color=alt.Color(
                "log_ratio:Q",
                title=None,
                legend=None,
                scale=alt.Scale(scheme="redblue", reverse=True, domain=[-LIMIT, LIMIT], clamp=True),
            ),
        )
    )


def timespan(one: Assessment) -> pd.Timedelta:
    return pd.Timedelta(minutes=one.distances.slot_minutes)


def multiples(one: Assessment) -> Any:
    """One small chart of each of the worst hosts, on one scale."""
    frame = frame_of(one, worst(one, MULTIPLES_MAX))
    return (
        alt.Chart(frame, width=150, height=70)
        .mark_line(strokeWidth=1.2, color="#2b6cb0")
        .encode(
            x=alt.X("time:T", title=None, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("ratio:Q", title=None, scale=alt.Scale(zero=False)),
            facet=alt.Facet("subject:N", columns=4, title=None),
        )
    )
