"""Answers as text for a terminal."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from .answers import Answer

ROWS_MAX = 12
WIDTH_PIPED = 120
"""Characters of a line where the output is no terminal."""

TIME = re.compile(r"^\d{4}-(\d\d-\d\d)T(\d\d:\d\d)Z$")
"""The year is in the line below the table."""

SHOWN: dict[str, tuple[str, ...]] = {
    "outliers": ("subject", "role", "signal", "kind", "says", "since", "q"),
    "onset": ("subject", "role", "signal", "onset", "earliest", "latest"),
    "shared": ("facts", "signal", "hosts", "says", "odds_ratio", "odds_low", "odds_high", "q"),
    "rollout": ("signal", "says", "treated", "control", "q"),
    "week_against_week": ("signal", "says", "treated", "q"),
    "causes": ("cause", "role", "incidents", "hosts", "share", "last", "facts"),
    "recurring": ("cause", "role", "incidents", "hosts", "gap_hours", "together", "last", "incident"),
}
"""Columns of the table; `--json` has all."""


def console() -> Console:
    """Honours NO_COLOR and the width of the terminal."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_PIPED)


def show(answer: Answer, out: Console) -> None:
    """The answer first, then the table, then what was not seen."""
    for line in answer.says:
        out.print(line, markup=False, highlight=False)
    if len(answer.rows):
        out.print(table_of(answer))
    if len(answer.rows) > ROWS_MAX:
        out.print(f"{len(answer.rows) - ROWS_MAX} more rows: --json", style="dim")
    out.print(scope(answer), style="dim", markup=False, highlight=False)
    for line in answer.unseen:
        out.print(f"not seen: {line}", style="dim", markup=False, highlight=False)


def scope(answer: Answer) -> str:
    row = answer.as_dict()
    return f"{answer.hosts} hosts, {row['from']} to {row['to']}, {', '.join(answer.signals)}"


def table_of(answer: Answer) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = [name for name in SHOWN[answer.question] if name in answer.rows.columns]
    for name in columns:
        table.add_column(name, overflow="fold", justify="right" if is_number(answer.rows[name]) else "left")
    for row in answer.rows.head(ROWS_MAX).to_dict("records"):
        table.add_row(*[cell(row[name]) for name in columns])
    return table


def is_number(column: Any) -> bool:
    return bool(column.dtype.kind in "fi")


def cell(value: Any) -> str:
    if isinstance(value, float):
        return "?" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.3g}"
    if isinstance(value, list):
        return "\n".join(map(str, value[:6])) + (f"\n+ {len(value) - 6} more" if len(value) > 6 else "")
    return "?" if value is None else TIME.sub(r"\1 \2", str(value))
