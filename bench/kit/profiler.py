"""async-profiler from its Maven release."""

import zipfile
from pathlib import Path

from . import fetch
from .places import CACHE

COORDINATES = "tools.profiler:async-profiler:4.6"
SHA256 = "a5d3d9f4582c2033fa9db518046e73ef97219801f3e7542b82e3e09261ebe493"


def library() -> Path:
    """The agent, extracted from the jar."""
    path = CACHE / "libasyncProfiler.so"
    with zipfile.ZipFile(fetch.jar(COORDINATES, SHA256)) as jar:
        path.write_bytes(jar.read("linux-x64/libasyncProfiler.so"))
    return path
