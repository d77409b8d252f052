"""The folder that `fathom watch` writes, or a folder of many such folders.

```text
…/minutes/date=2026-11-23/10-1f3a.parquet    …/minutes/journal.jsonl
…/facts/date=2026-11-23/….parquet
```

Each file's footer is read before the engine sees the file, so that one bad file does not end a query over all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from ..signals import KEYS, SCHEMA_VERSION
from .problems import Problem

FACT_KEYS = ("host", "fact", "value")
SCHEMA_KEY = b"fathom.schema"
RECORDING = ".fathom/"
OF_WATCH = re.compile(r"/rings/|/outbox/|\.fathom/|/(lock|first_start)$")
"""What else `fathom watch` keeps in its folder: recordings, and what it needs for itself."""
JOURNAL_LINE_MAX = 1 << 20
"""Bytes. A row of `minutes` has some hundreds."""


@dataclass
class Found:
    """Files of both tables that can be read, and what was wrong with the others."""

    minutes: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.minutes += other.minutes
        self.facts += other.facts
        self.problems += other.problems


def find(place: str, scratch: Path, is_thorough: bool = False) -> Found:
    """All tables below a folder, or below `s3://…` and whatever else PyArrow opens. Journals become files in `scratch`."""
    files, root = filesystem(place)
    found = Found()
    candidates: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for info in tables(files, root):
        name = info.base_name
        if name.endswith(".jsonl"):
            read_journal(files, info.path, scratch, found)
        elif name.endswith(".parquet"):
            kind, rows = look_at(files, info.path, found, is_thorough)
            if kind and not is_repeated(files, info, rows, candidates, found):
                getattr(found, kind).append(address(place, files, info.path))
        elif not name.startswith((".", "_")) and not name.endswith((".unfinished", ".json", ".crc")):
            found.problems.append(Problem(info.path, "foreign", "neither Parquet nor a journal, left out"))
    return found


def filesystem(place: str) -> tuple[Any, str]:
    if "://" in place:
        return pa.fs.FileSystem.from_uri(place)  # type: ignore[no-any-return]
    return pa.fs.LocalFileSystem(), str(Path(place).resolve())


def address(place: str, files: Any, path: str) -> str:
    """The path as the engine has to be given it."""
    return (
        path if "://" not in place or isinstance(files, pa.fs.LocalFileSystem) else f"{place.split('://')[0]}://{path}"
    )


def listing(files: Any, root: str) -> Iterable[Any]:
    info = files.get_file_info(root)
    if info.type == pa.fs.FileType.File:
        return [info]
    selector = pa.fs.FileSelector(root, recursive=True, allow_not_found=True)
    return [entry for entry in files.get_file_info(selector) if entry.type == pa.fs.FileType.File]


def tables(files: Any, root: str) -> list[Any]:
    """All files but those of `fathom watch` that are no tables of the fleet. The text beside a recording is its verdict."""
    infos = sorted(listing(files, root), key=lambda info: info.path)
    recordings = {info.path.partition(RECORDING)[0] for info in infos if RECORDING in info.path}
    return [
        info
        for info in infos
        if not OF_WATCH.search(info.path.removeprefix(root)) and info.path.removesuffix(".txt") not in recordings
    ]


def look_at(files: Any, path: str, found: Found, is_thorough: bool) -> tuple[str | None, int]:
    """Which table a file belongs to, by its columns, and how many rows it has."""
    try:
        with files.open_input_file(path) as file:
            parquet = pq.ParquetFile(file)
            schema, metadata = parquet.schema_arrow, parquet.metadata
            for _ in parquet.iter_batches() if is_thorough else ():
                pass
    except (pa.ArrowException, OSError) as error:
        says = str(error).splitlines()[0][:120]
        found.problems.append(Problem(path, "unreadable", f"half-written, damaged or not Parquet, left out ({says})"))
        return None, 0
    kind = table_of(schema)
    if kind is None:
        names = ", ".join(schema.names[:4])
        found.problems.append(Problem(path, "foreign", f"neither minutes nor facts (columns {names}, …), left out"))
    elif version_of(metadata) > SCHEMA_VERSION:
        says = f"schema {version_of(metadata)} is newer than {SCHEMA_VERSION}: columns that are not known are ignored"
        found.problems.append(Problem(path, "newer_schema", says))
    return kind, metadata.num_rows


def table_of(schema: pa.Schema) -> str | None:
    def has(name: str, test: Any) -> bool:
        return name in schema.names and test(schema.field(name).type)

    def is_text(kind: pa.DataType) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))

    if all(has(name, is_text) for name in FACT_KEYS):
        return "facts"
    return "minutes" if has(KEYS[0], pa.types.is_int64) and has(KEYS[1], is_text) else None


def version_of(metadata: Any) -> int:
    try:
        return int((metadata.metadata or {}).get(SCHEMA_KEY, b"1"))
    except ValueError:
        return SCHEMA_VERSION


def is_repeated(files: Any, info: Any, rows: int, seen: dict[tuple[str, int, int], list[str]], found: Found) -> bool:
    """Whether the same bytes were there before, as when a host's folder was copied twice."""
    alike = seen[info.base_name, info.size, rows]
    same = next((path for path in alike if digest(files, path) == digest(files, info.path)), None) if alike else None
    alike.append(info.path)
    if same:
        found.problems.append(Problem(info.path, "duplicate", f"the same as {same}, left out"))
    return same is not None


def digest(files: Any, path: str) -> bytes:
    with files.open_input_stream(path) as stream:
        return hashlib.blake2b(stream.read()).digest()


def read_journal(files: Any, path: str, scratch: Path, found: Found) -> None:
    """The hours that have no file yet. Lines of one JVM and minute are one row; the last line may be cut."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    bad = 0
    with files.open_input_stream(path) as stream:
        for line in stream.read().splitlines():
            row = journal_line(line)
            if row is None:
                bad += bool(line.strip())
                continue
            rows.setdefault((row["host"], row["time_ns"], row.get("pid"), row.get("start_ticks")), {}).update(row)
    if bad:
        found.problems.append(Problem(path, "damaged_lines", f"{bad} lines that are no rows, left out"))
    if rows:
        file = scratch / f"journal-{hashlib.blake2b(path.encode(), digest_size=8).hexdigest()}.parquet"
        pq.write_table(as_table(list(rows.values())), file)
        found.minutes.append(str(file))


def journal_line(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line) if len(line) < JOURNAL_LINE_MAX else None
    except ValueError:
        return None
    usable = isinstance(row, dict) and isinstance(row.get("time_ns"), int) and isinstance(row.get("host"), str)
    return row if usable else None


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Columns whose values have one type each; others are left out."""
    names = sorted({name for row in rows for name in row})
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, float) for value in values):
            values = [float(value) if isinstance(value, int) else value for value in values]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            continue
    return pa.table(columns)
