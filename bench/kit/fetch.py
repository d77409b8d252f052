"""Fetches libraries through Maven: coordinates are pinned, and each jar is checked against the SHA-256 in our files."""

import hashlib
import subprocess
from pathlib import Path

from .places import CACHE, Refused, need

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
JARS = CACHE / "jars"


def jar(coordinates: str, sha256: str) -> Path:
    """The jar `group:artifact:version` without its dependencies, from the cache or through Maven."""
    _, artifact, version = coordinates.split(":")
    path = JARS / f"{artifact}-{version}.jar"
    if not path.exists():
        maven(f"{PLUGIN}:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={JARS}")
    return checked(path, sha256)


def libraries(folder: Path, jars: Path = JARS) -> list[Path]:
    """The dependencies in the `pom.xml` of a folder, including indirect ones: the jars of its `jars.sha256`."""
    pinned = [line.split() for line in (folder / "jars.sha256").read_text().splitlines()]
    if not all((jars / name).is_file() for _, name in pinned):
        maven("-f", folder / "pom.xml", f"{PLUGIN}:copy-dependencies", f"-DoutputDirectory={jars}")
    return [checked(jars / name, sha256) for sha256, name in pinned]


def checked(path: Path, sha256: str) -> Path:
    if not path.is_file():
        raise Refused(f"Maven fetched no {path.name}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise Refused(f"{path} has SHA-256 {found}, expected {sha256}: delete it and run again")
    return path


def maven(*words: object) -> None:
    need("mvn")
    # Not in another project's folder, because its settings would apply.
    command = ["mvn", "--quiet", "--batch-mode", *map(str, words)]
    if subprocess.run(command, cwd="/", check=False).returncode != 0:
        raise Refused(f"Maven could not run {' '.join(command[3:])}: see its lines above")
