"""The recordings that `fathom watch` made: `causes` over time and by fact, and `recurring` ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .answers import Answer, Verdict, answer, clock, some
from .fleet import Fleet
from .shared import shared
from .signals import MINUTES_PER_DAY

NO_CAUSE = "(none found)"
HOSTS_FOR_FACTS = 3
"""Hosts with a cause before it is asked which fact they share."""

TOGETHER_MINUTES = 5
"""Incidents of several hosts within this time are one event."""

SAME_HOUR_P = 0.01

CAUSE_COLUMNS = ["cause", "role", "incidents", "hosts", "share", "first", "last", "facts"]
RECURRING_COLUMNS = [
    "cause",
    "role",
    "incidents",
    "hosts",
    "days",
    "gap_hours",
    "hour_of_day",
    "hour_p",
    "together",
    "last",
    "incident",
]


def incidents_of(fleet: Fleet) -> pd.DataFrame:
    """A row of each recording with its verdict, or without one yet."""
    table = fleet.minutes
    rows: Any = table.filter(table.incident.notnull() & (table.incident != ""))
    frame: pd.DataFrame = rows.select(
        "subject", "role", "minute", "incident", "verdict", "cause", "cause_share"
    ).to_pandas()
    frame["cause"] = frame["cause"].replace("", np.nan).fillna(NO_CAUSE)
    return frame.sort_values(["minute", "subject"], ignore_index=True)


def causes(fleet: Fleet, *, by_fact: bool = True) -> Answer:
    """Which causes were found, how often, where, and which fact the hosts that have one share."""
    found = incidents_of(fleet)
    rows, says = [], []
    for (cause, role), part in found.groupby(["cause", "role"]):
        hosts = sorted(part["subject"].unique())
        shares = part["cause_share"].astype(float).dropna()
        facts = shared_by(fleet, str(role), hosts) if by_fact and cause != NO_CAUSE else []
        rows.append({
            "cause": cause, "role": role, "incidents": len(part), "hosts": len(hosts), "share": float(shares.median()) if len(shares) else math.nan,
            "first": clock(part["minute"].min()), "last": clock(part["minute"].max()), "facts": facts,
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=CAUSE_COLUMNS).sort_values(
        ["incidents", "cause"], ascending=[False, True], ignore_index=True
    )
    for row in table.head(5).itertuples():
        fact = f"; its hosts share {some(row.facts)}" if row.facts else ""
        says.append(f"{row.cause}: {row.incidents} incidents on {row.hosts} hosts of {row.role}{fact}.")
    verdict: Verdict = "found" if len(table) else "nothing"
    return answer("causes", fleet, verdict, says or [nothing(fleet)], table, unseen=tuple(open_verdicts(found)))


def shared_by(fleet: Fleet, role: str, hosts: list[str]) -> list[str]:
    """Facts that the hosts with a cause share and their peers lack."""
    if len(hosts) < HOSTS_FOR_FACTS:
        return []
    peers = fleet.subjects[fleet.subjects["role"] == role]
    narrowed = Fleet(fleet.engine, fleet.minutes, fleet.facts, peers, fleet.signals)
    rows = shared(narrowed, sick=hosts).rows
    return list(rows.iloc[0]["facts"]) if len(rows) else []


def recurring(fleet: Fleet) -> Answer:
    """Causes that came back: how often, after how long, at which hour, on how many hosts at once."""
    found = incidents_of(fleet)
    rows = [
        about(str(cause), str(role), part)
        for (cause, role), part in found.groupby(["cause", "role"])
        if len(events(part)) > 1
    ]
    table = pd.DataFrame(rows, columns=RECURRING_COLUMNS).sort_values(
        ["incidents", "cause"], ascending=[False, True], ignore_index=True
    )
    says = [in_words(row) for row in table.head(5).itertuples()]
    verdict: Verdict = "found" if len(table) else "nothing"
    return answer(
        "recurring", fleet, verdict, says or ["No incident came twice."], table, unseen=tuple(open_verdicts(found))
    )


def events(part: pd.DataFrame) -> np.ndarray:
    """First minutes of events: incidents close to each other are one."""
    minutes = np.sort(part["minute"].to_numpy())
    return minutes[np.diff(minutes, prepend=minutes[0] - TOGETHER_MINUTES - 1) > TOGETHER_MINUTES]


def about(cause: str, role: str, part: pd.DataFrame) -> dict[str, Any]:
    at = events(part)
    hour, p = hour_of_day(at)
    sizes = part.groupby(np.searchsorted(at, part["minute"].to_numpy(), side="right"))["subject"].nunique()
    last = part.iloc[-1]
    return {
        "cause": cause, "role": role, "incidents": len(part), "hosts": part["subject"].nunique(),
        "days": len(set(at // MINUTES_PER_DAY)), "gap_hours": float(np.median(np.diff(at))) / 60,
        "hour_of_day": hour, "hour_p": p, "together": int(sizes.max()), "last": clock(last["minute"]), "incident": last["incident"],
    }  # fmt: skip


def hour_of_day(minutes: np.ndarray) -> tuple[float, float]:
    """Around which hour (UTC) they come, and how likely that is by chance (Rayleigh's test, first order)."""
    angles = minutes % MINUTES_PER_DAY * (2 * np.pi / MINUTES_PER_DAY)
    length = float(1 - stats.circvar(angles))
    return float(stats.circmean(angles)) / (2 * np.pi) * 24, float(np.exp(-len(minutes) * length**2))


def in_words(row: Any) -> str:
    hour = (
        f", around {int(row.hour_of_day):02d}:{int(row.hour_of_day % 1 * 60):02d} UTC"
        if row.hour_p < SAME_HOUR_P
        else ""
    )
    together = f"; up to {row.together} hosts within {TOGETHER_MINUTES} minutes" if row.together > 1 else ""
    return f"{row.cause} on {row.role}: {row.incidents} incidents on {row.hosts} hosts, every {row.gap_hours:.1f} h{hour}{together}."


def open_verdicts(found: pd.DataFrame) -> list[str]:
    waiting = int(found["verdict"].isna().sum())
    return [f"the verdicts of {waiting} recordings: not concluded, or of a time before verdicts"] if waiting else []


def nothing(fleet: Fleet) -> str:
    return "No recording was made." if len(fleet.subjects) else "No minutes."
