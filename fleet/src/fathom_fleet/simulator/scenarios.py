"""Fleets like those of published investigations."""

from __future__ import annotations

from .world import Illness, World

BASES = {
    "requests_p95_ms": 20.0,
    "cpu_cores": 3.0,
    "gc_stopped_ratio": 0.03,
    "stops_longest_ms": 4.0,
    "compiler_ms_per_s": 8.0,
    "host_load": 5.0,
}


def cpu_family(hosts: int = 2000, seed: int = 1) -> World:
    """One CPU family is slow after deploys of the day: handlers take longer, and pauses of the collector stay short.

    Two more facts are true of exactly the same hosts: the instance type and the kernel that its image brings.
    """
    illness = Illness(
        effect=0.5, hosts=round(hosts * 0.06), signals=("requests_p95_ms", "cpu_cores"), penetrance=0.8,
        fact=("cpu_model", "Neoverse-N1"), confounded=(("instance_type", "i4g.4xlarge"), ("kernel", "6.1.0-arm64")),
    )  # fmt: skip
    signals = ("requests_p95_ms", "cpu_cores", "gc_stopped_ratio")
    return World(hosts=hosts, illness=illness, signals=signals, seed=seed, bases=BASES, facts=1000)


def canary(peers: int = 40, seed: int = 1) -> World:
    """One host with another JDK among its peers: the load of the host is four times theirs, the latency a third higher."""
    illness = Illness(effect=3.0, hosts=1, signals=("host_load",), penetrance=1.0, fact=("jdk_version", "8"))
    signals = ("host_load", "compiler_ms_per_s", "gc_stopped_ratio")
    return World(hosts=peers + 1, roles=1, illness=illness, signals=signals, seed=seed, bases=BASES, facts=400)


def demo(seed: int = 7) -> World:
    """Small enough for a minute on a laptop."""
    illness = Illness(
        effect=0.5, hosts=24, signals=("requests_p95_ms", "cpu_cores"),
        fact=("cpu_model", "Neoverse-N1"), confounded=(("instance_type", "i4g.4xlarge"), ("kernel", "6.1.0-arm64")),
    )  # fmt: skip
    signals = ("requests_p95_ms", "cpu_cores", "gc_stopped_ratio")
    return World(hosts=300, roles=8, illness=illness, signals=signals, seed=seed, bases=BASES, facts=600)
