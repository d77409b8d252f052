"""Facts of a simulated fleet: some that many hosts share, many that few have, and the planted ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .world import ALIAS_AGREES, World

COMMON = {
    "cpu_model": 6, "cpu_microcode": 12, "instance_type": 18, "kernel": 9, "kernel_hz": 2, "kernel_preemption": 3,
    "transparent_huge_pages": 3, "io_scheduler": 3, "jdk_vendor": 3, "jdk_version": 8, "cpus": 6, "memory_limit": 10, "image": 120,
    "label:rack": 150, "label:zone": 4, "label:team": 25, "label:version": 40,
}  # fmt: skip
"""Facts that every host has, and how many values there are."""

FLAG_SHARE_MAX = 0.3
"""Of the hosts that have one flag; most have far fewer."""


def facts_of(world: World) -> pd.DataFrame:
    """Rows `host`, `fact`, `value`."""
    random = world.random("facts")
    names = np.array(world.names)
    parts = []
    for key, count in COMMON.items():
        weights = 1.0 / np.arange(1, count + 1)
        picked = random.choice(count, world.hosts, p=weights / weights.sum())
        parts.append(pd.DataFrame({"host": names, "fact": key, "value": [f"{key}-{value}" for value in picked]}))
    parts += [flags(world, random, names), *planted(world, random, names)]
    rows = pd.concat(parts, ignore_index=True)
    # A planted fact takes the place of the one that the host had.
    return rows.drop_duplicates(["host", "fact"], keep="last", ignore_index=True)


def flags(world: World, random: np.random.Generator, names: np.ndarray) -> pd.DataFrame:
    """A flag is two values: set and not set."""
    count = max(0, (world.facts - sum(COMMON.values())) // 2)
    keys = np.array([f"flag:Flag{index}" for index in range(count)], dtype=object)
    shares = FLAG_SHARE_MAX * random.random(count) ** 3
    flag, host = np.nonzero(random.random((count, world.hosts)) < shares[:, None])
    return pd.DataFrame({"host": names[host], "fact": keys[flag], "value": "true"})


def planted(world: World, random: np.random.Generator, names: np.ndarray) -> list[pd.DataFrame]:
    if world.illness is None or not world.illness.by_fact:
        return []
    holders = np.zeros(world.hosts, dtype=bool)
    holders[world.holders] = True
    parts = [
        pd.DataFrame({"host": names[holders], "fact": key, "value": value})
        for key, value in (world.illness.fact, *world.illness.confounded)
    ]
    if world.illness.has_alias:
        alias = holders ^ (random.random(world.hosts) > ALIAS_AGREES) & holders
        parts.append(pd.DataFrame({"host": names[alias], "fact": "alias", "value": "yes"}))
    return parts
