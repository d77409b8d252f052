"""What the `run` of each experiment shares: how it ends where this machine lacks something."""

import argparse
import signal
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


def run(main: Callable[[argparse.Namespace], int], about: str, parts: tuple[str, ...] = ()) -> NoReturn:
    """Runs an experiment, or some of its parts, and skips it in one line if something is missing."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="seconds, no figures to quote")
    if parts:
        parser.add_argument("parts", nargs="*", choices=[*parts, []], metavar="PART", help=f"of {', '.join(parts)}; all unless given")
    # SIGTERM as well detaches what was attached and ends what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main(parser.parse_args()))
    except Refused as refused:
        skip(str(refused))
