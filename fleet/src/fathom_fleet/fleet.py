"""A fleet: its minutes and facts on an engine, in one shape whatever they came from.

* `minutes`: `subject`, `role`, `minute` (minutes since the epoch, an integer: engines differ in time zones), signals, events.
* `facts`: `subject`, `fact`, `value`, the last value of each.

A *subject* is what is compared: a host, or a JVM of a host that has several. A *role* is whose peer it is: its service.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa

from .engines import Engine, connect
from .scratch import folder_until_exit
from .signals import ABOUT, EVENTS, KEYS, MINUTE_NS, MINUTES_PER_DAY, SIGNALS
from .ways_in import csv_files, folder, prometheus
from .ways_in.problems import Problem

JVM = ("host", "service", "pid", "start_ticks")
CLOCKS_AHEAD_SHARE = 0.05
"""Of hosts: the data end where the others do. One wrong clock, or one damaged number, would make the last day an empty one."""
CLOCKS_AHEAD_MINUTES = 60
HISTORY_MAX_MINUTES = 400 * MINUTES_PER_DAY
"""Before the end of the data: a year with some weeks for comparison. It bounds what one wrong time can cost."""
FACT_MISSING = "(missing)"


class FleetError(Exception):
    """Data of which nothing can be used, in one line."""


@dataclass
class Fleet:
    """Minutes and facts of many JVMs."""

    engine: Engine
    minutes: Any
    facts: pd.DataFrame
    """Of the last value of each fact: `subject`, `fact`, `value`."""
    subjects: pd.DataFrame
    """`subject`, `role`, `first`, `last` (minutes)."""
    signals: list[str]
    problems: list[Problem] = field(default_factory=list)
    changes: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["subject", "fact", "was", "value", "minute"])
    )
    """Facts that changed, and in which minute the new value was seen first."""
    unmeasured: list[str] = field(default_factory=list)
    """Signals that are columns, and empty."""

    @property
    def first(self) -> int:
        return int(self.subjects["first"].min())

    @property
    def last(self) -> int:
        return int(self.subjects["last"].max())

    def between(self, first: int | None, last: int | None) -> Fleet:
        """Only the minutes from `first` to `last`, both included."""
        first, last = first if first is not None else self.first, last if last is not None else self.last
        minutes = self.minutes.filter((self.minutes.minute >= first) & (self.minutes.minute <= last))
        subjects = self.subjects[(self.subjects["last"] >= first) & (self.subjects["first"] <= last)].copy()
        if subjects.empty:
            raise FleetError("no minutes in that time")
        subjects["first"], subjects["last"] = subjects["first"].clip(lower=first), subjects["last"].clip(upper=last)
        return Fleet(
            self.engine, minutes, self.facts, subjects, self.signals, self.problems, self.changes, self.unmeasured
        )


def load(
    *places: str,
    engine: Engine | str = "duckdb",
    role: str = "service",
    signals: list[str] | None = None,
    is_thorough: bool = False,
) -> Fleet:
    """Loads folders, CSV files and Prometheus answers. `role` is a column of `minutes` or `fact:NAME`.

    Of each file the footer is read first, and with `is_thorough` all of it: for files whose footer is right and whose pages are not.
    """
    engine = connect(engine) if isinstance(engine, str) else engine
    scratch = folder_until_exit("fathom-fleet-")
    found = folder.Found()
    for place in places:
        found.add(find(place, scratch, is_thorough))
    if not found.minutes:
        told = f": {found.problems[0]}" if found.problems else ""
        raise FleetError(f"no minutes in {', '.join(places)}{told}")
    return of_tables(
        engine,
        engine.read_parquet(found.minutes),
        engine.read_parquet(found.facts) if found.facts else None,
        role=role,
        signals=signals,
        problems=found.problems,
    )


def find(place: str, scratch: Path, is_thorough: bool = False) -> folder.Found:
    """The tables of one place, by what it is."""
    readers = {".csv": csv_files.read, ".json": prometheus.read}
    reader = readers.get(Path(place).suffix.lower()) if "://" not in place else None
    if reader is None:
        return folder.find(place, scratch, is_thorough)
    found = folder.Found()
    kept = Path(tempfile.mkdtemp(dir=scratch))
    reader(Path(place), kept, found)
    return found


def of_tables(
    engine: Engine,
    minutes: Any,
    facts: Any = None,
    *,
    role: str = "service",
    signals: list[str] | None = None,
    problems: list[Problem] | None = None,
) -> Fleet:
    """A fleet of two Ibis tables of an engine, with the columns of `docs/minutes.md`."""
    problems = list(problems or [])
    minutes = tolerant(minutes)
    minutes, jvms = in_time(minutes, jvms_of(minutes), problems)
    fact_rows = (
        facts_of(facts, jvms) if facts is not None else pd.DataFrame(columns=["subject", "fact", "value", "minute"])
    )
    jvms["role"] = roles_of(jvms, role, fact_rows)
    named = named_minutes(minutes, jvms)
    present = [name for name in named.columns if name in (signals or SIGNALS)]
    missing = [name for name in signals or [] if name not in named.columns]
    if missing:
        raise FleetError(
            f"no signal {', '.join(missing)}; there are {', '.join(n for n in named.columns if n in SIGNALS)}"
        )
    named = once(named, jvms, problems)
    measured = present if signals else measured_of(named, present)
    subjects = jvms.groupby(["subject", "role"], as_index=False).agg(first=("first", "min"), last=("last", "max"))
    latest, changes = latest_facts(fact_rows)
    if facts is None:
        problems.append(Problem("facts", "no_facts", "no table of facts: only columns of minutes are compared"))
        latest = facts_of_minutes(jvms)
    return Fleet(engine, named, latest, subjects, measured, problems, changes, sorted({*present} - {*measured}))


def measured_of(minutes: Any, names: list[str]) -> list[str]:
    """Signals of which there is a value at all."""
    if not names:
        return []
    counts = minutes.agg(**{name: minutes[name].count() for name in names}).to_pandas().iloc[0]
    return [name for name in names if counts[name] > 0]


def tolerant(minutes: Any) -> Any:
    """The columns that are known, NULL where one is missing, and no row without host or time."""
    columns: dict[str, Any] = {"minute": (minutes.time_ns // MINUTE_NS).cast("int32"), "host": minutes.host}
    kinds = {
        "pid": "int64",
        "start_ticks": "int64",
        "seconds": "int64",
        "requests_count": "float64",
        "cause_share": "float64",
    }
    for name in (*ABOUT, *EVENTS):
        kind = kinds.get(name, "string")
        columns[name] = minutes[name].cast(kind) if name in minutes.columns else ibis.null(kind)
    known = {*KEYS, *columns, "user", "heap_max_bytes", "not_recorded", "date"}
    for name in minutes.columns:
        if name not in known and minutes[name].type().is_numeric():
            columns[name] = minutes[name].cast("float64")
    rows = minutes.filter(minutes.host.notnull() & minutes.time_ns.notnull())
    return rows.select(**{name: column for name, column in columns.items()})


def jvms_of(minutes: Any) -> pd.DataFrame:
    """One row of each JVM: when it was seen, what it is called."""
    keys = [minutes[name].fill_null(0 if name in ("pid", "start_ticks") else "").name(name) for name in JVM]
    last_of = [minutes[name].max().name(name) for name in ("container", "java", "collector", "kernel")]
    jvms: pd.DataFrame = (
        minutes.group_by(keys).agg(
            first=minutes.minute.min(),
            last=minutes.minute.max(),
            rows=minutes.count(),
            minutes=minutes.minute.nunique(),
            **{c.get_name(): c for c in last_of},
        )
    ).to_pandas()
    jvms = jvms.sort_values([*JVM], ignore_index=True)
    services = jvms.groupby("host")["service"].transform("nunique")
    several = overlapping(jvms)
    jvms["subject"] = jvms["host"].where(services == 1, jvms["host"] + "/" + jvms["service"])
    jvms["subject"] = jvms["subject"].where(~several, jvms["subject"] + "#" + jvms["pid"].astype(str))
    return jvms


def in_time(minutes: Any, jvms: pd.DataFrame, problems: list[Problem]) -> tuple[Any, pd.DataFrame]:
    """Without rows whose time cannot be right."""
    end = int(jvms.groupby("host")["last"].max().quantile(1 - CLOCKS_AHEAD_SHARE, interpolation="higher"))
    first, last = end - HISTORY_MAX_MINUTES, end + CLOCKS_AHEAD_MINUTES
    wrong = jvms[(jvms["first"] < first) | (jvms["last"] > last)]
    if wrong.empty:
        return minutes, jvms
    between = " and ".join(f"{pd.Timestamp(at, unit='m'):%Y-%m-%dT%H:%MZ}" for at in (first, last))
    hosts = wrong["host"].nunique()
    says = f"rows of {hosts} hosts are not between {between}, as those of the others are, and were left out: a wrong clock, or damage"
    problems.append(Problem("minutes", "out_of_time", says))
    minutes = minutes.filter((minutes.minute >= first) & (minutes.minute <= last))
    return minutes, jvms_of(minutes)


def overlapping(jvms: pd.DataFrame) -> pd.Series:
    """Whether a host has several JVMs of the service at the same time. One after the other is a restart.

    A JVM that ends and the next that begins share a minute.
    """
    ordered = jvms.sort_values(["host", "service", "first"])
    ends = ordered.groupby(["host", "service"])["last"].shift()
    overlaps = (ordered["first"] < ends).groupby([ordered["host"], ordered["service"]]).transform("any")
    return overlaps.reindex(jvms.index)


def roles_of(jvms: pd.DataFrame, role: str, facts: pd.DataFrame) -> pd.Series:
    if role.startswith("fact:"):
        values = facts[facts["fact"] == role.removeprefix("fact:")].groupby("subject")["value"].last()
        return jvms["subject"].map(values).fillna(FACT_MISSING)
    if role not in jvms.columns:
        raise FleetError(f"no column {role!r} to take roles from: use service, java, collector, kernel or fact:NAME")
    return jvms[role].fillna(FACT_MISSING)


def named_minutes(minutes: Any, jvms: pd.DataFrame) -> Any:
    """Minutes with subject and role. The join is spared where both are columns already."""
    rest = [
        name
        for name in minutes.columns
        if name not in {*JVM, "host", "minute", "container", "java", "collector", "kernel"}
    ]
    about = [minutes.minute, *[minutes[name] for name in rest]]
    if (jvms["subject"] == jvms["host"]).all() and (jvms["role"] == jvms["service"]).all():
        return minutes.select(
            subject=minutes.host, role=minutes.service.fill_null(""), **{c.get_name(): c for c in about}
        )
    names = ibis.memtable(pa.Table.from_pandas(jvms[[*JVM, "subject", "role"]], preserve_index=False))
    keyed = minutes.mutate(
        **{name: minutes[name].fill_null(0 if name in ("pid", "start_ticks") else "") for name in JVM}
    )
    joined = keyed.join(names, list(JVM))
    return joined.select("subject", "role", "minute", *rest)


def once(minutes: Any, jvms: pd.DataFrame, problems: list[Problem]) -> Any:
    """One row of each subject and minute. Rows are merged only where a JVM has more rows than minutes."""
    restarts = jvms.duplicated(["host", "service"], keep=False) & ~jvms["subject"].str.contains("#")
    repeated = int((jvms["rows"] - jvms["minutes"]).sum())
    if repeated:
        problems.append(
            Problem("minutes", "duplicate_rows", f"{repeated} rows repeat a minute of a JVM and were merged")
        )
    if not repeated and not restarts.any():
        return minutes
    rest = [name for name in minutes.columns if name not in ("subject", "role", "minute")]
    return minutes.group_by(["subject", "role", "minute"]).agg(**{name: minutes[name].max() for name in rest})


def facts_of(facts: Any, jvms: pd.DataFrame) -> pd.DataFrame:
    """Rows `subject`, `fact`, `value`, `minute`. A fact without a process is one of every JVM of its host."""
    minute = (facts.time_ns // MINUTE_NS).cast("int32") if "time_ns" in facts.columns else ibis.null("int32")
    pid = facts.pid.cast("int64").fill_null(0) if "pid" in facts.columns else ibis.literal(0, "int64")
    ticks = facts.start_ticks.cast("int64").fill_null(0) if "start_ticks" in facts.columns else ibis.literal(0, "int64")
    rows = facts.filter(facts.host.notnull() & facts.fact.notnull() & facts.value.notnull())
    rows = rows.select(
        host=rows.host, pid=pid, start_ticks=ticks, fact=rows.fact, value=rows.value.cast("string"), minute=minute
    ).distinct()
    frame: pd.DataFrame = rows.to_pandas()
    of_hosts = (
        frame[frame["pid"] == 0]
        .drop(columns=["pid", "start_ticks"])
        .merge(jvms[["host", "subject"]].drop_duplicates(), on="host")
    )
    of_jvms = frame[frame["pid"] != 0].merge(
        jvms[["host", "pid", "start_ticks", "subject"]], on=["host", "pid", "start_ticks"]
    )
    both = pd.concat([part for part in (of_hosts, of_jvms) if len(part)] or [of_hosts])
    return both[["subject", "fact", "value", "minute"]].sort_values(
        ["subject", "fact", "minute", "value"], ignore_index=True
    )


def facts_of_minutes(jvms: pd.DataFrame) -> pd.DataFrame:
    """What the columns of `minutes` say about each JVM."""
    long = jvms.melt(["subject", "last"], ["java", "collector", "kernel"], var_name="fact", value_name="value").dropna()
    long = long.sort_values("last").drop_duplicates(["subject", "fact"], keep="last")
    return long[["subject", "fact", "value"]].reset_index(drop=True)


def latest_facts(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last value of each fact, and the changes. Values of one minute are one value (a flag given twice)."""
    joined = rows.groupby(["subject", "fact", "minute"], dropna=False, sort=False)["value"]
    at = (
        joined.agg(" | ".join) if rows.duplicated(["subject", "fact", "minute"]).any() else joined.last()
    ).reset_index()
    at = at.sort_values(["subject", "fact", "minute"], ignore_index=True)
    at["was"] = at.groupby(["subject", "fact"])["value"].shift()
    changes = at[at["was"].notna() & (at["was"] != at["value"])]
    latest = at.drop_duplicates(["subject", "fact"], keep="last")
    return (
        latest[["subject", "fact", "value"]].reset_index(drop=True),
        changes[["subject", "fact", "was", "value", "minute"]].reset_index(drop=True),
    )
