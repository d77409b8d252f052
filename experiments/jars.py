"""Libraries of an experiment: what its `pom.xml` names, through Maven, each with the checksum in its `jars.sha256`."""

import hashlib
import subprocess
import sys
from pathlib import Path

# What a program ends with that could not run here, as in automake's tests.
SKIPPED = 77
TARGET = Path(__file__).resolve().parent.parent / "target" / "experiments"


def libraries(experiment: Path) -> list[Path]:
    jars = TARGET / experiment.name
    pinned = dict(reversed(line.split()) for line in (experiment / "jars.sha256").read_text().splitlines())
    if not all((jars / name).is_file() for name in pinned):
        maven = ["mvn", "-q", "-B", "-f", str(experiment / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        if subprocess.run(maven, check=False).returncode:
            print(f"SKIPPED: Maven could not get the libraries of {experiment.name}")
            sys.exit(SKIPPED)
    for name, checksum in pinned.items():
        if hashlib.sha256((jars / name).read_bytes()).hexdigest() != checksum:
            raise SystemExit(f"{jars / name} has another SHA-256 than jars.sha256 says: delete it and run again")
    return [jars / name for name in pinned]
