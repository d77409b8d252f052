"""What did a deploy or a change of configuration do? Before against after on the hosts that got it, against the same on hosts that did not.

What changed for all hosts at that time cancels. Each host is one number, because minutes of one host are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from .answers import Answer, Verdict, answer, clock, percent, some
from .fleet import Fleet, FleetError
from .peers import values, with_floor
from .statistics.differences import Difference, change, difference

SPAN_MINUTES = 120
"""Of the time before and of the time after."""

SETTLE_MINUTES = 10
"""After the change: a JVM that has just started compiles and fills its caches."""

WEEK_MINUTES = 7 * 1440
ALPHA = 0.05

COLUMNS = ["signal", "effect", "low", "high", "says", "treated", "control", "p", "q", "smallest"]


@dataclass(frozen=True)
class Change:
    """Who got it, and when."""

    treated: dict[str, int | None]
    """Subject to the minute of the change; None where there is no before."""
    says: str


def rollout(
    fleet: Fleet,
    signals: list[str] | None = None,
    *,
    fact: str | None = None,
    hosts: list[str] | None = None,
    at: int | None = None,
    span: int = SPAN_MINUTES,
) -> Answer:
    """The effect of a change.

    `fact`: a fact (`jdk_version`, or `jdk_version=21`) that changed on some hosts, or that some have: those are the treated ones.
    `hosts` and `at`: the treated hosts, and the minute (since the epoch) of the change. Without `at` there is no before, and
    their levels are compared.
    """
    what = of_hosts(hosts, at) if hosts else of_fact(fleet, fact or "")
    controls = untouched(fleet, what)
    names = signals or fleet.signals
    found = [(name, *compare(fleet, name, what, controls, span)) for name in names]
    return told(fleet, "rollout", what.says, names, found, has_before(what))


def has_before(what: Change) -> bool:
    return all(minute is not None for minute in what.treated.values())


def of_hosts(hosts: list[str], at: int | None) -> Change:
    return Change(dict.fromkeys(hosts, at), f"{len(hosts)} hosts ({some(hosts)})" + (f" at {clock(at)}" if at else ""))


def of_fact(fleet: Fleet, fact: str) -> Change:
    name, _, value = fact.partition("=")
    if not name:
        raise FleetError("rollout needs a fact, or hosts")
    changes = fleet.changes[fleet.changes["fact"] == name]
    changes = changes[changes["value"] == value] if value else changes
    if len(changes):
        treated = {str(row.subject): int(row.minute) for row in changes.itertuples()}
        times = sorted(set(treated.values()))
        return Change(
            dict(treated), f"{len(treated)} hosts whose {name} changed between {clock(times[0])} and {clock(times[-1])}"
        )
    holders = fleet.facts[(fleet.facts["fact"] == name) & (fleet.facts["value"] == value)]["subject"].tolist()
    if not holders:
        raise FleetError(f"no host has or got {fact}")
    return Change(dict.fromkeys(holders), f"{len(holders)} hosts with {fact}")


def untouched(fleet: Fleet, what: Change) -> list[str]:
    """Hosts of the same roles that did not change."""
    about = fleet.subjects
    unknown = sorted(set(what.treated) - set(about["subject"]))
    if unknown:
        raise FleetError(f"no minutes of {some(unknown)}")
    roles = about[about["subject"].isin(list(what.treated))]["role"].unique()
    return sorted(set(about[about["role"].isin(roles)]["subject"]) - set(what.treated))


def compare(
    fleet: Fleet, name: str, what: Change, controls: list[str], span: int
) -> tuple[Difference | None, int, int]:
    """One signal: the difference, and of how many hosts on either side."""
    if not controls:
        return None, len(what.treated), 0
    distances = from_controls(fleet, name, controls, list(what.treated))
    known = [minute for minute in what.treated.values() if minute is not None]
    usual = int(np.median(known)) if known else None
    at = {**dict.fromkeys(controls, usual), **what.treated}
    per_host = differences(distances, at, span)
    treated = per_host.reindex(list(what.treated)).to_numpy(dtype=float)
    control = per_host.reindex(controls).to_numpy(dtype=float)
    return difference(treated, control), int((~np.isnan(treated)).sum()), int((~np.isnan(control)).sum())


def from_controls(fleet: Fleet, name: str, controls: list[str], treated: list[str]) -> Any:
    """`subject`, `minute`, `d`: distance from the median of the untouched hosts of the role in that minute."""
    rows = values(fleet.minutes, with_floor(fleet, name))
    rows = rows.filter(rows.subject.isin([*controls, *treated]))
    untouched_rows = rows.filter(rows.subject.isin(controls))
    medians = untouched_rows.group_by(["role", "minute"]).agg(median=untouched_rows.x.median())
    joined = rows.join(medians, ["role", "minute"])
    return joined.select("subject", "minute", d=joined.x - joined["median"])


def differences(distances: Any, at: dict[str, int | None], span: int) -> pd.Series:
    """Of each subject: median after minus median before its change; without one, its median."""
    names = pd.DataFrame({"subject": list(at), "at": [minute or 0 for minute in at.values()]}).astype({"at": "int32"})
    times = ibis.memtable(names)
    rows = distances.join(times, "subject")
    if all(minute is None for minute in at.values()):
        frame = rows.group_by("subject").agg(effect=rows.d.median()).to_pandas()
    else:
        after = (rows.minute >= rows["at"] + SETTLE_MINUTES) & (rows.minute < rows["at"] + SETTLE_MINUTES + span)
        before = (rows.minute < rows["at"]) & (rows.minute >= rows["at"] - span)
        nothing = ibis.null("float64")
        sides = rows.group_by("subject").agg(
            after=after.ifelse(rows.d, nothing).median(), before=before.ifelse(rows.d, nothing).median()
        )
        frame = sides.mutate(effect=sides.after - sides.before).to_pandas()
    return pd.Series(frame["effect"].to_numpy(dtype=float), index=frame["subject"])


def week_against_week(fleet: Fleet, signals: list[str] | None = None, *, span: int = WEEK_MINUTES) -> Answer:
    """Every host against itself a week before. No host is untouched: whatever changed for all is part of the answer."""
    names = signals or fleet.signals
    at = fleet.last - span + 1
    found = []
    for name in names:
        rows = values(fleet.minutes, with_floor(fleet, name))
        per_host = differences(rows.mutate(d=rows.x), dict.fromkeys(fleet.subjects["subject"], at), span)
        effects = per_host.to_numpy(dtype=float)
        found.append((name, change(effects), int((~np.isnan(effects)).sum()), 0))
    return told(fleet, "week_against_week", f"all hosts, before and since {clock(at)}", names, found, True)


def told(
    fleet: Fleet,
    question: str,
    who: str,
    names: list[str],
    found: list[tuple[str, Difference | None, int, int]],
    before: bool,
) -> Answer:
    known = [(name, one, treated, control) for name, one, treated, control in found if one is not None]
    rows = pd.DataFrame(
        [
            {"signal": name, "effect": one.effect, "low": one.low, "high": one.high, "says": percent(one.effect),
             "treated": treated, "control": control, "p": one.p, "smallest": one.smallest}
            for name, one, treated, control in known
        ],
        columns=[column for column in COLUMNS if column != "q"],
    )  # fmt: skip
    rows["q"] = multipletests(rows["p"].fillna(1.0), method="holm")[1] if len(rows) else []
    rows = rows[COLUMNS].sort_values("q", ignore_index=True)
    sure = rows[rows["q"] <= ALPHA]
    says = [f"{who}:"] + [
        f"{row.signal} {row.says} ({percent(float(row.low))} to {percent(float(row.high))}), q {row.q:.2g}."
        for row in sure.itertuples()
    ]
    if not len(sure):
        says += nothing_seen(rows)
    unseen = [f"{name}: not measured on enough hosts of both kinds" for name, one, _, _ in found if one is None]
    if not before:
        unseen.append("the time before: only levels were compared, and hosts may have differed before")
    if question == "week_against_week":
        unseen.append("hosts that nothing was changed on: traffic and season are part of the difference")
    verdict: Verdict = "found" if len(sure) else "nothing" if len(rows) else "cannot_tell"
    return answer(question, fleet, verdict, says, rows, signals=tuple(names), unseen=tuple(unseen))


def nothing_seen(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return ["Nothing can be compared: there are no untouched hosts of the role, or none was measured."]
    sizes = ", ".join(f"{row.signal} {percent(float(row.smallest))}" for row in rows.head(4).itertuples())
    return [f"No signal changed beyond chance. Changes of these sizes would have been seen: {sizes}."]
