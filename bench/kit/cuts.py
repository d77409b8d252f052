"""Smaller and larger inputs of the same kind: whole chunks of a JFR file, whole lines of a log, and copies end to end."""

import shutil
import struct
from pathlib import Path

CHUNK_MAGIC = b"FLR\0"
CHUNK_SIZE_AT = 8
COPY_BYTES = 1 << 24


def jfr_of_size(source: Path, size_mb: int, into: Path) -> Path:
    """A JFR file of about `size_mb`: the first chunks of `source`, round and round. Chunks end to end are a valid file."""
    chunks = chunk_ranges(source)
    written = 0
    with source.open("rb") as reader, into.open("wb") as writer:
        while written < size_mb * 1_000_000:
            for start, size in chunks:
                if written >= size_mb * 1_000_000:
                    break
                reader.seek(start)
                writer.write(reader.read(size))
                written += size
    return into


def chunk_ranges(source: Path) -> list[tuple[int, int]]:
    """Start and size of each chunk, from the chunks' headers."""
    ranges = []
    total = source.stat().st_size
    with source.open("rb") as reader:
        start = 0
        while start < total:
            reader.seek(start)
            header = reader.read(CHUNK_SIZE_AT + 8)
            size = struct.unpack_from(">q", header, CHUNK_SIZE_AT)[0] if len(header) == CHUNK_SIZE_AT + 8 else 0
            if header[:4] != CHUNK_MAGIC or size <= 0:
                raise ValueError(f"{source}: no JFR chunk at byte {start}")
            ranges.append((start, size))
            start += size
    return ranges


def log_of_size(source: Path, size_mb: int, into: Path) -> Path:
    """The first `size_mb` of a log, up to the end of a line. The log must be that long: time in a log never goes back."""
    left = size_mb * 1_000_000
    with source.open("rb") as reader, into.open("wb") as writer:
        while left > COPY_BYTES:
            left -= writer.write(reader.read(COPY_BYTES))
        writer.write(reader.read(max(left, 0)) + reader.readline())
    return into


def enough_space(folder: Path, needed_mb: int) -> bool:
    """Whether the large inputs fit."""
    return shutil.disk_usage(folder).free > needed_mb * 1_000_000
