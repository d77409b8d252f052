"""When did each sick host turn, and which was first?"""

from __future__ import annotations

import pandas as pd

from .answers import Answer, Verdict, answer, clock, some
from .assessment import Assessment, assess
from .fleet import Fleet
from .outliers import outliers
from .peers import from_peers
from .signals import MINUTES_PER_DAY
from .statistics.step import step

HOSTS_MAX = 500
"""Hosts whose single minutes are fetched from the engine: 500 × a day are 720,000 rows."""

AROUND_SLOTS = 3
"""The turn is looked for in the slots around the begin of the run, which is known to a slot."""

COLUMNS = ["subject", "role", "signal", "onset", "earliest", "latest", "effect", "q"]


def onset(fleet: Fleet, signals: list[str] | None = None, *, assessments: list[Assessment] | None = None) -> Answer:
    """The minute in which each host that turned left its peers, the first one first."""
    assessed = assessments or [assess(fleet, name) for name in signals or fleet.signals]
    ill = outliers(fleet, assessments=assessed)
    turned = ill.rows[ill.rows["kind"] == "turned"]
    by_signal = {one.signal: one for one in assessed}
    parts = [onsets_of(fleet, by_signal[str(name)], part) for name, part in turned.groupby("signal")]
    filled = [part for part in parts if len(part)]
    rows = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=COLUMNS)
    rows = rows.sort_values(["onset", "q"], ignore_index=True)
    always = ill.rows.loc[ill.rows["kind"] == "level", "subject"].nunique()
    unseen = list(ill.unseen)
    if always:
        unseen.append(f"the onset of {always} hosts that were above their peers as far back as the data go")
    says = in_words(rows)
    for name in ("onset", "earliest", "latest"):
        rows[name] = rows[name].map(clock)
    verdict: Verdict = "found" if len(rows) else "cannot_tell" if always else "nothing"
    return answer("onset", fleet, verdict, says, rows, signals=ill.signals, unseen=tuple(dict.fromkeys(unseen)))


def onsets_of(fleet: Fleet, one: Assessment, turned: pd.DataFrame) -> pd.DataFrame:
    """Onsets of one signal, as minutes since the epoch."""
    turned = turned.head(HOSTS_MAX)
    names = turned["subject"].tolist()
    roles = turned["role"].unique().tolist()
    day = max(fleet.last - MINUTES_PER_DAY + 1, fleet.first)
    table = fleet.minutes
    peers = table.filter(table.role.isin(roles) & (table.minute >= day))
    narrowed = Fleet(fleet.engine, peers, fleet.facts, fleet.subjects, fleet.signals)
    distances = from_peers(narrowed, one.distances.signal)
    minutes = distances.filter(distances.subject.isin(names)).to_pandas().sort_values("minute")
    place = {name: row for row, name in enumerate(one.distances.subjects["subject"])}
    found = []
    for subject, series in minutes.groupby("subject"):
        first, last = around(one, place[str(subject)])
        near = series[(series["minute"] >= first) & (series["minute"] < last)]
        at = step(near["minute"].to_numpy(), near["d"].to_numpy())
        if at:
            found.append({"subject": subject, "onset": at.minute, "earliest": at.earliest, "latest": at.latest})
    if not found:
        return pd.DataFrame(columns=COLUMNS)
    return turned.merge(pd.DataFrame(found), on="subject")[COLUMNS]


def around(one: Assessment, row: int) -> tuple[int, int]:
    """The minutes around the begin of a host's run, not beyond its end."""
    slot, begin, end = one.distances.slot_minutes, int(one.turns.begin[row]), int(one.turns.end[row])
    origin = int(one.starts[0])
    return origin + (begin - AROUND_SLOTS) * slot, origin + min(begin + AROUND_SLOTS, end) * slot


def in_words(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return ["No host turned within the last day."]
    first = rows.iloc[0]
    also = (
        rows[(rows["earliest"] <= first["latest"]) & (rows["subject"] != first["subject"])]["subject"]
        .drop_duplicates()
        .tolist()
    )
    says = [f"First: {first['subject']}, {first['signal']}, at {clock(first['onset'])}."]
    if also:
        says.append(f"Within the uncertainty of that, these may have been first as well: {some(also)}.")
    return says
