"""What the `run` of each experiment shares: how it ends where this machine lacks something."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from kit.places import Refused

# What a program ends with that could not run here, as in automake's tests.
SKIPPED = 77


def skip(why: str) -> NoReturn:
    print(f"SKIPPED: {Path(sys.argv[0]).resolve().parent.name}: {why}")
    sys.exit(SKIPPED)


def run(main: Callable[[], int]) -> NoReturn:
    """Runs an experiment, and skips it in one line if something is missing."""
    try:
        sys.exit(main())
    except Refused as refused:
        skip(str(refused))
