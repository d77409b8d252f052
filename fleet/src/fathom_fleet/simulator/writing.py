"""A simulated fleet as the folder that `fathom watch` would have written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..signals import MINUTE_NS, MINUTES_PER_DAY
from .facts import facts_of
from .world import World

HOSTS_PER_FILE = 1000


def write(world: World, folder: Path) -> None:
    """Writes `minutes` and `facts` below a folder."""
    values = {signal: world.values(signal) for signal in world.signals}
    for day in range(world.days):
        part = slice(day * MINUTES_PER_DAY, (day + 1) * MINUTES_PER_DAY)
        date = datetime.fromtimestamp(int(world.minutes[part][0]) * 60, UTC).strftime("date=%Y-%m-%d")
        for begin in range(0, world.hosts, HOSTS_PER_FILE):
            hosts = slice(begin, begin + HOSTS_PER_FILE)
            table = minutes_table(world, hosts, part, values)
            put(table, folder / "minutes" / date / f"{begin:06d}.parquet")
    facts = facts_of(world).assign(time_ns=int(world.minutes[0]) * MINUTE_NS)
    date = datetime.fromtimestamp(int(world.minutes[0]) * 60, UTC).strftime("date=%Y-%m-%d")
    put(pa.Table.from_pandas(facts, preserve_index=False), folder / "facts" / date / "facts.parquet")


def minutes_table(world: World, hosts: slice, part: slice, values: dict[str, np.ndarray]) -> pa.Table:
    names = world.names[hosts]
    minutes = world.minutes[part]
    services = [f"service-{role:02d}" for role in world.role_of[hosts]]
    columns = {
        "time_ns": np.tile(minutes.astype(np.int64) * MINUTE_NS, len(names)),
        "host": repeated(names, len(minutes)),
        "service": repeated(services, len(minutes)),
        **{signal: matrix[hosts, part].ravel() for signal, matrix in values.items()},
    }
    return pa.table(columns)


def repeated(texts: list[str], times: int) -> pa.Array:
    codes = pa.array(np.repeat(np.arange(len(texts), dtype=np.int32), times))
    return pa.DictionaryArray.from_arrays(codes, pa.array(texts))


def put(table: pa.Table, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, compression="zstd")
