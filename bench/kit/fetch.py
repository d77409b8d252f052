"""Fetching the peers: jars by their Maven coordinates, each checked against the SHA-256 written in our files."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from .places import CACHE, Refused

COPY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def jar(coordinates: str, sha256: str) -> Path:
    """The jar `group:artifact:version`, from the cache or through Maven."""
    _, artifact, version = coordinates.split(":")
    path = CACHE / "jars" / f"{artifact}-{version}.jar"
    if not path.exists():
        download(coordinates, path.parent)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise Refused(f"{path} has SHA-256 {found}, expected {sha256}: delete it and run again")
    return path


def download(coordinates: str, into: Path) -> None:
    """Asks Maven for one jar without its dependencies."""
    if not shutil.which("mvn"):
        raise Refused(f"mvn is needed to fetch {coordinates}: apt-get install maven (make deps)")
    into.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-q", "-B", COPY_PLUGIN, f"-Dartifact={coordinates}", f"-DoutputDirectory={into}"]
    if subprocess.run(command).returncode != 0:
        raise Refused(f"Maven could not fetch {coordinates}: see its lines above")
