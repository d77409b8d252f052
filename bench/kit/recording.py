"""Makes inputs: runs a program until its output is large enough, then stops it like a service."""

import subprocess
import time
from pathlib import Path

from .places import Refused

POLL_S = 0.2
SLOWEST_MACHINE_S = 300
STOP_S = 60


def compile_java(javac_home: Path, sources: list[Path], into: Path, jars: list[Path] = ()) -> Path:
    """Compiles `sources` and returns the folder of the classes."""
    into.mkdir(parents=True, exist_ok=True)
    path = ":".join(str(jar) for jar in jars)
    command = [javac_home / "bin" / "javac", "-nowarn", "-d", into, *(["-cp", path] if path else []), *sources]
    subprocess.run([str(word) for word in command], check=True)
    return into


def run_until(written: Path, size_mb: int, command: list) -> None:
    """Runs `command` until the file or folder `written` holds `size_mb`, then ends it with SIGTERM."""
    program = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    give_up = time.monotonic() + SLOWEST_MACHINE_S
    try:
        while program.poll() is None and size_of(written) < size_mb * 1_000_000 and time.monotonic() < give_up:
            time.sleep(POLL_S)
        size = size_of(written)
    finally:
        program.terminate()
        program.wait(STOP_S)
    if size < size_mb * 1_000_000:
        raise Refused(f"{written} stopped at {size / 1e6:.0f} of {size_mb} MB: see the lines above")


def size_of(path: Path) -> int:
    """The bytes in a file, or in all files below a folder; 0 if it does not exist yet."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
