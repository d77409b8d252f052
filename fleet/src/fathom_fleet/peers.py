"""How far each host is from its peers at the same minute. What all peers share, such as the rhythm of the day, cancels.

All of it runs on the engine; only one number of each host and time slot leaves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pandas as pd

from .fleet import Fleet
from .signals import Signal, signal_of

PEERS_MIN = 5
"""Of a role in a minute. The median of fewer is moved by one sick host."""

LARGEST = 1e300
"""Infinity is no measurement, and Ibis's `isinf` is always false on Spark."""

UNKNOWN_FLOOR = 0.05
"""Of the median of a signal without a known floor."""


@dataclass(frozen=True)
class Distances:
    """Of one signal: mean distance of each subject (row) from its peers in each time slot (column); NaN where unseen."""

    signal: Signal
    subjects: pd.DataFrame
    """`subject`, `role`; a row of the matrix each."""
    starts: np.ndarray
    """First minute of each slot."""
    slot_minutes: int
    matrix: np.ndarray
    """ln of the ratio to the peers' median."""
    lonely: list[str]
    """Roles with too few hosts to be compared."""


def values(minutes: Any, signal: Signal) -> Any:
    """`subject`, `role`, `minute`, `x`: what was measured, on a scale on which ratios are differences."""
    column = minutes[signal.name].cast("float64")
    measured = minutes.filter(
        column.notnull() & ~column.isnan() & (column.abs() < LARGEST) & (column + signal.floor > 0)
    )
    x = (measured[signal.name].cast("float64") + signal.floor).ln()
    return measured.select("subject", "role", "minute", x=x)


def from_peers(fleet: Fleet, signal: Signal) -> Any:
    """`subject`, `role`, `minute`, `d`: distance from the median of all hosts of the role in that minute."""
    rows = values(fleet.minutes, signal)
    if fleet.engine.is_spark:
        # Twice as fast there as the join, which is needed on DuckDB: its window did not end on 14 million rows.
        peers = ibis.window(group_by=[rows.role, rows.minute])
        seen = rows.mutate(d=rows.x - rows.x.median().over(peers), peers=rows.x.count().over(peers))
    else:
        medians = rows.group_by(["role", "minute"]).agg(median=rows.x.median(), peers=rows.x.count())
        joined = rows.join(medians, ["role", "minute"])
        seen = joined.mutate(d=joined.x - joined["median"])
    return seen.filter(seen.peers >= PEERS_MIN).select("subject", "role", "minute", "d")


def in_slots(distances: Any, slot_minutes: int) -> Any:
    """Mean distance of each subject in each time slot."""
    slot = (distances.minute // slot_minutes).cast("int32")
    slotted = distances.mutate(slot=slot)
    return slotted.group_by(["subject", "slot"]).agg(d=slotted.d.mean(), minutes=slotted.d.count())


def with_floor(fleet: Fleet, name: str) -> Signal:
    """The signal; the floor of one that is not known is a part of its median."""
    signal = signal_of(name)
    if signal.floor:
        return signal
    column = fleet.minutes[name].cast("float64")
    positive = fleet.minutes.filter(column > 0)[name].median().execute()
    floor = UNKNOWN_FLOOR * float(positive) if positive is not None and not math.isnan(positive) else 1.0
    return Signal(name, signal.unit, floor, signal.says)


def measure(fleet: Fleet, name: str, slot_minutes: int) -> Distances:
    """The distances of a signal, by time slots."""
    signal = with_floor(fleet, name)
    frame = in_slots(from_peers(fleet, signal), slot_minutes).to_pandas()
    # A slot of which less than half was seen is another population than a whole one.
    frame = frame[frame["minutes"] * 2 >= min(slot_minutes, max(frame["minutes"].max(), 1) if len(frame) else 1)]
    subjects = fleet.subjects[["subject", "role"]].drop_duplicates("subject").reset_index(drop=True)
    first, last = fleet.first // slot_minutes, fleet.last // slot_minutes
    matrix = np.full((len(subjects), last - first + 1), np.nan)
    rows = pd.Index(subjects["subject"]).get_indexer(frame["subject"])
    matrix[rows, frame["slot"].to_numpy() - first] = frame["d"].to_numpy()
    starts = np.arange(first, last + 1) * slot_minutes
    return Distances(signal, subjects, starts, slot_minutes, matrix, lonely_roles(subjects))


def lonely_roles(subjects: pd.DataFrame) -> list[str]:
    counts = subjects["role"].value_counts()
    return sorted(str(role) for role in counts.index[counts < PEERS_MIN])
