"""The driver of labs whose `variants.json` says what goes wrong in each variant, and which cause must come first."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judging import is_right
from processes import Processes, compiled, jdk_in_path, libraries


def run_variants(about: str, lab: Path, run: type[Processes]) -> int:
    """Runs the variants of a folder that the command line names, on each JDK; the exit code is 1 if an answer is wrong. A run takes a
    variant besides what `Processes` takes; its `answer` gives the answer and what to print of the clients."""
    variants = json.loads((lab / "variants.json").read_text())
    chosen = arguments(about)
    if unknown := set(chosen.variants) - {variant["name"] for variant in variants}:
        print(f"no variant {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    jars = libraries(lab)
    wrong = 0
    for jdk in [Path(home) for home in chosen.jdk] or [jdk_in_path()]:
        classpath = f"{compiled(jdk, jars, lab)}:{jars}"
        for variant in that_can_run(variants, chosen.variants):
            with tempfile.TemporaryDirectory(prefix="fathom-real-") as scratch:
                folder = (chosen.keep or Path(scratch)) / f"{jdk.name}-{variant['name']}"
                folder.mkdir(parents=True, exist_ok=True)
                wrong += not is_right(jdk, variant, *run(jdk, variant, classpath, folder, chosen.untouched).answer())
    return min(wrong, 1)


def arguments(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("variants", nargs="*")
    parser.add_argument("--jdk", action="append", default=[], help="home of a JDK; that of `java` when none is given")
    parser.add_argument("--keep", type=Path, help="folder for recordings and answers; else they are thrown away")
    parser.add_argument("--untouched", action="store_true", help="record with --jfr never --agent never")
    return parser.parse_args()


def that_can_run(variants: list[dict], chosen: list[str]) -> Iterator[dict]:
    for variant in variants:
        if chosen and variant["name"] not in chosen:
            continue
        if variant.get("root") and os.geteuid() != 0:
            print(f"SKIPPED: {variant['name']} needs root to limit CPUs")
            continue
        yield variant
