"""What every question answers with: sentences, a table, how sure, of how much, and what was not seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pandas as pd

from .fleet import Fleet

JSON_SCHEMA = 1

HOSTS_ALPHA = 0.01
FACTS_ALPHA = 0.02
"""A day without an illness may raise an alarm in 3 % of cases: with half of 5 % each, 11 of 196 simulated days had one. Facts have the
larger part, as they are found long before single hosts are, and a host that is found stands far above this."""

Verdict = Literal["found", "nothing", "cannot_tell"]


@dataclass(frozen=True)
class Answer:
    """The answer to one question."""

    question: str
    verdict: Verdict
    says: tuple[str, ...]
    rows: pd.DataFrame
    hosts: int
    signals: tuple[str, ...]
    first: int
    last: int
    unseen: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON."""
        return {
            "schema": JSON_SCHEMA,
            "question": self.question,
            "verdict": self.verdict,
            "says": list(self.says),
            "hosts": self.hosts,
            "signals": list(self.signals),
            "from": clock(self.first),
            "to": clock(self.last),
            "rows": [plain(row) for row in self.rows.to_dict("records")],
            "unseen": list(self.unseen),
            **plain(self.details),
        }

    def to_pandas(self) -> pd.DataFrame:
        return self.rows

    def to_polars(self) -> Any:
        import polars

        return polars.from_pandas(self.rows)


def answer(question: str, fleet: Fleet, verdict: Verdict, says: list[str], rows: pd.DataFrame, **more: Any) -> Answer:
    """An answer about a whole fleet."""
    more.setdefault("signals", tuple(fleet.signals))
    more["unseen"] = (*more.get("unseen", ()), *problems_in_words(fleet))
    hosts = more.pop("hosts", fleet.subjects["subject"].nunique())
    return Answer(question, verdict, tuple(says), rows, hosts, first=fleet.first, last=fleet.last, **more)


PROBLEMS_NAMED = 3


def problems_in_words(fleet: Fleet) -> list[str]:
    """The first problems of each kind, and how many more."""
    kinds: dict[str, list[str]] = {}
    for problem in fleet.problems:
        kinds.setdefault(problem.kind, []).append(str(problem))
    lines = []
    for kind, told in kinds.items():
        lines += told[:PROBLEMS_NAMED]
        if len(told) > PROBLEMS_NAMED:
            lines.append(f"{len(told) - PROBLEMS_NAMED} more files: {kind}")
    return lines


def clock(minute: int | float | None) -> str | None:
    """A minute since the epoch as people write it, in UTC."""
    if minute is None or math.isnan(minute):
        return None
    return datetime.fromtimestamp(int(minute) * 60, UTC).strftime("%Y-%m-%dT%H:%MZ")


def percent(log_ratio: float) -> str:
    """A difference of logarithms as people say it."""
    if math.isnan(log_ratio):
        return "?"
    ratio = math.exp(log_ratio)
    return f"{ratio:.1f}×" if ratio >= 2 else f"{(ratio - 1) * 100:+.0f} %"


def compared(log_ratio: float) -> str:
    """The same in a sentence."""
    ratio = math.exp(log_ratio)
    return f"{ratio:.1f} times its peers" if ratio >= 2 else f"{(ratio - 1) * 100:.0f} % above its peers"


def plain(value: Any) -> Any:
    """Only what JSON knows; what is not a number is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def count(number: int, what: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def some(names: list[str], at_most: int = 3) -> str:
    """A few of many, in words."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
