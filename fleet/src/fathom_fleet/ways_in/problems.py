"""What was found wrong with the data. A file that cannot be used is left out and reported; it never ends the program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A file, or all data, and what was wrong with it."""

    where: str
    kind: str
    """`unreadable`, `foreign`, `duplicate`, `damaged_lines`, `newer_schema`, `duplicate_rows`, `out_of_time`, `no_facts`."""
    says: str

    def __str__(self) -> str:
        return f"{self.where}: {self.says}"
