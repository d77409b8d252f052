"""Answers of Prometheus to range queries (`/api/v1/query_range`, type `matrix`), one or several in a file or in several.

Names of jmx_exporter, Micrometer and node_exporter become signals. Counters become rates per second, so query them as they are or
inside `rate()`: what `rate()` returns has no name, and the file's name says what it is (`cpu_cores.json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..signals import SIGNALS
from .folder import Found
from .problems import Problem
from .writing import write_minutes


@dataclass(frozen=True)
class Mapped:
    """What a metric becomes."""

    signal: str
    factor: float = 1.0
    is_counter: bool = False
    over: str | None = None
    """The counter to divide its rise by: a mean is a sum over a count."""
    only: tuple[str, str] | None = None
    """A label that has to match."""


METRICS: dict[str, Mapped] = {
    # jmx_exporter and the Java client
    "process_cpu_seconds_total": Mapped("cpu_cores", is_counter=True),
    "jvm_gc_collection_seconds_sum": Mapped("gc_stopped_ratio", is_counter=True),
    "jvm_threads_current": Mapped("jvm_threads_max"),
    "java_lang_OperatingSystem_ProcessCpuLoad": Mapped("process_cpu_ratio"),
    "java_lang_Threading_ThreadCount": Mapped("jvm_threads_max"),
    # Micrometer
    "http_server_requests_seconds_sum": Mapped(
        "requests_mean_ms", 1000, True, over="http_server_requests_seconds_count"
    ),
    "http_server_requests_seconds_max": Mapped("requests_max_ms", 1000),
    "http_server_requests_seconds": Mapped("requests_p95_ms", 1000, only=("quantile", "0.95")),
    "jvm_gc_pause_seconds_sum": Mapped("gc_stopped_ratio", is_counter=True),
    "jvm_gc_pause_seconds_max": Mapped("stops_longest_ms", 1000),
    "jvm_threads_live_threads": Mapped("jvm_threads_max"),
    "process_cpu_usage": Mapped("process_cpu_ratio"),
    # node_exporter and cAdvisor
    "node_load1": Mapped("host_load"),
    "node_vmstat_pgmajfault": Mapped("memory_major_faults_per_s", is_counter=True),
    "node_pressure_cpu_waiting_seconds_total": Mapped("cpu_pressure_ratio", is_counter=True),
    "container_cpu_cfs_throttled_seconds_total": Mapped("cgroup_throttled_ratio", is_counter=True),
}

COUNTS = {mapped.over: mapped.signal for mapped in METRICS.values() if mapped.over}
HOST_LABELS = ("host", "hostname", "node", "instance", "pod")
SERVICE_LABELS = ("service", "application", "app", "job")
NOT_FACTS = {*HOST_LABELS, *SERVICE_LABELS, "__name__", "quantile", "le", "uri", "method", "status", "outcome", "exception", "gc", "action", "cause", "id", "area", "cpu"}  # fmt: skip
"""Labels of a series that say nothing about its host."""

PORT = re.compile(r":\d+$")
"""Exporters of one host answer at several ports."""


def read(file: Path, scratch: Path, found: Found) -> None:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        found.problems.append(Problem(str(file), "unreadable", f"not JSON, left out ({str(error)[:80]})"))
        return
    series = list(series_of(document))
    if not series:
        found.problems.append(
            Problem(str(file), "foreign", "no answer to a range query (data.resultType matrix), left out")
        )
        return
    known, unknown = [], set()
    for metric, samples in series:
        name = metric.get("__name__") or file.stem
        part = samples_of(name, metric, samples)
        known.append(part) if part is not None else unknown.add(name)
    if unknown:
        found.problems.append(
            Problem(str(file), "foreign", f"metrics that no signal is made of: {', '.join(sorted(unknown)[:5])}")
        )
    write_minutes(as_rows(known), scratch, found)
    write_facts(series, scratch, found)


def series_of(document: Any) -> Iterator[tuple[dict[str, str], list[Any]]]:
    """Series of one answer, or of a list of answers."""
    for answer in document if isinstance(document, list) else [document]:
        data = answer.get("data") if isinstance(answer, dict) else None
        for series in data.get("result", []) if isinstance(data, dict) and data.get("resultType") == "matrix" else []:
            if (
                isinstance(series, dict)
                and isinstance(series.get("metric"), dict)
                and isinstance(series.get("values"), list)
            ):
                yield series["metric"], series["values"]


def samples_of(name: str, metric: dict[str, str], samples: list[Any]) -> pd.DataFrame | None:
    """`seconds`, `host`, `service`, `signal`, `value`, `part`: a rise of a counter is a rate."""
    mapped = METRICS.get(name) or (Mapped(name) if name in SIGNALS else None)
    is_count = name in COUNTS
    if mapped is None and not is_count:
        return None
    if mapped and mapped.only and metric.get(mapped.only[0]) != mapped.only[1]:
        return pd.DataFrame()
    pairs = [(float(at), number(value)) for at, value in samples]
    seconds, values = np.array([at for at, _ in pairs]), np.array([value for _, value in pairs])
    if is_count or (mapped and mapped.is_counter):
        seconds, values = rates(seconds, values)
    signal = COUNTS[name] if is_count else mapped.signal if mapped else name
    host = label(metric, HOST_LABELS)
    return pd.DataFrame({
        "seconds": seconds, "host": PORT.sub("", host), "service": label(metric, SERVICE_LABELS), "signal": signal,
        "part": "count" if is_count else "sum" if mapped and mapped.over else "value",
        "value": values * (mapped.factor if mapped else 1.0),
    })  # fmt: skip


def rates(seconds: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rises per second; a counter that fell began anew, and what it rose by meanwhile is not known."""
    rises, lengths = np.diff(values), np.diff(seconds)
    known = (rises >= 0) & (lengths > 0)
    return seconds[1:][known], rises[known] / lengths[known]


def number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def label(metric: dict[str, str], names: tuple[str, ...]) -> str:
    return next((str(metric[name]) for name in names if metric.get(name)), "")


def as_rows(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """A column of each signal. Series of one host and time (endpoints, CPUs) are summed; of maxima the largest counts."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return pd.DataFrame(columns=["seconds", "host", "service"])
    long = pd.concat(filled, ignore_index=True)
    keys = ["seconds", "host", "service", "signal", "part"]
    largest = long["signal"].str.contains("max|longest|p95")
    summed = long[~largest].groupby(keys)["value"].sum(min_count=1)
    values = pd.concat([summed, long[largest].groupby(keys)["value"].max()]).unstack("part")
    means = (
        values["sum"] / values["count"].where(values["count"] > 0) if {"sum", "count"} <= set(values.columns) else None
    )
    value = values["value"] if "value" in values.columns else pd.Series(np.nan, index=values.index)
    value = value.fillna(means) if means is not None else value
    return value.unstack("signal").reset_index()


def write_facts(series: list[tuple[dict[str, str], list[Any]]], scratch: Path, found: Found) -> None:
    """Labels of the series are facts of their hosts."""
    rows = {
        (PORT.sub("", label(metric, HOST_LABELS)), f"label:{name}", str(value))
        for metric, _ in series
        for name, value in metric.items()
        if name not in NOT_FACTS
    }
    if rows:
        place = scratch / f"facts-prometheus-{len(found.facts)}.parquet"
        pd.DataFrame(sorted(rows), columns=["host", "fact", "value"]).to_parquet(place, index=False)
        found.facts.append(str(place))
