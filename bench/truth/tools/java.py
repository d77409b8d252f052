"""Peers that are Java libraries: fetched through Maven at pinned versions, and run by a small program of ours, one line of JSON per file."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from kit import fetch
from kit.places import Refused, jdk_in_path
from kit.recording import compile_java
from truth.answers import Answer
from truth.cases import Question

# How many files one JVM reads, because its start takes longer than most files.
BATCH = 50
BATCH_MAX_S = 300
POM = "{http://maven.apache.org/POM/4.0.0}"


def version(folder: Path) -> str:
    pom = ElementTree.parse(folder / "pom.xml").getroot()
    return pom.find(f"{POM}dependencies/{POM}dependency/{POM}version").text


def answers(folder: Path, main: str, asked: list[tuple[Question, list[Path]]], answer: Callable[[str, str, dict], Answer]) -> Iterator[Answer]:
    """An answer for each question of one file, derived from the output of the folder's program for that file."""
    said = lines(folder, main, [file for _, [file] in asked])
    for (question, _), line in zip(asked, said, strict=True):
        yield answer(*question.key(), line)


def lines(folder: Path, main: str, files: list[Path]) -> Iterator[dict]:
    """The output of the folder's program for each file, in order."""
    home, jars = jdk_in_path(), fetch.libraries(folder)
    with tempfile.TemporaryDirectory(prefix="fathom-truth-") as scratch:
        classes = compile_java(home, [folder / f"{main}.java"], Path(scratch), jars)
        command = [home / "bin" / "java", "-Xmx1g", "-cp", ":".join(map(str, [classes, *jars])), main]
        for start in range(0, len(files), BATCH):
            yield from batch(command, files[start : start + BATCH])


def batch(command: list, files: list[Path]) -> list[dict]:
    done = subprocess.run([*command, *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=BATCH_MAX_S)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(said) != len(files):
        raise Refused(f"{command[-1]} answered {len(said)} of {len(files)} files: the one after {files[len(said) - 1]} ended it")
    return said
