"""Runs `fathom load` and reads its results."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .places import Refused, program

ENGINE = "fathom-load-engine"
# The exit code of a run that was refused because the generator itself was too slow.
INCONCLUSIVE = 4


@dataclass
class Run:
    """The output of `fathom load`, and its `summary.json`."""

    code: int
    text: str
    summary: dict

    @property
    def is_accepted(self) -> bool:
        return self.code == 0

    def lag_ms(self, quantile: str) -> float:
        return self.summary["generator"]["lag"][f"{quantile}_ns"] / 1e6

    def latency_ms(self, quantile: str) -> float:
        """Latency from the due time of requests. Only an accepted run has it."""
        return self.summary["measured"]["from_scheduled"][f"{quantile}_ns"] / 1e6


def need_engine() -> None:
    """Looks in the same places as `fathom load`."""
    named = os.environ.get("FATHOM_LOAD_ENGINE")
    beside = Path(program()).parent / ENGINE
    if not (Path(named).is_file() if named else beside.is_file() or shutil.which(ENGINE)):
        raise Refused(f"{named or ENGINE} is not there: make load, or name another by FATHOM_LOAD_ENGINE")


def send(folder: Path, *words: str) -> Run:
    """Runs it to its end. It creates `folder` for its results."""
    run = subprocess.run([program(), "load", *words, "-o", str(folder)], capture_output=True, text=True, check=False)
    if run.returncode not in (0, INCONCLUSIVE):
        raise SystemExit(f"fathom load: {run.stderr.strip()[-600:]}")
    return Run(run.returncode, run.stdout, json.loads((folder / "summary.json").read_text()))
