"""The signals that hosts are compared by, and how their values become comparable.

A signal is compared as `ln(value + floor)`: a difference is then a ratio, and values far below the floor count as equal.
The floor is the size below which a difference matters to nobody, in the unit of the signal.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = 1
"""Of the tables `minutes` and `facts`. Columns may be added without a new version."""

MINUTE_NS = 60_000_000_000
MINUTES_PER_DAY = 1440


@dataclass(frozen=True)
class Signal:
    """A column of `minutes` of which more is worse."""

    name: str
    unit: str
    floor: float
    says: str


SIGNALS: dict[str, Signal] = {
    signal.name: signal
    for signal in (
        Signal("requests_p50_ms", "ms", 0.1, "median latency"),
        Signal("requests_p95_ms", "ms", 0.1, "95th percentile of the latency"),
        Signal("requests_p99_ms", "ms", 0.1, "99th percentile of the latency"),
        Signal("requests_mean_ms", "ms", 0.1, "mean latency"),
        Signal("requests_max_ms", "ms", 1.0, "longest request"),
        Signal("requests_under_way_max", "requests", 1.0, "requests under way"),
        Signal("calls_p95_max_ms", "ms", 0.1, "95th percentile of calls to other services"),
        Signal("gc_full_per_min", "1/min", 1.0, "full collections"),
        Signal("gc_stopped_ratio", "ratio", 0.005, "share of time stopped by collections"),
        Signal("stops_longest_ms", "ms", 1.0, "longest stop of the application"),
        Signal("cpu_cores", "CPUs", 0.01, "CPU used by the process"),
        Signal("cpu_run_queue_ratio", "threads", 0.05, "threads that waited for a CPU"),
        Signal("cgroup_throttled_ratio", "ratio", 0.01, "share of time throttled by the CPU quota"),
        Signal("memory_major_faults_per_s", "1/s", 1.0, "major page faults"),
        Signal("compiler_ms_per_s", "ms/s", 5.0, "time of compilations"),
        Signal("jvm_threads_max", "threads", 5.0, "threads"),
        Signal("process_cpu_ratio", "ratio", 0.005, "share of all CPUs used by the process"),
        Signal("cpu_pressure_ratio", "ratio", 0.01, "share of time in which tasks waited for a CPU"),
        Signal("host_load", "tasks", 0.1, "load average of the host"),
    )
}

KEYS = ("time_ns", "host")
"""A table without these is not `minutes`."""

ABOUT = ("service", "pid", "start_ticks", "container", "java", "collector", "kernel")
"""Columns about the JVM. Where one is missing it is empty."""

EVENTS = ("triggers", "incident", "verdict", "cause", "cause_share", "seconds", "requests_count")
"""Columns that other questions use. Where one is missing it is empty."""


def signal_of(name: str) -> Signal:
    """A known signal, or one of a foreign table, whose floor is not known."""
    return SIGNALS.get(name) or Signal(name, "", 0.0, name)
