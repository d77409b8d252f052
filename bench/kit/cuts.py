"""Smaller and larger inputs of the same kind: whole chunks of a JFR file, whole lines of a log, and concatenated copies."""

import itertools
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

CHUNK_MAGIC = b"FLR\0"
CHUNK_HEADER = struct.Struct(">4sHHqqqqq")
CHUNK_START_AT = 32
COPY_BYTES = 1 << 24


@dataclass(frozen=True)
class Chunk:
    """The position of a chunk in its file, and its time."""

    at: int
    size: int
    start_ns: int
    end_ns: int


def jfr_of_size(source: Path, size_mb: int, into: Path) -> Path:
    """A JFR file of about `size_mb`: the first chunks of `source`, repeated. Concatenated chunks are a valid file.

    Each round starts when the previous one ended: JMC skips chunks that look like copies of another.
    """
    chunks = chunks_of(source)
    round_ns = max(chunk.end_ns for chunk in chunks) - min(chunk.start_ns for chunk in chunks)
    written = 0
    with source.open("rb") as reader, into.open("wb") as writer:
        for count, chunk in enumerate(itertools.cycle(chunks)):
            if written >= size_mb * 1_000_000:
                return into
            reader.seek(chunk.at)
            content = bytearray(reader.read(chunk.size))
            struct.pack_into(">q", content, CHUNK_START_AT, chunk.start_ns + count // len(chunks) * round_ns)
            written += writer.write(content)


def chunks_of(source: Path) -> list[Chunk]:
    """The chunks of a file, from their headers."""
    chunks = []
    total = source.stat().st_size
    with source.open("rb") as reader:
        at = 0
        while at < total or not chunks:
            reader.seek(at)
            header = reader.read(CHUNK_HEADER.size)
            if len(header) < CHUNK_HEADER.size or header[:4] != CHUNK_MAGIC:
                raise ValueError(f"{source}: no JFR chunk at byte {at}")
            _, _, _, size, _, _, start_ns, duration_ns = CHUNK_HEADER.unpack(header)
            if size < CHUNK_HEADER.size:
                raise ValueError(f"{source}: a JFR chunk of {size} bytes at byte {at}")
            chunks.append(Chunk(at, size, start_ns, start_ns + duration_ns))
            at += size
    return chunks


def log_of_size(source: Path, size_mb: int, into: Path) -> Path:
    """The first `size_mb` of a log, up to the end of a line. A log cannot be repeated, because its time never goes back."""
    left = size_mb * 1_000_000
    with source.open("rb") as reader, into.open("wb") as writer:
        while left > COPY_BYTES:
            left -= writer.write(reader.read(COPY_BYTES))
        writer.write(reader.read(max(left, 0)) + reader.readline())
    return into


def enough_space(folder: Path, needed_mb: int) -> bool:
    """Whether the large inputs fit."""
    return shutil.disk_usage(folder).free > needed_mb * 1_000_000
