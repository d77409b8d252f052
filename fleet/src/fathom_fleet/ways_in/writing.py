"""Foreign rows as a file of `minutes`: samples of a minute become one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..signals import MINUTE_NS
from .folder import Found


def write_minutes(rows: pd.DataFrame, scratch: Path, found: Found) -> None:
    """`seconds`, `host`, `service` and numbers; the mean of those of one minute."""
    if rows.empty:
        return
    minutes = rows.assign(time_ns=(rows["seconds"] // 60).astype("int64") * MINUTE_NS).drop(columns="seconds")
    minutes = minutes.groupby(["time_ns", "host", "service"], as_index=False).mean()
    place = scratch / f"foreign-{len(found.minutes)}.parquet"
    minutes.to_parquet(place, index=False)
    found.minutes.append(str(place))
