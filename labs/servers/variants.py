"""Labs whose `variants.json` says what goes wrong in each case, and which cause must come first."""

import argparse
import json
import os
from pathlib import Path

from judging import is_right
from recorded import Processes, run_cases


class Variant(Processes):
    """A server of which one variant is run: its `observed` gives the answer, and what to print of the clients."""

    variants: dict[str, dict]

    def wrong(self, case: str, _chosen: argparse.Namespace) -> int:
        self.variant = self.variants[case]
        if self.variant.get("root") and os.geteuid() != 0:
            print(f"SKIPPED: {case} needs root to limit CPUs")
            return 0
        return int(not is_right(self.jdk, self.variant, *self.observed()))


def run_variants(about: str, lab: Path, run: type[Variant]) -> int:
    """Runs the variants of a folder that the command line names."""
    run.variants = {variant["name"]: variant for variant in json.loads((lab / "variants.json").read_text())}
    return run_cases(argparse.ArgumentParser(description=about), list(run.variants), run, lab)
