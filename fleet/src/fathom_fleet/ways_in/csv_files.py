"""CSV: a column of times, one of hosts, and numbers; or facts (`host`, `fact`, `value`).

Times are ISO 8601 (UTC where no zone stands), or numbers since the epoch in s, ms, µs or ns.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .folder import FACT_KEYS, Found
from .problems import Problem
from .writing import write_minutes

TIMES = ("time_ns", "time", "timestamp", "minute", "date", "ts")
HOSTS = ("host", "hostname", "instance", "node", "server", "pod")
SERVICES = ("service", "role", "job", "app", "application")


def read(file: Path, scratch: Path, found: Found) -> None:
    try:
        frame = pd.read_csv(file, encoding_errors="replace", on_bad_lines="skip", low_memory=False)
    except (OSError, ValueError) as error:
        found.problems.append(
            Problem(str(file), "unreadable", f"not CSV, left out ({str(error).splitlines()[0][:80]})")
        )
        return
    frame.columns = [str(name).strip() for name in frame.columns]
    if set(FACT_KEYS) <= set(frame.columns):
        # As text: 6.10 is another version than 6.1.
        facts = (
            pd.read_csv(file, dtype=str, encoding_errors="replace", on_bad_lines="skip")
            .rename(columns=str.strip)
            .dropna(subset=FACT_KEYS)
        )
        place = scratch / f"facts-csv-{len(found.facts)}.parquet"
        facts[list(FACT_KEYS)].to_parquet(place, index=False)
        found.facts.append(str(place))
        return
    time, host = first_of(frame, TIMES), first_of(frame, HOSTS)
    if time is None or host is None:
        missing = f"a time ({', '.join(TIMES)})" if time is None else f"a host ({', '.join(HOSTS)})"
        found.problems.append(Problem(str(file), "foreign", f"no column with {missing}, left out"))
        return
    write_minutes(as_minutes(frame, time, host, file, found), scratch, found)


def first_of(frame: pd.DataFrame, names: tuple[str, ...]) -> str | None:
    lower = {name.lower(): name for name in frame.columns}
    return next((lower[name] for name in names if name in lower), None)


def as_minutes(frame: pd.DataFrame, time: str, host: str, file: Path, found: Found) -> pd.DataFrame:
    at = times_of(frame[time])
    bad = int(at.isna().sum())
    if bad:
        found.problems.append(
            Problem(str(file), "damaged_lines", f"{bad} lines without a time that can be read, left out")
        )
    service = first_of(frame, SERVICES)
    names = frame[service].astype(str) if service else pd.Series("", index=frame.index)
    numbers = frame.drop(columns=[name for name in (time, host, service) if name]).select_dtypes("number").astype(float)
    rows = pd.concat(
        [pd.DataFrame({"seconds": at, "host": frame[host].astype(str), "service": names}), numbers], axis=1
    )
    return rows[at.notna()]


def times_of(column: pd.Series) -> pd.Series:
    """Seconds since the epoch."""
    if column.dtype.kind in "if":
        size = column.abs().max()
        # Seconds have ten digits until the year 2286.
        scale = next((scale for scale in (1e9, 1e6, 1e3) if size / scale > 1e8), 1.0)
        return column / scale
    parsed = pd.to_datetime(column, utc=True, errors="coerce", format="ISO8601")
    return parsed.map(lambda at: at.timestamp() if not pd.isna(at) else float("nan"))
